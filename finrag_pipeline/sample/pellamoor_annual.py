"""Items 7 to 15 and the notes of Pellamoor's annual reports, and the reports as a whole."""

from __future__ import annotations

from datetime import date

from finrag_pipeline.sample.annual_report import Annual, CoverFacts, Item, annual_report
from finrag_pipeline.sample.content import Block, Document, Heading, Ruled, Text
from finrag_pipeline.sample.notes import (
    debt_maturities,
    debt_table,
    lease_maturities,
    property_table,
    split_table,
    tax_reconciliation,
)
from finrag_pipeline.sample.pellamoor import PELLAMOOR
from finrag_pipeline.sample.pellamoor_business import CATEGORIES, business, properties, risks, tenths
from finrag_pipeline.sample.words import day, higher, joined, money, moved, percent, quotient, word

_UNIT = PELLAMOOR.unit
MARGIN_REASONS = {
    2022: "higher freight charges and a larger share of promoted goods",
    2023: (
        "more spoilage in fresh departments, theft, and rents of new stores that do not yet sell at their "
        "mature level"
    ),
}
_COVER = {
    2022: CoverFacts(45_386_120, date(2022, 8, 19), "$1.21 billion", date(2021, 12, 25), date(2022, 8, 24)),
    2023: CoverFacts(45_018_447, date(2023, 8, 18), "$1.14 billion", date(2022, 12, 24), date(2023, 8, 23)),
}


def _share(year: int, *keys: str) -> str:
    period = PELLAMOOR.years[year]
    return percent(abs(period.total(*keys)), period.revenue)


def _discussion(year: int) -> list[Block]:
    now, before = PELLAMOOR.years[year], PELLAMOOR.years[year - 1]
    comparable = tenths(now.memo["comparable_tenths"])
    story = {
        2022: (
            "The year began with customers cooking at home and ended with the sharpest rise in food prices "
            "in four decades. Prepared foods, which had suffered when offices were empty, recovered."
        ),
        2023: (
            "Customers bought fewer items per visit and chose our own labels more often. New stores opened "
            "on time, but four older ones no longer earned their rent and were closed."
        ),
    }[year]
    rows = [
        ("Net sales", ("revenue.",)),
        ("Gross margin", ("revenue.", "cost.")),
        ("Store operating expenses", ("opex.stores",)),
        ("General and administrative expenses", ("opex.general",)),
        ("Operating income", ("revenue.", "cost.", "opex.")),
    ]
    table = Ruled(
        ("As a percentage of net sales", *(f"Fiscal {y}" for y in range(year, year - 3, -1))),
        [(label, *(_share(y, *keys) for y in range(year, year - 3, -1))) for label, keys in rows],
        mark="mdna.percentages",
        widths=(2.6, 1, 1, 1),
    )
    categories = [
        f"{name.lower()} {moved(now.total(f'revenue.{key}'), before.total(f'revenue.{key}'), 'rose', 'fell')}"
        for key, name in CATEGORIES.items()
    ]
    impairment, earlier = -now.total("opex.impairment"), -before.total("opex.impairment")
    if impairment:
        charge = (
            f"Impairment and store closure charges of {money(impairment, _UNIT)} concern "
            f"{word(now.memo['stores_closed'])} stores closed in the year and two that remain open."
        )
    else:
        charge = (
            f"There were no impairment charges in fiscal {year}; in fiscal {year - 1} we had written off "
            f"{money(earlier, _UNIT)} on three closed stores."
        )
    drawn = higher(
        -now.total("other.interest"), -before.total("other.interest"), "higher rates and larger", "smaller"
    )
    return [
        Heading("Overview"),
        Text(story, mark="mdna.overview"),
        table,
        Heading("Net Sales"),
        Text(
            f"Net sales {moved(now.revenue, before.revenue)} to {money(now.revenue, _UNIT)}. Sales of "
            f"comparable stores, those open for at least fifteen months, rose {comparable}; the rest of "
            f"the change came from new stores, less those closed. Sales of {joined(categories)}.",
            mark="mdna.sales",
        ),
        Heading("Gross Margin"),
        Text(
            f"Gross margin was {_share(year, 'revenue.', 'cost.')} of net sales, against "
            f"{_share(year - 1, 'revenue.', 'cost.')} in fiscal {year - 1}. The decline reflects "
            f"{MARGIN_REASONS[year]}.",
            mark="mdna.margin",
        ),
        Heading("Expenses"),
        Text(
            f"Store operating expenses were {_share(year, 'opex.stores')} of net sales "
            f"({_share(year - 1, 'opex.stores')} in fiscal {year - 1}). Hourly wages rose by about 6% and "
            "electricity by more. Pre-opening expenses, which are rent, training and advertising before a "
            f"store opens, were {money(now.total('opex.preopening'), _UNIT)} for "
            f"{word(now.memo['stores_opened'])} stores. {charge}",
            mark="mdna.expenses",
        ),
        Heading("Interest and Income Taxes"),
        Text(
            f"Interest expense {moved(-now.total('other.interest'), -before.total('other.interest'))} to "
            f"{money(now.total('other.interest'), _UNIT)}, mainly because of "
            f"{drawn} drawings on the revolving credit facility. Income tax expense was "
            f"{percent(-now.total('tax.'), now.pretax)} of earnings before taxes, compared with "
            f"{percent(-before.total('tax.'), before.pretax)} in the previous year.",
            mark="mdna.taxes",
        ),
        Heading("Net Earnings"),
        Text(
            f"Net earnings {moved(now.net_income, before.net_income)} to {money(now.net_income, _UNIT)}, or "
            f"${now.eps_diluted} per diluted share (fiscal {year - 1}: {money(before.net_income, _UNIT)}, "
            f"${before.eps_diluted} per share).",
            mark="mdna.earnings",
        ),
        *_liquidity(year),
    ]


