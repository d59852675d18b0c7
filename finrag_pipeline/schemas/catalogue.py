"""The catalogue: one entry for everything that is made, of which all else that names it is derived.

From it come dependencies, code versions, partitions, groups and columns of the assets, fingerprints and what
is stale, jobs and what sensors watch, what a killed run was making, and what the warehouse holds.
"""

from __future__ import annotations

from dataclasses import dataclass

INDEX_FILING = "index_filing"
INDEX_ON_DEMAND = "index_on_demand"
VECTORS = "lance_write"
"""Pool of what writes vectors; one slot by the instance's default limit, as every pool."""


@dataclass(frozen=True)
class Entry:
    """A table of the lake, or something else that is made.

    Attributes:
        name: of its asset.
        group: part of the graph that it belongs to.
        job: what makes it.
        inputs: what it is made from: the same part of what is cut alike, all of everything else. Of
            ``filings`` what is made of a filing reads its identity alone.
        code: constants that change with the code that makes it, as ``module:name`` below the package; or the
            version itself.
        settings: values of the settings that decide it, by dotted name. ``encoder`` stands for the model's
            fingerprint, ``tokenizer`` for that of its tokenizer.
        by: what a part is of: a ``filing``, a ``model`` (trained without a fold), a ``run`` (of a retrieval
            system on a fold), an ``answer`` (of an answering system on a fold); empty for a single part.
        after: what must have been made before although nothing of it is read.
        table: where its rows go when that is not a table of its own; None when it is no table.
        columns: the table whose columns it has, where they are not its own.
        kinds: tags that the graph shows.
        engineering: the team that owns it, ``data`` or ``ml``.
        automation: what re-runs it by itself: changed ``data`` of its filing, or a change of the ``corpus``.
        pool: of steps of which one runs at a time.
    """

    name: str
    group: str
    job: str
    inputs: tuple[str, ...] = ()
    code: tuple[str, ...] = ("1",)
    settings: tuple[str, ...] = ()
    by: str = ""
    after: tuple[str, ...] = ()
    table: str | None = ""
    columns: str = ""
    kinds: frozenset[str] = frozenset({"python", "parquet"})
    engineering: str = "ml"
    automation: str = ""
    pool: str = ""

    @property
    def folder(self) -> str:
        """The table that its rows go to; empty when it is no table."""
        return self.name if self.table == "" else self.table or ""

    @property
    def schema(self) -> str:
        """The table whose columns it has; empty when it is no table."""
        return self.columns or self.folder


def _kinds(*others: str) -> frozenset[str]:
    return frozenset({"python", *others})


_RANKER = "rankers.page_ranker"
_ANSWER_METRICS = "evaluation:ANSWER_METRICS_VERSION"
_ITEMS = "evaluation.judged_answers:ITEMS_VERSION"
_JUDGES = "evaluation.judges:JUDGES_VERSION"
_AUTOMATIC = "evaluation.judged_answers:AUTOMATIC_VERSION"
_ESTIMATES = "evaluation.judge_estimates:ESTIMATES_VERSION"
_SHEETS = "evaluation.labels:SHEETS_VERSION"
_SUMMARY = "evaluation.summary:SUMMARY_VERSION"
_GAP = "evaluation.retrieval_gap:GAP_VERSION"
_CONFIDENCE = "evaluation.confidence"
_VERDICTS = ("verdicts", "recorded_verdicts", "human_labels", "label_sample")


def _of_filing(
    name: str, group: str, inputs: tuple[str, ...], code: tuple[str, ...], settings: tuple[str, ...] = (),
    *, ml: bool = False, pool: str = "", after: tuple[str, ...] = (),
) -> Entry:  # fmt: skip
    """What is made of every filing that comes in, and again when its data changed."""
    automation = "data" if inputs or after else ""
    return Entry(
        name, group, INDEX_FILING, inputs, code, settings, "filing", after, pool=pool, automation=automation,
        engineering="ml" if ml else "data",
    )  # fmt: skip


def _on_demand(
    name: str, inputs: tuple[str, ...], code: str, settings: tuple[str, ...], columns: str = ""
) -> Entry:
    """Chunks of a filing that only some systems read."""
    return Entry(
        name, "chunking", INDEX_ON_DEMAND, inputs, (code,), settings, "filing", columns=columns,
        engineering="data",
    )  # fmt: skip


def _vectors(name: str, chunks: str) -> Entry:
    """Vectors of the chunks of a filing."""
    return Entry(
        name, "indexing", INDEX_ON_DEMAND, (chunks,), ("embedding.windows:WINDOWS_VERSION",),
        ("encoder", "encoder.pooling"), "filing", table=None, kinds=_kinds("lancedb"), engineering="data",
        pool=VECTORS,
    )  # fmt: skip


