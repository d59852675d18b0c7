"""Earnings releases: Pellamoor's first quarter of fiscal 2023 and Sundrevale's first quarter of 2023."""

from __future__ import annotations

from finrag_pipeline.sample.annual_report import FICTITIOUS
from finrag_pipeline.sample.company import Company, lines
from finrag_pipeline.sample.content import (
    Block,
    Document,
    Figures,
    Heading,
    Line,
    PageBreak,
    Ruled,
    RuleLine,
    Text,
)
from finrag_pipeline.sample.ledger import Period
from finrag_pipeline.sample.pellamoor import PELLAMOOR
from finrag_pipeline.sample.pellamoor_books import QUARTER_2022 as FOOD_BEFORE
from finrag_pipeline.sample.pellamoor_books import QUARTER_2023 as FOOD_NOW
from finrag_pipeline.sample.pellamoor_business import CATEGORIES, tenths
from finrag_pipeline.sample.sundrevale import SUNDREVALE
from finrag_pipeline.sample.sundrevale_books import QUARTER_2022 as SOFT_BEFORE
from finrag_pipeline.sample.sundrevale_books import QUARTER_2023 as SOFT_NOW
from finrag_pipeline.sample.words import cell, growth, money, moved, percent, word

OUTLOOK = {
    "Net sales": "$3.25 billion to $3.31 billion",
    "Growth of comparable store sales": "3.0% to 4.0%",
    "Diluted net earnings per share, before impairment": "$1.55 to $1.68",
    "Capital expenditures": "$130 million to $145 million",
    "Store openings": "9 to 11",
}


def _statements(
    company: Company,
    now: Period,
    before: Period,
    year_end: Period,
    dates: tuple[str, str],
    columns: tuple[str, str],
    span: str,
) -> list[Block]:
    def title(name: str) -> tuple[str, str]:
        return company.registrant, f"{name.upper()} (UNAUDITED)"

    return [
        PageBreak(),
        Figures(
            lines(company.income.rows, [now, before]),
            columns,
            ((span, 2),),
            title(company.income.title),
            company.note,
            "income",
        ),
        PageBreak(),
        Figures(
            lines(company.position.rows, [now, year_end]),
            dates,
            (),
            title(company.position.title),
            company.note,
            "position",
        ),
        PageBreak(),
        Figures(
            lines(company.cash_flows.rows, [now, before]),
            columns,
            ((span, 2),),
            title(company.cash_flows.title),
            company.note,
            "cash_flows",
        ),
    ]


def adjusted_ebitda(period: Period) -> int:
    """Pellamoor's measure: EBITDA before share awards, pre-opening expenses and impairment."""
    return (
        period.net_income
        - period.total("tax.", "other.", "opex.preopening", "opex.impairment")
        + period.total("adj.depreciation", "adj.sbc")
    )


def _food_reconciliation() -> Figures:
    periods = (FOOD_NOW, FOOD_BEFORE)
    rows = [
        ("Net earnings", [p.net_income for p in periods]),
        ("Income tax expense", [-p.total("tax.") for p in periods]),
        ("Interest expense, net of interest income", [-p.total("other.") for p in periods]),
        ("Depreciation and amortization", [p.total("adj.depreciation") for p in periods]),
        ("Share-based compensation expense", [p.total("adj.sbc") for p in periods]),
        ("Pre-opening expenses", [-p.total("opex.preopening") for p in periods]),
        ("Impairment and store closure charges", [-p.total("opex.impairment") for p in periods]),
    ]
    printed = [Line(label, tuple(map(cell, v)), dollar=i == 0) for i, (label, v) in enumerate(rows) if any(v)]
    printed.append(
        Line("Adjusted EBITDA", tuple(cell(adjusted_ebitda(p)) for p in periods), "total", dollar=True)
    )
    return Figures(
        printed,
        ("September 24, 2022", "September 25, 2021"),
        (("Thirteen weeks ended", 2),),
        ("RECONCILIATION OF NET EARNINGS TO ADJUSTED EBITDA",),
        "(In thousands)",
        "reconciliation",
    )


