"""Questions derived from filings: sound on the sample, the same for the same seed, within their caps."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finrag_pipeline.page_scorer import derived_questions as module
from finrag_pipeline.page_scorer.derived_headings import heading_topics, topic_of
from finrag_pipeline.page_scorer.derived_questions import (
    PER_PAGE,
    TURNS,
    DerivedQuestion,
    derived_questions,
    questions_fingerprint,
    questions_of,
)
from finrag_pipeline.page_scorer.derived_topics import Numbers, fact_topics, of_period
from finrag_pipeline.page_scorer.derived_wording import Casing, Subject, fields, lexicon, short_name
from finrag_pipeline.sample.generate import entries
from finrag_pipeline.statements.concepts import lexicon as concepts
from finrag_pipeline.statements.page_evidence import KINDS
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.console import REPOSITORY
from finrag_pipeline_tests.page_scorer.sample_filing import parts, write_sample_filing

ANNUAL, QUARTERLY, TEXT = "TORVEXLEY_2023_10K", "TORVEXLEY_2023Q2_10Q", "SUNDREVALE_2022_10K"
CURRENT, RELEASE = "TORVEXLEY_2022_8K_dated-2022-11-03", "SUNDREVALE_2023Q1_EARNINGS"
SEED = 17
GOLDEN = REPOSITORY / "finrag_pipeline_tests" / "golden" / "derived_questions.json"


def derived(name: str, count: int = 40, seed: int = SEED) -> list[DerivedQuestion]:
    return questions_of(*parts(name), count, seed)


class TestTheSample:
    @pytest.mark.parametrize("name", [ANNUAL, QUARTERLY, TEXT, CURRENT, RELEASE])
    def test_each_page_holds_what_is_asked(self, name: str) -> None:
        texts = [" ".join(text.split()) for text in parts(name)[1]]
        found = derived(name)
        assert found and len({question.question for question in found}) == len(found)
        for question in found:
            assert 0 <= question.page < len(texts) and question.page not in question.also
            assert all(0 <= page < len(texts) for page in question.also)
            text = texts[question.page]
            if question.kind in ("heading", "note", "risk", "driver"):
                assert question.evidence[:60] in text
            elif question.kind != "statement":
                assert all(number in text for number in re.findall(r"\d[\d,.]*\d", question.evidence))

    def test_all_kinds_are_asked_about_an_annual_report(self) -> None:
        assert {question.kind for question in derived(ANNUAL)} >= set(TURNS) - {"risk"}

    def test_some_of_them(self) -> None:
        found = [[question.kind, question.page, question.question] for question in derived(ANNUAL, 12)]
        assert found == json.loads(GOLDEN.read_text("utf-8"))

    def test_a_quarterly_report_is_asked_about_its_quarter(self) -> None:
        for question in derived(QUARTERLY):
            assert re.search(r"Q2|second quarter|June 30, 2023", question.question), question

    def test_questions_of_the_benchmark_are_not_repeated(self) -> None:
        from finrag_pipeline.sample.questions_torvexley import torvexley_questions

        asked = {question.text.casefold() for question in torvexley_questions()}
        assert not asked & {question.question.casefold() for question in derived(ANNUAL, 500)}


class TestChoice:
    @settings(max_examples=25, deadline=None)
    @given(count=st.integers(1, 80), seed=st.integers(0, 2**32))
    def test_caps_hold_for_every_seed(self, count: int, seed: int) -> None:
        found = derived(ANNUAL, count, seed)
        assert 1 <= len(found) <= count
        assert max(Counter(question.page for question in found).values()) <= PER_PAGE
        assert found == derived(ANNUAL, count, seed)
        assert len({question.question_id for question in found}) == len(found)
        assert all("{" not in question.question for question in found)

    def test_another_seed_asks_otherwise(self) -> None:
        assert derived(ANNUAL, 20, 1) != derived(ANNUAL, 20, 2)

    def test_an_unknown_company_or_period_gives_none(self) -> None:
        identity, texts, profiles, facts = parts(ANNUAL)
        for names in (("company", "declared_company"), ("fiscal_year", "declared_year")):
            unknown = {**identity, **dict.fromkeys(names)}
            assert questions_of(unknown, texts, profiles, facts, 9, SEED) == []

    def test_from_the_lake(self, lake: Lake) -> None:
        assert derived_questions(lake, ANNUAL, 9, SEED) == []
        write_sample_filing(lake, ANNUAL)
        assert derived_questions(lake, ANNUAL, 9, SEED) == derived(ANNUAL, 9)
        row = derived(ANNUAL, 1)[0].row()
        assert row["gold_pages"] == [derived(ANNUAL, 1)[0].page] and row["evidence"][0]["text"]

    def test_the_fingerprint_follows_filings_and_wording(
        self, lake: Lake, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = questions_fingerprint(lake, [ANNUAL])
        write_sample_filing(lake, ANNUAL)
        after = questions_fingerprint(lake, [ANNUAL])
        assert before != after == questions_fingerprint(lake, [ANNUAL])
        monkeypatch.setattr(module, "lexicon_text", lambda: "other words")
        assert questions_fingerprint(lake, [ANNUAL]) != after


def fact(page: int, printed: str, **changes: Any) -> dict[str, Any]:
    plain = {
        "page": page,
        "printed": printed,
        "value": float(re.sub(r"\D", "", printed) or 0),
        "label": "Rental income",
        "path": ["Rental income"],
        "statement": "income_statement",
        "scope": "primary",
        "concept": None,
        "unit": "currency",
        "qualifier": None,
        "period_kind": "duration",
        "period_end": None,
        "fiscal_year": 2020,
        "fiscal_quarter": None,
    }
    return {**plain, **changes}


class TestFacts:
    SUBJECT = Subject("Alder", "10-K", 2020, None, None)

    def topics(self, facts: list[dict[str, Any]], texts: list[str]) -> list[tuple[str, int, frozenset[int]]]:
        found = fact_topics(facts, self.SUBJECT, Numbers(texts))
        return [(topic.kind, topic.page, topic.also) for topic in found if topic.kind != "statement"]

    def test_a_primary_line_is_asked_though_its_number_stands_elsewhere(self) -> None:
        texts = ["Rental income 1,234", "Rental income was $1,234", "12,345"]
        assert self.topics([fact(0, "1,234")], texts) == [("value", 0, frozenset({1}))]

    def test_another_line_only_where_its_number_stands_nowhere_else(self) -> None:
        note = fact(1, "1,234", scope="note")
        assert self.topics([note], ["", "rent 1,234"]) == [("value", 1, frozenset())]
        assert self.topics([note], ["1,234", "rent 1,234"]) == []
        assert self.topics([fact(1, "12", scope="note")], ["", "rent 12"]) == [], "too short to tell"

    @pytest.mark.parametrize(
        "changes",
        [
            {"scope": "parent_only"},
            {"unit": "percent"},
            {"qualifier": "Europe"},
            {"fiscal_year": 2018},
            {"fiscal_quarter": 4},
            {"label": "Total", "path": ["Total"]},
            {"label": "Other, net"},
            {"printed": "—"},
            {"statement": "equity"},
        ],
    )
    def test_lines_that_say_too_little_are_left_out(self, changes: dict[str, Any]) -> None:
        assert self.topics([{**fact(0, "1,234"), **changes}], ["1,234"]) == []

    def test_a_line_with_two_values_is_ambiguous(self) -> None:
        assert self.topics([fact(0, "1,234"), fact(0, "9,876")], ["1,234 9,876"]) == []

    def test_of_several_statements_the_first_is_asked(self) -> None:
        flow = fact(1, "1,234", statement="cash_flows")
        found = self.topics([flow, fact(0, "1,234")], ["1,234", "1,234"])
        assert found == [("value", 0, frozenset({1}))]
        moved = fact(1, "77,001", statement="cash_flows", path=["Changes in assets", "Rental income"])
        assert len(self.topics([moved, fact(0, "1,234")], ["1,234", "77,001"])) == 2

    def test_a_note_with_another_value_is_ambiguous(self) -> None:
        group = fact(1, "9,876", scope="mdna")
        assert self.topics([group, fact(0, "1,234")], ["1,234", "9,876"]) == [("value", 0, frozenset())]

    def test_a_change_needs_both_years_on_the_page(self) -> None:
        found = self.topics([fact(0, "1,234"), fact(0, "987", fiscal_year=2019)], ["1,234 987", "1,234 987"])
        assert found == [("value", 0, frozenset({1})), ("change", 0, frozenset({1}))]
        assert len(self.topics([fact(0, "1,234"), fact(1, "987", fiscal_year=2019)], ["1,234", "987"])) == 1

    def test_a_ratio_needs_both_lines_on_the_page(self) -> None:
        sales, profit = (
            fact(0, "1,234", concept="Revenues"),
            fact(0, "456", concept="GrossProfit", label="Profit"),
        )
        kinds = [kind for kind, _, _ in self.topics([sales, profit], ["1,234 456"])]
        assert kinds == ["value", "value", "ratio"]
        assert "ratio" not in [
            kind for kind, *_ in self.topics([sales, {**profit, "page": 1}], ["1,234", "456"])
        ]

    def test_periods(self) -> None:
        quarter = Subject("Alder", "10-Q", 2020, 2, None)
        assert of_period(fact(0, "1", fiscal_quarter=2), quarter)
        assert not of_period(fact(0, "1"), quarter), "half a year is no quarter"
        assert of_period(fact(0, "1", fiscal_year=2019), self.SUBJECT, 1)


PROSE = "The company rents land and buildings to farmers, and it has done so for more than thirty years now."


class TestHeadings:
    def topics(self, texts: list[str], **changes: Any) -> list[tuple[str, int, str]]:
        profiles = [
            {"sections": ["business"], "note": "", "headings": text.split("\n"), **changes} for text in texts
        ]
        found = heading_topics(texts, profiles, "10-K", ["Rental income"], ["Alder Farms"])
        return [(topic.kind, topic.page, topic.items[0]) for topic in found]

    def test_a_heading_with_prose_below_it(self) -> None:
        assert self.topics([f"Land and Buildings\n{PROSE}"]) == [("heading", 0, "Land and Buildings")]
        assert (
            self.topics(["Land and Buildings\n1,234 5,678 9,101 2019 2020 1,234 5,678 9,101 2019 2020 " * 3])
            == []
        )

    def test_running_heads_are_left_out(self) -> None:
        text = f"Land and Buildings\n{PROSE}"
        assert self.topics([text, "Tenants"]) and self.topics([text, text]) == []
        assert self.topics([text, "Land and Buildings\n"]) == []

    def test_a_note_begins_where_it_is_not_continued(self) -> None:
        texts = ["3. Leased Land\n1,234", f"3. Leased Land (Continued)\n{PROSE}"]
        assert self.topics(texts, sections=["notes"]) == []

    @pytest.mark.parametrize("section", ["cover", "contents", "exhibits"])
    def test_some_sections_are_not_read(self, section: str) -> None:
        assert self.topics([f"Land and Buildings\n{PROSE}"], sections=[section]) == []

    def test_kinds_of_headings(self) -> None:
        assert self.topics([f"3. Leased Land\n{PROSE}"], sections=["notes"]) == [("note", 0, "Leased Land")]
        assert self.topics([f"Bad Harvests\n{PROSE}"], sections=["risk_factors"]) == [
            ("risk", 0, "Bad Harvests")
        ]
        moved = f"Rental Income\nRental income increased by 4%, driven by new leases. {PROSE}"
        assert self.topics([moved], sections=["mdna"]) == [("driver", 0, "Rental Income")]
        assert self.topics([f"Rental Income\n{PROSE}"], sections=["mdna"]) == [
            ("heading", 0, "Rental Income")
        ]

    @pytest.mark.parametrize(
        "line",
        [
            "Table of Contents", "Overview", "Total", "Alder Farms, Inc. and Subsidiaries", "Year Ended December 31",
            "Management’s Discussion and", "Jane Roe, Executive Vice President", "Consolidated Balance Sheets", "Rates",
            "$ 1,234 Million", "Item 7.",
        ],
    )  # fmt: skip
    def test_what_is_no_topic(self, line: str) -> None:
        assert topic_of(line) is None

    @pytest.mark.parametrize(
        ("line", "topic"),
        [
            ("Note 13 — Long-Term Debt (continued)", "Long-Term Debt"),
            ("Item 1A. Risk Factors", "Risk Factors"),
            ("(ii) Leased Land:", "Leased Land"),
            ("3.2 Goodwill and Intangibles", "Goodwill and Intangibles"),
        ],
    )
    def test_numbering_is_no_part_of_a_topic(self, line: str, topic: str) -> None:
        assert topic_of(line) == topic

    @given(st.text(max_size=80))
    def test_any_line_is_read(self, line: str) -> None:
        found = topic_of(line)
        assert found is None or found == found.strip() != ""


class TestWording:
    def test_capitals_follow_the_filing(self) -> None:
        casing = Casing(["We have long-term debt and Alder makes cider; see www.alder.com and the EPA."])
        assert casing.plain("Long-Term Debt") == casing.plain("LONG-TERM DEBT") == "long-term debt"
        assert casing.plain("Alder Makes Cider") == "Alder Makes Cider", "a name"
        assert casing.name("ALDER CIDER EPA") == "Alder Cider EPA"

    @pytest.mark.parametrize(
        ("printed", "short"),
        [("THE ALDER COMPANY, INC.", "Alder"), ("Birch & Sons plc", "Birch & Sons"), ("XYZ CORP", "XYZ")],
    )
    def test_short_names(self, printed: str, short: str) -> None:
        assert short_name(printed, Casing(["Alder"])) == short
        assert short_name("...", Casing([])) is None

    def test_the_lexicon_names_what_exists(self) -> None:
        known, found = {concept.name for concept in concepts()}, lexicon()
        assert set(found.templates) == set(TURNS) and set(found.statements) <= set(KINDS)
        assert set(found.names) <= known and all(set(used) <= known for _, used in found.ratios)
        slots = {"company", "owner", "item", "when", "before", "period", "filing", "filing_of", "in_period"}
        slots |= {"statement", "when_first", "in_period_first"}
        for templates in found.templates.values():
            assert len(set(templates)) == len(templates) >= 4
            assert all(fields(template) <= slots for template in templates)
        text = json.dumps([found.templates, found.names]).casefold()
        assert not [entry for entry in entries() if entry.company.registrant.split()[0].casefold() in text]
