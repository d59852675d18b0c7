from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from finrag_pipeline.errors import BenchmarkError, UsageError
from finrag_pipeline.services.evaluate import MEASURED, Evaluation, evaluate
from finrag_pipeline.services.search import Searcher
from finrag_pipeline.settings import Settings
from finrag_pipeline_tests import small_filings
from finrag_pipeline_tests.console import Done, called
from finrag_pipeline_tests.indexed_lake import IndexedLake
from finrag_pipeline_tests.profiled_lake import COMPANIES, copied, train
from finrag_pipeline_tests.shared_run import sample_lake
from finrag_pipeline_tests.tiny_encoder import write_tiny_encoder

KEYS = [
    "questions",
    "problems",
    "learned_from",
    "not_run",
    "columns",
    "unused",
    "asked",
    "metrics",
    "comparisons",
    "per_question",
    "answer_metrics",
    "answers",
    "seconds",
]
METRIC_KEYS = ["system", "slice", "slice_value", "metric", "k", "mean", "low", "high", "n"]


@pytest.fixture(scope="module")
def lake(indexed: IndexedLake, tmp_path_factory: pytest.TempPathFactory) -> IndexedLake:
    """A lake with a production ranker."""
    found = copied(indexed, tmp_path_factory.mktemp("evaluated"))
    train(found, found.questions, "production")
    return found


def asked(lake: IndexedLake, number: int, page: int = 1, **changes: Any) -> dict[str, Any]:
    """A question in FinanceBench's fields on one of the filings of the lake."""
    filing = lake.filings[number % len(lake.filings)]
    company = COMPANIES[number % len(lake.filings)]
    return small_filings.question(
        number, filing, page, company, question=f"What was the goodwill of {company}?", **changes
    )


def state(lake: IndexedLake) -> dict[str, tuple[int, int]]:
    """Every file of the lake, with size and time of change."""
    root = Path(lake.lake.root)
    return {
        str(path.relative_to(root)): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in root.rglob("*")
        if path.is_file()
    }


