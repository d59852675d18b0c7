from __future__ import annotations

from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest

from finrag_pipeline.chunking.registry import CONTEXTUAL
from finrag_pipeline.retrieval.component import Hit, Inputs
from finrag_pipeline.retrieval.corpus import Corpus
from finrag_pipeline.retrieval.first_stages import Bm25
from finrag_pipeline.retrieval.fusion import Fusion, ReciprocalRanks
from finrag_pipeline.retrieval.spaces import Space
from finrag_pipeline.retrieval.system import run_system
from finrag_pipeline.retrieval.systems import ALL_SYSTEMS, SYSTEMS, RetrievalSystem, Source
from finrag_pipeline.schemas import RETRIEVAL_RUNS, conform
from finrag_pipeline.settings import RetrievalSettings, Settings
from finrag_pipeline_tests.indexed_lake import IndexedLake
from finrag_pipeline_tests.retrieval.stand_ins import rank

FIRST_STAGES = {name: SYSTEMS[name] for name in ("bm25", "dense", "hybrid_rrf")}
"""Systems without filters, pages or models of their own; the others stand in test_rows.py."""


@pytest.fixture(scope="module")
def corpus(indexed: IndexedLake) -> Corpus:
    return Corpus(indexed.lake, indexed.filings, indexed.settings, indexed.encoder)


@pytest.fixture(scope="module")
def runs(corpus: Corpus, indexed: IndexedLake) -> dict[str, pa.Table]:
    return {
        name: run_system(system, Inputs(corpus), indexed.questions) for name, system in FIRST_STAGES.items()
    }


def _scan(corpus: Corpus, indexed: IndexedLake, question: str) -> dict[str, float]:
    """Cosine of the question and the best window of every chunk, without any index."""
    vector = indexed.encoder.embed_queries([question])[0].astype(np.float64)
    scores = {}
    for chunk_id in corpus.chunk_ids:
        windows = indexed.encoder.embed(indexed.encoder.windows(corpus.text(chunk_id)))
        scores[chunk_id] = float((windows.astype(np.float64) @ vector).max())
    return scores


class TestRuns:
    @pytest.mark.parametrize("name", FIRST_STAGES)
    def test_rows(self, runs: dict[str, pa.Table], indexed: IndexedLake, name: str) -> None:
        run = conform(runs[name], "retrieval_runs")
        assert run.schema == RETRIEVAL_RUNS
        by_question = defaultdict(list)
        for row in run.to_pylist():
            assert row["system"] == name
            by_question[row["space"], row["question_id"]].append(row)
        expected = {(space.value, q["question_id"]) for space in Space for q in indexed.questions}
        assert set(by_question) == expected, "every question is ranked in every space"
        for rows in by_question.values():
            assert [row["rank"] for row in rows] == list(range(1, len(rows) + 1))
            assert len({row["chunk_id"] for row in rows}) == len(rows)
            scores = [row["score"] for row in rows]
            assert scores == sorted(scores, reverse=True)
            assert all(row["chunk_id"].startswith(f"{row['filing']}/p{row['page']}/c") for row in rows)

    @pytest.mark.parametrize("name", FIRST_STAGES)
    def test_an_oracle_is_a_filter_before_the_ranking(
        self, runs: dict[str, pa.Table], corpus: Corpus, indexed: IndexedLake, name: str
    ) -> None:
        """Whatever is allowed is ranked, and nothing else: a filter after the ranking would lose chunks."""
        gold = {q["question_id"]: (q["filing"], q["gold_pages"]) for q in indexed.questions}
        found = defaultdict(set)
        for row in runs[name].to_pylist():
            found[row["space"], row["question_id"]].add(row["chunk_id"])
        for (space, question_id), chunks in found.items():
            positions = corpus.positions(Space(space).scope(*gold[question_id]))
            allowed = corpus.chunk_ids if positions is None else [corpus.chunk_ids[n] for n in positions]
            assert len(allowed) <= indexed.settings.retrieval.depth
            assert chunks == set(allowed)

    @pytest.mark.parametrize(
        "name", [name for name, system in FIRST_STAGES.items() if not isinstance(system.first, Fusion)]
    )
    def test_a_smaller_space_never_loses_gold_pages(
        self, runs: dict[str, pa.Table], indexed: IndexedLake, name: str
    ) -> None:
        """PageRec@k of pages ≥ filing ≥ corpus at every k; only a fusion of rankings may lose by chance."""
        rows = defaultdict(list)
        for row in runs[name].to_pylist():
            rows[row["question_id"], row["space"]].append((row["filing"], row["page"]))
        for question in indexed.questions:
            gold = {(question["filing"], page) for page in question["gold_pages"]}
            for k in range(1, 30):
                recall = [
                    len(gold & set(rows[question["question_id"], space][:k]))
                    for space in ("corpus", "filing", "pages")
                ]
                assert recall[0] <= recall[1] <= recall[2]
            assert recall[2] == len(gold)

    @pytest.mark.parametrize("name", FIRST_STAGES)
    def test_a_run_can_be_repeated(self, runs: dict[str, pa.Table], indexed: IndexedLake, name: str) -> None:
        fresh = Corpus(indexed.lake, indexed.filings[::-1], indexed.settings, indexed.encoder)
        assert run_system(SYSTEMS[name], Inputs(fresh), indexed.questions).equals(runs[name])

    def test_no_questions(self, corpus: Corpus) -> None:
        for system in FIRST_STAGES.values():
            assert run_system(system, Inputs(corpus), []).schema == RETRIEVAL_RUNS

    def test_chosen_spaces_only(self, corpus: Corpus, indexed: IndexedLake) -> None:
        run = run_system(SYSTEMS["bm25"], Inputs(corpus), indexed.questions, [Space.FILING])
        assert set(run["space"].to_pylist()) == {"filing"}


