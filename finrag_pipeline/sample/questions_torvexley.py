"""Questions on Torvexley's filings."""

from __future__ import annotations

from decimal import Decimal

from finrag_pipeline.sample.question import DOMAIN, METRICS, NOVEL, Question, Source, line_items
from finrag_pipeline.sample.torvexley import TORVEXLEY
from finrag_pipeline.sample.torvexley_annual import COVER, MARGIN_REASONS, TAX_REASONS, margin
from finrag_pipeline.sample.torvexley_books import HALF_2022, HALF_2023, SECOND_2022, SECOND_2023
from finrag_pipeline.sample.torvexley_business import SEGMENTS, TARGET, acquisition_price
from finrag_pipeline.sample.torvexley_interim import CLOSURE_COST, NEW_PRESIDENT
from finrag_pipeline.sample.words import day, growth, joined, money, percent, quotient, usd_millions

_UNIT = TORVEXLEY.unit
_EXTRACTION, _NUMERICAL, _LOGICAL = (
    "Information extraction",
    "Numerical reasoning",
    "Logical reasoning (based on numerical reasoning)",
)
_CURRENT = "TORVEXLEY_2022_8K_dated-2022-11-03"
_QUARTERLY = "TORVEXLEY_2023Q2_10Q"


def _ask(
    filing: str,
    kind: str,
    text: str,
    answer: str,
    *sources: Source,
    why: str | None = None,
    reasoning: str | None = None,
    domain: str | None = None,
) -> Question:
    return Question(TORVEXLEY, filing, kind, text, answer, sources, why, reasoning, domain)


def _annual(year: int) -> str:
    return f"TORVEXLEY_{year}_10K"


def _same_question_every_year() -> list[Question]:
    """Questions that differ between two annual reports in nothing but the year."""
    asked = []
    for year in (2022, 2023):
        now, before = TORVEXLEY.years[year], TORVEXLEY.years[year - 1]
        rates = [percent(-p.total("tax."), p.pretax) for p in (before, now)]
        grown = {key: growth(now.total(f"revenue.{key}"), before.total(f"revenue.{key}")) for key in SEGMENTS}
        best = max(grown, key=lambda key: grown[key])
        asked += [
            _ask(
                _annual(year),
                METRICS,
                f"What is the FY{year} capital expenditure amount (in USD millions) for Torvexley? Answer "
                "by relying on the details shown in the cash flow statement.",
                usd_millions(-now.total("inv.capex"), _UNIT),
                Source("cash_flows", "Capital expenditures"),
                why=line_items(("Capital expenditures", "Capital expenditures")),
                reasoning=_EXTRACTION,
            ),
            _ask(
                _annual(year),
                DOMAIN,
                f"How much has the effective tax rate of Torvexley changed between FY{year - 1} and "
                f"FY{year}, and why?",
                f"It changed from {rates[0]} in FY{year - 1} to {rates[1]} in FY{year}, due to "
                f"{TAX_REASONS[year]}.",
                Source("mdna.taxes"),
                reasoning=_NUMERICAL,
                domain="dg19",
            ),
            _ask(
                _annual(year),
                NOVEL,
                f"Which of Torvexley's segments had the highest sales growth in FY{year}?",
                f"{SEGMENTS[best]}, whose sales grew by {grown[best]}%.",
                Source("segments"),
                why="; ".join(f"{SEGMENTS[key]}: {value}%" for key, value in grown.items()),
            ),
        ]
    return asked


def _metrics() -> list[Question]:
    y22, y23 = TORVEXLEY.years[2022], TORVEXLEY.years[2023]
    average = Decimal(y23.closing["ppe"] + y22.closing["ppe"]) / 2
    kept = Decimal(1) + Decimal(y22.total("fin.dividends")) / y22.net_income
    return [
        _ask(
            _annual(2022),
            METRICS,
            "What is the year end FY2022 net PPNE for Torvexley? Answer in USD millions, using the balance "
            "sheet.",
            usd_millions(y22.closing["ppe"], _UNIT),
            Source("position"),
            why=line_items(("Net PP&E", "Property, plant and equipment, net")),
            reasoning=_EXTRACTION,
        ),
        _ask(
            _annual(2023),
            METRICS,
            "What is the FY2023 fixed asset turnover ratio for Torvexley? Fixed asset turnover ratio is "
            "defined as: FY2023 revenue / (average PP&E between FY2022 and FY2023). Round your answer to "
            "two decimal places. Base your judgments on the statement of income and the balance sheet.",
            str(quotient(y23.revenue, average)),
            Source("income"),
            Source("position"),
            why=line_items(("Revenue", "Net sales"), ("PP&E, net", "Property, plant and equipment, net")),
            reasoning=_NUMERICAL,
        ),
        _ask(
            _annual(2022),
            METRICS,
            "What is the FY2022 retention ratio (using total cash dividends paid and net income) for "
            "Torvexley? Round the answer to two decimal places. Use the cash flow statement and the income "
            "statement.",
            str(quotient(kept, 1)),
            Source("income"),
            Source("cash_flows", "Dividends paid"),
            why=line_items(
                ("Dividends paid", "Dividends paid to shareholders"), ("Net income", "Net income")
            ),
            reasoning=_NUMERICAL,
        ),
    ]


