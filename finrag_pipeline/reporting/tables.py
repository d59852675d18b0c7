"""Tables of metrics and corpus statistics: grids for the report, Markdown for Dagster, CLI and README.

No mean stands alone: its interval or, where there is none, its number of questions stands beside it.
"""

from __future__ import annotations

import pyarrow as pa

from finrag_pipeline.errors import UsageError
from finrag_pipeline.evaluation.corpus_statistics import STATISTICS, TOTALS
from finrag_pipeline.evaluation.published import (
    COMPARED_WITH,
    CUTOFF,
    DOCUMENTS,
    METRICS,
    PUBLICATIONS,
    PUBLISHED,
    PUBLISHED_STATISTICS,
    QUESTIONS,
    PublishedStatistic,
    is_comparable,
    published_figure,
)
from finrag_pipeline.evaluation.summary import SLICES
from finrag_pipeline.reporting.estimates import (
    HEADLINE,
    SLICE_NAMES,
    MetricIndex,
    metric_label,
    slice_value_label,
    space_label,
    system_title,
)
from finrag_pipeline.reporting.grid import (
    Cell,
    Grid,
    Value,
    difference_cell,
    estimate_cell,
    grid_markdown,
    make_grid,
    make_row,
    most_questions,
    number,
    system_cell,
    tag,
    text,
)
from finrag_pipeline.retrieval.spaces import Space
from finrag_pipeline.schemas import conform

_TABLE_3 = "french"
"""The publication whose Table 3 describes the corpus; others only add to it."""
_NO_METRICS = "No system has been measured yet."
_NO_STATISTICS = "The corpus has not been described yet."


def metrics_markdown(metrics: pa.Table, slice: str = "all", k: int = 5) -> str:
    """Systems × spaces with their intervals, as a Markdown table.

    Args:
        metrics: table as ``schemas.SYSTEM_METRICS``.
        slice: one of ``SLICES``; others than all add a column of its values.
        k: cut-off in chunks of the metrics that take one; NDCG is at 10 and MRR over the whole ranking.

    Raises:
        UsageError: there is no such slice or cut-off.
    """
    return grid_markdown(headline_grid(MetricIndex(metrics), slice, k))


def published_markdown(metrics: pa.Table) -> str:
    """A run beside the figures that the papers published, as a Markdown table with notes beneath it."""
    index = MetricIndex(metrics)
    notes = [f"- {note}" for note in (*published_notes(index), *published_sources())]
    return "\n".join([grid_markdown(published_grid(index)), *notes]) + "\n"


def statistics_markdown(statistics: pa.Table) -> str:
    """Table 3 of the paper for this corpus, per form and as a whole, as a Markdown table.

    Args:
        statistics: table as ``schemas.CORPUS_STATISTICS``.
    """
    return grid_markdown(statistics_grid(statistics))


def headline_grid(index: MetricIndex, slice: str = "all", k: int = 5) -> Grid:
    """Every system in every space, by space and then PageRec@k, best first.

    Raises:
        UsageError: there is no such slice or cut-off.
    """
    if slice not in SLICES:
        raise UsageError(f"There is no slice '{slice}'.", f"Choose one of: {', '.join(SLICES)}.")
    cutoffs = index.cutoffs("page_rec")
    if cutoffs and k not in cutoffs:
        raise UsageError(
            f"Nothing was measured at k = {k}.", f"Choose one of: {', '.join(map(str, cutoffs))}."
        )
    series = [(metric, k if fixed is None else fixed) for metric, fixed in HEADLINE]
    sliced = slice != "all"
    rows = []
    for value in index.values(slice):
        for space in index.spaces:
            for system in index.ranked(space, k, slice, value):
                estimates = [index.find(system, space, metric, at, slice, value) for metric, at in series]
                cells = (
                    *([slice_value_label(slice, value)] if sliced else []),
                    system_cell(system),
                    space_label(space),
                    *estimates,
                    most_questions(estimates),
                )
                rows.append(
                    make_row(*cells, group=f"{value}/{space}", system=system, data=(("space", space),))
                )
    columns = (
        *([text(SLICE_NAMES[slice])] if sliced else []),
        text("System"),
        tag("Space"),
        *(number(metric_label(metric, at)) for metric, at in series),
        number("n"),
    )
    caption = "Retrieval metrics of every system in every search space"
    return make_grid(f"metrics-{slice}", caption, columns, rows, _NO_METRICS)


def published_grid(index: MetricIndex) -> Grid:
    """One row per system, space and metric that a paper gives: ours, each publication, the difference.

    The difference stands only where the run measured the questions and filings that the papers did.
    """
    comparable = is_comparable(*index.size())
    labels = [publication.label for publication in PUBLICATIONS.values()]
    pairs = list(dict.fromkeys((figure.space, figure.system) for figure in PUBLISHED))
    pairs.sort(key=lambda pair: list(Space).index(Space(pair[0])))
    rows = []
    for space, system in pairs:
        for metric in METRICS:
            ours = index.find(system, space, metric, CUTOFF)
            cells: list[Value]
            figures = [published_figure(key, system, space, metric, CUTOFF) for key in PUBLICATIONS]
            reference = published_figure(COMPARED_WITH, system, space, metric, CUTOFF)
            where = space_label(space)
            name = Cell(system_title(system), where, f"{system_cell(system).markdown}, {where.lower()}")
            cells = [name, metric_label(metric, CUTOFF), ours]
            cells += [Cell(f"{one.value:.2f}", sort=one.value) if one else None for one in figures]
            if comparable:
                cells.append(difference_cell(ours.mean - reference.value if ours and reference else None))
            rows.append(make_row(*cells, group=f"{space}/{system}", system=system))
    columns = [
        text("System"),
        tag("Metric"),
        number("This run"),
        *(number(label, "published") for label in labels),
    ]
    if comparable:
        columns.append(number("Difference", f"this run − {PUBLICATIONS[COMPARED_WITH].label}"))
    return make_grid("published", "This run beside the figures the papers published", columns, rows)


