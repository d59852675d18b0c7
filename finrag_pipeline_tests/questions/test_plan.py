"""Questions in many wordings: operation, measures, periods."""

from __future__ import annotations

import pytest

from finrag_pipeline.answering.open_answer import known_name
from finrag_pipeline.questions.formula_lexicon import formula_lexicon
from finrag_pipeline.questions.plan import Operation, QuestionPlan, Verdict, read_plan, share_words
from finrag_pipeline.statements.periods import FiscalPeriod

KNOWN = ("revenue", "net sales", "gross margin", "free cash flow")


def plan(question: str, *companies: str) -> QuestionPlan:
    found = read_plan(question, companies, lambda words: words.lower() in KNOWN)
    assert found is not None
    return found


def periods(found: QuestionPlan) -> list[str]:
    return [period.label for period in found.periods]


@pytest.mark.parametrize(
    ("question", "operation", "measures", "when"),
    [
        ("What were Torvex's warranty claims in fiscal 2023?", "value", ["warranty claims"], ["FY2023"]),
        ("Torvex toner sales, Q2 2023", "value", ["toner sales"], ["Q2 FY2023"]),
        ("Report Torvex's toner sales for the April to June 2023 quarter.", "value", ["toner sales"], ["3 months to 2023-06-30"]),
        ("How much did Torvex's lease debt grow from 31 May 2022 to 31 May 2023?", "change", ["lease debt"], ["2022-05-31", "2023-05-31"]),
        ("By what percent did Torvex toner sales fall in 2023 against 2022?", "growth", ["toner sales"], ["FY2022", "FY2023"]),
        ("Torvex toner sales growth, FY23 over FY22", "growth", ["toner sales"], ["FY2022", "FY2023"]),
        ("How much more did Torvex spend on toner in 2023 than the year before?", "change", ["toner"], ["FY2022", "FY2023"]),
        ("What share of Torvex's 2023 revenue came from toner?", "ratio", ["toner", "revenue"], ["FY2023"]),
        ("Torvex toner sales as a percentage of paper sales, 2023", "ratio", ["toner sales", "paper sales"], ["FY2023"]),
        ("What portion of fiscal 2023 free cash flow did Torvex put into dividends?", "ratio", ["dividends", "free cash flow"], ["FY2023"]),
        ("How many times did Torvex's 2023 toner profit cover its lease interest?", "ratio", ["toner profit", "lease interest"], ["FY2023"]),
        ("How far did Torvex's third-quarter toner sales drop from 2022 to 2023?", "change", ["toner sales"], ["Q3 FY2022", "Q3 FY2023"]),
        ("Torvex full-year toner sales, 2023", "value", ["toner sales"], ["FY2023"]),
        ("In which of the years 2022 and 2023 was Torvex's toner margin the best?", "ratio", ["toner margin"], ["FY2022", "FY2023"]),
        ("Torvex Toner minus Paper sales, 2023", "difference", ["Toner sales", "Paper sales"], ["FY2023"]),
        ("By how much did Torvex's toner sales exceed its paper sales in 2023?", "difference", ["toner sales", "paper sales"], ["FY2023"]),
        ("Add up Torvex's toner sales and paper sales for 2023.", "sum", ["toner sales", "paper sales"], ["FY2023"]),
    ],
)  # fmt: skip
def test_wordings(question: str, operation: str, measures: list[str], when: list[str]) -> None:
    found = plan(question, "Torvex")
    assert (found.operation.value, list(found.measures), periods(found)) == (operation, measures, when)


def test_all_quarters_of_a_range_are_compared() -> None:
    found = plan("In which quarter from Q3 2021 to Q2 2022 were Torvex's toner sales the lowest?", "Torvex")
    assert found.verdict is Verdict.SMALLEST
    assert periods(found) == ["Q3 FY2021", "Q4 FY2021", "Q1 FY2022", "Q2 FY2022"]


def test_a_year_in_the_name_of_a_plan_is_no_period() -> None:
    found = plan("What did Torvex charge in 2022 under its 2019 Toner Exit Plan for severance?", "Torvex")
    assert periods(found) == ["FY2022"]
    assert periods(plan("What did Torvex's 2019 Toner Exit Plan cost?", "Torvex")) == ["FY2019"]


