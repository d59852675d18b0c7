"""What a cell counts: money, money per share, shares, per cent, ratios or things."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from finrag_pipeline.tables.scale import without_scale
from finrag_pipeline.tables.values import INVISIBLE, ParsedValue

Unit = Literal["currency", "currency/share", "shares", "percent", "ratio", "count"]

_PER = r"per[\s-](?:[a-z]+[\s-]){0,3}?(?:shares?|units?|ads|adss|warrants?|options?)\b"
_PER_SHARE = re.compile(
    rf"\b{_PER}|\beps\b|\b(?:exercise|conversion|strike|grant[\s-]date|closing|stock|share) prices?\b"
    r"|\bprices? paid\b|\bprice range\b|\b(?:grant|fair)[\s-](?:date )?(?:fair )?value per\b"
    r"|grant[\s-]date fair values?$|\bweighted[\s-]average grant[\s-]date fair value"
    r"|\(in (?:u\.?s\.? )?dollars per share\)",
    re.IGNORECASE,
)
# 'Shares used in computing earnings per share' counts shares.
_SHARES = re.compile(
    r"\bshares? (?:used|outstanding|counts?)\b|\bnumber of (?:\w+ ){0,3}?(?:shares|options|awards|units"
    r"|rsus|warrants)\b|\bdenominator\b"
    r"|\b(?:average|diluted|basic|equivalent|dilutive|potential|incremental) (?:\w+ ){0,4}?shares\b"
    r"|\bshares (?:of (?:common|preferred|capital) stock )?(?:issued|outstanding|authorized)\b"
    r"(?! (?:for|under)\b)"
    r"|\bin shares\b|\(shares\)"
    r"|\bweighted[\s-]average (?:\w+ ){0,5}?(?:shares?|stock|units)(?: \w+){0,2} outstanding\b"
    r"|\btotal shares\b|^(?:common )?shares at (?:period|year)[\s-]end\b"
    r"|^shares of common stock(?: (?:re)?purchased| acquired| issued)?$"
    r"|\b(?:dilutive|dilution)\b.*\b(?:awards?|options?|units?|rsus?|psus?|sars|warrants?|securities|plans)\b"
    r"|\b(?:average|diluted|basic) (?:\w+ ){0,3}?outstanding\b|\bweighted[\s-]average (?:common )?shares\b",
    re.IGNORECASE,
)
_MONEY_PER_SHARE = re.compile(
    r"\b(?:earnings|income|loss|dividends?|price|value|eps|cost|proceeds|distributions?)\b", re.IGNORECASE
)
_DENOMINATOR = re.compile(
    r"\bdenominator\b|^(?:weighted[\s-])?average\b.*\bshares\b|^shares used\b"
    r"|\banti-?dilutive\b",
    re.IGNORECASE,
)
_NUMERATOR = re.compile(
    r"\bnumerator\b|^(?:net |adjusted )?(?:income|earnings|loss)\b.*\b(?:used (?:in|to|for)|on which)\b",
    re.IGNORECASE,
)
_SHARES_ALONE = re.compile(
    r"^(?:(?:common|preferred|treasury|ordinary|restricted|deferred|unvested|non-?vested|class [a-z]"
    r"|(?:performance|time|service|market)(?:[\s-](?:based|vested))?) )*(?:shares|(?:stock )?options"
    r"|rsus|psus|(?:stock|share|stock unit|option|equity) awards"
    r"|share units|stock units|units|awards)(?: \([\w\s]+\)| purchased| repurchased| acquired| withheld)?$",
    re.IGNORECASE,
)
_STOCK_VALUE = re.compile(
    r"\b(?:stock|shares?)\b.*(?:authorized|issued|outstanding|par value|stated value|no par|at cost).*\d"
    r"|\b(?:common|preferred|preference|capital|ordinary) (?:stock|shares?)\b.*[$€£]\s?[\d.,]+ "
    r"(?:par|stated) value(?!.*\bshares? (?:issued|authorized|outstanding)$)"
    r"|\b(?:treasury|repurchased|reacquired) (?:stock|shares?)\b.*\bat (?:\w+ )?cost\b(?! per)"
    r"|\bpaid[\s-]in\b",
    re.IGNORECASE,
)
# '4.5% notes due 2030' are money.
# 'Q3 Percent' and '2031 % Change' are not.
_PERCENT = re.compile(
    r"(?:(?<!\d)(?<!\d\s)|(?<=\bq[1-4]\s)|(?<=\b(?:19|20)\d\d\s))"
    r"(?:%|\bper\s?cent(?:age)?\b|\bpct\b)(?![\s-]points?)",
    re.IGNORECASE,
)
RATE = re.compile(
    r"\b(?:tax|discount|interest|growth|yield|coupon|return|volatility|dividend|expected|occupancy|trend"
    r"|utilization|turnover) "
    r"(?:rates?|yield)\b|\bexpected volatility\b|\brate of return\b|\brate of (?:increase|compensation)\b",
    re.IGNORECASE,
)
_RATIO = re.compile(
    r"\bratios?\b|\bmultiple of\b|\bturns\b"
    r"|\b(?:debt|leverage|liabilities|borrowings|assets|loans|ebitda)[\s-]to[\s-](?:equity|ebitda|capital)\b",
    re.IGNORECASE,
)
# Things nobody counts in thousands without saying so beside the word itself.
_COUNT = re.compile(
    r"^(?:current )?ages?(?: \([^)]*\)| at [\w ,.]+)?$|\bvotes\b(?! per)|\bnon-?votes?\b"
    r"|^(?:total |number of )?(?:persons|people)\b"
    r"|\bnumber of\b|\bhead\s?count\b|^(?:total |full[\s-]time |regular |u\.s\. )*(?:employees"
    r"|associates)\b(?! (?!as of\b|at\b)[a-z])"
    r"|\b(?:stores?|restaurants?|hotels?|clubs|aircraft|countries|locations|warehouses|facilities) (?:open"
    r"|at|opened|closed|operated)\b"
    r"|\bstores$|\b(?:store|unit|club|restaurant|room|branch) counts?\b|\bdeliveries$"
    r"|\b(?:in|of) (?:years|months|days|weeks)\b|\(years\)"
    r"|\(days\)|\(months\)|\(weeks\)"
    r"|\b(?:expected|contractual|remaining|average|useful|estimated) (?:\w+ ){0,3}?(?:life|lives|term"
    r"|terms)\b(?! loans?)"
    r"|\bdays (?:sales|payable|inventory|outstanding|of)\b|\bsquare f(?:ee|oo)t(?:age)?\b",
    re.IGNORECASE,
)
_SCALED_COUNT = re.compile(
    r"(?:(?:total|paid|free|net|average|active|retail|ending|beginning|wireless"
    r"|broadband) )*(?:memberships?|subscribers?|members"
    r"|customers|connections|subscriptions|active accounts|visits|payment transactions|units sold|tons"
    r"|tonnes|barrels|gallons)"
    r"(?: (?:at|additions|\(|end|volumes?).*)?$",
    re.IGNORECASE,
)
# What a ratio of earnings per share is divided by; other ratios have amounts there.
_DIVISOR = re.compile(r"\bdenominator\b", re.IGNORECASE)
_DIVISOR_SHARES = re.compile(
    r"\b(?:shares?|stock|options?|awards?|rsus?|warrants?|units?|basic|dilut\w+|anti-?dilutive)\b",
    re.IGNORECASE,
)
UNIT_VALUE = re.compile(r"\b(?:fair value|prices?)\b", re.IGNORECASE)
"""Above prices in a table of awards: the value of one."""
_PERCENT_HEAD = re.compile(
    r"^(?:as an? )?(?:percent(?:age)?s?|%) (?:of|to|change|growth|increase)\b"
    r"|\b(?:percent(?:age)?|%) (?:change|growth|of (?:total |net |operating )*(?:sales|revenues?))\W*$",
    re.IGNORECASE,
)
_AWARDS_LEFT_OUT = re.compile(
    r"\banti-?dilutive\b|\bexcluded from\b.*\b(?:dilut\w+|per share)\b", re.IGNORECASE
)
_AWARD_CHANGES = re.compile(
    r"(?:options? |awards? |shares? |units? |rsus? |psus? )*"
    r"(?P<what>granted|vested|exercised|forfeited|cancell?ed|expired)\b",
    re.IGNORECASE,
)
# Columns of a table of votes.
_BALLOT = re.compile(r"(?:for|against|abstain(?:ed)?|abstentions?|withh(?:eld|old))", re.IGNORECASE)
_EXCEPTION = re.compile(r"[\s,(]*\bexcept(?:ing|\s+for)?\b.*", re.IGNORECASE | re.DOTALL)
_PER_SHARE_HEAD = re.compile(rf"^{_PER}|\b{_PER}(?: (?:data|amounts?|information))?\s*:?$", re.IGNORECASE)
_DEDUCTED = re.compile(r"less\b", re.IGNORECASE)
_SHARE_PRICE = re.compile(r"\b(?:book value|dividends?|high|low|closing|prices?)\b", re.IGNORECASE)
# Columns of a statement of equity that hold no shares.
_EQUITY = re.compile(r"\bpaid[\s-]in\b|\bretained (?:earnings|income)\b|\baccumulated\b", re.IGNORECASE)
_SPAN = re.compile(r"\((?:in )?(?:years|months|days|weeks)\)", re.IGNORECASE)
_MATURITIES = re.compile(r"\bmaturities\b", re.IGNORECASE)
_COUNTS = re.compile(r"\b(?:store|unit|club|restaurant|room|branch) counts?\b", re.IGNORECASE)
# Words of amounts of money.
MONEY = re.compile(
    r"\bamounts?\b|\b(?:intrinsic|carrying|fair|market|dollar|notional|aggregate|book|contract) values?\b"
    r"|\bcosts?\b|\bdollars?\b"
    r"|\b(?:revenues?|sales|expenses?|assets|income|payments|proceeds)\b|[$€£]",
    re.IGNORECASE,
)
_MONEY_OF = re.compile(
    r"\bvalue of\b|\bcosts? (?:of|per)\b|\bamount\b|\bintrinsic value\b|\bproceeds\b", re.IGNORECASE
)
# 'Dividends declared ($0.48 per share)' and 'Dividends ($0.48 declared per share)' are the sum paid.
_QUOTED = re.compile(
    r"\(?[$€£¢]\s?[\d.,]+\s*(?:cents )?(?:(?:(?:declared|paid) )?per|a)\b[^)]*\)?", re.IGNORECASE
)
_MARK = re.compile(r"(?:\s*\(\w\))+$")
_EPS = re.compile(r"\beps\b", re.IGNORECASE)
_UNFINISHED = re.compile(r"\b(?:of|per|average|for|exercise|grant|date|as)$|-$", re.IGNORECASE)
# A yield, a margin, something to something else.
RATE_LIKE = re.compile(
    r"\b(?:rates?|ratios?|yields?|margins?|returns?|percentage)\b|\bto (?:average|period|total|net"
    r"|retained)\b",
    re.IGNORECASE,
)
_PER_UNIT = re.compile(r"\bper (?!cent)[a-z]", re.IGNORECASE)
_LARGEST_RATIO = 1000
# Labels that only split what a heading names.
SPLIT = re.compile(
    r"^(?:basic|diluted|assuming dilution|basic and diluted|(?:continuing|discontinued) operations)\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=65536)
def unit_of_words(words: str) -> Unit | None:
    """Unit that a label or a column header names, or None where it names none.

    Prices, dividends and earnings per share come before counts of shares, and those before per cent:
    'Shares used in computing diluted earnings per share' counts shares, 'Average price paid per share'
    is money per share. A line of capital stock that quotes its shares is money.
    """
    if not words or words.isdigit() or _NUMERATOR.search(words):
        return None
    words = _QUOTED.sub("", _EXCEPTION.sub("", without_scale(_MARK.sub("", words.translate(INVISIBLE)))))
    if _STOCK_VALUE.search(words):
        return "currency"
    shares = _SHARES.search(words)
    if per := _PER_SHARE.search(words):
        money = shares is None or _MONEY_PER_SHARE.search(words[: max(shares.start(), per.start())])
        # 'Weighted average exercise price of outstanding options'
        within = shares is not None and shares.start() <= per.start() < shares.end()
        if within and _MONEY_PER_SHARE.search(per[0]):
            money = True
        return "currency/share" if money and not _DENOMINATOR.search(words) else "shares"
    if shares and not _MONEY_OF.search(words):
        return "shares"
    if _PERCENT.search(words):
        return "percent"
    if count := _COUNT.search(words):
        return None if MONEY.search(words) and not count[0].lower().startswith("number") else "count"
    if _SCALED_COUNT.match(words):
        return "count"
    if _RATIO.search(words):
        return "ratio"
    return None


@lru_cache(maxsize=65536)
def column_unit(words: str) -> Unit | None:
    """Unit of a column header; a header such as 'Shares' or 'Amount' decides alone."""
    if not words:
        return None
    bare = re.sub(r"[*†]|\(\w\)", "", without_scale(words)).strip(" :,")
    if _SHARES_ALONE.match(bare):
        return "shares"
    if _BALLOT.fullmatch(bare):
        return "count"
    unit = unit_of_words(words)
    return "currency" if unit is None and MONEY.search(words) else unit


def counts_awards(labels: Sequence[str | None], lines: Sequence[str]) -> bool:
    """Whether a table counts share awards: rows of their changes, or a line that calls them anti-dilutive.

    Args:
        labels: of its rows.
        lines: label above the row labels, caption and lines above the table.
    """
    changes = {match["what"].lower() for label in labels if label and (match := _AWARD_CHANGES.match(label))}
    left_out = any(_AWARDS_LEFT_OUT.search(text) for text in (*lines, *(label for label in labels if label)))
    return left_out or ("granted" in changes and len(changes) > 1)


def is_per_unit(label: str) -> bool:
    """Whether a row of prices shows money per thing, such as 'Revenue per membership', rather than a sum."""
    return bool(_PER_UNIT.search(_QUOTED.sub("", label)))


def scales_with_table(words: str) -> bool:
    """Whether things are counted that a table's scale covers, such as members and tons, not stores."""
    return bool(_SCALED_COUNT.match(words)) and not _COUNT.search(words)


