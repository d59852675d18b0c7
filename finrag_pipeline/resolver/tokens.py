"""Words of a question or name, with the keys they are compared by."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from finrag_pipeline.filings.cover_text import PLAIN, replacer
from finrag_pipeline.resolver.lexicon import FILLERS

_PLAIN = PLAIN | {ord("`"): "'"} | dict.fromkeys(map(ord, "\u00ae\u2122\u00a9"), "")
_LETTER = r"[^\W_]"
# Characters that no font agrees on stand for periods and companies where a question is read.
_PLAIN |= dict.fromkeys(range(0xE000, 0xE100), " ")
# 'AT&T', "Boeing's", 'Amazon.com' and 'U.S' are one word; other dots and all hyphens part words.
_DOT = rf"\.(?=(?i:com|net|org|io|ai)(?!{_LETTER}))|(?<![^\W_]{{2}})\.(?={_LETTER}(?!{_LETTER}))"
_WORD = re.compile(
    rf"{_LETTER}+(?:(?:[&']|{_DOT})"
    rf"{_LETTER}+)*"
)
_JOINING = re.compile(r"(?:[ \t\n]{0,3}[-/&+.,]?[ \t\n]{0,3}|'[ ]?)")


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a text.

    Attributes:
        text: as printed.
        start: its first character.
        end: after its last character.
        key: casefolded, without accents, apostrophes and points.
        bare: the key without a possessive s; None where there is none.
        possessive: the word is printed as a possessive, ``X's`` or ``Xs'``.
        capital: it begins with a capital letter, or with a digit before one, as ``3M``.
        opens: it is the first of a sentence.
        ampersand: ``&`` stands before it.
        joined: at most white space and a hyphen, ``&`` or comma stand before it; it may go on with the word
            before.
    """

    text: str
    start: int
    end: int
    key: str
    bare: str | None
    possessive: bool
    capital: bool
    opens: bool
    joined: bool
    ampersand: bool = False

    @property
    def filler(self) -> bool:
        """Whether the word does not count in a name."""
        return self.key in FILLERS

    @property
    def stem(self) -> str:
        """The key without a possessive s."""
        return self.bare or self.key

    @property
    def stem_end(self) -> int:
        """After its last character but a possessive s."""
        return self.end - 2 if self.bare else self.end


plain = replacer(_PLAIN)
"""Return a text with compatibility characters, quotation marks and dashes in their plain form."""

MOST_CHARACTERS = 4000


def plain_question(question: str) -> str:
    """A question in plain characters; of a longer one than `MOST_CHARACTERS` only the beginning is read."""
    return plain(question[:MOST_CHARACTERS])


def one_line(text: str) -> str:
    """A text in plain characters on one line, with single blanks."""
    return " ".join(plain(text).split())


def fold(word: str) -> str:
    """Return the key of a word: casefolded, letters and digits only, without accents."""
    if word.isascii():
        return "".join(c for c in word.casefold() if c.isalnum())
    return "".join(c for c in unicodedata.normalize("NFKD", word).casefold() if c.isalnum())


def tokenise(text: str) -> list[Token]:
    """Return the words of a plain text, in order (see :func:`plain`)."""
    tokens: list[Token] = []
    end = 0
    for match in _WORD.finditer(text):
        word, between = match[0], text[end : match.start()]
        bare = fold(word[:-2]) if len(word) > 2 and word[-2:] in ("'s", "'S") else None
        after = text[match.end() : match.end() + 1]
        tokens.append(
            Token(
                text=word,
                start=match.start(),
                end=match.end(),
                key=fold(word),
                bare=bare or None,
                possessive=bare is not None or (after == "'" and word[-1] in "sSzZxX"),
                capital=word[0].isupper() or (word[0].isdigit() and any(c.isupper() for c in word)),
                opens=not tokens or any(c in between for c in '.?!:;\n"'),
                joined=bool(tokens) and _JOINING.fullmatch(between) is not None,
                ampersand="&" in between,
            )
        )
        end = match.end()
    return tokens
