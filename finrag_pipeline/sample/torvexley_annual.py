"""Items 7 to 15 and the notes of Torvexley's annual reports, and the reports as a whole."""

from __future__ import annotations

from datetime import date

from finrag_pipeline.sample.annual_report import Annual, CoverFacts, Item, annual_report
from finrag_pipeline.sample.content import Block, Document, Figures, Heading, Line, Ruled, Text
from finrag_pipeline.sample.ledger import Period
from finrag_pipeline.sample.notes import (
    debt_maturities,
    debt_table,
    lease_maturities,
    property_table,
    split_table,
    tax_reconciliation,
)
from finrag_pipeline.sample.torvexley import TORVEXLEY
from finrag_pipeline.sample.torvexley_business import (
    SEGMENTS,
    TARGET,
    acquisition_price,
    business,
    market,
    properties,
    risks,
)
from finrag_pipeline.sample.words import cell, growth, higher, money, moved, percent, quotient

_UNIT = TORVEXLEY.unit
MARGIN_REASONS = {
    2022: "costs of castings, freight and motors rose faster than our selling prices in the first half",
    2023: "selling prices caught up with material costs and spare parts took a larger share of sales",
}
TAX_REASONS = {
    2022: "a larger deduction for foreign-derived income and the release of a reserve in Germany",
    2023: "a valuation allowance on losses in the United Kingdom and a smaller benefit from share awards",
}
COVER = {
    2022: CoverFacts(89_214_306, date(2023, 2, 10), "$5.6 billion", date(2022, 6, 30), date(2023, 2, 17)),
    2023: CoverFacts(88_530_914, date(2024, 2, 9), "$6.4 billion", date(2023, 6, 30), date(2024, 2, 16)),
}


def segment_table(year: int) -> Figures:
    """Net sales and operating income by segment over three years, reconciled to the consolidated figure."""
    periods = [TORVEXLEY.years[y] for y in range(year, year - 3, -1)]

    def row(label: str, values: list[int], kind: str = "line", dollar: bool = False) -> Line:
        return Line(label, tuple(map(cell, values)), kind, dollar, indent=0 if kind != "line" else 1)

    printed = [Line("Net sales:", (), "heading")]
    for key, name in SEGMENTS.items():
        printed.append(row(name, [p.total(f"revenue.{key}") for p in periods], dollar=key == "flow"))
    printed.append(row("Consolidated net sales", [p.revenue for p in periods], "total", True))
    printed.append(Line("Segment operating income:", (), "heading"))
    for key, name in SEGMENTS.items():
        printed.append(row(name, [p.memo[f"profit.{key}"] for p in periods], dollar=key == "flow"))
    corporate = [p.operating_income - sum(p.memo[f"profit.{key}"] for key in SEGMENTS) for p in periods]
    printed.append(row("Corporate costs, amortization and restructuring", corporate))
    printed.append(row("Consolidated operating income", [p.operating_income for p in periods], "total", True))
    years = tuple(str(y) for y in range(year, year - 3, -1))
    return Figures(printed, years, ((TORVEXLEY.span, 3),), note="(in millions)", mark="segments")


def margin(period: Period, places: int = 1) -> str:
    """Gross profit as a percentage of net sales."""
    return percent(period.gross_profit, period.revenue, places)


