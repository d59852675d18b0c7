"""Items 1 to 5 of Torvexley's annual reports: business, risks, properties, proceedings, market."""

from __future__ import annotations

from finrag_pipeline.sample.annual_report import Item
from finrag_pipeline.sample.content import Block, Heading, Ruled, Text
from finrag_pipeline.sample.ledger import allocate
from finrag_pipeline.sample.torvexley import TORVEXLEY
from finrag_pipeline.sample.words import growth, money, moved, per_share, percent, quotient

SEGMENTS = {"flow": "Industrial Flow", "water": "Water Systems", "energy": "Energy Services"}
TARGET = "Talmere Controls"


def acquisition_price() -> int:
    """Cash paid for the business acquired in 2022, net of cash acquired, in millions."""
    return -TORVEXLEY.years[2022].total("inv.acq.")


def business(year: int) -> Item:
    """Item 1."""
    now, before = TORVEXLEY.years[year], TORVEXLEY.years[year - 1]
    share = {key: percent(now.total(f"revenue.{key}"), now.revenue, 0) for key in SEGMENTS}
    injuries = {2022: "0.92", 2023: "0.81"}[year]
    abroad = now.revenue - now.memo["us_sales"]
    news = {
        2022: (
            f"On November 3, 2022 we completed the purchase of {TARGET}, a maker of electric actuators and "
            "leak-detection sensors for municipal water networks, for "
            f"{money(acquisition_price(), 'millions')} net of cash acquired. The business is reported "
            "within Water Systems from that date."
        ),
        2023: (
            f"During 2023 we finished moving the actuator lines of {TARGET}, bought in November 2022, into "
            "our Lower Esk plant, and we closed the Marrowick foundry, whose land and buildings were sold "
            f"in December for {money(now.total('inv.disposals'), 'millions')} together with other idle "
            "equipment."
        ),
    }[year]
    blocks: list[Block] = [
        Text(
            'Torvexley Industries, Inc. ("Torvexley", the "Company", "we" or "our") designs and makes '
            "pumps, valves, seals and the controls that go with them. The Company was founded in 1926 as a "
            "repair shop for mine pumps and was incorporated in Ohio in 1948. Our products move, meter and "
            "contain liquids in chemical plants, food factories, power stations, water works and pipelines "
            "in some 70 countries."
        ),
        Text(news, mark="business.news"),
        Heading("Segments"),
        Text(
            f"<b>Industrial Flow</b> ({share['flow']} of {year} net sales) makes centrifugal and "
            "positive-displacement pumps, control valves and mechanical seals for chemical, food and "
            "general industrial customers. Roughly two fifths of its sales are spare parts and repairs for "
            "equipment already installed, which earn higher margins than new equipment and follow the "
            "cycle less closely."
        ),
        Text(
            f"<b>Water Systems</b> ({share['water']}) supplies booster stations, metering valves, "
            "actuators and monitoring software to water utilities and to the contractors who build for "
            "them. Demand follows municipal budgets, the replacement of aged mains and rules on leakage."
        ),
        Text(
            f"<b>Energy Services</b> ({share['energy']}) overhauls pumps and compressors at power "
            "stations, refineries and pipeline terminals, and rents temporary pumping equipment. Its work "
            "is won by tender and is concentrated in planned outages in spring and autumn."
        ),
        Heading("Customers and Backlog"),
        Text(
            "We sell through our own sales engineers in 24 countries and through about 600 independent "
            "distributors. No customer accounted for more than 6% of net sales in any of the last three "
            f"years. Sales outside the United States were {money(abroad, 'millions')}, or "
            f"{percent(abroad, now.revenue, 0)} of net sales."
        ),
        Text(
            "Backlog, which consists of firm orders not yet shipped, was "
            f"{money(now.memo['backlog'], 'millions')} at December 31, {year}, compared with "
            f"{money(before.memo['backlog'], 'millions')} a year earlier, and "
            f"{moved(now.memo['backlog'], before.memo['backlog'])}. We expect to ship about four fifths of "
            "it within twelve months.",
            mark="business.backlog",
        ),
        Heading("Competition and Raw Materials"),
        Text(
            "Each segment meets a handful of large international rivals and many local shops. Buyers weigh "
            "energy use over the life of the equipment, delivery time, the nearness of a service center "
            "and price. We buy castings, bar stock, motors and electronic components. Nickel, which goes "
            "into our stainless castings, is the material whose price affects us most; about half of our "
            "contracts let us pass on changes in its price after one quarter."
        ),
        Heading("Research and Development"),
        Text(
            f"We spent {money(now.total('opex.rnd'), 'millions')} on research and development in {year} "
            f"({percent(-now.total('opex.rnd'), now.revenue)} of net sales) and "
            f"{money(before.total('opex.rnd'), 'millions')} in {year - 1}, mostly on hermetic pumps "
            "without shaft seals, on valve positioners that report their own wear, and on hydraulic test "
            "loops. We hold about 1,150 patents; none of them is by itself material to the Company."
        ),
        Heading("Human Capital"),
        Text(
            f"At December 31, {year} we employed {now.memo['employees']:,} people, of whom about 44% "
            "worked in the United States. Around 2,300 hourly employees are covered by eleven collective "
            f"agreements, three of which expire in {year + 1}. The rate of recordable injuries was "
            f"{injuries} per 200,000 hours worked.",
            mark="business.employees",
        ),
    ]
    return Item("Item 1.", "Business", blocks)


