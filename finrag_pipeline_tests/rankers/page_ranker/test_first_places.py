"""Every likely filing is shown among the first places."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.rankers.page_ranker.ranker import FIRST_PLACES, show_every_filing

FILINGS = ["annual"] * 8 + ["release"] * 3


def test_the_best_page_of_a_missing_filing_takes_the_last_first_place() -> None:
    order = np.array([2, 0, 1, 3, 4, 5, 9, 8])
    found = show_every_filing(order, FILINGS, ["annual", "release"])
    assert found.tolist() == [2, 0, 1, 3, 9, 4, 5, 8]


@pytest.mark.parametrize("likely", [["annual"], ["annual", "elsewhere"], []])
def test_nothing_moves_where_no_likely_filing_is_missing(likely: list[str]) -> None:
    order = np.array([2, 0, 1, 3, 4, 5, 9])
    assert show_every_filing(order, FILINGS, likely).tolist() == order.tolist()


def test_a_filing_shown_already_keeps_its_place() -> None:
    order = np.array([2, 9, 0, 1, 3, 8])
    assert show_every_filing(order, FILINGS, ["annual", "release"]).tolist() == order.tolist()


@given(
    st.lists(st.sampled_from("abcd"), min_size=1, max_size=30),
    st.lists(st.sampled_from("abcde"), unique=True, max_size=5),
    st.randoms(use_true_random=False),
)
def test_no_candidate_is_lost_and_the_first_page_stays(filings: list[str], likely: list[str], random) -> None:
    order = list(range(len(filings)))
    random.shuffle(order)
    found = show_every_filing(np.array(order), filings, likely).tolist()
    assert sorted(found) == sorted(order) and found[0] == order[0]
    first = {filings[place] for place in found[:FIRST_PLACES]}
    possible = [filing for filing in likely[: FIRST_PLACES - 1] if filing in filings]
    assert len(order) < FIRST_PLACES or set(possible) <= first
