from __future__ import annotations

import pytest

from finrag_pipeline.resolver.companies import Names, defined_terms, former_names, read_companies, read_name
from finrag_pipeline.resolver.resolver import Resolver
from finrag_pipeline_tests.resolver.filings import Row, row


def annual(filing: str, company: str, year: int = 2022, **more: object) -> Row:
    return row(filing, company, "10-K", year, f"{year}-12-31", **more)


def groups(rows: list[Row], covers: dict[str, str] | None = None) -> list[set[str]]:
    return [set(company.filings) for company in read_companies(rows, covers or {}).companies]


def aliases(*companies: str) -> Names:
    return read_companies([annual(f"f{i}", company) for i, company in enumerate(companies)], {})


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("THE ACME COMPANY", "Acme Co."),
        ("Acme-Widget Corp", "ACME WIDGET CORPORATION"),
        ("Müller & Söhne AG", "MULLER AND SOHNE A.G."),
        ("Acme Foods International, Inc.", "Acme Foods"),
        ("Acme P.L.C.", "ACME PLC"),
    ],
)
def test_spellings_of_a_name_are_one_company(first: str, second: str) -> None:
    assert groups([annual("a", first), annual("b", second)]) == [{"a", "b"}]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Acme Energy, Inc.", "Acme Energy North Dakota, Inc."),
        ("American Widget Co", "American Gadget Co"),
        ("First Widget Corp", "Second Widget Corp"),
    ],
)
def test_other_companies_stay_apart(first: str, second: str) -> None:
    assert len(groups([annual("a", first), annual("b", second)])) == 2


def test_symbol_file_number_former_and_declared_name_join() -> None:
    rows = [annual("a", "Widgetry, Inc.", 2020), annual("b", "Gadgetra, Inc.", 2022)]
    assert len(groups(rows)) == 2
    assert len(groups([dict(r, ticker="WDG") for r in rows])) == 1
    assert len(groups([dict(r, declared_company="Gadgetra") for r in rows])) == 1
    covers = {"a": "Commission file number 001-12345", "b": "Commission File No.: 1-12345"}
    assert len(groups(rows, covers)) == 1
    assert len(groups(rows, {"b": "Gadgetra, Inc. (formerly known as Widgetry, Inc.) reports"})) == 1
    # Somebody else's former name joins nothing.
    assert (
        len(groups(rows, {"b": "Gadgetra, Inc. bought a firm. Its customer Foo was formerly Widgetry"})) == 2
    )


def test_first_words_stand_for_a_company_only_if_distinctive() -> None:
    names = aliases(
        "Amberlyne Beauty, Inc.", "General Widgets, Inc.", "General Gadgets, Inc.", "United States Glue Co"
    )
    assert "amberlyne" in names.by_alias
    assert (
        "general" not in names.by_alias
        and "unitedstates" not in names.by_alias
        and "us" not in names.by_alias
    )


def test_people_leave_out_a_legal_form_that_is_part_of_the_word() -> None:
    names = aliases("BrembleCo, Inc.", "Disco Lights, Inc.", "Marketco")
    assert "bremble" in names.by_alias and "dis" not in names.by_alias and "market" not in names.by_alias


def test_initials_spare_the_abbreviations_of_finance() -> None:
    names = aliases("Quick Widget Zone, Inc.", "Peter Piper, Inc.", "Yarn & Zip Co", "Return Of Assets Inc")
    assert names.by_alias["qwz"][0][1].kind == "initials"
    assert {"ynz", "yz", "yaz"} <= set(names.by_alias)
    assert not {"pp", "roa"} & set(names.by_alias)


def test_a_shared_first_word_gives_both_at_a_lower_score() -> None:
    resolver = Resolver([annual("a", "Jorgensen & Sons Ltd"), annual("b", "Jorgensen Controls plc")])
    found = {
        item.filing: item.score
        for item in resolver.resolve("What was Jorgensen's revenue in FY2022?").filings
    }
    assert set(found) == {"a", "b"} and all(0 < score < 0.6 for score in found.values())
    (first, *_) = resolver.resolve("What was Jorgensen Controls' revenue in FY2022?").filings
    assert first.filing == "b" and first.score > 0.9


def test_a_name_that_is_anothers_symbol_keeps_both_in_the_running() -> None:
    resolver = Resolver(
        [annual("a", "QWZ", 2019), annual("b", "Quick Widget Zone, Inc.", 2022, ticker="QWZ")]
    )
    assert resolver.resolve("What was QWZ's revenue in FY2022?").filings[0].filing == "b"
    assert resolver.resolve("What was QWZ's revenue in FY2019?").filings[0].filing == "a"


