"""Torvexley's quarterly report for the second quarter of 2023 and its current report of November 2022."""

from __future__ import annotations

from finrag_pipeline.sample.annual_report import FICTITIOUS, Item, cover_head
from finrag_pipeline.sample.company import lines
from finrag_pipeline.sample.content import (
    Block,
    Contents,
    Document,
    Figures,
    Heading,
    Line,
    PageBreak,
    Pair,
    Ruled,
    Space,
    Text,
)
from finrag_pipeline.sample.torvexley import TORVEXLEY
from finrag_pipeline.sample.torvexley_annual import margin
from finrag_pipeline.sample.torvexley_books import HALF_2022, HALF_2023, SECOND_2022, SECOND_2023
from finrag_pipeline.sample.torvexley_business import SEGMENTS, TARGET, acquisition_price
from finrag_pipeline.sample.words import cell, growth, money, moved, percent

_UNIT = TORVEXLEY.unit
CLOSURE_COST = "$60 million to $65 million"
NEW_PRESIDENT = "Anselm T. Rourke"
_FOUR = ("2023", "2022", "2023", "2022")
_SPANS = (("Three months ended June 30,", 2), ("Six months ended June 30,", 2))


def _statements() -> list[Block]:
    four = [SECOND_2023, SECOND_2022, HALF_2023, HALF_2022]
    title, note = TORVEXLEY.registrant, TORVEXLEY.note

    def name(statement: str) -> tuple[str, str]:
        return title, f"CONDENSED {statement.upper()} (Unaudited)"

    return [
        Figures(
            lines(TORVEXLEY.income.rows, four), _FOUR, _SPANS, name(TORVEXLEY.income.title), note, "income"
        ),
        PageBreak(),
        Figures(
            lines(TORVEXLEY.position.rows, [HALF_2023, TORVEXLEY.years[2022]]),
            ("June 30, 2023", "December 31, 2022"),
            (),
            name(TORVEXLEY.position.title),
            "(in millions)",
            "position",
        ),
        PageBreak(),
        Figures(
            lines(TORVEXLEY.cash_flows.rows, [HALF_2023, HALF_2022]),
            ("2023", "2022"),
            (("Six months ended June 30,", 2),),
            name(TORVEXLEY.cash_flows.title),
            "(in millions)",
            "cash_flows",
        ),
    ]


def _segments() -> Figures:
    periods = (SECOND_2023, SECOND_2022, HALF_2023, HALF_2022)
    printed = [
        Line(name, tuple(cell(p.total(f"revenue.{key}")) for p in periods), dollar=key == "flow")
        for key, name in SEGMENTS.items()
    ]
    printed.append(Line("Net sales", tuple(cell(p.revenue) for p in periods), "total", dollar=True))
    return Figures(printed, _FOUR, _SPANS, note="(in millions)", mark="segments")


def _discussion() -> list[Block]:
    new, old = SECOND_2023, SECOND_2022
    cost = -new.total("opex.restructuring")
    backlog = HALF_2023.memo["backlog"]
    return [
        Text(
            f"Net sales of the second quarter {moved(new.revenue, old.revenue)} to "
            f"{money(new.revenue, _UNIT)} from {money(old.revenue, _UNIT)} a year earlier. Without "
            f"{TARGET}, which we bought in November 2022, they would have risen by about 1%. Water Systems "
            f"{moved(new.total('revenue.water'), old.total('revenue.water'), 'grew', 'fell')}; Energy "
            f"Services {moved(new.total('revenue.energy'), old.total('revenue.energy'), 'grew', 'fell')} "
            "as two refineries postponed their spring outages into the autumn.",
            mark="mdna.sales",
        ),
        Text(
            f"Gross profit was {margin(new)} of net sales in the quarter, against {margin(old)} in the "
            f"second quarter of 2022. Operating income {moved(new.operating_income, old.operating_income)} "
            f"to {money(new.operating_income, _UNIT)}, after restructuring charges of {money(cost, _UNIT)}.",
            mark="mdna.margin",
        ),
        Text(
            "In May 2023 the Board approved the closure of the Marrowick foundry, which employs 212 "
            f"people. We expect total charges of {CLOSURE_COST}, of which "
            f"{money(HALF_2023.total('opex.restructuring'), _UNIT)} were recorded in the first half, and "
            "annual savings of about $24 million from 2025 on.",
            mark="mdna.restructuring",
        ),
        Text(
            "The effective tax rate of the first half was "
            f"{percent(-HALF_2023.total('tax.'), HALF_2023.pretax)}, compared with "
            f"{percent(-HALF_2022.total('tax.'), HALF_2022.pretax)} in the first half of 2022. Backlog at "
            f"June 30, 2023 was {money(backlog, _UNIT)}, {growth(backlog, HALF_2022.memo['backlog'])}% "
            "more than a year before.",
            mark="mdna.backlog",
        ),
        Heading("Liquidity and Capital Resources"),
        Text(
            f"Operating activities provided {money(HALF_2023.operating_cash, _UNIT)} in the first six "
            f"months ({money(HALF_2022.operating_cash, _UNIT)} in 2022). We repaid the 2.85% notes of "
            f"{money(HALF_2023.total('fin.repaid'), _UNIT)} when they fell due in April. Cash fell to "
            f"{money(HALF_2023.closing['cash'], _UNIT)}; the revolving credit facility of $600 million "
            "remained unused.",
            mark="mdna.liquidity",
        ),
    ]