@pytest.fixture(scope="module")
def done(lake: IndexedLake, tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    path = tmp_path_factory.mktemp("asked") / "asked.jsonl"
    small_filings.write_lines(path, [asked(lake, n) for n in range(4)])
    return evaluate(lake.settings, path, ["finrag", "bm25", "page_scorer"])


class TestScores:
    def test_questions_that_a_ranker_learned_from_are_named(
        self, lake: IndexedLake, done: Evaluation, tmp_path: Path
    ) -> None:
        assert done.learned_from == {}, "these are new to the ranker"
        known = str(lake.questions[0]["question_id"])
        path = tmp_path / "known.jsonl"
        small_filings.write_lines(path, [asked(lake, 0), asked(lake, 1) | {"financebench_id": known}])
        again = evaluate(lake.settings, path, ["finrag", "bm25"])
        assert again.learned_from == {"finrag": [known]}

    def test_systems_are_scored_and_the_others_say_why_not(self, done: Evaluation) -> None:
        assert done.questions == 4 and done.problems == []
        assert list(done.not_run) == ["page_scorer"] and "was trained" in done.not_run["page_scorer"]
        assert {row["system"] for row in done.metrics} == {"finrag", "bm25"}
        assert {(row["metric"], row["k"]) for row in done.metrics} == set(MEASURED)
        assert {row["slice"] for row in done.metrics} >= {"all", "question_type", "company", "source"}
        for row in done.metrics:
            assert list(row) == METRIC_KEYS
            assert 0 <= row["mean"] <= 1 and row["n"] in (1, 2, 4)

    def test_the_ranker_finds_the_page_that_it_reads_the_needs_of(self, done: Evaluation) -> None:
        found = {
            (row["metric"], row["k"]): row["mean"]
            for row in done.metrics
            if row["system"] == "finrag" and row["slice"] == "all"
        }
        # Filings of five pages: all of the right one are among the first five.
        assert found["doc_rec", 5] == found["page_rec", 5] == 1.0

    def test_every_question_of_every_system(self, done: Evaluation, lake: IndexedLake) -> None:
        rows = {(row["system"], row["question_id"]): row for row in done.per_question}
        assert len(rows) == len(done.per_question) == 8
        for number in range(4):
            row = rows["finrag", f"small_{number:03d}"]
            assert list(row) == ["system", "question_id", "page_rec_5", "doc_rec_5", "pages"]
            assert len(row["pages"]) == 5
            assert f"{lake.filings[number]} p. 2" in row["pages"], "people count from one"
            assert (row["page_rec_5"], row["doc_rec_5"]) == (1.0, 1.0)

    def test_what_is_in_the_file_does_not_change_the_ranking(self, lake: IndexedLake, tmp_path: Path) -> None:
        """Gold pages and answers reach the metrics alone."""
        pages = []
        for page in (1, 3):
            path = small_filings.write_lines(tmp_path / f"{page}.jsonl", [asked(lake, 0, page)])
            pages.append(
                [row["pages"] for row in evaluate(lake.settings, path, ["finrag", "bm25"]).per_question]
            )
        assert pages[0] == pages[1]
        answer = Searcher(lake.settings).search(asked(lake, 0)["question"], "finrag", 5)
        assert pages[0][0] == [f"{row['filing']} p. {row['page_label']}" for row in answer.results]

    def test_nothing_is_trained_and_no_result_is_kept(self, lake: IndexedLake, tmp_path: Path) -> None:
        path = small_filings.write_lines(tmp_path / "asked.jsonl", [asked(lake, n) for n in range(3)])
        evaluate(lake.settings, path, ["finrag", "dense", "bm25"])
        before = state(lake)
        evaluate(lake.settings, path, ["finrag", "dense", "bm25"])
        assert state(lake) == before


class TestOnePartChanged:
    def test_another_encoder_and_chunking_stand_beside_the_system(
        self, lake: IndexedLake, tmp_path: Path
    ) -> None:
        own = copied(lake, tmp_path)
        other = write_tiny_encoder(tmp_path / "other", seed=5)
        path = small_filings.write_lines(tmp_path / "asked.jsonl", [asked(own, n) for n in range(4)])
        for part, given in (("encoder", str(other)), ("chunking", "contextual")):
            done = evaluate(own.settings, path, ["dense"], changes={part: given})
            name = f"dense+{Path(given).name}"
            assert done.not_run == {} and {row["system"] for row in done.metrics} == {"dense", name}
            (row,) = done.comparisons
            assert (row["system"], row["baseline"], row["metric"], row["n"]) == (name, "dense", "page_rec", 4)
            assert row["difference"] == pytest.approx(row["mean"] - row["baseline_mean"])
        assert evaluate(own.settings, path, ["dense"]).comparisons == []

    def test_a_reranker_that_is_nowhere_leaves_the_system(self, lake: IndexedLake, tmp_path: Path) -> None:
        path = small_filings.write_lines(tmp_path / "asked.jsonl", [asked(lake, 0)])
        done = evaluate(lake.settings, path, ["bm25"], changes={"reranker": "/no/such/reranker"})
        assert list(done.not_run) == ["bm25+reranker"] and done.comparisons == []
        with pytest.raises(UsageError, match="no chunking"):
            evaluate(lake.settings, path, ["bm25"], changes={"chunking": "sliding"})


class TestFaultyFiles:
    def test_unknown_filings_and_broken_lines_are_told_and_the_rest_is_scored(
        self, lake: IndexedLake, tmp_path: Path
    ) -> None:
        unknown = small_filings.question(1, "NOBODY_2021_10K", 1)
        beyond = asked(lake, 2, page=99)
        path = small_filings.write_lines(
            tmp_path / "asked.jsonl", [asked(lake, 0), "{broken", unknown, beyond]
        )
        done = evaluate(lake.settings, path, ["bm25"])
        assert done.questions == 1
        assert [row["question_id"] for row in done.per_question] == ["small_000"]
        told = "\n".join(done.problems)
        assert "NOBODY_2021_10K" in told and "99" in told
        assert len(done.problems) == 3
        assert sum("line 2" in problem for problem in done.problems) == 1

    @pytest.mark.parametrize("lines", [["{broken"], [], [small_filings.question(1, "NOBODY_2021_10K", 1)]])
    def test_nothing_that_can_be_measured(self, lake: IndexedLake, tmp_path: Path, lines: list[Any]) -> None:
        path = small_filings.write_lines(tmp_path / "asked.jsonl", lines)
        with pytest.raises(BenchmarkError) as caught:
            evaluate(lake.settings, path, ["bm25"])
        assert caught.value.reason and caught.value.remedy

    def test_no_such_file(self, lake: IndexedLake, tmp_path: Path) -> None:
        with pytest.raises(BenchmarkError, match=r"absent\.jsonl"):
            evaluate(lake.settings, tmp_path / "absent.jsonl", ["bm25"])

    def test_no_such_system(self, lake: IndexedLake, tmp_path: Path) -> None:
        path = small_filings.write_lines(tmp_path / "asked.jsonl", [asked(lake, 0)])
        with pytest.raises(UsageError, match="bm42"):
            evaluate(lake.settings, path, ["bm25", "bm42"])

    def test_an_empty_lake(self, settings: Settings, tmp_path: Path, lake: IndexedLake) -> None:
        path = small_filings.write_lines(tmp_path / "asked.jsonl", [asked(lake, 0)])
        Path(settings.lake).mkdir()
        with pytest.raises(BenchmarkError, match=r"No question of asked\.jsonl can be measured") as caught:
            evaluate(settings, path, ["bm25"])
        assert "finrag ingest" in caught.value.remedy


class TestOwnQuestions:
    """A table with a column of questions, and of what is known about their answers."""

    CSV = (
        "Question;Filing;page;answer;note\n"
        "What was the goodwill of {0}?;{1};2;$12 million;x\n"
        "Which risks are named?;{1};;;\n"
        "What was revenue?;NOBODY;1;;\n"
        "What was tax?;{1};99;;\n"
        ";{1};1;;\n"
    )

    @pytest.fixture
    def table(self, lake: IndexedLake, tmp_path: Path) -> Path:
        path = tmp_path / "mine.csv"
        path.write_text(self.CSV.format(COMPANIES[0], lake.filings[0].lower()), encoding="utf-8-sig")
        return path

    def test_each_question_is_scored_as_far_as_its_answer_is_known(
        self, lake: IndexedLake, table: Path
    ) -> None:
        done = evaluate(lake.settings, table, ["bm25"])
        assert (done.questions, done.columns, done.unused) == (
            4,
            ["question", "answer", "filing", "page"],
            ["note"],
        )
        assert len(done.problems) == 3
        assert any("no filing 'NOBODY'" in problem for problem in done.problems)
        assert any("has pages 1 to 5, not 99" in problem for problem in done.problems)
        counts = {(row["metric"], row["k"]): row["n"] for row in done.metrics if row["slice"] == "all"}
        assert counts["page_rec", 5] == 1 and counts["doc_rec", 5] == 3
        assert [row["question_id"] for row in done.answers] == ["line 2", "line 3", "line 4", "line 5"]
        assert done.answers[0]["gold"] == "$12 million" and done.answers[1]["numeric_match"] is None
        assert done.asked[0]["gold_pages"] == [1] and done.asked[0]["filing"] == lake.filings[0]

    def test_questions_alone_are_answered(self, lake: IndexedLake, tmp_path: Path) -> None:
        path = small_filings.write_lines(
            tmp_path / "mine.jsonl", [{"question": "What was revenue?", "id": "a"}]
        )
        done = evaluate(lake.settings, path, ["bm25"])
        assert done.columns == ["question", "id"] and done.metrics == done.answer_metrics == []
        assert [row["question_id"] for row in done.answers] == ["a"]

    def test_the_command_says_what_it_found_and_writes_a_page(
        self, lake: IndexedLake, table: Path, tmp_path: Path
    ) -> None:
        page = tmp_path / "mine.html"
        done = called(
            lake.settings.lake, "evaluate", "--questions", table, "--systems", "bm25", "--report", page,
            **lake.variables(),
        )  # fmt: skip
        assert done.code == 0, done.err
        assert "Columns found: question, answer, filing, page; not used: note." in " ".join(done.err.split())
        html = page.read_text(encoding="utf-8")
        assert "Which risks are named?" in html and "$12 million" in html and "PageRec@5" in html
        assert "<script" not in html and 'href="assets' not in html, "a file by itself"

    @pytest.mark.parametrize(
        ("name", "text", "reason"),
        [
            ("a.csv", "frage,answer\nWas?,x\n", "has no column 'question'"),
            ("a.csv", 'question\n"open\n', "is no CSV file"),
            ("a.csv", "", "No question of a.csv can be measured"),
        ],
    )
    def test_a_table_that_is_none(
        self, lake: IndexedLake, tmp_path: Path, name: str, text: str, reason: str
    ) -> None:
        (tmp_path / name).write_text(text)
        with pytest.raises(BenchmarkError, match=reason) as caught:
            evaluate(lake.settings, tmp_path / name, ["bm25"])
        assert caught.value.remedy


class TestWhereNothingWasTrained:
    def test_only_what_needs_no_training_is_scored(
        self, indexed: IndexedLake, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
    ) -> None:
        path = small_filings.write_lines(tmp_path / "asked.jsonl", [asked(indexed, 0)])
        done = evaluate(indexed.settings, path, ["page_scorer", "bm25"])
        assert "page scorer" in done.not_run["page_scorer"]
        assert {row["system"] for row in done.per_question} == {"bm25"}
        assert evaluate(indexed.settings, path, ["page_scorer"]).metrics == []


class TestCommandLine:
    @pytest.fixture
    def finrag(self, lake: IndexedLake) -> Callable[..., Done]:
        return partial(called, lake.settings.lake, **lake.variables())

    @pytest.fixture
    def path(self, lake: IndexedLake, tmp_path: Path) -> Path:
        return small_filings.write_lines(tmp_path / "asked.jsonl", [asked(lake, 0), "{broken"])

    def test_the_json(self, finrag: Callable[..., Done], path: Path) -> None:
        done = finrag("evaluate", "--questions", path, "--systems", "finrag", "--systems", "hyde", "--json")
        assert (done.code, done.err) == (0, "")
        answer = done.json()
        assert list(answer) == KEYS
        assert answer["questions"] == 1 and len(answer["problems"]) == 1
        assert list(answer["not_run"]) == ["hyde"]
        assert list(answer["metrics"][0]) == METRIC_KEYS
        assert answer["per_question"][0]["system"] == "finrag"
        assert isinstance(answer["seconds"], float)

    def test_for_people(self, finrag: Callable[..., Done], path: Path) -> None:
        done = finrag("evaluate", "--questions", path, "--systems", "finrag", "--systems", "hyde")
        assert done.code == 0
        assert "page_rec@5" in done.out and "1.000" in done.out and "1 questions" in done.out
        assert "line 2" in done.err and "hyde was not run" in done.err

    @pytest.mark.parametrize(
        ("name", "system", "code"), [("absent.jsonl", "bm25", 1), ("asked.jsonl", "bm42", 2)]
    )
    def test_errors_are_one_line_of_json(
        self, finrag: Callable[..., Done], path: Path, name: str, system: str, code: int
    ) -> None:
        done = finrag("evaluate", "--questions", path.parent / name, "--systems", system, "--json")
        assert (done.code, done.out) == (code, "")
        assert done.error()


@pytest.mark.slow
class TestSample:
    """The lake after ``finrag run`` on the sample."""

    def test_the_benchmarks_own_questions_with_the_production_models(
        self,
        tmp_path_factory: pytest.TempPathFactory,
        tmp_path: Path,
        indexed: IndexedLake,
    ) -> None:
        root, run = sample_lake(tmp_path_factory)
        assert run.code == 0, run.err
        (whole,) = root.glob("sources/*/questions.jsonl")
        lines = whole.read_text(encoding="utf-8").splitlines()[::4]
        questions = small_filings.write_lines(tmp_path / "questions.jsonl", lines)

        def models() -> dict[str, tuple[int, int]]:
            kept = ("models/page_ranker/", "parquet/", "benchmarks/")
            found = state(replace(indexed, lake=type(indexed.lake)(root)))
            return {name: value for name, value in found.items() if name.startswith(kept)}

        before = models()
        assert any(name.startswith("models/page_ranker/") for name in before)
        done = called(root, "evaluate", "--questions", questions, "--systems", "finrag", "--json")
        assert done.code == 0, done.err
        assert models() == before, "nothing is trained, and nothing is measured again"
        answer = done.json()
        assert answer["problems"] == [] and answer["not_run"] == {}
        assert answer["questions"] == len(lines) == len(answer["per_question"])
        found = {(row["metric"], row["k"]): row["mean"] for row in answer["metrics"] if row["slice"] == "all"}
        # It has seen these questions: what it says of them is no measurement, but it must have learned them.
        assert found["doc_rec", 5] >= 0.9 and found["page_rec", 5] >= 0.8
