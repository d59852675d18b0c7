from __future__ import annotations

import pytest

from finrag_pipeline.evaluation.overlap_variants import VARIANTS, evidence_overlap


def shared(one: str, other: str) -> float:
    """Share of the first text's words that are in the second."""
    return len(set(one.split()) & set(other.split())) / len(set(one.split()))


def test_worked_by_hand():
    evidence, chunks = ["a b", "c d"], ["a b", "c"]
    found = [evidence_overlap(shared, evidence, chunks, variant) for variant in VARIANTS]
    # Joined: {a b c d} against 'a b'; best pair; mean of 1 and 1/2.
    assert found == pytest.approx([0.5, 1.0, 0.75])


def test_one_evidence_text_and_none_retrieved():
    assert len({evidence_overlap(shared, ["a b"], ["a", "c"], variant) for variant in VARIANTS}) == 1
    assert {evidence_overlap(shared, ["a", "b"], [], variant) for variant in VARIANTS} == {0.0}
