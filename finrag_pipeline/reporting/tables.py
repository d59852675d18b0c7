"""Tables of metrics, parts, answers, losses, judges and corpus: grids for the report, and Markdown.

No mean stands alone: its interval or, where there is none, its number of questions stands beside it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import fields, replace
from typing import Any

import pyarrow as pa

from finrag_pipeline.evaluation import published as papers
from finrag_pipeline.evaluation.answer_metrics import ANSWER_METRICS, SHOWN
from finrag_pipeline.evaluation.corpus_statistics import STATISTICS, TOTALS
from finrag_pipeline.evaluation.judged_answers import AUTOMATIC_METRICS
from finrag_pipeline.evaluation.published import CUTOFF
from finrag_pipeline.evaluation.unanswerable import KINDS, false_answers
from finrag_pipeline.reporting.grid import (
    HEADLINE,
    RECORDED,
    SLICE_NAMES,
    Cell,
    Estimate,
    Grid,
    MetricIndex,
    Value,
    decimal_cell,
    difference_cell,
    escape_markdown,
    estimate_cell,
    grid_markdown,
    make_grid,
    make_row,
    metric_label,
    most_questions,
    number,
    prose,
    signed,
    slice_value_label,
    space_label,
    system_cell,
    system_title,
    tag,
    text,
)
from finrag_pipeline.reporting.report_data import ReportData
from finrag_pipeline.retrieval.page_stage import InsidePages
from finrag_pipeline.retrieval.second_stages import BestOfPage
from finrag_pipeline.retrieval.spaces import Space
from finrag_pipeline.retrieval.systems import ABLATIONS, ALL_SYSTEMS, SYSTEMS, RetrievalSystem
from finrag_pipeline.schemas import conform
from finrag_pipeline.storage.warehouse import query_tables

_TABLE_3 = "french"
"""The publication whose Table 3 describes the corpus; others only add to it."""
_NO_METRICS = "No system has been measured yet."
_PAGE_REC = metric_label("page_rec", CUTOFF)
_DOC_REC = metric_label("doc_rec", CUTOFF)


def metrics_markdown(metrics: pa.Table) -> str:
    """Systems × spaces with their intervals, as a Markdown table, from ``schemas.SYSTEM_METRICS``."""
    return grid_markdown(headline_grid(MetricIndex(metrics, slice="all")))


def published_markdown(metrics: pa.Table) -> str:
    """A run beside the figures that the papers published, as a Markdown table with notes beneath it."""
    index = MetricIndex(metrics)
    notes = [f"- {note}" for note in (*published_notes(index), *published_sources())]
    return "\n".join([grid_markdown(published_grid(index)), *notes]) + "\n"


def statistics_markdown(statistics: pa.Table) -> str:
    """Table 3 of the paper for this corpus (``schemas.CORPUS_STATISTICS``), per form and as a whole."""
    return grid_markdown(statistics_grid(statistics))


def headline_grid(index: MetricIndex) -> Grid:
    """Every system in every space, by space and then PageRec@5, best first."""
    rows = []
    for space in index.spaces:
        for system in index.ranked(space):
            found = [index.find(system, space, *one) for one in HEADLINE]
            cells = (system_cell(system), space_label(space), *found, most_questions(found))
            rows.append(make_row(*cells, group=space, system=system, data=(("space", space),)))
    columns = (
        text("System"),
        tag("Space"),
        *(number(metric_label(metric, at)) for metric, at in HEADLINE),
        number("n"),
    )
    caption = "Retrieval metrics of every system in every search space"
    return make_grid("metrics-all", caption, columns, rows, _NO_METRICS)


def published_grid(index: MetricIndex) -> Grid:
    """One row per system, space and metric that a paper gives: ours, each publication, the difference.

    The difference stands only where the run measured the questions and filings that the papers did.
    """
    comparable = papers.is_comparable(*index.size())
    pairs = list(dict.fromkeys((figure.space, figure.system) for figure in papers.PUBLISHED))
    pairs.sort(key=lambda pair: list(Space).index(Space(pair[0])))
    rows = []
    for space, system in pairs:
        where = space_label(space)
        name = Cell(system_title(system), where, f"{system_cell(system).markdown}, {where.lower()}")
        for metric in papers.METRICS:
            ours = index.find(system, space, metric, CUTOFF)
            keys = ((paper, system, space, metric) for paper in papers.PUBLICATIONS)
            values = {key[0]: papers.PUBLISHED_VALUES.get(key) for key in keys}
            cells: list[Value] = [name, metric_label(metric, CUTOFF), ours]
            cells += [decimal_cell(value, 2) for value in values.values()]
            if comparable:
                theirs = values[papers.COMPARED_WITH]
                cells.append(difference_cell(ours.mean - theirs if ours and theirs is not None else None))
            rows.append(make_row(*cells, group=f"{space}/{system}", system=system))
    columns = [text("System"), tag("Metric"), number("This run")]
    columns += [number(publication.label, "published") for publication in papers.PUBLICATIONS.values()]
    if comparable:
        columns.append(number("Difference", f"this run − {papers.PUBLICATIONS[papers.COMPARED_WITH].label}"))
    return make_grid("published", "This run beside the figures the papers published", columns, rows)


def published_notes(index: MetricIndex) -> list[str]:
    """What to know before comparing with the published columns, in sentences."""
    questions, documents = index.size()
    notes = []
    if not papers.is_comparable(questions, documents):
        measured = f"measured {questions:,} on {documents:,}" if questions else "measured none"
        notes.append(
            f"Not comparable: the papers measured {papers.QUESTIONS} questions on {papers.DOCUMENTS} filings "
            f"of FinanceBench, this run {measured}."
        )
    # A note that another one begins with says nothing of its own.
    texts = list(dict.fromkeys(figure.note for figure in papers.PUBLISHED))
    notes += [text for text in texts if not any(other != text and other.startswith(text) for other in texts)]
    found = (
        index.find(system, Space.CORPUS, "page_rec", CUTOFF, "source", "page_text")
        for system in index.systems
    )
    if text_only := most_questions(found):
        notes.append(
            f"{text_only} of the {questions} questions are on filings that this run has only as text "
            "extracted elsewhere, without the PDF."
        )
    return [*notes, "The papers give two decimals and no intervals."]


def published_sources() -> list[str]:
    """Where the published columns come from, one sentence per column."""
    return [f"{p.label}: {p.title} ({p.table})." for p in papers.PUBLICATIONS.values()]


def gap_grid(index: MetricIndex) -> Grid:
    """The figures behind the gap plot: where a system loses the evidence, level by level."""
    levels = {"doc_rec": "right filing", "page_rec": "right pages", "max_rouge_l": "right passage"}
    rows = []
    for system in index.systems:
        whole = index.find(system, Space.CORPUS, "page_rec", CUTOFF)
        for space in index.spaces:
            found = {metric: index.find(system, space, metric, CUTOFF) for metric in levels}
            page = found["page_rec"]
            if any(found.values()):
                gain = page.mean - whole.mean if page and whole and space != Space.CORPUS else None
                gained = difference_cell(gain, f"n = {page.n}" if page else "")
                cells = (system_cell(system), space_label(space), *found.values(), gained)
                rows.append(make_row(*cells, group=system, system=system))
    columns = (
        text("System"),
        tag("Space"),
        *(number(metric_label(metric, CUTOFF), name) for metric, name in levels.items()),
        number(_PAGE_REC, "gained over the whole corpus"),
    )
    return make_grid("gap", "Evidence found at each level, by search space", columns, rows, _NO_METRICS)


def slice_grid(index: MetricIndex, slice: str) -> Grid:
    """Document and page recall of every system on every value of a slice."""
    rows = []
    for value in index.values(slice):
        for system in index.ranked(Space.CORPUS, slice, value):
            document, page, oracle = (
                index.find(system, space, metric, CUTOFF, slice, value) for space, metric in _SERIES
            )
            size = page or document
            cells = (
                slice_value_label(slice, value),
                system_cell(system),
                document,
                estimate_cell(page, bar=True),
                oracle,
                size.n if size else 0,
                size.documents if size else 0,
            )
            rows.append(make_row(*cells, group=value, system=system))
    columns = (
        text(SLICE_NAMES[slice]),
        text("System"),
        number(_DOC_REC),
        number(_PAGE_REC),
        number(_PAGE_REC, "oracle filing"),
        number("n"),
        number("Filings"),
    )
    return make_grid(f"slice-{slice}", f"Recall by {SLICE_NAMES[slice].lower()}", columns, rows, _NO_METRICS)


def statistics_grid(statistics: pa.Table) -> Grid:
    """Mean ± standard deviation of every statistic: the whole corpus, what the papers give, each form."""
    table = conform(statistics, "corpus_statistics")
    found = {(row["doc_type"], row["statistic"]): row for row in table.to_pylist()}
    forms = [form for form in dict.fromkeys(table["doc_type"].to_pylist()) if form != "all"]
    published = {one.statistic: one for one in papers.PUBLISHED_STATISTICS}

    def shown(statistic: str, mean: float, deviation: float | None, small: str) -> Value:
        if statistic in TOTALS or deviation is None:
            return round(mean)
        return Cell(f"{mean:,.1f} ± {deviation:,.1f}", small, sort=mean)

    def ours(form: str, statistic: str) -> Value:
        row = found.get((form, statistic))
        cell = row and shown(statistic, row["mean"], row["std"], f"n = {row['n']:,}")
        return replace(cell, markdown=f"{cell.text} ({cell.small})") if isinstance(cell, Cell) else cell

    rows = []
    for name, title in STATISTICS.items():
        cells = [ours(form, name) for form in ("all", *forms)]
        theirs = published.get(name)
        label = papers.PUBLICATIONS[theirs.paper].label if theirs and theirs.paper != _TABLE_3 else ""
        paper = theirs and shown(name, theirs.mean, theirs.std, label)
        if any(cell is not None for cell in cells):
            rows.append((title, cells[0], paper, *cells[1:]))
    columns = (
        text("Statistic"),
        number("All filings"),
        number("FinanceBench", f"published, {papers.PUBLICATIONS[_TABLE_3].label}"),
        *map(number, forms),
    )
    empty = "The corpus has not been described yet."
    return make_grid("statistics", "The corpus and its questions", columns, rows, empty)


_SERIES = ((Space.CORPUS, "doc_rec"), (Space.CORPUS, "page_rec"), (Space.FILING, "page_rec"))
_ALL_KINDS = "text, table rows and tables"
_TOP_FEATURES = 20


def ablation_grid(index: MetricIndex) -> Grid:
    """System × chunking: document and page recall in the corpus, page recall inside the right filing.

    Variants that were not measured have no row; those with one chunk per page are cut off in pages.
    """
    rows = []
    varied = {variant.variant_of for variant in ABLATIONS.values() if _is_of_chunking(variant)}
    for name in (*index.systems, *index.ablations) if index.ablations else ():
        system = ALL_SYSTEMS.get(name)
        if system is None or not (name in varied or _is_of_chunking(system)):
            continue
        base = SYSTEMS[system.variant_of or name]
        found = [index.find(name, space, metric, CUTOFF) for space, metric in _SERIES]
        kinds = ", ".join(kind.replace("_", " ") for kind in system.kinds) if system.kinds else _ALL_KINDS
        cells = (
            system_title(base.name),
            system.chunking,
            kinds if system.chunking != "fixed" else "text",
            "page" if isinstance(system.collapse, BestOfPage) else "chunk",
            *found,
            most_questions(found),
        )
        rows.append(make_row(*cells, group=base.name, system=name))
    order = list(SYSTEMS)
    rows.sort(key=lambda row: order.index(row.group))
    columns = (
        text("System"),
        tag("Chunking"),
        text("Kinds"),
        text("Ranked unit"),
        *(number(f"{metric_label(metric, CUTOFF)}, {space_label(space)}") for space, metric in _SERIES),
        number("n"),
    )
    empty = "No ablation was measured; run 'finrag run --ablations'."
    return make_grid("ablations", "Every system on every chunking", columns, rows, empty)


def _is_of_chunking(system: RetrievalSystem) -> bool:
    """Whether a system is a variant of another one in nothing but its chunks."""
    if system.variant_of is None:
        return False
    base = SYSTEMS[system.variant_of]
    changed = {one.name for one in fields(system) if getattr(system, one.name) != getattr(base, one.name)}
    return changed <= {"name", "title", "source", "variant_of", "chunking", "kinds", "collapse"}


def pages_grid(index: MetricIndex) -> Grid:
    """The page scorer by the number of pages P that it hands on: document and page recall."""
    measured = {*index.systems, *index.ablations}
    scorers = [
        (system.pages.pages, name)
        for name, system in ALL_SYSTEMS.items()
        if isinstance(system.pages, InsidePages) and name in measured
    ]
    rows = []
    for pages, name in sorted(scorers, key=lambda pair: pair[0]):
        found = [index.find(name, space, metric, CUTOFF) for space, metric in _SERIES]
        cells = (Cell(f"P = {pages}", sort=float(pages)), system_cell(name), *found, most_questions(found))
        rows.append(make_row(*cells, system=name))
    columns = (
        text("Pages"),
        text("System"),
        *(number(metric_label(metric, CUTOFF), space_label(space)) for space, metric in _SERIES),
        number("n"),
    )
    empty = (
        "The page scorer was not measured; train it with 'finrag train page_scorer', then run 'finrag run "
        "--systems page_scorer --systems page_scorer_p5 --systems page_scorer_p10'."
    )
    return make_grid("pages-ablation", "Page scorer by number of pages", columns, rows, empty)


def training_curves(table: pa.Table) -> dict[str, dict[str, list[Mapping[str, Any]]]]:
    """Epochs of ``page_scorer`` by policy of folds and training, for `plots.training_plot`."""
    curves: dict[str, dict[str, list[Mapping[str, Any]]]] = {}
    for row in sorted(table.to_pylist(), key=lambda row: (row["policy"], row["fold"], row["epoch"])):
        curves.setdefault(row["policy"], {}).setdefault(row["fold"], []).append(row)
    return curves


def training_grid(table: pa.Table, folds: pa.Table) -> Grid:
    """The chosen epoch of each training of ``page_scorer``: recall on validation and tested questions."""
    # The table of folds is that of the policy by document.
    sql = """
        SELECT *, max(epoch) OVER (PARTITION BY policy, fold) AS last,
            (SELECT count(*) FROM folds AS one
                WHERE policy = 'document' AND 'fold_' || one.fold = scorer.fold) AS n
        FROM scorer
        QUALIFY chosen ORDER BY policy, fold, epoch
    """
    found = query_tables(sql, scorer=table, folds=folds).to_pylist()

    def tested(one: Mapping[str, Any]) -> Cell:
        known = one["n"] and one["tested_page_rec"] is not None
        return replace(decimal_cell(one["tested_page_rec"]), small=f"n = {one['n']}" if known else "")

    columns = (
        text("Training", of="fold"),
        tag("Folds by", of="policy"),
        number("Epoch kept", of="epoch"),
        number("Epochs", of="last"),
        number(_PAGE_REC, "validation", lambda one: decimal_cell(one["page_rec"])),
        number("MRR", "validation", lambda one: decimal_cell(one["mrr"])),
        number(_PAGE_REC, "tested fold", tested),
    )
    empty = "No page scorer was trained; 'finrag train page_scorer' trains one per fold."
    return make_grid("trainings", "Trainings of the page scorer", columns, found, empty, group="policy")


def features_grid(table: pa.Table) -> Grid:
    """Features of ``page_ranker`` by their share of the gain, mean and range over the trainings."""
    # A feature that a training did not use has no share there.
    sql = """
        WITH found AS (
            SELECT feature, count(*) AS n, sum(gain) AS total, min(gain) AS least, max(gain) AS high,
                min(row) AS row
            FROM (SELECT *, row_number() OVER () AS row FROM gains) GROUP BY feature
        )
        SELECT feature, n, total / max(n) OVER () AS mean, if(n = max(n) OVER (), least, 0) AS low, high
        FROM found ORDER BY mean DESC, row LIMIT $top
    """
    found = query_tables(sql, {"top": _TOP_FEATURES}, gains=table).to_pylist()
    columns = (
        text("Feature", of="feature"),
        number(
            "Share of gain",
            "mean, range over trainings",
            lambda one: Cell(f"{one['mean']:.3f}", f"{one['low']:.3f}–{one['high']:.3f}", sort=one["mean"]),
        ),
        number("Trainings", of="n"),
    )
    empty = "No page ranker was trained; 'finrag run --systems finrag' trains one per fold."
    return make_grid("features", "What the page ranker looks at", columns, found, empty)


def detector_grid(counts: pa.Table) -> Grid:
    """What each table detector found on the filings that it read, from `report_data.TABLE_COUNTS`."""
    columns = {"pages": "Pages with a table", "tables": "Tables", "numbers": "Numbers read"}
    sums = ", ".join(f"sum({name})::BIGINT AS {name}" for name in (*columns, "unread"))
    sql = f"""
        SELECT detector, count(*) AS filings, {sums}
        FROM (SELECT *, row_number() OVER () AS row FROM counts) GROUP BY detector ORDER BY min(row)
    """  # noqa: S608 - our own names
    heads = (
        text("Detector", of="detector"),
        number("Filings", of="filings"),
        *(number(label, of=name) for name, label in columns.items()),
        number("Cells without a value", "dates, dashes, words", "unread"),
    )
    found, empty = query_tables(sql, counts=counts).to_pylist(), "No page was searched for tables yet."
    return make_grid("detectors", "Tables by detector", heads, found, empty)


NOTHING = "Nothing (closed book)"
_EXAMPLE = 160  # characters of a false answer
_NO_ANSWERS = "No answers were scored; 'finrag answers' answers and scores every question of the benchmark."


def answers_grid(index: MetricIndex, closed_book: Collection[str] = (), slice: str = "all") -> Grid:
    """Answering system × what it was given: metrics with intervals; this pipeline first, best first.

    Recorded systems in ``closed_book`` were given nothing. A slice other than all adds a column of values.
    """
    sliced, metrics = slice != "all", SHOWN if slice == "all" else SHOWN[:5]
    rows = []
    for value in index.values(slice):
        ranked = []
        for system, space in _pairs(index, slice, value):
            found = [index.find(system, space, metric.name, 0, slice, value) for metric in metrics]
            match = index.find(system, space, "numeric_match", 0, slice, value)
            ranked.append((system.startswith(RECORDED), -match.mean if match else 1.0, system, space, found))
        for recorded, _, system, space, found in sorted(ranked, key=lambda one: one[:2]):
            given, whose = _given(system, space, closed_book), "recorded" if recorded else "ours"
            # The second metric, the strict match, has questions of its own.
            sizes = (most_questions(found), found[1].n if found[1] else 0)
            data = (*([(slice, value)] if sliced else []), ("whose", whose), ("given", given))
            named = [slice_value_label(slice, value)] if sliced else []
            cells = (*named, _system_cell(system), given, *found, *sizes)
            rows.append(make_row(*cells, group=f"{value}/{whose}", data=data))
    columns = (
        *([text(SLICE_NAMES[slice])] if sliced else []),
        text("System"),
        text("Given"),
        *(number(metric.term) for metric in metrics),
        number("n"),
        number("n", "strict"),
    )
    caption = f"Answers by {SLICE_NAMES[slice].lower()}" if sliced else "Answers of every system"
    return make_grid(f"answers-{slice}" if sliced else "answers", caption, columns, rows, _NO_ANSWERS)


def false_answers_grid(table: pa.Table, confidence: float = 0.95) -> Grid:
    """Share of answers to questions without one, by kind, each with an example."""
    rows = []
    for kind, found in false_answers(table, confidence).items():
        own = [row for row in table.to_pylist() if kind in ("all", row["kind"])]
        wrong = [row for row in own if not row["abstained"]]
        example = Cell(wrong[0]["question"], wrong[0]["answer"][:_EXAMPLE]) if wrong and kind != "all" else ""
        share = Estimate(found.estimate, found.low, found.high, len(own), 0)
        rows.append((KINDS.get(kind, "All"), share, len(wrong), len(own), example))
    columns = (
        text("Without an answer because it asks for"),
        number("Answered", "share"),
        number("Answered"),
        number("Asked"),
        prose("Example", "what was answered"),
    )
    empty = "No questions without an answer were asked; 'finrag run' asks them with the metrics."
    return make_grid("false-answers", "Answers to questions that have none", columns, rows, empty)


def given_options(index: MetricIndex, closed_book: Collection[str]) -> list[tuple[str, str]]:
    """What systems were given, as choices of a filter."""
    found = {_given(*pair, closed_book) for pair in _pairs(index)}
    return [(label, label) for label in (*map(space_label, index.spaces), NOTHING) if label in found]


def _pairs(index: MetricIndex, slice: str = "all", value: str = "all") -> list[tuple[str, str]]:
    return [
        (system, space)
        for system in index.systems
        for space in index.spaces
        if any(index.find(system, space, metric.name, 0, slice, value) for metric in SHOWN)
    ]


def _given(system: str, space: str, closed_book: Collection[str]) -> str:
    return NOTHING if system in closed_book else space_label(space)


def _system_cell(system: str) -> Cell:
    if system.startswith(RECORDED):
        return Cell(system.removeprefix(RECORDED), "recorded answers of another model")
    name, on, retrieval = system.partition(" on ")
    return Cell(name.replace("_", " ").capitalize(), f"on the passages of {retrieval}" if on else "")


LEVEL_NAMES = {
    "filing": "Filing not found",
    "page": "Page not found",
    "chunk": "Passage not found",
    "generation": "Wrong or no answer",
    "none": "Nothing lost",
}
LABEL_NAMES = {
    "wrong_company": "Wrong company",
    "wrong_year": "Wrong year",
    "lexical_gap": "Lexical gap",
    "unannotated_page": "Un-annotated page",
    "multi_statement_gap": "Multi-statement gap",
    "scale_error": "Scale error",
    "invented_number": "Invented number",
}
_EXAMPLES = 3

Pair = tuple[str, str | None]
"""A retrieval system and what answers over it; None where only retrieval was looked at."""


def gap_shares(counts: pa.Table) -> dict[Pair, dict[str, dict[str, Any]]]:
    """Rows over the whole corpus by system and level or label; no ablations, from ``schemas.GAP_COUNTS``.

    Retrievals, then what answers over them, each kind in the order of the share of questions of which nothing
    is lost, the greatest first.
    """
    found: dict[Pair, dict[str, dict[str, Any]]] = defaultdict(dict)
    for row in counts.to_pylist():
        if row["space"] == Space.CORPUS and row["retrieval"] not in ABLATIONS:
            found[row["retrieval"], row["answering"]][row["value"]] = row

    def order(system: Pair) -> tuple[bool, float, str, str]:
        kept = found[system].get("none", {"share": 0.0})
        return system[1] is not None, -kept["share"], system[0], system[1] or ""

    return {system: found[system] for system in sorted(found, key=order)}


def pair_title(system: Pair) -> str:
    """``BM25``, or ``calculator on finrag``."""
    return f"{system[1]} on {system[0]}" if system[1] else system_title(system[0])


def levels_grid(counts: pa.Table) -> Grid:
    """First level lost at five chunks: systems × levels."""
    return _shares_grid("gap-levels", "First level lost, share of the questions", counts, LEVEL_NAMES)


def labels_grid(counts: pa.Table) -> Grid:
    """Failure modes: systems × labels; a question can have several."""
    return _shares_grid("failure-modes", "Failure modes, share of the questions", counts, LABEL_NAMES)


def gap_markdown(counts: pa.Table) -> str:
    """Both tables as Markdown."""
    return "\n".join(grid_markdown(grid(counts)) for grid in (levels_grid, labels_grid))


def _shares_grid(name: str, caption: str, counts: pa.Table, names: Mapping[str, str]) -> Grid:
    rows = []
    for system, found in gap_shares(counts).items():
        cells: list[Value] = [pair_title(system)]
        for value in names:
            row = found.get(value)
            share = _estimate(row, "share", row["n"]) if row else None
            if row and share:
                small = f"{share.interval}, {row['count']} of {share.n}"
                cells.append(Cell(f"{share.mean:.3f}", small, f"{share} {row['count']}", share.mean))
            else:
                cells.append(None)
        group = "answers" if system[1] else "retrieval"
        rows.append(make_row(*cells, group=group, system="-".join(filter(None, system))))
    return make_grid(name, caption, (text("System"), *map(number, names.values())), rows, _NO_METRICS)


def examples_grid(gap: pa.Table, questions: pa.Table, question_links: Mapping[str, str]) -> Grid:
    """A few questions of ``schemas.RETRIEVAL_GAP`` for every failure mode, of different systems if possible.

    Those without a link are named without one.
    """
    texts = dict(zip(questions["question_id"].to_pylist(), questions["question"].to_pylist(), strict=True))
    by_label: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for one in gap.to_pylist():
        # The sentence of a row is about its first label.
        if one["space"] == Space.CORPUS and one["labels"] and one["retrieval"] not in ABLATIONS:
            by_label[one["labels"][0]].append(one)
    rows = []
    for label, title in LABEL_NAMES.items():
        asked: set[str] = set()
        told: set[Pair] = set()
        # First of systems that were not shown yet, then any question that was not.
        for fresh in (True, False):
            for one in by_label[label]:
                name, system = one["question_id"], (one["retrieval"], one["answering"])
                if len(asked) == _EXAMPLES or name in asked or (fresh and system in told):
                    continue
                asked.add(name)
                told.add(system)
                question = Cell(texts.get(name, name), name, link=question_links.get(name, ""))
                rows.append(make_row(title, question, pair_title(system), one["why"], group=label))
    columns = (text("Failure mode"), prose("Example"), text("System"), prose("Why"))
    empty = "No failure modes were looked for yet; 'finrag run' does it with the metrics."
    return make_grid("gap-examples", "Examples of every failure mode", columns, rows, empty)


_REMEDY = "'finrag judge' judges the answers in the lake."
_NO_TESTS = "No paired tests yet; 'finrag judge' tests every system that was measured against the baselines."
_METHODS = {
    "human": "People, over questions",
    "human_wald": "People, Wald",
    "judge": "Judge alone",
    "ppi": "PPI, over questions",
    "ppi_normal": "PPI++, as published",
}


def rates_grid(table: pa.Table) -> Grid:
    """Systems × automatic metrics, over all questions, from ``schemas.ANSWER_RATES``."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for one in table.to_pylist():
        if one["theme"] == one["difficulty"] == "all":
            rates = found.setdefault((one["system"], one["space"]), dict(one))
            rates[one["metric"]] = _estimate(one, "rate", one["questions"])
    metrics = {metric.name: number(metric.term, of=metric.name) for metric in AUTOMATIC_METRICS}
    columns = (text("System", of="system"), tag("Space", of="space"), *metrics.values())
    rows = [dict.fromkeys(metrics) | rates for rates in found.values()]
    caption = "Automatic metrics, intervals over questions"
    return make_grid("answer-rates", caption, columns, rows, "No answers yet.")


