"""The form a question asks for, in words or by its topic."""

from __future__ import annotations

import re
from dataclasses import dataclass

from finrag_pipeline.filings.forms import CURRENT, FORMS
from finrag_pipeline.resolver.lexicon import (
    EVENT_ITEMS,
    FORWARD,
    RELEASE_STYLE,
    REPORT_STYLE,
    any_case,
    words,
)

_NAMES = tuple(
    (family, words("|".join(form.asked for form in FORMS if form.family == family and form.asked)))
    for family in dict.fromkeys(form.family for form in FORMS)
)
_MEETING = words(r"agm|annual (?:general |shareholders'? |stockholders'? )?meeting")
_SPAN = any_case(r"(?<![^\W_])(?:quarter(?:ly)?|ytd|year[- ]to[- ]date|interim)(?![^\W_])")


@dataclass(frozen=True, slots=True)
class AskedForm:
    """What a question says and suggests about the form of the filing.

    Attributes:
        form: ``10-K``, ``10-Q``, ``8-K`` or ``EARNINGS`` where the question names it; else None.
        words: the words that name it.
        items: items of Form 8-K whose events the question asks about, with its words.
        release: words usual in earnings releases, or None.
        report: words usual in annual and quarterly reports, or None.
        forward: words that look ahead, or None.
        interim: words that ask for a part of a year, or None.
    """

    form: str | None
    words: str
    items: dict[str, str]
    release: str | None
    report: str | None
    forward: str | None
    interim: str | None


def read_form(question: str) -> AskedForm:
    """Read what ``question``, in plain characters, says of the form."""
    named = sorted(
        (match.start(), form, match[0]) for form, pattern in _NAMES if (match := pattern.search(question))
    )
    form, printed = (named[0][1], named[0][2]) if named else (None, "")
    if form is None and (meeting := _MEETING.search(question)):
        form, printed = CURRENT, meeting[0]
    return AskedForm(
        form=form,
        words=printed,
        items={
            item: match[0] for item, pattern in EVENT_ITEMS.items() if (match := pattern.search(question))
        },
        release=_first(RELEASE_STYLE, question),
        report=_first(REPORT_STYLE, question),
        forward=_first(FORWARD, question),
        interim=_first(_SPAN, question),
    )


def _first(pattern: re.Pattern[str], text: str) -> str | None:
    match = pattern.search(text)
    return match[0] if match else None
