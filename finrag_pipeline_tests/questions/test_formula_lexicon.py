from importlib import resources

import pytest

from finrag_pipeline.questions.formula_lexicon import Formula, Line, Phrase, formula_lexicon, read_formulas


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
    assert formula_lexicon().longest(words, 0) == (len(words), name)


def test_a_phrase_is_no_part_of_a_word() -> None:
    lexicon = formula_lexicon()
    assert lexicon.longest("salesforce revenue", 0) is None
    assert lexicon.longest("cashless", 0) is None
    assert lexicon.longest("presales", 3) is None


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
        read_formulas(text)


def test_the_packaged_phrases_are_sound() -> None:
    text = resources.files("finrag_pipeline.questions").joinpath("formulas.toml").read_text("utf-8")
    assert read_formulas(text).entries == formula_lexicon().entries


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
def test_a_phrase_meets_what_its_pattern_meets(phrase: str, text: str) -> None:
    found = Phrase(phrase).match(text)
    assert found and found.group() == text
    assert Phrase(phrase).match(f"the {text}", 4)
    assert Phrase(phrase).match(f"x{text}", 1) is None
    assert Phrase(phrase).match("unrelated words") is None


def test_every_packaged_phrase_is_met_with_and_without_its_beginning() -> None:
    questions = ["what was the days sales outstanding of the group", "net revenue and capital expenditures"]
    for phrase, _ in formula_lexicon().phrases:
        for text in questions:
            for start in range(len(text)):
                whole = phrase.pattern.match(text, start)
                found = phrase.match(text, start)
                assert (found and found.span()) == (whole and whole.span())


@pytest.mark.parametrize(
    ("phrase", "texts"),
    [
        ("(net|total) revenues?", ["net revenue", "total revenues"]),
        ("(the )?cost of (sales|goods)", ["the cost of sales", "cost of goods"]),
        ("(average )?(days|weeks) on hand|dio", ["days on hand", "average weeks on hand", "dio"]),
        ("((long|short) term )?debt", ["long-term debt", "debt"]),
        ("(total |net )*sales", ["sales", "total net sales"]),
        ("([a-z]+ )?margin", ["gross margin", "margin"]),
    ],
)
def test_a_phrase_may_begin_in_several_ways(phrase: str, texts: list[str]) -> None:
    for text in texts:
        found = Phrase(phrase).match(text)
        assert found and found.group() == text