def _results(year: int) -> list[Block]:
    now, before = TORVEXLEY.years[year], TORVEXLEY.years[year - 1]
    rows = [
        ("Net sales", now.revenue, before.revenue),
        ("Gross profit", now.gross_profit, before.gross_profit),
        ("Operating income", now.operating_income, before.operating_income),
        ("Net income", now.net_income, before.net_income),
        ("Net cash provided by operating activities", now.operating_cash, before.operating_cash),
    ]
    table = Ruled(
        ("(in millions)", str(year), str(year - 1), "Change", "Change in %"),
        [(label, cell(new), cell(old), cell(new - old), percent(new - old, old)) for label, new, old in rows],
        mark="mdna.results",
    )
    growth_by_segment = {
        key: moved(now.total(f"revenue.{key}"), before.total(f"revenue.{key}"), "rose", "fell")
        for key in SEGMENTS
    }
    why = {
        2022: (
            f"About 5 points of the increase came from prices, 6 from volume and 1 from {TARGET}, while "
            "the stronger dollar took away less than 1 point."
        ),
        2023: (
            f"The full-year inclusion of {TARGET} added about 3 points and prices about 4, while volumes "
            "in Energy Services and in European chemicals declined."
        ),
    }[year]
    restructuring = {
        2022: "severance in the European valve business",
        2023: "the closure of the Marrowick foundry and the move of its work to Kolvadi, India",
    }[year]
    charge, charge_before = -now.total("opex.restructuring"), -before.total("opex.restructuring")
    rate, rate_before = (percent(-p.total("tax."), p.pretax) for p in (now, before))
    return [
        table,
        Heading("Net Sales"),
        Text(
            f"Net sales {moved(now.revenue, before.revenue)} to {money(now.revenue, _UNIT)} in {year} from "
            f"{money(before.revenue, _UNIT)} in {year - 1}. {why} By segment, sales of Industrial Flow "
            f"{growth_by_segment['flow']}, those of Water Systems {growth_by_segment['water']} and those "
            f"of Energy Services {growth_by_segment['energy']}.",
            mark="mdna.sales",
        ),
        Heading("Gross Profit"),
        Text(
            f"Gross profit was {money(now.gross_profit, _UNIT)}, compared with "
            f"{money(before.gross_profit, _UNIT)} in {year - 1}. Gross profit as a percentage of net sales "
            f"was {margin(now)} against {margin(before)}, as {MARGIN_REASONS[year]}.",
            mark="mdna.margin",
        ),
        Heading("Operating Expenses"),
        Text(
            "Selling, general and administrative expenses "
            f"{moved(-now.total('opex.sga'), -before.total('opex.sga'))} to "
            f"{money(now.total('opex.sga'), _UNIT)} and were "
            f"{percent(-now.total('opex.sga'), now.revenue)} of net sales "
            f"({percent(-before.total('opex.sga'), before.revenue)} in {year - 1}). Wage increases, travel "
            "and the cost of a new order-entry system account for most of the change. Amortization of "
            f"intangible assets was {money(now.total('opex.amortization'), _UNIT)}, which reflects the "
            f"customer relationships and technology acquired with {TARGET}."
        ),
        Text(
            f"We recorded restructuring charges of {money(charge, _UNIT)} in {year}, mainly for "
            f"{restructuring}. "
            + (
                f"Charges in {year - 1} were {money(charge_before, _UNIT)}."
                if charge_before
                else f"There were no such charges in {year - 1}."
            ),
            mark="mdna.restructuring",
        ),
        Heading("Interest and Taxes"),
        Text(
            f"Interest expense was {money(now.total('other.interest'), _UNIT)} "
            f"({money(before.total('other.interest'), _UNIT)} in {year - 1}), a "
            f"{higher(-now.total('other.interest'), -before.total('other.interest'), 'rise', 'fall')} that "
            "follows from the 5.40% notes issued in September 2022. The effective income tax rate was "
            f"{rate} in {year} and {rate_before} in {year - 1}; the difference is due to "
            f"{TAX_REASONS[year]}.",
            mark="mdna.taxes",
        ),
    ]


def _liquidity(year: int) -> list[Block]:
    now, before = TORVEXLEY.years[year], TORVEXLEY.years[year - 1]
    debt = now.balance(("short_debt", "long_debt"))
    ratio = quotient(
        now.balance(TORVEXLEY.chart.current_assets), now.balance(TORVEXLEY.chart.current_liabilities)
    )
    free = now.operating_cash + now.total("inv.capex")
    inventory = higher(now.total("wc.inventories"), 0, "a release of", "an investment in")
    plan = {2022: "$165 million to $180 million", 2023: "$150 million to $165 million"}[year]
    return [
        Heading("Liquidity and Capital Resources"),
        Text(
            f"Operating activities provided {money(now.operating_cash, _UNIT)} in {year} and "
            f"{money(before.operating_cash, _UNIT)} in {year - 1}. The difference stems mainly from "
            f"{inventory} {money(now.total('wc.inventories'), _UNIT)} in inventories. Capital expenditures "
            f"were {money(now.total('inv.capex'), _UNIT)}; free cash flow, which we define as cash from "
            f"operating activities less capital expenditures, was {money(free, _UNIT)}. We plan capital "
            f"expenditures of {plan} in {year + 1}.",
            mark="mdna.cash",
        ),
        Text(
            f"At December 31, {year} we held cash of {money(now.closing['cash'], _UNIT)} and owed "
            f"{money(debt, _UNIT)} under our senior notes. The revolving credit facility of $600 million, "
            f"which expires in June 2026, was unused. The current ratio was {ratio} to 1. We returned "
            f"{money(now.total('fin.dividends'), _UNIT)} to shareholders in dividends and "
            f"{money(now.total('fin.repurchases'), _UNIT)} in share purchases.",
            mark="mdna.liquidity",
        ),
        Heading("Critical Accounting Estimates"),
        Text(
            "Revenue from engineered systems that take more than six months to build is recognized over "
            "time, by the ratio of cost incurred to expected total cost; a change of one percentage point "
            "in the estimated margins of such contracts would alter pretax income by about $3 million. "
            "Goodwill is tested in October of every year. In the latest test the fair value of each "
            "reporting unit exceeded its carrying amount by more than 25%, except for Energy Services, "
            "where the excess was 11%."
        ),
    ]


