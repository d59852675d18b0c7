"""Numbers in running text: what they say with sign, scale and unit, and which of them are years or dates.

The reader of printed cells (:func:`finrag_pipeline.tables.values.parse_value`) reads each of them; this
module finds where they stand in prose, also in the prose of language models with their Markdown and LaTeX.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

from finrag_pipeline.resolver.lexicon import any_case
from finrag_pipeline.tables.values import CURRENCY_PATTERN, INVISIBLE, parse_value

Unit = Literal["currency", "percent", "ratio", "days", "years", "number"]

_SAME_WIDTH = str.maketrans(
    {**dict.fromkeys("‐‑‒–—―−﹘﹣－", "-"), **dict.fromkeys("\u2007\u2008\u2009\u202f\u3000\t", " ")}
)
_LATEX_WORDS = re.compile(r"\\(?:text|textbf|mathrm|mathbf|mbox|boxed)\s*\{([^{}]*)\}")
_LATEX_MARKS = re.compile(r"\\[()\[\]]|\\[,;!: ]")
_BLANKS = re.compile(" {2,}")
_ESCAPED = re.compile(r"\\([$%&#_])")
_MARKDOWN = re.compile(r"\*\*|__|`|(?m:^\s{0,3}#{1,6}\s+)")

_MONTHS = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DATE = any_case(
    rf"\b{_MONTHS}\s+\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s+(?P<y1>(?:19|20)\d\d))?(?!\w|,\d)"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTHS}(?:,?\s+(?P<y2>(?:19|20)\d\d))?(?!\w)"
    r"|(?<![\w/.])\d{1,2}/\d{1,2}/(?P<y3>(?:19|20)?\d\d)(?![\w/])"
    r"|(?<![\w-])(?P<y4>(?:19|20)\d\d)-\d\d-\d\d(?![\w-])"
    rf"|\b{_MONTHS},?\s+(?P<y5>(?:19|20)\d\d)(?!\w)"
)
SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_SCALE_WORD = "|".join(SCALES)
_ASKED_SCALE = any_case(
    r"\b(?:in|of|to)\s+(?:the\s+)?(?:(?:u\.?s\.?\s?)?(?:dollars?|usd|\$|eur|euros?|gbp|pounds?)\s*)?\(?"
    rf"(?P<scale>{_SCALE_WORD})s?\b|\busd\s+(?P<usd>{_SCALE_WORD})s?\b|\$\s?(?P<sign>{_SCALE_WORD})s?\b"
)
_PERCENT = any_case(r"\bpercent(?:s|ages?)?\b|\bper cent\b|%")
_SCALE = r"thousand|million|billion|trillion|mm|mn|bn|tn|[kmb](?!\w)"
_UNIT = (
    r"%|per\s?cent(?:age\s+points?)?\b|percentage\s+points?\b|pct\b|bps\b|basis\s+points?\b|x(?!\w)|×(?!\s*\d)"
    r"|times\b|days?\b|years?\b"
)
_NUMBER = any_case(
    rf"(?P<word>(?:negative|minus)\s+)?"
    rf"(?<![\w.,])(?<![A-Za-z]-)(?P<head>\(?\s?[-+]?\s?(?:(?:{CURRENCY_PATTERN})\s?)?[-+]?\(?)"
    r"(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?P<power>[eE][-+]?\d{1,2})?"
    rf"(?P<tail>\)?(?:[\s-]?(?:{_SCALE})s?\b\.?)?\)?(?:\s?(?:{_UNIT}))?"
    rf"(?:\s?(?:(?:{CURRENCY_PATTERN})(?!\w)|(?:u\.?s\.?\s)?dollars?\b))?\)?)"
    r"(?![\w]|[.,]\d|-[A-Za-z])"
)
_DOLLARS = any_case(r"\s?(?:u\.?s\.?\s)?dollars?\b")
_YEAR_BEFORE = any_case(
    r"(?:\bfiscal|\bfy|\byears?|\bended|\bending|\bin|\bof|\bfor|\bsince|\bduring|\bby|\bto|\band|\bfrom|\bend"
    r"|\bbetween|\bas of|\bvs\.?|\bversus|\bthan|\bq[1-4]|\bquarter|\bthe|\bat|\bthrough|[(/-])\s*$"
)
_PLACEHOLDER = "\x1a"


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number that stands in a text.

    Attributes:
        printed: sign applied, before any scale: 1.5 for '$1.5 million', 12 for '12%'.
        value: in full units: 1,500,000 for '$1.5 million', 0.12 for '12%'.
        unit: what it counts; ``number`` where nothing says so.
        scale: full units per printed unit where the text itself says so (1e6, 0.01); None otherwise.
        start, end: its place in the plain text; see :func:`plain_text`.
    """

    text: str
    printed: float
    value: float
    unit: Unit
    scale: float | None
    decimals: int
    year: bool
    start: int
    end: int

    @property
    def half_unit(self) -> float:
        """Half a unit of the last printed digit, in full units: how far rounding may have moved the value."""
        return 0.5 * 10.0**-self.decimals * (self.scale or 1.0)