def _learned(name: str, library: str, code: str, *pages: str) -> Entry:
    """A kind of model that is trained fold by fold."""
    inputs = (*pages, "benchmark_questions", "folds")
    return Entry(name, "training", f"train_{name}", inputs, (code,), by="model", kinds=_kinds(library))


def _judgement(
    name: str, inputs: tuple[str, ...], code: str, settings: tuple[str, ...] = (), *, excel: bool = False
) -> Entry:
    """What is said of judged answers and of differences, over all systems."""
    kinds = _kinds("parquet", "excel") if excel else _kinds("parquet")
    return Entry(name, "judging", "publish_judgements", inputs, (code,), settings, kinds=kinds)


ENTRIES = (
    _of_filing("filings", "ingestion", (), ("filings:IDENTITY_VERSION", "filings.pages:reader_version")),
    _of_filing("filing_pages", "ingestion", (), ("filings.pages:reader_version",), after=("filings",)),
    _of_filing(
        "filing_chunks", "chunking", ("filing_pages",), ("chunking.fixed:CHUNKING_VERSION",),
        ("chunks", "tokenizer"),
    ),
    _of_filing(
        "page_tables", "tables", ("filing_pages", "filings"),
        ("tables:TABLES_VERSION", "tables.words.detector:WordsDetector.version"), ("tables",),
    ),
    _of_filing("statement_facts", "tables", ("page_tables", "filings"), ("statements:FACTS_VERSION",)),
    _of_filing(
        "page_profiles", "chunking", ("filing_pages", "page_tables", "statement_facts", "filings"),
        (f"{_RANKER}:PROFILES_VERSION",), ml=True,
    ),
    _of_filing(
        "page_sentences", "indexing", ("filing_pages",), (f"{_RANKER}:SENTENCES_VERSION",), ("encoder",),
        ml=True, pool=VECTORS,
    ),
    _vectors("chunk_index", "filing_chunks"),
    _on_demand(
        "contextual_chunks", ("filing_pages", "page_tables", "filings"), "chunking:CONTEXTUAL_VERSION",
        ("contextual_chunks", "tokenizer"),
    ),
    _vectors("contextual_index", "contextual_chunks"),
    _on_demand(
        "parent_child_chunks", ("filing_pages",), "chunking.parent_child:PARENT_CHILD_VERSION",
        ("tokenizer",), "filing_chunks",
    ),
    _vectors("parent_child_index", "parent_child_chunks"),
    Entry("benchmark_questions", "benchmark", "prepare_benchmark", ("filing_pages",)),
    Entry("folds", "benchmark", "prepare_benchmark", ("benchmark_questions",), settings=("seed",)),
    Entry("corpus_statistics", "reporting", "prepare_benchmark", ("filing_chunks", "benchmark_questions")),
    Entry(
        "bm25_index", "indexing", "prepare_benchmark", ("filing_chunks",), ("retrieval.bm25:BM25_VERSION",),
        table=None, kinds=_kinds("numpy"), engineering="data", automation="corpus",
    ),
    Entry(
        "hybrid_alpha_sweep", "retrieval", "prepare_benchmark",
        ("chunk_index", "benchmark_questions", "folds"), ("retrieval.alpha:ALPHA_VERSION",),
        columns="retrieval_scores",
    ),
    _learned("page_ranker", "lightgbm", f"{_RANKER}:RANKER_VERSION", "page_profiles", "page_sentences"),
    _learned("page_scorer", "pytorch", "rankers:SCORER_VERSION", "page_profiles"),
    _learned("reranker", "pytorch", "rankers:RERANKER_TRAINING_VERSION", "page_profiles"),
    Entry(
        "retrieval_runs", "retrieval", "sweep",
        ("bm25_index", "chunk_index", "contextual_index", "parent_child_index", "page_profiles",
         "page_sentences", "statement_facts", "folds", "hybrid_alpha_sweep", "page_ranker", "page_scorer",
         "reranker"),
        ("retrieval.system:SYSTEMS_VERSION", "resolver:RESOLVER_VERSION"), by="run",
    ),
    Entry(
        "retrieval_scores", "retrieval", "sweep", ("retrieval_runs",),
        ("evaluation.retrieval_metrics:METRICS_VERSION",), by="run",
    ),
    Entry(
        "answers", "answering", "answer", ("retrieval_runs", "statement_facts", "page_tables", "folds"),
        ("answering.systems:RUNS_VERSION",), by="answer",
    ),
    Entry("answer_scores", "answering", "answer", ("answers",), (_ANSWER_METRICS,), by="answer"),
    Entry(
        "recorded_answers", "answering", "publish_answers", ("benchmark_questions",), (_ANSWER_METRICS,),
        table="answers",
    ),
    Entry(
        "answer_metrics", "answering", "publish_answers", ("answer_scores", "recorded_answers"),
        (_ANSWER_METRICS, _SUMMARY), ("evaluation", "seed"),
    ),
    Entry(
        "false_answers", "answering", "publish_answers",
        ("filing_pages", "filing_chunks", "page_tables", "statement_facts", "page_ranker"),
        ("evaluation.unanswerable:UNANSWERABLE_VERSION", "answering.systems:RUNS_VERSION"), ("encoder",),
    ),
    Entry(
        "system_metrics", "reporting", "publish", ("retrieval_scores",), (_SUMMARY,), ("evaluation", "seed"),
        automation="corpus",
    ),
    Entry(
        "retrieval_gap", "evaluation", "publish", ("retrieval_runs", "answer_scores", "system_metrics"),
        (_GAP, "evaluation.baseline_judge:BASELINE_VERSION"),
    ),
    Entry("gap_counts", "evaluation", "publish", ("retrieval_gap",), (_GAP,), (_CONFIDENCE,)),
    Entry("answer_sentences", "judging", "judge", ("answers", "benchmark_questions"), (_ITEMS,), by="answer"),
    Entry(
        "automatic_scores", "judging", "judge", ("answers", "answer_sentences"), (_AUTOMATIC,), by="answer"
    ),
    Entry(
        "verdicts", "judging", "judge", ("answers", "answer_sentences", "benchmark_questions"), (_JUDGES,),
        by="answer",
    ),
    Entry(
        "recorded_verdicts", "judging", "publish_judgements", ("recorded_answers", "benchmark_questions"),
        (_JUDGES,), table="verdicts",
    ),
    _judgement("answer_rates", ("automatic_scores", "recorded_verdicts"), _AUTOMATIC, (_CONFIDENCE,)),
    _judgement(
        "judge_calibration", ("benchmark_questions",), "evaluation.judge_estimates:CALIBRATION_VERSION"
    ),
    _judgement("label_sample", ("answers",), _SHEETS, excel=True),
    _judgement("human_labels", ("label_sample",), _SHEETS, excel=True),
    _judgement("judged_estimates", _VERDICTS, _ESTIMATES, (_CONFIDENCE,)),
    _judgement("judge_agreement", _VERDICTS, _ESTIMATES, ("seed",)),
    _judgement(
        "system_comparisons",
        ("retrieval_scores", "answer_scores", "recorded_answers", "benchmark_questions", "system_metrics"),
        "evaluation.paired_tests:FAMILIES_VERSION", (_CONFIDENCE, "seed"),
    ),
    _judgement(
        "judge_sensitivity", (), "evaluation.simulations:SENSITIVITY_VERSION",
        ("judge.simulation_draws", _CONFIDENCE, "seed"),
    ),
    _judgement(
        "interval_coverage", (), "evaluation.simulations:COVERAGE_VERSION",
        ("judge.simulation_draws", _CONFIDENCE, "seed"),
    ),
    Entry(
        "report", "reporting", "publish",
        ("system_metrics", "corpus_statistics", "gap_counts", "answer_metrics", "false_answers",
         "hybrid_alpha_sweep", "answer_rates", "judge_calibration", "judged_estimates", "system_comparisons",
         "judge_sensitivity", "interval_coverage"),
        ("reporting:REPORT_VERSION", "reporting:EXPLORER_VERSION", "reporting:PICTURES_VERSION"),
        table=None, kinds=_kinds("html"), automation="corpus",
    ),
)  # fmt: skip

FOLDERS = {one.folder: one for one in reversed(ENTRIES) if one.folder}
"""The first entry that writes to each folder of the lake: the tables of the warehouse."""

_WAREHOUSE = Entry(
    "warehouse", "reporting", "publish", tuple(one.name for one in ENTRIES if one.folder),
    table=None, kinds=_kinds("duckdb"), automation="corpus", pool="duckdb_write",
)  # fmt: skip
CATALOGUE = {one.name: one for one in (*ENTRIES, _WAREHOUSE)}
"""Every entry by name, in the order in which things are made."""


def made_by(job: str) -> tuple[str, ...]:
    """What a job makes, in the order in which it is made."""
    return tuple(one.name for one in CATALOGUE.values() if one.job == job)