def test_a_share_of_what_another_earns_is_one_quantity() -> None:
    found = plan("How big was Torvex's share of Zoltek's operating loss in 2022?", "Torvex")
    assert found.operation is Operation.VALUE and "loss" in found.measures[0]


def test_times_as_many_are_those_of_the_first() -> None:
    found = plan("How many times as many staff worked in Kenya as in Peru for Torvex in 2022?", "Torvex")
    assert found.operation is Operation.RATIO
    assert "Kenya" in found.measures[0] and "Peru" in found.measures[1]


def test_of_those_is_what_a_sentence_before_has_named() -> None:
    found = plan("Torvex makes granules for roof tiles. What were its sales of those in 2022?", "Torvex")
    assert {"sales", "granules", "tiles"} <= {*found.measures[0].split()}


def test_a_state_is_no_order() -> None:
    assert "state" in plan("What were Torvex's state income taxes in 2022?", "Torvex").measures[0].lower()
    assert plan("State Torvex's toner sales in 2022.", "Torvex").measures == ("toner sales",)


@pytest.mark.parametrize(
    "question",
    [
        "What percent of the increase in Torvex's toner sales came from its paper sales?",
        "By how many percent did Torvex's gross margin rise, in %?",
    ],
)
def test_what_moved_without_a_period_is_read(question: str) -> None:
    assert plan(question, "Torvex").measures


@pytest.mark.parametrize(
    "asked", ["what was", "by how much did", "what percent of", "which share of", "how many times"]
)
@pytest.mark.parametrize("moved", ["", "the change in", "the increase in", "the average", "the ratio of"])
def test_no_wording_is_an_error(asked: str, moved: str) -> None:
    ends = ("", " in 2022", " from 2021 to 2022", " than paper sales", " and paper sales, in %", " rise")
    for measure in ("toner sales", "gross margin", "that"):
        for end in ends:
            found = read_plan(f"{asked} {moved} Torvex's {measure}{end}?", ("Torvex",))
            assert found is None or all(found.measures)


def test_money_that_is_lost_is_no_change() -> None:
    assert plan("How much money did Torvex lose in 2022?", "Torvex").operation is Operation.VALUE


def test_two_parts_that_are_compared_are_not_all_parts() -> None:
    question = "By segment, how much higher was Torvex's 2022 goodwill in Toner than in Paper?"
    found = plan(question, "Torvex")
    assert found.one_of is None and found.operation is Operation.DIFFERENCE


@pytest.mark.parametrize(
    "question",
    [
        "What were Torvex's toner sales in 2021, 2022 and 2023?",
        "Lay out Torvex's toner sales year by year from 2021 to 2023.",
        "Torvex toner sales since fiscal 2021, each year through fiscal 2023?",
    ],
)
def test_a_series_asks_for_each_period(question: str) -> None:
    found = plan(question, "Torvex")
    assert found.each and found.measures == ("toner sales",)
    assert periods(found) == ["FY2021", "FY2022", "FY2023"]


@pytest.mark.parametrize(
    ("words", "years"),
    [
        ("in 2017 and 2019", [2017, 2019]),
        ("for fiscal years 2017 and 2019", [2017, 2019]),
        ("between 2017 and 2019", [2017, 2018, 2019]),
        ("from FY2017 to FY2019", [2017, 2018, 2019]),
        ("FY2017–FY2019", [2017, 2018, 2019]),
        ("for 2017 through 2019", [2017, 2018, 2019]),
        ("since 2017, year by year until 2019", [2017, 2018, 2019]),
    ],
)
@pytest.mark.parametrize(
    "asked", ["What was the average capex", "What was each year's capex", "Combined capex"]
)
def test_only_a_range_has_the_years_between(asked: str, words: str, years: list[int]) -> None:
    plan = read_plan(f"{asked} {words}")
    assert plan is not None
    assert [period.year for period in plan.periods] == years


def test_a_count_of_years_ends_with_the_year_named() -> None:
    found = plan(
        "Give me Torvex's toner sales for each of the last three fiscal years, ending with 2023.", "Torvex"
    )
    assert found.each and found.years_back == 2 and periods(found) == ["FY2023"]