def calibration_grid(table: pa.Table) -> Grid:
    """Agreement of judges with people on all labelled answers, from ``schemas.JUDGE_CALIBRATION``."""
    columns = (
        text("Judge", of="judge"),
        tag("Criterion", of="criterion"),
        tag("Labels", of="labels"),
        number("Agreement", of=lambda one: _estimate(one, "observed", one["n"], "observed_")),
        number("By chance", of=lambda one: decimal_cell(one["chance"])),
        number("Cohen's κ", of=lambda one: _estimate(one, "kappa", one["n"], "kappa_")),
        number("Answers", of="n"),
        number("Missing", of="missing"),
    )
    whole = [one for one in table.to_pylist() if one["group"] == "all"]
    empty = "No judge was held against labels of people."
    return make_grid("judge-calibration", "Judges against people", columns, whole, empty, group="judge")


def estimates_grid(table: pa.Table) -> Grid:
    """Shares of good answers by people, judges and both, from ``schemas.JUDGED_ESTIMATES``."""
    columns = (
        text("System", of="system"),
        tag("Space", of=lambda one: space_label(one["space"])),
        tag("Criterion", of="criterion"),
        tag("Judge", of=lambda one: "" if one["method"].startswith("human") else one["judge"]),
        tag("Method", of=lambda one: _METHODS[one["method"]]),
        number("Share", of=lambda one: _estimate(one, "estimate", one["questions"])),
        number("Effective n", of=lambda one: decimal_cell(one["effective_n"], 1)),
        *(number(name.capitalize(), of=name) for name in ("labels", "verdicts", "missing")),
    )
    return make_grid(
        "judged-estimates",
        "People, judges, and both together",
        columns,
        [one for one in table.to_pylist() if one["theme"] == "all"],
        "No verdicts yet.",
        group=lambda one: f"{one['system']} {one['space']} {one['criterion']}",
        data={"criterion": "criterion", "method": "method"},
    )