def pellamoor_release() -> Document:
    """Pellamoor's release on the first quarter of fiscal 2023, ended September 24, 2022."""
    new, old, unit = FOOD_NOW, FOOD_BEFORE, PELLAMOOR.unit
    chief, finance, _ = PELLAMOOR.officers
    blocks: list[Block] = [
        Text("<b>FOR IMMEDIATE RELEASE</b>"),
        Heading("Pellamoor Provisions Reports First Quarter Results of Fiscal 2023", 1, centred=True),
        RuleLine(),
        Text(
            "WEST HALLANDER, Maryland, October 27, 2022. Pellamoor Provisions Co. (NASDAQ: "
            f"{PELLAMOOR.ticker}) today reported net sales of {money(new.revenue, unit)} for the thirteen "
            "weeks ended September 24, 2022, "
            f"{'an increase' if new.revenue > old.revenue else 'a decrease'} of "
            f"{growth(new.revenue, old.revenue)}% from the same quarter of fiscal 2022. Diluted net "
            f"earnings per share were ${new.eps_diluted}, compared with ${old.eps_diluted}.",
            mark="release.headline",
        ),
        Heading("Highlights of the quarter"),
        Text(f"Comparable store sales rose {tenths(new.memo['comparable_tenths'])}", bullet=True),
        Text(
            f"Gross margin was {percent(new.gross_profit, new.revenue)} of net sales, against "
            f"{percent(old.gross_profit, old.revenue)} a year ago",
            bullet=True,
        ),
        Text(
            f"Adjusted EBITDA {moved(adjusted_ebitda(new), adjusted_ebitda(old))} to "
            f"{money(adjusted_ebitda(new), unit)}",
            bullet=True,
        ),
        Text(
            f"{word(new.memo['stores_opened']).capitalize()} stores opened, which brings their number to "
            f"{new.memo['stores']}",
            bullet=True,
            mark="release.stores",
        ),
        Text(
            f"{money(new.total('fin.repurchases'), unit)} spent on repurchases of common stock", bullet=True
        ),
        Text(
            f'"Our customers traded down within the store rather than out of it," said {chief[0]}, '
            f'{chief[1].lower()}. "They bought more soup from our kitchens and fewer restaurant meals. '
            'That helps sales, but the higher cost of wages and spoilage weighed on profit."'
        ),
        Heading("Sales by category"),
        Ruled(
            ("(in thousands)", "First quarter 2023", "First quarter 2022", "Change"),
            [
                (
                    name,
                    f"${new.total(f'revenue.{key}'):,}",
                    f"${old.total(f'revenue.{key}'):,}",
                    percent(
                        new.total(f"revenue.{key}") - old.total(f"revenue.{key}"), old.total(f"revenue.{key}")
                    ),
                )
                for key, name in CATEGORIES.items()
            ],
            mark="categories",
        ),
        Heading("Outlook for fiscal 2023"),
        Ruled(
            ("Measure", "Fiscal year ending June 24, 2023"),
            list(OUTLOOK.items()),
            mark="release.outlook",
            widths=(2, 1.4),
        ),
        Text(
            f"{finance[0]}, {finance[1].lower()}, will discuss these results in a call at 9:00 a.m. "
            "Adjusted EBITDA is not a measure under generally accepted accounting principles; the last "
            "page reconciles it with net earnings."
        ),
        Text(f"<i>{FICTITIOUS}</i>", small=True, centred=True),
        *_statements(
            PELLAMOOR,
            new,
            old,
            PELLAMOOR.years[2022],
            ("September 24, 2022", "June 25, 2022"),
            ("September 24, 2022", "September 25, 2021"),
            "Thirteen weeks ended",
        ),
        _food_reconciliation(),
    ]
    return Document(
        "PELLAMOOR_2023Q1_EARNINGS",
        "Pellamoor first quarter release",
        blocks,
        PELLAMOOR.theme,
        numbering="body",
    )


def non_gaap_income(period: Period) -> int:
    """Sundrevale's non-GAAP income from operations."""
    return (
        period.operating_income
        + period.total("adj.sbc", "adj.amortization")
        - period.total("opex.restructuring")
    )


