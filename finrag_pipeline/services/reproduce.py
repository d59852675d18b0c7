"""Reproduces the tables of the papers: what is run here and what was published, side by side.

The experiments are data (`services.experiments`). What cannot be run here stands as a row that says why.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.answering.calculator import Calculator
from finrag_pipeline.answering.inputs import FACT_COLUMNS
from finrag_pipeline.answering.runs import run_answers
from finrag_pipeline.answering.systems import AnswerSystem
from finrag_pipeline.errors import BenchmarkError, FinragError, UsageError
from finrag_pipeline.evaluation.answer_metrics import as_series, score_answers
from finrag_pipeline.evaluation.beir import (
    CUTOFF,
    METRICS,
    JudgedCorpus,
    document_clusters,
    read_judged_corpus,
)
from finrag_pipeline.evaluation.benchmark import get_benchmark
from finrag_pipeline.evaluation.contamination import contamination_scores
from finrag_pipeline.evaluation.failure_modes import filing_identities
from finrag_pipeline.evaluation.intervals import agreement, cluster_means
from finrag_pipeline.evaluation.paired_tests import Family, compare_families
from finrag_pipeline.evaluation.ppi import ppi_mean
from finrag_pipeline.evaluation.published import (
    COMPARED_WITH,
    DOCUMENTS,
    PUBLISHED,
    QUESTIONS,
    is_comparable,
)
from finrag_pipeline.evaluation.published import METRICS as PUBLISHED_METRICS
from finrag_pipeline.evaluation.questions import read_objects
from finrag_pipeline.evaluation.retrieval_metrics import find_gold_chunks, score_runs
from finrag_pipeline.evaluation.simulations import effective_n_range, sensitivity_to_agreement
from finrag_pipeline.evaluation.summary import summarise
from finrag_pipeline.language_models.load import load_language_model
from finrag_pipeline.rankers.clean_rows import text_key
from finrag_pipeline.rankers.page_scorer import PageScorerRecipe
from finrag_pipeline.rankers.recipe import pretrained
from finrag_pipeline.rankers.reranker import RerankerRecipe
from finrag_pipeline.resolver.resolver import load_resolver
from finrag_pipeline.retrieval.component import Inputs
from finrag_pipeline.retrieval.spaces import Space
from finrag_pipeline.retrieval.system import run_system
from finrag_pipeline.retrieval.systems import get_system, variant
from finrag_pipeline.schemas import RETRIEVAL_SCORES
from finrag_pipeline.services import experiments
from finrag_pipeline.services.beir import ALPHAS, Documents, Ranked, corpora_settings, nested_alpha
from finrag_pipeline.services.experiments import DocumentRow, Paper, Step
from finrag_pipeline.services.search import Corpora
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake

Progress = Callable[[str], object]
"""Told what is next."""


@dataclass(frozen=True)
class Printed:
    """A table for people and programs.

    Attributes:
        title: what it shows.
        rows: cells by column; None where there is nothing, a reason in ``not run`` where a row was not.
        notes: what to know of it.
    """

    title: str
    rows: list[dict[str, Any]]
    notes: list[str] = field(default_factory=list)

    def markdown(self) -> str:
        """The table in Markdown."""
        columns = list(dict.fromkeys(name for row in self.rows for name in row))
        lines = [f"### {self.title}", "", f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
        for row in self.rows:
            cells = ("" if row.get(name) is None else str(row[name]) for name in columns)
            lines.append(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |")
        return "\n".join([*lines, "", *self.notes, ""])


@dataclass(frozen=True)
class Options:
    """What a reproduction works on.

    Attributes:
        settings: of the lake.
        data: folder of public data sets; None where there is none.
        documents: documents of each corpus at most, those that answer a query among them; all when None.
        queries: queries of each corpus at most; all when None.
        train: train the models that learn from clean rows, where the lake does not hold them.
        progress: told what is next.
    """

    settings: Settings
    data: Path | None = None
    documents: int | None = None
    queries: int | None = None
    train: bool = False
    progress: Progress = lambda what: None


def reproduce(paper: Paper, options: Options) -> list[Printed]:
    """The tables of a paper that need no other command.

    Raises:
        UsageError: the folder of the data is needed and not given, or does not hold what is read.
        BenchmarkError: the lake holds no benchmark, or a file of the data is damaged.
    """
    return {
        "page-scorer": page_scorer,
        "eval-rag": eval_rag,
        "financerag": financerag,
        "table-rag": table_rag,
    }[paper](options)


def _interval(mean: float | None, low: float | None, high: float | None, digits: int = 3) -> str | None:
    if mean is None or math.isnan(mean):
        return None
    if low is None or high is None or math.isnan(low):
        return f"{mean:.{digits}f}"
    return f"{mean:.{digits}f} [{low:.2f}, {high:.2f}]"


# -- Martinon et al. ----------------------------------------------------------------------------------


def eval_rag(options: Options) -> list[Printed]:
    """Table 2 from the published labels, Table 3 from its published inputs, the simulation of Figure 8."""
    labels = options.data / "eval_rag" / "relevancy_answers.jsonl" if options.data else None
    rows = [row for _, row in read_objects(labels)[0]] if labels and labels.is_file() else []
    missing = "not run: --data FOLDER with eval_rag/relevancy_answers.jsonl"
    two = []
    for one in experiments.TABLE_2:
        found: Mapping[str, Any] = _relevance(rows, one.label) if rows else {"chance, here": missing}
        two.append(
            {
                "theme": one.theme,
                "chance": one.chance,
                "observed": one.observed,
                "effective n": f"{one.effective:.2f}",
                "human labels, verdicts": f"{one.labels}, {one.judged}",
                **found,
            }
        )
    three = []
    for one in experiments.TABLE_3:
        low, high = effective_n_range(
            one.observed,
            one.chance,
            one.labels,
            one.judged - one.labels,
            human=experiments.HUMAN_VERACITY,
            bias=experiments.JUDGE_BIAS,
        )
        three.append(
            {
                "theme": one.theme,
                "chance": one.chance,
                "observed": one.observed,
                "human labels, verdicts": f"{one.labels}, {one.judged}",
                "effective n": f"{one.effective:.2f}",
                "effective n that the inputs allow": f"{low:.0f} to {high:.0f}",
            }
        )
    draws = options.settings.judge.simulation_draws
    simulated = sensitivity_to_agreement(experiments.SIMULATED, draws=draws).to_pylist()
    eight = [
        {
            "agreement": row["agreement"],
            "half width": _interval(row["half_width"], row["half_width_low"], row["half_width_high"]),
            "half width, closed form": f"{row['expected_half_width']:.3f}",
            "effective n": f"{row['effective_n']:.0f}",
            "effective n, closed form": f"{row['expected_effective_n']:.0f}",
            "coverage": f"{row['coverage']:.3f}",
        }
        for row in simulated
    ]
    return [
        Printed("Table 2: relevance, published and from the published labels", two),
        Printed(
            "Table 3: veracity",
            three,
            ["The labels are not public: a range from the published figures alone."],
        ),
        Printed(
            f"Figure 8: n = 140, N = 3,985, p = 0.8, {draws} simulated studies an agreement",
            eight,
            ["Published: from ±7 % to ±4 % at an agreement of 93 %, effective n 375."],
        ),
    ]


def _relevance(rows: Iterable[Mapping[str, Any]], theme: str) -> dict[str, Any]:
    judged = [row for row in rows if row["thème"] == theme and row["relevancy_llm"] is not None]
    labelled = [row for row in judged if row["relevancy_humaine"] is not None]
    others = [row["relevancy_llm"] for row in judged if row["relevancy_humaine"] is None]
    labels, verdicts = ([row[f"relevancy_{who}"] for row in labelled] for who in ("humaine", "llm"))
    found, compared = ppi_mean(labels, verdicts, others), agreement(labels, verdicts)
    return {
        "chance, here": f"{compared.chance:.2f}",
        "observed, here": f"{compared.observed:.2f}",
        "effective n, here": f"{found.effective_n:.2f}",
        "labels, verdicts, here": f"{len(labels)}, {len(judged)}",
    }


# -- Kim et al. ---------------------------------------------------------------------------------------


class _Tuned:
    """The encoder and the cross-encoder that learn from clean rows apart from what is measured.

    Args:
        options: say where the rows are, and whether to train.
        corpora: what is measured.
    """

    def __init__(self, options: Options, corpora: Iterable[JudgedCorpus]) -> None:
        rows = {"pretraining": str(options.data)}
        settings = corpora_settings(options.settings)
        self._settings = settings.model_copy(
            update={
                "page_scorer": settings.page_scorer.model_copy(update=rows),
                "reranker_training": settings.reranker_training.model_copy(update=rows),
            }
        )
        self._options = options
        self.problem = "not trained: --train"
        self._withheld = {text_key(corpus.documents[name]) for corpus in corpora for name in corpus.relevant}

    def _made(self, kind: type[PageScorerRecipe] | type[RerankerRecipe]) -> str | None:
        def told(done: int, total: int) -> None:
            if done % 20 == 0:
                self._options.progress(f"training: {done} of {total} steps")

        lake = Lake(self._settings.lake)
        try:
            found = pretrained(kind, lake, self._settings, self._withheld, self._options.train, told)
        except FinragError as error:  # such as an encoder that cannot be trained
            self.problem = str(error)
            return None
        return None if found is None else str(found)

    @cached_property
    def encoder(self) -> str | None:
        """Folder of the encoder."""
        return self._made(PageScorerRecipe)

    @cached_property
    def reranker(self) -> str | None:
        """Folder of the cross-encoder."""
        return self._made(RerankerRecipe)


def financerag(options: Options) -> list[Printed]:
    """NDCG@10 of every row on every set, all queries together with intervals, and what a search takes."""
    if options.data is None:
        raise UsageError("The sets of FinanceRAG are read from a folder.", "Name it: --data FOLDER.")
    data = options.data
    corpora = [
        read_judged_corpus(name, data / one.documents, data / one.queries, data / one.qrels)
        for name, one in experiments.CORPORA.items()
        if (data / one.documents).is_file()
    ]
    if not corpora:
        raise UsageError(f"{data} holds no set of FinanceRAG.", "Give the folder above financerag and finqa.")
    tuned = _Tuned(options, corpora)
    corpora = [corpus.drawn(options.documents, options.settings.seed, options.queries) for corpus in corpora]
    prepared: dict[tuple[str, str], Documents] = {}
    weighted: dict[Any, np.ndarray] = {}
    rows: list[dict[str, Any]] = []
    scores: dict[str, list[np.ndarray]] = {}
    for row in experiments.FINANCERAG:
        options.progress(row.name)
        shown: dict[str, Any] = {"row": row.name, "published": row.published}
        rows.append(shown)
        if (row.tuned and tuned.encoder is None) or (row.reranker and tuned.reranker is None):
            shown["not run"] = tuned.problem
            continue
        found = []
        for corpus in corpora:
            key = (corpus.name, row.form)
            if key not in prepared:
                prepared[key] = Documents(options.settings, corpus, row.form)
            found.append(_ranked(row, prepared[key], tuned, weighted))
        if problem := next((one.problem for one in found if one.scores is None), None):
            shown["not run"] = problem
            continue
        values = [one.scores[:, 0] for one in found if one.scores is not None]
        scores[row.name] = values
        shown |= {corpus.name: f"{part.mean():.3f}" for corpus, part in zip(corpora, values, strict=True)}
        times = [one.milliseconds for one in found if one.milliseconds is not None]
        shown["ms a query"] = f"{np.mean(times):.0f}" if times else None
    _compare(rows, scores, corpora, options.settings)
    best = ", ".join(
        f"{name} {ALPHAS[int(values.mean(axis=0).argmax())]:g}"
        for (name, encoder), values in weighted.items()
        if encoder is None
    )
    sizes = ", ".join(f"{c.name} {len(c.queries)} of {len(c.documents)} documents" for c in corpora)
    return [
        Printed(
            f"NDCG@{CUTOFF} on the sets of FinanceRAG",
            rows,
            [
                f"Queries: {sizes}. All: every query counts alike; intervals over relevant documents.",
                f"Best α of the untuned encoder on all queries of a set: {best}.",
                f"Encoder {options.settings.encoder.name}. Published: stella_en_1.5B_v5 on seven "
                "sets; of the corpus as Markdown or with sentences, the tuned one. Compare differences.",
            ],
        )
    ]


def _ranked(row: DocumentRow, documents: Documents, tuned: _Tuned, weighted: dict[Any, np.ndarray]) -> Ranked:
    encoder = tuned.encoder if row.tuned else None
    system = variant(
        get_system(row.system), encoder=encoder, reranker=tuned.reranker if row.reranker else None
    )
    if row.alpha is None:
        return documents.ranked(system)
    key = (documents.corpus.name, encoder)
    if key not in weighted:
        weighted[key] = documents.by_alpha(system)
    values = weighted[key]
    if row.alpha == "nested":
        chosen = nested_alpha(values, document_clusters(documents.corpus))
    else:
        best = int(values.mean(axis=0).argmax()) if row.alpha == "best" else ALPHAS.index(row.alpha)
        chosen = values[:, best]
    # Only the first metric is looked at here.
    return Ranked(np.repeat(chosen[:, None], len(METRICS), axis=1))


def _compare(
    rows: list[dict[str, Any]],
    scores: Mapping[str, Sequence[np.ndarray]],
    corpora: Sequence[JudgedCorpus],
    settings: Settings,
) -> None:
    """Add mean and interval over all queries, and the paired difference to the first row."""
    clusters = [f"{corpus.name} {name}" for corpus in corpora for name in document_clusters(corpus)]
    queries = [f"{corpus.name} {name}" for corpus in corpora for name in corpus.queries]
    questions = pa.table({"question_id": queries, "filing": clusters, "status": ["measured"] * len(queries)})
    flat = {name: np.concatenate(values) for name, values in scores.items()}
    table = pa.concat_tables(
        pa.table(
            {
                "system": [name] * len(queries),
                "space": ["corpus"] * len(queries),
                "question_id": queries,
                "metric": ["ndcg"] * len(queries),
                "k": [CUTOFF] * len(queries),
                "value": values,
            },
            schema=RETRIEVAL_SCORES,
        )
        for name, values in flat.items()
    )
    first = rows[0]["row"]
    compared = compare_families(table, questions, [Family(first, "ndcg", CUTOFF)]).to_pylist()
    differences = {one["system"]: one for one in compared}
    for shown in rows:
        if (name := shown["row"]) not in flat:
            continue
        means = cluster_means(flat[name][:, None], clusters, settings.evaluation.confidence)
        mean, low, high = (float(part[0]) for part in means)
        shown["all"] = _interval(mean, low, high)
        if name in differences:
            one = differences[name]
            shown[f"against {first}"] = f"{one['difference']:+.3f} [{one['low']:+.2f}, {one['high']:+.2f}]"


# -- what is measured on the benchmark of the lake ----------------------------------------------------


class _Bench:
    """The benchmark of a lake, with rankings of the whole corpus: kept ones, else made here.

    Args:
        settings: of the lake.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.lake = Lake(settings.lake)
        benchmark = get_benchmark(self.lake)
        chunked = {keys["filing"] for keys in self.lake.partitions("filing_chunks")}
        self.filings = tuple(filing for filing in benchmark.filings if filing in chunked)
        questions = self.lake.read("benchmark_questions")
        self.questions = questions.filter(pc.equal(questions["status"], "measured"))
        if not self.questions.num_rows:
            raise BenchmarkError(
                "No question of the benchmark can be measured.", "See: finrag filings --failed."
            )
        self.rows = self.lake.read_all("filings").to_pylist()
        self.sources = {row["filing"]: row["source"] for row in self.rows}
        self._corpora = Corpora(self.lake, settings)
        self._runs: dict[str, pa.Table | str] = {}

    def corpus(self, system: str) -> Any:
        """What a system searches."""
        return self._corpora.over(self.filings, get_system(system))

    def runs(self, name: str) -> pa.Table | str:
        """Rows of ``retrieval_runs`` of a system in the whole corpus, or why there are none."""
        if name not in self._runs:
            try:
                self._runs[name] = self._ranked(name)
            except FinragError as error:
                self._runs[name] = str(error)
        return self._runs[name]

    def _ranked(self, name: str) -> pa.Table | str:
        kept = self.lake.read_all("retrieval_runs", only={"system": [name]})
        kept = kept.filter(pc.equal(kept["space"], Space.CORPUS.value))
        if kept.num_rows:
            return kept.select([*_RUN_COLUMNS])
        system = get_system(name)
        asked = frozenset(self.questions["question"].to_pylist())
        inputs = Inputs(self.corpus(name), questions=asked)
        if problem := system.problem(inputs):
            return problem
        return run_system(system, inputs, self.questions.to_pylist(), [Space.CORPUS]).select([*_RUN_COLUMNS])

    def means(self, scores: pa.Table) -> dict[tuple[str, str, int], dict[str, Any]]:
        """Mean with its interval over all questions, by system, metric and cut-off."""
        table = summarise(scores, self.questions, self.sources, self.settings.evaluation)
        return {
            (row["system"], row["metric"], row["k"]): row
            for row in table.to_pylist()
            if row["slice"] == "all"
        }

    def retrieval(self, name: str) -> dict[str, str | None]:
        """DocRec@5 and PageRec@5, and how much of the first chunks is of another company or year."""
        runs = self.runs(name)
        if isinstance(runs, str):
            return {"not run": runs}
        corpus, pair = self.corpus(name), (name, Space.CORPUS.value)
        texts = dict(zip(corpus.chunk_ids, corpus.chunks["text"].to_pylist(), strict=True))
        gold = find_gold_chunks(self.questions, corpus.chunks)
        means = self.means(score_runs(runs, self.questions, texts, gold, expected=[pair]))
        covers = {
            row["filing"]: str(
                self.lake.read("filing_pages", {"filing": row["filing"]}, ["text"], first=1)["text"][0]
            )
            for row in self.rows
            if row["filing"] in self.filings
        }
        identities = filing_identities(self.rows, covers)
        wrong = self.means(contamination_scores(runs, self.questions, identities, expected=[pair]))
        told = {"DocRec@5": means[name, "doc_rec", 5], "PageRec@5": means[name, "page_rec", 5]}
        told |= {f"wrong {what}@5": wrong[name, f"wrong_{what}", 5] for what in ("company", "year")}
        return {head: _interval(row["mean"], row["low"], row["high"]) for head, row in told.items()}

    @cached_property
    def _facts(self) -> dict[str, pa.Table]:
        known = {keys["filing"] for keys in self.lake.partitions("statement_facts")} & set(self.filings)
        return {
            name: self.lake.read("statement_facts", {"filing": name}, FACT_COLUMNS) for name in sorted(known)
        }

    def calculator(self, scaled: bool) -> Calculator:
        """A calculator over the facts; unscaled, a value is what is printed, whatever its table's scale."""
        facts = self._facts if scaled else {name: _as_printed(table) for name, table in self._facts.items()}
        return Calculator.of_tables(self.rows, facts, load_resolver(self.lake, self.filings, self.rows))

    def answers(self, step: Step) -> dict[str, str | None]:
        """Share of right answers of a reader that sees the retrieved pages alone."""
        runs = self.runs(step.retrieval)
        if isinstance(runs, str):
            return {"not run": runs}
        reader = AnswerSystem(step.method, step.method, step.retrieval, "")
        model = load_language_model(self.settings.language_model, self.lake) if reader.needs_model else None
        if reader.needs_model and model is None:
            return {"not run": "It needs a language model: set FINRAG_LANGUAGE_MODEL__BASE_URL and __NAME."}
        # The space of gold pages is that in which a reader may use the pages of its passages alone.
        runs = runs.set_column(runs.column_names.index("space"), "space", pa.array([Space.PAGES] * len(runs)))
        corpus = self.corpus(step.retrieval)
        embed = corpus.encoder.embed_short
        table = run_answers(
            reader, runs, self.questions.to_pylist(), corpus.text, self.calculator(step.scaled), embed, model,
            self.settings,
        )  # fmt: skip
        scores = as_series(score_answers(table, self.questions))
        # Both over the questions whose gold answer is one number.
        numbers = pc.field("metric") == "strict_match_wide"
        asked = set(scores.filter(numbers)["question_id"].to_pylist())
        means = self.means(
            scores.filter(pc.is_in(scores["question_id"], pa.array(sorted(asked), pa.string())))
        )
        name = f"{step.method} on {step.retrieval}"
        found: dict[str, str | None] = {"n": str(len(asked))}
        for head, metric in (
            ("numeric match", "numeric_match"),
            ("right", "strict_match_wide"),
            ("abstains", "abstained"),
        ):
            row = means.get((name, metric, 0))
            found[head] = _interval(row["mean"], row["low"], row["high"]) if row else None
        return found


