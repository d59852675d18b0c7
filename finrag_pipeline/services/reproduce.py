"""Reproduces the tables of the papers: what is run here and what was published, side by side.

The experiments are data (`services.experiments`). What cannot be run here stands as a row that says why.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.answering.calculator import Calculator
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
from finrag_pipeline.evaluation.benchmark import benchmark_filings
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
from finrag_pipeline.rankers.recipe import FineTuning, pretrained
from finrag_pipeline.rankers.reranker import RerankerRecipe
from finrag_pipeline.resolver.resolver import load_resolver
from finrag_pipeline.retrieval.component import Inputs
from finrag_pipeline.retrieval.corpus import Corpus
from finrag_pipeline.retrieval.spaces import Space
from finrag_pipeline.retrieval.system import run_system
from finrag_pipeline.retrieval.systems import get_system, variant
from finrag_pipeline.schemas import RETRIEVAL_SCORES
from finrag_pipeline.services import experiments
from finrag_pipeline.services.beir import ALPHAS, Documents, corpora_settings, nested_alpha
from finrag_pipeline.services.experiments import Paper, Step
from finrag_pipeline.services.search import Corpora
from finrag_pipeline.settings import Settings
from finrag_pipeline.statements.filed_facts import FACT_COLUMNS
from finrag_pipeline.storage.lake import Lake


@dataclass(frozen=True)
class Printed:
    """A table for people and programs; a row that was not run has the reason in its column ``not run``."""

    title: str
    rows: list[dict[str, Any]]
    notes: list[str] = field(default_factory=list)

    def markdown(self) -> str:
        """The table with its notes."""
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
    progress: Callable[[str], object] = lambda what: None


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


def _interval(row: Mapping[str, Any], mean: str = "mean", low: str = "low", high: str = "high") -> str | None:
    if row[mean] is None or math.isnan(row[mean]):
        return None
    if row[low] is None or row[high] is None or math.isnan(row[low]):
        return f"{row[mean]:.3f}"
    return f"{row[mean]:.3f} [{row[low]:.2f}, {row[high]:.2f}]"


# -- Martinon et al. ----------------------------------------------------------------------------------


def eval_rag(options: Options) -> list[Printed]:
    """Table 2 from the published labels, Table 3 from its published inputs, the simulation of Figure 8."""
    labels = options.data / "eval_rag" / "relevancy_answers.jsonl" if options.data else None
    rows = [row for _, row in read_objects(labels)[0]] if labels and labels.is_file() else []
    missing = {"chance, here": "not run: --data FOLDER with eval_rag/relevancy_answers.jsonl"}
    two = [
        {
            "theme": one.theme,
            "chance": one.chance,
            "observed": one.observed,
            "effective n": f"{one.effective:.2f}",
            "human labels, verdicts": f"{one.labels}, {one.judged}",
            **(_relevance(rows, one.label) if rows else missing),
        }
        for one in experiments.TABLE_2
    ]
    human, bias = experiments.HUMAN_VERACITY, experiments.JUDGE_BIAS
    three = []
    for one in experiments.TABLE_3:
        unlabelled = one.judged - one.labels
        low, high = effective_n_range(
            one.observed, one.chance, one.labels, unlabelled, human=human, bias=bias
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
    eight = [
        {
            "agreement": row["agreement"],
            "half width": _interval(row, "half_width", "half_width_low", "half_width_high"),
            "half width, closed form": f"{row['expected_half_width']:.3f}",
            "effective n": f"{row['effective_n']:.0f}",
            "effective n, closed form": f"{row['expected_effective_n']:.0f}",
            "coverage": f"{row['coverage']:.3f}",
        }
        for row in sensitivity_to_agreement(experiments.SIMULATED, draws=draws).to_pylist()
    ]
    ranged = "The labels are not public: a range from the published figures alone."
    published = "Published: from ±7 % to ±4 % at an agreement of 93 %, effective n 375."
    return [
        Printed("Table 2: relevance, published and from the published labels", two),
        Printed("Table 3: veracity", three, [ranged]),
        Printed(
            f"Figure 8: n = 140, N = 3,985, p = 0.8, {draws} simulated studies an agreement",
            eight,
            [published],
        ),
    ]


def _relevance(rows: Iterable[Mapping[str, Any]], theme: str) -> dict[str, str]:
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

_Trained = Callable[[type[FineTuning]], tuple[str | None, str | None]]
"""Folder of a model, or why there is none."""


def _learned_apart(options: Options, corpora: Iterable[JudgedCorpus]) -> _Trained:
    """Models that learn from clean rows apart from what is measured."""
    rows, settings = {"pretraining": str(options.data)}, corpora_settings(options.settings)
    groups = ("page_scorer", "reranker_training")
    settings = settings.model_copy(
        update={name: getattr(settings, name).model_copy(update=rows) for name in groups}
    )
    withheld = {text_key(corpus.documents[name]) for corpus in corpora for name in corpus.relevant}

    def told(done: int, total: int) -> None:
        if done % 20 == 0:
            options.progress(f"training: {done} of {total} steps")

    @cache
    def trained(kind: type[FineTuning]) -> tuple[str | None, str | None]:
        try:
            found = pretrained(kind, Lake(settings.lake), settings, withheld, options.train, told)
        except FinragError as error:  # such as an encoder that cannot be trained
            return None, str(error)
        return (str(found), None) if found else (None, "not trained: --train")

    return trained


def financerag(options: Options) -> list[Printed]:
    """NDCG@10 of every row on every set, all queries together with intervals, and what a search takes."""
    if options.data is None:
        raise UsageError("The sets of FinanceRAG are read from a folder.", "Name it: --data FOLDER.")
    data, settings = options.data, options.settings
    corpora = [
        read_judged_corpus(name, *(data / path for path in files))
        for name, files in experiments.CORPORA.items()
        if (data / files.documents).is_file()
    ]
    if not corpora:
        raise UsageError(f"{data} holds no set of FinanceRAG.", "Give the folder above financerag and finqa.")
    trained = _learned_apart(options, corpora)
    corpora = [corpus.drawn(options.documents, settings.seed, options.queries) for corpus in corpora]
    documents = cache(lambda number, form: Documents(settings, corpora[number], form))
    weighted: dict[tuple[str, str | None], np.ndarray] = {}
    rows: list[dict[str, Any]] = []
    scores: dict[str, np.ndarray] = {}
    for row in experiments.FINANCERAG:
        options.progress(row.name)
        shown: dict[str, Any] = {"row": row.name, "published": row.published}
        rows.append(shown)
        encoder, no_encoder = trained(PageScorerRecipe) if row.tuned else (None, None)
        reranker, no_reranker = trained(RerankerRecipe) if row.reranker else (None, None)
        problem = no_encoder or no_reranker
        system = variant(get_system(row.system), encoder=encoder, reranker=reranker)
        values: list[np.ndarray] = []
        times: list[float] = []
        for number, corpus in enumerate(corpora if problem is None else ()):
            searched = documents(number, row.form)
            if row.alpha is None:
                ranked = searched.ranked(system)
                if ranked.scores is None or ranked.milliseconds is None:
                    problem = ranked.problem
                    break
                values.append(ranked.scores[:, METRICS.index(f"ndcg@{CUTOFF}")])
                times.append(ranked.milliseconds)
            else:
                if (key := (corpus.name, encoder)) not in weighted:
                    weighted[key] = searched.by_alpha(system)
                values.append(_at(row.alpha, weighted[key], corpus))
        if problem is not None:
            shown["not run"] = problem
            continue
        scores[row.name] = np.concatenate(values)
        shown |= {corpus.name: f"{part.mean():.3f}" for corpus, part in zip(corpora, values, strict=True)}
        shown["ms a query"] = f"{np.mean(times):.0f}" if times else None
    if scores:
        _compare(rows, scores, corpora, settings.evaluation.confidence)
    best = ", ".join(
        f"{name} {ALPHAS[int(by_alpha.mean(axis=0).argmax())]:g}"
        for (name, encoder), by_alpha in weighted.items()
        if encoder is None
    )
    sizes = ", ".join(f"{c.name} {len(c.queries)} of {len(c.documents)} documents" for c in corpora)
    notes = [
        f"Queries: {sizes}. All: every query counts alike; intervals over relevant documents.",
        f"Best α of the untuned encoder on all queries of a set: {best}.",
        f"Encoder {settings.encoder.name}. Published: stella_en_1.5B_v5 on seven "
        "sets; of the corpus as Markdown or with sentences, the tuned one. Compare differences.",
    ]
    return [Printed(f"NDCG@{CUTOFF} on the sets of FinanceRAG", rows, notes)]


def _at(alpha: float | str, values: np.ndarray, corpus: JudgedCorpus) -> np.ndarray:
    """Of scores by query and weight those at the weight that a row names."""
    if alpha == "nested":
        return nested_alpha(values, document_clusters(corpus))
    column = int(values.mean(axis=0).argmax()) if alpha == "best" else ALPHAS.index(float(alpha))
    return np.asarray(values[:, column])


def _compare(
    rows: list[dict[str, Any]],
    scores: Mapping[str, np.ndarray],
    corpora: Iterable[JudgedCorpus],
    confidence: float,
) -> None:
    """Add mean and interval over all queries, and the paired difference to the first row."""
    clusters = [f"{corpus.name} {name}" for corpus in corpora for name in document_clusters(corpus)]
    queries = [f"{corpus.name} {name}" for corpus in corpora for name in corpus.queries]
    questions = pa.table({"question_id": queries, "filing": clusters, "status": ["measured"] * len(queries)})
    size = len(scores) * len(queries)
    table = pa.table(
        {
            "system": np.repeat(list(scores), len(queries)),
            "space": [Space.CORPUS.value] * size,
            "question_id": queries * len(scores),
            "metric": ["ndcg"] * size,
            "k": [CUTOFF] * size,
            "value": np.concatenate(list(scores.values())),
        },
        schema=RETRIEVAL_SCORES,
    )
    first = rows[0]["row"]
    compared = compare_families(table, questions, [Family(first, "ndcg", CUTOFF)]).to_pylist()
    differences = {one["system"]: one for one in compared}
    for shown in rows:
        if (name := shown["row"]) in scores:
            means = cluster_means(scores[name][:, None], clusters, confidence)
            shown["all"] = _interval(
                dict(zip(("mean", "low", "high"), (float(m[0]) for m in means), strict=True))
            )
            if one := differences.get(name):
                shown[f"against {first}"] = (
                    f"{one['difference']:+.3f} [{one['low']:+.2f}, {one['high']:+.2f}]"
                )


# -- what is measured on the benchmark of the lake ----------------------------------------------------

_RUN_COLUMNS = ["system", "space", "question_id", "rank", "chunk_id", "filing", "page", "score"]


class _Bench:
    """The benchmark of a lake, with rankings of the whole corpus: kept ones, else made here."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.lake = settings, Lake(settings.lake)
        self.filings = benchmark_filings(self.lake)
        self.questions = self.lake.read("benchmark_questions").filter(pc.field("status") == "measured")
        if not self.questions.num_rows:
            raise BenchmarkError(
                "No question of the benchmark can be measured.", "See: finrag filings --failed."
            )
        self.rows = self.lake.read_all("filings").to_pylist()
        self._corpora = Corpora(self.lake, settings)
        self._runs: dict[str, pa.Table | str] = {}

    def _corpus(self, system: str) -> Corpus:
        return self._corpora.over(self.filings, get_system(system))

    def runs(self, name: str) -> pa.Table | str:
        """Rows of ``retrieval_runs`` of a system in the whole corpus, or why there are none."""
        if name not in self._runs:
            try:
                found = self._ranked(name)
            except FinragError as error:
                found = str(error)
            self._runs[name] = found if isinstance(found, str) else found.select(_RUN_COLUMNS)
        return self._runs[name]

    def _ranked(self, name: str) -> pa.Table | str:
        kept = self.lake.read_all("retrieval_runs", only={"system": [name]})
        kept = kept.filter(pc.field("space") == Space.CORPUS.value)
        if kept.num_rows:
            return kept
        system, asked = get_system(name), frozenset(self.questions["question"].to_pylist())
        inputs = Inputs(self._corpus(name), questions=asked)
        problem = system.problem(inputs)
        return problem or run_system(system, inputs, self.questions.to_pylist(), [Space.CORPUS])

    def _means(self, scores: pa.Table) -> dict[tuple[str, str, int], str | None]:
        """Mean with its interval over all questions, by system, metric and cut-off."""
        sources = {row["filing"]: row["source"] for row in self.rows}
        table = summarise(scores, self.questions, sources, self.settings.evaluation)
        return {
            (row["system"], row["metric"], row["k"]): _interval(row)
            for row in table.filter(pc.field("slice") == "all").to_pylist()
        }

    @cached_property
    def _identities(self) -> Any:
        covers = {
            filing: str(self.lake.read("filing_pages", {"filing": filing}, ["text"], first=1)["text"][0])
            for filing in self.filings
        }
        return filing_identities(self.rows, covers)

    def retrieval(self, name: str) -> dict[str, str | None]:
        """DocRec@5 and PageRec@5, and how much of the first chunks is of another company or year."""
        runs = self.runs(name)
        if isinstance(runs, str):
            return {"not run": runs}
        chunks, pair = self._corpus(name).chunks, (name, Space.CORPUS.value)
        texts = dict(zip(chunks["chunk_id"].to_pylist(), chunks["text"].to_pylist(), strict=True))
        gold = find_gold_chunks(self.questions, chunks)
        means = self._means(score_runs(runs, self.questions, texts, gold, expected=[pair]))
        wrong = self._means(contamination_scores(runs, self.questions, self._identities, expected=[pair]))
        told = {"DocRec@5": means[name, "doc_rec", 5], "PageRec@5": means[name, "page_rec", 5]}
        return told | {f"wrong {what}@5": wrong[name, f"wrong_{what}", 5] for what in ("company", "year")}

    @cached_property
    def _facts(self) -> dict[str, pa.Table]:
        known = {keys["filing"] for keys in self.lake.partitions("statement_facts")} & set(self.filings)
        return {
            name: self.lake.read("statement_facts", {"filing": name}, FACT_COLUMNS) for name in sorted(known)
        }

    def calculator(self, scaled: bool) -> Calculator:
        """A calculator over the facts; unscaled, a value is what is printed, whatever its table's scale."""
        facts = self._facts if scaled else {name: _as_printed(table) for name, table in self._facts.items()}
        resolver = load_resolver(self.lake, self.filings, self.rows)
        return Calculator(self.rows, facts, facts.__getitem__, resolver)

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
        corpus, questions = self._corpus(step.retrieval), self.questions.to_pylist()
        embed, calculator = corpus.encoder.embed_short, self.calculator(step.scaled)
        table = run_answers(reader, runs, questions, corpus.text, calculator, embed, model, self.settings)
        scores = as_series(score_answers(table, self.questions))
        # Both over the questions whose gold answer is one number.
        asked = scores.filter(pc.field("metric") == "strict_match_wide")["question_id"].unique()
        means = self._means(scores.filter(pc.field("question_id").isin(asked)))
        shown = {
            "numeric match": "numeric_match",
            "right": "strict_match_wide",
            "abstains": "abstained",
        }
        name = f"{step.method} on {step.retrieval}"
        return {"n": str(len(asked))} | {head: means.get((name, of, 0)) for head, of in shown.items()}


