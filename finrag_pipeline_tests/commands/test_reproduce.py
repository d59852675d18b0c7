"""``finrag reproduce``, and ``finrag evaluate`` over documents and with one part changed."""

from __future__ import annotations

import gzip
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pytest

from finrag_pipeline.errors import BenchmarkError, UsageError
from finrag_pipeline.evaluation.beir import read_beir_folder
from finrag_pipeline.retrieval.systems import ALL_SYSTEMS
from finrag_pipeline.schemas import SYSTEM_METRICS
from finrag_pipeline.services import experiments
from finrag_pipeline.services.beir import ALPHAS, Documents, nested_alpha
from finrag_pipeline.services.experiments import CORPORA, DocumentRow
from finrag_pipeline.services.reproduce import Options, Printed, reproduce
from finrag_pipeline.settings import EncoderSettings, Settings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests import small_filings
from finrag_pipeline_tests.beir_folder import write_beir
from finrag_pipeline_tests.console import REPOSITORY, called
from finrag_pipeline_tests.evaluation.builders import question_row, questions_table
from finrag_pipeline_tests.shared_run import sample_copy
from finrag_pipeline_tests.tiny_encoder import write_tiny_static

TOPICS = ("goodwill", "dividend", "inventory", "tax", "debt", "revenue")
DOCUMENTS = {
    topic: f"note on {topic}\n\n | 2020 | 2021\n- | - | -\n{topic} | 1 | 2\nthe {topic} of the company rose ."
    for topic in TOPICS
}
QUERIES = {topic: f"what was the {topic} in 2021?" for topic in TOPICS}
GAINS = {topic: {topic: 1} for topic in TOPICS}


