from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.answering.systems import ANSWER_SYSTEMS
from finrag_pipeline.chunking.registry import CONTEXTUAL, FIXED, PARENT_CHILD
from finrag_pipeline.errors import FinragError, LakeError, ModelError, UsageError
from finrag_pipeline.resolver import resolver
from finrag_pipeline.retrieval.chunk_index import open_chunk_index
from finrag_pipeline.retrieval.component import Inputs, Learned
from finrag_pipeline.retrieval.corpus import Corpus
from finrag_pipeline.retrieval.page_stage import PAGE_PARTS
from finrag_pipeline.retrieval.question_text import SNIPPET_CHARACTERS, snippet
from finrag_pipeline.retrieval.systems import ALIASES, ALL_SYSTEMS, get_system
from finrag_pipeline.schemas import SYSTEM_METRICS
from finrag_pipeline.services.evaluate import evaluate
from finrag_pipeline.services.search import Searcher, list_systems
from finrag_pipeline.serving.app import create_app
from finrag_pipeline.serving.service import SearchService
from finrag_pipeline.settings import EncoderSettings, Settings
from finrag_pipeline.storage.vectors import VectorIndex
from finrag_pipeline.tables.extract import DETECTORS
from finrag_pipeline_tests.console import Done, called
from finrag_pipeline_tests.indexed_lake import FILINGS, IndexedLake
from finrag_pipeline_tests.profiled_lake import copied, train
from finrag_pipeline_tests.retrieval.stand_ins import FixedPages
from finrag_pipeline_tests.small_filings import question, write_lines

SYSTEMS = ("bm25", "dense", "hybrid_rrf", "query_expansion", "parent_child", "filtered_dense")
"""Systems that need nothing which the indexed lake does not hold."""


@pytest.fixture(scope="module")
def searcher(indexed: IndexedLake) -> Searcher:
    return Searcher(indexed.settings)


@pytest.fixture
def finrag(indexed: IndexedLake) -> Callable[..., Done]:
    """The command line on the indexed lake."""
    return partial(called, indexed.settings.lake, **indexed.variables())


class TestContract:
    @pytest.mark.parametrize("system", SYSTEMS)
    def test_keys_and_types_of_the_json(
        self, finrag: Callable[..., Done], indexed: IndexedLake, system: str
    ) -> None:
        done = finrag("search", "  net revenue of x1y2z ", "--system", system, "-k", "3", "--json")
        assert done.code == 0
        answer = done.json()
        assert list(answer) == ["question", "system", "results", "seconds", "warnings"]
        assert answer["warnings"] == []
        assert (answer["question"], answer["system"]) == ("net revenue of x1y2z", system)
        assert isinstance(answer["seconds"], float)
        assert [row["rank"] for row in answer["results"]] == [1, 2, 3]
        for row in answer["results"]:
            assert list(row) == [
                "rank", "filing", "page", "page_label", "chunk_id", "score", "snippet", "why",
            ]  # fmt: skip
            assert row["filing"] in indexed.filings
            assert type(row["page"]) is int
            assert row["page_label"] == str(row["page"] + 1), "people count from one"
            assert row["chunk_id"].startswith(f"{row['filing']}/p{row['page']}/")
            assert type(row["score"]) is float
            assert row["snippet"]
            assert "\n" not in row["snippet"]
            assert row["why"]
        scores = [row["score"] for row in answer["results"]]
        assert scores == sorted(scores, reverse=True)

    def test_for_people(self, finrag: Callable[..., Done]) -> None:
        done = finrag("search", "x1y2z", "--system", "bm25", "-k", "1")
        assert done.code == 0
        assert "ALDER_2021_10K" in done.out
        assert "page 3" in done.out
        assert "terms: x1y2z" in done.out
        assert done.err == ""

    @pytest.mark.parametrize(
        ("arguments", "error"),
        [
            (["search", " "], "The question is empty."),
            (["search", "x", "--system", "bm42"], "There is no retrieval system 'bm42'."),
            (["search", "x", "-k", "0"], "k is 0."),
            (["search", "x", "--filing", "NOPE"], "The lake holds no filing 'NOPE'."),
            (["search", "q" * 20_001], "The question has 20,001 characters."),
        ],
    )
    def test_errors_are_one_line_of_json_and_exit_code_2(
        self, finrag: Callable[..., Done], arguments: list[str], error: str
    ) -> None:
        done = finrag(*arguments, "--json")
        assert (done.code, done.out) == (2, "")
        assert done.error()["error"] == error
        done = finrag(*arguments)
        assert (done.code, done.out) == (2, "")
        assert done.err.replace("\n", " ").startswith(f"error: {error} ")


