"""Sundrevale's annual report for 2022: business, risks, discussion and notes."""

from __future__ import annotations

from datetime import date

from finrag_pipeline.sample.annual_report import Annual, CoverFacts, Item, annual_report
from finrag_pipeline.sample.content import Block, Document, Figures, Heading, Line, Ruled, Text
from finrag_pipeline.sample.ledger import Period
from finrag_pipeline.sample.notes import lease_maturities, tax_reconciliation
from finrag_pipeline.sample.sundrevale import SUNDREVALE
from finrag_pipeline.sample.words import cell, growth, money, moved, percent

_YEAR = 2022
_UNIT = SUNDREVALE.unit
_NOW, _BEFORE = SUNDREVALE.years[_YEAR], SUNDREVALE.years[_YEAR - 1]
_COVER = CoverFacts(62_914_508, date(2023, 2, 21), "$1.48 billion", date(2022, 6, 30), date(2023, 2, 28))


def subscription_margin(period: Period) -> str:
    """Subscription gross profit as a percentage of subscription revenue."""
    revenue = period.total("revenue.subscription")
    return percent(revenue + period.total("cost.subscription"), revenue)


def _years() -> tuple[str, ...]:
    return tuple(str(y) for y in range(_YEAR, _YEAR - 3, -1))


def regions() -> Figures:
    """Revenue by region over three years."""
    periods = [SUNDREVALE.years[int(y)] for y in _years()]
    rows = [
        ("Americas", [p.memo["americas"] for p in periods]),
        ("Europe, Middle East and Africa", [p.memo["emea"] for p in periods]),
        ("Asia Pacific", [p.revenue - p.memo["americas"] - p.memo["emea"] for p in periods]),
    ]
    printed = [Line(label, tuple(map(cell, values)), dollar=i == 0) for i, (label, values) in enumerate(rows)]
    printed.append(Line("Total revenue", tuple(cell(p.revenue) for p in periods), "total", dollar=True))
    return Figures(printed, _years(), ((SUNDREVALE.span, 3),), mark="note.regions")


def _business() -> list[Block]:
    abroad = _NOW.revenue - _NOW.memo["americas"]
    return [
        Text(
            "Sundrevale Software, Inc. sells subscriptions to cloud software with which shippers, carriers "
            "and port operators plan the movement of goods. A customer connects its order and tracking "
            "data; our planner then proposes loads, routes and berths, and replans when a ship is late or "
            "a warehouse is full. We were founded in 2009 and sold our shares to the public in 2018."
        ),
        Heading("Products"),
        Text(
            "<b>Sundrevale Plan</b>, our first product, builds transport plans for road, rail and sea. "
            "<b>Sundrevale Dock</b>, introduced in 2019, assigns berths, cranes and gates. <b>Sundrevale "
            "Ledger</b>, which came with the purchase of a small freight-audit company in 2021, checks "
            "carriers' invoices. Customers usually begin with Plan and add the others in their second or "
            "third year."
        ),
        Heading("Customers"),
        Text(
            f"At December 31, {_YEAR} we had {_NOW.memo['customers']:,} customers in 41 countries, of "
            f"which {_NOW.memo['large_customers']} had annual contract value above $100,000 "
            f"({_BEFORE.memo['large_customers']} a year earlier). Our dollar-based net retention rate was "
            f"{_NOW.memo['retention']}%, compared with {_BEFORE.memo['retention']}% at the end of "
            f"{_YEAR - 1}. No customer accounted for more than 4% of revenue.",
            mark="business.customers",
        ),
        Text(
            f"Revenue outside the Americas was {money(abroad, _UNIT)} or "
            f"{percent(abroad, _NOW.revenue, 0)} of the total. Contracts run for three years in most "
            "cases, are billed a year in advance and cannot be cancelled without cause."
        ),
        Heading("Research, Sales and Competition"),
        Text(
            "Our engineers work in Port Ansley, in Tallinn and in Pune. We sell through our own staff and, "
            "to smaller customers, through logistics consultants who earn a commission. We compete with "
            "modules of large enterprise systems, with specialists in single modes of transport and with "
            "planning departments that build their own tools from spreadsheets."
        ),
        Heading("Technology and Intellectual Property"),
        Text(
            "Our planner solves large mixed-integer programs. It breaks a network into regions, plans each "
            "of them within seconds on rented processors and then repairs the seams. We protect it by 64 "
            "patents, by trade secrets and by agreements with our employees. Interfaces to some 900 "
            "carriers, which took ten years to build, are in our view as hard to copy as the mathematics."
        ),
        Text(
            "Parts of our software rest on components under open-source licenses. We check before every "
            "release that no such license obliges us to publish code of our own."
        ),
        Heading("Seasonality"),
        Text(
            "We sign about 38% of the year's new contracts in the fourth quarter, when customers settle "
            "their budgets. Invoices for them go out in December and January, so that cash from operating "
            "activities is highest in the first quarter."
        ),
        Heading("Employees"),
        Text(
            f"We had {_NOW.memo['employees']:,} employees at the end of {_YEAR}, after "
            f"{_BEFORE.memo['employees']:,} a year before. The decrease results from the restructuring of "
            f"September {_YEAR}, by which we gave up one floor of our headquarters and about 9% of "
            "positions, most of them in sales.",
            mark="business.employees",
        ),
    ]


