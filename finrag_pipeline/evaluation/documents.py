"""FinanceBench's document-information file: company, sector, form, year and link of every document."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from finrag_pipeline.evaluation.benchmark_files import (
    FieldError,
    integer,
    optional,
    problem_text,
    read_objects,
    string,
)
from finrag_pipeline.filings.declared import canonical_form
from finrag_pipeline.filings.names import declared_from_name, filing_id

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
