from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from finrag_pipeline.chunking.registry import CHUNKINGS
from finrag_pipeline.errors import UsageError
from finrag_pipeline.retrieval.component import Inputs
from finrag_pipeline.retrieval.corpus import Corpus
from finrag_pipeline.retrieval.filters import NamedStatements
from finrag_pipeline.retrieval.first_stages import Splade
from finrag_pipeline.retrieval.fusion import Fusion, ReciprocalRanks
from finrag_pipeline.retrieval.page_stage import InsidePages
from finrag_pipeline.retrieval.queries import Passages, Rewritten
from finrag_pipeline.retrieval.second_stages import BestChild, BestOfPage, CrossEncoder
from finrag_pipeline.retrieval.spaces import Scope, Space
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
from finrag_pipeline.storage.lake import Lake


def test_the_registry() -> None:
    assert list(SYSTEMS) == [
        "bm25", "splade", "dense", "hybrid_rrf", "hybrid_alpha", "parent_child", "query_expansion", "hyde",
        "multi_hyde", "dense_rerank", "multi_hyde_rerank", "page_scorer", "filtered_dense",
        "filtered_sentences", "statement_aware", "document_selection", "finrag", "finrag_rerank",
    ]  # fmt: skip
    assert DEFAULT_SYSTEM in SYSTEMS
    for name, system in ALL_SYSTEMS.items():
        assert get_system(name) is system
        assert system.name == name
        assert all((system.title, system.source.paper, system.source.table, system.source.row))
        assert str(system.source).count(",") >= 2


def test_a_name_may_carry_another_chunking() -> None:
    found = get_system("filtered_dense+contextual")
    assert (found.chunking, found.filter) == ("contextual", SYSTEMS["filtered_dense"].filter)
    assert found.variant_of == "filtered_dense"
    with pytest.raises(UsageError, match=r"'dense\+sliding'"):
        get_system("dense+sliding")
    with pytest.raises(UsageError, match="dense"):
        get_system("dense+contextual", registered=True)


def test_another_reranker_keeps_the_depth() -> None:
    changed = variant(ABLATIONS["dense_rerank_50"], reranker="/a/folder").rerank
    assert isinstance(changed, CrossEncoder)
    assert (changed.model, changed.depth) == ("/a/folder", 50)


def test_an_unknown_system_is_told_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="no retrieval system 'bm42'") as caught:
        get_system("bm42")
    assert all(name in caught.value.remedy for name in SYSTEMS)


def test_whose_questions_are_embedded() -> None:
    without = {name for name, system in SYSTEMS.items() if not system.embeds}
    assert without == {"bm25", "splade", "finrag", "finrag_rerank"}, "the page ranker embeds for itself"


def bare(corpus_settings: Settings, tmp_path: Path) -> Inputs:
    """No filings and a stand-in for the encoder, so that only systems and settings decide."""
    encoder = SimpleNamespace(fingerprint="encoder")
    return Inputs(Corpus(Lake(str(tmp_path)), (), corpus_settings, encoder))


WITHOUT_MODELS = {
    name: system
    for name, system in ALL_SYSTEMS.items()
    if system.rerank is None
    and system.select is None
    and not isinstance(system.query, (Passages, Rewritten))
    and not isinstance(system.first, Splade)
}


def test_fingerprints_hold_what_decides_a_ranking(tmp_path: Path) -> None:
    settings = Settings()
    inputs, deeper, other_k = (
        bare(settings.model_copy(update={"retrieval": RetrievalSettings(**options)}), tmp_path)
        for options in ({}, {"depth": 50}, {"rrf_k": 10})
    )
    for system in WITHOUT_MODELS.values():
        assert system.fingerprint(deeper) != system.fingerprint(inputs)
        fused = isinstance(system.first, ReciprocalRanks)
        assert (system.fingerprint(other_k) != system.fingerprint(inputs)) == fused
    assert len({system.fingerprint(inputs) for system in WITHOUT_MODELS.values()}) == len(WITHOUT_MODELS) > 20


