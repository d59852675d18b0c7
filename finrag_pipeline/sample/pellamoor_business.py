"""Items 1 to 5 of Pellamoor's annual reports: business, risks, properties, proceedings, market."""

from __future__ import annotations

from finrag_pipeline.sample.annual_report import Item
from finrag_pipeline.sample.content import Block, Heading, Ruled, Text
from finrag_pipeline.sample.pellamoor import PELLAMOOR
from finrag_pipeline.sample.words import day, money, per_share, percent, quotient, word

CATEGORIES = {
    "fresh": "Fresh and perishable",
    "grocery": "Center-store grocery",
    "prepared": "Prepared foods and bakery",
}
SUIT = {
    2022: "The court certified the class in February 2022 and a trial is set for January 2023.",
    2023: (
        "The parties settled in March 2023 for $4.6 million, which was paid before year-end and is "
        "included in general and administrative expenses."
    ),
}
_UNIT = PELLAMOOR.unit


def tenths(value: int) -> str:
    """A figure kept in tenths of a percent."""
    return f"{quotient(value, 10, 1)}%"


def store_table(year: int) -> Ruled:
    """Number of stores over three fiscal years."""
    periods = [PELLAMOOR.years[y] for y in range(year, year - 3, -1)]
    start = [p.memo["stores"] - p.memo["stores_opened"] + p.memo["stores_closed"] for p in periods]
    rows = [
        ("Stores at beginning of fiscal year", *(str(value) for value in start)),
        ("Stores opened", *(str(p.memo["stores_opened"]) for p in periods)),
        ("Stores closed", *(f"({p.memo['stores_closed']})" for p in periods)),
        ("Stores at end of fiscal year", *(str(p.memo["stores"]) for p in periods)),
        ("Gross square feet at year-end (thousands)", *(f"{p.memo['square_feet']:,}" for p in periods)),
    ]
    header = ("", *(f"Fiscal {y}" for y in range(year, year - 3, -1)))
    return Ruled(header, rows, mark="stores", widths=(2.6, 1, 1, 1))


def category_table(year: int) -> Ruled:
    """Net sales by category over three fiscal years, with shares of the total."""
    years = range(year, year - 3, -1)
    rows = []
    for key, name in CATEGORIES.items():
        row = [name]
        for y in years:
            period = PELLAMOOR.years[y]
            amount = period.total(f"revenue.{key}")
            row += [f"${amount:,}", percent(amount, period.revenue)]
        rows.append(tuple(row))
    total = ["Net sales"]
    for y in years:
        total += [f"${PELLAMOOR.years[y].revenue:,}", "100.0%"]
    header = ["(in thousands)"]
    for y in years:
        header += [f"Fiscal {y}", "% of sales"]
    return Ruled(
        tuple(header),
        [*rows, tuple(total)],
        mark="categories",
        widths=(1.9, 1.1, 0.8, 1.1, 0.8, 1.1, 0.8),
        total=True,
    )


def business(year: int) -> Item:
    """Item 1."""
    now = PELLAMOOR.years[year]
    label = tenths(now.memo["private_label_tenths"])
    wage = {2022: "$15.25", 2023: "$16.00"}[year]
    plan = {
        2022: "nine to eleven stores in fiscal 2023, among them our first two in the Richmond area",
        2023: "six to eight stores in fiscal 2024, fewer than in the year just ended",
    }[year]
    blocks: list[Block] = [
        Text(
            "Pellamoor Provisions Co. runs neighborhood food stores in six Mid-Atlantic states under the "
            "names Pellamoor Market and Pellamoor Pantry. Our first store opened in 1971 in a former ferry "
            "warehouse. We sell produce, meat and fish from regional farms and boats next to ordinary "
            "packaged groceries, in stores that are about half as large as a conventional supermarket."
        ),
        Text(
            f"Our fiscal year ends on the last Saturday of June. Fiscal {year} ended on "
            f"{day(PELLAMOOR.year_ends[year])} and, like the two years before it, had 52 weeks. At the end "
            f"of fiscal {year} we operated {now.memo['stores']} stores.",
            mark="business.stores",
        ),
        store_table(year),
        Heading("What We Sell"),
        Text(
            "We report a single segment, since all stores share suppliers, warehouses and customers of one "
            "kind. The table below divides our sales into three categories."
        ),
        category_table(year),
        Text(
            f"Products under our own labels, Ferry Road and Kitchen Almanac, made up {label} of net sales "
            f"in fiscal {year} ({tenths(PELLAMOOR.years[year - 1].memo['private_label_tenths'])} in fiscal "
            f"{year - 1}). They cost the customer less than national brands and earn us roughly six points "
            "more margin.",
            mark="business.private_label",
        ),
        Heading("Supply and Distribution"),
        Text(
            "Two distribution centers, in Maryland and in southern New Jersey, deliver to every store at "
            "least five times a week. A single wholesaler, with which we have a contract until June 2026, "
            "supplied about 31% of the goods that we bought; we could replace it, but not without "
            "disruption. We buy from some 420 farms and fishing boats directly, on terms that are renewed "
            "every season."
        ),
        Heading("Growth"),
        Text(
            "A new store costs about $6.2 million to equip and reaches its mature level of sales in its "
            f"fourth year. We plan to open {plan}. Sites are leased for fifteen years on average, with "
            "options to extend.",
            mark="business.growth",
        ),
        Heading("Associates"),
        Text(
            f"We had about {now.memo['associates']:,} associates at year-end, 58% of them part-time. The "
            f"starting wage in our stores was raised to {wage} an hour in the course of the year. None of "
            "our associates is represented by a union, though petitions have been filed at two stores.",
            mark="business.associates",
        ),
        Heading("Competition and Regulation"),
        Text(
            "Food retailing is crowded. We meet national supermarket chains, warehouse clubs, discounters "
            "that have enlarged their fresh assortments, delivery services and restaurants. Our stores "
            "hold licenses for food handling, for scales and in most states for beer and wine, all of "
            "which are renewed yearly."
        ),
    ]
    return Item("Item 1.", "Business", blocks)