@pytest.mark.parametrize(
    ("question", "operation", "verdict"),
    [
        ("Did Torvex's toner sales rise in 2023 compared with 2022?", "change", Verdict.RISE),
        ("My boss claims that Torvex's toner sales went down in 2023 against 2022. Is that true?", "change", Verdict.FALL),
        ("Were Torvex's 2023 liabilities larger than its assets?", "difference", Verdict.MORE),
        ("Did toner make up more than one third of Torvex's revenue in 2023?", "ratio", Verdict.MORE),
        ("Was Torvex's toner business profitable in 2023?", "value", Verdict.POSITIVE),
        ("Did Torvex buy any toner in 2023?", "value", Verdict.ANY),
    ],
)  # fmt: skip
def test_yes_or_no(question: str, operation: str, verdict: Verdict) -> None:
    found = plan(question, "Torvex")
    assert (found.yes_no, found.operation.value, found.verdict) == (True, operation, verdict)


def test_a_question_for_a_number_is_none_for_yes_or_no() -> None:
    assert not plan("Between May 2022 and May 2023, how much toner did Torvex buy?", "Torvex").yes_no


def test_a_choice_among_parts() -> None:
    found = plan("Which Torvex region outside Germany lost the most sales in 2023 versus 2022?", "Torvex")
    assert (found.one_of, found.left_out, found.verdict) == ("region", "Germany", Verdict.SMALLEST)
    assert found.operation is Operation.CHANGE and found.measures == ("sales",)


def test_several_companies_have_periods_of_their_own() -> None:
    found = plan(
        "Who had the higher toner sales, Torvex in fiscal 2023 or Melkor in fiscal 2022?", "Torvex", "Melkor"
    )
    assert {name: [p.label for p in own] for name, own in found.of_company.items()} == {
        "Torvex": ["FY2023"],
        "Melkor": ["FY2022"],
    }
    assert found.measures == ("toner sales",) and found.verdict is Verdict.LARGEST


def test_a_date_in_apposition_is_the_same_period() -> None:
    assert periods(plan("Torvex's toner sales in fiscal 2023 (the year ended June 3, 2023)?", "Torvex")) == [
        "12 months to 2023-06-03"
    ]
    assert periods(
        plan("Torvex toner sales, third fiscal quarter of 2023, ended June 3, 2023", "Torvex")
    ) == ["3 months to 2023-06-03"]


@pytest.mark.parametrize(
    ("question", "measure"),
    [
        ("It was the year of the flood. How much did Torvex's toner sales grow in 2023?", "toner sales"),
        ("How much money for toner did Torvex spend in 2023?", "toner"),
        ("How much did Torvex spend on toner in cash in 2023?", "toner cash"),
    ],
)
def test_an_aside_is_no_part_of_a_measure(question: str, measure: str) -> None:
    found = plan(question, "Torvex")
    assert found.measures == (measure,) and "Melkor" not in found.names


def test_what_a_company_wants_is_told_in_words() -> None:
    assert read_plan("Tell me whether Torvex wants to sell its toner business in 2023.", ("Torvex",)) is None
    assert plan("I want to know whether Torvex's toner sales rose in 2023 from 2022.", "Torvex").yes_no


def test_all_brands_in_brackets_are_the_whole() -> None:
    question = "By how much did toner sales exceed paper sales at Torvex, Inc. (all brands) in 2023?"
    found = plan(question, "Torvex, Inc")
    assert found.one_of is None and found.measures == ("toner sales", "paper sales")


def test_a_name_in_an_aside_may_be_what_is_asked_for() -> None:
    assert "Inkwell" in plan("What did Torvex, the Inkwell brand, earn from toner in 2023?", "Torvex").names


def test_a_bracket_of_known_lines_tells_only_how_a_ratio_is_taken() -> None:
    question = "Torvex gross margin 2023 (closing revenue, net sales, 365 days)"
    assert plan(question, "Torvex").measures == ("gross margin",)


def test_what_is_said_around_a_question_is_no_part_of_it() -> None:
    found = plan("My colleague wants to know how much Torvex sold in toner in 2023, please.", "Torvex")
    assert found.measures[0].split()[-1] == "toner" and set(found.measures[0].split()) <= {"sales", "toner"}


