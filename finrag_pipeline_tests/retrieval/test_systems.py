from __future__ import annotations

import pytest

from finrag_pipeline.chunking.registry import CHUNKINGS
from finrag_pipeline.errors import UsageError
from finrag_pipeline.retrieval.spaces import Space, restriction
from finrag_pipeline.retrieval.systems import ABLATIONS, ALL_SYSTEMS, DEFAULT_SYSTEM, SYSTEMS, get_system
from finrag_pipeline.settings import RetrievalSettings, Settings


def test_the_registry() -> None:
    assert {"bm25", "dense", "hybrid_rrf"} <= set(SYSTEMS)
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
        assert (system.parameters(other_k) != system.parameters(settings)) == (name == "hybrid_rrf")
    assert len({str(system.parameters(settings)) for system in ALL_SYSTEMS.values()}) == len(ALL_SYSTEMS)


def test_spaces_shrink() -> None:
    assert restriction(Space.CORPUS, "a", [3, 1]) == (None, None)
    assert restriction(Space.FILING, "a", [3, 1]) == (("a",), None)
    assert restriction(Space.PAGES, "a", [3, 1, 3]) == (("a",), (1, 3))
    assert [space.is_oracle for space in Space] == [False, True, True]
    assert [space.value for space in Space] == ["corpus", "filing", "pages"]


def test_every_system_runs_on_every_chunking_by_chunk_and_by_page() -> None:
    for name, system in SYSTEMS.items():
        assert (system.chunking, system.kinds, system.collapse) == ("fixed", None, None)
        variants = {
            (s.chunking, s.kinds, s.collapse)
            for s in ABLATIONS.values()
            if s.first_stages == system.first_stages and s.fusion == system.fusion
        }
        assert {("contextual", None, None), ("contextual", None, "page"), ("fixed", None, "page")} <= variants
        if system.fusion is None:
            assert ("contextual", ("text",), "page") in variants, f"what tables add to {name} is not measured"
    for system in ABLATIONS.values():
        assert system.chunking in CHUNKINGS
        assert set(system.kinds or ()) <= set(CHUNKINGS[system.chunking].kinds)
