"""Load a benchmark in FinanceBench's format: questions with gold filing, pages, evidence and answer.

FinanceBench (Islam et al., 2023) is two JSON Lines files: the questions, and one row of information per
document. Gold pages are zero-based indices of PDF pages, so page 0 is a page like any other. A faulty line
never stops the rest: what is wrong is reported by file and line, and a question that cannot be measured is
kept as excluded.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from finrag_pipeline.errors import BenchmarkError
from finrag_pipeline.filings.forms import canonical_form
from finrag_pipeline.filings.names import declared_from_name, filing_id
from finrag_pipeline.schemas import BENCHMARK_QUESTIONS, conform

QUESTIONS_VERSION = "1"
"""Changes whenever a question may be read differently."""

_T = TypeVar("_T")

_KINDS = {
    bool: "a boolean",
    int: "a number",
    float: "a number",
    str: "a string",
    list: "a list",
    dict: "an object",
}
_INT32 = range(-(2**31), 2**31)


class FieldError(ValueError):
    """A field of a record is missing or of the wrong type; the message names the field."""


def problem_text(file: Path, line: int | Sequence[int], reason: str, remedy: str) -> str:
    """One line for people: file, line or lines, what is wrong, what to do."""
    numbers = [line] if isinstance(line, int) else list(line)
    where = ("line " if len(numbers) == 1 else "lines ") + ", ".join(map(str, numbers))
    return f"{file.name}, {where}: {reason.rstrip('.')}. {remedy}"


def read_objects(file: Path) -> tuple[list[tuple[int, dict[str, Any]]], list[str]]:
    """Read a JSON Lines file of objects.

    A byte-order mark in front of UTF-8 text is harmless and skipped; ``.gz`` is unpacked.

    Returns:
        ``(line number from 1, object)`` for every good line, and a problem for every other; blank lines are
        neither.

    Raises:
        BenchmarkError: the file cannot be opened, is not UTF-8, or holds one JSON array.
    """
    try:
        data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise BenchmarkError(
            f"The benchmark file '{file}' cannot be read: {reason}.", "Check the path and its permissions."
        ) from error
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise BenchmarkError(
            f"The benchmark file '{file}' begins with the byte-order mark of UTF-16 or UTF-32.",
            "Save it as UTF-8.",
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BenchmarkError(
            f"The benchmark file '{file}' is not UTF-8 text: byte 0x{data[error.start]:02x} on line {line}.",
            "Save it as UTF-8.",
        ) from error
    if text.lstrip().startswith("["):
        raise BenchmarkError(
            f"The benchmark file '{file}' is one JSON array, not JSON Lines.",
            "Write one object per line (for example with: jq -c '.[]').",
        )
    objects: list[tuple[int, dict[str, Any]]] = []
    problems: list[str] = []
    # str.splitlines would also cut at U+2028 and other separators that JSON allows inside strings.
    for number, raw in enumerate(text.split("\n"), start=1):
        if not raw.strip():
            continue
        try:
            record = json.loads(raw)
        except (ValueError, RecursionError) as error:
            reason = f"broken JSON ({error})"
            problems.append(problem_text(file, number, reason, "The line is left out; repair or delete it."))
            continue
        if isinstance(record, dict):
            objects.append((number, record))
        else:
            reason = f"{_kind(record)} where an object is expected"
            problems.append(problem_text(file, number, reason, "The line is left out; repair or delete it."))
    return objects, problems


def string(record: dict[str, Any], field: str, blank: bool = False) -> str:
    """Text of a field.

    Raises:
        FieldError: it is missing, null, no string, empty (unless ``blank``), or not valid Unicode.
    """
    value = record.get(field)
    if value is None:
        raise FieldError(f"field '{field}' is missing")
    if not isinstance(value, str):
        raise FieldError(f"field '{field}' is {_kind(value)}, not a string")
    if not blank and not value.strip():
        raise FieldError(f"field '{field}' is empty")
    try:
        value.encode()
    except UnicodeEncodeError:  # JSON can escape half of a surrogate pair; no UTF-8 column can hold it.
        raise FieldError(f"field '{field}' holds an unpaired surrogate") from None
    return value


def integer(record: dict[str, Any], field: str) -> int:
    """Whole number of a field; 0 and negative numbers are values, not absence.

    Raises:
        FieldError: it is missing, null, not a whole number, or does not fit 32 bits.
    """
    value = record.get(field)
    if value is None:
        raise FieldError(f"field '{field}' is missing")
    if isinstance(value, bool) or not isinstance(value, int):
        raise FieldError(f"field '{field}' is {_kind(value)}, not a whole number")
    if value not in _INT32:
        raise FieldError(f"field '{field}' is too large")
    return value


def optional(
    record: dict[str, Any], field: str, read: Callable[[dict[str, Any], str], _T]
) -> tuple[_T | None, str | None]:
    """Value of a field that may be absent, null or empty, and what is wrong with it otherwise."""
    value = record.get(field)
    if value is None or value == "":
        return None, None
    try:
        return read(record, field), None
    except FieldError as error:
        return None, str(error)


def _kind(value: Any) -> str:
    if isinstance(value, float):
        return f"the number {value}"
    return "null" if value is None else _KINDS[type(value)]


# Amendments and special kinds (10-K405, 10-KSB, 10-KT) count under their plain form.
_PLAIN_FORM = re.compile(r"(10-K|10-Q|8-K|EARNINGS)(?:405|SB|T)?(?:/A)?")


@dataclass(frozen=True)
class DocumentInformation:
    """What the benchmark declares about a document.

    Attributes:
        doc_name: name of the document.
        company: company, as the benchmark names it.
        sector: GICS sector.
        form: 10-K, 10-Q, 8-K or EARNINGS; None for any other.
        year: fiscal year.
        link: where the document was published.
    """

    doc_name: str
    company: str | None = None
    sector: str | None = None
    form: str | None = None
    year: int | None = None
    link: str | None = None


def normalise_form(text: str | None) -> str | None:
    """Form named in a document type or document name.

    >>> normalise_form("10K_ANNUAL"), normalise_form("X_2022_8K_dated-2022-05-20"), normalise_form("Proxy")
    ('10-K', '8-K', None)
    """
    if not text:
        return None
    match = _PLAIN_FORM.fullmatch(canonical_form(text) or declared_from_name(text).form or "")
    return match[1] if match else None


def read_document_information(file: Path) -> tuple[dict[str, DocumentInformation], list[str]]:
    """Read the document-information file.

    Of two rows with one name the first is kept and the second reported.

    Args:
        file: JSON Lines with ``doc_name`` and, where known, ``company``, ``gics_sector``, ``doc_type``,
            ``doc_period`` and ``doc_link``.

    Returns:
        Information by document name, and one problem (file, line, reason, remedy) per faulty line.

    Raises:
        BenchmarkError: the file is missing, is not UTF-8 text, or is not JSON Lines.
    """
    objects, problems = read_objects(file)
    information: dict[str, DocumentInformation] = {}
    lines: dict[str, int] = {}
    for line, record in objects:
        try:
            name = string(record, "doc_name").strip()
        except FieldError as error:
            problems.append(problem_text(file, line, str(error), "The line is left out; name its document."))
            continue
        document, faults = _read_document(name, record)
        problems += [
            problem_text(file, line, fault, "It is read as absent; correct or remove it.") for fault in faults
        ]
        if name not in information:
            information[name] = document
            lines[name] = line
            continue
        differing = [key for key, value in vars(document).items() if value != getattr(information[name], key)]
        detail = f" with another {', '.join(differing)}" if differing else ""
        reason = f"document '{name}' stands already on line {lines[name]}{detail}"
        problems.append(problem_text(file, line, reason, "The first row is used; delete one of the two."))
    return information, problems


def find_document_information(
    information: Mapping[str, DocumentInformation], filing: str
) -> DocumentInformation | None:
    """Information about a filing, given by document name or by identifier in the lake.

    An exact name comes first, then the only one that is the same but for case, or that becomes this
    identifier when made safe as a partition key.
    """
    if filing in information:
        return information[filing]
    folded = filing.casefold()
    matches = [
        document
        for name, document in information.items()
        if folded in (name.casefold(), filing_id(name).casefold())
    ]
    return matches[0] if len(matches) == 1 else None


def _read_document(name: str, record: dict[str, Any]) -> tuple[DocumentInformation, list[str]]:
    texts: dict[str, str | None] = {}
    faults: list[str] = []
    for key in ("company", "gics_sector", "doc_type", "doc_link"):
        texts[key], fault = optional(record, key, string)
        if fault:
            faults.append(fault)
    year, fault = optional(record, "doc_period", _year)
    if fault:
        faults.append(fault)
    document = DocumentInformation(
        name,
        texts["company"],
        texts["gics_sector"],
        normalise_form(texts["doc_type"]),
        year,
        texts["doc_link"],
    )
    return (document if document.form else replace(document, form=normalise_form(name))), faults


def _year(record: dict[str, Any], field: str) -> int:
    value = record[field]
    if isinstance(value, str) and re.fullmatch(r"\s*\d{4}\s*", value, re.ASCII):
        return int(value)
    return integer(record, field)


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
    questions_file: Path, documents_file: Path | None, page_counts: Mapping[str, int], corpus: Collection[str]
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