def test_names_must_be_said_by_a_row_and_abbreviations_need_not() -> None:
    found = plan("What SG&A and EPS did the Inkwell line of Torvex report per printer in 2023?", "Torvex")
    assert found.names == ("Inkwell", "printer")


def test_the_unit_looked_up() -> None:
    assert plan("What dividend per share did Torvex pay in 2023?", "Torvex").unit == "currency/share"
    assert plan("How many shares did Torvex retire in 2023?", "Torvex").unit == "shares"
    assert plan("How much did Torvex owe in 2023 on toner?", "Torvex").unit == "currency"


@pytest.mark.parametrize("text", ["", "?", "in 2023", "\x00", "the the the", "Torvex? " * 300])
def test_nothing_to_look_up_is_no_plan(text: str) -> None:
    assert read_plan(text, ("Torvex",)) is None


@pytest.mark.parametrize(
    ("question", "measure", "known"),
    [
        ("What was the organic revenue in 2023?", "organic revenue", None),
        ("Give the tuition revenue for 2023", "tuition revenue", None),
        ("Capital expenditure of pet insurance in 2023", "Capital expenditure pet insurance", None),
        ("What was the operating income of Torvex's pumps in 2023?", "operating income pumps", None),
        ("How much cash was distributed in 2023?", "cash distributed", None),
        ("How much more operating income did it squeeze out in 2023 than in 2022?", "operating income", "operating_income"),
        ("worldwide sales in 2023", "worldwide sales", "revenue"),
        ("What cash dividends were paid in 2023?", "cash dividends paid", "dividends_paid"),
    ],
)  # fmt: skip
def test_what_makes_a_line_another_is_part_of_the_measure(
    question: str, measure: str, known: str | None
) -> None:
    plan = read_plan(question, ("Torvex",))
    assert plan is not None and plan.measures == (measure,)
    assert known_name(measure, formula_lexicon()) == known


@pytest.mark.parametrize(
    ("question", "threshold"),
    [
        ("Did toner make up more than a third of Torvex's revenue in 2023?", 1 / 3),
        ("Did toner make up less than 12.5 % of revenue in 2023?", 0.125),
        ("Did Torvex's toner sales exceed $2.5 billion in 2023?", 2.5e9),
        ("Were Torvex's toner sales above 40 million in 2023?", 4e7),
        ("Were Torvex's toner sales higher in 2023 than in 2022?", None),
    ],
)
def test_a_number_that_something_is_compared_with(question: str, threshold: float | None) -> None:
    assert plan(question, "Torvex").threshold == threshold


def test_words_before_percent_of_are_one_measure_and_those_behind_another() -> None:
    found = plan("Torvex toner cost % of paper sales 2023", "Torvex")
    assert (found.operation, found.measures) == (Operation.RATIO, ("toner cost", "paper sales"))


@pytest.mark.parametrize(
    ("question", "unit"),
    [
        ("How many depots did it run in 2023?", "count"),
        ("How many dollars did the depots cost in 2023?", "currency"),
        ("How many shares were bought in 2023?", "shares"),
    ],
)
def test_how_many_asks_for_a_count_of_things(question: str, unit: str) -> None:
    plan = read_plan(question)
    assert plan is not None
    assert plan.unit == unit


def test_a_share_that_rises_is_judged_as_a_share() -> None:
    plan = read_plan("Did paper sales as a percent of total sales increase in 2023 compared to 2022?")
    assert plan is not None
    assert (plan.operation, plan.measures) == (Operation.CHANGE, ("paper sales", "sales"))
    assert plan.verdict is Verdict.RISE
    assert [period.year for period in plan.periods] == [2022, 2023]


@pytest.mark.parametrize(
    "question",
    [
        "By how much did toner sales in 2023 exceed those of the same period a year earlier?",
        "By how much did toner sales in 2023 exceed toner sales in 2022?",
        "How much more toner sales were there in 2023 than in the same stretch the year before?",
    ],
)
def test_a_quantity_beside_itself_in_another_period_is_a_change(question: str) -> None:
    found = plan(question)
    assert (found.operation, found.measures) == (Operation.CHANGE, ("toner sales",))
    assert [period.year for period in found.periods] == [2022, 2023]