_RUN_COLUMNS = ("system", "space", "question_id", "rank", "chunk_id", "filing", "page", "score")


def _as_printed(facts: pa.Table) -> pa.Table:
    scale = pc.if_else(pc.equal(facts["scale"], 0), 1.0, facts["scale"])
    return facts.set_column(facts.column_names.index("value"), "value", pc.divide(facts["value"], scale))


def table_rag(options: Options) -> list[Printed]:
    """Progression, filters, statements, reasoning, scale, chunking of the guide on the lake's questions."""
    bench = _Bench(options.settings)

    def steps(title: str, rows: Iterable[Step]) -> Printed:
        found = []
        for step in rows:
            options.progress(step.name)
            found.append(
                {
                    "step": step.name,
                    "retrieval": step.retrieval,
                    "reader": step.method,
                    "published": step.published,
                    **bench.answers(step),
                }
            )
        return Printed(title, found)

    def systems(title: str, rows: Mapping[str, str]) -> Printed:
        found = []
        for name, system in rows.items():
            options.progress(name)
            found.append({"row": name, "system": system, **bench.retrieval(system)})
        return Printed(title, found)

    read = (
        "Readers see the pages of the first ten chunks alone. Right: wide strict match. Intervals: filings."
    )
    return [
        replace(steps("Progression: each step added", experiments.PROGRESSION), notes=[read]),
        systems("Filters (12.4)", experiments.FILTERS),
        systems("Statements (12.2)", experiments.STATEMENTS),
        steps("Chain of thought against direct (12.3)", experiments.REASONING),
        steps("Scale normalisation (5)", experiments.SCALE),
        systems("Chunking (4), one chunk a page", experiments.CHUNKINGS),
    ]


