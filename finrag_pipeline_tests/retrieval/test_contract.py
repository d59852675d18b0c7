"""The contract of systems and their components: what stands in the way of running, and what decides a ranking."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from finrag_pipeline.chunking.registry import CHUNKINGS
from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.retrieval.component import Inputs, Learned
from finrag_pipeline.retrieval.corpus import Corpus
from finrag_pipeline.retrieval.first_stages import Splade
from finrag_pipeline.retrieval.fusion import HybridWeights
from finrag_pipeline.retrieval.page_stage import PAGE_PARTS
from finrag_pipeline.retrieval.systems import ALL_SYSTEMS, SYSTEMS, RetrievalSystem, variant
from finrag_pipeline.schemas import PAGE_PROFILES, STATEMENT_FACTS, TABLES
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.indexed_lake import IndexedLake
from finrag_pipeline_tests.retrieval.stand_ins import FixedPages, Replies, ScoredBy, Written, corpus_of, give

LEARNS = {"hybrid_alpha", "page_scorer", "page_scorer_p5", "page_scorer_p10", "finrag", "finrag_rerank"}


def models(**other: str) -> dict[str, Any]:
    """Every learned model; ``other`` versions of some."""
    rankers = {
        name: FixedPages([], other.get(name, name))
        for name in ("page_scorer", "page_ranker", "page_reranker")
    }
    weight = float(other.get("hybrid_alpha", "0.5"))
    return {"hybrid_alpha": HybridWeights({"corpus": weight}), **rankers}


EVERYTHING = Learned(models())


def with_passages(settings: Settings, path: Path, passages: Mapping[str, list[str]]) -> Settings:
    path.write_text(json.dumps(passages), encoding="utf-8")
    return settings.model_copy(update={"hyde": settings.hyde.model_copy(update={"recorded": str(path)})})


def inputs_of(
    indexed: IndexedLake,
    settings: Settings | None = None,
    learned: Learned = EVERYTHING,
    questions: tuple[str, ...] = (),
) -> Inputs:
    corpus = Corpus(indexed.lake, indexed.filings, settings or indexed.settings, indexed.encoder)
    return Inputs(corpus, learned, frozenset(questions))


class TestProblem:
    def test_what_is_missing_is_named(self, indexed: IndexedLake) -> None:
        inputs = inputs_of(indexed)
        found = {name: system.problem(inputs) for name, system in SYSTEMS.items()}
        able = {name for name, problem in found.items() if problem is None}
        assert able == {
            "bm25", "dense", "hybrid_rrf", "hybrid_alpha", "parent_child", "query_expansion", "filtered_dense",
            "page_scorer", "filtered_sentences", "finrag", "finrag_rerank",
        }  # fmt: skip
        assert "splade-cocondenser" in str(found["splade"])
        assert "bge-reranker-v2-m3" in str(found["dense_rerank"])
        assert "language model" in str(found["document_selection"])
        assert "passages" in str(found["hyde"]) and "passages" in str(found["multi_hyde_rerank"])
        assert "no statement facts" in str(found["statement_aware"])

    def test_an_encoder_of_its_own_that_is_not_here(self, indexed: IndexedLake) -> None:
        other = variant(SYSTEMS["hybrid_rrf"], encoder="/no/such/model")
        assert "/no/such/model" in str(other.problem(inputs_of(indexed, other.settings(indexed.settings))))

    @pytest.mark.parametrize("name", ["parent_child", "dense", "bm25_contextual_rows_pages"])
    def test_filings_without_what_is_made_on_demand(
        self, indexed: IndexedLake, lake: Lake, name: str
    ) -> None:
        row, settings = ALL_SYSTEMS[name], indexed.settings
        asset = row.made_on_demand()[-1]
        for made in row.made_on_demand():
            for filing in ("a", "failed"):
                lake.record(made, filing, "materialised")
        lake.record(asset, "failed", "failed", error="broken")

        def told(*filings: str) -> str | None:
            return row.problem(Inputs(Corpus(lake, filings, settings, indexed.encoder)))

        assert told("a", "b", "failed") is not None and told("a") is None
        assert told("a", "failed") == f"1 filings have no {asset}: run 'finrag index {name}'."

    def test_finrag_needs_nothing_that_is_made_on_demand(self) -> None:
        for name in ("bm25", "finrag", "finrag_rerank", "filtered_sentences"):
            assert SYSTEMS[name].made_on_demand() == ()

    def test_recorded_passages_must_hold_every_question(self, indexed: IndexedLake, tmp_path: Path) -> None:
        recorded = {"one?": ["x", "y", "z"], "two?": ["x"]}
        settings, row = with_passages(indexed.settings, tmp_path / "p.json", recorded), SYSTEMS["hyde"]
        assert row.problem(inputs_of(indexed, settings)) is None
        assert row.problem(inputs_of(indexed, settings, questions=("one?", "two?"))) is None
        told = row.problem(inputs_of(indexed, settings, questions=("one?", "other?")))
        assert told == "1 of 2 questions have no recorded passages."

    def test_fewer_passages_than_the_row_says_are_told(self, indexed: IndexedLake, tmp_path: Path) -> None:
        settings = with_passages(indexed.settings, tmp_path / "p.json", {"one?": ["x", "y", "z"]})
        inputs = inputs_of(indexed, settings)
        assert SYSTEMS["multi_hyde"].note(inputs) == "3 recorded passages in place of 4"
        assert SYSTEMS["hyde"].note(inputs) == SYSTEMS["dense"].note(inputs) == ""
        assert SYSTEMS["multi_hyde"].note(inputs_of(indexed)) == ""

    def test_each_thing_is_looked_up_once(
        self, indexed: IndexedLake, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked = []
        from finrag_pipeline.reranking import cross_encoder

        monkeypatch.setattr(cross_encoder, "model_problem", lambda *given: asked.append(given))
        inputs = inputs_of(indexed)
        for _ in range(3):
            assert SYSTEMS["dense_rerank"].problem(inputs) is None
        assert len(asked) == 1

    def test_what_learns_nothing_needs_no_training(self, indexed: IndexedLake) -> None:
        untrained = inputs_of(indexed, learned=Learned())
        told = {name: str(system.problem(untrained)) for name, system in ALL_SYSTEMS.items()}
        assert {name for name, text in told.items() if "trained" in text or "tuned" in text} == LEARNS
        assert {name for name, system in ALL_SYSTEMS.items() if system.models} == LEARNS

    def test_a_missing_model_is_named_with_its_fold(self, indexed: IndexedLake) -> None:
        def told(name: str, fold: int | None = None, **found: Any) -> str | None:
            return SYSTEMS[name].problem(inputs_of(indexed, learned=Learned(found, fold)))

        ranker = FixedPages([])
        assert (
            told("page_scorer", 2, page_ranker=ranker)
            == "No page scorer was trained without the questions of fold 2."
        )
        assert told("finrag", page_scorer=ranker) == "No page ranker was trained for searching."
        assert told("finrag_rerank") == "No page ranker was trained for searching."
        assert told("finrag_rerank", page_ranker=ranker) == "No reranker was trained for searching."


class TestReads:
    """What a filing must have for a system to search it."""

    def test_assets_are_named(self) -> None:
        named = TABLES.keys() | {chunking.table for chunking in CHUNKINGS.values()}
        named |= {chunking.index for chunking in CHUNKINGS.values()}
        assert {asset for system in ALL_SYSTEMS.values() for asset in system.reads()} <= named

    def test_chunks_first_then_what_the_components_read(self) -> None:
        assert SYSTEMS["bm25"].reads() == ("filing_chunks",)
        assert SYSTEMS["dense"].reads() == SYSTEMS["hybrid_rrf"].reads() == ("filing_chunks", "chunk_index")
        assert SYSTEMS["parent_child"].reads() == ("parent_child_chunks", "parent_child_index")
        assert SYSTEMS["statement_aware"].reads() == ("filing_chunks", "chunk_index", "statement_facts")
        assert SYSTEMS["finrag"].reads() == ("filing_chunks", *PAGE_PARTS)


class TestFingerprint:
    """What decides a ranking must change the fingerprint of a run, and nothing else may."""

    @pytest.fixture
    def rows(self) -> dict[str, RetrievalSystem]:
        return {name: system for name, system in ALL_SYSTEMS.items() if system.first != Splade()}

    def _corpus(self, lake: Lake, indexed: IndexedLake, **other: Any) -> Corpus:
        tools = {
            "passages": Written(lambda q, n: q),
            "language_model": Replies("T"),
            "rerankers": {None: ScoredBy(lambda q, t: 0.0)},
        }
        corpus = Corpus(lake, ("a",), indexed.settings, Encoder(indexed.settings.encoder, lake))
        for name, tool in (tools | other).items():
            give(corpus, name, tool)
        return corpus

    def test_models_and_passages(
        self, lake: Lake, indexed: IndexedLake, rows: dict[str, RetrievalSystem]
    ) -> None:
        def found(**other: Any) -> dict[str, str]:
            inputs = Inputs(self._corpus(lake, indexed, **other))
            return {name: system.fingerprint(inputs) for name, system in rows.items()}

        def changed(**other: Any) -> set[str]:
            after = found(**other)
            return {name for name in rows if after[name] != before[name]}

        before = found()
        hyde = {"hyde", "multi_hyde", "multi_hyde_rerank", "multi_hyde_fused"}
        assert changed(passages=Written(lambda q, n: q, fingerprint="others")) == hyde
        reranker = ScoredBy(lambda q, t: 0.0, fingerprint="trained anew")
        depths = {f"dense_rerank_{depth}" for depth in (5, 10, 50)}
        assert changed(rerankers={None: reranker}) == {"dense_rerank", "multi_hyde_rerank"} | depths
        asked = {"document_selection", "dense_llm_keywords", "dense_llm_expansion"}
        assert changed(language_model=Replies("T", fingerprint="another")) == asked

    def test_tables_that_filters_and_rankers_read(
        self, lake: Lake, indexed: IndexedLake, rows: dict[str, RetrievalSystem]
    ) -> None:
        inputs = Inputs(self._corpus(lake, indexed))

        def found() -> dict[str, str]:
            return {name: system.fingerprint(inputs) for name, system in rows.items()}

        before = found()
        facts = pa.Table.from_pylist([], schema=STATEMENT_FACTS)
        lake.write("statement_facts", facts, "new facts", {"filing": "a"})
        after = found()
        assert {name for name in before if after[name] != before[name]} == {
            "statement_aware",
            "statement_all",
        }
        lake.write("page_profiles", PAGE_PROFILES.empty_table(), "new profiles", {"filing": "a"})
        before, after = after, found()
        assert {name for name in before if after[name] != before[name]} == {"finrag", "finrag_rerank"}
        lake.write("statement_facts", facts, "facts of another filing", {"filing": "b"})
        assert found() == after

    @pytest.mark.parametrize("name", sorted(LEARNS))
    def test_a_run_depends_on_the_models_it_uses_and_on_no_other(
        self, indexed: IndexedLake, name: str
    ) -> None:
        system, corpus = ALL_SYSTEMS[name], corpus_of(indexed)
        plain = system.fingerprint(Inputs(corpus, EVERYTHING))
        for model in models():
            other = Learned(models(**{model: "0.55"}))
            assert (system.fingerprint(Inputs(corpus, other)) != plain) == (model in system.models)
            dense = SYSTEMS["dense"]
            assert dense.fingerprint(Inputs(corpus, other)) == dense.fingerprint(Inputs(corpus))
            assert other.fingerprint != EVERYTHING.fingerprint
