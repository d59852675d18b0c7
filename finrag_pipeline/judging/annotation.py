"""The sheet that people label on, as CSV and XLSX, and how three annotators become one label.

As in Martinon et al., section 5: the second annotator reviews the first, and a third decides where they still
disagree. The instructions are those of the judge.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from finrag_pipeline.errors import UsageError
from finrag_pipeline.judging.items import Answer
from finrag_pipeline.judging.prompts import guidelines
from finrag_pipeline.judging.verdicts import Criterion
from finrag_pipeline.schemas import HUMAN_LABELS

COLUMNS = ("item_id", "theme", "question", "answer", "sentence", "sources")
ANNOTATORS = ("label_1", "comment_1", "label_2", "comment_2", "label_3", "comment_3")
_WIDTHS = (12, 12, 40, 60, 50, 90, 9, 24, 9, 24, 9, 24)
_LONGEST_CELL = 32_000
_CUT = " […]"
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class Item:
    """One row of the sheet: an answer for relevance, one of its sentences for veracity."""

    item_id: str
    theme: str
    question: str
    answer: str
    sentence: str
    sources: str


def items_of(answers: Iterable[Answer], criterion: Criterion) -> list[Item]:
    """What can be labelled: answers for ``relevance``, sentences with their sources for ``veracity``."""
    found = []
    for one in answers:
        if criterion != "veracity":
            found.append(Item(one.answer_id, one.theme, one.question, one.text, "", ""))
            continue
        for place, sentence in enumerate(one.sentences):
            sources = "\n\n".join(f"[{name}]\n{text}" for name, text in one.sources_of(place).items())
            found.append(
                Item(
                    sentence_id(one.answer_id, place),
                    one.theme,
                    one.question,
                    one.text,
                    sentence.text,
                    sources,
                )
            )
    return found


def sentence_id(answer_id: str, sentence: int | None) -> str:
    """Identifier of a sentence of an answer, counted from 0; of the answer where ``sentence`` is None."""
    return answer_id if sentence is None else f"{answer_id}#{sentence}"


def write_csv(items: Sequence[Item], path: Path) -> None:
    """The sheet as CSV in UTF-8 with a byte order mark, which spreadsheets need to see accents."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow((*COLUMNS, *ANNOTATORS))
    for item in items:
        writer.writerow([*(_harmless(cell) for cell in _cells(item)), *[""] * len(ANNOTATORS)])
    path.write_bytes(b"\xef\xbb\xbf" + out.getvalue().encode("utf-8", "replace"))


def write_xlsx(items: Sequence[Item], criterion: Criterion, path: Path, language: str = "en") -> None:
    """The sheet as a workbook: labels are chosen from a list, and a second sheet holds the instructions."""
    from openpyxl import Workbook
    from openpyxl.styles import Alignment, Font, Protection
    from openpyxl.utils import get_column_letter
    from openpyxl.worksheet.datavalidation import DataValidation

    book = Workbook()
    sheet = book.active
    sheet.title = "labels"
    sheet.append((*COLUMNS, *ANNOTATORS))
    for item in items:
        row = sheet.max_row + 1
        for column, cell in enumerate(_cells(item), start=1):
            target = sheet.cell(row=row, column=column)
            target.value = _printable(cell)
            target.data_type = "s"  # never a formula
            target.alignment = Alignment(wrap_text=True, vertical="top")
        for column in range(len(COLUMNS) + 1, len(COLUMNS) + len(ANNOTATORS) + 1):
            sheet.cell(row=row, column=column).protection = Protection(locked=False)
    for column, width in enumerate(_WIDTHS, start=1):
        sheet.column_dimensions[get_column_letter(column)].width = width
        sheet.cell(row=1, column=column).font = Font(bold=True)
    sheet.freeze_panes = "B2"
    choice = DataValidation(type="list", formula1='"0,1"', allow_blank=True, showErrorMessage=True)
    sheet.add_data_validation(choice)
    for place, name in enumerate(ANNOTATORS, start=len(COLUMNS) + 1):
        if name.startswith("label") and items:
            letter = get_column_letter(place)
            choice.add(f"{letter}2:{letter}{len(items) + 1}")
    rules = book.create_sheet("instructions")
    rules.column_dimensions["A"].width = 110
    for line in guidelines(criterion, language):
        rules.append((line,))
        rules.cell(row=rules.max_row, column=1).alignment = Alignment(wrap_text=True)
    book.save(path)


