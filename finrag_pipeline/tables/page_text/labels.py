"""What the words of a label say about the numbers of its row. A lexicon of accounting, not of companies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

_HEADING = re.compile(
    r"""(?ix)
    (?:(?:current|non-?current|long-term|other)\s)?(?:assets|liabilities)
    | (?:liabilities|assets)\sand\s.*(?:equity|capital|deficit).*
    | (?:stock|share)(?:holders|owners)?[’']?\sequity
    | (?:cash\sflows?\s[–—-]?\s?(?:from|used\sin|provided\sby)?\s?)?
      (?:operating|investing|financing)\sactivities
    | (?:costs?\sand\s)?(?:operating\s)?(?:costs\sand\s)?expenses
    | (?:commitments\sand\s)?contingenc(?:y|ies)\b.* | mezzanine\sequity
    | adjustments\b.*\sto\s.* | net\schange\sin | non-?cash\sitems.*
    | (?:net\s)?changes?\sin\s(?:certain\s|operating\s)*assets\sand\sliabilities\b.*
    | supplemental\s(?:disclosure|cash\sflow|information).*
    """
)
_WEAK_HEADING = re.compile(r"(?i)(?:net )?(?:revenues?|equity|sales)|interest (?:income|expense)")
_TITLE = re.compile(
    r"""(?ix)
    .*\b(?:consolidated|condensed)\b.*\b(?:statements?|sheets?)\b.* | balance\ssheets?.* | statements?\sof\s.*
    | .*\b(?:inc|corp|corporation|company|plc|ltd|co|incorporated)[.]?
    | .*\sand\s(?:its\s)?(?:\w+\s)?subsidiar(?:y|ies)
    | (?:item|part)\s[\divx]+[a-z]?\b.* | notes\sto\s.* | .*\(?continued\)?
    """
)
_STATEMENT = re.compile(r"(?i).*\b(?:statements?|balance sheets?|summary|schedule|reconciliation)\b.*")
_SHARES = re.compile(r"(?i)(?:shares\s+)?(?:issued|outstanding|authorized|shares at)\b.*(?:\d|none).*")
_TOTAL = re.compile(r"(?i)(?:sub)?total\b.*")
_RESULT = re.compile(
    r"""(?ix)
    (?:consolidated\s)?
    (?:net\s(?:cash|income|loss|earnings|revenue|sales|\(?(?:increase|decrease)|change)
    | gross\s(?:profit|margin)
    | operating\s(?:income|profit|loss) | income | earnings | loss | profit | .*,?\s(?:[—–-]\s)?net$
    | balance | comprehensive\sincome | cash(?:,|\sand)\scash\sequivalents.*\s(?:end|beginning)).*
    """
)
_CASH_AT_END = re.compile(r"(?i)(?:total )?cash\b.*\bend(?:ing)?\b.*")
_PER_SHARE = re.compile(r"(?i).*\bper\b.*|.*\beps\b.*")
_PER_SHARE_OR_SHARES = re.compile(r"(?i)\W*(?:basic|diluted)\W*(?:\(.*)?")
_PERCENT = re.compile(r"(?i).*(?:%|\bpercent|\brate\b|\bratio\b|\bmargin\b|yield|as a\b).*")
_MINUS = re.compile(
    r"""(?ix)
    .*\b(?:less | accumulated\s(?:depreciation|amortization|deficit|other\scomprehensive\sloss) | treasury
    | allowance | purchases? | payments? | repayments? | repurchases? | dividends | acquisitions?
    | capital\sexpenditures | additions\sto | used\sin | decrease | distributions)\b.*
    """
)
_PLUS = re.compile(
    r"""(?ix)
    .*\b(?:proceeds | issuance | depreciation\sand\samortization | net\ssales | revenues? | cash\sand\scash
    | retained\searnings | additional\spaid-in | goodwill | inventor(?:y|ies) | common\sstock)\b.*
    """
)


@dataclass(frozen=True, slots=True)
class LabelClues:
    """What a label lets expect.

    Attributes:
        take: cost of giving it a row of numbers.
        skip: cost of giving it none.
        total, result: a total by name; a line that is commonly a sum or difference.
        per_share, percent: its numbers have decimals, or are per cent.
        sign: -1 where its numbers are commonly in parentheses, 1 where they are commonly not, else 0.
        assets, liabilities: names the two sums of a balance sheet that are equal.
        title: names a statement, a company or a part of the filing.
        cash_at_end: the row is the sum of the two above it, change and balance at the beginning.
    """

    take: float
    skip: float
    total: bool
    result: bool
    per_share: float
    percent: bool
    sign: int
    assets: bool
    liabilities: bool
    title: bool
    cash_at_end: bool


@lru_cache(maxsize=8192)
def clues(text: str) -> LabelClues:
    """Clues of a label."""
    plain = re.sub(r"\s*\((?:see )?notes? [^)]*\)|\s*\([a-z0-9]{1,2}\)", "", text).strip().rstrip("*")
    letters = [letter for letter in plain if letter.isalpha()]
    named = bool(_STATEMENT.fullmatch(plain))
    total, result = bool(_TOTAL.match(plain)), bool(_RESULT.match(plain)) and not named
    title = bool(_TITLE.fullmatch(plain)) and not (total or result)
    take, skip = 0.0, 2.5
    if not letters:
        take, skip = 1.5, 0.5
    elif plain.endswith(":"):
        take, skip = 4.0, 0.0
    elif title or (not total and _HEADING.fullmatch(plain)):
        take, skip = 3.5, 0.1
    elif _WEAK_HEADING.fullmatch(plain):
        take, skip = 0.5, 1.5
    elif _SHARES.fullmatch(plain):
        take, skip = 1.5, 0.3
    elif not total and len(letters) > 3 and plain.upper() == plain:
        take, skip = 2.0, 0.5
    elif total or result:
        skip = 4.0
    per_share = 1.0 if _PER_SHARE.match(plain) else 0.3 if _PER_SHARE_OR_SHARES.fullmatch(plain) else 0.0
    lower = plain.lower()
    return LabelClues(
        take=take,
        skip=skip,
        total=total,
        result=result,
        per_share=per_share,
        percent=bool(_PERCENT.match(plain)),
        sign=-1 if _MINUS.match(plain) else 1 if total or _PLUS.match(plain) else 0,
        assets=lower == "total assets",
        liabilities=total
        and "liabilities" in lower
        and ("equity" in lower or "capital" in lower or "deficit" in lower),
        title=title,
        cash_at_end=bool(_CASH_AT_END.fullmatch(plain)),
    )


def best_title(lines: Sequence[str]) -> str | None:
    """The line that is most likely a table's title: one that names a statement, else the last title."""
    titles = [line for line in lines if clues(line).title]
    named = [line for line in titles if _STATEMENT.fullmatch(line)]
    others = [line for line in lines if line[0].isalpha() and not clues(line).total]
    return next(iter([*named, *titles[::-1], *others[::-1]]), None)
