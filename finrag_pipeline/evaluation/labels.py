"""Labels of people: which items they are asked about, the sheets they label on, and how labels come back.

As in Martinon et al., section 5: a sample stratified by theme and K-Means cluster; the second annotator
reviews the first, and a third decides where they still disagree. The instructions are those of the judge. A
sheet lies in ``labels/`` of the lake, as CSV and as a workbook; filled ones are read from ``labels/filled/``.
A sheet that somebody has begun to fill is never overwritten: it is moved to ``labels/earlier/``.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import count
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from finrag_pipeline.errors import FinragError, UsageError, refused
from finrag_pipeline.evaluation.judged_answers import Answer
from finrag_pipeline.evaluation.judges import Criterion, guidelines
from finrag_pipeline.schemas import HUMAN_LABELS, LABEL_SAMPLE
from finrag_pipeline.storage.fingerprints import file_sha256, fingerprint

SHEETS_VERSION = "1"
"""Changes with what is drawn or shown."""

CRITERIA: tuple[Criterion, ...] = ("relevance", "veracity")
"""What people label."""

FOLDER, FILLED, EARLIER = "labels", "filled", "earlier"
COLUMNS = ("item_id", "theme", "question", "answer", "sentence", "sources")
ANNOTATORS = ("label_1", "comment_1", "label_2", "comment_2", "label_3", "comment_3")
LABELS = ANNOTATORS[::2]

PER_CLUSTER = 3
"""Items drawn from each cluster."""

_WIDTHS = (12, 12, 40, 60, 50, 90, 9, 24, 9, 24, 9, 24)
_LONGEST_CELL = 32_000
_CUT = " […]"
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")

Item = dict[str, str]
"""One row of a sheet by `COLUMNS`: an answer for relevance, one of its sentences for veracity."""


def items_of(answers: Iterable[Answer], criterion: Criterion) -> list[Item]:
    """What can be labelled: answers for ``relevance``, sentences with their sources for ``veracity``."""
    found = []
    for one in answers:
        whole = dict(zip(COLUMNS, (one.answer_id, one.theme, one.question, one.text, "", ""), strict=True))
        if criterion != "veracity":
            found.append(whole)
            continue
        for place, sentence in enumerate(one.sentences):
            sources = "\n\n".join(f"[{name}]\n{text}" for name, text in one.sources_of(place).items())
            about = {"item_id": f"{one.answer_id}#{place}", "sentence": sentence.text, "sources": sources}
            found.append(whole | about)
    return found


def stratified_sample(
    item_ids: Sequence[str], themes: Sequence[str], vectors: ArrayLike, budget: int, seed: int = 17
) -> list[dict[str, Any]]:
    """Embeddings are clustered within each theme, and a few items of every cluster drawn at random.

    The budget is shared among themes in proportion to their items; each theme gets as many clusters as its
    share pays for, at least one. A cluster smaller than `PER_CLUSTER` is taken whole.

    Neither K-Means nor the draw depends on the order of the items.

    Args:
        vectors: embedding of each item, shape (items, dimensions).
        budget: labels that people will give, at most.

    Returns:
        ``item_id``, ``theme``, ``stratum``, ``sampled`` and ``weight`` of each.

    Raises:
        UsageError: the budget does not pay for every theme.
    """
    points = np.asarray(vectors, dtype=np.float64)
    names = sorted(set(themes))
    if budget < (least := PER_CLUSTER * len(names)):
        raise UsageError(
            f"{budget} labels are too few for {len(names)} types of questions.",
            f"Set FINRAG_JUDGE__BUDGET to {least} or more.",
        )
    order = sorted(range(len(item_ids)), key=lambda place: item_ids[place])
    rows: list[dict[str, Any]] = [
        {"item_id": item, "theme": theme, "sampled": False, "weight": None}
        for item, theme in zip(item_ids, themes, strict=True)
    ]
    shares = _shares([list(themes).count(name) for name in names], budget // PER_CLUSTER)
    for number, (name, clusters) in enumerate(zip(names, shares, strict=True)):
        members = np.array([place for place in order if themes[place] == name])
        groups = _clusters(points[members], clusters, seed)
        rng = np.random.default_rng([seed, number])
        for group in np.unique(groups):
            inside = members[groups == group]
            drawn = rng.choice(inside, min(PER_CLUSTER, len(inside)), replace=False)
            for place in inside:
                rows[place]["stratum"] = f"{name}/{group}"
            for place in drawn:
                rows[place] |= {"sampled": True, "weight": len(inside) / len(drawn)}
    return rows


def _shares(sizes: Sequence[int], clusters: int) -> list[int]:
    """Clusters of each theme: one each, the rest by largest remainder in proportion to size."""
    left = clusters - len(sizes)
    exact = [left * size / sum(sizes) for size in sizes]
    found = [1 + int(share) for share in exact]
    by_remainder = sorted(range(len(sizes)), key=lambda place: (int(exact[place]) - exact[place], place))
    for place in by_remainder[: clusters - sum(found)]:
        found[place] += 1
    return found


def _clusters(points: NDArray[np.float64], count: int, seed: int) -> NDArray[np.intp]:
    """K-Means cluster of each point, numbered in order of first appearance."""
    from sklearn.cluster import KMeans

    distinct = len(np.unique(points, axis=0))
    model = KMeans(n_clusters=min(count, distinct), n_init=4, random_state=seed)
    labels = model.fit_predict(points)
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    return np.asarray(rank[inverse], dtype=np.intp)


def draw_sample(
    answers: Sequence[Answer],
    criterion: Criterion,
    embed: Callable[[Sequence[str]], ArrayLike],
    budget: int,
    seed: int = 17,
) -> pa.Table:
    """Items that people label, as ``schemas.LABEL_SAMPLE``: answers for ``relevance``, else sentences.

    Args:
        answers: of one system in one search space.
        embed: vectors of texts, shape (texts, dimensions).
        budget: labels that people will give, at most.

    Raises:
        UsageError: the budget does not pay for every theme.
    """
    texts = {
        one["item_id"]: (one["theme"], one["sentence"] or one["answer"])
        for one in items_of(answers, criterion)
    }
    texts = {item: about for item, about in texts.items() if about[1].strip()}
    if not texts:
        return LABEL_SAMPLE.empty_table()
    themes, said = zip(*texts.values(), strict=True)
    about = {"criterion": criterion, "system": answers[0].system, "space": answers[0].space}
    drawn = stratified_sample(list(texts), themes, embed(said), budget, seed)
    return pa.Table.from_pylist([about | row for row in drawn], LABEL_SAMPLE)


def sampled_items(sample: pa.Table) -> list[str]:
    """Identifiers of the items that are on a sheet."""
    return list(sample.filter(sample["sampled"])["item_id"].to_pylist())


def sheet_name(system: str, criterion: str) -> str:
    """Name of a sheet, without its ending."""
    return f"{re.sub(r'[^A-Za-z0-9_.-]+', '_', system)}.{criterion}"


def write_sheets(
    folder: Path, sample: pa.Table, answers: Sequence[Answer], language: str = "en"
) -> list[Path]:
    """Write the sheets of ``schemas.LABEL_SAMPLE``; those that hold its items already are left as they are.

    Returns:
        The workbooks, one per system and criterion; a CSV of the same name lies beside each.

    Raises:
        UsageError: the folder cannot be written to.
    """
    remedy = f"Close them in other programs, and check the permissions of {folder.name}/."
    written = []
    pairs = set(zip(sample["system"].to_pylist(), sample["criterion"].to_pylist(), strict=True))
    for system, criterion in sorted(pairs):
        of_both = pc.and_(pc.equal(sample["system"], system), pc.equal(sample["criterion"], criterion))
        wanted = set(sampled_items(sample.filter(of_both)))
        items = [item for item in items_of(answers, criterion) if item["item_id"] in wanted]
        book = folder / f"{sheet_name(system, criterion)}.xlsx"
        with refused(UsageError, "The sheets cannot be written", remedy):
            (folder / FILLED).mkdir(parents=True, exist_ok=True)
            if _make_way(book.with_suffix(".csv"), items):
                write_csv(items, book.with_suffix(".csv"))
            if _make_way(book, items):
                write_xlsx(items, criterion, book, language)
        written.append(book)
    return written


def _make_way(path: Path, items: Sequence[Item]) -> bool:
    """Whether a sheet is to be written; one of other items that somebody has begun to fill is moved aside."""
    if not path.exists():
        return True
    try:
        rows = _records(path)
    except UsageError:  # nobody can tell what is in it
        rows = None
    if rows is not None:
        if [str(row["item_id"]).strip() for row in rows if row["item_id"]] == [
            one["item_id"] for one in items
        ]:
            return False
        if all(row.get(name) in (None, "") for row in rows for name in LABELS):
            return True
    aside = path.parent / EARLIER
    aside.mkdir(exist_ok=True)
    names = (aside / f"{path.stem}-{number}{path.suffix}" for number in count(1))
    path.rename(next(name for name in names if not name.exists()))
    return True


def write_csv(items: Sequence[Item], path: Path) -> None:
    """The sheet as CSV in UTF-8 with a byte order mark, which spreadsheets need to see accents."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow((*COLUMNS, *ANNOTATORS))
    for item in items:
        # A spreadsheet would run a cell that begins like a formula, and answers are not ours.
        cells = (f"'{cell}" if cell.startswith(_FORMULA_STARTS) else cell for cell in _cells(item))
        writer.writerow([*cells, *[""] * len(ANNOTATORS)])
    path.write_bytes(b"\xef\xbb\xbf" + out.getvalue().encode("utf-8", "replace"))