def _soft_reconciliation() -> Figures:
    periods = (SOFT_NOW, SOFT_BEFORE)
    rows = [
        ("GAAP loss from operations", [p.operating_income for p in periods]),
        ("Stock-based compensation", [p.total("adj.sbc") for p in periods]),
        ("Amortization of intangible assets", [p.total("adj.amortization") for p in periods]),
        ("Restructuring", [-p.total("opex.restructuring") for p in periods]),
    ]
    printed = [Line(label, tuple(map(cell, v)), dollar=i == 0) for i, (label, v) in enumerate(rows)]
    printed.append(
        Line(
            "Non-GAAP income from operations",
            tuple(cell(non_gaap_income(p)) for p in periods),
            "total",
            dollar=True,
        )
    )
    printed.append(
        Line("Non-GAAP operating margin", tuple(percent(non_gaap_income(p), p.revenue) for p in periods))
    )
    return Figures(
        printed,
        ("2023", "2022"),
        (("Three Months Ended March 31,", 2),),
        ("RECONCILIATION OF GAAP TO NON-GAAP RESULTS",),
        "(in thousands)",
        "reconciliation",
    )


def sundrevale_release() -> Document:
    """Sundrevale's release on the quarter ended March 31, 2023."""
    new, old, unit = SOFT_NOW, SOFT_BEFORE, SUNDREVALE.unit
    chief = SUNDREVALE.officers[0]
    subscription = new.total("revenue.subscription"), old.total("revenue.subscription")
    blocks: list[Block] = [
        Heading("Sundrevale Announces First Quarter 2023 Financial Results", 1, centred=True),
        Text(
            f"<i>Revenue of {money(new.revenue, unit)}, up {growth(new.revenue, old.revenue)}% year over "
            f"year; {new.memo['large_customers']} customers above $100,000</i>",
            centred=True,
            mark="release.headline",
        ),
        Text(
            "PORT ANSLEY, Massachusetts, May 4, 2023. Sundrevale Software, Inc. (NASDAQ: "
            f"{SUNDREVALE.ticker}), which makes planning software for logistics, today announced results "
            "for the quarter ended March 31, 2023."
        ),
        Text(
            '"Freight is slow, and slow markets are when shippers look at what they waste," said '
            f'{chief[0]}, co-founder and chief executive officer. "Dock was part of half of our new '
            'contracts."'
        ),
        Heading("First quarter results"),
        Text(
            f"<b>Revenue:</b> Total revenue was {money(new.revenue, unit)}. Subscription revenue "
            f"{moved(*subscription)} to {money(subscription[0], unit)}.",
            bullet=True,
            mark="release.revenue",
        ),
        Text(
            f"<b>Operating result:</b> GAAP loss from operations was {money(new.operating_income, unit)}, "
            f"compared with {money(old.operating_income, unit)} in the first quarter of 2022. Non-GAAP "
            f"income from operations was {money(non_gaap_income(new), unit)}.",
            bullet=True,
            mark="release.operating",
        ),
        Text(
            f"<b>Cash flow:</b> Operating activities provided {money(new.operating_cash, unit)}; cash and "
            f"marketable securities were {money(new.balance(('cash', 'securities')), unit)} at the end of "
            "the quarter.",
            bullet=True,
        ),
        Text(
            f"<b>Remaining performance obligations:</b> {money(new.memo['obligations'], unit)}, "
            f"{growth(new.memo['obligations'], old.memo['obligations'])}% more than a year ago.",
            bullet=True,
            mark="release.obligations",
        ),
        Text(
            f"<b>Customers:</b> {new.memo['customers']:,} at quarter-end, after {old.memo['customers']:,} "
            "a year ago.",
            bullet=True,
        ),
        Heading("Guidance"),
        Ruled(
            ("(in millions)", "Second quarter of 2023", "Full year 2023"),
            [
                ("Total revenue", "$94.0 to $95.0", "$386 to $391"),
                ("Non-GAAP income from operations", "$11.5 to $12.5", "$50 to $54"),
            ],
            mark="release.guidance",
            widths=(2, 1.3, 1.3),
        ),
        Heading("About Sundrevale"),
        Text(
            "More than 1,800 shippers, carriers and ports in 41 countries plan with Sundrevale. This "
            "release contains forward-looking statements; the annual report on Form 10-K describes what "
            "could prove them wrong."
        ),
        Text(f"<i>{FICTITIOUS}</i>", small=True, centred=True),
        *_statements(
            SUNDREVALE,
            new,
            old,
            SUNDREVALE.years[2022],
            ("March 31, 2023", "December 31, 2022"),
            ("2023", "2022"),
            "Three Months Ended March 31,",
        ),
        _soft_reconciliation(),
    ]
    return Document(
        "SUNDREVALE_2023Q1_EARNINGS",
        "Sundrevale first quarter release",
        blocks,
        SUNDREVALE.theme,
        numbering="body",
    )