def find_unit(
    value: ParsedValue,
    row_path: Sequence[str],
    column_path: Sequence[str],
    share_table: bool = False,
    amounts: bool = False,
) -> tuple[Unit | None, str]:
    """Unit of a number, and the words that told.

    Marks in the cell come first, then a column header that is about per cent, shares or prices, then the
    row's label, then the headings above it from the nearest; then any other column header.

    Args:
        value: the cell, read.
        row_path: headings above the row, outermost first, then its label.
        column_path: column headers, outermost first.
        share_table: the table tells shares apart, so that a row labelled 'Shares' counts them.
        amounts: the column holds amounts of money or numbers in thousands, so it is not one of per cent.

    Returns:
        None with '' where nothing names a unit: money, if the table is one of money.
    """
    if value.percent:
        return "percent", value.word or "%"
    if value.ratio:
        return "ratio", value.word or "x"
    if value.word == "per share":
        return "currency/share", "per share"
    if value.word and value.factor is None:
        return "count", value.word
    weak: tuple[Unit, str] | None = None
    for place in range(len(column_path) - 1, -1, -1):
        header = column_path[place]
        unit = column_unit(header)
        if unit in (None, "currency") and place and _UNFINISHED.search(column_path[place - 1]):
            # 'Total number of' over 'shares purchased' is one header on two lines.
            header = f"{column_path[place - 1]} {header}"
            unit = column_unit(header)
        if unit is None or not _fits(unit, value, header) or (unit == "percent" and amounts):
            continue
        if unit != "currency" or _EQUITY.search(header):
            return unit, header
        weak = weak or (unit, header)
    for place, label in enumerate(reversed(row_path)):
        unit = unit_of_words(label)
        if unit is None and share_table and place == 0 and _SHARES_ALONE.match(label):
            unit = "shares"
        if unit is None or not _fits(unit, value, label):
            continue
        if place == 0 or _heading_counts(unit, value, row_path[-1], label):
            return unit, label
    if weak:
        return weak
    return ("currency", "") if value.currency else (None, "")


