"""Lines and formulas of ``formulas.toml``: what words mean, and how it is computed."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from graphlib import CycleError, TopologicalSorter
from importlib import resources
from pathlib import Path
from typing import Any

from finrag_pipeline.errors import UsageError
from finrag_pipeline.questions.expression import Expression, names_in, parse_expression
from finrag_pipeline.settings import get_settings
from finrag_pipeline.statements.concepts import concept_names, normal_label
from finrag_pipeline.statements.page_evidence import KINDS

FORMULA_UNITS = ("percent", "ratio", "times", "days", "currency")

PERIOD_DAYS = "period_days"
"""In formulas, the number of days of the period: 365 for a year."""

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_LETTERS = re.compile(r"[a-z]{3,}")


@dataclass(frozen=True)
class Line:
    """A quantity that statements print; see the header of ``formulas.toml``.

    Attributes:
        complete: word that the printed label must contain, and the line added where it does not.
        mapped: printed labels that a user says to mean it, as `normal_label` has them.
    """

    name: str
    label: str
    concepts: tuple[str, ...]
    statements: tuple[str, ...]
    magnitude: bool = False
    complete: tuple[str, str] | None = None
    components: re.Pattern[str] | None = None
    labels: re.Pattern[str] | None = None
    between: tuple[str, str] | None = None
    mapped: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Formula:
    """A quantity that is computed.

    Attributes:
        expression: how.
        unit: one of `FORMULA_UNITS`; None for a definition of the question.
        others: other conventions for the same name.
    """

    name: str
    label: str
    expression: Expression
    unit: str | None = None
    others: tuple[Expression, ...] = ()


@dataclass(frozen=True)
class Phrase:
    """A phrase of ``formulas.toml``.

    Attributes:
        text: regular expression in which a space stands for spaces and hyphens.
        name: of the line or formula that it means.
    """

    text: str
    name: str

    @cached_property
    def needed(self) -> str:
        """A word that every text with this phrase has; empty where the phrase names no such word."""
        return needed_word(self.text)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The regular expression as it is matched, against lower case."""
        return _compile(self.text)

    def search(self, text: str, start: int = 0) -> re.Match[str] | None:
        """The first match in a text in lower case; few phrases are ever compiled for it."""
        return self.pattern.search(text, start) if self.needed in text else None


@dataclass(frozen=True)
class Lexicon:
    """Everything that words may mean.

    Attributes:
        entries: lines and formulas by name.
        phrases: in the order of the file.
    """

    entries: Mapping[str, Line | Formula]
    phrases: tuple[Phrase, ...] = field(repr=False)

    @cached_property
    def by_label(self) -> dict[str, str]:
        """Names of the lines and formulas that phrases mean, by their labels in lower case."""
        return {self.entries[one.name].label.lower(): one.name for one in self.phrases}

    def phrases_of(self, name: str) -> list[Phrase]:
        """Phrases that mean a line or formula, in the order of the file."""
        return [phrase for phrase in self.phrases if phrase.name == name]

    @cached_property
    def words(self) -> frozenset[str]:
        """Words of all labels and phrases, in lower case."""
        texts = (*self.by_label, *(phrase.text for phrase in self.phrases))
        return frozenset(word for text in texts for word in _LETTERS.findall(text))

    def unit_of(self, name: str) -> str | None:
        """Unit that a formula is answered in; None for a line or an unknown name."""
        entry = self.entries.get(name)
        return entry.unit if isinstance(entry, Formula) else None

    def longest(self, text: str) -> dict[int, tuple[int, str]]:
        """By each place in a text in lower case where phrases begin, end and name of the longest there."""
        found: dict[int, tuple[int, str]] = {}
        for phrase in self.phrases:
            match = phrase.search(text)
            while match:
                start, end = match.span()
                if end > found.get(start, (start, ""))[0]:
                    found[start] = end, phrase.name
                match = phrase.search(text, start + 1)
        return found

    def named(self, text: str) -> dict[str, str]:
        """Names of the lines and formulas that a text in lower case names, each with its words there."""
        found: dict[str, str] = {}
        place = 0
        for start, (end, name) in sorted(self.longest(text).items()):
            if start >= place:
                found[name] = text[start:end]
                place = end
        return found

    def lines_of(self, name: str) -> list[Line]:
        """The lines that an entry is computed from; a line itself."""
        entry = self.entries[name]
        if isinstance(entry, Line):
            return [entry]
        used = [one for one in names_in(entry.expression) if one != PERIOD_DAYS]
        return list({line.name: line for one in used for line in self.lines_of(one)}.values())


def needed_word(phrase: str) -> str:
    """The longest run of letters that every match of a phrase has; empty where that cannot be told."""
    within, depth = [], 0
    for character in re.sub(r"\\.|\[[^]]*\]", " ", phrase):
        depth += (character == "(") - (character == ")")
        within.append(" " if depth or character == ")" else character)
    plain = re.sub(r".[?*+{]", " ", "".join(within))
    return "" if "|" in plain else max(re.findall("[a-z]+", plain), key=len, default="")


def _compile(phrase: str) -> re.Pattern[str]:
    # A space stands for spaces and hyphens; '(?=…)' keeps 'sales' from meeting 'salesforce'.
    spaced = phrase.replace("[- ]?", "\0").replace(" ?", "\1").replace(" ", "[ -]+")
    spaced = spaced.replace("\0", "[- ]?").replace("\1", "[ -]*")
    return re.compile(rf"(?<![\w&-])(?:{spaced})(?![\w&]|-(?=[a-z]))")