def torvexley_quarterly() -> Document:
    """Torvexley's 10-Q for the quarter ended June 30, 2023."""
    items = [
        Item("Item 2.", "Management's Discussion and Analysis", _discussion()),
        Item(
            "Item 4.",
            "Controls and Procedures",
            [
                Text(
                    f"Disclosure controls and procedures were effective as of June 30, 2023. {TARGET} was "
                    "brought into our system of internal control in the quarter."
                )
            ],
        ),
        Item(
            "Item 6.",
            "Exhibits",
            [
                Ruled(
                    ("Exhibit", "Description"),
                    [
                        ("10.1", "Retirement agreement of the president of Energy Services"),
                        ("31, 32", "Certifications of the chief executive and chief financial officers"),
                    ],
                    widths=(0.6, 4),
                )
            ],
        ),
    ]
    body: list[Block] = []
    for item in items:
        body += [Heading(f"{item.number} {item.title}", 1, entry=(item.number, item.title)), *item.blocks]
    notes: list[Block] = [
        PageBreak(),
        Heading("NOTES TO CONDENSED CONSOLIDATED FINANCIAL STATEMENTS", 1),
        Text(
            "The statements are unaudited and omit some disclosures that annual statements contain. In the "
            "opinion of management all adjustments needed for a fair presentation have been made; they are "
            "of a normal, recurring kind. Results of the first half do not foretell those of the year, "
            "since Energy Services works mostly in spring and autumn."
        ),
        Heading("Note A. Net Sales by Segment"),
        _segments(),
    ]
    officer = TORVEXLEY.officers[2]
    blocks: list[Block] = [
        *cover_head("10-Q", "For the quarterly period ended June 30, 2023", TORVEXLEY),
        Text(
            "Indicate by check mark whether the registrant is a large accelerated filer, an accelerated "
            "filer, a non-accelerated filer, a smaller reporting company, or an emerging growth company. "
            "Large accelerated filer ☒ Accelerated filer ☐",
            small=True,
        ),
        Text(
            "As of July 21, 2023, there were 88,861,027 shares of common stock outstanding.",
            small=True,
            mark="cover.shares",
        ),
        Text(f"<i>{FICTITIOUS}</i>", small=True, centred=True),
        PageBreak("front"),
        Heading("TABLE OF CONTENTS", 1, centred=True),
        Contents(),
        PageBreak("body"),
        Heading("PART I. Item 1. Financial Statements", 1, entry=("Item 1.", "Financial Statements")),
        *_statements(),
        *notes,
        *body,
        Space(10),
        Heading("SIGNATURE"),
        Text(
            "Pursuant to the requirements of the Securities Exchange Act of 1934, this report has been "
            "signed by:"
        ),
        Pair(f"/s/ {officer[0].upper()}<br/>{officer[0]}<br/>{officer[1]}", "July 26, 2023"),
    ]
    return Document("TORVEXLEY_2023Q2_10Q", f"{TORVEXLEY.registrant} Form 10-Q", blocks, TORVEXLEY.theme)