def _fits(unit: Unit, value: ParsedValue, words: str) -> bool:
    """Whether a number can be what the words name."""
    if value.currency and unit not in ("currency", "currency/share"):
        return False
    if unit == "count" and _SPAN.search(words):
        return not (value.grouped or _MATURITIES.search(words))
    if unit == "ratio":
        return not value.grouped
    if unit == "currency/share" and value.grouped and not value.decimals:
        # 'EBITDA, net income and EPS' heads amounts as well.
        return not _EPS.search(words)
    return True


def _heading_counts(unit: Unit, value: ParsedValue, label: str, heading: str) -> bool:
    """Whether a heading's unit may hold for a row below it.

    Under 'Earnings per share' stand net income and shares too, so the number has to look like a price.
    """
    if unit == "currency/share":
        if value.number == 0 or (value.decimals >= 2 and not value.grouped):
            return True
        # 'Per share data:' speaks of nothing else; 'EPS' may head net income as well.
        small = abs(value.number or 0) < _LARGEST_RATIO and not _DEDUCTED.match(label)
        return small and bool(_PER_SHARE_HEAD.search(heading) and _SHARE_PRICE.search(label))
    if unit == "count":
        # 'Weighted-average remaining lease term (years)' above 'Operating leases 9'.
        span = _SPAN.search(heading) and not value.grouped
        counted = _COUNTS.search(heading) and not (value.decimals or value.currency)
        return bool((span or counted) and unit_of_words(label) is None)
    if unit == "percent":
        # 'Percent of net sales:' above rows that print no signs.
        return bool(_PERCENT_HEAD.search(heading)) and not value.grouped and unit_of_words(label) is None
    if unit == "shares" and _DIVISOR.search(heading):
        return bool(_DIVISOR_SHARES.search(label))
    return unit == "shares" and not MONEY.search(label)