def read_labels(path: Path, known: Iterable[str]) -> pa.Table:
    """Labels of a sheet that came back, CSV or XLSX by its ending.

    Args:
        path: the file.
        known: identifiers of the items that were to be labelled.

    Returns:
        Table as ``schemas.HUMAN_LABELS``, in the order of the file.

    Raises:
        UsageError: the file cannot be read or lacks a column, an item is unknown or there twice, or a label
            is neither 0 nor 1; the row is named.
    """
    wanted = set(known)
    rows: list[dict[str, Any]] = []
    seen: set[str] = set()
    for number, row in enumerate(_records(path), start=2):
        item = str(row["item_id"] or "").strip()
        if not item:
            continue
        if item not in wanted or item in seen:
            twice = item in seen
            reason = "is there twice" if twice else "is on no sheet, or its answer was written anew"
            remedy = "Remove one of the rows." if twice else "Remove the row, or label the newest sheet."
            raise UsageError(f"Row {number} of {path.name}: item '{item}' {reason}.", remedy)
        seen.add(item)
        labels = [_label(row[f"label_{who}"], number, path) for who in (1, 2, 3)]
        final, state = adjudicate(*labels)
        rows.append(
            {"item_id": item, "label": final, "state": state, "sheet": path.name}
            | {f"label_{who}": label for who, label in enumerate(labels, start=1)}
        )
    return pa.Table.from_pylist(rows, schema=HUMAN_LABELS)


def sheet_items(path: Path) -> list[str] | None:
    """Identifiers of the items of a sheet in its order; None when it cannot be read."""
    try:
        return [str(row["item_id"]).strip() for row in _records(path) if row["item_id"]]
    except UsageError:
        return None


def labelled_rows(path: Path) -> int | None:
    """Rows of a sheet with a label in them; None when it cannot be read."""
    try:
        names = [f"label_{who}" for who in (1, 2, 3)]
        return sum(any(row.get(name) not in (None, "") for name in names) for row in _records(path))
    except UsageError:
        return None


def adjudicate(first: int | None, second: int | None, third: int | None) -> tuple[int | None, str]:
    """The final label and how it came about; see ``schemas.HUMAN_LABELS``."""
    if third is not None:
        return third, "decided"
    if first is None and second is None:
        return None, "empty"
    if first is None or second is None:
        return None, "one"
    return (first, "agreed") if first == second else (None, "open")


def _cells(item: Item) -> tuple[str, ...]:
    cells = (item.item_id, item.theme, item.question, item.answer, item.sentence, item.sources)
    return tuple(
        cell if len(cell) <= _LONGEST_CELL else cell[: _LONGEST_CELL - len(_CUT)] + _CUT for cell in cells
    )


def _harmless(cell: str) -> str:
    """A spreadsheet would run a cell that begins like a formula, and answers are not ours."""
    return f"'{cell}" if cell.startswith(_FORMULA_STARTS) else cell


def _printable(cell: str) -> str:
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    return str(ILLEGAL_CHARACTERS_RE.sub(" ", cell))


def _records(path: Path) -> Iterable[Mapping[str, Any]]:
    needed = ("item_id", "label_1", "label_2", "label_3")
    try:
        table = _xlsx_rows(path) if path.suffix.lower() == ".xlsx" else _csv_rows(path)
    except (OSError, ValueError, KeyError, csv.Error) as error:
        raise UsageError(f"The sheet {path} cannot be read: {error}.", "Save it as CSV or XLSX.") from error
    if not table or any(name not in table[0] for name in needed):
        raise UsageError(f"The sheet {path.name} lacks a column.", f"It needs {', '.join(needed)}.")
    header = [str(name) for name in table[0]]
    return [dict(zip(header, row, strict=False)) for row in table[1:]]


def _csv_rows(path: Path) -> list[list[Any]]:
    text = path.read_bytes().decode("utf-8-sig")
    separator = ";" if text.partition("\n")[0].count(";") > text.partition("\n")[0].count(",") else ","
    rows: list[list[Any]] = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    for row in rows[1:]:
        if row and row[0].startswith("'") and row[0][1:].startswith(_FORMULA_STARTS):
            row[0] = row[0][1:]
    width = len(rows[0]) if rows else 0
    return [row + [""] * (width - len(row)) for row in rows]


def _xlsx_rows(path: Path) -> list[list[Any]]:
    from zipfile import BadZipFile

    from openpyxl import load_workbook
    from openpyxl.utils.exceptions import InvalidFileException

    try:
        book = load_workbook(path, read_only=True, data_only=True)
    except (BadZipFile, InvalidFileException) as error:
        raise ValueError(str(error)) from error
    try:
        sheet = book["labels"] if "labels" in book.sheetnames else book.worksheets[0]
        return [list(row) for row in sheet.iter_rows(values_only=True)]
    finally:
        book.close()


def _label(cell: Any, row: int, path: Path) -> int | None:
    text = str(cell).strip() if cell is not None else ""
    if text in ("", "None"):
        return None
    if text in ("0", "1", "0.0", "1.0"):
        return int(float(text))
    raise UsageError(f"Row {row} of {path.name}: the label '{text}' is neither 0 nor 1.", "Mend the row.")
