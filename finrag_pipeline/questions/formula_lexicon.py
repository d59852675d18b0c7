"""Lines and formulas of ``formulas.toml``: what words mean, and how it is computed."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib import resources

from finrag_pipeline.questions.expression import Expression, ExpressionError, names_in, parse_expression
from finrag_pipeline.statements.concepts import concept_names
from finrag_pipeline.statements.page_evidence import KINDS

FORMULA_UNITS = ("percent", "ratio", "times", "days", "currency")

PERIOD_DAYS = "period_days"
"""In formulas, the number of days of the period: 365 for a year."""

_SHARED = {"name", "label", "phrases"}
_LINE_FIELDS = _SHARED | {
    "concepts",
    "statements",
    "magnitude",
    "complete",
    "components",
    "labels",
    "between",
}
_FORMULA_FIELDS = _SHARED | {"formula", "unit", "others"}
_NAME = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True)
class Line:
    """A quantity that statements print; see the header of ``formulas.toml``.

    Attributes:
        complete: word that the printed label must contain, and the line added where it does not.
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


class Phrase:
    """A phrase of ``formulas.toml``, compiled when a text first has its beginning.

    Args:
        text: regular expression in which a space stands for spaces and hyphens.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._beginnings = _beginnings(text)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The regular expression.

        Raises:
            re.error: the phrase is malformed.
        """
        return _compile(self.text)

    def match(self, text: str, start: int = 0) -> re.Match[str] | None:
        """Its match in ``text``, in lower case, from the letter ``start`` on."""
        return self.pattern.match(text, start) if text.startswith(self._beginnings, start) else None


@dataclass(frozen=True)
class Lexicon:
    """Everything that words may mean.

    Attributes:
        entries: lines and formulas by name.
        phrases: phrases and the names they mean, in the order of the file.
    """

    entries: Mapping[str, Line | Formula]
    phrases: tuple[tuple[Phrase, str], ...] = field(repr=False)

    @cached_property
    def _phrases_by_name(self) -> Mapping[str, Sequence[Phrase]]:
        found: dict[str, list[Phrase]] = {}
        for phrase, name in self.phrases:
            found.setdefault(name, []).append(phrase)
        return found

    def phrases_of(self, name: str) -> Sequence[Phrase]:
        """Phrases that mean a line or formula, in the order of the file."""
        return self._phrases_by_name.get(name, ())

    def longest(self, text: str, start: int) -> tuple[int, str] | None:
        """End and name of the longest phrase that begins at ``start``; None if there is none.

        Args:
            text: in lower case.
            start: index of the first letter.
        """
        best: tuple[int, str] | None = None
        for pattern, name in self.phrases:
            match = pattern.match(text, start)
            if match and match.end() > start and (best is None or match.end() > best[0]):
                best = match.end(), name
        return best

    def named(self, text: str) -> dict[str, str]:
        """Names of the lines and formulas that a text in lower case names, each with its words there."""
        found: dict[str, str] = {}
        place = 0
        while place < len(text):
            phrase = self.longest(text, place) if not place or not text[place - 1].isalnum() else None
            if phrase is None:
                place += 1
                continue
            found[phrase[1]] = text[place : phrase[0]]
            place = phrase[0]
        return found

    def lines_of(self, name: str) -> list[Line]:
        """The lines that an entry is computed from; a line itself."""
        entry = self.entries[name]
        if isinstance(entry, Line):
            return [entry]
        used = [one for one in names_in(entry.expression) if one != PERIOD_DAYS]
        return list({line.name: line for one in used for line in self.lines_of(one)}.values())


def _beginnings(phrase: str) -> tuple[str, ...]:
    """Letters one of which every match begins with; '' among them where it may begin with anything."""
    depth, start, closed = 0, 0, 0
    options = []
    for place, character in enumerate(phrase):
        depth += (character == "(") - (character == ")")
        if not depth and not closed:
            closed = place
        if not depth and character == "|":
            options.append(phrase[start:place])
            start = place + 1
    if options:
        return tuple(found for option in (*options, phrase[start:]) for found in _beginnings(option))
    if phrase.startswith("(") and not phrase.startswith("(?"):
        inside, rest = _beginnings(phrase[1:closed]), phrase[closed + 1 :]
        return inside + (_beginnings(rest[1:]) if rest[:1] in ("?", "*") else ())
    letters = re.match("[a-z]*", phrase)
    found = letters.group() if letters else ""
    return (found[:-1] if phrase[len(found) : len(found) + 1] in ("?", "*", "{") else found,)


