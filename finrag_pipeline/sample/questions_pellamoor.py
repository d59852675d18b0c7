"""Questions on Pellamoor's filings."""

from __future__ import annotations

from decimal import Decimal

from finrag_pipeline.sample.pellamoor import PELLAMOOR
from finrag_pipeline.sample.pellamoor_annual import MARGIN_REASONS
from finrag_pipeline.sample.pellamoor_books import QUARTER_2022, QUARTER_2023
from finrag_pipeline.sample.pellamoor_business import SUIT
from finrag_pipeline.sample.question import DOMAIN, METRICS, NOVEL, Question, Source, line_items
from finrag_pipeline.sample.releases import OUTLOOK, adjusted_ebitda
from finrag_pipeline.sample.words import growth, money, per_share, percent, quotient, usd_millions

_UNIT = PELLAMOOR.unit
_RELEASE = "PELLAMOOR_2023Q1_EARNINGS"
_NUMERICAL = "Numerical reasoning"


def _annual(year: int) -> str:
    return f"PELLAMOOR_{year}_10K"


def _metrics() -> list[Question]:
    y22, y23 = PELLAMOOR.years[2022], PELLAMOOR.years[2023]
    intensity = [
        Decimal(-PELLAMOOR.years[y].total("inv.capex")) * 100 / PELLAMOOR.years[y].revenue
        for y in (2021, 2022, 2023)
    ]
    stock = Decimal(y23.closing["inventories"] + y22.closing["inventories"]) / 2
    return [
        Question(
            PELLAMOOR,
            _annual(2022),
            METRICS,
            "What is the FY2022 operating cash flow ratio for Pellamoor? Operating cash flow ratio is "
            "defined as: cash from operations / total current liabilities. Round your answer to two "
            "decimal places, using the cash flow statement and the statement of financial position.",
            str(quotient(y22.operating_cash, y22.balance(PELLAMOOR.chart.current_liabilities))),
            (Source("cash_flows", "Net cash provided by operating activities"), Source("position")),
            line_items(
                ("Cash from operations", "Net cash provided by operating activities"),
                ("Total current liabilities", "Total current liabilities"),
            ),
            _NUMERICAL,
        ),
        Question(
            PELLAMOOR,
            _annual(2023),
            METRICS,
            "What is the FY2021 - FY2023 3 year average of capex as a % of revenue for Pellamoor? Answer "
            "in units of percents and round to one decimal place. Use the statement of cash flows and the "
            "statement of earnings.",
            f"{quotient(sum(intensity, Decimal(0)), 3, 1)}%",
            (Source("cash_flows", "Purchases of property and equipment"), Source("income")),
            line_items(
                ("Capital expenditures", "Purchases of property and equipment"), ("Revenue", "Net sales")
            ),
            _NUMERICAL,
        ),
        Question(
            PELLAMOOR,
            _annual(2023),
            METRICS,
            "What is Pellamoor's FY2023 inventory turnover ratio? It is defined as: FY2023 cost of goods "
            "sold / average inventory between FY2022 and FY2023. Round your answer to two decimal places, "
            "using the statement of earnings and the statement of financial position.",
            str(quotient(-y23.total("cost."), stock)),
            (Source("income"), Source("position")),
            line_items(
                ("Cost of goods sold", "Cost of goods sold and occupancy costs"),
                ("Inventories", "Merchandise inventories"),
            ),
            _NUMERICAL,
        ),
        Question(
            PELLAMOOR,
            _annual(2022),
            METRICS,
            "What is Pellamoor's FY2022 total amount of cash dividends paid (in USD millions)? Use the "
            "cash flow statement.",
            usd_millions(-y22.total("fin.dividends"), _UNIT),
            (Source("cash_flows", "Cash dividends paid"),),
            line_items(("Dividends", "Cash dividends paid")),
            "Information extraction",
        ),
    ]