def _as_printed(facts: pa.Table) -> pa.Table:
    scale = pc.if_else(pc.equal(facts["scale"], 0), 1.0, facts["scale"])
    return facts.set_column(facts.column_names.index("value"), "value", pc.divide(facts["value"], scale))


def table_rag(options: Options) -> list[Printed]:
    """Progression, filters, statements, reasoning, scale, chunking of the guide on the lake's questions."""
    bench = _Bench(options.settings)
    tables: list[Printed] = []
    for title, of in experiments.GUIDE.items():
        rows: list[dict[str, Any]] = []
        for one in of.items() if isinstance(of, dict) else of:
            if isinstance(one, Step):
                options.progress(one.name)
                told = {"step": one.name, "retrieval": one.retrieval, "reader": one.method}
                rows.append({**told, "published": one.published, **bench.answers(one)})
            else:
                name, system = one
                options.progress(name)
                rows.append({"row": name, "system": system, **bench.retrieval(system)})
        tables.append(Printed(title, rows))
    tables[0].notes.append(
        "Readers see the pages of the first ten chunks alone. Right: wide strict match. Intervals: filings."
    )
    return tables


def page_scorer(options: Options) -> list[Printed]:
    """Tables 4 and 9 of the oracle evaluation: published means beside those of the lake."""
    lake = Lake(options.settings.lake)
    ours = {
        (row["system"], row["space"], row["metric"], row["k"]): _interval(row)
        for row in lake.read_all("system_metrics").filter(pc.field("slice") == "all").to_pylist()
    }
    heads = ("DocRec@5", "PageRec@5", "Max BLEU@5", "Max ROUGE-L@5")

    def cells(system: str, space: str, values: Iterable[float]) -> dict[str, str | None]:
        found: dict[str, str | None] = {}
        for head, metric, value in zip(heads, PUBLISHED_METRICS, values, strict=True):
            here = ours.get((system, space, metric, 5), "not run")
            found |= {f"{head}, published": f"{value:.2f}", f"{head}, here": here}
        return found

    rows: dict[tuple[str, str], list[float]] = {}
    for one in PUBLISHED:
        if one.paper == COMPARED_WITH:
            rows.setdefault((one.system, one.space), []).append(one.value)
    four = [
        {"system": system, "space": space, **cells(system, space, values)}
        for (system, space), values in rows.items()
    ]
    nine = [{"system": name, **cells(name, "corpus", values)} for name, values in experiments.TABLE_9.items()]
    asked = lake.read_all("benchmark_questions", ["status", "filing"])
    filings = asked.filter(pc.field("status") == "measured")["filing"].to_pylist()
    here = f"Here {len(filings)} questions on {len(set(filings))} filings, there {QUESTIONS} on {DOCUMENTS}"
    notes = [
        f"{here}." if is_comparable(len(filings), len(set(filings))) else f"{here}: levels do not compare.",
        "A row that was not run: finrag run --systems SYSTEM; finrag systems says what it needs.",
    ]
    recipe = f"Needs a training: finrag train page_scorer. The full recipe: `{experiments.FULL_RECIPE}`."
    return [
        Printed(f"Table 4, published figures of the {COMPARED_WITH}", four, notes),
        Printed("Table 9: pages P of the learned page scorer", nine, [recipe]),
    ]
