"""Questions on Sundrevale's filings, one of which is there only as text of its pages."""

from __future__ import annotations

from decimal import Decimal

from finrag_pipeline.sample.question import DOMAIN, METRICS, NOVEL, Question, Source, line_items
from finrag_pipeline.sample.releases import non_gaap_income
from finrag_pipeline.sample.sundrevale import SUNDREVALE
from finrag_pipeline.sample.sundrevale_annual import subscription_margin
from finrag_pipeline.sample.sundrevale_books import QUARTER_2023
from finrag_pipeline.sample.words import money, percent, quotient, usd_millions

_UNIT = SUNDREVALE.unit
_ANNUAL = "SUNDREVALE_2022_10K"
_RELEASE = "SUNDREVALE_2023Q1_EARNINGS"


def sundrevale_questions() -> list[Question]:
    """All questions on Sundrevale."""
    y20, y21, y22 = (SUNDREVALE.years[y] for y in (2020, 2021, 2022))
    yearly = ((Decimal(y22.revenue) / y20.revenue).sqrt() - 1) * 100
    subscription = y22.total("revenue.subscription")
    return [
        Question(
            SUNDREVALE,
            _ANNUAL,
            METRICS,
            "What is Sundrevale's 2 year total revenue CAGR from FY2020 to FY2022 (in units of percents "
            "and round to one decimal place)? Use the statement of operations.",
            f"{quotient(yearly, 1, 1)}%",
            (Source("income"),),
            line_items(("Total revenue", "Total revenue")),
            "Numerical reasoning",
        ),
        Question(
            SUNDREVALE,
            _ANNUAL,
            METRICS,
            "What is the year end FY2022 deferred revenue of Sundrevale, in USD millions? Refer to the "
            "balance sheet.",
            usd_millions(y22.closing["deferred_revenue"], _UNIT),
            (Source("position"),),
            line_items(("Deferred revenue", "Deferred revenue")),
            "Information extraction",
        ),
        Question(
            SUNDREVALE,
            _ANNUAL,
            DOMAIN,
            "Are there any product or service categories that represent more than 20% of Sundrevale's "
            "revenue for FY2022?",
            f"Yes, subscriptions, which made up {percent(subscription, y22.revenue, 0)} of total revenue.",
            (Source("income"),),
            f"{subscription:,} / {y22.revenue:,}",
            "Numerical reasoning",
            "dg14",
        ),
        Question(
            SUNDREVALE,
            _ANNUAL,
            NOVEL,
            "What was Sundrevale's net retention rate at the end of FY2022, and how many customers had "
            "contracts above $100,000?",
            f"{y22.memo['retention']}%; {y22.memo['large_customers']} customers.",
            (Source("business.customers"), Source("mdna.metrics")),
        ),
        Question(
            SUNDREVALE,
            _ANNUAL,
            NOVEL,
            "How did the gross margin on Sundrevale's subscriptions change from FY2021 to FY2022?",
            f"It moved from {subscription_margin(y21)} to {subscription_margin(y22)}.",
            (Source("mdna.margin"),),
        ),
        Question(
            SUNDREVALE,
            _RELEASE,
            NOVEL,
            "What was Sundrevale's non-GAAP income from operations in Q1 of 2023, and which items lie "
            "between it and the GAAP loss from operations?",
            f"{money(non_gaap_income(QUARTER_2023), _UNIT)}; the GAAP loss of "
            f"{money(QUARTER_2023.operating_income, _UNIT)} is adjusted for stock-based compensation "
            f"({money(QUARTER_2023.total('adj.sbc'), _UNIT)}), amortization of intangible assets "
            f"({money(QUARTER_2023.total('adj.amortization'), _UNIT)}) and restructuring "
            f"({money(QUARTER_2023.total('opex.restructuring'), _UNIT)}).",
            (Source("release.operating"), Source("reconciliation")),
        ),
    ]
