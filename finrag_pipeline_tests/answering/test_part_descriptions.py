"""The part of a company that words describe by what it does."""

from __future__ import annotations

from collections.abc import Sequence

from finrag_pipeline.answering.part_descriptions import PartDescriptions
from finrag_pipeline.rankers.page_ranker.terms import terms
from finrag_pipeline.statements.filing_rows import FilingRow


def row(*path: str, columns: Sequence[str] = ()) -> FilingRow:
    return FilingRow("TORVEX_2023_10K", 1, 0, 0, "", path, tuple(columns), None, None, ())


ROWS = [
    row("Net sales", columns=["Harbour Works"]),
    row("Net sales", columns=["Orchard (a)"]),
    row("Chairs"),
    row("Total"),
]
LISTED = "Torvex has two reportable segments: Harbour Works and Orchard."
PAGES = [
    (0, f"{LISTED} The company was founded in a shed.\n\n{LISTED}"),
    (1, "Harbour Works builds tugboats and cranes for ports.\n\nOrchard sells cider and pears to shops."),
    (2, "Harbour Works\nIts yards also repair ferries. Ferries are made of steel.\n"),
    (3, "Orchard\nThe trees bore well. Juice is pressed in autumn.\n"),
    *((page, f"Page {page} tells of the company and of sales.") for page in range(4, 30)),
]


def test_parts_are_what_sentences_about_segments_list_and_tables_print() -> None:
    assert sorted(PartDescriptions(ROWS, PAGES).names) == ["Harbour Works", "Orchard"]
    assert PartDescriptions([row("Chairs")], PAGES).names == ()


def test_words_of_the_sentences_and_of_the_section_of_a_part_describe_it() -> None:
    parts = PartDescriptions(ROWS, PAGES)
    for words, name in (("tugboats", "Harbour Works"), ("ferry", "Harbour Works"), ("the juice", "Orchard")):
        found = parts.described(terms(words))
        assert found is not None and (found.name, found.stems) == (name, frozenset(terms(words.split()[-1])))
        assert found.chance > 0.6
    both = parts.described(terms("tugboats cranes"))
    assert both is not None and both.chance > 0.8


def test_words_of_no_part_or_of_all_describe_none() -> None:
    parts = PartDescriptions(ROWS, PAGES)
    assert parts.described(terms("aeroplanes")) is None
    assert parts.described(terms("company sales")) is None
    assert PartDescriptions([], PAGES).described(terms("tugboats")) is None


def test_names_that_a_question_says() -> None:
    parts = PartDescriptions(ROWS, PAGES)
    assert parts.named_in(terms("sales of the works in the harbour")) == ("Harbour Works",)
    assert parts.named_in(terms("sales of the harbour")) == ()