def test_a_number_of_a_yes_or_no_question_is_a_threshold_whatever_the_verb() -> None:
    found = plan("Did toner sales clear $35 million in 2023?")
    assert (found.verdict, found.threshold) == (Verdict.MORE, 35e6)


def test_per_share_of_a_company_is_per_share() -> None:
    found = read_plan("What were the toner savings per share of Torvex in 2023?", ("Torvex",))
    assert found is not None and found.unit == "currency/share"


def test_quarters_without_a_year_are_kept() -> None:
    assert plan("What were toner sales in the third quarter?").quarters == (3,)
    assert plan("By how much did toner sales change between Q3 and Q4?").quarters == (3, 4)
    assert plan("What were toner sales in the third quarter of 2023?").quarters == ()


def test_the_sum_of_a_known_line_over_years_is_one_number() -> None:
    found = plan("What was the sum of net sales in 2022 and 2023?")
    assert found.operation is Operation.SUM and periods(found) == ["FY2022", "FY2023"]


def test_an_increase_in_percentage_points_since_the_year_before_is_one_change() -> None:
    found = plan(
        "What was the increase in Torvex's tax rate in percentage points, 2023 against the prior year?",
        "Torvex",
    )
    assert found.operation is Operation.CHANGE and periods(found) == ["FY2022", "FY2023"]


@pytest.mark.parametrize(
    "parts, shared",
    [
        (("Games sales", "Books"), ("Games sales", "Books sales")),
        (
            ("handling margin Inland freight", "Overseas freight"),
            ("handling margin Inland freight", "Overseas freight handling margin"),
        ),
        (("operating income toner", "paper and ink"), ("operating income toner", "operating income paper and ink")),
        (("toner", "paper net sales"), ("net sales toner", "paper net sales")),
        (("research and development", "selling expense"), ("research and development", "selling expense")),
        (("toner development", "general and administrative stuff"), ("toner development", "general and administrative stuff")),
        (("handling Foreign pre-tax income", "US pre-tax income"), ("handling Foreign pre-tax income", "US pre-tax income")),
    ],
)  # fmt: skip
def test_what_is_told_of_two_parts_may_be_said_once(parts: tuple[str, str], shared: tuple[str, str]) -> None:
    assert share_words(parts) == shared


def test_a_known_line_is_never_cut_in_two() -> None:
    assert plan("acme toner paper net sales 2022", "acme").measures == ("toner paper net sales",)


def test_the_word_ratio_names_neither_of_its_parts() -> None:
    found = plan("Compute Acme's ratio of total liabilities to total equity at June 30, 2023.", "Acme")
    assert found.operation == "ratio" and not any("ratio" in measure for measure in found.measures)


def test_a_company_whose_name_reads_like_a_period_is_none() -> None:
    assert plan("9m 2022 operating income", "9m").periods == (FiscalPeriod(2022),)
    assert plan("acme 9m 2022 operating income", "acme").periods != (FiscalPeriod(2022),)


def test_a_share_held_by_a_part_whose_name_has_small_words() -> None:
    found = plan(
        "Compute the share of Acme's total backlog at year-end 2022 held by Toner and Paper.", "Acme"
    )
    assert found.operation == "ratio" and found.measures[0] == "Toner and Paper backlog"


def test_what_gets_larger_is_asked_for_its_change() -> None:
    found = plan("How much fatter did Acme's cash pile get during 2017, in dollars?", "Acme")
    assert found.operation == "change" and found.periods == (FiscalPeriod(2017),)


def test_which_quarter_of_a_year_is_chosen_among_its_four() -> None:
    found = plan("In which quarter of fiscal 2022 did Acme sell the most?", "Acme")
    assert found.among_periods and found.verdict is Verdict.LARGEST
    assert found.periods == tuple(FiscalPeriod(2022, quarter) for quarter in (1, 2, 3, 4))