def torvexley_current() -> Document:
    """Torvexley's 8-K of November 3, 2022 on its acquisition, with the press release as an exhibit."""
    price = money(acquisition_price(), _UNIT)
    notes = next(i for i in TORVEXLEY.instruments if i.issued == 2022)
    chief, finance, _ = TORVEXLEY.officers
    blocks: list[Block] = [
        *cover_head("8-K", "November 3, 2022", TORVEXLEY),
        Text(
            "Check the appropriate box below if the Form 8-K filing is intended to simultaneously satisfy "
            "the filing obligation of the registrant: ☐ Written communications pursuant to Rule 425 ☐ "
            "Soliciting material pursuant to Rule 14a-12",
            small=True,
        ),
        Text(f"<i>{FICTITIOUS}</i>", small=True, centred=True),
        PageBreak("body"),
        Heading("Item 2.01 Completion of Acquisition or Disposition of Assets."),
        Text(
            "On November 3, 2022, Torvexley Industries, Inc. completed the acquisition of all outstanding "
            f"shares of {TARGET}, Inc., of Aldersey Falls, Vermont, under the stock purchase agreement "
            f"dated September 12, 2022. The price paid at closing was {price}, net of cash acquired, and "
            "is subject to an adjustment for working capital within ninety days.",
            mark="item.acquisition",
        ),
        Heading("Item 2.03 Creation of a Direct Financial Obligation."),
        Text(
            f"The price was paid from the proceeds of {money(notes.principal, _UNIT)} of "
            f"{notes.name.lower()}, which the Company sold on September 28, 2022. Interest is payable on "
            "April 1 and October 1. If both rating agencies lower their ratings below investment grade "
            "after a change of control, holders may demand repayment at 101% of principal.",
            mark="item.obligation",
        ),
        Heading("Item 5.02 Appointment of Certain Officers."),
        Text(
            f"Upon closing, Mr. {NEW_PRESIDENT}, until then chief executive of {TARGET}, was appointed "
            "president of the Water Systems segment. He succeeds Ms. Beatrix Oyelowo-Lund, who retires on "
            "December 31, 2022 and will advise the Company until June 30, 2023.",
            mark="item.officers",
        ),
        Heading("Item 9.01 Financial Statements and Exhibits."),
        Ruled(
            ("Exhibit", "Description"),
            [
                ("2.1", "Stock Purchase Agreement dated September 12, 2022"),
                ("99.1", "Press release dated November 3, 2022"),
            ],
            widths=(0.6, 4),
        ),
        Heading("SIGNATURE"),
        Text(
            f"{TORVEXLEY.registrant}<br/>Date: November 3, 2022<br/>By: /s/ "
            f"{finance[0].upper()}<br/>{finance[0]}, {finance[1]}"
        ),
        PageBreak(),
        Text("<b>Exhibit 99.1</b>"),
        Heading("Torvexley Completes Purchase of Talmere Controls", 1, centred=True),
        Text(
            f"DUNMERE HEIGHTS, Ohio, November 3, 2022. Torvexley Industries, Inc. ({TORVEXLEY.exchange}: "
            f"{TORVEXLEY.ticker}) today completed its purchase of {TARGET} for {price}, net of cash "
            f"acquired. {TARGET} makes electric actuators and sensors that find leaks in water mains. It "
            "has about 480 employees and expects sales of some $140 million in 2022."
        ),
        Text(
            f'"Water utilities lose a fifth of what they pump," said {chief[0]}, {chief[1].lower()}. "With '
            'these sensors and our valves we can find a leak and shut it off before anyone digs."'
        ),
        Text(
            "Torvexley expects savings of $15 million a year by 2025, half of them from common purchasing, "
            "and a slight dilution of earnings per share in 2022 because of transaction costs of about $6 "
            "million.",
            mark="release.savings",
        ),
        Text(
            "Statements about savings and earnings are forward-looking. Actual results may differ for the "
            "reasons given in the Company's annual report."
        ),
    ]
    return Document(
        "TORVEXLEY_2022_8K_dated-2022-11-03", f"{TORVEXLEY.registrant} Form 8-K", blocks, TORVEXLEY.theme
    )
