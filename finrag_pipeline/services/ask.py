"""Asking the filings of a lake: an answer with its proof."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from finrag_pipeline.answering.answer import (
    TEXT_MAY_ANSWER,
    Answer,
    answer_with_model,
    explain,
    pages_of,
)
from finrag_pipeline.answering.calculator import Calculator
from finrag_pipeline.answering.modes import AnswerMode
from finrag_pipeline.answering.passages import passages_of
from finrag_pipeline.errors import LakeError, ModelError
from finrag_pipeline.questions.question_reader import naming_words
from finrag_pipeline.resolver.lexicon import ACRONYMS, METRICS, PLACES
from finrag_pipeline.resolver.resolver import IDENTITY, load_resolver
from finrag_pipeline.retrieval.chunk_index import searchable_filings
from finrag_pipeline.retrieval.question_text import check_question
from finrag_pipeline.services.filings import require_filing
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake

if TYPE_CHECKING:
    from finrag_pipeline.answering.evidence import EvidenceRow
    from finrag_pipeline.language_models.protocol import LanguageModel
    from finrag_pipeline.services.search import Searcher

PASSAGES = 10
"""Pages that retrieval passes on."""

_NO_NAMES = ACRONYMS | METRICS | PLACES
_BY_WORDS = "bm25"
_PAGES_OF_NAMES, _LEAST_PAGES, _ALONE, _SMALL = 30, 3, 0.8, 0.1
"""Pages that are looked through for a name, how many must print it, which part of these is one company's, and
how often it may be printed small, as in an address."""


@dataclass(frozen=True)
class Reply:
    """An answer with its proof, and what it took.

    Attributes:
        system: the retrieval system; None where nothing had to be searched for.
        warnings: which filings were not searched.
        evidence: where nothing is answered, the printed rows that come closest to the question.
    """

    answer: Answer
    system: str | None
    seconds: float
    warnings: list[str] = field(default_factory=list)
    evidence: list[EvidenceRow] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """The documented contract: see docs/answers.md."""
        answer = self.answer.as_json()
        warnings = [*answer["warnings"], *self.warnings]
        return answer | {
            "evidence": [row.as_json() for row in self.evidence],
            "warnings": warnings,
            "system": self.system,
            "seconds": self.seconds,
        }


class Asker:
    """Answers questions over every filing of the lake; what is needed is loaded once.

    Args:
        searcher: finds pages; one of its own when None, made by the first question about text.

    Raises:
        LakeError: the lake holds nothing to search.
    """

    def __init__(self, settings: Settings, searcher: Searcher | None = None) -> None:
        self._settings = settings
        self._lake = Lake(settings.lake).required()
        self._searcher = searcher
        names = searchable_filings(self._lake)
        if not names:
            raise LakeError("The lake holds nothing to ask.", "Run 'finrag run', or 'finrag ingest FILE'.")
        rows = self._lake.first_rows("filings", IDENTITY).to_pylist()
        resolver = searcher.resolver if searcher else load_resolver(self._lake, names, rows)
        self._calculator = Calculator.of_lake(self._lake, resolver, filings=rows)
        self._resolver = resolver

    @property
    def searcher(self) -> Searcher:
        """Finds pages."""
        if self._searcher is None:
            from finrag_pipeline.services.search import Searcher  # only questions about text need it

            self._searcher = Searcher(self._settings)
        return self._searcher

    def ask(
        self,
        question: str,
        mode: AnswerMode = "calculator",
        filings: Sequence[str] = (),
        system: str | None = None,
        with_evidence: bool = True,
    ) -> Reply:
        """Answer a question. Pages are searched for where facts alone do not answer it.

        Only ``filings`` are used; those that the question means when there are none. ``with_evidence``, an
        abstention shows the closest rows.

        Raises:
            UsageError: empty or endless question, unknown system or filing.
            LakeError: an index is missing.
            ModelError: a model that was asked for cannot be had or gives no answer.
        """
        start = time.perf_counter()
        question = check_question(question, "ask")
        model = self._model if mode != "calculator" else None
        chosen = [require_filing(self._lake, filing) for filing in filings] or None
        if system is not None:
            from finrag_pipeline.retrieval.systems import get_system

            get_system(system)
        told: list[str] = []
        if mode == "calculator":
            derivation = self._calculator.answer(question, filings=chosen)
            if derivation.abstained and derivation.filings is None and chosen is None:
                chosen, told = self._by_names(question)
                filings = chosen or ()
                derivation = self._calculator.answer(question, filings=chosen) if chosen else derivation
            if derivation.kind not in TEXT_MAY_ANSWER:
                return self._reply(explain(derivation), chosen, None, start, told, with_evidence)
        found = self.searcher.find(question, system, PASSAGES, filings)
        texts = {hit.chunk_id: found.corpus.text(hit.chunk_id) for hit in found.hits}
        passages = passages_of(found.hits, texts)
        if mode == "calculator" or model is None:
            # pyrefly: ignore[unbound-name]: made above in this mode
            answer = explain(derivation, passages, found.corpus.encoder.embed_short)
        else:
            derivation = self._calculator.answer(question, pages_of(passages), chosen)
            from finrag_pipeline.answering.tools import FinancialTools  # a model alone uses them

            tools = partial(FinancialTools, self._calculator, chosen)
            answer = answer_with_model(model, mode, derivation, passages, self._settings.answers, tools)
            if answer.generated is not None and answer.generated.error and not answer.generated.answer:
                raise ModelError(answer.generated.error, "Ask without a language model: --mode calculator.")
        return self._reply(answer, chosen, found.system.name, start, [*told, *found.warnings], with_evidence)

    def _by_names(self, question: str) -> tuple[list[str] | None, list[str]]:
        """Filings of the only company that prints a name which the question has, and what to say of it.

        A word is a name where pages hardly ever print it in lower case.
        """
        words = dict.fromkeys(re.findall(r"[^\W\d_]{3,}", question))
        for word in (one for one in words if naming_words(one) and one.lower() not in _NO_NAMES):
            said = re.compile(rf"(?<![^\W_]){re.escape(word)}(?![^\W_])", re.IGNORECASE)
            found = self.searcher.find(word, _BY_WORDS, _PAGES_OF_NAMES)
            seen, printed = Counter[str](), list[str]()
            for hit in found.hits:
                here = said.findall(found.corpus.text(hit.chunk_id))
                seen[self._resolver.company_of(hit.filing)] += bool(here)
                printed += here
            (company, most), total = seen.most_common(1)[0] if seen else ("", 0), sum(seen.values())
            if (
                most < _LEAST_PAGES
                or most < _ALONE * total
                or sum(map(str.islower, printed)) > _SMALL * len(printed)
            ):
                continue
            filings = [one.filing for one in self._resolver.resolve(f"{question} ({company})").filings]
            if filings:
                told = f"No company is named: '{word}' stands in filings of {company} alone."
                return filings, [told]
        return None, []

    def rows(self, question: str, filings: Sequence[str] = ()) -> list[EvidenceRow]:
        """The printed rows that come closest to a question, of ``filings`` or of those that it means.

        Raises:
            UsageError: empty or endless question, unknown filing.
            LakeError: the tables of a filing are damaged.
        """
        question = check_question(question, "ask")
        return self._closest(question, [require_filing(self._lake, one) for one in filings] or None)

    def _closest(self, question: str, filings: Sequence[str] | None) -> list[EvidenceRow]:
        from finrag_pipeline.answering.evidence import closest_rows  # only an abstention needs it

        resolution = self._resolver.resolve(question)
        return closest_rows(question, resolution, self._calculator.opened, filings)

    def _reply(
        self,
        answer: Answer,
        filings: Sequence[str] | None,
        system: str | None,
        start: float,
        warnings: Sequence[str],
        with_evidence: bool,
    ) -> Reply:
        """The answer, with evidence beside an abstention."""
        evidence: list[EvidenceRow] = []
        remarks = list(warnings)
        if answer.abstained and with_evidence:
            try:
                evidence = self._closest(answer.derivation.question, filings)
            except LakeError as damaged:  # an abstention holds without its evidence
                remarks.append(f"No evidence is shown: {damaged}")
        return Reply(answer, system, round(time.perf_counter() - start, 4), remarks, evidence)

    @cached_property
    def _model(self) -> LanguageModel:
        from finrag_pipeline.language_models.load import language_model_problem, load_language_model

        settings = self._settings.language_model
        model = load_language_model(settings, self._lake)
        if model is None:
            problem = language_model_problem(settings) or "No language model is set up."
            raise ModelError(problem, "Set one up (docs/answers.md), or ask with --mode calculator.")
        return model