def risks(year: int) -> Item:
    """Item 1A."""
    now = TORVEXLEY.years[year]
    debt = now.balance(("short_debt", "long_debt"))
    facts = [
        (
            "Our sales depend on the capital budgets of cyclical industries.",
            "Chemical makers, refiners and power producers postpone projects quickly when their margins "
            "fall or credit tightens. New equipment carries lower margins than spare parts, so that a "
            "downturn first hurts volume and later, when our customers run their plants less, our more "
            "profitable after-market business. Municipal customers react more slowly but depend on tax "
            "receipts and on federal programs that may lapse.",
        ),
        (
            "Higher prices of castings, motors and energy may reach us sooner than we can raise our own.",
            "Orders for engineered equipment are priced up to eighteen months before they are delivered. "
            "Only some contracts allow surcharges. In periods of quickly rising input costs our gross "
            "margin has fallen, and it may do so again. Electronic components for positioners and "
            "actuators come from few suppliers, some of whom have put us on allocation.",
        ),
        (
            "We may not gain what we expect from acquisitions and restructuring.",
            f"We have grown in part by buying businesses, most recently {TARGET}. Integration takes "
            "management time, may disturb customers and may show liabilities that we did not find "
            f"beforehand. At December 31, {year} goodwill stood at "
            f"{money(now.closing['goodwill'], 'millions')}, or "
            f"{percent(now.closing['goodwill'], now.balance(TORVEXLEY.chart.assets), 0)} of total assets; "
            "if a reporting unit earned less than planned we might have to write part of it off. Plant "
            "closures cost cash before they save any.",
        ),
        (
            "Our borrowings limit our room for maneuver.",
            f"Total debt was {money(debt, 'millions')} at year-end. Our revolving credit agreement "
            "requires that debt not exceed 3.5 times earnings before interest, taxes, depreciation and "
            "amortization. A breach would let lenders demand repayment and, through cross-default clauses, "
            "affect our senior notes.",
        ),
        (
            "Environmental liabilities may exceed what we have set aside.",
            "We handled solvents, foundry sand and plating baths at sites that we own or once owned. We "
            f"have accrued {money(now.memo['environmental'], 'millions')} for known clean-ups, without "
            "discounting and without counting on insurers. Regulators may ask for more at the Marrowick "
            "site and elsewhere, and rules on fluorinated substances, which are used in some seals, are "
            "becoming stricter.",
        ),
        (
            "A failure of our information systems would disturb production and could expose data of "
            "customers.",
            "Our plants share one enterprise system. Connected valves send operating data from customers' "
            "networks, some of them critical infrastructure. We have been the target of phishing and "
            "ransom attempts, none of which had a material effect, and we insure only part of the possible "
            "loss.",
        ),
        (
            "Changes in exchange rates and trade rules affect our reported results.",
            f"We make about {percent(now.revenue - now.memo['us_sales'], now.revenue, 0)} of our sales "
            "outside the United States, chiefly in euros, pounds sterling and rupees. Tariffs on castings "
            "and on finished valves have changed several times in recent years, sometimes at a few weeks' "
            "notice.",
        ),
        (
            "Warranty and product liability claims could be costly.",
            "A pump that fails may stop a refinery unit or spill a hazardous liquid. We limit our "
            "liability by contract where we can, but some jurisdictions do not recognize such limits. A "
            "small share of our older products contained asbestos gaskets bought from others; claims about "
            "them have been few and are insured.",
        ),
    ]
    blocks: list[Block] = [
        Text(
            "You should consider the following risks together with the other information in this report. "
            "Any of them could materially harm our business, financial condition or results of operations."
        )
    ]
    for title, text in facts:
        blocks += [Text(f"<b><i>{title}</i></b> {text}")]
    return Item("Item 1A.", "Risk Factors", blocks)


