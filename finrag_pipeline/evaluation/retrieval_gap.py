"""The first level at which a question is lost: filing, page, chunk, generation, or none.

For a retrieval the first k = 5 chunks of its ranking are looked at, for an answering system what it was
given.

* ``filing``: none of them stands in the gold filing. The share of questions is 1 - ``doc_rec@5``.
* ``page``: a gold page is missing. A question with several gold pages needs all of them: with some of them it
  is lost here too, and has the label ``multi_statement_gap``. The share of questions lost at ``filing`` or
  ``page`` is that with ``page_rec@5`` below 1; without that label it is 1 - ``hit@5``.
* ``chunk``: all gold pages are there, and of one of them the passages do not hold the evidence
  (:mod:`finrag_pipeline.evaluation.failure_modes`).
* ``generation``: the evidence was there, and the answer is wrong or an abstention.
* ``none``: nothing is lost. An answer that is right loses nothing, wherever it has it from.

Whether an answer is right is said by people (``human_label``) if they labelled it, else by the strict
match (``RIGHT``) if the gold answer is one number, else by the verdict of a judge; answers without any of
these are left out. Of several answers to one request the first (``repeat`` 0) counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.answering.grounding import CALCULATION
from finrag_pipeline.answering.passages import Passage, read_page_source
from finrag_pipeline.chunking.registry import CHUNKINGS
from finrag_pipeline.errors import LakeError
from finrag_pipeline.evaluation.answer_metrics import RIGHT
from finrag_pipeline.evaluation.baseline_judge import BaselineJudge
from finrag_pipeline.evaluation.failure_modes import (
    LABELS,
    RETRIEVAL_LABELS,
    FilingIdentity,
    Finding,
    GoldPage,
    answer_failures,
    filing_identities,
    gold_pages,
    retrieval_failures,
    texts_on,
)
from finrag_pipeline.evaluation.judged_answers import answer_from_row
from finrag_pipeline.evaluation.judges import REFUSAL
from finrag_pipeline.evaluation.summary import grouped_means
from finrag_pipeline.schemas import RETRIEVAL_GAP, conform
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.storage.warehouse import query_tables

GAP_VERSION = "1"
"""Changes whenever a level, a label or a sentence may change."""

LEVELS = ("filing", "page", "chunk", "generation", "none")
CUTOFF = 5

Outcome = Literal["correct", "incorrect", "refusal"]
AnswerKey = tuple[str, str, str]
"""Question, answering system, retrieval system."""


class Loss(NamedTuple):
    """The first level lost, why, and the page to look at."""

    level: str
    why: str
    filing: str | None = None
    page: int | None = None


@dataclass(frozen=True)
class Sources:
    """What the lake says of filings, pages and chunks.

    Attributes:
        chunks: text by chunk identifier.
        pages: text by filing and zero-based page.
        facts: rows of ``statement_facts`` by filing and page, at least of the gold pages.
        identities: company and fiscal year of every filing.
    """

    chunks: Mapping[str, str]
    pages: Mapping[tuple[str, int], str]
    facts: Mapping[tuple[str, int], Sequence[Mapping[str, Any]]]
    identities: Mapping[str, FilingIdentity]

    def passage(self, source: str, place: tuple[str, int]) -> Passage:
        """A chunk of a ranking, or a whole page.

        Raises:
            LakeError: there is no such chunk.
        """
        text = self.pages.get(place) if read_page_source(source) else self.chunks.get(source)
        if text is None:
            raise LakeError(
                f"The lake holds no text of '{source}'.", "Materialise the chunks and the runs again."
            )
        return Passage(source, *place, text)


def lost_level(gold: Sequence[GoldPage], passages: Sequence[Passage]) -> Loss:
    """First level of the retrieval that is lost; ``none`` if the evidence is there.

    Args:
        gold: gold pages, at least one.
        passages: what was retrieved.
    """
    filing, count = gold[0].filing, len(passages)
    if all(one.filing != filing for one in passages):
        return Loss("filing", f"none of the {count} passages stands in {filing}", filing, gold[0].page)
    seen = {(one.filing, one.page) for one in passages}
    missing = [one for one in gold if (one.filing, one.page) not in seen]
    if missing:
        pages = ", ".join(str(one.page + 1) for one in missing)
        why = f"of {filing} there are other pages among the {count} passages, but not page {pages}"
        return Loss("page", why, filing, missing[0].page)
    for one in gold:
        if not one.held_by(texts_on(passages, one)):
            why = f"the passages of page {one.page + 1} of {filing} do not hold its evidence"
            return Loss("chunk", why, filing, one.page)
    return Loss("none", "the evidence is among the passages", filing, gold[0].page)


def retrieval_gap(
    runs: pa.Table,
    questions: pa.Table,
    sources: Sources,
    answers: pa.Table | None = None,
    outcomes: Mapping[AnswerKey, tuple[Outcome, str]] | None = None,
    *,
    space: str = "corpus",
    expected: Collection[str] = (),
) -> pa.Table:
    """Level and labels of every measured question, for every retrieval and every answering system over it.

    Args:
        runs: rows of ``retrieval_runs``, in any order; those of other spaces are left out. A question
            without rows was lost at ``filing``.
        questions: rows of ``benchmark_questions``.
        sources: texts, facts and identities.
        answers: rows of ``answers``; those without a retrieval, or of other spaces, are left out.
        outcomes: how each answer came out, and who says so (:func:`answer_outcomes`).
        space: search space.
        expected: retrieval systems to count even if ``runs`` holds no row of theirs.

    Returns:
        Table as ``schemas.RETRIEVAL_GAP``: by retrieval system, the retrieval by itself first.

    Raises:
        LakeError: a chunk without text, or a filing without identity.
    """
    measured = questions.filter(pc.equal(questions["status"], "measured")).to_pylist()
    golds = {one["question_id"]: gold_pages(one, sources.pages, sources.facts) for one in measured}
    ranked, places = _rankings(runs, space)
    answered = first_answers(answers, space)
    verdicts = outcomes or {}
    if unknown := {filing for filing, _ in places.values()} - set(sources.identities):
        reason = f"Filing '{min(unknown)}' of a ranking is not in the table filings."
        raise LakeError(reason, "Materialise filings and retrieval_runs again.")
    rows: list[dict[str, Any]] = []
    for retrieval in sorted({*ranked, *expected}):
        found = ranked.get(retrieval, {})
        for one in measured:
            name = one["question_id"]
            given = [sources.passage(*chunk) for chunk in found.get(name, ())[:CUTOFF]]
            loss = lost_level(golds[name], given)
            modes = retrieval_failures(one, given, golds[name], sources.identities, sources.pages)
            rows.append(_row(name, retrieval, None, space, loss, modes))
        for answering in sorted(system for system, over in answered if over == retrieval):
            own = answered[answering, retrieval]
            for one in measured:
                name = one["question_id"]
                outcome = verdicts.get((name, answering, retrieval))
                if name in own and outcome is not None:
                    given = _given(own[name], places, sources)
                    result = _answer_loss(one, own[name], *outcome, given, golds[name], sources)
                    rows.append(_row(name, retrieval, answering, space, *result))
    return conform(pa.Table.from_pylist(rows, RETRIEVAL_GAP), "retrieval_gap")


def _answer_loss(
    question: Mapping[str, Any],
    answer: Mapping[str, Any],
    outcome: Outcome,
    by: str,
    given: Sequence[Passage],
    gold: Sequence[GoldPage],
    sources: Sources,
) -> tuple[Loss, list[Finding]]:
    loss = lost_level(gold, given)
    if outcome == "correct":
        return loss._replace(level="none", why=f"the answer is right ({by})"), []
    says = "the answer abstains" if outcome == "refusal" else f"the answer is wrong ({by})"
    modes = retrieval_failures(question, given, gold, sources.identities, sources.pages)
    if outcome == "incorrect":
        modes += answer_failures(question, answer, given)
    level = "generation" if loss.level == "none" else loss.level
    return loss._replace(level=level, why=f"{says}, and {loss.why}"), modes


def answer_outcomes(
    answers: pa.Table, scores: pa.Table, questions: pa.Table, space: str = "corpus"
) -> dict[AnswerKey, tuple[Outcome, str]]:
    """How the answers of a space came out, and who says so: people, the strict match, or the baseline judge.

    Args:
        answers: rows of ``answers``.
        scores: rows of ``answer_scores``.
        questions: rows of ``benchmark_questions``; answers to others are not judged.
        space: search space.
    """
    gold = dict(zip(questions["question_id"].to_pylist(), questions["answer"].to_pylist(), strict=True))
    wanted = pc.and_(pc.equal(scores["metric"], RIGHT), pc.equal(scores["space"], space))
    first = scores.filter(pc.and_(wanted, pc.equal(scores["repeat"], 0))).to_pylist()
    strict = {(row["question_id"], row["system"], row["retrieval"]): row["value"] for row in first}
    found: dict[AnswerKey, tuple[Outcome, str]] = {}
    for (system, retrieval), own in first_answers(answers, space).items():
        for name, row in own.items():
            key = name, system, retrieval
            if row["human_label"] in get_args(Outcome):
                found[key] = row["human_label"], "people"
            elif row["abstained"] or row["error"] is not None:
                found[key] = "refusal", "the answer itself"
            elif key in strict:
                found[key] = "correct" if strict[key] == 1 else "incorrect", "strict match"
            elif name in gold:
                (verdict,) = BaselineJudge().correctness([answer_from_row(row, {})], [gold[name]])
                of_label: dict[int | None, Outcome] = {1: "correct", REFUSAL: "refusal"}
                found[key] = of_label.get(verdict.label, "incorrect"), "the deterministic judge"
    return found


def read_sources(lake: Lake, filings: Collection[str]) -> Sources:
    """Texts, facts and identities of filings."""
    only = {"filing": filings}
    chunks: dict[str, str] = {}
    for chunking in CHUNKINGS.values():
        table = lake.read_all(chunking.table, ["chunk_id", "text"], only)
        chunks.update(zip(table["chunk_id"].to_pylist(), table["text"].to_pylist(), strict=True))
    read = lake.read_all("filing_pages", ["filing", "page", "text"], only).to_pylist()
    pages = {(row["filing"], row["page"]): row["text"] for row in read}
    facts: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    columns = ("filing", "page", "label", "fiscal_year", "printed")
    for row in lake.read_all("statement_facts", columns, only).to_pylist():
        facts[row["filing"], row["page"]].append(row)
    rows = lake.read_all("filings", only=only).to_pylist()
    covers = {row["filing"]: pages.get((row["filing"], 0), "") for row in rows}
    return Sources(chunks, pages, facts, filing_identities(rows, covers))


def first_answers(answers: pa.Table | None, space: str) -> dict[tuple[str, str], dict[str, dict[str, Any]]]:
    """First answers of a space, by (answering system, retrieval) and question.

    Args:
        answers: rows of ``answers``; those without a retrieval are left out.
        space: search space.
    """
    found: dict[tuple[str, str], dict[str, dict[str, Any]]] = defaultdict(dict)
    if answers is not None:
        kept = answers.filter(pc.and_(pc.equal(answers["space"], space), pc.is_valid(answers["retrieval"])))
        for row in kept.filter(pc.equal(kept["repeat"], 0)).to_pylist():
            if row["retrieval"]:
                found[row["system"], row["retrieval"]][row["question_id"]] = row
    return found


def gap_counts(gap: pa.Table, questions: pa.Table, confidence: float = 0.95) -> pa.Table:
    """How many questions have each level and each label, with intervals over filings.

    Args:
        gap: table as ``schemas.RETRIEVAL_GAP``.
        questions: rows of ``benchmark_questions``.
        confidence: coverage aimed at.

    Returns:
        Table as ``schemas.GAP_COUNTS``: of every system all levels and labels it can have, also those with a
        count of 0. Intervals are :func:`~finrag_pipeline.evaluation.summary.grouped_means`.
    """
    values = [("level", level, level == "generation") for level in LEVELS]
    values += [("label", label, label not in RETRIEVAL_LABELS) for label in LABELS]
    named = [dict(zip(("kind", "value", "of_answers"), one, strict=True)) for one in values]
    rows = """
        SELECT retrieval, answering, space, kind, named.value AS name, questions.filing AS cluster,
            (named.value = level OR list_contains(labels, named.value))::DOUBLE AS value,
            (first, number) AS place
        FROM (SELECT *, min(row) OVER (PARTITION BY retrieval, answering, space) AS first
            FROM (SELECT *, row_number() OVER () AS row FROM gap))
        JOIN questions USING (question_id)
        JOIN (SELECT *, row_number() OVER () AS number FROM named) AS named
            ON answering IS NOT NULL OR NOT of_answers
    """
    keys = ("retrieval", "answering", "space", "kind", "name")
    tables = {"gap": gap, "questions": questions, "named": pa.Table.from_pylist(named)}
    means = grouped_means(rows, keys, confidence, **tables)
    sql = """
        SELECT * EXCLUDE (name, mean, clusters, effective_n), name AS value, mean AS share,
            round(mean * n)::INTEGER AS count FROM means
    """
    return conform(query_tables(sql, means=means), "gap_counts")


_Place = tuple[str, tuple[str, int]]  # chunk identifier; filing and page


def _rankings(
    runs: pa.Table, space: str
) -> tuple[dict[str, dict[str, list[_Place]]], dict[str, tuple[str, int]]]:
    """Chunks by system and question, best first; and where each chunk stands."""
    kept = runs.filter(pc.equal(runs["space"], space)).sort_by([("rank", "ascending")])
    names = ("system", "question_id", "chunk_id", "filing", "page")
    ranked: dict[str, dict[str, list[_Place]]] = defaultdict(lambda: defaultdict(list))
    places: dict[str, tuple[str, int]] = {}
    for system, question, chunk, filing, page in zip(*(kept[n].to_pylist() for n in names), strict=True):
        ranked[system][question].append((chunk, (filing, page)))
        places[chunk] = filing, page
    return ranked, places


def _given(
    answer: Mapping[str, Any], places: Mapping[str, tuple[str, int]], sources: Sources
) -> list[Passage]:
    """What an answering system was given: chunks of the ranking, and pages that its facts stand on."""
    found = []
    for source in answer["retrieved"]:
        if source == CALCULATION:  # what the answer was held to, on no page
            continue
        place = read_page_source(source) or places.get(source)
        if place is None:
            raise LakeError(f"No ranking holds '{source}'.", "Materialise retrieval_runs and answers again.")
        found.append(sources.passage(source, place))
    return found


def _row(
    question_id: str, retrieval: str, answering: str | None, space: str, loss: Loss, modes: Iterable[Finding]
) -> dict[str, Any]:
    findings = list(modes)
    shown = next(((one.filing, one.page) for one in findings if one.filing), (loss.filing, loss.page))
    sentence = "; ".join([loss.why, *(one.why for one in findings)])
    return {
        "question_id": question_id,
        "retrieval": retrieval,
        "answering": answering,
        "space": space,
        "level": loss.level,
        "labels": [one.label for one in findings],
        "why": f"{sentence[0].upper()}{sentence[1:]}.",
        "filing": shown[0],
        "page": shown[1],
    }