def _domain() -> list[Question]:
    y22, y23 = PELLAMOOR.years[2022], PELLAMOOR.years[2023]
    quick = y23.balance(PELLAMOOR.chart.current_assets) - y23.balance(("inventories", "prepaid"))
    current = y23.balance(PELLAMOOR.chart.current_liabilities)
    ratio = quotient(quick, current)
    verdict = "No" if ratio < 1 else "Yes"
    margins = [percent(PELLAMOOR.years[y].gross_profit, PELLAMOOR.years[y].revenue) for y in (2022, 2023)]
    return [
        Question(
            PELLAMOOR,
            _annual(2023),
            DOMAIN,
            "Does Pellamoor have a reasonably healthy liquidity profile based on its quick ratio for "
            "FY2023? If the quick ratio is not relevant to measure liquidity, please state that and "
            "explain why.",
            f"{verdict}. The quick ratio was {ratio}, {'below' if ratio < 1 else 'at or above'} 1.",
            (Source("position"),),
            f"(Current assets - inventories - prepaid expenses) / current liabilities = {quick:,} / "
            f"{current:,}",
            "Logical reasoning (based on numerical reasoning)",
            "dg02",
        ),
        Question(
            PELLAMOOR,
            _annual(2023),
            DOMAIN,
            "What drove the gross margin change of Pellamoor as of FY2023? If gross margin is not a useful "
            "metric for a company like this, then please state that and explain why.",
            f"Gross margin moved from {margins[0]} to {margins[1]} of net sales because of "
            f"{MARGIN_REASONS[2023]}.",
            (Source("mdna.margin"),),
            None,
            "Information extraction",
            "dg17",
        ),
        Question(
            PELLAMOOR,
            _annual(2022),
            DOMAIN,
            "Did Pellamoor pay dividends to common shareholders in FY2022, and how much per share?",
            f"Yes, ${per_share(-y22.total('fin.dividends'), y22.basic)} per share.",
            (Source("market"),),
            None,
            "Information extraction",
            "dg11",
        ),
        Question(
            PELLAMOOR,
            _annual(2023),
            DOMAIN,
            "What became of the overtime suit of Pellamoor's former assistant managers, according to the "
            "FY2023 report?",
            SUIT[2023],
            (Source("legal"),),
            None,
            "Information extraction",
            "dg08",
        ),
    ]


def _stores(year: int) -> Question:
    now, before = PELLAMOOR.years[year].memo, PELLAMOOR.years[year - 1].memo
    return Question(
        PELLAMOOR,
        _annual(year),
        NOVEL,
        f"How many stores did Pellamoor operate at the end of fiscal {year}, and how many more was that "
        "than a year earlier?",
        f"{now['stores']} stores, {now['stores'] - before['stores']} more than at the end of fiscal "
        f"{year - 1}.",
        (Source("stores"),),
        f"{now['stores']} - {before['stores']}; {now['stores_opened']} opened and {now['stores_closed']} "
        "closed.",
    )


def _release() -> list[Question]:
    new, old = QUARTER_2023, QUARTER_2022
    outlook = "Diluted net earnings per share, before impairment"
    return [
        Question(
            PELLAMOOR,
            _RELEASE,
            NOVEL,
            "What net sales did Pellamoor report for the first quarter of fiscal 2023, and how did diluted "
            "earnings per share compare with the prior-year quarter?",
            f"Net sales were {money(new.revenue, _UNIT)} ({growth(new.revenue, old.revenue)}% growth); "
            f"diluted earnings per share were ${new.eps_diluted} against ${old.eps_diluted}.",
            (Source("release.headline"),),
        ),
        Question(
            PELLAMOOR,
            _RELEASE,
            NOVEL,
            "What range of diluted earnings per share before impairment did Pellamoor forecast for fiscal "
            "2023 in October 2022?",
            f"{OUTLOOK[outlook]} per diluted share.",
            (Source("release.outlook"),),
        ),
        Question(
            PELLAMOOR,
            _RELEASE,
            NOVEL,
            "What was Pellamoor's adjusted EBITDA in the quarter ended September 24, 2022, and how large "
            "was the difference between it and net earnings?",
            f"{money(adjusted_ebitda(new), _UNIT)}, which is "
            f"{money(adjusted_ebitda(new) - new.net_income, _UNIT)} above net earnings.",
            (Source("reconciliation"),),
        ),
    ]


def pellamoor_questions() -> list[Question]:
    """All questions on Pellamoor."""
    return [*_metrics(), *_domain(), _stores(2022), _stores(2023), *_release()]