def properties(year: int) -> list[Item]:
    """Items 1B to 4."""
    now, before = TORVEXLEY.years[year], TORVEXLEY.years[year - 1]
    sites = [
        ("Dunmere Heights, Ohio", "Headquarters, pump assembly", "Industrial Flow", "612,000", "Owned"),
        ("Lower Esk, Pennsylvania", "Actuators, electronics", "Water Systems", "284,000", "Owned"),
        ("Sable Ridge, Texas", "Overhaul and rental", "Energy Services", "341,000", "Leased"),
        ("Oberlindach, Germany", "Control valves", "Industrial Flow", "398,000", "Owned"),
        ("Kolvadi, India", "Castings, seals", "Industrial Flow", "455,000", "Owned"),
        ("Hethersby, United Kingdom", "Metering valves", "Water Systems", "176,000", "Leased"),
    ]
    if year == 2022:
        sites.insert(3, ("Marrowick, Indiana", "Foundry", "Industrial Flow", "230,000", "Owned"))
    sites_left = {2022: "six", 2023: "five"}[year]
    area = sum(int(site[3].replace(",", "")) for site in sites)
    environmental, earlier = now.memo["environmental"], before.memo["environmental"]
    return [
        Item("Item 1B.", "Unresolved Staff Comments", [Text("None.")]),
        Item(
            "Item 2.",
            "Properties",
            [
                Text(
                    f"Our principal plants and offices at December 31, {year} are listed below. Together "
                    f"they have {area:,} square feet. We believe that they are in good repair and "
                    "sufficient for our needs."
                ),
                Ruled(
                    ("Location", "Use", "Segment", "Square feet", "Owned or leased"),
                    sites,
                    mark="properties",
                    widths=(2.1, 2.1, 1.5, 1.0, 1.0),
                ),
            ],
        ),
        Item(
            "Item 3.",
            "Legal Proceedings",
            [
                Text(
                    "In 2014 a state agency named the Company as the party responsible for "
                    "trichloroethylene found in ground water below the Marrowick foundry. A remedy was "
                    "agreed in 2019 and pumping and treatment began in 2020. Our accrual for this and "
                    f"{sites_left} smaller sites was {money(environmental, 'millions')} at December 31, "
                    f"{year} and {money(earlier, 'millions')} at December 31, {year - 1}. We believe that "
                    "reasonably possible losses above that amount would not exceed $20 million.",
                    mark="legal",
                )
            ],
        ),
        Item("Item 4.", "Mine Safety Disclosures", [Text("Not applicable.")]),
    ]


def market(year: int) -> Item:
    """Item 5."""
    now, before = TORVEXLEY.years[year], TORVEXLEY.years[year - 1]
    spent = -now.total("fin.repurchases")
    quarter = allocate(spent, [30, 26, 24, 20])[-1]
    price = {2022: 61, 2023: 74}[year]
    shares = allocate(int(quotient(quarter * 1_000_000, price, 0)), [40, 35, 25])
    left = 500 + sum(TORVEXLEY.years[y].total("fin.repurchases") for y in range(2020, year + 1))
    rows = [
        (f"{month} 1 - {month} {last}", f"{count:,}", f"${price + step}.{20 + 7 * step}", f"{count:,}")
        for step, (month, last, count) in enumerate(
            zip(("October", "November", "December"), (31, 30, 31), shares, strict=True)
        )
    ]
    rows.append(("Total", f"{sum(shares):,}", "", f"{sum(shares):,}"))
    holders = {2022: "4,212", 2023: "4,087"}[year]
    dividend = per_share(-now.total("fin.dividends"), now.basic)
    earlier = per_share(-before.total("fin.dividends"), before.basic)
    return Item(
        "Item 5.",
        "Market for Registrant's Common Equity, Related Stockholder Matters and Issuer Purchases",
        [
            Text(
                f"Our common stock trades on the {TORVEXLEY.exchange} under the symbol {TORVEXLEY.ticker}. "
                f"On January 31, {year + 1} there were {holders} holders of record. We paid dividends of "
                f"${dividend} per share in {year} and ${earlier} per share in {year - 1}, an increase of "
                f"{growth(int(dividend * 100), int(earlier * 100))}%.",
                mark="market.dividends",
            ),
            Text(
                f"We bought back shares for {money(spent, 'millions')} in {year}. Purchases in the fourth "
                f"quarter are shown below. At December 31, {year}, {money(left, 'millions')} remained of "
                "the $500 million that the Board authorized at the end of 2019."
            ),
            Ruled(
                (
                    "Period",
                    "Total shares purchased",
                    "Average price paid per share",
                    "Purchased under the program",
                ),
                rows,
                mark="market.repurchases",
                widths=(1.7, 1.2, 1.3, 1.3),
                total=True,
            ),
        ],
    )