def comparison_grid(table: pa.Table) -> Grid:
    """System beside baseline, from ``schemas.SYSTEM_COMPARISONS``, with interval and corrected p-value."""

    def difference(one: Mapping[str, Any]) -> Cell:
        ends = "" if one["low"] is None else f"[{signed(one['low'])}, {signed(one['high'])}]"
        shown = signed(one["difference"])
        return Cell(shown, ends, escape_markdown(f"{shown} {ends}".strip()), one["difference"])

    def counts(one: Mapping[str, Any]) -> Cell:
        return Cell(f"{one['better']} / {one['worse']} / {one['equal']}", sort=float(one["better"]))

    columns = (
        text("System", of=lambda one: system_cell(one["system"])),
        tag("Against", of="baseline"),
        tag("Space", of=lambda one: space_label(one["space"])),
        tag("Metric", of=_metric),
        number("Mean", of=lambda one: replace(decimal_cell(one["mean"]), small=f"n = {one['n']}")),
        number("Difference", "95 % interval", difference),
        number("p", "Holm", lambda one: decimal_cell(one["p_holm"], 4, missing=2.0)),
        number("Detectable", "4 times of 5", lambda one: decimal_cell(one["detectable"])),
        number("Better / worse / equal", "questions", counts),
    )
    return make_grid(
        "system-comparisons",
        "Paired differences, bootstrap of documents",
        columns,
        _sorted(table),
        _NO_TESTS,
        group=lambda one: f"{one['baseline']} {one['space']} {one['metric']}",
        system="system",
        data={"baseline": "baseline", "metric": _metric, "space": "space"},
    )


