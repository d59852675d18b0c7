"""What questions need, and the lexicon that says so."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.rankers.page_ranker.needs import INTENTS, STATEMENT_NAMES, lexicon, read_needs
from finrag_pipeline.rankers.page_ranker.outline import SECTIONS
from finrag_pipeline.rankers.page_ranker.terms import terms
from finrag_pipeline.sample.generate import entries
from finrag_pipeline.statements.concepts import lexicon as concepts
from finrag_pipeline.statements.page_evidence import KINDS

SOURCE = files("finrag_pipeline.rankers.page_ranker").joinpath("needs.toml").read_text(encoding="utf-8")
ENTRIES: list[dict[str, Any]] = tomllib.loads(SOURCE)["need"]


def names(question: str) -> set[str]:
    return {need.name for need in read_needs(question).needs}


class TestMetrics:
    @pytest.mark.parametrize(
        ("question", "need", "concept", "statement"),
        [
            ("What is the FY2021 quick ratio?", "quick_ratio", "LiabilitiesCurrent", "financial_position"),
            ("How high was capex in 2021?", "capex", "PaymentsToAcquirePropertyPlantAndEquipment", "cash_flows"),
            ("What was the gross margin?", "gross_margin", "CostOfRevenue", "income_statement"),
            ("What is the DPO?", "dpo", "AccountsPayableCurrent", "financial_position"),
            ("What is EBITDA less capex?", "ebitda", "OperatingIncomeLoss", "cash_flows"),
            ("Net PP&E at year end?", "ppe", "PropertyPlantAndEquipmentNet", "financial_position"),
            ("How large is free cash flow?", "free_cash_flow", "NetCashProvidedByUsedInOperatingActivities", "cash_flows"),
            ("What is the effective tax rate?", "effective_tax_rate", "IncomeTaxExpenseBenefit", "income_statement"),
        ],
    )  # fmt: skip
    def test_a_metric_asks_for_its_concepts_and_statements(
        self, question: str, need: str, concept: str, statement: str
    ) -> None:
        found = read_needs(question)
        assert need in names(question)
        assert concept in found.concepts()
        assert statement in found.statements()

    def test_a_longer_name_excludes_the_shorter(self) -> None:
        assert names("What is the fixed asset turnover?") == {"fixed_asset_turnover"}
        assert names("What is the inventory turnover?") == {"inventory_turnover"}
        assert names("What is the adjusted EBITDA?") == {"ebitda", "non-GAAP measure"}
        assert names("What is the value at risk?") == {"value at risk"}

    def test_a_formula_needs_the_lines_that_it_is_computed_from(self) -> None:
        (need,) = read_needs("What is the DPO?").needs
        assert need.concepts == {"AccountsPayableCurrent", "CostOfRevenue"}
        assert need.statements == {"financial_position", "income_statement"}
        assert {"payabl", "revenu"} <= set(need.terms)


class TestTopics:
    @pytest.mark.parametrize(
        ("question", "need", "section"),
        [
            ("Who are its main customers?", "customers and concentration", "business"),
            ("Which lawsuits are pending?", "legal proceedings", "legal_proceedings"),
            ("Which debt securities are registered to trade on a national securities exchange?", "registered securities", "cover"),
            ("What drove the change in operating margin?", "change and its drivers", "mdna"),
            ("Which segment grew most?", "segments", "notes"),
            ("How did shareholders vote at the annual meeting?", "votes and governance", "governance"),
            ("Does it report a material weakness?", "auditor and controls", "controls"),
            ("What are the finished goods?", "components of inventories", "notes"),
            ("What did the buildings cost?", "components of fixed assets", "notes"),
            ("How much incentive compensation was accrued?", "accrued liabilities", "notes"),
            ("How large is the backlog?", "contract balances", "notes"),
            ("How large is the valuation allowance?", "deferred taxes", "notes"),
            ("At which coupon were the senior notes sold?", "terms of debt", "notes"),
            ("How large is the allowance for doubtful accounts?", "allowances and reserves", "notes"),
            ("What was the purchase price?", "price of an acquisition", "notes"),
            ("What is owed to related parties?", "related parties", "notes"),
            ("How large are translation adjustments?", "comprehensive income", "notes"),
            ("What was the revenue in each quarter?", "quarterly results", "selected_data"),
            ("What was the cumulative total return?", "stock performance", "market_for_equity"),
            ("How much were audit fees?", "fees of the auditor", "governance"),
            ("What did subleases bring?", "leases", "notes"),
            ("How many options granted are unvested?", "share-based compensation", "notes"),
            ("What are the trade names worth?", "goodwill and impairment", "notes"),
        ],
    )  # fmt: skip
    def test_a_topic_asks_for_its_sections(self, question: str, need: str, section: str) -> None:
        found = read_needs(question)
        assert need in names(question)
        assert section in found.sections()

    def test_words_of_notes_are_not_taken_for_topics_of_the_business(self) -> None:
        assert "customers and concentration" not in names("What is the value of customer relationships?")
        assert "customers and concentration" in names("Who are the largest customers?")
        assert "employees" not in names("How are options granted to employees accounted for?")
        assert "employees" in names("How many employees does it have?")


class TestStatements:
    @pytest.mark.parametrize(
        ("text", "kind"),
        [
            ("as shown in the P&L statement", "income_statement"),
            ("in the Income Statement", "income_statement"),
            ("the statement of operations", "income_statement"),
            ("on the balance sheet", "financial_position"),
            ("its statement of financial position", "financial_position"),
            ("the cash flow statement", "cash_flows"),
            ("its statements of consolidated cash flows", "cash_flows"),
            ("the statement of changes in stockholders’ equity", "equity"),
            ("its statement of comprehensive income", "comprehensive_income"),
        ],
    )
    def test_a_statement_that_is_named_counts_alone(self, text: str, kind: str) -> None:
        found = read_needs(f"What was revenue after capex, {text}?")
        assert found.named == found.statements() == {kind}
        assert {"Revenues", "PaymentsToAcquirePropertyPlantAndEquipment"} <= found.concepts()

    def test_without_a_name_those_of_the_needs(self) -> None:
        found = read_needs("What was revenue after capex?")
        assert found.named == frozenset()
        assert found.statements() == {"income_statement", "cash_flows"}


class TestWords:
    def test_how_to_answer_says_nothing_about_the_page(self) -> None:
        plain = read_needs("What was the inventory of paint?")
        framed = read_needs(
            "What was the inventory of paint? Answer in USD millions. Please base your judgment on the line items"
            " of the balance sheet."
        )
        assert framed.words == plain.words == ("inventori", "paint")
        # The statement is named in the frame, and counts.
        assert framed.named == {"financial_position"}

    def test_a_question_that_is_all_frame_is_kept(self) -> None:
        question = "Calculate inventory in USD millions."
        assert "inventori" in read_needs(question).words

    @pytest.mark.parametrize(
        "question",
        [
            "What is the inventory of paint in the 10-K?",
            "What is the inventory of paint in the annual report?",
            "In its 2019 filing: what is the inventory of paint?",
            "In Alder's filing, what is the inventory of paint?",
            "What is the value of the inventory of paint?",
            "What is the inventory of paint in 2019 and 2020 respectively?",
            "What is the average inventory of paint for 2019 and 2020?",
        ],
    )
    def test_the_document_and_what_to_do_with_figures_say_nothing_about_the_page(self, question: str) -> None:
        assert read_needs(question, frozenset({"alder"})).words == ("inventori", "paint")

    @pytest.mark.parametrize(
        ("question", "word"),
        [
            ("What is the fair value of the swaps?", "valu"),
            ("What is the average price of paint?", "averag"),
            ("What is the weighted average rate in 2019 and 2020?", "averag"),
            ("When did it file for bankruptcy?", "file"),
            ("What is paint as a percentage of sales?", "percentag"),
        ],
    )
    def test_words_of_lines_are_kept(self, question: str, word: str) -> None:
        assert word in read_needs(question).words

    def test_companies_and_periods_say_nothing_about_the_page(self) -> None:
        found = read_needs(
            "What did Alder spend on warehouses in Q2 of FY2021 and fiscal year 2020?", frozenset({"alder"})
        )
        assert found.words == ("spend", "warehous")
        assert found.years == (2020, 2021)
        dated = read_needs(
            "What did Alder spend on paint in the six months ended June 30, 2021?", frozenset({"alder"})
        )
        assert dated.words == ("spend", "paint")

    @pytest.mark.parametrize(
        ("text", "years"),
        [
            ("FY22", (2022,)),
            ("fy'19", (2019,)),
            ("FY2021 to FY2023", (2021, 2022, 2023)),
            ("12021", ()),
            ("$2,020", ()),
        ],
    )
    def test_years(self, text: str, years: tuple[int, ...]) -> None:
        assert read_needs(f"revenue {text}").years == years

    def test_a_company_of_many_words(self) -> None:
        company = frozenset(terms("Johnson & Birch Holdings"))
        assert read_needs("What is the revenue of Johnson & Birch?", company).words == ("revenu",)

    def test_a_question_that_meets_no_need_has_its_own_words_alone(self) -> None:
        found = read_needs("Who painted the ceiling?")
        assert found.needs == () and found.expansion() == () and found.head() == ()
        assert found.words == ("paint", "ceil")
        assert not (found.statements() or found.concepts() or found.sections())

    @given(st.text(max_size=400))
    def test_any_text(self, question: str) -> None:
        found = read_needs(question)
        assert found.words == tuple(word for word in found.words if word)
        assert found.named <= set(KINDS) and found.intents <= set(INTENTS)


class TestIntents:
    @pytest.mark.parametrize(
        ("question", "intent"),
        [
            ("What drove the rise?", "driver"),
            ("Did margins improve versus 2020?", "change"),
            ("Which region is the largest?", "extreme"),
            ("How much cash is there?", "amount"),
            ("Which products were sold?", "list"),
            ("Is the company capital-intensive?", "yes_no"),
            ("What is the 3-year average?", "ratio"),
            ("Working capital is defined as current assets less current liabilities", "definition"),
        ],
    )
    def test_kinds_of_question(self, question: str, intent: str) -> None:
        assert intent in read_needs(question).intents

    def test_a_question_in_the_middle_is_no_yes_or_no(self) -> None:
        assert "yes_no" not in read_needs("What is it?").intents


class TestLexicon:
    def test_fields_are_those_that_are_explained(self) -> None:
        known = {"name", "patterns", "not", "concepts", "statements", "sections", "terms", "head"}
        explained = set(re.findall(r"^#   (\w+) {2,}", SOURCE, re.MULTILINE))
        assert explained == known
        assert {field for entry in ENTRIES for field in entry} <= known

    def test_names_are_unique_and_every_entry_asks_for_something(self) -> None:
        assert len({entry["name"] for entry in ENTRIES}) == len(ENTRIES) == len(lexicon())
        for entry in ENTRIES:
            assert set(entry) & {"statements", "sections"}, entry["name"]

    def test_concepts_statements_and_sections_exist(self) -> None:
        known = {concept.name for concept in concepts()}
        assert set(STATEMENT_NAMES) == set(KINDS)
        for need in lexicon():
            assert need.concepts <= known, need.name
            assert need.statements <= set(KINDS), need.name
            assert need.sections <= set(SECTIONS), need.name

    def test_the_statements_of_a_need_hold_its_concepts(self) -> None:
        places: dict[str, set[str]] = {}
        for concept in concepts():
            places.setdefault(concept.name, set()).update(concept.statements)
        for need in lexicon():
            held = {statement for concept in need.concepts for statement in places[concept]}
            assert not need.statements or need.statements & held, need.name

    def test_patterns_are_of_lower_case_as_the_question_is(self) -> None:
        for entry in ENTRIES:
            for pattern in (*entry["patterns"], entry.get("not", "")):
                assert not re.search(r"[A-Z]", re.sub(r"\\[BDSW]", "", pattern)), (entry["name"], pattern)

    def test_no_entry_is_about_a_company(self) -> None:
        """Names are metrics and topics in lower case; what is capitalised is an abbreviation of accounting."""
        for entry in ENTRIES:
            capitals = re.findall(r"\b\w*[A-Z]\w*\b", entry["name"])
            assert set(capitals) <= {"GAAP", "EBIT", "EBITDA"}, entry["name"]
            for field in ("terms", "head"):
                assert entry.get(field, "").islower() or field not in entry, entry["name"]
        companies = {word for sample in entries() for word in terms(sample.company.name)}
        companies -= {"inc", "corpor", "compani", "group", "hold", "plc", "ltd", "foods", "food", "energi"}
        assert companies
        for company in companies:
            assert not re.search(rf"\b{re.escape(company)}", SOURCE.lower()), company
