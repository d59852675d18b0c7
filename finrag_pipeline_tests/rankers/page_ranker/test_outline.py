"""Sections, notes and headings of made-up reports."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.rankers.page_ranker.outline import SECTIONS, outline

PROSE = "We sold more paint than the year before and paid less for the pigments that go into it."

CONTENTS = """Table of Contents
Item 1. Business 3
Item 1A. Risk Factors 9
Item 2. Properties 14
Item 3. Legal Proceedings 15
Item 5. Market for Registrant's Common Equity 16
Item 7. Management's Discussion and Analysis 18
Item 8. Financial Statements and Supplementary Data 30"""

ANNUAL = [
    "FORM 10-K\nANNUAL REPORT\nFor the fiscal year ended December 31, 2021",
    CONTENTS,
    "Forward-looking statements\n" + PROSE,
    f"PART I\nItem 1. Business\n{PROSE}",
    PROSE,
    f"Item 1A. Risk Factors\n{PROSE}",
    "\n".join(
        [PROSE] * 4 + ["Item 2. Properties", "We own one plant.", "Item 3. Legal Proceedings", "None."]
    ),
    f"Item 7. Management's Discussion and Analysis of Financial Condition and Results of Operations\n{PROSE}",
    f"Item 7A.\nQuantitative and Qualitative Disclosures About Market Risk\n{PROSE}",
    "Item 8. Financial Statements and Supplementary Data\nConsolidated Balance Sheets",
    f"Notes to Consolidated Financial Statements\n1. Summary of Significant Accounting Policies\n{PROSE}",
    PROSE,
    f"NOTE 2 - Inventories\n{PROSE}\nNote 3: Leases\n{PROSE}",
    f"Item 9A. Controls and Procedures\n{PROSE}",
    "Item 15. Exhibits and Financial Statement Schedules",
]


def sections(texts: list[str], form: str | None) -> list[tuple[str, ...]]:
    return [page.sections for page in outline(texts, form)]


class TestAnnualReport:
    def test_every_page_stands_in_its_section(self) -> None:
        assert sections(ANNUAL, "10-K") == [
            ("cover",),
            ("contents",),
            ("other",),
            ("business",),
            ("business",),
            ("risk_factors",),
            ("risk_factors", "properties", "legal_proceedings"),
            ("mdna",),
            ("market_risk",),
            ("statements",),
            ("notes",),
            ("notes",),
            ("notes",),
            ("controls",),
            ("exhibits",),
        ]

    def test_a_note_is_open_until_the_next_and_ends_with_the_notes(self) -> None:
        notes = [page.note for page in outline(ANNUAL, "10-K")]
        assert notes[9:] == [
            "",
            "1. Summary of Significant Accounting Policies",
            "1. Summary of Significant Accounting Policies",
            "Note 3: Leases",
            "",
            "",
        ]

    def test_short_items_on_one_page_are_no_contents(self) -> None:
        titles = (
            "9B. Other Information",
            "10. Directors",
            "11. Executive Compensation",
            "12. Security Ownership",
        )
        proxy = (
            "The information required by this item will be in the proxy statement for the annual meeting of "
        )
        short = "\n".join(
            f"Item {title}\n{proxy}shareholders, which is part of this report by reference. {PROSE}"
            for title in (*titles, "13. Relationships", "14. Fees", "15. Exhibits")
        )
        contents = CONTENTS.replace("Item", f"{PROSE} 3\n{PROSE} 4\nItem")
        found = sections([ANNUAL[0], contents, *ANNUAL[3:-1], short], "10-K")
        assert found[1] == ("contents",)
        assert found[-1] == ("other", "governance", "exhibits")

    def test_an_unknown_form_is_read_like_an_annual_report(self) -> None:
        assert sections(ANNUAL, None) == sections(ANNUAL, "10-K")

    def test_the_title_may_stand_on_the_line_after_the_item(self) -> None:
        assert sections(["cover", "ITEM 5.\nOther Information"], "10-K")[1] == ("market_for_equity",)
        assert sections(["cover", "ITEM 12\nExecutive Compensation"], "10-K")[1] == ("governance",)

    def test_a_title_is_believed_before_its_number(self) -> None:
        # Reports of other years number their items otherwise.
        assert sections(["cover", "Item 6. Exhibits and Financial Statement Schedules"], "10-K")[1] == (
            "exhibits",
        )


class TestWhatIsNoHeading:
    @pytest.mark.parametrize(
        "line",
        [
            "Item 8 of this report holds the statements of the company.",
            "Item 1A, Risk Factors, tells what may go wrong.",
            "Item 7 in our annual report and the notes",
            "Item 3 “Legal Proceedings”",
            "Item 5.02 Departure of Directors or Certain Officers",
            "Item 8 " + "is where the statements of the company stand, " * 4,
            "Items 1 and 2 are combined",
        ],
    )
    def test_references_leave_the_section_open(self, line: str) -> None:
        pages = [
            ANNUAL[0],
            "Item 1. Business\n" + PROSE,
            f"{PROSE}\n{PROSE}\n{PROSE}\n{PROSE}\n{line}\n{PROSE}",
        ]
        assert sections(pages, "10-K")[2] == ("business",)

    def test_the_name_of_a_section_counts_at_the_head_of_a_page_alone(self) -> None:
        low = [ANNUAL[0], "Item 1. Business", "\n".join([PROSE] * 5 + ["Risk Factors"])]
        high = [ANNUAL[0], "Item 1. Business", "\n".join(["Risk Factors"] + [PROSE] * 5)]
        assert sections(low, "10-K")[2] == ("business",)
        assert sections(high, "10-K")[2] == ("risk_factors",)

    def test_a_sentence_that_begins_with_the_name_of_a_section_is_no_heading(self) -> None:
        line = "Properties that we lease are used by two of our divisions for storage."
        assert sections([ANNUAL[0], "Item 1. Business", line], "10-K")[2] == ("business",)

    def test_contents_leave_the_section_as_it_was(self) -> None:
        # Some reports repeat the contents before the statements.
        pages = [ANNUAL[0], "Item 7. Management's Discussion and Analysis", CONTENTS, PROSE]
        assert sections(pages, "10-K")[2:] == [("contents",), ("mdna",)]

    def test_numbered_lines_outside_the_notes_open_no_note(self) -> None:
        pages = [ANNUAL[0], "Item 1. Business", "1. Paint And Coatings", "Note 7 Leases"]
        assert [page.note for page in outline(pages, "10-K")] == ["", "", "", ""]


class TestRunningHeads:
    def test_a_running_head_opens_its_section_without_an_item(self) -> None:
        pages = [ANNUAL[0], f"Alder Corp\nManagement's Discussion and Analysis\n{PROSE}", PROSE]
        assert sections(pages, "10-K")[1:] == [("mdna",), ("mdna",)]

    def test_a_running_head_goes_on_and_a_new_section_follows_on_the_page(self) -> None:
        head = "Notes to the Consolidated Financial Statements"
        pages = [
            ANNUAL[0],
            f"{head}\n{PROSE}",
            f"{head}\n{PROSE}\nItem 9A. Controls and Procedures\n{PROSE}",
            PROSE,
        ]
        assert sections(pages, "10-K")[1:] == [("notes",), ("notes", "controls"), ("controls",)]


QUARTERLY = [
    "FORM 10-Q\nFor the quarterly period ended June 30, 2022",
    f"PART I. FINANCIAL INFORMATION\nItem 1. Financial Statements\n{PROSE}",
    "Notes to Condensed Consolidated Financial Statements\nNote 1. Basis of Presentation\n" + PROSE,
    f"Item 2. Management's Discussion and Analysis\n{PROSE}",
    f"Item 3.\nMarket risk\n{PROSE}\nItem 4.\nChanges in our controls",
    f"PART II. OTHER INFORMATION\nItem 1. Legal Proceedings\n{PROSE}\nItem 1A. Risk Factors\n{PROSE}"
    f"\nItem 2. Unregistered Sales of Equity Securities\n{PROSE}",
    "Item 6. Exhibits",
]


class TestOtherForms:
    def test_items_of_a_quarterly_report_depend_on_its_part(self) -> None:
        assert sections(QUARTERLY, "10-Q") == [
            ("cover",),
            ("statements",),
            ("notes",),
            ("mdna",),
            ("market_risk", "controls"),
            ("legal_proceedings", "risk_factors", "market_for_equity"),
            ("exhibits",),
        ]

    def test_the_same_items_mean_other_things_in_an_annual_report(self) -> None:
        page = ["cover", "Item 2.\nWhat we own"]
        assert sections(page, "10-K")[1] == ("properties",)
        assert sections(page, "10-Q")[1] == ("mdna",)

    def test_items_of_a_current_report_are_no_sections(self) -> None:
        pages = [
            "FORM 8-K\nMay 3, 2023",
            f"Item 5.07 Submission of Matters to a Vote of Security Holders.\n{PROSE}",
            f"Item 8 Other Events\n{PROSE}",
        ]
        assert sections(pages, "8-K") == [("cover",), ("other",), ("other",)]

    def test_a_press_release_has_the_sections_that_its_heads_name(self) -> None:
        pages = ["Alder Corp reports results", PROSE, f"Financial Review\n{PROSE}"]
        assert sections(pages, "EARNINGS") == [("cover",), ("other",), ("mdna",)]


class TestAnyText:
    def test_no_pages_and_empty_pages(self) -> None:
        assert outline([], "10-K") == []
        pages = outline(["", " \n ", "\n"], None)
        assert [(page.sections, page.note, page.headings) for page in pages] == [
            (("cover",), "", ()),
            (("other",), "", ()),
            (("other",), "", ()),
        ]

    def test_headings_stand_in_order_and_are_no_sentences(self) -> None:
        (page,) = outline(
            [f"Results of Operations\n{PROSE}\nLiquidity\n  Capital Resources  \n12,345"], "10-K"
        )
        assert page.headings == ("Results of Operations", "Liquidity", "Capital Resources")

    def test_a_page_of_headings_keeps_no_endless_list(self) -> None:
        (page,) = outline(["\n".join(f"Heading {'Abc' * (n % 5 + 1)}" for n in range(500))], None)
        assert 0 < len(page.headings) <= 40

    @given(
        st.lists(st.text(max_size=200), max_size=6),
        st.sampled_from(["10-K", "10-Q", "8-K", "EARNINGS", None]),
    )
    def test_every_page_has_a_known_section(self, texts: list[str], form: str | None) -> None:
        pages = outline(texts, form)
        assert len(pages) == len(texts)
        for page in pages:
            assert page.sections and set(page.sections) <= set(SECTIONS)
            assert len(set(page.sections)) == len(page.sections)