def page_scorer(options: Options) -> list[Printed]:
    """Tables 4 and 9 of the oracle evaluation: published means beside those of the lake."""
    lake = Lake(options.settings.lake)
    ours = {
        (row["system"], row["space"], row["metric"], row["k"]): row
        for row in lake.read_all("system_metrics").to_pylist()
        if row["slice"] == "all"
    }
    heads = ("DocRec@5", "PageRec@5", "Max BLEU@5", "Max ROUGE-L@5")

    def cells(system: str, space: str, values: Iterable[float]) -> dict[str, str | None]:
        found: dict[str, str | None] = {}
        for head, metric, value in zip(heads, PUBLISHED_METRICS, values, strict=True):
            row = ours.get((system, space, metric, 5))
            here = _interval(row["mean"], row["low"], row["high"]) if row else "not run"
            found |= {f"{head}, published": f"{value:.2f}", f"{head}, here": here}
        return found

    rows: dict[tuple[str, str], dict[str, float]] = {}
    for one in PUBLISHED:
        if one.paper == COMPARED_WITH:
            rows.setdefault((one.system, one.space), {})[one.metric] = one.value
    four = [
        {"system": system, "space": space, **cells(system, space, values.values())}
        for (system, space), values in rows.items()
    ]
    nine = [{"system": name, **cells(name, "corpus", values)} for name, values in experiments.TABLE_9.items()]
    asked = lake.read_all("benchmark_questions", ["status", "filing"]).to_pylist()
    filings = [row["filing"] for row in asked if row["status"] == "measured"]
    here = f"Here {len(filings)} questions on {len(set(filings))} filings, there {QUESTIONS} on {DOCUMENTS}"
    notes = [
        f"{here}." if is_comparable(len(filings), len(set(filings))) else f"{here}: levels do not compare.",
        "A row that was not run: finrag run --systems SYSTEM; finrag systems says what it needs.",
    ]
    return [
        Printed(f"Table 4, published figures of the {COMPARED_WITH}", four, notes),
        Printed(
            "Table 9: pages P of the learned page scorer",
            nine,
            [f"Needs a training: finrag train page_scorer. The full recipe: `{experiments.FULL_RECIPE}`."],
        ),
    ]