def _notes(year: int) -> list[Block]:
    now, before = TORVEXLEY.years[year], TORVEXLEY.years[year - 1]
    deal = TORVEXLEY.years[2022]
    price = acquisition_price()
    assigned = [
        ("Goodwill", -deal.total("inv.acq.goodwill")),
        ("Customer relationships and technology", -deal.total("inv.acq.intangibles")),
        ("Inventories", -deal.total("inv.acq.inventories")),
        ("Property, plant and equipment", -deal.total("inv.acq.ppe")),
        ("Accrued liabilities", -deal.total("inv.acq.accrued")),
    ]
    plant = [
        ("Land", 4),
        ("Buildings and improvements", 27),
        ("Machinery and equipment", 62),
        ("Construction in progress", 7),
    ]
    stock = [("Raw materials", 34), ("Work in process", 27), ("Finished goods", 39)]
    inventory_change = now.closing["inventories"] - before.closing["inventories"]
    return [
        Heading("Note 1. Summary of Significant Accounting Policies"),
        Text(
            "The consolidated financial statements include the accounts of Torvexley Industries, Inc. and "
            "its subsidiaries, after elimination of transactions between them. Standard products are "
            "recognized in revenue when control passes, generally on shipment. Inventories are stated at "
            "the lower of cost, on a first-in, first-out basis, and net realizable value. Property is "
            "depreciated by the straight-line method over 20 to 40 years for buildings and 4 to 15 years "
            "for machinery."
        ),
        Heading("Note 2. Acquisition"),
        Text(
            f"On November 3, 2022 the Company bought all shares of {TARGET}, of Aldersey Falls, Vermont, "
            f"for {money(price, _UNIT)} in cash, net of cash acquired. The purchase was paid for with part "
            "of the proceeds of the 5.40% notes. The price was assigned as follows:",
            mark="note.acquisition.text",
        ),
        Figures(
            [
                *(Line(label, (cell(value),), dollar=i == 0) for i, (label, value) in enumerate(assigned)),
                Line("Purchase price, net of cash acquired", (cell(price),), "total", dollar=True),
            ],
            ("November 3, 2022",),
            mark="note.acquisition",
        ),
        Heading("Note 3. Inventories"),
        Text(
            f"Inventories {higher(inventory_change, 0, 'grew', 'shrank')} by "
            f"{money(inventory_change, _UNIT)} in {year}. They consist of the following:"
        ),
        split_table(TORVEXLEY, year, "inventories", stock, "Total inventories", "note.inventories"),
        Heading("Note 4. Property, Plant and Equipment"),
        property_table(TORVEXLEY, year, plant),
        Text(
            f"Depreciation expense was {money(now.total('adj.depreciation'), _UNIT)} in {year}, "
            f"{money(before.total('adj.depreciation'), _UNIT)} in {year - 1} and "
            f"{money(TORVEXLEY.years[year - 2].total('adj.depreciation'), _UNIT)} in {year - 2}."
        ),
        Heading("Note 5. Debt"),
        debt_table(TORVEXLEY, year),
        Text(f"The principal of the senior notes outstanding at December 31, {year} falls due as follows:"),
        debt_maturities(TORVEXLEY, year),
        Heading("Note 6. Leases"),
        Text(
            "The Company leases service centers, vehicles and offices. The weighted-average remaining term "
            "was 6.1 years and the weighted-average discount rate 4.3%. Future payments are:"
        ),
        lease_maturities(TORVEXLEY, year, ("lease",)),
        Heading("Note 7. Income Taxes"),
        tax_reconciliation(
            TORVEXLEY,
            year,
            [("State and local taxes, net of federal benefit", 19), ("Foreign rate differential", 11)],
            "Research credits and other, net",
        ),
        Heading("Note 8. Segment Information"),
        Text(
            "The chief operating decision maker judges segments by operating income before corporate costs, "
            "amortization of acquired intangible assets and restructuring charges."
        ),
        segment_table(year),
    ]


