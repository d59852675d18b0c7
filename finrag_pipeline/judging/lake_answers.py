"""Answers of the lake with what judging needs beside them: texts of their sources, and their questions."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.answering.passages import page_source
from finrag_pipeline.chunking.registry import CHUNKINGS
from finrag_pipeline.evaluation.recorded_answers import load_recorded_answers
from finrag_pipeline.judging.calibration import HUMAN_LABELS, published_rows
from finrag_pipeline.judging.items import Answer, answer_from_row
from finrag_pipeline.judging.languages import language_of
from finrag_pipeline.storage.lake import Lake

UNKNOWN = "unknown"
"""Theme or difficulty of a question that the benchmark says nothing about."""

_CHUNK = re.compile(r"^(?P<filing>.+?)/[^/]+/[^/]+$")
_PAGE = re.compile(r"^(?P<filing>.+)#page=\d+$")


def read_answers(lake: Lake, rows: pa.Table, questions: pa.Table) -> list[Answer]:
    """Answers to questions of a benchmark, ready to be judged; those to other questions are left out.

    The theme is the type of the question, the difficulty the first kind of reasoning that the benchmark
    names.

    Args:
        lake: holds the texts of the sources.
        rows: as ``schemas.ANSWERS``.
        questions: as ``schemas.BENCHMARK_QUESTIONS``.

    Raises:
        LakeError: the citations of a row cannot be read.
    """
    asked = {row["question_id"]: _slices(row) for row in questions.to_pylist()}
    found = [row for row in rows.to_pylist() if row["question_id"] in asked]
    texts = source_texts(lake, (name for row in found for name in row["retrieved"] or ()))
    return [answer_from_row(row, texts, **asked[row["question_id"]]) for row in found]


def without_text(rows: pa.Table, answers: Sequence[Answer]) -> list[str]:
    """Sources that were given to an answer and that the lake holds no text of, distinct."""
    known = {name for answer in answers for name in answer.sources}
    given = {name for names in rows["retrieved"].to_pylist() for name in names or ()}
    return sorted(given - known)


def source_texts(lake: Lake, names: Iterable[str]) -> dict[str, str]:
    """Texts of chunks and pages by their identifiers, as far as the lake holds them."""
    wanted: dict[str, set[str]] = defaultdict(set)  # of chunks, by filing
    pages: dict[str, set[str]] = defaultdict(set)
    for name in names:
        if match := _PAGE.match(name):
            pages[match["filing"]].add(name)
        elif match := _CHUNK.match(name):
            wanted[match["filing"]].add(name)
    texts: dict[str, str] = {}
    for chunking in CHUNKINGS.values():
        for filing in list(wanted):
            if lake.info(chunking.table, {"filing": filing}) is None:
                continue
            table = lake.read(chunking.table, {"filing": filing}, ["chunk_id", "text"])
            table = table.filter(pc.is_in(table["chunk_id"], pa.array(sorted(wanted[filing]), pa.string())))
            texts |= dict(zip(table["chunk_id"].to_pylist(), table["text"].to_pylist(), strict=True))
            wanted[filing] -= texts.keys()
            if not wanted[filing]:
                del wanted[filing]
    for filing, cited in pages.items():
        if lake.info("filing_pages", {"filing": filing}) is None:
            continue
        table = lake.read("filing_pages", {"filing": filing}, ["page", "text"])
        for page, text in zip(table["page"].to_pylist(), table["text"].to_pylist(), strict=True):
            if (name := page_source(filing, page)) in cited:
                texts[name] = text
    return texts


def labelled_answers(
    lake: Lake, folder: Path, questions: pa.Table
) -> tuple[list[Answer], list[int], list[str], list[str]]:
    """Recorded answers that people labelled, held against the gold pages of their questions.

    Args:
        lake: holds the pages; the evidence that the benchmark prints stands in for those it does not hold.
        folder: see `load_recorded_answers`.
        questions: as ``schemas.BENCHMARK_QUESTIONS``.

    Returns:
        Answers, labels of people, gold answers and systems, each of the same length; empty where no labelled
        answer is to one of the questions.

    Raises:
        BenchmarkError: the folder holds no recorded answers, or a file is damaged.
    """
    gold = {row["question_id"]: row for row in questions.to_pylist()}
    asked = {name: row["question"] for name, row in gold.items()}
    rows = published_rows(load_recorded_answers(folder, asked)).to_pylist()
    shown = {row["question_id"] for row in rows}
    printed: dict[str, dict[str, str]] = {name: defaultdict(str) for name in shown}
    for name in shown:
        for one in gold[name]["evidence"]:
            printed[name][page_source(one["filing"], one["page"])] += f"{one['text']}\n"
    whole = source_texts(lake, {page for pages in printed.values() for page in pages})
    answers = []
    for row in rows:
        evidence = {page: whole.get(page, text) for page, text in printed[row["question_id"]].items()}
        # A recorded answer says nothing of what it was given: the gold pages stand in for it.
        row = {**row, "retrieved": list(evidence)}
        answers.append(answer_from_row(row, evidence, **_slices(gold[row["question_id"]])))
    return (
        answers,
        [HUMAN_LABELS[row["human_label"]] for row in rows],
        [gold[row["question_id"]]["answer"] for row in rows],
        [row["system"] for row in rows],
    )


def _slices(question: Mapping[str, Any]) -> dict[str, str]:
    first = re.split(r"\s+or\b", question["reasoning"] or "", maxsplit=1, flags=re.IGNORECASE)[0].strip()
    return {
        "theme": question["question_type"] or UNKNOWN,
        "difficulty": first.lower() or UNKNOWN,
        "language": language_of(question["question"]) or "en",
    }