def _liquidity(year: int) -> list[Block]:
    now, before = PELLAMOOR.years[year], PELLAMOOR.years[year - 1]
    turns = quotient(
        -now.total("cost."), quotient(now.closing["inventories"] + before.closing["inventories"], 2, 1), 1
    )
    revolver = _revolver(year)
    plan = {2022: "$130 million to $145 million", 2023: "$105 million to $120 million"}[year]
    return [
        Heading("Liquidity and Capital Resources"),
        Text(
            f"Cash provided by operating activities was {money(now.operating_cash, _UNIT)}, compared with "
            f"{money(before.operating_cash, _UNIT)} in fiscal {year - 1}. We spent "
            f"{money(now.total('inv.capex'), _UNIT)} on property and equipment, about two thirds of it on "
            f"new stores, and expect to spend {plan} in fiscal {year + 1}. Inventory turned over {turns} "
            "times.",
            mark="mdna.cash",
        ),
        Text(
            "We may borrow up to $250 million under a revolving credit facility that expires in May 2027; "
            f"{money(revolver, _UNIT)} was drawn at {day(PELLAMOOR.year_ends[year])}. The agreement "
            "requires earnings before interest, taxes, depreciation, amortization and rent of at least "
            "2.25 times interest and rent. We were in compliance throughout the year. Cash and short-term "
            f"investments amounted to {money(now.balance(('cash', 'investments')), _UNIT)}.",
            mark="mdna.liquidity",
        ),
        Heading("Critical Accounting Estimates"),
        Text(
            "Inventories in stores are valued by the retail method, under which markdowns and spoilage "
            "since the last count are estimated; a count takes place in every store every ten weeks. When "
            "a store loses money for four quarters we compare the cash that we expect from it with the "
            "carrying amount of its equipment and lease asset. The estimate depends most on the rent that "
            "a subtenant would pay."
        ),
    ]


def _revolver(year: int) -> int:
    fixed = sum(i.principal for i in PELLAMOOR.outstanding(year))
    return PELLAMOOR.years[year].closing["long_debt"] - fixed


