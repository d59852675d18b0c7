"""How derived questions are worded: names of companies, periods, filings and lines as people write them."""

from __future__ import annotations

import re
import string
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from importlib import resources
from typing import Any

import numpy as np

from finrag_pipeline.resolver.aliases import read_name

FORMS: Mapping[str | None, tuple[str, ...]] = {
    "10-K": ("10-K", "annual report", "Form 10-K"),
    "10-Q": ("10-Q", "quarterly report", "Form 10-Q"),
    "8-K": ("8-K", "current report"),
    "EARNINGS": ("earnings release", "press release on its results"),
    None: ("filing", "report"),
}
_QUARTERS = ("first", "second", "third", "fourth")
_WORD = re.compile(r"[^\W\d_]+")
_ADDRESS = re.compile(r"@|www|\.com|/")
_LONGEST_INITIALS = 3
_LONGEST_ACRONYM = 4


@dataclass(frozen=True)
class Lexicon:
    """Wording as it stands in ``derived_questions.toml``, whose header explains it.

    Attributes:
        templates: by kind of question.
        statements: names by statement.
        names: names by concept.
        ratios: names and concepts of each.
    """

    templates: Mapping[str, tuple[str, ...]]
    statements: Mapping[str, tuple[str, ...]]
    names: Mapping[str, tuple[str, ...]]
    ratios: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]


@lru_cache(maxsize=1)
def lexicon() -> Lexicon:
    """The wording that comes with the project."""
    raw = tomllib.loads(lexicon_text())

    def tuples(table: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
        return {name: tuple(values) for name, values in table.items()}

    ratios = tuple((tuple(ratio["names"]), tuple(ratio["concepts"])) for ratio in raw["ratio"])
    return Lexicon(tuples(raw["templates"]), tuples(raw["statements"]), tuples(raw["names"]), ratios)


@lru_cache(maxsize=1)
def known_names() -> frozenset[str]:
    """All names of lines, ratios and statements; they are written as people do."""
    found = lexicon()
    lists = (*found.names.values(), *found.statements.values(), *(names for names, _ in found.ratios))
    return frozenset(name for names in lists for name in names)


@lru_cache(maxsize=1)
def lexicon_text() -> str:
    """The file itself, for fingerprints."""
    path = resources.files("finrag_pipeline.page_scorer").joinpath("derived_questions.toml")
    return path.read_text("utf-8")


class Casing:
    """Undoes the capitals of headings, labels and covers, by the words of the filing itself.

    Args:
        texts: of the filing's pages.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        tokens = {token for text in texts for token in text.split() if not _ADDRESS.search(token)}
        self._words = {word for token in tokens for word in _WORD.findall(token)}

    def plain(self, phrase: str) -> str:
        """A heading or label as it would stand in a sentence.

        It goes to lower case where the filing also writes its words so. Where it never writes one of them so,
        that one may be a name, and the phrase stays as it is. Acronyms keep their capitals.
        """
        shouted = phrase.upper() == phrase

        def lowered(match: re.Match[str]) -> str:
            word = match[0]
            if word.isupper() and 1 < len(word) <= _LONGEST_INITIALS and not shouted:
                return word
            if word == "A" and match.start() and match.end() < len(phrase) and phrase[match.end()] == " ":
                return "a"
            if word.lower() in self._words and len(word) > 1:
                return word.lower()
            return self._name(word)

        found = _WORD.sub(lowered, phrase)
        left = [word for word in _WORD.findall(found) if word[0].isupper() and not word.isupper()]
        return self.name(phrase) if left else found

    def name(self, printed: str) -> str:
        """A name in capitals as the filing also writes it, or with its first letters only in capitals."""
        return _WORD.sub(lambda match: self._name(match[0]), printed)

    def _name(self, word: str) -> str:
        usual = word.capitalize()
        known = usual in self._words or len(word) > _LONGEST_ACRONYM
        return usual if len(word) > 1 and word.isupper() and known else word


def short_name(printed: str, casing: Casing) -> str | None:
    """What people call a company: its name without legal form; None where it has no word."""
    name = read_name(printed)
    if name is None:
        return None
    # As printed up to the last word that is kept: '&' between two words is no word.
    end = 0
    for word in name.short:
        found = printed.find(word, end)
        if found < 0:
            return casing.name(" ".join(name.short))
        end = found + len(word)
    return casing.name(printed[printed.find(name.short[0]) : end])


@dataclass(frozen=True)
class Subject:
    """What a filing is about.

    Attributes:
        company: short name.
        form: 10-K, 10-Q, 8-K or EARNINGS; None where unknown.
        year: fiscal year.
        quarter: fiscal quarter, of quarterly filings.
        end: last day of the period, or date of the event of an 8-K.
    """

    company: str
    form: str | None
    year: int | None
    quarter: int | None
    end: date | None

    def periods(self, back: int = 0) -> tuple[str, ...]:
        """Ways to write the period, or the same one ``back`` years before; always in the same order.

        Empty where the filing does not say its period.
        """
        if self.form == "8-K" and self.end and not back:
            return (f"{self.end:%B %Y}",)
        if self.year is None:
            return ()
        year = self.year - back
        if self.quarter is None:
            return (f"FY{year}", f"fiscal {year}", f"fiscal year {year}", f"{year}", f"FY {year}")
        name = _QUARTERS[self.quarter - 1]
        short = f"Q{self.quarter}"
        return (
            f"{short} {year}",
            f"{short} FY{year}",
            f"the {name} quarter of {year}",
            f"the {name} quarter of fiscal {year}",
            f"{short} of fiscal year {year}",
        )


def _day(day: date) -> str:
    return f"{day:%B} {day.day}, {day.year}"


def slots(subject: Subject, instant: bool, random: np.random.Generator) -> dict[str, str]:
    """What stands in the braces of a template but the item: company, periods and filing, worded by chance.

    Args:
        subject: what the filing is about; its period is known.
        instant: a quantity at the end of the period, not over it.
        random: chooses.
    """
    style = int(random.integers(len(subject.periods())))
    period = subject.periods()[style]
    form = str(random.choice(FORMS.get(subject.form, FORMS[None])))
    found = {
        "company": subject.company,
        "owner": f"{subject.company}'s",
        "in_period": f"in {period}",
        "filing": f"its {form} for {period}",
        "filing_of": f"{subject.company}'s {form} for {period}",
    }
    if subject.form == "8-K":
        found |= {name: found[name].replace(" for ", " of ", 1) for name in ("filing", "filing_of")}
    at = "the end of " if instant else ""
    whens = [f"at {at}{period}" if instant else f"in {period}", f"at {at}{period}" if at else f"for {period}"]
    if instant and subject.end:
        whens.append(f"as of {_day(subject.end)}")
    found["when"] = str(random.choice(whens))
    found["period"] = f"{at}{period}"
    if subject.form != "8-K":
        found["before"] = f"{at}{subject.periods(1)[style]}"
    for name in ("when", "in_period"):
        found[f"{name}_first"] = found[name][0].upper() + found[name][1:]
    return found


def word(kind: str, filled: Mapping[str, Any], random: np.random.Generator) -> str:
    """A question of a kind, by one of the templates for which everything is known.

    Args:
        kind: of question.
        filled: what stands in the braces.
        random: chooses the template.
    """
    usable = [template for template in lexicon().templates[kind] if fields(template) <= filled.keys()]
    return str(random.choice(usable)).format(**filled)


@lru_cache(maxsize=256)
def fields(template: str) -> frozenset[str]:
    """Names in the braces of a template."""
    return frozenset(name for _, name, _, _ in string.Formatter().parse(template) if name)
