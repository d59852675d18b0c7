"""A small quarterly report in inline XBRL, as a filer writes one: contexts and hidden facts in a header."""

from __future__ import annotations

from collections.abc import Mapping

CONTEXTS: Mapping[str, tuple[str, ...]] = {
    "q": ("2024-04-01", "2024-06-30"),
    "ytd": ("2024-01-01", "2024-06-30"),
    "before": ("2023-04-01", "2023-06-30"),
    "now": ("2024-06-30",),
    "lamps": ("2024-04-01", "2024-06-30", "us-gaap:StatementBusinessSegmentsAxis", "acme:DeskLampsMember"),
}


def _context(name: str, start: str, end: str = "", axis: str = "", member: str = "") -> str:
    days = (
        f"<xbrli:startDate>{start}</xbrli:startDate><xbrli:endDate>{end}</xbrli:endDate>"
        if end
        else f"<xbrli:instant>{start}</xbrli:instant>"
    )
    one = f'<xbrldi:explicitMember dimension="{axis}">{member}</xbrldi:explicitMember>'
    segment = f"<xbrli:segment>{one}</xbrli:segment>" if axis else ""
    return (
        f'<xbrli:context id="{name}"><xbrli:entity><xbrli:identifier scheme="http://www.sec.gov/CIK">1'
        f"</xbrli:identifier>{segment}</xbrli:entity><xbrli:period>{days}</xbrli:period></xbrli:context>"
    )


def number(concept: str, context: str, printed: str, said: str = 'scale="6" decimals="-6"') -> str:
    """A tagged number, in US dollars unless ``said`` has a unit."""
    unit = "" if "unitRef" in said else 'unitRef="usd"'
    return (
        f'<ix:nonFraction name="{concept}" contextRef="{context}" {unit} {said} '
        f'format="ixt:num-dot-decimal">{printed}</ix:nonFraction>'
    )


def text(concept: str, printed: str) -> str:
    """A tagged text about the document, of the year to date."""
    return f'<ix:nonNumeric name="dei:{concept}" contextRef="ytd">{printed}</ix:nonNumeric>'


def document(body: str, hidden: str = "") -> bytes:
    """An inline-XBRL document that shows ``body``."""
    contexts = "".join(_context(name, *days) for name, days in CONTEXTS.items())
    usd, shares = (f"<xbrli:measure>{one}</xbrli:measure>" for one in ("iso4217:USD", "xbrli:shares"))
    divided = (
        f"<xbrli:divide><xbrli:unitNumerator>{usd}</xbrli:unitNumerator>"
        f"<xbrli:unitDenominator>{shares}</xbrli:unitDenominator></xbrli:divide>"
    )
    units = (
        f'<xbrli:unit id="usd">{usd}</xbrli:unit><xbrli:unit id="pershare">{divided}</xbrli:unit>'
        '<xbrli:unit id="pure"><xbrli:measure>xbrli:pure</xbrli:measure></xbrli:unit>'
    )
    return (
        '<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml" '
        'xmlns:ix="http://www.xbrl.org/2013/inlineXBRL" xmlns:xbrli="http://www.xbrl.org/2003/instance" '
        'xmlns:xbrldi="http://xbrl.org/2006/xbrldi" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
        f'<head><title>ACME</title></head><body><div style="display:none"><ix:header><ix:hidden>{hidden}'
        f"</ix:hidden><ix:resources>{contexts}{units}</ix:resources></ix:header></div>{body}</body></html>"
    ).encode()


COVER = (
    "<p>UNITED STATES SECURITIES AND EXCHANGE COMMISSION</p><p>Form "
    + text("DocumentType", "10-Q")
    + "</p><p>For the quarterly period ended "
    + text("DocumentPeriodEndDate", "June 30, 2024")
    + "</p><p>"
    + text("EntityRegistrantName", "Acme Lamps, Inc.")
    + "</p><p>Common stock, "
    + text("TradingSymbol", "ACML")
    + '</p><hr style="page-break-after:always"/>'
)
FOCUS = text("DocumentFiscalYearFocus", "2024") + text("DocumentFiscalPeriodFocus", "Q2")

REVENUE = "us-gaap:RevenueFromContractWithCustomerExcludingAssessedTax"


def _row(label: str, *cells: str) -> str:
    return f"<tr><td>{label}</td>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def income(units: str = "(In millions)", heads: tuple[str, str, str] = ("2024", "2023", "2024")) -> str:
    """An income statement of two quarters and a half; what it prints above its columns can be wrong."""
    rows = [
        '<tr><td></td><td colspan="2">Three Months Ended June 30,</td><td>Six Months Ended June 30,</td></tr>',
        _row("", *heads),
        _row("Desk lamps", number(REVENUE, "lamps", "70"), "60", "130"),
        _row(
            "Total net sales",
            number(REVENUE, "q", "110"),
            number(REVENUE, "before", "101"),
            number(REVENUE, "ytd", "210"),
        ),
        _row(
            "Cost of sales",
            f"({number('us-gaap:CostOfRevenue', 'q', '66')})",
            f"({number('us-gaap:CostOfRevenue', 'before', '60')})",
            f"({number('us-gaap:CostOfRevenue', 'ytd', '128')})",
        ),
        _row(
            "Net income",
            number("us-gaap:ProfitLoss", "q", "20"),
            "(" + number("us-gaap:ProfitLoss", "before", "4", 'scale="6" sign="-"') + ")",
            number("us-gaap:ProfitLoss", "ytd", "31"),
        ),
        _row(
            "Earnings per share",
            number("us-gaap:EarningsPerShareBasic", "q", "1.52", 'unitRef="pershare" decimals="2"'),
            "(0.31)",
            "2.36",
        ),
    ]
    return (
        "<p>Acme Lamps, Inc.</p><p>CONSOLIDATED STATEMENTS OF OPERATIONS</p>"
        f"<p>{units}</p><table>{''.join(rows)}</table>"
    )