def plain_text(text: str) -> str:
    """The text without Markdown and LaTeX marks, dashes and spaces in one form."""
    plain = unicodedata.normalize("NFKC", text).translate(_SAME_WIDTH).translate(INVISIBLE)
    plain = _ESCAPED.sub(r"\1", plain.replace("{,}", ",").replace("\\times", "×"))
    for _ in range(3):  # nested commands
        plain = _LATEX_WORDS.sub(r"\1", plain)
    return _BLANKS.sub(" ", _MARKDOWN.sub("", _LATEX_MARKS.sub(" ", plain)))


def quantities(text: str) -> list[Quantity]:
    """Numbers of a text in their order, days of dates and parts of names ('10-K', 'FY2022') left out.

    A bare number from 1900 to 2100 counts as a year where the words before it speak of time or where it
    stands in a date; '$2018', '2,018' and '2018 million' are amounts.
    """
    plain = plain_text(text)
    found = []
    for match in _NUMBER.finditer(_without_dates(plain)):
        if quantity := _read(match, plain):
            found.append(quantity)
    return found


def years_in(text: str) -> set[int]:
    """Years that a text names in any form: 'FY2022', 'FY22', "Q2'23", '2022Q2', dates, bare years."""
    plain = plain_text(text)
    found = {int(year) for year in re.findall(r"(?<!\d)(?<![.,]\d)((?:19|20)\d\d)(?!\d|[.,]\d)", plain)}
    short = re.findall(
        r"(?:(?:\bfy|(?<![a-z\d])q[1-4]|fiscal|\b[12]h|h[12])\s?['’]?|['’])(\d\d)(?!\d)", plain, re.I
    )
    return found | {2000 + int(year) for year in short}


def without_numbers(text: str) -> str:
    """The plain text, quantities and dates blanked out: what still has a digit is a name or a mark."""
    plain = plain_text(text)
    blanked = _without_dates(plain, " ")
    pieces, at = [], 0
    for match in _NUMBER.finditer(blanked):
        if _read(match, plain):
            pieces += [blanked[at : match.start()], " " * (match.end() - match.start())]
            at = match.end()
    return "".join([*pieces, blanked[at:]])


def _without_dates(plain: str, blank: str = _PLACEHOLDER) -> str:
    return _DATE.sub(lambda match: blank * len(match[0]), plain)


def _read(match: re.Match[str], plain: str) -> Quantity | None:
    head, digits, tail = match["head"], match["digits"], match["tail"]
    # A bracket that opens before the number and closes far behind it is no sign.
    opened, closed = head.count("("), tail.count(")")
    # Neither is one around a year.
    if opened != closed or re.fullmatch(r"\((?:19|20)\d\d\)", f"{head}{digits}{tail}"):
        head, tail = head.replace("(", ""), tail.replace(")", "")
    if re.search(r"-\s", head):
        head = head.replace("-", "")  # the dash of a list or a range: a sign stands at its number
    dollars = _DOLLARS.search(tail)
    cell = f"{head}{digits}{_DOLLARS.sub('', tail)}".replace("+", "")
    cell = re.sub(r"(?<=\d)-(?=[a-z])", " ", re.sub(r"(?i)(thousand|million|billion|trillion)s", r"\1", cell))
    parsed = parse_value(" ".join(cell.split()))
    if parsed.kind != "number" or parsed.number is None:
        return None
    power = float(f"1{match['power']}") if match["power"] else 1.0
    sign = -1.0 if match["word"] and parsed.number > 0 else 1.0
    printed = parsed.number * power * sign
    unit: Unit = "number"
    if parsed.percent:
        unit = "percent"
    elif parsed.ratio:
        unit = "ratio"
    elif parsed.currency or dollars:
        unit = "currency"
    elif (parsed.word or "").startswith(("day", "year")):
        unit = "days" if (parsed.word or "").startswith("day") else "years"
    start = match.start() + len(match[0]) - len(match[0].lstrip(" ("))
    bare = parsed.looks_like_year and unit == "number" and not match["power"]
    return Quantity(
        text=match[0].strip(),
        printed=printed,
        value=printed * (parsed.factor or 1.0),
        unit=unit,
        scale=parsed.factor,
        decimals=parsed.decimals,
        year=bare and bool(_YEAR_BEFORE.search(plain[:start])),
        start=match.start(),
        end=match.end(),
    )


def asked_scale(question: str) -> float | None:
    """Full units per unit that money is asked for in ('in USD millions': 1e6); None where none is named."""
    match = _ASKED_SCALE.search(plain_text(question))
    word = next((part for part in match.groups() if part), None) if match else None
    return SCALES[word.lower()] if word else None


def asks_for_percent(question: str) -> bool:
    """Whether a question speaks of per cent."""
    return bool(_PERCENT.search(question))