def test_names_on_the_cover() -> None:
    name = read_name("Widgetry Holdings plc")
    assert name is not None and name.short == ("Widgetry",)
    cover = (
        'Widgetry Holdings plc ("Widgetry", "WDG" or the "Company") and the Credit Agreement (the "Facility")'
    )
    assert list(defined_terms(name, cover)) == ["Widgetry", "WDG"]
    assert list(former_names(name, "Widgetry Holdings plc, formerly known as Oldwidge Limited")) == [
        "Oldwidge Limited"
    ]
    assert list(former_names(name, "Widgetry Holdings plc (Former name or former address: N/A)")) == []
    assert read_name("...") is None and read_name("") is None


@pytest.mark.parametrize(
    "question",
    [
        "How did Actavonis Widgets do in 2022?",
        "How did Actavionis Widgtes do in 2022?",
        "What is the FY2022 margin for Actavioniss?",
    ],
)
def test_small_misspellings_are_found(question: str) -> None:
    resolver = Resolver([annual("a", "Actavionis Widgets, Inc."), annual("b", "Quick Zone, Inc.")])
    resolution = resolver.resolve(question)
    assert resolution.filings and resolution.filings[0].filing == "a"


@pytest.mark.parametrize(
    ("question", "printed"),
    [
        ("What was Acme Widgets's margin?", ("Acme Widgets",)),
        ("What was AWC's margin?", ("AWC",)),
        ("Did Zone or Acme Widgets grow?", ("Acme Widgets",)),
        ("What was the margin?", ()),
    ],
)
def test_names_are_told_as_the_question_prints_them(question: str, printed: tuple[str, ...]) -> None:
    rows = [annual("a", "Acme Widgets Corporation", declared_company="AWC"), annual("b", "Quick Zone, Inc.")]
    resolution = Resolver(rows).resolve(question)
    assert resolution.printed_names == printed
    assert len(resolution.companies) == len(printed)


@pytest.mark.parametrize(
    "question",
    [
        "acme depreciation 2018 minus good light fiscal 2019",
        "difference between acme and good light revenue 2018",
        "acme or good light sales 2018",
    ],
)
def test_everyday_words_beside_another_company_are_a_name_in_small_letters(question: str) -> None:
    resolver = Resolver([annual("a", "Acme Corporation"), annual("b", "Good Light, Inc.")])
    assert set(resolver.resolve(question).printed_names) == {"acme", "good light"}
    assert resolver.resolve("what put acme sales in good light in 2018").printed_names == ("acme",)
    longer = Resolver([annual("a", "Acme Corporation"), annual("b", "Good Light Works, Inc.")])
    found = longer.resolve("interest expense 2018 acme minus good light")
    assert found.printed_names == ("acme", "good light"), "the first words of a name"


def test_a_name_of_everyday_words_in_small_letters_goes_on_in_any_words() -> None:
    resolver = Resolver([annual("a", "Acme Corporation"), annual("b", "Good Light")])
    assert resolver.resolve("how many people worked for good light outside kenya").printed_names == (
        "good light",
    )
    assert resolver.resolve("what is the price of good light bulbs").printed_names == ()


@pytest.mark.parametrize("name", ["Activate", "Vision", "Actors", "Quickly"])
def test_other_words_are_no_misspellings(name: str) -> None:
    resolver = Resolver([annual("a", "Actavionis Widgets, Inc."), annual("b", "Quick Zone, Inc.")])
    assert resolver.resolve(f"What was {name}'s margin?").companies == ()


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("acmx sales 2022, up or down", ("acmx",)),
        ("all sales 2022", ()),
    ],
)
def test_a_symbol_in_small_letters_opens_a_search(question: str, found: tuple[str, ...]) -> None:
    rows = [annual("a", "Acme Pumps Inc.", ticker="ACMX"), annual("b", "Allied Lamps Inc.", ticker="ALL")]
    assert Resolver(rows).resolve(question).printed_names == found


def test_the_last_word_of_a_name_names_no_one_in_small_letters() -> None:
    rows = [annual("a", "Acme Wholesale Corporation"), annual("b", "Torvex Inc.")]
    assert Resolver(rows).resolve("torvex: wholesale share of sales 2022").printed_names == ("torvex",)
    assert Resolver(rows).resolve("What were the sales of Wholesale in 2022?").printed_names == ("Wholesale",)