def write_xlsx(items: Sequence[Item], criterion: Criterion, path: Path, language: str = "en") -> None:
    """The sheet as a workbook: labels are chosen from a list, and a second sheet holds the instructions."""
    from openpyxl import Workbook
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE
    from openpyxl.styles import Alignment, Font, Protection
    from openpyxl.utils import get_column_letter
    from openpyxl.worksheet.datavalidation import DataValidation

    book = Workbook()
    sheet = book.active
    sheet.title = "labels"
    sheet.append((*COLUMNS, *ANNOTATORS))
    for row, item in enumerate(items, start=2):
        for column, cell in enumerate(_cells(item), start=1):
            target = sheet.cell(row=row, column=column)
            target.value = ILLEGAL_CHARACTERS_RE.sub(" ", cell)
            target.data_type = "s"  # never a formula
            target.alignment = Alignment(wrap_text=True, vertical="top")
        for column in range(len(COLUMNS) + 1, len(_WIDTHS) + 1):
            sheet.cell(row=row, column=column).protection = Protection(locked=False)
    choice = DataValidation(type="list", formula1='"0,1"', allow_blank=True, showErrorMessage=True)
    sheet.add_data_validation(choice)
    for column, (name, width) in enumerate(zip((*COLUMNS, *ANNOTATORS), _WIDTHS, strict=True), start=1):
        letter = get_column_letter(column)
        sheet.column_dimensions[letter].width = width
        sheet.cell(row=1, column=column).font = Font(bold=True)
        if name in LABELS and items:
            choice.add(f"{letter}2:{letter}{len(items) + 1}")
    sheet.freeze_panes = "B2"
    rules = book.create_sheet("instructions")
    rules.column_dimensions["A"].width = 110
    for line in guidelines(criterion, language):
        rules.append((line,))
        rules.cell(row=rules.max_row, column=1).alignment = Alignment(wrap_text=True)
    book.save(path)