@pytest.mark.parametrize(
    ("question", "when"),
    [
        ("We have held Torvex since 1981. What were its toner sales in fiscal 2018?", ["FY2018"]),
        ("I lost sleep over Torvex's 2018. How far down was net income against 2017?", ["FY2017", "FY2018"]),
        (
            "Torvex ended 2018 badly. What were paper sales in the last three months of that year?",
            ["Q4 FY2018"],
        ),
        ("What were Torvex's paper sales in the third quarter? I mean fiscal 2019.", ["Q3 FY2019"]),
        ("How much of the full year 2019 were Torvex's paper sales in the third quarter?", ["FY2019"]),
    ],
)
def test_periods_are_those_of_the_sentence_that_asks(question: str, when: list[str]) -> None:
    assert periods(plan(question, "Torvex")) == when


def test_the_sentence_with_the_question_mark_asks() -> None:
    found = plan("How much did Torvex spend on toner in 2019? Take the cash flow statement please.", "Torvex")
    assert found.measures == ("toner",)


def test_names_of_a_story_before_the_question_are_kept_only_where_it_refers_to_them() -> None:
    story = "We drove to Nevada every spring."
    assert plan(f"{story} What were Torvex's toner sales in 2018?", "Torvex").names == ()
    assert "Nevada" in plan(f"{story} What were Torvex's toner sales in those years?", "Torvex").names


def test_what_belongs_to_a_part_is_of_that_part() -> None:
    found = plan("What was Torvex's Inks segment net income in percent of its net sales in 2018?", "Torvex")
    assert found.measures == ("Inks segment net income", "Inks net sales")


def test_a_label_said_word_for_word_is_one_measure() -> None:
    label = "short-term borrowings and current portion of long-term debt"
    question = f"Torvex: movement in {label} from 2017 to 2018."
    found = read_plan(question, ("Torvex",), label=label)
    assert found is not None
    assert (found.operation, len(found.measures)) == (Operation.CHANGE, 1)
    assert found.measures[0].startswith("short-term borrowings and current portion")


def test_a_ratio_in_per_cent_is_not_asked_for_its_growth() -> None:
    assert plan("TORVEX gross margin 4Q15, in %?", "TORVEX").operation is Operation.VALUE


def test_what_one_share_gets_is_told_per_share() -> None:
    assert (
        plan("At Torvex, what did one share bring us in dividends in 2018?", "Torvex").unit
        == "currency/share"
    )
    assert plan("What was one share of profits of Torvex in 2018?", "Torvex").unit != "currency/share"


@pytest.mark.parametrize(
    ("question", "measures"),
    [
        ("Torvex net sales by region in 2023: Europe or Asia Minor bigger?", ["Europe net sales", "Asia Minor net sales"]),
        ("Which brought Torvex more at its Harbour stores in 2023, the toner or the paper?", ["toner Harbour", "paper Harbour"]),
        ("Which was bigger for Torvex in 2023, Toner or Paper revenue?", ["Toner revenue", "Paper revenue"]),
    ],
)  # fmt: skip
def test_two_options_that_end_a_question_are_compared(question: str, measures: list[str]) -> None:
    found = plan(question, "Torvex")
    assert (found.operation, found.verdict, list(found.measures)) == (
        Operation.DIFFERENCE,
        Verdict.LARGEST,
        measures,
    )
    assert found.one_of is None


def test_what_is_only_remarked_is_not_asked() -> None:
    found = plan(
        "What was Torvex's toner profit in 2023, which I understand to be its highest ever?", "Torvex"
    )
    assert (found.measures, found.verdict) == (("toner profit",), None)


def test_by_which_i_mean_says_what_is_asked_for() -> None:
    asked = "What was Torvex's cover ratio in 2023, by which I mean toner profit divided by lease interest?"
    assert plan(asked, "Torvex").measures == ("toner profit", "lease interest")


def test_places_with_a_slash_are_no_ratio() -> None:
    found = plan("torvex china/japan toner sales 2022 2023", "torvex")
    assert (found.operation, found.measures) == (Operation.VALUE, ("china and japan toner sales",))


def test_every_dollar_that_was_rung_up_is_the_revenue() -> None:
    asked = "Out of every dollar Torvex rang up in 2023, what percentage was left over as bottom-line profit?"
    assert plan(asked, "Torvex").measures == ("bottom-line profit", "revenue")


