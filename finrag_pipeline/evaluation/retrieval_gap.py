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
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, get_args

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
    Finding,
    GoldPage,
    LakeTexts,
    Place,
    answer_failures,
    filing_identities,
    gold_pages,
    missing_pages,
    page_numbers,
    retrieval_failures,
)
from finrag_pipeline.evaluation.judged_answers import answer_from_row
from finrag_pipeline.evaluation.judges import REFUSAL
from finrag_pipeline.evaluation.retrieval_metrics import rankings
from finrag_pipeline.evaluation.summary import grouped_means
from finrag_pipeline.schemas import RETRIEVAL_GAP, conform
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.storage.warehouse import query_tables

GAP_VERSION = "1"
"""Changes whenever a level, a label or a sentence may change."""

LEVELS = ("filing", "page", "chunk", "generation", "none")
CUTOFF, SPACE = 5, "corpus"

Outcome = Literal["correct", "incorrect", "refusal"]
AnswerKey = tuple[str, str, str]
"""Question, answering system, retrieval system."""


def lost_level(gold: Sequence[GoldPage], passages: Sequence[Passage]) -> Finding:
    """First level of the retrieval that is lost, and the page to look at; ``none`` if nothing is."""
    filing, count = gold[0].place[0], len(passages)
    if all(one.filing != filing for one in passages):
        return Finding("filing", f"none of the {count} passages stands in {filing}", *gold[0].place)
    if missing := missing_pages(passages, gold):
        pages = page_numbers(missing)
        why = f"of {filing} there are other pages among the {count} passages, but not page {pages}"
        return Finding("page", why, *missing[0].place)
    for one in gold:
        if not one.held_by([each.text for each in passages if (each.filing, each.page) == one.place]):
            why = f"the passages of page {page_numbers([one])} of {filing} do not hold its evidence"
            return Finding("chunk", why, *one.place)
    return Finding("none", "the evidence is among the passages", *gold[0].place)


def retrieval_gap(
    runs: pa.Table,
    questions: pa.Table,
    lake: LakeTexts,
    answers: pa.Table,
    outcomes: Mapping[AnswerKey, tuple[Outcome, str]],
    expected: Collection[str] = (),
) -> pa.Table:
    """Level and labels of every measured question, for every retrieval and every answering system over it.

    Args:
        runs: rows of ``retrieval_runs``, in any order; only those of the whole corpus count. A question
            without rows was lost at ``filing``.
        questions: rows of ``benchmark_questions``.
        lake: texts, facts and identities.
        answers: rows of ``answers``; only those to retrievals in the whole corpus count.
        outcomes: how each answer came out, and who says so (:func:`answer_outcomes`).
        expected: retrieval systems to count even if ``runs`` holds no row of theirs.

    Returns:
        Table as ``schemas.RETRIEVAL_GAP``: by retrieval system, the retrieval by itself first.

    Raises:
        LakeError: a chunk without text, or a filing without identity.
    """
    ranked = {system: found for (system, space), found in rankings(runs).items() if space == SPACE}
    chunks = [chunk for found in ranked.values() for ranking in found.values() for chunk in ranking]
    if unknown := {chunk.filing for chunk in chunks} - set(lake.identities):
        reason = f"Filing '{min(unknown)}' of a ranking is not in the table filings."
        raise LakeError(reason, "Materialise filings and retrieval_runs again.")
    places = {chunk.chunk_id: (chunk.filing, chunk.page) for chunk in chunks}
    answered = first_answers(answers)
    measured = questions.filter(pc.equal(questions["status"], "measured")).to_pylist()
    golds = {one["question_id"]: gold_pages(one, lake) for one in measured}
    rows = []
    for retrieval in sorted({*ranked, *expected}):
        # What was retrieved by itself comes first, then what each answering system was given.
        for answering in (None, *sorted(system for system, over in answered if over == retrieval)):
            for question in measured:
                name = question["question_id"]
                key = {"question_id": name, "retrieval": retrieval, "answering": answering, "space": SPACE}
                if answering is None:
                    ranking = ranked.get(retrieval, {}).get(name, ())[:CUTOFF]
                    given = [_passage(chunk.chunk_id, places, lake) for chunk in ranking]
                    lost = lost_level(golds[name], given)
                    modes = retrieval_failures(question, given, golds[name], lake)
                    rows.append(key | _described(lost, modes))
                elif (answer := answered[answering, retrieval].get(name)) and (
                    outcome := outcomes.get((name, answering, retrieval))
                ):
                    given = [_passage(one, places, lake) for one in answer["retrieved"] if one != CALCULATION]
                    rows.append(key | _answer_loss(question, answer, *outcome, given, golds[name], lake))
    return conform(pa.Table.from_pylist(rows, RETRIEVAL_GAP), "retrieval_gap")


def _passage(source: str, places: Mapping[str, Place], lake: LakeTexts) -> Passage:
    """A chunk of a ranking, or a whole page that the facts of an answer stand on."""
    page = read_page_source(source)
    place = page or places.get(source)
    if place is None:
        raise LakeError(f"No ranking holds '{source}'.", "Materialise retrieval_runs and answers again.")
    text = lake.pages.get(page) if page else lake.chunks.get(source)
    if text is None:
        raise LakeError(
            f"The lake holds no text of '{source}'.", "Materialise the chunks and the runs again."
        )
    return Passage(source, *place, text)