def _notes(year: int) -> list[Block]:
    now = PELLAMOOR.years[year]
    classes = [
        ("Land and buildings", 11),
        ("Leasehold improvements", 43),
        ("Fixtures, refrigeration and equipment", 39),
        ("Stores under construction", 7),
    ]
    letters = {2022: "$11.8 million", 2023: "$12.6 million"}[year]
    wages = [
        ("Accrued wages and vacation", 41),
        ("Gift cards and loyalty points", 17),
        ("Sales and property taxes", 14),
    ]
    return [
        Heading("1. The Company and Its Accounting Policies"),
        Text(
            "The Company operates food stores in six states. Sales are recognized at the register, net of "
            "coupons and of points earned under the Pellamoor Basket loyalty program, which are recognized "
            "when redeemed. Cost of goods sold includes the costs of distribution centers and the rent of "
            "stores. Supplier allowances reduce the cost of the goods to which they relate."
        ),
        Heading("2. Property and Equipment"),
        property_table(PELLAMOOR, year, classes),
        Heading("3. Accrued Liabilities"),
        split_table(
            PELLAMOOR,
            year,
            "accrued",
            [*wages, ("Self-insurance and other", 28)],
            "Total accrued liabilities",
            "note.accrued",
        ),
        Heading("4. Long-Term Debt"),
        Text(
            "The senior notes were sold to insurance companies and carry fixed interest, payable twice a "
            "year. Drawings on the revolving credit facility bear interest at a market rate plus 1.375%; a "
            "swap fixes the rate on $50 million of them at 2.61%."
        ),
        debt_table(
            PELLAMOOR, year, [("Revolving credit facility due 2027", _revolver(year), _revolver(year - 1))]
        ),
        debt_maturities(PELLAMOOR, year, [(2027, _revolver(year))]),
        Heading("5. Leases"),
        Text(
            f"Operating lease cost was {money(-now.total('wc.lease') + 7_412, _UNIT)} in fiscal {year}, "
            "including percentage rent. The weighted-average remaining term was 9.4 years and the discount "
            "rate 5.1%. Payments due in the coming fiscal years are:"
        ),
        lease_maturities(
            PELLAMOOR, year, ("lease_current", "lease"), discount=27, weights=(14, 13, 12, 12, 11, 38)
        ),
        Heading("6. Income Taxes"),
        tax_reconciliation(
            PELLAMOOR,
            year,
            [("State income taxes, net of federal benefit", 48), ("Work opportunity tax credits", -9)],
            "Other, net",
        ),
        Heading("7. Commitments"),
        Text(
            f"At {day(PELLAMOOR.year_ends[year])} the Company had signed leases for "
            f"{word(now.memo['stores_opened'] - 2)} stores that had not opened and had standby letters of "
            f"credit of {letters} outstanding.",
            mark="note.commitments",
        ),
    ]


def pellamoor_annual(year: int) -> Document:
    """Pellamoor's 10-K for fiscal ``year`` (2022 or 2023)."""
    discussion = "Management's Discussion and Analysis of Financial Condition and Results of Operations"
    items = [
        business(year),
        risks(year),
        *properties(year),
        Item("Item 7.", discussion, _discussion(year), new_page=True),
    ]
    closing = [
        Item(
            "Item 9A.",
            "Controls and Procedures",
            [
                Text(
                    "Our chief executive officer and chief financial officer evaluated our disclosure "
                    f"controls as of {day(PELLAMOOR.year_ends[year])} and found them effective. No change "
                    "during the fourth quarter materially affected our internal control over financial "
                    "reporting."
                )
            ],
        ),
        Item(
            "Item 15.",
            "Exhibits",
            [
                Text("3.1 Certificate of Incorporation", bullet=True),
                Text("4.2 Note Purchase Agreements of 2016 and 2019", bullet=True),
                Text("10.4 Third Amended Credit Agreement dated May 12, 2022", bullet=True),
                Text(f"23.1 Consent of {PELLAMOOR.auditor}", bullet=True),
                Text("31 and 32 Certifications of officers", bullet=True),
            ],
        ),
    ]
    return annual_report(
        PELLAMOOR, year, Annual(_COVER[year], items, _notes(year), closing, statements_last=True)
    )