def _content(year: int) -> Annual:
    now = TORVEXLEY.years[year]
    before = TORVEXLEY.years[year - 1]
    overview = {
        2022: (
            "2022 was a year of strong orders and expensive materials. Net sales grew by "
            f"{growth(now.revenue, before.revenue)}%, and the purchase of {TARGET} gave Water Systems a "
            "range of electric actuators that it had until then bought from others."
        ),
        2023: (
            "In 2023 Water Systems became the main source of our growth, while refinery customers of "
            f"Energy Services put off overhauls. Net sales grew by {growth(now.revenue, before.revenue)}% "
            f"and operating cash flow reached {money(now.operating_cash, _UNIT)}, the highest in our "
            "history."
        ),
    }[year]
    items = [
        business(year),
        risks(year),
        *properties(year),
        market(year),
        Item(
            "Item 7.",
            "Management's Discussion and Analysis of Financial Condition and Results of Operations",
            [
                Text(overview, mark="mdna.overview"),
                *_results(year),
                Heading("Segments"),
                Text(
                    f"Operating income of Water Systems was {money(now.memo['profit.water'], _UNIT)}, or "
                    f"{percent(now.memo['profit.water'], now.total('revenue.water'))} of its sales, "
                    f"compared with {money(before.memo['profit.water'], _UNIT)} in {year - 1}. Operating "
                    "income of Energy Services "
                    f"{moved(now.memo['profit.energy'], before.memo['profit.energy'])} to "
                    f"{money(now.memo['profit.energy'], _UNIT)}. Figures for all segments are in Note 8.",
                    mark="mdna.segments",
                ),
                *_liquidity(year),
            ],
        ),
        Item(
            "Item 7A.",
            "Quantitative and Qualitative Disclosures About Market Risk",
            [
                Text(
                    "All our senior notes bear fixed interest. A rise of one percentage point in market "
                    "rates would have lowered their fair value by about $61 million at December 31, "
                    f"{year}. A change of 10% in the value of the dollar against all currencies in which "
                    "we sell would change annual net sales by about "
                    f"{money(int((now.revenue - now.memo['us_sales']) / 10), _UNIT)}.",
                    mark="market_risk",
                )
            ],
        ),
    ]
    closing = [
        Item(
            "Item 9A.",
            "Controls and Procedures",
            [
                Text(
                    "Management, with the participation of the chief executive officer and the chief "
                    "financial officer, concluded that disclosure controls and internal control over "
                    f"financial reporting were effective as of December 31, {year}. "
                    + (
                        f"{TARGET}, acquired in November, was left out of the assessment."
                        if year == 2022
                        else ""
                    )
                )
            ],
        ),
        Item(
            "Item 15.",
            "Exhibits and Financial Statement Schedules",
            [
                Ruled(
                    ("Exhibit", "Description"),
                    [
                        ("3.1", "Amended Articles of Incorporation"),
                        ("4.1", "Indenture dated March 12, 2014 between the Company and the trustee"),
                        ("10.1", "Credit Agreement dated June 8, 2021"),
                        ("21", "Subsidiaries of the registrant"),
                        ("23", f"Consent of {TORVEXLEY.auditor}"),
                        ("31, 32", "Certifications of the chief executive and chief financial officers"),
                    ],
                    widths=(0.6, 4),
                )
            ],
        ),
    ]
    return Annual(COVER[year], items, _notes(year), closing)


def torvexley_annual(year: int) -> Document:
    """Torvexley's 10-K for fiscal ``year`` (2022 or 2023)."""
    return annual_report(TORVEXLEY, year, _content(year))
