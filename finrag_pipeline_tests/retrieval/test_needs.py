from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from finrag_pipeline.chunking.registry import PARENT_CHILD
from finrag_pipeline.retrieval.needs import Needs, used_by
from finrag_pipeline.retrieval.systems import ALL_SYSTEMS, SYSTEMS, variant
from finrag_pipeline.retrieval.toolbox import Toolbox
from finrag_pipeline.schemas import FILING_CHUNKS, PAGE_PROFILES, STATEMENT_FACTS
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.indexed_lake import IndexedLake
from finrag_pipeline_tests.retrieval.stand_ins import Replies, ScoredBy, Written


def with_passages(settings: Settings, path: Path, passages: dict[str, list[str]]) -> Settings:
    path.write_text(json.dumps(passages), encoding="utf-8")
    return settings.model_copy(update={"hyde": settings.hyde.model_copy(update={"recorded": str(path)})})


class TestProblem:
    def test_what_is_missing_is_named(self, indexed: IndexedLake) -> None:
        needs = Needs(indexed.lake, indexed.settings)
        found = {name: needs.problem(system) for name, system in SYSTEMS.items()}
        able = {name for name, problem in found.items() if problem is None}
        assert able == {
            "bm25", "dense", "hybrid_rrf", "hybrid_alpha", "parent_child", "query_expansion", "filtered_dense",
            "page_scorer",
        }  # fmt: skip
        assert "splade-cocondenser" in str(found["splade"])
        assert "bge-reranker-v2-m3" in str(found["dense_rerank"])
        assert "language model" in str(found["document_selection"])
        assert "passages" in str(found["hyde"]) and "passages" in str(found["multi_hyde_rerank"])
        assert "no statement facts" in str(found["statement_aware"])
        assert "no page profiles" in str(found["finrag"])

    def test_an_encoder_of_its_own_that_is_not_here(self, indexed: IndexedLake) -> None:
        needs = Needs(indexed.lake, indexed.settings)
        other = variant(SYSTEMS["hybrid_rrf"], encoder="/no/such/model")
        assert "/no/such/model" in str(needs.problem(other))
        assert needs.problem(SYSTEMS["hybrid_rrf"]) is None

    def test_filings_without_the_chunks_of_a_row(self, indexed: IndexedLake, lake: Lake) -> None:
        for filing in ("a", "b"):
            lake.write("filing_chunks", FILING_CHUNKS.empty_table(), "x", {"filing": filing})
        table = FILING_CHUNKS.empty_table()
        lake.write(PARENT_CHILD.table, table, "x", {"filing": "a"}, name="filing_chunks")
        row = SYSTEMS["parent_child"]
        assert "1 filings have no chunks of 'parent_child'" in str(Needs(lake, indexed.settings).problem(row))
        assert Needs(lake, indexed.settings, filings=["a"]).problem(row) is None

    def test_recorded_passages_must_hold_every_question(self, indexed: IndexedLake, tmp_path: Path) -> None:
        settings = with_passages(
            indexed.settings, tmp_path / "p.json", {"one?": ["x", "y", "z"], "two?": ["x"]}
        )
        assert Needs(indexed.lake, settings).problem(SYSTEMS["hyde"]) is None
        assert Needs(indexed.lake, settings, ["one?", "two?"]).problem(SYSTEMS["hyde"]) is None
        told = Needs(indexed.lake, settings, ["one?", "other?"]).problem(SYSTEMS["hyde"])
        assert told == "1 of 2 questions have no recorded passages."

    def test_fewer_passages_than_the_row_says_are_told(self, indexed: IndexedLake, tmp_path: Path) -> None:
        settings = with_passages(indexed.settings, tmp_path / "p.json", {"one?": ["x", "y", "z"]})
        needs = Needs(indexed.lake, settings)
        assert needs.note(SYSTEMS["multi_hyde"]) == "3 recorded passages in place of 4"
        assert needs.note(SYSTEMS["hyde"]) == needs.note(SYSTEMS["dense"]) == ""
        assert Needs(indexed.lake, indexed.settings).note(SYSTEMS["multi_hyde"]) == ""

    def test_each_thing_is_looked_up_once(
        self, indexed: IndexedLake, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked = []
        from finrag_pipeline.reranking import cross_encoder

        monkeypatch.setattr(cross_encoder, "weights_problem", lambda name, settings: asked.append(name))
        needs = Needs(indexed.lake, indexed.settings)
        for _ in range(3):
            assert needs.problem(SYSTEMS["dense_rerank"]) is None
        assert asked == ["BAAI/bge-reranker-v2-m3"]


class TestUsedBy:
    """What decides a ranking besides chunks, vectors and training must change the fingerprint of a run."""

    @pytest.fixture
    def tools(self, lake: Lake, settings: Settings) -> Toolbox:
        tools = Toolbox(lake, ["a"], settings)
        tools.passages, tools.language_model = Written(lambda q, n: q), Replies("T")
        tools._rerankers["BAAI/bge-reranker-v2-m3"] = ScoredBy(lambda q, t: 0.0)
        return tools

    def _used(self, tools: Toolbox) -> dict[str, object]:
        rows = {name: system for name, system in ALL_SYSTEMS.items() if "splade" not in system.first_stages}
        return {name: used_by(system, tools.lake, ["a"], tools) for name, system in rows.items()}

    def test_models_and_passages(self, tools: Toolbox) -> None:
        before = self._used(tools)
        assert before["dense"] == before["bm25_contextual"] == before["hybrid_alpha"] == {}
        tools.passages = Written(lambda q, n: q, fingerprint="others")
        hyde = {"hyde", "multi_hyde", "multi_hyde_rerank", "multi_hyde_fused"}
        after = self._used(tools)
        assert {name for name in before if after[name] != before[name]} == hyde
        tools._rerankers["BAAI/bge-reranker-v2-m3"] = ScoredBy(lambda q, t: 0.0, fingerprint="trained anew")
        again = self._used(tools)
        assert {name for name in after if again[name] != after[name]} == {"dense_rerank", "multi_hyde_rerank"}
        tools.language_model = Replies("T", fingerprint="another")
        last = self._used(tools)
        assert {name for name in again if last[name] != again[name]} == {"document_selection"}

    def test_tables_that_filters_and_rankers_read(self, tools: Toolbox) -> None:
        before = self._used(tools)
        facts = pa.Table.from_pylist([], schema=STATEMENT_FACTS)
        tools.lake.write("statement_facts", facts, "new facts", {"filing": "a"})
        after = self._used(tools)
        assert {name for name in before if after[name] != before[name]} == {"statement_aware"}
        tools.lake.write("page_profiles", PAGE_PROFILES.empty_table(), "new profiles", {"filing": "a"})
        before, after = after, self._used(tools)
        assert {name for name in before if after[name] != before[name]} == {"finrag", "finrag_rerank"}
        tools.lake.write("statement_facts", facts, "facts of another filing", {"filing": "b"})
        assert self._used(tools) == after
