"""Questions of one's own: a table with a column of questions, and of what is known about their answers."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from finrag_pipeline.errors import BenchmarkError, did_you_mean, find_name
from finrag_pipeline.evaluation.questions import (
    LoadedQuestions,
    normalise_form,
    problem_text,
    read_objects,
    read_text,
)
from finrag_pipeline.schemas import BENCHMARK_QUESTIONS, conform

COLUMNS = {
    "question": "what is asked; the only one that must be there",
    "answer": "the answer that is right",
    "filing": "the filing that has it, as finrag filings names it",
    "page": "its page or pages there, from 1; several with commas",
    "id": "identifier; else the line",
}
"""Columns that are read, in any case; others are left aside."""

_OWN = "own"


def read_own_questions(file: Path, pages: Mapping[str, int]) -> LoadedQuestions | None:
    """Questions of a CSV file, or of JSON Lines; None where the lines are FinanceBench's.

    Those without filing, page or answer have none of it.

    Args:
        pages: how many pages each filing has.

    Raises:
        BenchmarkError: the file cannot be read, or has no column of questions.
    """
    records, problems = _read_csv(file) if file.suffix.lower() == ".csv" else read_objects(file)
    fields = list(dict.fromkeys(name for _, record in records for name in record))
    if not records or "financebench_id" in fields:
        return None
    named = {column: find_name(column, fields) or "" for column in COLUMNS}
    named = {column: name for column, name in named.items() if name}
    if "question" not in named:
        have = f"{did_you_mean('question', fields)}It has: {', '.join(fields)}."
        raise BenchmarkError(f"{file.name} has no column 'question'.", have)
    rows: dict[str, dict[str, Any]] = {}
    for line, record in records:
        values = {column: _text(record.get(name)) for column, name in named.items()}
        row, fault = _row(values, line, pages)
        if row and (name := row["question_id"]) in rows:
            row, fault = None, f"question '{name}' stands there twice"
        elif row:
            rows[name] = row
        if fault:
            what = "It is asked all the same." if row else "The line is left out."
            problems.append(problem_text(file, line, fault, what))
    unused = [name for name in fields if name not in named.values()]
    table = pa.Table.from_pylist(list(rows.values()), schema=BENCHMARK_QUESTIONS)
    return LoadedQuestions(conform(table, "benchmark_questions"), problems, list(named), unused)


def _read_csv(file: Path) -> tuple[list[tuple[int, dict[str, Any]]], list[str]]:
    """Records of a CSV file with their lines; comma, semicolon or tab may stand between columns."""
    text = read_text(file)
    head = text.partition("\n")[0]
    between = max(",;\t", key=head.count)
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=between, restkey="…", strict=True)
        return [(reader.line_num, row) for row in reader if any(row.values())], []
    except csv.Error as error:
        raise BenchmarkError(f"{file.name} is no CSV file: {error}.", "Export it again as CSV.") from error


def _text(value: Any) -> str:
    return (
        ", ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value).strip()
    )


def _row(values: Mapping[str, str], line: int, pages: Mapping[str, int]) -> tuple[dict[str, Any] | None, str]:
    """The question of a line, and what is wrong with what is said of its answer."""
    if not values["question"]:
        return None, "there is no question"
    asked = values.get("filing", "")
    filing, fault = find_name(asked, pages) or "", ""
    if asked and not filing:
        fault = f"the lake holds no filing '{asked}' that could be read"
    numbers = re.findall(r"\d+", values.get("page", "")) if filing else []
    gold: Sequence[int] = sorted({int(number) - 1 for number in numbers})
    if any(not 0 <= page < pages[filing] for page in gold):
        fault, gold = f"'{filing}' has pages 1 to {pages[filing]}, not {values['page']}", ()
    return {
        "question_id": values.get("id") or f"line {line}",
        "question": values["question"],
        "answer": values.get("answer", ""),
        "question_type": _OWN,
        "company": filing or _OWN,
        "filing": filing,
        "doc_type": normalise_form(filing),
        "gold_pages": gold,
        "evidence": [{"filing": filing, "page": page, "text": ""} for page in gold],
        "status": "measured",
    }, fault


def having(questions: pa.Table, *what: str) -> pa.Table:
    """The questions whose ``answer``, ``filing`` or ``gold_pages`` are known."""
    rows: Collection[Mapping[str, Any]] = questions.to_pylist()
    return questions.filter(pa.array([all(row[name] for name in what) for row in rows], pa.bool_()))
