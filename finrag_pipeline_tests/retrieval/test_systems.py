from __future__ import annotations

from dataclasses import replace

import pytest

from finrag_pipeline.chunking.registry import CHUNKINGS
from finrag_pipeline.errors import UsageError
from finrag_pipeline.retrieval.spaces import Scope, Space, restriction
from finrag_pipeline.retrieval.systems import (
    ABLATIONS,
    ALIASES,
    ALL_SYSTEMS,
    DEFAULT_SYSTEM,
    SYSTEMS,
    get_system,
    variant,
)
from finrag_pipeline.settings import RetrievalSettings, Settings


def test_the_registry() -> None:
    assert list(SYSTEMS) == [
        "bm25", "splade", "dense", "hybrid_rrf", "hybrid_alpha", "parent_child", "query_expansion", "hyde",
        "multi_hyde", "dense_rerank", "multi_hyde_rerank", "page_scorer", "filtered_dense", "statement_aware",
        "document_selection", "finrag", "finrag_rerank",
    ]  # fmt: skip
    assert DEFAULT_SYSTEM in SYSTEMS
    for name, system in ALL_SYSTEMS.items():
        assert get_system(name) is system
        assert system.name == name
        assert (len(system.first_stages) > 1) == (system.fusion is not None)
        assert all((system.title, system.source.paper, system.source.table, system.source.row))
        assert str(system.source).count(",") >= 2


def test_an_unknown_system_is_told_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="no retrieval system 'bm42'") as caught:
        get_system("bm42")
    assert all(name in caught.value.remedy for name in SYSTEMS)


def test_what_needs_an_encoder() -> None:
    assert [SYSTEMS[name].needs_encoder() for name in ("bm25", "dense", "hybrid_rrf")] == [False, True, True]


def test_parameters_hold_what_decides_a_ranking() -> None:
    settings = Settings()
    deeper = settings.model_copy(update={"retrieval": RetrievalSettings(depth=50)})  # type: ignore[call-arg]
    other_k = settings.model_copy(update={"retrieval": RetrievalSettings(rrf_k=10)})  # type: ignore[call-arg]
    for name, system in SYSTEMS.items():
        assert system.parameters(deeper) != system.parameters(settings)
        fused = name in ("hybrid_rrf", "statement_aware")
        assert (system.parameters(other_k) != system.parameters(settings)) == fused
    assert len({str(system.parameters(settings)) for system in ALL_SYSTEMS.values()}) == len(ALL_SYSTEMS)


def test_spaces_shrink() -> None:
    assert restriction(Space.CORPUS, "a", [3, 1]) == (None, None)
    assert restriction(Space.FILING, "a", [3, 1]) == (("a",), None)
    assert restriction(Space.PAGES, "a", [3, 1, 3]) == (("a",), (1, 3))
    assert [space.is_oracle for space in Space] == [False, True, True]
    assert [space.value for space in Space] == ["corpus", "filing", "pages"]


def test_steps_that_are_not_taken_leave_no_trace() -> None:
    """A new kind of step must not make the runs of other systems stale."""
    assert SYSTEMS["bm25"].parameters(Settings()) == {"name": "bm25", "first_stages": ("bm25",), "depth": 100}
    found = SYSTEMS["multi_hyde_rerank"].parameters(Settings())
    assert (found["query"], found["rerank"], found["rerank_depth"]) == (
        "multi_hyde", "BAAI/bge-reranker-v2-m3", 20,
    )  # fmt: skip
    assert [SYSTEMS["page_scorer"].parameters(Settings())["pages"]] == [20]
    assert [ABLATIONS[f"page_scorer_p{pages}"].parameters(Settings())["pages"] for pages in (5, 10)] == [
        5,
        10,
    ]


def test_a_renamed_row_is_the_same_system() -> None:
    dense = SYSTEMS["dense"]
    renamed = replace(dense, title="Vectors", source=SYSTEMS["bm25"].source, variant_of="bm25")
    assert renamed.parameters(Settings()) == dense.parameters(Settings())


def test_the_oracles_of_the_papers_are_rows_without_runs() -> None:
    rows = {alias.name: (alias.system, alias.space) for alias in ALIASES.values()}
    assert rows == {"oracle_filing": ("dense", Space.FILING), "oracle_page": ("dense", Space.PAGES)}
    assert not set(rows) & set(ALL_SYSTEMS)


@pytest.mark.parametrize("name", ["bm25", "dense", "hybrid_rrf"])
def test_first_stages_run_on_every_chunking_by_chunk_and_by_page(name: str) -> None:
    system = SYSTEMS[name]
    assert (system.chunking, system.kinds, system.collapse) == ("fixed", None, None)
    variants = {(s.chunking, s.kinds, s.collapse) for s in ABLATIONS.values() if s.variant_of == name}
    assert {("contextual", None, None), ("contextual", None, "page"), ("fixed", None, "page")} <= variants
    if system.fusion is None:
        assert ("contextual", ("text",), "page") in variants, f"what tables add to {name} is not measured"


def test_variants_say_what_they_vary() -> None:
    for system in ABLATIONS.values():
        assert system.variant_of in SYSTEMS
        assert system.chunking in CHUNKINGS
        assert set(system.kinds or ()) <= set(CHUNKINGS[system.chunking].kinds)
    assert ABLATIONS["multi_hyde_fused"].query == "multi_hyde_fused"


def test_any_row_takes_any_chunking_encoder_and_reranker() -> None:
    for system in SYSTEMS.values():
        for name, chunking in CHUNKINGS.items():
            other = variant(system, chunking=name, encoder="some/encoder", reranker="/models/mine")
            assert (other.chunking, other.encoder, other.rerank) == (name, "some/encoder", "/models/mine")
            assert other.name == f"{system.name}+{name}+encoder+mine" and other.variant_of == system.name
            assert (other.collapse == "parent") == (name == "parent_child")
            assert set(other.kinds or ()) <= set(chunking.kinds)
    assert variant(SYSTEMS["bm25"]).name == "bm25"
    with pytest.raises(UsageError, match="no chunking 'nope'"):
        variant(SYSTEMS["bm25"], chunking="nope")


def test_an_encoder_of_its_own_replaces_that_of_the_settings() -> None:
    settings = Settings().model_copy(
        update={"encoder": Settings().encoder.model_copy(update={"revision": "abc"})}
    )
    assert SYSTEMS["dense"].settings(settings) is settings
    other = variant(SYSTEMS["dense"], encoder="some/encoder").settings(settings)
    assert (other.encoder.name, other.encoder.revision) == ("some/encoder", None)
    assert variant(SYSTEMS["dense"], encoder=settings.encoder.name).settings(settings) is settings


class TestScope:
    def test_conditions_are_intersected(self) -> None:
        scope = Scope(("a", "b", "c"), (1, 2))
        assert scope.within_filings(["c", "x", "a"]).filings == ("a", "c")
        assert scope.within_filings([]).filings == ()
        narrowed = scope.within_places([("a", 1), ("a", 3), ("z", 1), ("c", 2), ("a", 1)])
        assert narrowed.places == (("a", 1), ("c", 2))
        assert narrowed.within_places([("c", 2), ("b", 1)]).places == (("c", 2),)

    def test_the_whole_corpus_takes_any_filter(self) -> None:
        assert Scope().within_filings(["b", "a", "b"]).filings == ("b", "a")
        assert Scope().within_places([("b", 0)]) == Scope(places=(("b", 0),))
