"""Plans of questions that describe a part of the company by what it does, with its name in place of that."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

from finrag_pipeline.answering.part_descriptions import Described, PartDescriptions
from finrag_pipeline.questions.plan import Operation, QuestionPlan, Verdict
from finrag_pipeline.questions.question_reader import naming_words
from finrag_pipeline.questions.token_runs import says_nothing
from finrag_pipeline.rankers.page_ranker.terms import terms
from finrag_pipeline.resolver.lexicon import any_case

LEAST_PART = 0.8
"""Least probability of the part of a company that words describe."""

_CALLED = r"(?:segments?|divisions?|arms?|wings?|units?|business(?:es)?|sides?|operations)"
_PART = any_case(rf"\b{_CALLED}\b")
"""What a part that words describe is called."""

_BEGINS = any_case(
    r"acme's|acme|its|their|our|the|an?|of|for|from|at|in|within|inside|by|did|do|does|was|were|is|are|how|what|"
    r"much|many|[:;?]"
)
"""What stands before words that describe a part."""
_GOES_ON = any_case(r"of|that|which|with|making|selling|for|outside|behind|where|who")
"""What words begin with that describe a part behind what it is called."""

_MOST_BEFORE, _MOST_BEHIND = 8, 14
"""Words before and behind what a part is called that may describe it."""

_ALL = any_case(r"\b(?:total|overall|whole|company\w*|consolidated|firm\w*|group\w*|all)\b")
"""Words for what is no part."""


def describes_part(plan: QuestionPlan) -> bool:
    """Whether a question may describe a part of the company, or ask for a share within one."""
    within = plan.operation is Operation.RATIO and len(plan.measures) > 1 and bool(plan.names)
    return plan.one_of is None and (within or _PART.search(plan.asked) is not None)


def with_described_part(
    plan: QuestionPlan, parts: PartDescriptions, quantities: frozenset[str]
) -> QuestionPlan:
    """A plan that names the part of the company which its words describe.

    Of two measures each may be of a part of its own.

    Args:
        plan: of a question that may describe one.
        parts: of the filing that is asked about.
        quantities: stems of words that name quantities, which describe no part.
    """
    if (compared := _compared(plan, parts, quantities)) is not None:
        return compared
    if (within := _within(plan, parts, quantities)) is not None:
        return within
    others = frozenset(terms(plan.asked)) - _describing(plan.asked)
    quantities |= others  # which are no description
    measures = [_Rewriting(_of(measure, parts, quantities), quantities) for measure in plan.measures]
    if len({one.name for one in measures} - {""}) > 1:
        read = [one for one in measures if one.stems]
        if not read or not all(one.name for one in measures):
            return plan
        words = tuple(one.named(text) for one, text in zip(measures, plan.measures, strict=True))
        return _read_as(plan, read, words)
    whole = _Rewriting(_of(plan.asked, parts, quantities), quantities)
    found = next((one for one in measures if one.stems), whole)
    if not found.stems:
        return plan
    each = [found.describes(measure) for measure in plan.measures]
    if plan.operation is Operation.RATIO and each[-1]:  # what is a share of a part lies within it
        each = [True] * len(each)
    words = tuple(
        found.named(measure) if own or not any(each) else measure
        for measure, own in zip(plan.measures, each, strict=True)
    )
    return _read_as(plan, [found], words)


def _compared(plan: QuestionPlan, parts: PartDescriptions, quantities: frozenset[str]) -> QuestionPlan | None:
    """A plan that compares the two parts that a question names, each with its own measure; else None.

    'Did the Garden segment earn more than the Tools segment?' asks for two numbers.
    """
    named = parts.named_in(terms(plan.asked))
    if len(named) != 2:
        return None
    names = sorted(named, key=plan.asked.lower().find)
    if len(plan.measures) == 2:
        own = [parts.named_in(terms(measure)) for measure in plan.measures]
        if sorted(map(len, own)) != [1, 2]:
            return None
        (one,) = min(own, key=len)
        other = next(name for name in named if name != one)
        first, second = plan.measures
        alone = frozenset(terms(one)) - quantities
        words = (first, _without(second, alone)) if len(own[0]) == 1 else (_without(first, alone), second)
        return replace(plan, measures=words, spoken=(), names=tuple(dict.fromkeys((*plan.names, one, other))))
    if not plan.yes_no or len(plan.measures) != 1 or len(plan.periods) > 1:
        return None
    rest = _without(plan.measures[0], frozenset(terms(" ".join(names))) - quantities)
    less = plan.verdict in (Verdict.FALL, Verdict.LESS, Verdict.NEGATIVE)
    return replace(
        plan,
        operation=Operation.DIFFERENCE,
        verdict=Verdict.LESS if less else Verdict.MORE,
        measures=tuple(f"{rest} {name}" for name in names),
        spoken=(),
        meant=(),
        names=tuple(dict.fromkeys((*plan.names, *names))),
    )


def _within(plan: QuestionPlan, parts: PartDescriptions, quantities: frozenset[str]) -> QuestionPlan | None:
    """A plan of a share within a part that one of its measures names, as both then are of it; else None.

    'What share of the sales of Garden was exports' asks for its exports; 'Garden sales as a share of sales'
    are set against all.
    """
    if plan.operation is not Operation.RATIO or len(plan.measures) != 2 or plan.margin:
        return None
    first, second = plan.measures
    own = [parts.named_in(terms(measure)) for measure in plan.measures]
    names = {*own[0], *own[1]}
    if len(names) != 1 or own[0] == own[1]:
        return None
    (name,) = names
    stems = frozenset(terms(name)) - quantities
    if own[0]:
        rest = set(terms(naming_words(_without(first, stems))))
        if rest <= set(terms(second)) or _ALL.search(plan.asked):
            return None
    measures = (first, f"{second} {name}") if own[0] else (f"{first} {name}", second)
    return replace(plan, measures=measures, spoken=(), names=tuple(dict.fromkeys((*plan.names, name))))


def _without(text: str, stems: frozenset[str]) -> str:
    """A text without words of some stems and what parts are called."""
    return " ".join(
        word for word in text.split() if stems.isdisjoint(terms(word)) and not _PART.fullmatch(word)
    )


def _describing(asked: str) -> frozenset[str]:
    """Stems of the words around what parts are called, such as 'segment', that may describe one."""
    words = asked.split()
    found: list[str] = []
    for at, word in enumerate(words):
        if not _PART.fullmatch(word):
            continue
        for before in reversed(words[max(0, at - _MOST_BEFORE) : at]):
            if _BEGINS.fullmatch(before):
                break
            found.append(before)
        behind = words[at + 1 : at + 1 + _MOST_BEHIND]
        if behind and _GOES_ON.fullmatch(behind[0]):
            found += itertools.takewhile(lambda one: one not in (":", ";"), behind[1:])
    return frozenset(terms(" ".join(found)))


def _read_as(plan: QuestionPlan, read: list[_Rewriting], measures: tuple[str, ...]) -> QuestionPlan:
    names, openers, unread, asked = plan.names, plan.openers, plan.unread, plan.asked
    chance = plan.measure_chance
    for one in read:
        names = (*(name for name in names if not one.describes(name)), one.name)
        openers = tuple(name for name in openers if not one.describes(name))
        unread = tuple(filter(None, map(one.rest, unread)))
        asked = one.named(asked)
        chance *= one.chance
    return replace(
        plan,
        measures=measures,
        spoken=(),
        meant=(),
        names=names,
        openers=openers,
        unread=unread,
        topic=(),
        asked=asked,
        measure_chance=chance,
        read_as=tuple(f"the part of the company that is described is read as '{one.name}'" for one in read),
    )


def _of(text: str, parts: PartDescriptions, quantities: frozenset[str]) -> Described | None:
    """The part that words name, or describe surely; None where they do neither, or name several."""
    if not _PART.search(text):
        return None
    named = parts.named_in(terms(text))
    if len(named) > 1:
        return None
    if named:
        # 'The Garden tools business' calls Garden so, and says no more of it.
        within = any_case(rf"\b{re.escape(named[0])} (?P<more>[\w-]+(?: [\w-]+)?) {_CALLED}\b").search(text)
        return Described(named[0], 1.0, frozenset(terms(within["more"]) if within else ()) - quantities)
    words = (word for word in naming_words(text).split() if not _PART.fullmatch(word))
    told = terms(" ".join(word for word in words if not says_nothing(word.lower())))
    found = parts.described([stem for stem in told if stem not in quantities])
    return found if found is not None and found.chance >= LEAST_PART else None


class _Rewriting:
    """Texts with the name of a part in place of what describes it; as they are where there is none."""

    def __init__(self, found: Described | None, quantities: frozenset[str]) -> None:
        self.name, self.chance = (found.name, found.chance) if found is not None else ("", 1.0)
        self.stems = found.stems if found is not None else frozenset()
        self._quantities = quantities

    def describes(self, text: str) -> bool:
        """Whether words describe the part or are what parts are called."""
        return bool(self.name) and any(map(self._tells, text.split()))

    def _tells(self, word: str) -> bool:
        return _PART.fullmatch(word.removesuffix("'s")) is not None or not self.stems.isdisjoint(terms(word))

    def rest(self, text: str) -> str:
        """What a text says besides."""
        words = [word for word in text.split() if word != "plus"]
        gone = list(map(self._tells, words))
        for at in range(1, len(words) - 1):  # 'with phones and tablets' describes by both
            if words[at] == "and" and (gone[at - 1] or gone[at + 1]):
                for place in range(at - 1, at + 2):
                    gone[place] |= all(stem not in self._quantities for stem in terms(words[place]))
        kept = [word for word, lost in zip(words, gone, strict=True) if not lost]
        return " ".join(kept) if len(kept) == len(words) else " ".join(filter(self._names, kept))

    def _names(self, word: str) -> bool:
        """Whether a word is no verb of what a part does with a quantity, such as 'earn'."""
        return not says_nothing(word.lower()) or not self._quantities.isdisjoint(terms(word))

    def named(self, text: str) -> str:
        """A text with the name; as it is where nothing describes the part."""
        if not self.stems:
            return text
        said = set(terms(self.name))
        rest = self.rest(text)
        return rest if said <= set(terms(rest)) else f"{rest} {self.name}".strip()