def _annual_narrative() -> list[Question]:
    y21, y22 = TORVEXLEY.years[2021], TORVEXLEY.years[2022]
    due = [i for i in TORVEXLEY.outstanding(2022) if i.due == 2024]
    facts = COVER[2022]
    verb = "fell" if y22.gross_profit * y21.revenue < y21.gross_profit * y22.revenue else "improved"
    return [
        _ask(
            _annual(2022),
            DOMAIN,
            "Does Torvexley have an improving gross margin profile as of FY2022? If gross margin is not a "
            "useful metric for a company like this, then state that and explain why.",
            f"Gross margin {verb} from {margin(y21)} in FY2021 to {margin(y22)} in FY2022, as "
            f"{MARGIN_REASONS[2022]}.",
            Source("mdna.margin"),
            reasoning=_LOGICAL,
            domain="dg01",
        ),
        _ask(
            _annual(2022),
            DOMAIN,
            "As of the end of FY2022, what principal of Torvexley's debt falls due in 2024, and which "
            "notes are these?",
            f"{money(sum(i.principal for i in due), _UNIT)}: the {joined([i.name for i in due])}.",
            Source("note.maturities"),
            Source("note.debt"),
            reasoning=_EXTRACTION,
            domain="dg10",
        ),
        _ask(
            _annual(2022),
            NOVEL,
            f"How many shares of Torvexley common stock were outstanding as of {day(facts.shares_on)}?",
            f"{facts.shares:,} shares.",
            Source("cover.shares"),
        ),
        _ask(
            _annual(2022),
            NOVEL,
            f"How much goodwill did Torvexley record when it acquired {TARGET}, and what share of the "
            "purchase price was that?",
            f"{money(y22.total('inv.acq.goodwill'), _UNIT)}, or "
            f"{percent(-y22.total('inv.acq.goodwill'), acquisition_price())} of the price.",
            Source("note.acquisition"),
        ),
    ]


def _interim() -> list[Question]:
    backlog = HALF_2023.memo["backlog"]
    return [
        _ask(
            _QUARTERLY,
            DOMAIN,
            "Which securities of Torvexley are registered to trade on a national securities exchange, and "
            "under which symbol, as of Q2 of 2023?",
            f"{TORVEXLEY.par}, trading symbol {TORVEXLEY.ticker}, on the {TORVEXLEY.exchange}.",
            Source("cover.securities"),
            reasoning=_EXTRACTION,
            domain="dg20",
        ),
        _ask(
            _QUARTERLY,
            NOVEL,
            "What total charges does Torvexley expect from closing the Marrowick foundry, and how much of "
            "it was recorded in the first half of 2023?",
            f"It expects {CLOSURE_COST}, of which {money(HALF_2023.total('opex.restructuring'), _UNIT)} "
            "were recorded in the first half.",
            Source("mdna.restructuring"),
        ),
        _ask(
            _QUARTERLY,
            NOVEL,
            "By how much did Torvexley's backlog at June 30, 2023 exceed that of a year before?",
            f"By {growth(backlog, HALF_2022.memo['backlog'])}%, to {money(backlog, _UNIT)}.",
            Source("mdna.backlog"),
        ),
        _ask(
            _QUARTERLY,
            METRICS,
            "What was Torvexley's operating income in Q2 of 2023 (in USD millions), and how did it change "
            "against Q2 of 2022? Use the income statement.",
            f"{usd_millions(SECOND_2023.operating_income, _UNIT)}, a change of "
            f"{growth(SECOND_2023.operating_income, SECOND_2022.operating_income)}%.",
            Source("income"),
            why=line_items(("Operating income", "Operating income")),
            reasoning=_NUMERICAL,
        ),
        _ask(
            _CURRENT,
            NOVEL,
            f"What price did Torvexley pay at closing for {TARGET}, and how was it financed?",
            f"{money(acquisition_price(), _UNIT)} net of cash acquired, from the proceeds of "
            f"{next(i.name for i in TORVEXLEY.instruments if i.issued == 2022)}.",
            Source("item.acquisition"),
            Source("item.obligation"),
        ),
        _ask(
            _CURRENT,
            NOVEL,
            f"Who became president of Torvexley's Water Systems segment when {TARGET} was acquired?",
            f"{NEW_PRESIDENT}.",
            Source("item.officers"),
        ),
        _ask(
            _CURRENT,
            NOVEL,
            "What is the date of the earliest event that Torvexley's current report on its acquisition "
            "covers?",
            "November 3, 2022.",
            Source("cover.date"),
        ),
    ]


def torvexley_questions() -> list[Question]:
    """All questions on Torvexley."""
    return [*_same_question_every_year(), *_metrics(), *_annual_narrative(), *_interim()]