def test_an_odd_superlative_leaves_the_direction_in_doubt() -> None:
    odd, plainly = (
        plan(f"Which quarter of 2023 was the {word} for Torvex's toner sales?", "Torvex").direction_chance
        for word in ("skinniest", "weakest")
    )
    assert odd < 0.9 < plainly
    assert plan("What were Torvex's toner sales in 2023?", "Torvex").direction_chance == 1
    neither = plan("lease interest 2023 torvex minus andrix", "torvex", "andrix")
    assert neither.verdict is Verdict.LARGEST or neither.verdict is Verdict.SMALLEST
    assert neither.direction_chance > 0.95, "each company's is told"


def test_the_code_of_a_product_is_a_name_wherever_it_stands() -> None:
    assert plan("X-22 percent of Torvex sales, 2023", "Torvex").names == ("X-22",)


@pytest.mark.parametrize(
    ("question", "measures"),
    [
        ("What were Torvex's toner sales to European customers in 2023?", ("toner sales Europe customers",)),
        ("What were Torvex's Mexican toner sales in 2023?", ("Mexico toner sales",)),
        ("What were Torvex's Norman toner sales in 2023?", ("Norman toner sales",)),
    ],
)
def test_words_made_of_a_place_are_that_place(question: str, measures: tuple[str, ...]) -> None:
    assert plan(question, "Torvex").measures == measures


def test_the_name_of_a_company_keeps_its_place() -> None:
    assert plan("What were the toner sales of Mexican Toner in 2023?", "Mexican Toner").measures == (
        "toner sales",
    )


def test_what_is_told_of_the_year_is_not_asked() -> None:
    found = plan(
        "How much did Torvex's toner stock grow in 2023, the year in which it bought Andrix?", "Torvex"
    )
    assert (found.measures, found.names) == (("toner stock",), ())
    fourth = plan(
        "Subtract nine months from the full year to obtain the toner sales of Torvex in Q4 2023.", "Torvex"
    )
    assert (fourth.measures, periods(fourth)) == (("toner sales",), ["Q4 FY2023"])


@pytest.mark.parametrize(
    ("question", "operation"),
    [
        ("How much did Torvex's toner stock shrink over 2023?", Operation.CHANGE),
        ("By what percent did Torvex's toner stock shrink over 2023?", Operation.GROWTH),
        ("How much of Torvex's goodwill sat with the Toner segment in 2023?", Operation.VALUE),
        ("Torvex toner profit % of toner sales 2023", Operation.RATIO),
        (
            "By what amount did the cash Torvex spent on toner in 2023 exceed the cash spent in 2022?",
            Operation.CHANGE,
        ),
    ],
)
def test_what_is_asked_for_by_how_it_is_said(question: str, operation: Operation) -> None:
    assert plan(question, "Torvex").operation is operation


def test_of_every_hundred_dollars_that_came_in() -> None:
    found = plan("Out of every hundred dollars Torvex took in during 2023, how many went on toner?", "Torvex")
    assert (found.operation, found.measures[1]) == (Operation.RATIO, "revenue")


def test_a_threshold_may_stand_behind_what_is_compared() -> None:
    found = plan("Were Torvex's TX-19 toner sales a billion dollars or more in 2023?", "Torvex")
    assert (found.verdict, found.threshold) == (Verdict.MORE, 1e9)


def test_what_was_left_is_what_was_told_before() -> None:
    told = "Shoppers had not used all their Torvex gift cards by 2023. What was left outstanding?"
    assert {"gift", "cards"} <= {*plan(told, "Torvex").measures[0].split()}


def test_each_of_two_parts_is_of_its_own_name() -> None:
    found = plan(
        "By how much did the toner profit of Torvex's North segment exceed that of its South segment in 2023?",
        "Torvex",
    )
    assert "North" not in found.measures[1]


def test_what_is_due_is_of_the_year_in_which_it_is() -> None:
    found = plan("As of June 30, 2023, how much of Torvex's lease debt was due in fiscal 2025?", "Torvex")
    assert periods(found) == ["FY2025"]


