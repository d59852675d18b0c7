"""Layout of an annual report on Form 10-K: cover, contents, items, statements, notes, signatures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from finrag_pipeline.sample.company import Company, annual_statement, equity_statement
from finrag_pipeline.sample.content import (
    Block,
    Contents,
    Document,
    Heading,
    PageBreak,
    Pair,
    Ruled,
    RuleLine,
    Space,
    Text,
)
from finrag_pipeline.sample.words import day

FICTITIOUS = (
    "This document is fictitious. It was generated as sample data; the registrant, its officers and its "
    "figures do not exist, and it was never filed with any authority."
)


@dataclass(frozen=True)
class Item:
    """An item of the form: its number, title and what stands under it."""

    number: str
    title: str
    blocks: Sequence[Block]
    new_page: bool = False


@dataclass(frozen=True)
class CoverFacts:
    """What the cover of an annual report says beyond the registrant's identity.

    Args:
        shares: shares outstanding, in units.
        shares_on: date of that count.
        market_value: aggregate market value held by non-affiliates, in words.
        market_on: date of that value.
        signed: date of the signatures.
    """

    shares: int
    shares_on: date
    market_value: str
    market_on: date
    signed: date


@dataclass(frozen=True)
class Annual:
    """Content of one annual report.

    Args:
        cover: facts of the cover.
        items: items before the financial statements.
        notes: notes to the financial statements.
        closing: items after them.
        statements_last: the statements follow the signatures, on pages numbered apart.
    """

    cover: CoverFacts
    items: Sequence[Item]
    notes: Sequence[Block]
    closing: Sequence[Item]
    statements_last: bool = False


def cover_head(form: str, period: str, company: Company) -> list[Block]:
    """The upper part of a cover: authority, form, kind of report, registrant, address."""
    kinds = {
        "10-K": "ANNUAL REPORT PURSUANT TO SECTION 13 OR 15(d) OF THE SECURITIES EXCHANGE ACT OF 1934",
        "10-Q": "QUARTERLY REPORT PURSUANT TO SECTION 13 OR 15(d) OF THE SECURITIES EXCHANGE ACT OF 1934",
        "8-K": "CURRENT REPORT PURSUANT TO SECTION 13 OR 15(d) OF THE SECURITIES EXCHANGE ACT OF 1934",
    }
    blocks: list[Block] = [
        Text(
            "<b>UNITED STATES<br/>SECURITIES AND EXCHANGE COMMISSION</b><br/>Washington, D.C. 20549",
            centred=True,
        ),
        RuleLine(),
        Heading(f"FORM {form}", centred=True),
    ]
    if form == "8-K":
        blocks += [
            Text(f"<b>{kinds[form]}</b>", centred=True),
            Space(4),
            Text(
                f"Date of Report (Date of earliest event reported): <b>{period}</b>",
                centred=True,
                mark="cover.date",
            ),
        ]
    else:
        blocks += [
            Text("(Mark One)", small=True),
            Text(f"☒&nbsp;&nbsp;<b>{kinds[form]}</b>"),
            Text(f"<b>{period}</b>", centred=True),
            Text("or", centred=True),
            Text(
                "☐&nbsp;&nbsp;TRANSITION REPORT PURSUANT TO SECTION 13 OR 15(d) OF THE SECURITIES EXCHANGE "
                "ACT OF 1934"
            ),
        ]
    return [
        *blocks,
        Text(f"Commission file number: {company.file_number}", centred=True),
        Space(4),
        Heading(company.registrant, centred=True),
        Text("(Exact name of registrant as specified in its charter)", centred=True, small=True),
        Pair(
            f"<b>{company.state}</b><br/>(State or other jurisdiction of<br/>incorporation or organization)",
            f"<b>{company.ein}</b><br/>(I.R.S. Employer<br/>Identification No.)",
        ),
        Text(f"{company.street}<br/>{company.city}", centred=True),
        Text("(Address of principal executive offices) (Zip Code)", centred=True, small=True),
        Text(f"Registrant's telephone number, including area code: <b>{company.phone}</b>", centred=True),
        Space(4),
        Text("Securities registered pursuant to Section 12(b) of the Act:", centred=True),
        Ruled(
            ("Title of each class", "Trading symbol", "Name of each exchange on which registered"),
            [(company.par, company.ticker, company.exchange)],
            widths=(2.2, 1.0, 2.0),
            mark="cover.securities",
        ),
    ]


def _cover(company: Company, year: int, facts: CoverFacts) -> list[Block]:
    ended = day(company.year_ends[year])
    return [
        *cover_head("10-K", f"For the fiscal year ended {ended}", company),
        Text("Securities registered pursuant to Section 12(g) of the Act: None", centred=True),
        Text(
            "Indicate by check mark if the registrant is a well-known seasoned issuer, as defined in Rule "
            "405 of the Securities Act. Yes ☒ No ☐",
            small=True,
        ),
        Text(
            "Indicate by check mark whether the registrant (1) has filed all reports required to be filed "
            "by Section 13 or 15(d) of the Securities Exchange Act of 1934 during the preceding 12 months, "
            "and (2) has been subject to such filing requirements for the past 90 days. Yes ☒ No ☐",
            small=True,
        ),
        Text(
            "Indicate by check mark whether the registrant is a large accelerated filer, an accelerated "
            "filer, a non-accelerated filer, a smaller reporting company, or an emerging growth company. "
            "Large accelerated filer ☒ Accelerated filer ☐ Non-accelerated filer ☐ Smaller reporting "
            "company ☐ Emerging growth company ☐",
            small=True,
        ),
        Text(
            "Indicate by check mark whether the registrant is a shell company (as defined in Rule 12b-2 of "
            "the Act). Yes ☐ No ☒",
            small=True,
        ),
        Text(
            f"The aggregate market value of the common stock held by non-affiliates of the registrant as of "
            f"{day(facts.market_on)} was approximately {facts.market_value}.",
            small=True,
            mark="cover.market_value",
        ),
        Text(
            f"As of {day(facts.shares_on)}, there were {facts.shares:,} shares of the registrant's common "
            "stock outstanding.",
            small=True,
            mark="cover.shares",
        ),
        Text(
            "<b>DOCUMENTS INCORPORATED BY REFERENCE:</b> Portions of the registrant's definitive proxy "
            "statement for its annual meeting are incorporated by reference into Part III.",
            small=True,
        ),
        Text(f"<i>{FICTITIOUS}</i>", small=True, centred=True),
    ]


def _items(items: Sequence[Item]) -> list[Block]:
    blocks: list[Block] = []
    for item in items:
        if item.new_page:
            blocks.append(PageBreak())
        blocks += [Heading(f"{item.number} {item.title}", 1, entry=(item.number, item.title)), *item.blocks]
    return blocks


def _audit_report(company: Company, year: int, facts: CoverFacts) -> list[Block]:
    ended = day(company.year_ends[year])
    return [
        Heading("Report of Independent Registered Public Accounting Firm", 2),
        Text(f"To the Shareholders and the Board of Directors of {company.registrant.title()}"),
        Text(
            f"We have audited the accompanying consolidated financial statements of {company.name} as of "
            f"{ended} and the related notes. In our opinion, the financial statements present fairly, in "
            "all material respects, the financial position of the Company at that date, and the results of "
            "its operations and its cash flows for the periods presented, in conformity with U.S. "
            "generally accepted accounting principles. We also have audited the Company's internal control "
            "over financial reporting and expressed an unqualified opinion thereon.",
        ),
        Text(f"/s/ {company.auditor}<br/>{day(facts.signed)}"),
    ]


def _statements(company: Company, year: int, content: Annual) -> list[Block]:
    return [
        *_audit_report(company, year, content.cover),
        annual_statement(company, company.income, year, 3, "income"),
        annual_statement(company, company.comprehensive, year, 3, "comprehensive"),
        PageBreak(),
        annual_statement(company, company.position, year, 2, "position"),
        PageBreak(),
        equity_statement(company, year, 3, "equity"),
        annual_statement(company, company.cash_flows, year, 3, "cash_flows"),
        Text(
            "The accompanying notes are an integral part of these consolidated financial statements.",
            centred=True,
        ),
        Space(12),
        Heading("NOTES TO CONSOLIDATED FINANCIAL STATEMENTS", 1),
        Text(f"<i>{company.note}</i>"),
        *content.notes,
    ]


def _signatures(company: Company, facts: CoverFacts) -> list[Block]:
    blocks: list[Block] = [
        PageBreak(),
        Heading("SIGNATURES", 1, entry=("", "Signatures")),
        Text(
            "Pursuant to the requirements of Section 13 or 15(d) of the Securities Exchange Act of 1934, "
            "the registrant has duly caused this report to be signed on its behalf by the undersigned, "
            "thereunto duly authorized.",
        ),
        Text(f"<b>{company.registrant}</b><br/>Date: {day(facts.signed)}"),
    ]
    for name, title in company.officers:
        blocks += [Space(12), Pair(f"/s/ {name.upper()}<br/>{name}", title)]
    return blocks


def annual_report(company: Company, year: int, content: Annual) -> Document:
    """The 10-K of ``company`` for fiscal ``year``."""
    statements = _statements(company, year, content)
    eight = "Financial Statements and Supplementary Data"
    contents: list[Block] = [
        PageBreak("front"),
        Heading("TABLE OF CONTENTS", 1, centred=True),
        Contents(),
        PageBreak("body"),
    ]
    signatures = _signatures(company, content.cover)
    if content.statements_last:
        pointer = Text("The financial statements follow the signatures and begin on page F-1.")
        body: list[Block] = [
            *_items(content.items),
            *_items([Item("Item 8.", eight, [pointer])]),
            *_items(content.closing),
            *signatures,
            PageBreak("statements"),
            Heading("INDEX TO FINANCIAL STATEMENTS", 1, entry=("", "Consolidated Financial Statements")),
            *statements,
        ]
    else:
        body = [
            *_items(content.items),
            *_items([Item("Item 8.", eight, statements, new_page=True)]),
            *_items(content.closing),
            *signatures,
        ]
    return Document(
        name=f"{company.key}_{year}_10K",
        title=f"{company.registrant} Form 10-K {year}",
        blocks=[*_cover(company, year, content.cover), *contents, *body],
        theme=company.theme,
    )