class TestSearcher:
    @pytest.mark.parametrize("system", SYSTEMS)
    def test_in_some_filings_only(self, searcher: Searcher, indexed: IndexedLake, system: str) -> None:
        chosen = indexed.filings[1:3]
        answer = searcher.search("net revenue", system, 50, chosen)
        assert {row["filing"] for row in answer.results} == set(chosen)

    def test_the_first_results_do_not_depend_on_how_many_are_asked_for(self, searcher: Searcher) -> None:
        for system in SYSTEMS:
            ids = [
                [row["chunk_id"] for row in searcher.search("net revenue", system, k).results]
                for k in (2, 10, 1000)
            ]
            assert ids[0] == ids[1][:2]
            assert ids[1] == ids[2][:10]

    def test_longer_lists_than_the_stored_depth(self, searcher: Searcher, indexed: IndexedLake) -> None:
        chunks = indexed.lake.read_all("filing_chunks").num_rows
        assert len(searcher.search("net revenue", "dense", 10**9).results) == chunks

    @pytest.mark.parametrize(
        ("question", "system", "k", "filings", "error"),
        [
            ("", "bm25", 5, [], "The question is empty."),
            (" \n\t ", "bm25", 5, [], "The question is empty."),
            ("x" * 20_001, "bm25", 5, [], "The question has 20,001 characters."),
            ("half a pair \ud83d", "bm25", 5, [], "The question is not valid text."),
            ("x", "no such system", 5, [], "There is no retrieval system 'no such system'."),
            ("x", "BM25", 5, [], "There is no retrieval system 'BM25'."),
            ("x", "bm25", 0, [], "k is 0."),
            ("x", "bm25", -3, [], "k is -3."),
            ("x", "bm25", 5, ["NOPE"], "The lake holds no filing 'NOPE'."),
            (
                "x",
                "bm25",
                5,
                [FILINGS[0], "it's; DROP TABLE"],
                "The lake holds no filing 'it's; DROP TABLE'.",
            ),
            ("x", "bm25", 5, ["../../etc"], "'../../etc' is not a path inside the lake."),
            ("x", "bm25", 5, [""], "'' is not a path inside the lake."),
        ],
    )
    def test_refusals(
        self, searcher: Searcher, question: str, system: str, k: int, filings: list[str], error: str
    ) -> None:
        with pytest.raises(FinragError) as caught:
            searcher.search(question, system, k, filings)
        assert caught.value.reason == error
        assert caught.value.remedy

    def test_a_question_of_the_greatest_length(self, searcher: Searcher) -> None:
        for system in SYSTEMS:
            assert len(searcher.search("revenue " * 2_500, system, 2).results) == 2

    @pytest.mark.parametrize(
        "question", ['it\'s "quoted"; DROP TABLE --', "株式会社", "…", "%", "\x00", "[x](y) *z*"]
    )
    def test_questions_of_any_kind(self, searcher: Searcher, question: str) -> None:
        for system in SYSTEMS:
            assert len(searcher.search(question, system, 3).results) == 3

    def test_an_empty_lake(self, settings: Settings) -> None:
        with pytest.raises(LakeError, match="There is no lake at"):
            Searcher(settings)
        Path(settings.lake).mkdir()
        with pytest.raises(LakeError, match="nothing to search") as caught:
            Searcher(settings)
        assert "finrag run" in caught.value.remedy

    def test_a_filing_that_was_kept_and_could_not_be_read(self, indexed: IndexedLake, tmp_path: Path) -> None:
        from finrag_pipeline.filings.intake import accept

        (tmp_path / "scan.pdf").write_bytes(b"%PDF")
        accept(indexed.lake, tmp_path / "scan.pdf")
        with pytest.raises(UsageError, match="'scan' holds no searchable text") as caught:
            Searcher(indexed.settings).search("x", "bm25", 5, ["scan"])
        assert "finrag filings --failed" in caught.value.remedy

    def test_a_missing_vector_index_stops_dense_search_alone(
        self, indexed: IndexedLake, tiny_encoder_settings: EncoderSettings
    ) -> None:
        mean = tiny_encoder_settings.model_copy(update={"pooling": "mean"})
        settings = indexed.settings.model_copy(update={"encoder": mean})
        assert not open_chunk_index(indexed.lake, indexed.encoder, settings).exists()
        searcher = Searcher(settings)
        assert searcher.search("net revenue", "bm25", 1).results
        with pytest.raises(
            LakeError, match="No filing can be searched with 'dense': chunk_index is not made"
        ):
            searcher.search("net revenue", "dense", 1)


