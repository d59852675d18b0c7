import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from finrag_pipeline.errors import UsageError
from finrag_pipeline.questions.formula_lexicon import (
    Formula,
    Line,
    formula_lexicon,
    needed_word,
    read_formulas,
)
from finrag_pipeline.settings import get_settings
from finrag_pipeline_tests.answering.made_facts import calculator


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("capital expenditures", "capex"),
        ("capex", "capex"),
        ("purchases of property, plant and equipment", "capex"),
        ("net sales", "revenue"),
        ("cogs", "cost_of_revenue"),
        ("net ppne", "ppe"),
        ("pp&e", "ppe"),
        ("fixed asset turnover ratio", "fixed_asset_turnover"),
        ("days sales outstanding (dso)", "dso"),
        ("cash flow from operating activities", "operating_cash_flow"),
        ("net income attributable to shareholders", "net_income"),
        ("unadjusted ebitda", "ebitda"),
        ("quick ratio", "quick_ratio"),
        ("total cash dividends paid", "dividends_paid"),
        ("selling and administrative expense", "sga"),
        ("depreciation", "depreciation"),
        ("depreciation and amortization", "depreciation_and_amortization"),
        ("total current assets", "current_assets"),
        ("debt-to-equity ratio", "debt_to_equity"),
        ("total equity", "total_equity"),
    ],
)
def test_words_and_what_they_mean(words: str, name: str) -> None:
    assert formula_lexicon().longest(words)[0] == (len(words), name)


def test_a_phrase_is_no_part_of_a_word() -> None:
    lexicon = formula_lexicon()
    assert list(lexicon.longest("salesforce revenue")) == [11]
    assert lexicon.longest("cashless presales") == {}


def test_a_text_names_lines_and_formulas_by_their_longest_phrases() -> None:
    named = formula_lexicon().named("fixed asset turnover, and presales less net sales")
    assert named == {"fixed_asset_turnover": "fixed asset turnover", "revenue": "net sales"}


def test_the_lines_of_a_formula_are_those_that_it_is_computed_from() -> None:
    lexicon = formula_lexicon()
    assert [line.name for line in lexicon.lines_of("dso")] == ["receivables", "revenue"]
    assert [line.name for line in lexicon.lines_of("revenue")] == ["revenue"]


def test_every_formula_has_a_unit_and_every_line_a_statement() -> None:
    for entry in formula_lexicon().entries.values():
        assert (isinstance(entry, Line) and entry.statements) or (isinstance(entry, Formula) and entry.unit)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            '[[line]]\nname = "a"\nlabel = "A"\nphrases = []\nconcepts = ["NoSuch"]\nstatements = []',
            "unknown concept",
        ),
        (
            '[[formula]]\nname = "a"\nlabel = "A"\nphrases = []\nformula = "b"\nunit = "ratio"',
            "unknown names: b",
        ),
        ('[[formula]]\nname = "a"\nlabel = "A"\nphrases = []\nformula = "1 +"\nunit = "ratio"', "no formula"),
        ('[[formula]]\nname = "a"\nlabel = "A"\nphrases = []\nformula = "a"\nunit = "ratio"', "by itself"),
        (
            '[[formula]]\nname = "a"\nlabel = "A"\nphrases = ["("]\nformula = "1"\nunit = "ratio"',
            "PatternError|error",
        ),
        ('[[formula]]\nname = "a"\nlabel = "A"\nformula = "1"\nunit = "metres"', "unknown unit"),
        ('[[formula]]\nname = "a"\nlabel = "A"\nformula = "1"\nunit = "ratio"\nwhat = 1', "unknown field"),
        ('[[formula]]\nname = "B b"\nlabel = "A"\nformula = "1"\nunit = "ratio"', "no name"),
    ],
)
def test_malformed_entries_are_named(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_formulas("", text)


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("days? sales outstanding", "day sales outstanding"),
        ("days? sales outstanding", "days-sales outstanding"),
        ("(net )?sales", "net sales"),
        ("(net )?sales", "sales"),
        ("ebit|operating profit", "operating profit"),
        ("capex", "capex"),
        ("(cash|operating) flow", "cash flow"),
        ("re[- ]?order", "re-order"),
    ],
)
def test_a_space_of_a_phrase_is_spaces_or_hyphens(phrase: str, text: str) -> None:
    line = f'[[line]]\nname = "a"\nlabel = "A"\nphrases = ["{phrase}"]\nconcepts = []\nstatements = []'
    lexicon = read_formulas(line)
    assert lexicon.longest(f"the {text}")[4] == (4 + len(text), "a")
    assert 1 not in lexicon.longest(f"x{text}")
    assert lexicon.longest("unrelated words") == {}