class TestRankings:
    def test_dense_equals_an_exact_scan(self, corpus: Corpus, indexed: IndexedLake) -> None:
        for question in indexed.questions:
            expected = _scan(corpus, indexed, question["question"])
            hits = rank(SYSTEMS["dense"], question["question"], corpus)
            assert len(hits) == len(expected)
            for hit in hits:
                assert hit.score == pytest.approx(expected[hit.chunk_id], abs=1e-5)
            order = sorted(expected, key=lambda chunk_id: (-round(expected[chunk_id], 5), chunk_id))
            assert [hit.chunk_id for hit in hits[:1]] == order[:1]
            assert [round(hit.score, 4) for hit in hits] == pytest.approx(
                sorted((round(score, 4) for score in expected.values()), reverse=True), abs=2e-4
            )

    def test_the_passage_is_the_window_that_matched(self, corpus: Corpus, indexed: IndexedLake) -> None:
        question = indexed.questions[0]["question"]
        vector = indexed.encoder.embed_queries([question])[0]
        for hit in rank(SYSTEMS["dense"], question, corpus, depth=10):
            assert hit.passage is not None
            assert hit.passage in indexed.encoder.windows(corpus.text(hit.chunk_id))
            (embedded,) = indexed.encoder.embed([hit.passage])
            assert float(embedded @ vector) == pytest.approx(hit.score, abs=1e-5)
            assert hit.why == f"similarity {hit.score:.2f}"

    def test_equal_chunks_are_ranked_by_name(self, corpus: Corpus, indexed: IndexedLake) -> None:
        """The last page of every filing is the same: equal scores, in one order in every system."""
        for name in ("dense", "bm25"):
            hits = rank(SYSTEMS[name], "the company of the year", corpus)
            same = [hit for hit in hits if hit.page == 4]
            groups = defaultdict(list)
            for hit in same:
                groups[round(hit.score, 5)].append(hit.chunk_id)
            assert len(groups) < len(same)
            assert all(group == sorted(group) for group in groups.values())

    def test_bm25_says_which_terms_matched(self, corpus: Corpus, indexed: IndexedLake) -> None:
        first = rank(SYSTEMS["bm25"], "zzz x1y2z x1y2z zzz", corpus, depth=3)
        assert (first[0].filing, first[0].page, first[0].why) == (indexed.filings[0], 2, "terms: x1y2z")
        assert first[-1].why == "no term of the question"
        assert first[0].passage is None

    def test_hybrid_is_the_fusion_of_its_stages(self, corpus: Corpus, indexed: IndexedLake) -> None:
        question = indexed.questions[1]["question"]
        places: dict[str, dict[str, int]] = {}
        for stage in ("bm25", "dense"):
            # A chunk without a term of the question has no BM25 score, and so no rank to fuse.
            hits = [
                hit for hit in rank(SYSTEMS[stage], question, corpus) if stage == "dense" or hit.score > 0
            ]
            places[stage] = {hit.chunk_id: place for place, hit in enumerate(hits, start=1)}
        for hit in rank(SYSTEMS["hybrid_rrf"], question, corpus):
            ranks = [found[hit.chunk_id] for found in places.values() if hit.chunk_id in found]
            assert hit.score == pytest.approx(sum(1 / (60 + place) for place in ranks), abs=1e-12)
            assert hit.why == ", ".join(
                f"{stage} rank {found[hit.chunk_id]}"
                for stage, found in places.items()
                if hit.chunk_id in found
            )
            assert hit.passage, "the dense stage knows the passage"

    def test_the_depth_cuts_and_the_constant_counts(self, indexed: IndexedLake) -> None:
        retrieval = RetrievalSettings(depth=10, rrf_k=1)
        settings: Settings = indexed.settings.model_copy(update={"retrieval": retrieval})
        corpus = Corpus(indexed.lake, indexed.filings, settings, indexed.encoder)
        hits = rank(SYSTEMS["hybrid_rrf"], "net revenue", corpus)
        assert len(hits) == 10
        assert 1 / 2 <= hits[0].score <= 1
        assert len(rank(SYSTEMS["dense"], "net revenue", corpus, depth=3)) == 3

    def test_a_system_is_data(self, corpus: Corpus) -> None:
        """A new composition needs no code."""
        source = Source("paper", "table", "row")
        twice = RetrievalSystem("twice", "BM25 twice", source, ReciprocalRanks((Bm25(), Bm25())))
        once = rank(SYSTEMS["bm25"], "net revenue", corpus, depth=20)
        assert [hit.chunk_id for hit in rank(twice, "net revenue", corpus, depth=20)] == [
            h.chunk_id for h in once
        ]

    @pytest.mark.parametrize("name", FIRST_STAGES)
    @pytest.mark.parametrize(
        ("filings", "pages"), [(("no such filing",), None), ((), None), (("ALDER_2021_10K",), (99,))]
    )
    def test_an_empty_space_gives_nothing(
        self, corpus: Corpus, name: str, filings: tuple[str, ...], pages: tuple[int, ...] | None
    ) -> None:
        assert rank(SYSTEMS[name], "net revenue", corpus, filings, pages) == []

    @pytest.mark.parametrize("name", FIRST_STAGES)
    def test_an_index_of_more_filings_than_the_corpus(self, indexed: IndexedLake, name: str) -> None:
        smaller = Corpus(indexed.lake, indexed.filings[:2], indexed.settings, indexed.encoder)
        hits: list[Hit] = rank(SYSTEMS[name], "net revenue", smaller)
        assert {hit.filing for hit in hits} == set(indexed.filings[:2])
        assert len(hits) == len(smaller.chunk_ids)