def test_balances_of_the_end_of_the_year_are_closing_ones() -> None:
    assert plan("torvex DSO fy23 year-end receivables", "torvex").closing


def test_a_percentage_increase_is_a_growth() -> None:
    found = plan("Torvex toner income - % increase FY2023 over FY2022.", "Torvex")
    assert found.operation is Operation.GROWTH


def test_a_place_behind_two_names_is_of_both() -> None:
    assert share_words(("Toner sales", "Paper Canada sales"))[0] == "Toner sales Canada"
    assert share_words(("Toner Mexico sales", "Paper Canada sales"))[0] == "Toner Mexico sales"


@pytest.mark.parametrize(
    ("question", "unit"),
    [
        ("For every hundred dollars of revenue at Torvex in 2023, how many came from paper?", "currency"),
        ("How many depots did Torvex have in 2023?", "count"),
    ],
)
def test_what_is_counted_of_dollars_is_money(question: str, unit: str) -> None:
    plan = read_plan(question, ("Torvex",))
    assert plan is not None and plan.unit == unit


def test_a_compound_rate_of_an_average_is_growth() -> None:
    plan = read_plan("Torvex average spend per member, 2020 to 2022: CAGR?", ("Torvex",))
    assert plan is not None and plan.operation is Operation.GROWTH and plan.compound


def test_what_is_asked_for_rather_than_something_is_not_less_it() -> None:
    asked = "What share of Torvex revenue came from leases rather than sales of trams in fiscal 2023?"
    plan = read_plan(asked, ("Torvex",))
    assert plan is not None and plan.periods == (FiscalPeriod(2023),)
    assert not any("minus" in one or "trams" in one for one in plan.measures)


@pytest.mark.parametrize(
    ("question", "operation", "when"),
    [
        ("How was Torvex's toner profit going in the four quarters of 2020?", "value", [f"Q{one} FY2020" for one in (1, 2, 3, 4)]),
        ("Torvex headcount from Q3 2021 until Q1 2022, one after the other", "value", ["Q3 FY2021", "Q4 FY2021", "Q1 FY2022"]),
        ("How many dollars did Torvex's toner sales add in 2023 versus 2022, as a growth check?", "change", ["FY2022", "FY2023"]),
        ("How much did Torvex's toner sales grow from 2022 to 2023?", "change", ["FY2022", "FY2023"]),
        ("By what percentage did Torvex's toner sales grow from 2022 to 2023?", "growth", ["FY2022", "FY2023"]),
    ],
)  # fmt: skip
def test_what_is_told_over_time(question: str, operation: str, when: list[str]) -> None:
    found = plan(question, "Torvex")
    assert (found.operation.value, periods(found)) == (operation, when)


def test_a_move_that_is_named_without_a_verb_is_no_yes_or_no() -> None:
    for asked in (
        "toner payables, increase from FY2020 to FY2021?",
        "toner debt, $ increase FY21 vs FY20 YE",
    ):
        found = plan(f"TVX: {asked}", "TVX")
        assert found.operation is Operation.CHANGE and not found.yes_no
    found = plan("Torvex toner stock up in 2018?", "Torvex")
    assert found.operation is Operation.CHANGE and found.verdict is Verdict.RISE


def test_of_every_hundred_bucks_that_were_sold() -> None:
    found = plan("Out of every hundred bucks Torvex sold in 2023, how many went to freight?", "Torvex")
    assert found.operation is Operation.RATIO and found.measures == ("freight", "revenue")


@pytest.mark.parametrize(
    ("question", "measures"),
    [
        ("It would be appreciated if the toner volume which Torvex had in 2021 could be indicated.", ("toner volume",)),
        ("Might the toner sales of Torvex in 2021 be stated?", ("toner sales",)),
        ("A mishap would explain why it looked odd. Did Torvex's toner sales come down in 2021?", ("toner sales",)),
        ("I go region by region. What were Torvex's toner sales in Kenya in 2021?", ("toner sales Kenya",)),
    ],
)  # fmt: skip
def test_what_is_said_around_a_question_is_not_asked(question: str, measures: tuple[str, ...]) -> None:
    found = plan(question, "Torvex")
    assert found.measures == measures and found.one_of is None