def published_notes(index: MetricIndex) -> list[str]:
    """What to know before comparing with the published columns, in sentences."""
    questions, documents = index.size()
    notes = []
    if not is_comparable(questions, documents):
        measured = (
            f"this run measured {questions:,} on {documents:,}" if questions else "this run measured none"
        )
        notes.append(
            f"Not comparable: the papers measured {QUESTIONS} questions on {DOCUMENTS} filings of "
            f"FinanceBench, {measured}."
        )
    # A note that another one begins with says nothing of its own.
    texts = list(dict.fromkeys(figure.note for figure in PUBLISHED))
    notes += [text for text in texts if not any(other != text and other.startswith(text) for other in texts)]
    text_only = [
        estimate.n
        for system in index.systems
        if (estimate := index.find(system, Space.CORPUS, "page_rec", CUTOFF, "source", "page_text"))
    ]
    if text_only:
        notes.append(
            f"{max(text_only)} of the {questions} questions are on filings that this run has only as text "
            "extracted elsewhere, without the PDF."
        )
    notes.append("The papers give two decimals and no intervals.")
    return notes


def published_sources() -> list[str]:
    """Where the published columns come from, one sentence per column."""
    return [f"{p.label}: {p.title} ({p.table})." for p in PUBLICATIONS.values()]


def gap_grid(index: MetricIndex, k: int = CUTOFF) -> Grid:
    """The figures behind the gap plot: where a system loses the evidence, level by level."""
    levels = (("doc_rec", k), ("page_rec", k), ("max_rouge_l", k))
    rows = []
    for system in index.systems:
        for space in index.spaces:
            estimates = [index.find(system, space, *level) for level in levels]
            if not any(estimates):
                continue
            page = estimates[1]
            whole = index.find(system, Space.CORPUS, "page_rec", k)
            gain = page.mean - whole.mean if page and whole and space != Space.CORPUS else None
            gained = difference_cell(gain, f"n = {page.n}" if page else "")
            cells = (system_cell(system), space_label(space), *estimates, gained)
            rows.append(make_row(*cells, group=system, system=system))
    names = ("right filing", "right pages", "right passage")
    columns = (
        text("System"),
        tag("Space"),
        *(number(metric_label(*level), name) for level, name in zip(levels, names, strict=True)),
        number(metric_label("page_rec", k), "gained over the whole corpus"),
    )
    return make_grid("gap", "Evidence found at each level, by search space", columns, rows, _NO_METRICS)


def slice_grid(index: MetricIndex, slice: str, k: int = CUTOFF) -> Grid:
    """Document and page recall of every system on every value of a slice."""
    rows = []
    for value in index.values(slice):
        for system in index.ranked(Space.CORPUS, k, slice, value):
            page = index.find(system, Space.CORPUS, "page_rec", k, slice, value)
            document = index.find(system, Space.CORPUS, "doc_rec", k, slice, value)
            oracle = index.find(system, Space.FILING, "page_rec", k, slice, value)
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
        number(metric_label("doc_rec", k)),
        number(metric_label("page_rec", k)),
        number(metric_label("page_rec", k), "oracle filing"),
        number("n"),
        number("Filings"),
    )
    return make_grid(f"slice-{slice}", f"Recall by {SLICE_NAMES[slice].lower()}", columns, rows, _NO_METRICS)


def statistics_grid(statistics: pa.Table) -> Grid:
    """Mean ± standard deviation of every statistic: the whole corpus, what the papers give, each form."""
    table = conform(statistics, "corpus_statistics")
    found = {(row["doc_type"], row["statistic"]): row for row in table.to_pylist()}
    forms = [form for form in dict.fromkeys(table["doc_type"].to_pylist()) if form != "all"]
    published = {statistic.statistic: statistic for statistic in PUBLISHED_STATISTICS}

    def ours(form: str, statistic: str) -> Value:
        row = found.get((form, statistic))
        if row is None:
            return None
        if statistic in TOTALS or row["std"] is None:
            return round(row["mean"])
        text = _mean_and_deviation(row["mean"], row["std"])
        size = f"n = {row['n']:,}"
        return Cell(text, size, f"{text} ({size})", sort=row["mean"])

    def paper(theirs: PublishedStatistic | None) -> Value:
        if theirs is None or theirs.std is None:
            return None if theirs is None else round(theirs.mean)
        label = "" if theirs.paper == _TABLE_3 else PUBLICATIONS[theirs.paper].label
        return Cell(_mean_and_deviation(theirs.mean, theirs.std), label, sort=theirs.mean)

    rows = [
        (
            title,
            ours("all", name),
            paper(published.get(name)),
            *(ours(form, name) for form in forms),
        )
        for name, title in STATISTICS.items()
        if any((form, name) in found for form in ["all", *forms])
    ]
    columns = (
        text("Statistic"),
        number("All filings"),
        number("FinanceBench", f"published, {PUBLICATIONS[_TABLE_3].label}"),
        *map(number, forms),
    )
    return make_grid("statistics", "The corpus and its questions", columns, rows, _NO_STATISTICS)


def _mean_and_deviation(mean: float, deviation: float) -> str:
    return f"{mean:,.1f} ± {deviation:,.1f}"