OWN = """
[[formula]]
name = "cash_conversion"
label = "Cash conversion"
phrases = ["cash conversion( rate)?"]
formula = "operating_cash_flow / net_income"
unit = "percent"

[[label]]
label = "Film library"
line = "inventory"
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A user's definitions, as the settings name them."""
    path = tmp_path / "own.toml"
    path.write_text(OWN)
    monkeypatch.setenv("FINRAG_DEFINITIONS", str(path))
    get_settings.cache_clear()
    yield path
    monkeypatch.undo()
    get_settings.cache_clear()


def test_metrics_and_labels_of_ones_own_answer_and_are_read_again_when_they_change(own: Path) -> None:
    asked = calculator()
    found = asked.answer("What was Zoltek's cash conversion rate in FY2021?")
    assert (found.answer, found.formula) == (
        "137.8%",
        "cash_conversion@2021 = operating_cash_flow / net_income",
    )
    assert asked.answer("What were Zoltek's inventories in FY2021?").value == 33.0, (
        "the label that was mapped"
    )
    own.write_text(OWN.replace("operating_cash_flow / net_income", "net_income / operating_cash_flow"))
    os.utime(own, ns=(1, 1))
    assert asked.answer("What was Zoltek's cash conversion rate in FY2021?").answer == "72.6%"
    own.write_text(OWN.partition("[[label]]")[0])
    assert asked.answer("What were Zoltek's inventories in FY2021?").value == 200.0


def test_a_formula_of_ones_own_takes_the_place_of_that_name(own: Path) -> None:
    own.write_text(
        '[[formula]]\nname = "ebitda"\nlabel = "EBITDA"\nformula = "operating_income"\nunit = "currency"\n'
    )
    assert calculator().answer("What was Zoltek's EBITDA in FY2021?").value == 330.0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[[formula]\n", "Expected"),
        ('[[metric]]\nname = "x"\n', r"no \[\[metric\]\]"),
        (
            '[[formula]]\nname = "x"\nlabel = "X"\nformula = "nothing / 2"\nunit = "ratio"\n',
            "unknown names: nothing",
        ),
        ('[[formula]]\nname = "x"\nlabel = "X"\nformula = "revenue"\nunit = "dogs"\n', "unknown unit 'dogs'"),
        ('[[label]]\nlabel = "Net takings"\nline = "takings"\n', "give a printed 'label'"),
        (None, "No such file"),
    ],
)
def test_definitions_that_are_wrong_are_named_with_their_file(
    own: Path, text: str | None, reason: str
) -> None:
    own.unlink() if text is None else own.write_text(text)
    with pytest.raises(UsageError, match=reason) as caught:
        formula_lexicon()
    assert str(own) in caught.value.reason and "FINRAG_DEFINITIONS" in caught.value.remedy


@pytest.mark.parametrize(
    ("phrase", "word"),
    [
        ("days? sales outstanding", "outstanding"),
        ("(net )?sales", "sales"),
        ("costs? of (goods|products) sold", "cost"),
        ("ebit|operating profit", ""),
        ("(cash|operating) flow", "flow"),
        ("d ?& ?a", "d"),
        ("losse?s \\\\(net\\\\)", "loss"),
    ],
)
def test_a_word_that_every_match_of_a_phrase_has(phrase: str, word: str) -> None:
    assert needed_word(phrase) == word


def test_what_is_shipped_compiles_and_needs_no_word_that_its_own_names_lack() -> None:
    lexicon = formula_lexicon()
    for phrase in lexicon.phrases:
        assert phrase.pattern.pattern
    texts = [entry.label.lower() for entry in lexicon.entries.values()]
    for text in texts:
        by_all = {one.name for one in lexicon.phrases if one.pattern.search(text)}
        assert by_all == {one.name for one in lexicon.phrases if one.search(text)}