def _cells(item: Item) -> list[str]:
    cut = _LONGEST_CELL - len(_CUT)
    return [cell if len(cell) <= _LONGEST_CELL else cell[:cut] + _CUT for cell in item.values()]


def filled_sheets(folder: Path) -> list[Path]:
    """Sheets that came back, by name; what an open program leaves beside them is none."""
    found = (folder / FILLED).glob("*") if (folder / FILLED).is_dir() else ()
    return sorted(path for path in found if path.is_file() and not path.name.startswith((".", "~")))


def filled_fingerprint(folder: Path) -> str:
    """Hash of the contents of all filled sheets."""
    return fingerprint([(path.name, file_sha256(path)) for path in filled_sheets(folder)])


def read_sheets(paths: Iterable[Path], known: Collection[str]) -> tuple[pa.Table, dict[str, str]]:
    """Labels of the ``known`` items as ``schemas.HUMAN_LABELS``, and reason and remedy of each bad sheet."""
    tables, problems = [HUMAN_LABELS.empty_table()], {}
    owner: dict[str, str] = {}
    for path in paths:
        try:
            table = read_labels(path, known)
        except FinragError as error:
            problems[path.name] = str(error)
            continue
        items = table["item_id"].to_pylist()
        if twice := next((item for item in items if item in owner), None):
            problems[path.name] = (
                f"Item '{twice}' of {path.name} is in {owner[twice]} as well. Keep one of the two sheets."
            )
            continue
        owner |= dict.fromkeys(items, path.name)
        tables.append(table)
    return pa.concat_tables(tables), problems