def read_formulas(text: str, own: str = "") -> Lexicon:
    """Lines and formulas in TOML, and a user's ``own``, which replace those of their names.

    Those may have ``[[label]]`` too: a printed ``label`` that means a ``line``.

    Raises:
        ValueError: an entry is malformed or uses a name that does not exist; the message names it.
    """
    entries: dict[str, Line | Formula] = {}
    phrases: list[Phrase] = []
    labels: list[dict[str, Any]] = []
    for source in (text, own):
        raw = tomllib.loads(source)
        seen: set[str] = set()
        for kind, make in (("line", _line), ("formula", _formula)):
            for place, entry in enumerate(raw.pop(kind, [])):
                name = str(entry.get("name", f"{kind} {place}"))
                try:
                    if not _NAME.fullmatch(name) or name in seen:
                        raise ValueError("its name is taken or no name")
                    seen.add(name)
                    said = [Phrase(phrase, name) for phrase in entry.pop("phrases", ())]
                    if source is own:  # what is shipped compiles: a test sees to it
                        [phrase.pattern for phrase in said]
                    phrases += said
                    entries[name] = make(entry)
                    if entry:
                        raise ValueError(f"unknown field '{min(entry)}'")
                except (re.error, KeyError, TypeError, AttributeError, ValueError) as error:
                    what = "no field" if isinstance(error, KeyError) else f"{type(error).__name__}:"
                    why = f"{what} {error}"
                    raise ValueError(f"Entry '{name}' of the formulas: {why}.") from error
        labels += raw.pop("label", [])
        if raw:
            raise ValueError(f"There is no [[{min(raw)}]], only line, formula and label.")
    for one in labels:
        line = entries.get(str(one.get("line")))
        if set(one) != {"label", "line"} or not isinstance(line, Line):
            raise ValueError(f"Label {one}: give a printed 'label' and the 'line' that it means.")
        entries[line.name] = replace(line, mapped=line.mapped | {normal_label(str(one["label"]))})
    _check_names(entries)
    return Lexicon(entries, tuple(phrases))


def _line(entry: dict[str, Any]) -> Line:
    """A line of the fields of an entry, which are taken out."""
    known = {*concept_names(), *KINDS}
    if unknown := [name for name in (*entry["concepts"], *entry["statements"]) if name not in known]:
        raise ValueError(f"unknown concept or statement '{unknown[0]}'")
    complete, between = entry.pop("complete", None), entry.pop("between", None)
    components, labels = entry.pop("components", None), entry.pop("labels", None)
    return Line(
        entry.pop("name"),
        entry.pop("label"),
        tuple(entry.pop("concepts")),
        tuple(entry.pop("statements")),
        entry.pop("magnitude", False),
        (complete["unless"], complete["add"]) if complete else None,
        re.compile(components) if components else None,
        re.compile(labels) if labels else None,
        tuple(between) if between else None,
    )


def _formula(entry: dict[str, Any]) -> Formula:
    """A formula of the fields of an entry, which are taken out."""
    if entry["unit"] not in FORMULA_UNITS:
        raise ValueError(f"unknown unit '{entry['unit']}'")
    others = tuple(map(parse_expression, entry.pop("others", ())))
    formula = parse_expression(entry.pop("formula"))
    return Formula(entry.pop("name"), entry.pop("label"), formula, entry.pop("unit"), others)


def _check_names(entries: Mapping[str, Line | Formula]) -> None:
    uses: dict[str, set[str]] = {}
    for name, entry in entries.items():
        if isinstance(entry, Formula):
            uses[name] = set(names_in(entry.expression)) - {PERIOD_DAYS}
            used = uses[name].union(*map(names_in, entry.others)) - {PERIOD_DAYS}
        else:
            used = {*(entry.between or ()), *(entry.complete or ())[1:]}
        if missing := sorted(used - set(entries)):
            raise ValueError(f"Entry '{name}' of the formulas uses unknown names: {', '.join(missing)}.")
    try:
        TopologicalSorter(uses).prepare()
    except CycleError as error:
        circle = error.args[1]
        why = f"is defined by itself: {' > '.join(circle)}"
        raise ValueError(f"Entry '{circle[0]}' of the formulas {why}.") from error


def formula_lexicon() -> Lexicon:
    """The lexicon of ``formulas.toml``, and of the file of a user's own, read again when that changes.

    Raises:
        UsageError: that file cannot be read, or an entry of it is malformed, which is named.
    """
    own = get_settings().definitions
    try:
        return _lexicon(own, Path(own).stat().st_mtime_ns if own else 0)
    except (OSError, ValueError) as error:
        if not own:
            raise
        told = error.strerror if isinstance(error, OSError) else str(error).rstrip(".")
        remedy = "Correct it, or unset FINRAG_DEFINITIONS; docs/answers.md explains its entries."
        raise UsageError(f"The definitions of {own} cannot be used: {told}.", remedy) from error


@lru_cache(maxsize=2)
def _lexicon(own: str, changed: int) -> Lexicon:
    text = resources.files("finrag_pipeline.questions").joinpath("formulas.toml").read_text("utf-8")
    return read_formulas(text, Path(own).read_text("utf-8") if own else "")
