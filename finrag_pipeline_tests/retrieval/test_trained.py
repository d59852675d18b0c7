from __future__ import annotations

import pytest

from finrag_pipeline.retrieval.systems import ALL_SYSTEMS, SYSTEMS
from finrag_pipeline.retrieval.trained import UNTRAINED, Trained
from finrag_pipeline_tests.retrieval.stand_ins import FixedPages

SCORER, RANKER = FixedPages([], "scorer 1"), FixedPages([], "ranker 1")
RERANKER = FixedPages([], "reranker 1")
LEARNS = {"hybrid_alpha", "page_scorer", "page_scorer_p5", "page_scorer_p10", "finrag", "finrag_rerank"}


def test_what_learns_nothing_needs_no_training() -> None:
    found = {name for name, system in ALL_SYSTEMS.items() if UNTRAINED.problem(system) is not None}
    assert found == LEARNS
    everything = Trained(2, {"corpus": 0.5}, SCORER, RANKER, RERANKER)
    assert not any(everything.problem(system) for system in ALL_SYSTEMS.values())


def test_a_missing_model_is_named_with_its_fold() -> None:
    told = Trained(2, page_ranker=RANKER).problem(SYSTEMS["page_scorer"])
    assert told == "No page scorer was trained without the questions of fold 2."
    assert (
        Trained(page_scorer=SCORER).problem(SYSTEMS["finrag"]) == "No page ranker was trained for searching."
    )
    row = SYSTEMS["finrag_rerank"]
    assert Trained().problem(row) == "No page ranker was trained for searching."
    assert Trained(page_ranker=RANKER).problem(row) == "No reranker was trained for searching."


@pytest.mark.parametrize("name", sorted(LEARNS))
def test_a_run_depends_on_the_models_it_uses_and_on_no_other(name: str) -> None:
    system = ALL_SYSTEMS[name]
    plain = Trained(0, {"corpus": 0.5}, SCORER, RANKER, RERANKER)
    changed = {
        "alphas": Trained(0, {"corpus": 0.55}, SCORER, RANKER, RERANKER),
        "page_scorer": Trained(0, {"corpus": 0.5}, FixedPages([], "scorer 2"), RANKER, RERANKER),
        "page_ranker": Trained(0, {"corpus": 0.5}, SCORER, FixedPages([], "ranker 2"), RERANKER),
        "page_reranker": Trained(0, {"corpus": 0.5}, SCORER, RANKER, FixedPages([], "reranker 2")),
    }
    uses = "alphas" if system.fusion == "alpha" else system.page_stage
    for part, other in changed.items():
        assert (other.used_by(system) != plain.used_by(system)) == (part == uses)
        assert other.used_by(SYSTEMS["dense"]) == {}
        assert other.fingerprint != plain.fingerprint