@pytest.fixture(scope="module")
def half(indexed: IndexedLake, tmp_path_factory: pytest.TempPathFactory) -> IndexedLake:
    """A profiled lake with a production ranker whose first filing has lost its vectors and sentences."""
    found = copied(indexed, tmp_path_factory.mktemp("half"))
    train(found, found.questions, "production")
    for chunking in (FIXED, CONTEXTUAL, PARENT_CHILD):
        open_chunk_index(found.lake, found.encoder, found.settings, chunking).remove([found.filings[0]])
    found.lake.remove("page_sentences", {"filing": found.filings[0]})
    return found


def test_an_answer_says_that_the_ranker_of_the_lake_is_gone(indexed: IndexedLake, tmp_path: Path) -> None:
    lake = copied(indexed, tmp_path)
    train(lake, lake.questions, "production")
    call = partial(called, lake.settings.lake, **lake.variables())
    assert call("search", "goodwill of Cedar Corp", "--json").code == 0
    shutil.rmtree(lake.lake.local_path("models"))
    for command in ("search", "ask"):
        done = call(command, "Why did the goodwill of Cedar Corp change?", "--system", "finrag", "--json")
        assert done.code == 3, done.err
        assert any("the general one ranks alone" in told for told in done.json()["warnings"])
        assert "Train it again: finrag run" in done.err


