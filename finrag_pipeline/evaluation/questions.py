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
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa

from finrag_pipeline.errors import BenchmarkError
from finrag_pipeline.filings.forms import canonical_form
from finrag_pipeline.filings.names import declared_from_name, filing_id
from finrag_pipeline.schemas import BENCHMARK_QUESTIONS, conform

QUESTIONS_VERSION = "1"
"""Changes whenever a question may be read differently."""

_T = TypeVar("_T")
_Fault = tuple[str, str]  # reason, remedy

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


def read_text(file: Path) -> str:
    """Text of a file; a byte-order mark in front of UTF-8 is harmless and skipped, ``.gz`` is unpacked.

    Raises:
        BenchmarkError: the file cannot be opened, or is not UTF-8.
    """
    named = f"The benchmark file '{file}'"
    try:
        data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise BenchmarkError(
            f"{named} cannot be read: {reason}.", "Check the path and its permissions."
        ) from error
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise BenchmarkError(
            f"{named} begins with the byte-order mark of UTF-16 or UTF-32.", "Save it as UTF-8."
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BenchmarkError(
            f"{named} is not UTF-8 text: byte 0x{data[error.start]:02x} on line {line}.", "Save it as UTF-8."
        ) from error


def read_objects(file: Path) -> tuple[list[tuple[int, dict[str, Any]]], list[str]]:
    """Read a JSON Lines file of objects.

    Returns:
        ``(line number from 1, object)`` for every good line, and a problem for every other; blank lines are
        neither.

    Raises:
        BenchmarkError: as `read_text`, or the file holds one JSON array.
    """
    text = read_text(file)
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
            if isinstance(record, dict):
                objects.append((number, record))
                continue
            reason = f"{_kind(record)} where an object is expected"
        except (ValueError, RecursionError) as error:
            reason = f"broken JSON ({error})"
        problems.append(problem_text(file, number, reason, "The line is left out; repair or delete it."))
    return objects, problems


def string(record: dict[str, Any], field: str, blank: bool = False) -> str:
    """Text of a field.

    Raises:
        FieldError: it is missing, null, no string, empty (unless ``blank``), or not valid Unicode.
    """
    value = _typed(record, field, str, "a string")
    if not blank and not value.strip():
        raise FieldError(f"field '{field}' is empty")
    try:
        value.encode()
    except UnicodeEncodeError:  # JSON can escape half of a surrogate pair; no UTF-8 column can hold it.
        raise FieldError(f"field '{field}' holds an unpaired surrogate") from None
    return value


def _integer(record: dict[str, Any], field: str) -> int:
    """Whole number of a field; 0 and negative numbers are values, not absence."""
    value = _typed(record, field, int, "a whole number")
    if value not in _INT32:
        raise FieldError(f"field '{field}' is too large")
    return value


def _year(record: dict[str, Any], field: str) -> int:
    value = record[field]
    if isinstance(value, str) and re.fullmatch(r"\s*\d{4}\s*", value, re.ASCII):
        return int(value)
    return _integer(record, field)


def _typed(record: dict[str, Any], field: str, kind: type[_T], called: str) -> _T:
    value = record.get(field)
    if value is None:
        raise FieldError(f"field '{field}' is missing")
    if not isinstance(value, kind) or isinstance(value, bool):
        raise FieldError(f"field '{field}' is {_kind(value)}, not {called}")
    return value


def _kind(value: Any) -> str:
    if isinstance(value, float):
        return f"the number {value}"
    return "null" if value is None else _KINDS[type(value)]


def _optional(
    record: dict[str, Any], fields: Mapping[str, Callable[[dict[str, Any], str], Any]]
) -> tuple[dict[str, Any], list[_Fault]]:
    """Values of fields that may be absent, null or empty, and what is wrong with others."""
    values, faults = dict.fromkeys(fields), []
    for field, read in fields.items():
        if record.get(field) not in (None, ""):
            try:
                values[field] = read(record, field)
            except FieldError as error:
                faults.append((str(error), "It is read as absent; correct or remove it."))
    return values, faults


# Amendments and special kinds (10-K405, 10-KSB, 10-KT) count under their plain form.
_PLAIN_FORM = re.compile(r"(10-K|10-Q|8-K|EARNINGS)(?:405|SB|T)?(?:/A)?")


def normalise_form(text: str | None) -> str | None:
    """Form named in a document type or document name.

    >>> normalise_form("10K_ANNUAL"), normalise_form("X_2022_8K_dated-2022-05-20"), normalise_form("Proxy")
    ('10-K', '8-K', None)
    """
    if not text:
        return None
    match = _PLAIN_FORM.fullmatch(canonical_form(text) or declared_from_name(text).form or "")
    return match[1] if match else None


@dataclass(frozen=True)
class DocumentInformation:
    """What the benchmark declares about a document.

    Attributes:
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


_DOCUMENT = dict.fromkeys(("company", "gics_sector", "doc_type", "doc_link"), string) | {"doc_period": _year}


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
        found, faults = _optional(record, _DOCUMENT)
        form = normalise_form(found["doc_type"]) or normalise_form(name)
        document = DocumentInformation(
            name, found["company"], found["gics_sector"], form, found["doc_period"], found["doc_link"]
        )
        if name in information:
            known = vars(information[name])
            differing = [key for key, value in vars(document).items() if value != known[key]]
            detail = f" with another {', '.join(differing)}" if differing else ""
            reason = f"document '{name}' stands already on line {lines[name]}{detail}"
            faults.append((reason, "The first row is used; delete one of the two."))
        problems += [problem_text(file, line, *fault) for fault in faults]
        information.setdefault(name, document)
        lines.setdefault(name, line)
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


class LoadedQuestions(NamedTuple):
    """Questions in the order of their file, and a sentence on each thing wrong with the files.

    ``columns`` and ``unused`` are what a file of one's own has of `own_questions.COLUMNS`, and its others.
    """

    table: pa.Table
    problems: list[str]
    columns: Sequence[str] = ()
    unused: Sequence[str] = ()


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
        page_counts: pages of every readable filing in the lake.
        corpus: the filings selected for this benchmark.

    Raises:
        BenchmarkError: a file is missing, is not UTF-8 text, or is not JSON Lines.
    """
    information, problems = read_document_information(documents_file) if documents_file else ({}, [])
    objects, broken = read_objects(questions_file)
    problems += broken
    filings = _Corpus(corpus)
    rows: dict[str, dict[str, Any]] = {}
    lines: dict[str, int] = {}
    absent: dict[str, list[int]] = defaultdict(list)
    for line, record in objects:
        row, faults, exclusions = _read_question(record, filings)
        faults += exclusions
        name = row["question_id"] if row else ""
        if row and name in rows:
            reason = f"question '{name}' stands already on line {lines[name]}"
            faults.append((reason, "Give every question its own identifier."))
        elif row:
            document = find_document_information(information, row["filing"])
            row["doc_type"] = (document.form if document else None) or normalise_form(row["filing"])
            if not exclusions and filings.resolve(row["filing"]) is None:
                exclusions = [_absent(row["filing"])]
                absent[row["filing"]].append(line)  # reported once per filing
            elif not exclusions:
                exclusions = _unmeasurable(row, page_counts)
                faults += exclusions
            if exclusions:
                row["status"] = "excluded"
                row["problem"] = problem_text(questions_file, line, *exclusions[-1])
            rows[name], lines[name] = row, line
        problems += [problem_text(questions_file, line, *fault) for fault in faults]
    problems += [problem_text(questions_file, lines, *_absent(filing)) for filing, lines in absent.items()]
    table = pa.Table.from_pylist(list(rows.values()), schema=BENCHMARK_QUESTIONS)
    return LoadedQuestions(conform(table, "benchmark_questions"), problems)


_REQUIRED = ("financebench_id", "question", "answer", "question_type", "company", "doc_name")
_EXTRAS = dict.fromkeys(("justification", "question_reasoning"), string)


def _read_question(
    record: dict[str, Any], filings: _Corpus
) -> tuple[dict[str, Any] | None, list[_Fault], list[_Fault]]:
    """Row of one question, or None where none can be made; its faults, and those that exclude it."""
    values: dict[str, str] = {}
    errors: list[str] = []
    for name in _REQUIRED:
        try:
            values[name] = string(record, name)
        except FieldError as error:
            errors.append(str(error))
    if errors:
        return None, [("; ".join(errors), "The question is left out; complete the line.")], []
    extras, faults = _optional(record, _EXTRAS)

    # Identifiers and names are keys: surrounding blanks would only break look-ups.
    filing = filings.resolve(values["doc_name"].strip()) or values["doc_name"].strip()
    evidence, notes, exclusions = _read_evidence(record.get("evidence"), filing, filings)
    row = {
        "question_id": values["financebench_id"].strip(),
        "question": values["question"],
        "answer": values["answer"],
        "justification": extras["justification"],
        "question_type": values["question_type"].strip(),
        "reasoning": extras["question_reasoning"],
        "company": values["company"].strip(),
        "filing": filing,
        "gold_pages": sorted({item["page"] for item in evidence if item["filing"] == filing}),
        "evidence": evidence,
        "status": "measured",
    }
    return row, faults + notes, exclusions


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
            page = _integer(item, "evidence_page_num")
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


def _unmeasurable(row: dict[str, Any], page_counts: Mapping[str, int]) -> list[_Fault]:
    """Why a well-formed question cannot be measured on its filing."""
    filing = row["filing"]
    pages = page_counts.get(filing)
    if pages is None:
        return [
            (
                f"gold filing '{filing}' could not be read",
                "Replace its file (the failure ledger says what is wrong with it); the question is excluded.",
            )
        ]
    wrong = [page for page in row["gold_pages"] if not 0 <= page < pages]
    reason = f"gold pages {wrong} are outside '{filing}', whose {pages} pages count from 0"
    remedy = "Correct evidence_page_num (zero-based) or supply the right file; the question is excluded."
    return [(reason, remedy)] if wrong else []