def _risks() -> list[Block]:
    deficit = _NOW.closing["retained"]
    facts = [
        (
            "We have a history of losses.",
            f"We lost {money(_NOW.net_income, _UNIT)} in {_YEAR} and {money(_BEFORE.net_income, _UNIT)} in "
            f"{_YEAR - 1}, and had an accumulated deficit of {money(deficit, _UNIT)} at year-end. We may "
            "never become profitable.",
        ),
        (
            "Customers may not renew, or may renew for less.",
            "Freight volumes fell in the second half of the year and several customers reduced the number "
            "of planners who use our software. Since revenue is recognized over the term, a weak quarter "
            "of sales shows in our statements only later.",
        ),
        (
            "An interruption of our service would harm our customers at once.",
            "Our software runs in the data centers of two cloud providers. We promise availability of "
            "99.9% and owe credits when we fall short. In March we were unavailable for five hours after a "
            "faulty update.",
        ),
        (
            "Our convertible notes come due in 2025.",
            "Holders may demand repayment in cash of the principal of $150 million. If our share price "
            "stays below the conversion price we shall have to repay or refinance them.",
        ),
        (
            "Laws on the transfer of data are changing.",
            "Shipment records name drivers and consignees. European and Indian rules may oblige us to keep "
            "such data in the region in which they arise, at additional cost.",
        ),
        (
            "Sales to large customers take long and may fail late.",
            "It takes nine months on average from the first meeting to a signature, and the approval of "
            "several departments. We incur cost throughout, and a change of the officer responsible may "
            "end the talks.",
        ),
        (
            "Our plans may be wrong.",
            "An error in our software may send empty trucks on long journeys or leave a ship without a "
            "berth. Our contracts limit damages to the fees of one year, but a court may not uphold the "
            "limit, and customers' trust is not restored by a contract.",
        ),
        (
            "Changes in exchange rates affect our revenue more than our cost.",
            "We invoice European customers in euros while most of our engineers and data centers are paid "
            "in dollars. We do not hedge.",
        ),
        (
            "Holders of Class B shares control the vote.",
            "Our two founders hold shares with ten votes each and together cast 54% of all votes. They may "
            "prevent a sale of the Company that others would welcome.",
        ),
        (
            "We rely on a few hundred specialists.",
            "Optimization engineers are scarce. We pay a large part of their wages in shares, so that a "
            "low share price makes it harder to keep them.",
        ),
    ]
    return [Text(f"<b><i>{title}</i></b> {text}") for title, text in facts]