class TestHalfIngested:
    """Between its chunks and its vectors a filing is not searched; all the others are."""

    @pytest.mark.parametrize("system", [*SYSTEMS, "finrag", "filtered_sentences"])
    def test_what_is_complete_is_searched_and_the_rest_is_named(self, half: IndexedLake, system: str) -> None:
        answer = Searcher(half.settings).search("What was the goodwill of Alder Corp?", system, 100)
        found = {row["filing"] for row in answer.results}
        if system == "bm25":
            assert half.filings[0] in found and answer.warnings == []
            return
        assert found and half.filings[0] not in found
        (warning,) = answer.warnings
        assert warning.startswith("1 filing is not searched") and half.filings[0] in warning
        by_ingest = system in ("finrag", "filtered_sentences")
        assert ("finrag ingest FILE" if by_ingest else f"finrag index {system}.") in warning
        assert answer.as_json()["warnings"] == answer.warnings

    @pytest.mark.parametrize("part", PAGE_PARTS)
    def test_the_page_ranker_needs_its_parts(
        self, indexed: IndexedLake, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, part: str
    ) -> None:
        lake = copied(indexed, tmp_path)
        train(lake, lake.questions, "production")
        lake.lake.remove(part, {"filing": lake.filings[2]})
        searcher = Searcher(lake.settings)
        answer = searcher.search("What was the goodwill of Cedar Corp?", "finrag", 100)
        assert lake.filings[2] not in {row["filing"] for row in answer.results} != set()
        assert part in answer.warnings[0] and lake.filings[2] in answer.warnings[0]
        assert searcher.search("goodwill", "dense", 5).warnings == []
        with pytest.raises(LakeError, match=f"'{lake.filings[2]}' is not complete: its {part}"):
            searcher.search("goodwill", "finrag", 5, [lake.filings[2]])
        rows = {row["name"]: row for row in list_systems(lake.settings)}
        assert rows["finrag"]["status"] == "runs here", "it does, over what is complete"

    @pytest.mark.parametrize(
        ("question", "told"),
        [
            ("What was the goodwill of Zephyrion Corp?", "Zephyrion Corp"),
            ("What is Apple's revenue in 2023?", "Apple"),
            ("Zephyrion revenue 2022", "Zephyrion"),
            ("free cash flow of Zephyrion", "Zephyrion"),
            ("What was the goodwill of Cedar Corp?", None),
            ("goodwill", None),
            ("Summarize revenue by segment", None),
            ("WHAT IS THE TARGET FOR ALL COSTS?", None),
            ("How did EBITDA develop in the United States?", None),
        ],
    )
    def test_a_company_that_is_not_in_the_lake_is_told(
        self, indexed: IndexedLake, question: str, told: str | None
    ) -> None:
        warnings = Searcher(indexed.settings).search(question, "bm25", 5).warnings
        wanted = [f"No filing in the lake is of '{told}', and no page found names it."] if told else []
        assert warnings == wanted

    def test_a_filing_without_chunks_is_named_too(self, indexed: IndexedLake, tmp_path: Path) -> None:
        """A run was killed when it had made the pages and not yet their chunks."""
        lake = copied(indexed, tmp_path)
        lake.lake.remove("filing_chunks", {"filing": lake.filings[1]})
        answer = Searcher(lake.settings).search("net revenue", "bm25", 100)
        assert lake.filings[1] not in {row["filing"] for row in answer.results} != set()
        assert "filing_chunks" in answer.warnings[0] and lake.filings[1] in answer.warnings[0]

    def test_each_index_is_looked_through_once(
        self, half: IndexedLake, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        scanned, count = [], VectorIndex.count

        def counted(index: VectorIndex, filing: str | None = None) -> int:
            scanned.extend([index.name] if filing is None else [])
            return count(index, filing)

        monkeypatch.setattr(VectorIndex, "count", counted)
        searcher = Searcher(half.settings)
        for system in ("hybrid_rrf", "dense", "hybrid_rrf"):
            assert searcher.search("goodwill", system, 5).results
        assert len(scanned) == len(set(scanned)) == 1

    def test_covers_are_read_once(self, half: IndexedLake, monkeypatch: pytest.MonkeyPatch) -> None:
        """Not those of the complete filings, and of all of them to see whether the company is unknown."""
        loaded: list[Collection[str]] = []
        monkeypatch.setattr(
            resolver,
            "load_resolver",
            lambda lake, filings, load=resolver.load_resolver: (loaded.append(filings), load(lake, filings))[
                1
            ],
        )
        assert Searcher(half.settings).search("What was the goodwill of Cedar Corp?", "finrag", 5).results
        assert len(loaded) == 1

    def test_vectors_of_an_earlier_version_are_not_searched(
        self, indexed: IndexedLake, tmp_path: Path
    ) -> None:
        """A run was killed when it had made the chunks of a new version and not yet their vectors."""
        lake, filing = copied(indexed, tmp_path), indexed.filings[1]
        for step in ("filing_chunks", "chunk_index", "filing_chunks"):
            lake.lake.record(step, filing, "materialised")
        answer = Searcher(lake.settings).search("net revenue", "dense", 100)
        assert filing not in {row["filing"] for row in answer.results}
        assert filing in answer.warnings[0]
        lake.lake.record("chunk_index", filing, "materialised")
        assert Searcher(lake.settings).search("net revenue", "dense", 100).warnings == []

    def test_on_the_command_line(self, half: IndexedLake) -> None:
        for command in ("search", "ask"):
            arguments = (command, "Why did goodwill change?", "--system", "dense", "--json")
            done = called(half.settings.lake, *arguments, **half.variables())
            assert done.code == 0, done.err
            (warning,) = done.json()["warnings"]
            assert done.err == f"warning: {warning}\n"
            assert half.filings[0] in warning

    def test_a_service_is_ready(self, half: IndexedLake) -> None:
        service = SearchService(half.settings)
        assert service.refresh()
        client = TestClient(create_app(service))
        ready = client.get("/ready")
        assert ready.status_code == 200 and half.filings[0] in ready.json()["warnings"][0]
        for path in ("/search", "/ask"):
            answer = client.post(path, json={"question": "Why did goodwill change?", "system": "finrag"})
            assert answer.status_code == 200 and answer.json()["warnings"] == ready.json()["warnings"]

    def test_an_evaluation_measures_all_systems_on_the_same_filings(
        self, half: IndexedLake, tmp_path: Path
    ) -> None:
        asked = [question(n, half.filings[n], 1) for n in (0, 1)]
        path = write_lines(tmp_path / "asked.jsonl", asked)
        done = evaluate(half.settings, path, ["bm25", "filtered_sentences", "dense"])
        assert done.questions == 1 and done.not_run.keys() == {"dense"}
        assert "finrag index dense" in done.not_run["dense"]
        assert half.filings[0] in done.problems[0]
        assert half.filings[0] not in json.dumps(done.per_question)

    def test_a_measured_corpus_is_never_smaller_than_it_should_be(self, half: IndexedLake) -> None:
        corpus = Corpus(half.lake, half.filings, half.settings, half.encoder)
        with pytest.raises(LakeError, match="1 filings are not in the vector index"):
            _ = corpus.vectors
        larger = Corpus(half.lake, [*half.filings, "another"], half.settings, half.encoder)
        learned = Learned({"page_ranker": FixedPages([])})
        told = get_system("finrag").problem(Inputs(larger, learned))
        assert told and "2 filings have no page profiles" in told


class TestSnippet:
    def test_a_short_text_is_given_whole_on_one_line(self) -> None:
        assert snippet(" Net\n\nsales\twere  5. ", "sales") == "Net sales were 5."

    def test_the_part_that_answers(self) -> None:
        text = (
            "Introduction of no interest. " * 40
            + "Capital expenditure was $1,577 million. "
            + "Closing words. " * 40
        )
        part = snippet(text, "What was the capital expenditure?")
        assert "Capital expenditure was $1,577 million." in part
        assert part.startswith("… ")
        assert part.endswith(" …")
        assert len(part) <= SNIPPET_CHARACTERS + 4

    def test_the_words_of_the_question_stand_in_the_middle(self) -> None:
        text = "a b c d e " * 60 + "R&D fell to a tax rate of 21%. " + "f g h i j " * 60
        part = snippet(text, "What was the tax rate?", 100)
        assert 20 < part.index("tax rate") < 80

    def test_the_end_of_a_text_is_whole(self) -> None:
        text = "Nothing here at all. " * 60 + "The dividend was raised to five dollars."
        assert snippet(text, "dividend raised dollars").endswith("The dividend was raised to five dollars.")

    def test_without_a_match_it_is_the_beginning(self) -> None:
        text = "One two three. " * 100
        assert snippet(text, "zebra").startswith("One two three.")

    @given(st.text(max_size=1500), st.text(max_size=60), st.integers(20, 400))
    def test_always_a_part_of_the_text_on_one_line(self, text: str, question: str, length: int) -> None:
        part = snippet(text, question, length)
        flat = " ".join(text.split())
        assert len(part) <= length + 4
        assert len(part.splitlines()) <= 1
        assert " ".join(part.removeprefix("… ").removesuffix(" …").split()) in flat


class TestSystems:
    def test_each_row_of_the_papers_once(self, indexed: IndexedLake) -> None:
        rows = list_systems(indexed.settings)
        keys = ["name", "kind", "status", "why", "command", "source"]
        assert [list(row) for row in rows] == [keys] * len(rows)
        assert [row["name"] for row in rows] == [*ALL_SYSTEMS, *ALIASES, *ANSWER_SYSTEMS, *DETECTORS]
        assert all(row["command"] for row in rows if row["status"] != "measured")

    def test_what_cannot_run_here_says_what_is_missing_and_the_command_that_provides_it(
        self, indexed: IndexedLake
    ) -> None:
        rows = {row["name"]: row for row in list_systems(indexed.settings)}
        assert {name for name in SYSTEMS if rows[name]["status"] != "runs here"} == set()
        missing = {
            "splade": ("splade-cocondenser", "hf download naver/splade"),
            "hyde": ("passages", "export FINRAG_LANGUAGE_MODEL__BASE_URL="),
            "multi_hyde_rerank": ("passages", "export FINRAG_LANGUAGE_MODEL__BASE_URL="),
            "dense_rerank": ("bge-reranker", "hf download BAAI/bge-reranker"),
            "page_scorer": ("No page scorer was trained", "finrag train page_scorer"),
            "hybrid_alpha": ("hybrid_alpha_sweep", "finrag run"),
            "document_selection": ("language model", "export FINRAG_LANGUAGE_MODEL__BASE_URL="),
            "finrag_rerank": ("No reranker was trained", "finrag train reranker"),
            "prompt_splade": ("No language model", "export FINRAG_LANGUAGE_MODEL__BASE_URL="),
            "tatr": ("table-transformer-detection", "hf download microsoft/table-transformer-detection"),
        }
        for name, (told, command) in missing.items():
            assert rows[name]["status"] == "needs" and told in rows[name]["why"], rows[name]
            assert rows[name]["command"].startswith(command)

    def test_what_was_measured_says_on_how_many_questions(self, indexed: IndexedLake, tmp_path: Path) -> None:
        lake = copied(indexed, tmp_path)
        none = dict.fromkeys(SYSTEM_METRICS.names)
        row = none | {"space": "corpus", "slice": "all", "slice_value": "all", "metric": "page_rec", "k": 5}
        counts = {"bm25": 39, "dense": 39, "page_scorer": 9}
        found = [row | {"system": name, "n": n, "mean": 0.5, "documents": 9} for name, n in counts.items()]
        lake.lake.write("system_metrics", pa.Table.from_pylist(found, SYSTEM_METRICS), "x")
        rows = {row["name"]: (row["status"], row["why"].split(";")[0]) for row in list_systems(lake.settings)}
        assert rows["bm25"] == rows["oracle_page"] == ("measured", "on 39 questions")
        assert rows["page_scorer"] == ("measured", "on 9 of 39 questions")

    def test_without_its_encoder_a_system_needs_it(self, indexed: IndexedLake) -> None:
        encoder = EncoderSettings(name="/no/such/model")
        for row in list_systems(indexed.settings.model_copy(update={"encoder": encoder})):
            if row["name"].startswith("bm25"):
                assert row["status"] == "runs here"
            elif row["name"].startswith(("dense", "hybrid_rrf", "oracle")) and "rerank" not in row["name"]:
                assert row["status"] == "needs" and "/no/such/model" in row["why"]

    def test_the_json_of_the_command_line(self, finrag: Callable[..., Done], indexed: IndexedLake) -> None:
        done = finrag("systems", "--json")
        assert done.code == 0
        assert done.json() == list_systems(indexed.settings)


class TestTrained:
    def test_a_search_uses_what_was_trained(
        self, indexed: IndexedLake, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        filing = indexed.filings[1]
        ranker = FixedPages([(filing, 3), (filing, 0)])
        answer = Searcher(indexed.settings, Learned({"page_ranker": ranker})).search("revenue", "finrag", 5)
        assert [(row["filing"], row["page"]) for row in answer.results] == [(filing, 3), (filing, 0)]
        assert [row["why"] for row in answer.results] == ["page rank 1", "page rank 2"]

    @pytest.mark.parametrize(
        "system", ["finrag_rerank", "page_scorer", "hybrid_alpha", "hyde", "document_selection"]
    )
    def test_what_is_missing_is_an_error_with_a_remedy(self, searcher: Searcher, system: str) -> None:
        with pytest.raises(ModelError) as caught:
            searcher.search("revenue", system, 5)
        assert caught.value.remedy
