"""Load a benchmark in FinanceBench's format: questions with gold filing, pages, evidence and answer.

FinanceBench (Islam et al., 2023) is two JSON Lines files: the questions, and one row of information per
document. Gold pages are zero-based indices of PDF pages, so page 0 is a page like any other. A faulty line
never stops the rest: what is wrong is reported, and a question that cannot be measured is kept as excluded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from finrag_pipeline.evaluation.benchmark_files import (
    FieldError,
    integer,
    optional,
    problem_text,
    read_objects,
    string,
)
from finrag_pipeline.evaluation.documents import (
    find_document_information,
    normalise_form,
    read_document_information,
)
from finrag_pipeline.filings.names import filing_id
from finrag_pipeline.schemas import BENCHMARK_QUESTIONS, conform

_REQUIRED = ("financebench_id", "question", "answer", "question_type", "company", "doc_name")
_Fault = tuple[str, str]  # reason, remedy
_OPTIONAL = ("justification", "question_reasoning")


@dataclass(frozen=True)
class LoadedQuestions:
    """Questions of a benchmark and everything that is wrong with its files.

    Attributes:
        table: one row per question, as ``schemas.BENCHMARK_QUESTIONS``.
        problems: one sentence each, naming file, line, reason and remedy.
    """

    table: pa.Table
    problems: list[str]


class _Corpus:
    """The filings of the benchmark, found by document name.

    A name finds the filing of that identifier, or of the identifier that a file of that name gets in the
    lake; in another case only if that leaves one candidate.
    """

    def __init__(self, filings: Collection[str]) -> None:
        self._folded: dict[str, list[str]] = defaultdict(list)
        for filing in sorted(set(filings)):
            self._folded[filing.casefold()].append(filing)

    def resolve(self, name: str) -> str | None:
        """Identifier of the filing called ``name``, or None."""
        for identifier in (name, filing_id(name)):
            candidates = self._folded.get(identifier.casefold(), [])
            if identifier in candidates:
                return identifier
            if len(candidates) == 1:
                return candidates[0]
        return None


def load_questions(
    questions_file: Path,
    documents_file: Path | None,
    page_counts: Mapping[str, int],
    corpus: Collection[str],
) -> LoadedQuestions:
    """Read the questions of a benchmark and decide which of them can be measured.

    A question is excluded, not dropped, when its gold filing is not in the corpus or cannot be read, or when
    its evidence is faulty or names a page that the filing does not have. A line is left out only where no row
    can be made of it: broken JSON, a required text missing or of the wrong type, an identifier seen before.

    Args:
        questions_file: JSON Lines with one question per line, in FinanceBench's fields.
        documents_file: JSON Lines with one document per line, or None.
        page_counts: pages of every readable filing in the lake.
        corpus: the filings selected for this benchmark.

    Returns:
        The questions in the order of the file, and the problems found.

    Raises:
        BenchmarkError: a file is missing, is not UTF-8 text, or is not JSON Lines.
    """
    information, problems = read_document_information(documents_file) if documents_file else ({}, [])
    objects, broken = read_objects(questions_file)
    problems += broken
    filings = _Corpus(corpus)
    rows: list[dict[str, Any]] = []
    seen: dict[str, int] = {}
    absent: dict[str, list[int]] = defaultdict(list)
    for line, record in objects:
        row, faults = _read_question(record, filings)
        problems += [problem_text(questions_file, line, reason, remedy) for reason, remedy in faults]
        if row is None:
            continue
        if row["question_id"] in seen:
            reason = f"question '{row['question_id']}' stands already on line {seen[row['question_id']]}"
            problems.append(
                problem_text(questions_file, line, reason, "Give every question its own identifier.")
            )
            continue
        seen[row["question_id"]] = line
        document = find_document_information(information, row["filing"])
        row["doc_type"] = (document.form if document else None) or normalise_form(row["filing"])
        exclusion = None
        if row["status"] == "excluded":
            exclusion = faults[-1]  # reported already
        elif filings.resolve(row["filing"]) is None:
            exclusion = _absent(row["filing"])
            absent[row["filing"]].append(line)  # reported once per filing
        elif (exclusion := _unmeasurable(row, page_counts)) is not None:
            problems.append(problem_text(questions_file, line, *exclusion))
        if exclusion is not None:
            row["status"] = "excluded"
            row["problem"] = problem_text(questions_file, line, *exclusion)
        rows.append(row)
    problems += [problem_text(questions_file, lines, *_absent(filing)) for filing, lines in absent.items()]
    table = pa.Table.from_pylist(rows, schema=BENCHMARK_QUESTIONS)
    return LoadedQuestions(conform(table, "benchmark_questions"), problems)


def _read_question(record: dict[str, Any], filings: _Corpus) -> tuple[dict[str, Any] | None, list[_Fault]]:
    """Row of one question, or None where none can be made; faults that exclude it come last."""
    values: dict[str, str] = {}
    errors: list[str] = []
    for name in _REQUIRED:
        try:
            values[name] = string(record, name)
        except FieldError as error:
            errors.append(str(error))
    if errors:
        return None, [("; ".join(errors), "The question is left out; complete the line.")]
    faults: list[_Fault] = []
    extras: dict[str, str | None] = {}
    for name in _OPTIONAL:
        extras[name], error_text = optional(record, name, string)
        if error_text:
            faults.append((error_text, "It is read as absent; correct or remove it."))

    # Identifiers and names are keys: surrounding blanks would only break look-ups.
    filing = filings.resolve(values["doc_name"].strip()) or values["doc_name"].strip()
    evidence, notes, fatal = _read_evidence(record.get("evidence"), filing, filings)
    row = {
        "question_id": values["financebench_id"].strip(),
        "question": values["question"],
        "answer": values["answer"],
        "justification": extras["justification"],
        "question_type": values["question_type"].strip(),
        "reasoning": extras["question_reasoning"],
        "company": values["company"].strip(),
        "filing": filing,
        "doc_type": None,
        "gold_pages": sorted({item["page"] for item in evidence if item["filing"] == filing}),
        "evidence": evidence,
        "status": "excluded" if fatal else "measured",
        "problem": None,
    }
    return row, faults + notes + fatal


def _read_evidence(
    items: Any, filing: str, filings: _Corpus
) -> tuple[list[dict[str, Any]], list[_Fault], list[_Fault]]:
    """Usable evidence, faults that are only worth a note, and faults that exclude the question."""
    if not isinstance(items, list) or not items:
        what = "is missing" if items is None else "is empty" if items == [] else "is not a list"
        return [], [], [(f"field 'evidence' {what}", "Give at least one evidence passage with its page.")]
    evidence: list[dict[str, Any]] = []
    notes: list[_Fault] = []
    fatal: list[_Fault] = []
    for number, item in enumerate(items):
        where = f"evidence {number + 1}"
        try:
            if not isinstance(item, dict):
                raise FieldError("is not an object")
            name_field = "doc_name" if item.get("doc_name") is not None else "evidence_doc_name"
            name = string(item, name_field).strip()
            page = integer(item, "evidence_page_num")
            text = string(item, "evidence_text", blank=True)
        except FieldError as error:
            fatal.append((f"{where}: {error}", "Correct the evidence; the question is excluded until then."))
            continue
        named = filings.resolve(name) or name
        if named != filing:
            reason = f"{where} names the filing '{name}', the question names '{filing}'"
            notes.append((reason, "Its page does not count as a gold page; correct one of the two names."))
        if not text.strip():
            notes.append((f"{where} has no text", "BLEU and ROUGE-L cannot match it; add the passage."))
        evidence.append({"filing": named, "page": page, "text": text})
    if not fatal and all(item["filing"] != filing for item in evidence):
        reason = f"no evidence stands in the question's filing '{filing}'"
        fatal.append((reason, "Correct the filing names; the question is excluded until then."))
    return evidence, notes, fatal


def _absent(filing: str) -> _Fault:
    return (
        f"gold filing '{filing}' is not among the filings of this benchmark run",
        "Add the filing or widen the selection; until then its questions are excluded.",
    )


def _unmeasurable(row: dict[str, Any], page_counts: Mapping[str, int]) -> _Fault | None:
    """Why a well-formed question cannot be measured on its filing, or None."""
    filing = row["filing"]
    pages = page_counts.get(filing)
    if pages is None:
        return (
            f"gold filing '{filing}' could not be read",
            "Replace its file (the failure ledger says what is wrong with it); the question is excluded.",
        )
    wrong = [page for page in row["gold_pages"] if not 0 <= page < pages]
    if wrong:
        return (
            f"gold pages {wrong} are outside '{filing}', whose {pages} pages count from 0",
            "Correct evidence_page_num (zero-based) or supply the right file; the question is excluded.",
        )
    return None