def read_labels(path: Path, known: Collection[str]) -> pa.Table:
    """Labels of a sheet, CSV or XLSX by its ending, as ``schemas.HUMAN_LABELS`` in the order of the file.

    Raises:
        UsageError: the file cannot be read or lacks a column, an item is unknown or there twice, or a label
            is neither 0 nor 1; the row is named.
    """
    wanted = set(known)
    rows: dict[str, dict[str, Any]] = {}
    for number, row in enumerate(_records(path), start=2):
        item = str(row["item_id"] or "").strip()
        if not item:
            continue
        if item not in wanted or item in rows:
            twice = item in rows
            reason = "is there twice" if twice else "is on no sheet, or its answer was written anew"
            remedy = "Remove one of the rows." if twice else "Remove the row, or label the newest sheet."
            raise UsageError(f"Row {number} of {path.name}: item '{item}' {reason}.", remedy)
        labels = {name: _label(row[name], number, path) for name in LABELS}
        final, state = adjudicate(*labels.values())
        rows[item] = {"item_id": item, "label": final, "state": state, "sheet": path.name} | labels
    return pa.Table.from_pylist(list(rows.values()), schema=HUMAN_LABELS)


def adjudicate(first: int | None, second: int | None, third: int | None) -> tuple[int | None, str]:
    """The final label and how it came about; see ``schemas.HUMAN_LABELS``."""
    if third is not None:
        return third, "decided"
    if first is None and second is None:
        return None, "empty"
    if first is None or second is None:
        return None, "one"
    return (first, "agreed") if first == second else (None, "open")


def _label(cell: Any, row: int, path: Path) -> int | None:
    text = str(cell).strip() if cell is not None else ""
    if text in ("", "None"):
        return None
    if text in ("0", "1", "0.0", "1.0"):
        return int(float(text))
    raise UsageError(f"Row {row} of {path.name}: the label '{text}' is neither 0 nor 1.", "Mend the row.")


def _records(path: Path) -> list[dict[str, Any]]:
    needed = ("item_id", *LABELS)
    try:
        table = _xlsx_rows(path) if path.suffix.lower() == ".xlsx" else _csv_rows(path)
    except (OSError, ValueError, KeyError, csv.Error, BadZipFile) as error:
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
    from openpyxl import load_workbook

    book = load_workbook(path, read_only=True, data_only=True)
    try:
        sheet = book["labels"] if "labels" in book.sheetnames else book.worksheets[0]
        return [list(row) for row in sheet.iter_rows(values_only=True)]
    finally:
        book.close()
