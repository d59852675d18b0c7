"""Clipped words and initials of a question, spelled out in words that filings print.

There is no list of them: people shorten words as they go. 'Op. mgn' is 'operating margin' since that phrase
alone begins so and has these letters in this order; 'NI' has the initials of 'net income'.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from finrag_pipeline.questions.formula_lexicon import formula_lexicon
from finrag_pipeline.questions.question_reader import NAMES_NOTHING
from finrag_pipeline.resolver.lexicon import any_case

_TOKEN = re.compile(r"[^\W\d_]+(?:[&/'-][^\W\d_]+)*(?:\.(?!\s*$|\s+[A-Z][a-z]+(?![A-Za-z])))?")
_WORD = re.compile(r"(-?)([^\W\d_]+(?:'[a-z])?)")
_INITIALS = re.compile(r"[A-Z]{2,6}|[A-Za-z](?:[/-][A-Za-z])+")
_SMALL = frozenset(("a", "an", "and", "at", "by", "for", "from", "in", "of", "on", "or", "the", "to", "with"))
_SIGNS = (
    (re.compile(r"\$\s*[Δ∆]\s*"), "change in dollars "),
    (re.compile(r"\s*[Δ∆]\s*"), " change "),
    (re.compile(r"(?<=\w)\s+v\.?\s+(?=\w)"), " versus "),
    (any_case(r"\bchg\b\.?"), "change"),
    (any_case(r"(?<=[a-z])\s+>\s+(?=[a-z])"), " larger than "),
    (any_case(r"(?<=[a-z])\s+<\s+(?=[a-z])"), " smaller than "),
)
_STATEMENTS = (
    (re.compile(r"\bB/S\b"), "balance sheet"),
    (re.compile(r"\b(?:I/S|P&L|P/L)\b"), "income statement"),
    (re.compile(r"\b(?:CFS|C/F|CF (?:stmt\.?|statement))(?![^\W_])"), "cash flow statement"),
    (any_case(r"\bstmts?\b\.?"), "statement"),
    (re.compile(r"(?<![$\w])US(?![\w$&])"), "U.S."),
)
"""What statements are called for short, and a country that 'us' may be read for."""

_PRINTED = any_case(r"\s*\(\s*(?:U\.?S\.?\s)?GAAP\s*\)|(?<!non)(?<!non[- ])(?<!\w)(?:U\.?S\.?\s)?GAAP\s")
"""What all numbers of filings are, if nothing else is said."""

_ORDER = any_case(r"^\s*(?:please\s+)?(?:calc|get|pull|grab|fetch)\b[:,]?\s+(?:me\s+|us\s+)?")
"""An order to look something up, which says nothing of what."""

_TO_CONFIRM = re.compile(
    r"^\s*(?:please\s+)?(?:(?:confirm|verify|state|say|tell (?:me|us)|check|establish|indicate|determine)\s+"
    r"(?:whether|if|that)\s+|(?:check|confirm(?: or deny)?|true or false|yes or no):\s*)"
    r"(?P<rest>.*?)[.?]*\s*$"
    r"|^(?P<said>.*?)[,.?;\s]*[(-]?\s*(?:(?:please\s+)?(?:answer|reply)\s+(?:with\s+)?)?"
    r"(?:y/n|yes/no|yes or no|true or false)\s*\)?\s*[.?]?\s*$",
    re.IGNORECASE | re.DOTALL,
)
"""What a yes or a no is asked for in other words than a question."""

_ASKED = any_case(r"\s*(?:did|does|do|is|are|was|were|has|have|had|can|could|will|would)\b")
_WITH_SIGN = re.compile(r"(?<![^\W_])[A-Za-z](?:[A-Za-z]*&[A-Za-z]+)+(?![^\W_])")
_CUT_WITHIN = re.compile(r"[^\W\d_]{2}(?<!n)'[lt]$")
"""A word whose middle is cut out: "Int'l", "Gov't"."""
_ENDINGS = ("s", "es", "d", "ed", "ing")
_VOWEL = re.compile("[aeiouy]")
_PLAIN_WORD = re.compile(r"[^\W\d_]{5,}")
_BRITISH = any_case(
    r"is(?=(?:e[drs]?|ers|ing|able|ations?)\b)|(?<=y)s(?=(?:e[drs]?|ers|ing)\b)|(?<=[a-z]{2}o)u(?=r(?:s|ed|ing|able)?\b)|"
    r"(?<=[a-z]{2})tre(?=s?\b)|(?<=en)c(?=es?\b)|(?<=[ai]l)(?=ments?\b)|(?<=[aei]l)l(?=(?:ed|ing|ers?)\b)|(?<=am)me(?=s?\b)"
)
_AMERICAN = {"is": "iz", "s": "z", "u": "", "tre": "ter", "c": "s", "": "l", "l": "", "me": ""}
"""How British endings of words are spelled in the United States, as filings are."""
_LEAST_LETTERS, _LEAST_INITIALS, _LONG = 2, 3, 6
_MOST_WORDS = 12
"""Of a printed phrase that are looked at."""


@dataclass(frozen=True)
class _Token:
    text: str
    start: int
    end: int
    known: bool

    @property
    def clipped(self) -> bool:
        return self.text.endswith(".")

    @property
    def letters(self) -> str:
        return re.sub(r"[^a-z]", "", self.text.lower())

    @property
    def initials(self) -> str:
        bare = self.text.rstrip(".")
        return self.letters if _INITIALS.fullmatch(bare) else ""


@dataclass(frozen=True)
class _Phrase:
    """What may be meant.

    Attributes:
        words: in order.
        glued: whether each is joined to the one before by a hyphen.
        known: whether it names a known quantity.
    """

    words: tuple[str, ...]
    glued: tuple[bool, ...]
    known: bool

    def text(self, start: int, stop: int, proper: bool) -> str:
        """Words as a text; names keep their capitals where ``proper``."""
        own = (
            word if proper or word[1:] != word[1:].lower() else word.lower()
            for word in self.words[start:stop]
        )
        glue = ("-" if glued else " " for glued in self.glued[start:stop])
        return "".join(part for pair in zip(glue, own, strict=True) for part in pair)[1:]


_Run = tuple[tuple[int, ...], str]
"""A number of tokens and what else tells of two runs the one that is meant, the larger, and its words."""


def in_words(question: str) -> str:
    """A question with words for signs, for statements and for initials of known lines such as 'R&D'.

    An order to look something up is left out; one to confirm something becomes a question.
    """
    for sign, word in (*_SIGNS, *_STATEMENTS, (_PRINTED, ""), (_ORDER, "")):
        question = sign.sub(word, question).strip()
    if found := _TO_CONFIRM.fullmatch(question):
        said = found["rest"] or found["said"] or ""
        question = said if _ASKED.match(said) else f"Is it true that {said}?"
    lexicon = formula_lexicon()
    spans = lexicon.longest(question.lower()) if _WITH_SIGN.search(question) else {}

    def in_full(signed: re.Match[str]) -> str:
        start, end = signed.span()
        named = [name for at, (stop, name) in spans.items() if at <= start and end <= stop]
        label = lexicon.entries[named[0]].label if named else ""
        return _spelled(signed[0].lower().replace("&", ""), label) or signed[0]

    return _WITH_SIGN.sub(in_full, question)


def _spelled(initials: str, label: str) -> str | None:
    """The words that a label begins with and that have these initials; None where it has others."""
    words = label.lower().split()
    told = [place for place, word in enumerate(words) if word not in _SMALL][: len(initials)]
    same = "".join(words[place][0] for place in told) == initials
    return " ".join(words[: told[-1] + 1]).rstrip(",") if same else None


def may_be_shortened(question: str, names: Collection[str]) -> bool:
    """Whether any word of a question may be a clipped one, initials, or one in British spelling."""
    return _BRITISH.search(question) is not None or not all(
        token.known for token in _tokens(question, names, has_vowel)
    )


def has_vowel(word: str) -> bool:
    """Whether a word can be spoken, as clipped ones can not."""
    return _VOWEL.search(word) is not None


def _tokens(
    question: str, names: Collection[str], is_word: Callable[[str], bool], printed: Collection[str] = ()
) -> list[_Token]:
    """Words of a question; those of the lexicon, printed ones and names are known."""
    spans = [(start, end) for start, (end, _) in formula_lexicon().longest(question.lower()).items()]
    shouted = question.upper() == question and any(len(word) > _LONG for word in question.split())
    found = []
    for match in _TOKEN.finditer(question):
        text, letters = match[0], match[0].lower().rstrip(".").removesuffix("'s")
        start, end = match.span()
        digits = question[end : end + 1].isdigit() or question[start - 1 : start].isdigit()
        named = any(begin <= start and end <= stop for begin, stop in spans)
        if _INITIALS.fullmatch(text.rstrip(".")) and not shouted:
            known = letters in printed
        elif text.endswith(".") or _CUT_WITHIN.search(text):
            known = False
        else:
            is_name = text[0].isupper() and has_vowel(letters)
            known = is_name or letters in printed or len(letters) > _LONG or _is_inflected(letters, is_word)
        told = letters in _SMALL or letters in names or letters in NAMES_NOTHING or "&" in text
        known = known or named or digits or told or len(letters) < _LEAST_LETTERS
        found.append(_Token(text, start, end, known))
    return found


def _is_inflected(letters: str, is_word: Callable[[str], bool]) -> bool:
    """Whether letters are a word, in whatever form, or several joined."""
    parts = [part for part in re.split(r"[-/]", letters) if part]
    return all(
        is_word(part)
        or any(
            len(part) > len(end) + _LEAST_LETTERS and is_word(part.removesuffix(end))
            for end in _ENDINGS
            if part.endswith(end)
        )
        for part in parts
    )


class Abbreviations:
    """Spells out what is shortened in questions.

    Args:
        phrases: what may be meant, such as labels and headings of rows, often ones often.
        known: names of quantities, which are likelier meant than other phrases.
        is_word: whether letters are a word of the language, and no clipped one.
    """

    def __init__(self, phrases: Iterable[str], known: Iterable[str], is_word: Callable[[str], bool]) -> None:
        self._is_word = is_word
        self._phrases: list[_Phrase] = []
        self._starts: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        self._often: Counter[str] = Counter()
        named, printed = dict.fromkeys(known, 1), Counter(phrases)
        for text, often in (*named.items(), *printed.items()):
            found = _WORD.findall(text)[:_MOST_WORDS]
            words = tuple(word for _, word in found)
            for at, word in enumerate(words):
                self._often[word.lower()] += often
                self._starts[word[0].lower()].append((len(self._phrases), at))
            self._phrases.append(_Phrase(words, tuple(bool(hyphen) for hyphen, _ in found), text in named))

    def spelled_out(self, question: str, names: Collection[str] = ()) -> tuple[str, dict[str, str]]:
        """A question in full words, and what stands for what.

        Args:
            question: as asked.
            names: words that are left as they are, such as names of companies, in lower case.
        """
        question = _PLAIN_WORD.sub(lambda word: self._as_printed(word[0]), in_words(question))
        tokens = _tokens(question, names, self._is_word, self._often)
        found: dict[str, str] = {}
        if all(token.known for token in tokens):
            return question, found
        text, last, at = "", 0, 0
        while at < len(tokens):
            run = self._best(question, tokens, at)
            if run is None:
                at += 1
                continue
            (count, *_), words = run
            start, end = tokens[at].start, tokens[at + count - 1].end
            found[question[start:end]] = words
            text += question[last:start] + words
            last, at = end, at + count
        return text + question[last:], found

    def _as_printed(self, word: str) -> str:
        """A word in American spelling, where it is printed in that alone."""
        american = _BRITISH.sub(lambda part: _AMERICAN[part[0].lower()], word)
        lower = american.lower()
        return american if lower in self._often and word.lower() not in self._often else word

    def _best(self, question: str, tokens: Sequence[_Token], first: int) -> _Run | None:
        """The longest run from a token on that shortens a phrase, and of these the likeliest."""
        token = tokens[first]
        if token.letters in _SMALL:
            return None
        runs: list[_Run] = []
        for place, at in self._starts.get(token.letters[:1], ()):
            phrase = self._phrases[place]
            for count, stop in self._runs(question, tokens, first, phrase.words, at):
                if all(one.known for one in tokens[first : first + count]):
                    continue
                whole = at == 0 and stop == len(phrase.words)
                if count == 1 and not (whole and phrase.known) and not self._is_told(token, phrase, at, stop):
                    continue
                proper = not phrase.known and (bool(token.initials) or token.text[:1].isupper())
                spelled = min(stop - at, len(token.initials))
                rank = (count, spelled, whole, phrase.known, self._often[phrase.words[at].lower()], at - stop)
                runs.append((rank, phrase.text(at, stop, proper)))
        return max(runs, key=lambda run: run[0], default=None)

    def _is_told(self, token: _Token, phrase: _Phrase, at: int, stop: int) -> bool:
        """Whether one token alone tells its words: initials of a phrase or compound, a word that is cut."""
        if stop - at == 1:
            return token.clipped or not self._is_word(token.letters)
        whole = at == 0 and stop == len(phrase.words) and len(token.initials) >= _LEAST_INITIALS
        return whole or (all(phrase.glued[at + 1 : stop]) and not token.text.isalpha())

    def _runs(
        self, question: str, tokens: Sequence[_Token], first: int, words: Sequence[str], at: int
    ) -> Iterator[tuple[int, int]]:
        """Numbers of tokens from one on that shorten words from a place on, with where these end."""
        ends = {at}
        for count, token in enumerate(tokens[first:], 1):
            if count > 1 and re.search(r"[^\s%/&-]", question[tokens[first + count - 2].end : token.start]):
                return
            ends = {stop for end in ends for stop in self._stops(token, words, end, count > 1)}
            if not ends:
                return
            yield from ((count, stop) for stop in ends)

    def _stops(self, token: _Token, words: Sequence[str], at: int, within: bool) -> Iterator[int]:
        """Where words end that a token may stand for; ``within`` a run a word may be a clipped one too."""
        if at < len(words) and words[at].lower() in _SMALL and token.letters != words[at].lower():
            at += 1
        if at >= len(words):
            return
        word = words[at].lower()
        same = token.letters == word or (token.known and token.letters.rstrip("s") == word.rstrip("s"))
        cut = within and len(token.letters) > _LEAST_LETTERS and word.startswith(token.letters)
        if same or cut or (not token.known and self._shortens(token, word)):
            yield at + 1
        if token.initials and not token.known:
            yield from self._spelled_by(token.initials, words, at)

    def _shortens(self, token: _Token, word: str) -> bool:
        letters = token.letters
        if not _LEAST_LETTERS <= len(letters) < len(word) or letters[0] != word[0]:
            return False
        whole = word in (f"{letters}s", f"{letters}es")
        if whole or (token.text.isupper() and token.text.isalpha()):
            return False
        if word.startswith(letters) or word.startswith(letters.rstrip("s")):
            return token.clipped or not self._is_word(letters)
        rest = iter(word)
        in_order = all(letter in rest for letter in letters)
        return in_order and not self._is_word(letters) and not set(letters[1:]) & set("aeiou")

    @staticmethod
    def _spelled_by(initials: str, words: Sequence[str], at: int) -> Iterator[int]:
        """Where words end whose first letters are initials; small words may lack theirs."""
        for letter in initials:
            while at < len(words) and words[at].lower() in _SMALL and words[at][0].lower() != letter:
                at += 1
            if at >= len(words) or words[at][0].lower() != letter:
                return
            at += 1
        yield at
