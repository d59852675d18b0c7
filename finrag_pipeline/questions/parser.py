"""A question taken apart: what is asked, in which periods, by which definitions, in which unit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from finrag_pipeline.questions.abstention import Abstention, AbstentionKind
from finrag_pipeline.questions.definitions import (
    ARITHMETIC,
    Definition,
    bare_formula,
    clean_name,
    split_definitions,
)
from finrag_pipeline.questions.directives import Directives, read_directives
from finrag_pipeline.questions.expression import At, Expression, Name, names_in
from finrag_pipeline.questions.formula_lexicon import Formula, Lexicon, formula_lexicon
from finrag_pipeline.questions.grammar import Lowering, Spoken, parse_spoken, unwrapped
from finrag_pipeline.questions.left_over import chooses_balances, left_over
from finrag_pipeline.questions.scope import check_scope, reword, split_sentences
from finrag_pipeline.questions.token_runs import (
    YEARLY,
    all_periods,
    is_list,
    once,
    outside_brackets,
    segments,
    tidy,
    trims,
    with_modifiers,
    with_names,
    without,
)
from finrag_pipeline.questions.tokens import QuestionToken, tokenise_question
from finrag_pipeline.questions.words import FILLERS, HOW_MUCH_MORE, OF_THAT, QUESTION_WORDS
from finrag_pipeline.resolver.lexicon import any_case
from finrag_pipeline.resolver.tokens import MOST_CHARACTERS, one_line
from finrag_pipeline.statements.periods import FiscalPeriod

MOST_PART = 12
"""Tokens of the longest part that is looked for in a question that cannot be read as a whole."""

_SURELY = 0.7

_ELSE_ZERO = any_case(
    r"\bif\b[^.?]*\bnot\b[^.?]*\b(?:state|answer|return|say|respond(?: with)?|report|put|write|enter) "
    r"['\"]?(?:0|zero|nil|none)\b"
)
_TOTAL = any_case(
    r"\b(?:cumulative|combined|aggregate|total)\b.{0,60}\b(?:over|across|during|for) (?:the |these |those )?"
    r"(?:\w+[ -])?(?:fiscal )?years?\b|\b(?:cumulative(?:ly)?|in aggregate|altogether)\b"
)
_ASKS = any_case(
    r"\b(?:what|how|which|calculate|compute|determine|find|give|tell|provide|by how|"
    r"state|report|show|did|does|has|is|are|was|were)\b"
)


@dataclass(frozen=True)
class ParsedQuestion:
    """A question taken apart.

    Attributes:
        expression: what is asked for.
        label: what it is called, for people.
        unit: unit that its formula is answered in; None where it follows from the inputs.
        definitions: what the question defines, by name.
        periods: periods that it asks for, ascending; the last is the one that a bare name means.
        directives: unit, rounding and statements that it asks for.
        also: further quantities that it asks for side by side: 'revenue and net income'.
        left_over: words that the expression leaves out although they may change the answer.
        span: number of years, up to the one asked for, of which it asks for each; None where it counts none.
        otherwise_zero: it asks for zero where the quantity is not reported.
    """

    expression: Expression
    label: str
    unit: str | None
    definitions: dict[str, Formula]
    periods: tuple[FiscalPeriod, ...]
    directives: Directives
    also: tuple[Name, ...] = ()
    left_over: tuple[str, ...] = ()
    span: int | None = None
    otherwise_zero: bool = False


def parse_question(
    question: str, company_words: Iterable[str] = (), lexicon: Lexicon | None = None
) -> ParsedQuestion:
    """Take a question apart.

    Args:
        question: as asked; any text.
        company_words: words in lower case of the names of the companies that it names.
        lexicon: names of quantities; that of ``formulas.toml`` if None.

    Raises:
        Abstention: the question asks for nothing that can be computed, or a definition cannot be read.
    """
    return _Reader(question, frozenset(company_words), lexicon or formula_lexicon()).read()


class _Reader:
    def __init__(self, question: str, skip: frozenset[str], lexicon: Lexicon) -> None:
        self.lexicon = lexicon
        self.skip = skip
        self.own: dict[str, str] = {}
        self.named_periods: list[QuestionToken] = []
        self.measures = frozenset(
            name
            for name, entry in lexicon.entries.items()
            if isinstance(entry, Formula) and entry.unit != "currency"
        )
        text = one_line(question[:MOST_CHARACTERS])
        self.otherwise = bool(_ELSE_ZERO.search(text))
        text = reword(text)
        self.directives, self.text = read_directives(text)

    def read(self) -> ParsedQuestion:
        definitions: list[Definition] = []
        asks: list[str] = []
        for sentence in split_sentences(self.text):
            if asks and (formula := bare_formula(sentence)):
                definitions.append(Definition(asks[-1], formula))
                continue
            rest, found = split_definitions(sentence)
            definitions += found
            if rest.strip():
                asks.append(rest)
        defined = self._define(definitions, asks)
        return self._ask(asks, defined)

    def _tokens(self, text: str) -> list[QuestionToken]:
        return tidy(tokenise_question(text, self.lexicon, self.own, self.skip), self.measures)

    # ------------------------------------------------------------------ definitions

    def _define(self, definitions: list[Definition], asks: list[str]) -> dict[str, Formula]:
        named: list[tuple[str, str, str]] = []
        for definition in definitions:
            label, ref = self._subject(definition.name, asks)
            computes = ARITHMETIC.search(definition.text)
            if not label and ref is None and computes:
                asks.append(definition.text)  # 'Acme FY2021: EBITDA / interest' is what is asked
            if not computes and not clean_name(definition.name, self.skip):
                continue  # 'a metric by using the balance sheet'
            if ref is not None:
                named.append((label, ref, definition.text))
        formulas: dict[str, Formula] = {}
        for label, ref, text in named:
            tree = self._definition(text)
            if tree is not None:
                formulas[ref] = Formula(
                    ref, label, Lowering(self.lexicon).lower(tree), self.lexicon.unit_of(ref)
                )
            elif ref not in self.lexicon.entries or ARITHMETIC.search(text) or chooses_balances(text):
                why = f"the definition of '{label}' in the question cannot be read: '{text.strip()}'"
                raise Abstention(AbstentionKind.UNREADABLE, why)
        # 'Capex is defined as capital expenditure' says nothing new.
        return {ref: one for ref, one in formulas.items() if ref not in set(names_in(one.expression))}

    def _subject(self, name: str, asks: list[str]) -> tuple[str, str | None]:
        """What a definition defines: a quantity of the lexicon, or a new name."""
        tokens = self._tokens(name)
        self.named_periods += [token for token in tokens if token.kind == "PERIODS"]
        metrics = [token for token in tokens if token.kind == "METRIC"]
        measures = [token for token in metrics if token.value in self.measures]
        if len(metrics) > 1 and not measures and any(token.kind == "TO" for token in tokens):
            return "", None  # 'working capital to total assets (…)' needs no definition
        metrics = measures or metrics
        if any(token in with_modifiers(tokens, name) for token in measures):
            return measures[-1].text, str(measures[-1].value)
        words = [token for token in tokens if token.kind == "WORD" and token.text.lower() not in FILLERS]
        words = [word for word in words if word.text.lower() not in QUESTION_WORDS]
        if metrics and (not words or len(metrics) > 1 or len(words) > 4):
            return metrics[-1].text, str(metrics[-1].value)
        text = clean_name(name, self.skip)
        if not text:
            # 'It is defined as …': what is asked about.
            asked = [token for ask in asks for token in self._tokens(ask) if token.kind == "METRIC"]
            asked = [token for token in asked if token.value in self.measures] or asked
            return (asked[-1].text, str(asked[-1].value)) if asked else ("", None)
        if metrics and not any(text in ask.lower() for ask in asks):
            return metrics[-1].text, str(metrics[-1].value)
        with_acronym, text = text, re.sub(r"\s*\([^()]*\)", "", text).strip() or text
        self.own |= {text: text, with_acronym: text}
        for acronym in re.findall(r"\(([^()]{2,12})\)", name):
            self.own[acronym.lower()] = text
        return text, text

    def _definition(self, text: str) -> Spoken | None:
        tokens = self._tokens(text)
        names, nearer = with_names(tokens, False), with_names(tokens, True)
        for kept in (names, nearer, without(tokens, ("WORD", "SPAN", "BETWEEN"))):
            for reading in trims(kept, operators=False):
                if is_list(reading):
                    return None
                if (tree := parse_spoken(reading)) is not None:
                    return tree
        return None

    # ------------------------------------------------------------------ what is asked

    def _ask(self, asks: list[str], defined: dict[str, Formula]) -> ParsedQuestion:
        sentences = [(ask, with_modifiers(self._tokens(ask), ask)) for ask in asks]
        if not any(_names_quantity(tokens) for _, tokens in sentences):
            if len(defined) != 1:
                why = "the question names no quantity that can be computed"
                raise Abstention(AbstentionKind.NOT_A_CALCULATION, why)
            sentences += [("", [QuestionToken("METRIC", one.label, ref)]) for ref, one in defined.items()]
        # Rather a question than an order, and an order than any other sentence.
        naming = [one for one in sentences if _names_quantity(one[1])]
        ask, tokens = max(naming, key=lambda one: 2 * one[0].endswith("?") + bool(_ASKS.search(one[0])))
        if len(sentences) > 1 and OF_THAT.search(ask):
            why = "the question asks for a part that another sentence names"
            raise Abstention(AbstentionKind.NOT_A_CALCULATION, why)
        if not defined:
            bare = ((word, re.sub(r"(?:'s?)?[.,?]*$", "", word.lower())) for word in ask.split())
            check_scope(" ".join(word for word, key in bare if key not in self.skip))
        every = [token for _, some in sentences for token in some]
        group = all_periods(every)
        if not group.periods:
            group = all_periods([*every, *self.named_periods])
        mine = list({str(token.value): token for token in tokens if str(token.value) in defined}.values())
        # What the question defines is what it asks for where it cannot be read as a whole.
        found = _first_tree(_readings(tokens)) or _first_tree([mine] if len(mine) == 1 else [])
        if found is None:
            raise Abstention(AbstentionKind.UNREADABLE, "the question cannot be read as one calculation")
        tree, read = found
        also = self._also(tokens, tree)
        asked = _behind_source(tokens, ask)
        percent = self.directives.unit == "percent"
        absolute = self.directives.unit == "currency" or (not percent and bool(HOW_MUCH_MORE.search(ask)))
        yearly = any(YEARLY.search(token.text) for token in tokens if token.kind == "CHANGE")
        shares = frozenset(name for name, one in defined.items() if percent or one.unit == "percent")
        lowering = Lowering(self.lexicon, percent or (yearly and not absolute), absolute, shares)
        periods = group.each()
        if _TOTAL.search(ask) and len(periods) > 1 and tree.kind == "metric":
            tree = Spoken("total", (tree,))
        expression = lowering.lower(tree, group)
        return ParsedQuestion(
            expression=expression,
            label=self._label(expression, tokens),
            unit=self._unit(tree, lowering, defined),
            definitions=defined,
            periods=tuple(period for period in periods if isinstance(period, FiscalPeriod)),
            directives=self.directives,
            also=also,
            left_over=()
            if defined
            else (
                *left_over(asked, read, group, [name.name for name in also]),
                *self._said_elsewhere(ask, asks),
            ),
            span=None if len(group.periods) > 1 or tree.kind != "metric" else group.span,
            otherwise_zero=self.otherwise,
        )

    def _said_elsewhere(self, ask: str, asks: Sequence[str]) -> list[str]:
        """Words of other sentences for what is asked: 'It sells anvils. How much did that grow?'."""
        if not asks.index(ask):
            return []
        from finrag_pipeline.questions.question_reader import WORD, read_question  # most have one sentence

        here = {word.lower() for pattern in (WORD, r"\w+") for word in re.findall(pattern, ask)}
        told = " ".join(asks[: asks.index(ask)])
        return [
            word.text
            for word in read_question(f"{told} {ask}").words
            if word.kept and sum(word.chances[1:3]) > _SURELY and not word.small
            if word.text.lower().removesuffix("'s") not in here | self.skip
        ]

    def _also(self, tokens: list[QuestionToken], tree: Spoken) -> tuple[Name, ...]:
        kept = without(tokens, ("WORD", "PERIODS", "SPAN"))
        if tree.kind != "metric" or not is_list(kept) or all(token.kind != "AND" for token in kept):
            return ()
        names = dict.fromkeys(str(token.value) for token in kept if token.kind == "METRIC")
        return tuple(Name(name) for name in names if tree.token is None or name != tree.token.value)

    def _label(self, expression: Expression, tokens: list[QuestionToken]) -> str:
        expression = expression.of if isinstance(expression, At) else expression
        if isinstance(expression, Name):
            entry = self.lexicon.entries.get(expression.name)
            return entry.label if entry else expression.name
        kept = without(tokens, ("WORD", "PERIODS", "LPAR", "RPAR", "COMMA", "BETWEEN", "SPAN"))
        return " ".join(token.text for token in list(trims(kept))[-1])

    def _unit(self, tree: Spoken, lowering: Lowering, defined: dict[str, Formula]) -> str | None:
        kinds = {node.kind for node in tree.walk()}
        if unwrapped(tree).kind in ("change", "growth") and lowering.is_share(unwrapped(tree).parts[0]):
            return "points"
        if kinds & {"growth", "cagr", "margin", "share", "share_of"}:
            return "percent"
        metrics = {str(node.token.value) for node in tree.walk() if node.kind == "metric" and node.token}
        units = {self._unit_of(name, defined) for name in metrics}
        if "change" in kinds and lowering.relative:
            return "percent"
        if "change" not in kinds and kinds & {"divide", "multiply"}:
            return None
        return units.pop() if len(units) == 1 else None

    def _unit_of(self, name: str, defined: dict[str, Formula]) -> str | None:
        unit = self.lexicon.unit_of(name)
        if name in defined and unit == "percent" and _RETURNS.search(name):
            return None  # a return defined as a quotient is told as that quotient unless a unit is asked for
        return unit


QUANTITIES = ("METRIC", "NAME")
_BINDING = frozenset({"PERCENT_OF", "SHARE", "OVER", "RATIO", "DIVIDE"})
_RETURNS = re.compile(r"^ro[a-z]{1,2}$")
_BLANK = " " * 5


def _names_quantity(tokens: Iterable[QuestionToken]) -> bool:
    return any(token.kind in QUANTITIES for token in tokens)


def _behind_source(tokens: list[QuestionToken], ask: str) -> list[QuestionToken]:
    """Tokens without a clause that leads the question and only names a statement as the source.

    Statements, like all that is said about the answer's form, are blank in ``ask``.
    """
    clause, comma, _ = ask.partition(",")
    lead = [token for token in tokens if token.start < len(clause)]
    return tokens[len(lead) :] if comma and _BLANK in clause and not _names_quantity(lead) else tokens


def _readings(tokens: list[QuestionToken]) -> Iterator[list[QuestionToken]]:
    """Tokens that may be the formula of a sentence, the likeliest first."""
    drop = ("WORD", "SPAN", "BETWEEN", "COMMA")
    quantities = sum(token.kind in QUANTITIES for token in tokens)
    if quantities > 1 and len({token.value for token in tokens if token.kind == "PERIODS"}) > 1:
        yield from trims(without(tokens, drop))
    bare = once(without(tokens, (*drop, "PERIODS")))
    while bare and bare[0].kind == "MINUS":
        bare = bare[1:]  # a dash behind the company's name
    yield from trims(bare)
    for part in segments(tokens):
        if _names_quantity(part):
            yield from trims(without(part, (*drop, "PERIODS")))
    if is_list(bare) and any(token.kind == "AND" for token in bare):
        yield [next(token for token in bare if token.kind in QUANTITIES)]
    yield from trims(outside_brackets(bare))
    if {token.kind for token in bare} & _BINDING:
        # One of the operands is no known quantity: it must be a printed line, or nothing is answered.
        named = [token for token in tokens if token.text.lower() not in QUESTION_WORDS]
        yield from trims(once(without(with_names(named, False), ("COMMA", "PERIODS"))))
        return
    # The longest part that can be read, which must hold every quantity.
    for length in range(min(len(bare) - 1, MOST_PART), 0, -1):
        for start in range(len(bare) - length + 1):
            part = bare[start : start + length]
            if sum(token.kind in QUANTITIES for token in part) == quantities:
                yield part


def _first_tree(readings: Iterable[list[QuestionToken]]) -> tuple[Spoken, list[QuestionToken]] | None:
    """The first formula in words among readings, and the tokens that it was read from."""
    for reading in readings:
        if not is_list(reading) and (tree := parse_spoken(reading)) is not None:
            return tree, reading
    return None