def _answer_loss(
    question: Mapping[str, Any],
    answer: Mapping[str, Any],
    outcome: Outcome,
    by: str,
    given: Sequence[Passage],
    gold: Sequence[GoldPage],
    lake: LakeTexts,
) -> dict[str, Any]:
    lost = lost_level(gold, given)
    if outcome == "correct":
        return _described(lost._replace(label="none", why=f"the answer is right ({by})"), [])
    says = "the answer abstains" if outcome == "refusal" else f"the answer is wrong ({by})"
    modes = retrieval_failures(question, given, gold, lake)
    if outcome == "incorrect":
        modes += answer_failures(question, answer, given)
    level = "generation" if lost.label == "none" else lost.label
    return _described(lost._replace(label=level, why=f"{says}, and {lost.why}"), modes)


def _described(lost: Finding, modes: Sequence[Finding]) -> dict[str, Any]:
    shown = next((one for one in modes if one.filing), lost)
    sentence = "; ".join(one.why for one in (lost, *modes))
    return {
        "level": lost.label,
        "labels": [one.label for one in modes],
        "why": f"{sentence[0].upper()}{sentence[1:]}.",
        "filing": shown.filing,
        "page": shown.page,
    }


def answer_outcomes(
    answers: pa.Table, scores: pa.Table, questions: pa.Table
) -> dict[AnswerKey, tuple[Outcome, str]]:
    """How the answers over the corpus came out, and who says so: people, strict match or baseline judge.

    The last judges no answers to others than ``questions``.
    """
    gold = dict(zip(questions["question_id"].to_pylist(), questions["answer"].to_pylist(), strict=True))
    first = _first(scores.filter(pc.equal(scores["metric"], RIGHT)))
    strict = {(row["question_id"], row["system"], row["retrieval"]): row["value"] for row in first}
    of_label: dict[int | None, Outcome] = {1: "correct", REFUSAL: "refusal"}
    found: dict[AnswerKey, tuple[Outcome, str]] = {}
    for (system, retrieval), own in first_answers(answers).items():
        for name, row in own.items():
            key = name, system, retrieval
            if row["human_label"] in get_args(Outcome):
                found[key] = row["human_label"], "people"
            elif row["abstained"] or row["error"] is not None:
                found[key] = "refusal", "the answer itself"
            elif key in strict:
                found[key] = "correct" if strict[key] == 1 else "incorrect", "strict match"
            elif name in gold:
                answer = answer_from_row(row, {})
                ((verdict,),) = BaselineJudge().verdicts("correctness", [answer], [gold[name]])
                found[key] = of_label.get(verdict.label, "incorrect"), "the deterministic judge"
    return found


def first_answers(answers: pa.Table) -> dict[tuple[str, str], dict[str, dict[str, Any]]]:
    """First answers over retrievals in the corpus, by (answering system, retrieval) and question."""
    found: dict[tuple[str, str], dict[str, dict[str, Any]]] = defaultdict(dict)
    for row in _first(answers):
        if row["retrieval"]:
            found[row["system"], row["retrieval"]][row["question_id"]] = row
    return found


def _first(rows: pa.Table) -> list[dict[str, Any]]:
    kept = pc.and_(pc.equal(rows["space"], SPACE), pc.equal(rows["repeat"], 0))
    return list(rows.filter(kept).to_pylist())


def read_texts(lake: Lake, filings: Collection[str]) -> LakeTexts:
    """Texts, facts and identities of filings."""
    only = {"filing": filings}
    chunks: dict[str, str] = {}
    for chunking in CHUNKINGS.values():
        table = lake.read_all(chunking.table, ["chunk_id", "text"], only)
        chunks.update(zip(table["chunk_id"].to_pylist(), table["text"].to_pylist(), strict=True))
    read = lake.read_all("filing_pages", ["filing", "page", "text"], only).to_pylist()
    pages = {(row["filing"], row["page"]): row["text"] for row in read}
    facts: dict[Place, list[dict[str, Any]]] = defaultdict(list)
    columns = ("filing", "page", "label", "fiscal_year", "printed")
    for row in lake.read_all("statement_facts", columns, only).to_pylist():
        facts[row["filing"], row["page"]].append(row)
    rows = lake.read_all("filings", only=only).to_pylist()
    covers = {row["filing"]: pages.get((row["filing"], 0), "") for row in rows}
    return LakeTexts(chunks, pages, facts, filing_identities(rows, covers))


def gap_counts(gap: pa.Table, questions: pa.Table, confidence: float = 0.95) -> pa.Table:
    """How many questions have each level and each label, with intervals over filings.

    As ``schemas.GAP_COUNTS``: of every system all levels and labels it can have, also those with a count of
    0. Intervals are those of :func:`~finrag_pipeline.evaluation.summary.grouped_means`.
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