@pytest.fixture
def lake(tmp_path: Path) -> Settings:
    """Settings of an empty lake, with a static encoder: it needs neither torch nor a conversion."""
    encoder = EncoderSettings(name=str(write_tiny_static(tmp_path / "encoder")))
    return Settings(lake=str(tmp_path / "lake"), encoder=encoder)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sets of FinanceRAG, each with the same made-up documents and queries."""
    folder = tmp_path_factory.mktemp("data")
    for name, one in CORPORA.items():
        beir = write_beir(folder / f"beir {name}", DOCUMENTS, QUERIES, GAINS)
        for path, source in zip(one, ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv"), strict=True):
            (folder / path).parent.mkdir(exist_ok=True)
            raw = (beir / source).read_bytes()
            (folder / path).write_bytes(gzip.compress(raw) if path.endswith(".gz") else raw)
    return folder


def cells(table: Printed, column: str, key: str = "row") -> dict[str, Any]:
    return {row[key]: row.get(column) for row in table.rows}


class TestRegistry:
    def test_every_row_names_a_system(self) -> None:
        named = {row.system for row in experiments.FINANCERAG} | set(experiments.TABLE_9)
        for rows in experiments.GUIDE.values():
            named |= set(rows.values() if isinstance(rows, dict) else (step.retrieval for step in rows))
        assert named <= set(ALL_SYSTEMS)
        assert len({row.name for row in experiments.FINANCERAG}) == len(experiments.FINANCERAG)

    def test_the_guide_has_a_line_for_each_table(self) -> None:
        guide = (REPOSITORY / "docs" / "reproduce.md").read_text(encoding="utf-8")
        assert {one.paper for one in experiments.PAPER_TABLES} == set(get_args(experiments.Paper))
        for one in experiments.PAPER_TABLES:
            assert f"| {one.table} |" in guide, one.table
            assert one.command in guide, one.command


class TestEvalRag:
    def test_without_the_labels_a_row_says_what_it_needs(self, lake: Settings) -> None:
        two, three, eight = reproduce("eval-rag", Options(lake))
        assert all("--data" in text for text in cells(two, "chance, here", "theme").values())
        assert cells(three, "effective n that the inputs allow", "theme")["HR"] == "120 to 220"
        widths = cells(eight, "half width, closed form", "agreement")
        assert (widths[0.68], widths[0.94]) == ("0.066", "0.040"), "±7 % becomes ±4 %"

    def test_table_2_from_labels(self, lake: Settings, tmp_path: Path) -> None:
        rows = [
            {"thème": one.label, "relevancy_llm": float(n % 3 > 0), "relevancy_humaine": human}
            for one in experiments.TABLE_2
            for n, human in enumerate([1.0, 1.0, 0.0, 1.0, 0.0, None, None, None])
        ]
        small_filings.write_lines(tmp_path / "eval_rag" / "relevancy_answers.jsonl", rows)
        two, *_ = reproduce("eval-rag", Options(lake, tmp_path))
        # Verdicts 0, 1, 1, 0, 1 against labels 1, 1, 0, 1, 0: one of five agrees.
        assert set(cells(two, "observed, here", "theme").values()) == {"0.20"}
        assert set(cells(two, "labels, verdicts, here", "theme").values()) == {"5, 8"}


class TestFinanceRag:
    def test_rows_run_or_say_why_not(
        self, lake: Settings, data: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        kept = {
            "dense", "bm25", "hybrid, α nested", "hybrid, α of the same queries", "corpus as Markdown", "tuned",
            "query: keywords by rule", "query: expanded by a model", "reranked to 20 by the papers' reranker",
        }  # fmt: skip
        rows = tuple(row for row in experiments.FINANCERAG if row.name in kept)
        monkeypatch.setattr(experiments, "FINANCERAG", rows)
        monkeypatch.setattr(experiments, "CORPORA", {name: CORPORA[name] for name in ("FinQA", "TATQA")})
        (table,) = reproduce("financerag", Options(lake, data))
        assert set(cells(table, "all")) == kept
        missing = {name for name, reason in cells(table, "not run").items() if reason}
        assert missing == {"tuned", "query: expanded by a model", "reranked to 20 by the papers' reranker"}
        assert "config.json" in cells(table, "not run")["tuned"], "a static encoder cannot be tuned"
        found = cells(table, "all")
        assert found["bm25"].startswith("1.000 ["), "each query shares its topic with one document alone"
        assert cells(table, "FinQA")["bm25"] == "1.000"
        assert found["hybrid, α of the same queries"] >= found["dense"]
        differences = cells(table, "against dense")
        assert differences["dense"] is None and differences["bm25"][0] in "+-"
        assert "6 of 6 documents" in table.notes[0]
        assert "| bm25 |" in table.markdown()

    def test_a_tuned_encoder_has_not_seen_what_is_measured(
        self, lake: Settings, data: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen: dict[str, Any] = {}

        def trained(
            kind: type, lake: Lake, settings: Settings, withheld: set[str], train: bool, told: Any
        ) -> Path:
            seen.update(kind=kind.__name__, withheld=withheld, train=train)
            return write_tiny_static(Path(lake.root) / "tuned", seed=5)

        monkeypatch.setattr("finrag_pipeline.services.reproduce.pretrained", trained)
        monkeypatch.setattr(
            experiments,
            "FINANCERAG",
            (DocumentRow("dense", "dense"), DocumentRow("tuned", "dense", tuned=True)),
        )
        with monkeypatch.context() as untrained:
            untrained.setattr("finrag_pipeline.services.reproduce.pretrained", lambda *_: None)
            (table,) = reproduce("financerag", Options(lake, data))
            assert cells(table, "not run")["tuned"] == "not trained: --train"
        (table,) = reproduce("financerag", Options(lake, data, train=True))
        assert cells(table, "not run") == {"dense": None, "tuned": None}
        assert seen["kind"] == "PageScorerRecipe" and seen["train"] is True
        assert len(seen["withheld"]) == len(DOCUMENTS), "every document that answers a query"

    def test_where_no_row_runs_each_says_why(
        self, lake: Settings, data: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(experiments, "FINANCERAG", (DocumentRow("expanded", "dense_llm_expansion"),))
        (table,) = reproduce("financerag", Options(lake, data))
        assert "language model" in cells(table, "not run")["expanded"]

    def test_a_folder_without_the_sets(self, lake: Settings, tmp_path: Path) -> None:
        for folder in (None, tmp_path):
            with pytest.raises(UsageError):
                reproduce("financerag", Options(lake, folder))


def test_a_weight_is_never_chosen_by_the_queries_it_is_measured_on() -> None:
    # Each cluster does best at a weight of its own: in the others' eyes that weight is worthless.
    values = np.eye(5)
    assert nested_alpha(values, list("abcde")).tolist() == [0.0] * 5
    shared = np.tile([0.2, 0.9], (5, 1))
    assert nested_alpha(shared, list("abcde")).tolist() == [0.9] * 5
    assert nested_alpha(shared[:2], ["a", "a"]).tolist() == [0.9, 0.9], "one fold has no others"


def test_weights_of_a_hybrid_reach_from_one_ranking_to_the_other(lake: Settings, data: Path) -> None:
    documents = Documents(lake, read_beir_folder(data / "beir FinQA"))
    by_alpha = documents.by_alpha(ALL_SYSTEMS["hybrid_alpha"])
    assert by_alpha.shape == (len(QUERIES), len(ALPHAS))
    for name, column in (("bm25", 0), ("dense", -1)):
        scores = documents.ranked(ALL_SYSTEMS[name]).scores
        assert scores is not None and by_alpha[:, column] == pytest.approx(scores[:, 0])


def test_chunks_of_a_corpus_are_made_once(lake: Settings, data: Path) -> None:
    corpus = read_beir_folder(data / "beir FinQA")
    first = Documents(lake, corpus)
    part = Lake(first.settings.lake).local_path("parquet", "filing_chunks")
    before = {path: path.stat().st_mtime_ns for path in part.rglob("*.parquet")}
    assert Documents(lake, corpus).filing == first.filing
    assert {path: path.stat().st_mtime_ns for path in part.rglob("*.parquet")} == before
    assert Documents(lake, corpus, "markdown").filing != first.filing
    assert "companies" in str(
        first.problem(ALL_SYSTEMS["filtered_dense"], first.inputs(ALL_SYSTEMS["filtered_dense"]))
    )


@pytest.mark.slow
class TestTableRag:
    def test_the_ablations_of_a_lake(self, sample: Settings) -> None:
        tables = {
            table.title.split(" (")[0].split(":")[0]: table
            for table in reproduce("table-rag", Options(sample))
        }
        assert list(tables) == [
            "Progression", "Filters", "Statements", "Chain of thought against direct", "Scale normalisation",
            "Chunking",
        ]  # fmt: skip
        right = cells(tables["Scale normalisation"], "right", "step")
        assert float(right["as printed"].split()[0]) < float(right["in full units"].split()[0])
        assert "[" in right["in full units"]
        filters = tables["Filters"]
        assert cells(filters, "wrong company@5")["company"].startswith("0.000")
        year = {name: float(text.split()[0]) for name, text in cells(filters, "wrong year@5").items()}
        assert year["year"] < year["none"], "not 0: some questions name no year"
        told = cells(tables["Chain of thought against direct"], "not run", "step")
        assert all("language model" in text for text in told.values())

    def test_a_lake_without_a_benchmark(self, lake: Settings) -> None:
        with pytest.raises(BenchmarkError, match="no benchmark"):
            reproduce("table-rag", Options(lake))


class TestPageScorer:
    def test_published_figures_beside_those_of_the_lake(self, lake: Settings) -> None:
        row = {"system": "bm25", "space": "corpus", "metric": "page_rec", "k": 5, "mean": 0.5, "low": 0.4}
        row |= {"high": 0.6, "slice": "all", "slice_value": "all", "n": 1, "documents": 1}
        measured = pa.Table.from_pylist([row], SYSTEM_METRICS)
        store = Lake(lake.lake)
        store.write("system_metrics", measured, "made up")
        asked_one = questions_table(question_row("q", "A_2021", [0]))
        store.write("benchmark_questions", asked_one, "made up")
        four, nine = reproduce("page-scorer", Options(lake))
        rows = {(row["system"], row["space"]): row for row in four.rows}
        assert rows["bm25", "corpus"]["PageRec@5, here"] == "0.500 [0.40, 0.60]"
        assert rows["dense", "corpus"]["PageRec@5, published"] == "0.35"
        assert rows["splade", "corpus"]["DocRec@5, here"] == "not run"
        assert four.notes[0].startswith("Here 1 questions on 1 filings") and "do not compare" in four.notes[0]
        assert cells(nine, "PageRec@5, published", "system")["page_scorer_p10"] == "0.48"
        assert "finrag train page_scorer" in nine.notes[0]


class TestCommandLine:
    def test_every_table_is_listed(self, lake: Settings) -> None:
        done = called(lake.lake, "reproduce")
        assert done.code == 0 and done.out.count("\n| ") == len(experiments.PAPER_TABLES) + 1

    def test_json(self, lake: Settings) -> None:
        done = called(lake.lake, "reproduce", "eval-rag", "--json")
        assert (done.code, done.err) == (0, "")
        assert [set(table) for table in done.json()] == [{"title", "rows", "notes"}] * 3


class TestEvaluate:
    def test_a_folder_in_beir_format(self, lake: Settings, data: Path) -> None:
        finrag = partial(called, lake.lake, FINRAG_ENCODER__NAME=lake.encoder.name)
        done = finrag(
            "evaluate",
            "--questions",
            data / "beir FinQA",
            "--systems",
            "bm25",
            "--systems",
            "finrag",
            "--json",
        )
        assert (done.code, done.err) == (0, "")
        found = done.json()
        assert (found["queries"], found["documents"], found["left_out"]) == (6, 6, 0)
        assert list(found["not_run"]) == ["finrag"]
        means = {row["metric"]: row for row in found["metrics"]}
        assert means["ndcg@10"]["mean"] == 1.0 and 0 < means["ndcg@10"]["low"] < 1
        done = finrag("evaluate", "--questions", data / "beir FinQA", "--systems", "bm25")
        assert "ndcg@10" in done.out and "6 queries, 6 documents" in done.out


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """The lake of ``finrag run`` on the sample, of whose questions every third is asked."""
    root = sample_copy(tmp_path_factory, tmp_path_factory.mktemp("sample") / "lake")
    store = Lake(root)
    questions = store.read("benchmark_questions")
    store.write("benchmark_questions", questions.take(list(range(0, len(questions), 3))), "fewer")
    return Settings(lake=str(root))