def test_a_parameter_of_a_component_changes_the_fingerprint(tmp_path: Path) -> None:
    inputs = bare(Settings(), tmp_path)
    row = SYSTEMS["page_scorer"]
    assert [system.pages for name, system in ALL_SYSTEMS.items() if name.startswith("page_scorer")] == [
        InsidePages("page_scorer", pages=pages) for pages in (20, 5, 10)
    ]
    fewer = replace(row, pages=InsidePages("page_scorer", pages=5))
    assert fewer.fingerprint(inputs) != row.fingerprint(inputs)
    row = SYSTEMS["statement_aware"]
    assert replace(row, filter=NamedStatements(3)).fingerprint(inputs) != row.fingerprint(inputs)


def test_spaces_shrink() -> None:
    assert Space.CORPUS.scope("a", [3, 1]) == Scope()
    assert Space.FILING.scope("a", [3, 1]) == Scope(("a",))
    assert Space.PAGES.scope("a", [3, 1, 3]) == Scope(("a",), (1, 3))
    assert [space.value for space in Space] == ["corpus", "filing", "pages"]


def test_a_renamed_row_is_the_same_system(tmp_path: Path) -> None:
    inputs, dense = bare(Settings(), tmp_path), SYSTEMS["dense"]
    renamed = replace(dense, title="Vectors", source=SYSTEMS["bm25"].source, variant_of="bm25")
    assert renamed.fingerprint(inputs) == dense.fingerprint(inputs)


def test_the_oracles_of_the_papers_are_rows_without_runs() -> None:
    rows = {alias.name: (alias.system, alias.space) for alias in ALIASES.values()}
    assert rows == {"oracle_filing": ("dense", Space.FILING), "oracle_page": ("dense", Space.PAGES)}
    assert not set(rows) & set(ALL_SYSTEMS)


@pytest.mark.parametrize("name", ["bm25", "dense", "hybrid_rrf"])
def test_first_stages_run_on_every_chunking_by_chunk_and_by_page(name: str) -> None:
    system = SYSTEMS[name]
    assert (system.chunking, system.kinds, system.collapse) == ("fixed", None, None)
    variants = {(s.chunking, s.kinds, s.collapse) for s in ABLATIONS.values() if s.variant_of == name}
    assert {
        ("contextual", None, None),
        ("contextual", None, BestOfPage()),
        ("fixed", None, BestOfPage()),
    } <= variants
    if not isinstance(system.first, Fusion):
        assert ("contextual", ("text",), BestOfPage()) in variants, (
            f"what tables add to {name} is not measured"
        )


def test_variants_say_what_they_vary() -> None:
    for system in ABLATIONS.values():
        assert system.variant_of in SYSTEMS
        assert system.chunking in CHUNKINGS
        assert set(system.kinds or ()) <= set(CHUNKINGS[system.chunking].kinds)
    assert ABLATIONS["multi_hyde_fused"].query == Passages(fused=True)


def test_any_row_takes_any_chunking_encoder_and_reranker() -> None:
    for system in SYSTEMS.values():
        for name, chunking in CHUNKINGS.items():
            other = variant(system, chunking=name, encoder="some/encoder", reranker="/models/mine")
            assert (other.chunking, other.encoder, other.rerank) == (
                name,
                "some/encoder",
                CrossEncoder("/models/mine"),
            )
            assert other.name == f"{system.name}+{name}+encoder+mine" and other.variant_of == system.name
            assert (other.collapse == BestChild()) == (name == "parent_child")
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
        narrowed = scope.within_locations([("a", 1), ("a", 3), ("z", 1), ("c", 2), ("a", 1)])
        assert narrowed.locations == (("a", 1), ("c", 2))
        assert narrowed.within_locations([("c", 2), ("b", 1)]).locations == (("c", 2),)

    def test_the_whole_corpus_takes_any_filter(self) -> None:
        assert Scope().within_filings(["b", "a", "b"]).filings == ("b", "a")
        assert Scope().within_locations([("b", 0)]) == Scope(locations=(("b", 0),))