class TestChunkings:
    @pytest.fixture(scope="class")
    def contextual(self, indexed: IndexedLake) -> Corpus:
        return Corpus(indexed.lake, indexed.filings, indexed.settings, indexed.encoder, CONTEXTUAL)

    def test_a_corpus_of_another_chunking_ranks_its_chunks(self, contextual: Corpus) -> None:
        for name in ("bm25", "dense", "hybrid_rrf"):
            hits = rank(ALL_SYSTEMS[f"{name}_contextual"], "net revenue of 2020", contextual)
            assert {hit.chunk_id for hit in hits} <= set(contextual.chunk_ids)
            assert any("/x" in hit.chunk_id for hit in hits)

    @pytest.mark.parametrize("stage", ["bm25", "dense"])
    def test_kinds_are_filtered_before_the_ranking(self, indexed: IndexedLake, stage: str) -> None:
        rows_only = Corpus(
            indexed.lake, indexed.filings, indexed.settings, indexed.encoder, CONTEXTUAL, ("table_row",)
        )
        assert set(rows_only.chunks["kind"].to_pylist()) == {"table_row"}
        hits = rank(ALL_SYSTEMS[f"{stage}_contextual_rows_pages"], "net revenue goodwill tax", rows_only)
        assert {(hit.filing, hit.page) for hit in hits} == {(filing, 1) for filing in indexed.filings}
        assert all("Figures" in rows_only.text(hit.chunk_id) for hit in hits)

    @pytest.mark.parametrize("name", FIRST_STAGES)
    def test_one_chunk_stands_for_each_page_its_best(
        self, contextual: Corpus, indexed: IndexedLake, name: str
    ) -> None:
        for question in indexed.questions:
            everything = rank(ALL_SYSTEMS[f"{name}_contextual"], question["question"], contextual, depth=400)
            best: dict[tuple[str, int], str] = {}
            for hit in everything:
                best.setdefault((hit.filing, hit.page), hit.chunk_id)
            found = rank(ALL_SYSTEMS[f"{name}_contextual_pages"], question["question"], contextual, depth=7)
            assert [hit.chunk_id for hit in found] == list(best.values())[:7]