def judging_context(data: ReportData) -> dict[str, Any]:
    """Grids of the section with their filters."""
    judged = data.tables["judged_estimates"]
    grids = {
        "calibration": calibration_grid(data.tables["judge_calibration"]),
        "judged": estimates_grid(judged),
        "rates": rates_grid(data.tables["answer_rates"]),
    }
    shown = [row for row in judged.to_pylist() if row["theme"] == "all"]
    criteria = dict.fromkeys((row["criterion"], row["criterion"]) for row in shown)
    methods = dict.fromkeys((row["method"], _METHODS[row["method"]]) for row in shown)
    return {
        **{name: replace(grid, empty=f"{grid.empty} {_REMEDY}") for name, grid in grids.items()},
        "judged_choices": [
            ("Criterion", "criterion", "All", list(criteria)),
            ("Said by", "method", "All", list(methods)),
        ],
    }


def comparison_choices(table: pa.Table) -> list[tuple[str, str, str, list[tuple[str, str]]]]:
    """Filters of `comparison_grid`: baseline, metric and space."""
    rows = _sorted(table)
    found = {
        "baseline": [(row["baseline"], row["baseline"]) for row in rows],
        "metric": [(_metric(row), _metric(row)) for row in rows],
        "space": [(row["space"], space_label(row["space"])) for row in rows],
    }
    return [(name.capitalize(), name, "All", list(dict.fromkeys(pairs))) for name, pairs in found.items()]


def family_sizes(table: pa.Table) -> list[int]:
    """Numbers of systems that were compared at once and corrected for, ascending."""
    families = Counter((row["baseline"], row["metric"], row["k"], row["space"]) for row in table.to_pylist())
    return sorted(set(families.values()))


def _sorted(table: pa.Table) -> list[dict[str, Any]]:
    """Rows by family in the order of the table, then by difference, largest first."""
    sql = """
        SELECT * EXCLUDE row FROM (SELECT *, row_number() OVER () AS row FROM compared)
        ORDER BY min(row) OVER (PARTITION BY baseline, metric, k, space), difference DESC, row
    """
    return list(query_tables(sql, compared=table).to_pylist())


def _metric(row: Mapping[str, Any]) -> str:
    answers = {one.name: one.term for one in ANSWER_METRICS}
    return answers.get(row["metric"]) or metric_label(row["metric"], row["k"])


def _estimate(row: Mapping[str, Any], name: str, n: int, ends: str = "") -> Estimate | None:
    if row[name] is None:
        return None
    return Estimate(row[name], row[f"{ends}low"], row[f"{ends}high"], n, row.get("documents", n))