def _compile(phrase: str) -> re.Pattern[str]:
    # A space stands for spaces and hyphens; '(?=…)' keeps 'sales' from meeting 'salesforce'.
    spaced = phrase.replace("[- ]?", "\0").replace(" ?", "\1").replace(" ", "[ -]+")
    spaced = spaced.replace("\0", "[- ]?").replace("\1", "[ -]*")
    return re.compile(rf"(?<![\w&-])(?:{spaced})(?![\w&]|-(?=[a-z]))")


def read_formulas(text: str, check_phrases: bool = True) -> Lexicon:
    """Lines and formulas in TOML.

    Args:
        text: in TOML.
        check_phrases: compile every phrase now, so that a malformed one is told with its entry.

    Raises:
        ValueError: an entry is malformed or uses a name that does not exist; the message names it.
    """
    raw = tomllib.loads(text)
    known = set(concept_names())
    entries: dict[str, Line | Formula] = {}
    phrases: list[tuple[Phrase, str]] = []
    for kind, fields in (("line", _LINE_FIELDS), ("formula", _FORMULA_FIELDS)):
        for place, entry in enumerate(raw.get(kind, [])):
            name = str(entry.get("name", f"{kind} {place}"))
            problems = [f"unknown field '{key}'" for key in sorted(set(entry) - fields)]
            if not _NAME.fullmatch(name) or name in entries:
                problems.append("its name is taken or no name")
            problems += [f"unknown concept '{c}'" for c in entry.get("concepts", []) if c not in known]
            problems += [f"unknown statement '{s}'" for s in entry.get("statements", []) if s not in KINDS]
            try:
                found = [Phrase(phrase) for phrase in entry.get("phrases", [])]
                if check_phrases:
                    for phrase in found:
                        _ = phrase.pattern
                phrases += [(phrase, name) for phrase in found]
                if not problems:
                    entries[name] = _line(entry) if kind == "line" else _formula(entry)
            except (re.error, KeyError, ExpressionError) as error:
                problems.append(f"{type(error).__name__}: {error}")
            if problems:
                raise ValueError(f"Entry '{name}' of the formulas: {'; '.join(problems)}.")
    _check_names(entries)
    return Lexicon(entries, tuple(phrases))


def _line(entry: Mapping[str, object]) -> Line:
    complete = entry.get("complete")
    return Line(
        str(entry["name"]),
        str(entry["label"]),
        _texts(entry["concepts"]),
        _texts(entry["statements"]),
        magnitude=bool(entry.get("magnitude", False)),
        complete=(str(complete["unless"]), str(complete["add"])) if isinstance(complete, dict) else None,
        components=re.compile(str(entry["components"])) if "components" in entry else None,
        labels=re.compile(str(entry["labels"])) if "labels" in entry else None,
        between=_pair(entry.get("between")),
    )


def _pair(value: object) -> tuple[str, str] | None:
    """Two names; None where there are none."""
    names = _texts(value)
    return (names[0], names[1]) if len(names) == 2 else None


def _formula(entry: Mapping[str, object]) -> Formula:
    if entry["unit"] not in FORMULA_UNITS:
        raise ExpressionError(f"unknown unit '{entry['unit']}'")
    return Formula(
        str(entry["name"]),
        str(entry["label"]),
        parse_expression(str(entry["formula"])),
        str(entry["unit"]),
        tuple(parse_expression(other) for other in _texts(entry.get("others", []))),
    )


def _texts(value: object) -> tuple[str, ...]:
    return tuple(str(item) for item in value) if isinstance(value, list) else ()


def _check_names(entries: Mapping[str, Line | Formula]) -> None:
    for name, entry in entries.items():
        used: set[str] = set()
        if isinstance(entry, Formula):
            for expression in (entry.expression, *entry.others):
                used |= set(names_in(expression))
        else:
            used = {*(entry.between or ()), *(entry.complete[1:] if entry.complete else ())}
        if missing := sorted(used - set(entries) - {PERIOD_DAYS}):
            raise ValueError(f"Entry '{name}' of the formulas uses unknown names: {', '.join(missing)}.")
    for name in entries:
        _check_circle(name, entries, ())


def _check_circle(name: str, entries: Mapping[str, Line | Formula], above: tuple[str, ...]) -> None:
    if name in above:
        raise ValueError(f"Entry '{name}' of the formulas is defined by itself: {' > '.join(above)}.")
    entry = entries[name]
    if isinstance(entry, Formula):
        for used in set(names_in(entry.expression)) - {PERIOD_DAYS}:
            _check_circle(used, entries, (*above, name))


@lru_cache(maxsize=1)
def formula_lexicon() -> Lexicon:
    """The lexicon of ``formulas.toml``.

    Raises:
        ValueError: an entry is malformed; the message names it.
    """
    text = resources.files("finrag_pipeline.questions").joinpath("formulas.toml").read_text("utf-8")
    return read_formulas(text, check_phrases=False)