def risks(year: int) -> Item:
    """Item 1A."""
    now = PELLAMOOR.years[year]
    facts = [
        (
            "Shoppers can easily go elsewhere.",
            "Price comparisons take seconds and loyalty is thin. If competitors cut prices, open near our "
            "stores or copy our assortment of local foods, we may lose sales or have to accept a lower "
            f"gross margin, which was {percent(now.gross_profit, now.revenue)} of sales in fiscal {year}.",
        ),
        (
            "Food prices move in both directions and both can hurt us.",
            "When wholesale prices rise quickly we may not be able to pass the increase on at once; when "
            "they fall, the value of each basket falls with them while rents and wages do not.",
        ),
        (
            "New stores may disappoint.",
            "A store that opens late, in the wrong place or too near to another of ours earns less than "
            "planned. We test stores for impairment every quarter and have written down several of them in "
            "recent years.",
        ),
        (
            "We depend on two distribution centers and one principal wholesaler.",
            "A fire, a flood, a strike of drivers or a failure of refrigeration at either center would "
            "leave shelves empty within two days. Our insurance covers spoiled goods but not lost custom.",
        ),
        (
            "Contaminated food could injure customers and our name.",
            "Prepared foods are handled by many people. Recalls of leafy greens and soft cheese have "
            "affected us in the past. We trace every delivery by lot, but cannot exclude that unsafe food "
            "is sold.",
        ),
        (
            "Wages, health care and the minimum wage are rising.",
            "Labor is our largest expense after the goods themselves. Statutory minimum wages rise every "
            "year in four of the six states in which we operate.",
        ),
        (
            "Our leases commit us for many years.",
            f"Operating lease liabilities were {money(now.balance(('lease_current', 'lease')), _UNIT)} at "
            "year-end. When we close a store before its lease ends we usually go on paying rent.",
        ),
        (
            "Card data and wages are processed by systems that criminals attack.",
            "A breach at us or at a payment processor could bring fines, suits and the loss of customers' "
            "confidence. We encrypt card numbers at the terminal and rehearse recovery twice a year.",
        ),
    ]
    blocks: list[Block] = [Text("The order in which these risks appear does not express their importance.")]
    blocks += [Text(f"<b>{title}</b> {text}") for title, text in facts]
    return Item("Item 1A.", "Risk Factors", blocks, new_page=True)


def properties(year: int) -> list[Item]:
    """Items 1B to 5."""
    now, before = PELLAMOOR.years[year], PELLAMOOR.years[year - 1]
    shares = {"Maryland": 38, "Virginia": 27, "New Jersey": 26, "Pennsylvania": 23, "Delaware": 12}
    states = {**shares, "West Virginia": now.memo["stores"] - sum(shares.values())}
    dividend = per_share(-now.total("fin.dividends"), now.basic)
    holders = {2022: 1_318, 2023: 1_274}[year]
    left = 170_000 + sum(PELLAMOOR.years[y].total("fin.repurchases") for y in range(2021, year + 1))
    return [
        Item("Item 1B.", "Unresolved Staff Comments", [Text("None.")]),
        Item(
            "Item 2.",
            "Properties",
            [
                Text(
                    f"We own {word(9)} of our {now.memo['stores']} stores and lease the others. Both "
                    "distribution centers (412,000 and 287,000 square feet) and the head office are "
                    f"leased. Stores at {day(PELLAMOOR.year_ends[year])} by state:"
                ),
                Ruled(
                    ("State", "Stores"),
                    [
                        *((state, str(count)) for state, count in states.items()),
                        ("Total", str(sum(states.values()))),
                    ],
                    mark="properties",
                    widths=(3, 1),
                    total=True,
                ),
            ],
        ),
        Item(
            "Item 3.",
            "Legal Proceedings",
            [
                Text(
                    "In 2020 former assistant managers sued us in a federal court in Maryland for unpaid "
                    f"overtime. {SUIT[year]} We are party to other suits that arise in the ordinary course "
                    "of business, none of which we expect to be material.",
                    mark="legal",
                )
            ],
        ),
        Item(
            "Item 5.",
            "Market for Registrant's Common Equity and Related Stockholder Matters",
            [
                Text(
                    f"Our common stock is listed on {PELLAMOOR.exchange} under the symbol "
                    f"{PELLAMOOR.ticker}. There were {holders:,} holders of record in August {year}. "
                    f"Dividends paid in fiscal {year} came to ${dividend} per share. During the year we "
                    f"repurchased stock for {money(now.total('fin.repurchases'), _UNIT)} (fiscal "
                    f"{year - 1}: {money(before.total('fin.repurchases'), _UNIT)}); {money(left, _UNIT)} "
                    "remained under the program of July 2020.",
                    mark="market",
                )
            ],
        ),
    ]