def _discussion() -> list[Block]:
    metrics = Ruled(
        ("", *_years()),
        [
            ("Customers", *(f"{SUNDREVALE.years[int(y)].memo['customers']:,}" for y in _years())),
            (
                "Customers above $100,000",
                *(str(SUNDREVALE.years[int(y)].memo["large_customers"]) for y in _years()),
            ),
            ("Net retention rate", *(f"{SUNDREVALE.years[int(y)].memo['retention']}%" for y in _years())),
            (
                "Remaining performance obligations (thousands)",
                *(f"${SUNDREVALE.years[int(y)].memo['obligations']:,}" for y in _years()),
            ),
        ],
        mark="mdna.metrics",
        widths=(2.4, 1, 1, 1),
    )
    subscription = _NOW.total("revenue.subscription"), _BEFORE.total("revenue.subscription")
    services = _NOW.total("revenue.services"), _BEFORE.total("revenue.services")
    free = _NOW.operating_cash + _NOW.total("inv.capex", "inv.software")
    return [
        Heading("Overview"),
        Text(
            "We earn almost all our revenue from subscriptions. New contracts slowed from the summer on, "
            "when freight rates fell and shippers cut budgets, and we reduced our sales force in "
            "September. At the same time customers that we have kept on adding products, which explains "
            "why revenue grew more quickly than the number of customers."
        ),
        Heading("Key Business Metrics"),
        metrics,
        Heading("Revenue"),
        Text(
            f"Total revenue {moved(_NOW.revenue, _BEFORE.revenue)} to {money(_NOW.revenue, _UNIT)}. "
            f"Subscription revenue grew by {growth(*subscription)}% to {money(subscription[0], _UNIT)} and "
            f"was {percent(subscription[0], _NOW.revenue, 0)} of the total; about two thirds of the growth "
            f"came from customers that we already had. Professional services revenue {moved(*services)} "
            "because partners now carry out most of the smaller installations.",
            mark="mdna.revenue",
        ),
        Heading("Cost of Revenue"),
        Text(
            f"The gross margin on subscriptions was {subscription_margin(_NOW)}, compared with "
            f"{subscription_margin(_BEFORE)} in {_YEAR - 1}. Hosting costs rose with the move of European "
            "customers to a second provider, during which we paid for both.",
            mark="mdna.margin",
        ),
        Heading("Operating Expenses"),
        Text(
            "Research and development expense "
            f"{moved(-_NOW.total('opex.rnd'), -_BEFORE.total('opex.rnd'))} and sales and marketing expense "
            f"{moved(-_NOW.total('opex.sales'), -_BEFORE.total('opex.sales'))}, in both cases mainly "
            f"because of wages. Stock-based compensation was {money(_NOW.total('adj.sbc'), _UNIT)}, or "
            f"{percent(_NOW.total('adj.sbc'), _NOW.revenue)} of revenue "
            f"({percent(_BEFORE.total('adj.sbc'), _BEFORE.revenue)} in {_YEAR - 1}). The restructuring "
            f"charge of {money(_NOW.total('opex.restructuring'), _UNIT)} consists of severance and of "
            f"{money(_NOW.total('adj.impairment'), _UNIT)} for the impairment of a lease.",
            mark="mdna.expenses",
        ),
        Heading("Liquidity and Capital Resources"),
        Text(
            f"We held {money(_NOW.balance(('cash', 'securities')), _UNIT)} in cash and marketable "
            f"securities at year-end. Operating activities provided {money(_NOW.operating_cash, _UNIT)} "
            f"({money(_BEFORE.operating_cash, _UNIT)} in {_YEAR - 1}), although we made a loss, since "
            "stock-based compensation needs no cash and customers pay in advance. After purchases of "
            f"equipment and capitalized software, free cash flow was {money(free, _UNIT)}. We believe that "
            "these funds are sufficient for at least twelve months.",
            mark="mdna.liquidity",
        ),
        Heading("Critical Accounting Estimates"),
        Text(
            "Contracts that contain both a subscription and an installation are split by stand-alone "
            "prices, which we estimate from the discounts granted in the last twelve months. We amortize "
            "commissions over five years, the period for which we expect a customer to stay; had we used "
            "four years, the loss of the year would have been about $2.9 million larger."
        ),
    ]


def _notes() -> list[Block]:
    issued = SUNDREVALE.outstanding(_YEAR)[0]
    carried = [SUNDREVALE.years[y].closing["notes"] for y in (_YEAR, _YEAR - 1)]
    later = _NOW.memo["obligations"] - _NOW.memo["obligations_year"]
    return [
        Heading("1. Summary of Significant Accounting Policies"),
        Text(
            "Subscription revenue is recognized ratably over the term of the contract from the day on "
            "which the service is made available. Professional services are recognized as they are "
            "performed. Commissions that are incurred to obtain a contract are capitalized and amortized "
            "over five years. Software development costs are capitalized from the stage of application "
            "development on and amortized over three years."
        ),
        Heading("2. Revenue"),
        regions(),
        Text(
            f"At December 31, {_YEAR} remaining performance obligations were "
            f"{money(_NOW.memo['obligations'], _UNIT)}. We expect to recognize "
            f"{money(_NOW.memo['obligations_year'], _UNIT)} of them within twelve months and "
            f"{money(later, _UNIT)} thereafter. Deferred revenue grew from "
            f"{money(_BEFORE.closing['deferred_revenue'], _UNIT)} to "
            f"{money(_NOW.closing['deferred_revenue'], _UNIT)}.",
            mark="note.obligations",
        ),
        Heading("3. Convertible Senior Notes"),
        Text(
            "In August 2019 we issued 1.25% Convertible Senior Notes due August 15, 2025. They may be "
            "converted at $41.80 per share, are unsecured and were issued without financial covenants."
        ),
        Figures(
            [
                Line("Principal", (cell(issued.principal),) * 2, dollar=True),
                Line(
                    "Unamortized issuance costs", tuple(cell(value - issued.principal) for value in carried)
                ),
                Line("Net carrying amount", tuple(map(cell, carried)), "total", dollar=True),
            ],
            (f"December 31, {_YEAR}", f"December 31, {_YEAR - 1}"),
            mark="note.debt",
        ),
        Heading("4. Leases"),
        lease_maturities(SUNDREVALE, _YEAR, ("lease",)),
        Heading("5. Income Taxes"),
        tax_reconciliation(
            SUNDREVALE,
            _YEAR,
            [("Change in valuation allowance", -198), ("Stock-based compensation", -31)],
            "Foreign taxes and other, net",
        ),
        Heading("6. Restructuring"),
        Text(
            f"On September 14, {_YEAR} the Board approved a plan that ended about 118 positions. Of the "
            f"charge of {money(_NOW.total('opex.restructuring'), _UNIT)}, $1.9 million remained to be paid "
            "at year-end.",
            mark="note.restructuring",
        ),
    ]


def sundrevale_annual() -> Document:
    """Sundrevale's 10-K for 2022."""
    discussion = "Management's Discussion and Analysis of Financial Condition and Results of Operations"
    items = [
        Item("Item 1.", "Business", _business()),
        Item("Item 1A.", "Risk Factors", _risks(), new_page=True),
        Item(
            "Item 2.",
            "Properties",
            [
                Text(
                    "We lease 128,000 square feet in Port Ansley until 2029 and smaller offices in "
                    "Tallinn, Pune and Rotterdam."
                )
            ],
        ),
        Item("Item 3.", "Legal Proceedings", [Text("We are not a party to any material legal proceedings.")]),
        Item(
            "Item 5.",
            "Market for Registrant's Common Equity",
            [
                Text(
                    f"Our Class A common stock is listed on {SUNDREVALE.exchange} under the symbol "
                    f"{SUNDREVALE.ticker}. We have never paid a dividend and do not intend to pay one.",
                    mark="market",
                )
            ],
        ),
        Item("Item 7.", discussion, _discussion(), new_page=True),
    ]
    closing = [
        Item(
            "Item 9A.",
            "Controls and Procedures",
            [Text(f"Our disclosure controls and procedures were effective as of December 31, {_YEAR}.")],
        )
    ]
    return annual_report(SUNDREVALE, _YEAR, Annual(_COVER, items, _notes(), closing))
