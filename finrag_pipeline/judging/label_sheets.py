"""Which items of which systems people label, the sheets they do it on, and the sheets that came back.

A sheet lies in ``labels/`` of the lake, as CSV and as a workbook; filled ones are read from
``labels/filled/``. A sheet that somebody has begun to fill is never overwritten: it is moved to
``labels/earlier/``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike

from finrag_pipeline.errors import FinragError, UsageError
from finrag_pipeline.judging.annotation import (
    Item,
    items_of,
    labelled_rows,
    read_labels,
    sheet_items,
    write_csv,
    write_xlsx,
)
from finrag_pipeline.judging.items import Answer
from finrag_pipeline.judging.sampling import PER_CLUSTER, stratified_sample
from finrag_pipeline.judging.verdicts import Criterion
from finrag_pipeline.schemas import HUMAN_LABELS, LABEL_SAMPLE, conform
from finrag_pipeline.storage.fingerprints import fingerprint

SHEETS_VERSION = "1"
"""Changes with what is drawn or shown."""

CRITERIA: tuple[Criterion, ...] = ("relevance", "veracity")
"""What people label."""

FOLDER, FILLED, EARLIER = "labels", "filled", "earlier"
_ENDINGS = (".csv", ".xlsx")


def draw_sample(
    answers: Sequence[Answer],
    criterion: Criterion,
    embed: Callable[[Sequence[str]], ArrayLike],
    budget: int,
    seed: int = 17,
) -> pa.Table:
    """Items of one system that people label under one criterion.

    Args:
        answers: of one system in one search space.
        criterion: ``relevance`` draws answers, ``veracity`` sentences.
        embed: vectors of texts, shape (texts, dimensions).
        budget: labels that people will give, at most.
        seed: of the clusters and of the draw.

    Returns:
        Table as ``schemas.LABEL_SAMPLE``, one row per item.

    Raises:
        UsageError: the budget does not pay for every theme.
    """
    items = [item for item in items_of(answers, criterion) if (item.sentence or item.answer).strip()]
    if not items:
        return LABEL_SAMPLE.empty_table()
    themes = [item.theme for item in items]
    if budget < (least := PER_CLUSTER * len(set(themes))):
        raise UsageError(
            f"{budget} labels are too few for {len(set(themes))} types of questions.",
            f"Set FINRAG_JUDGE__BUDGET to {least} or more.",
        )
    vectors = embed([item.sentence or item.answer for item in items])
    drawn = stratified_sample([item.item_id for item in items], themes, vectors, budget, seed=seed)
    for name, value in (("space", answers[0].space), ("system", answers[0].system), ("criterion", criterion)):
        drawn = drawn.add_column(0, name, pa.array([value] * len(drawn), pa.string()))
    return conform(drawn, "label_sample")


def sampled_items(sample: pa.Table) -> list[str]:
    """Identifiers of the items that are on a sheet."""
    return list(sample.filter(sample["sampled"])["item_id"].to_pylist())


def sheet_name(system: str, criterion: str) -> str:
    """Name of a sheet, without its ending."""
    return f"{re.sub(r'[^A-Za-z0-9_.-]+', '_', system)}.{criterion}"


def write_sheets(
    folder: Path, sample: pa.Table, answers: Sequence[Answer], language: str = "en"
) -> list[Path]:
    """Write the sheets of a sample; those that hold its items already are left as they are.

    Args:
        folder: ``labels`` of the lake.
        sample: as ``schemas.LABEL_SAMPLE``.
        answers: the answers it was drawn from.
        language: of the instructions.

    Returns:
        The workbooks, one per system and criterion; a CSV of the same name lies beside each.

    Raises:
        UsageError: the folder cannot be written to.
    """
    written = []
    groups = sample.select(["system", "criterion"]).group_by(["system", "criterion"]).aggregate([])
    for group in groups.sort_by([("system", "ascending"), ("criterion", "ascending")]).to_pylist():
        system, criterion = group["system"], group["criterion"]
        rows = sample.filter(
            pc.and_(pc.equal(sample["system"], system), pc.equal(sample["criterion"], criterion))
        )
        wanted = set(sampled_items(rows))
        items = [item for item in items_of(answers, criterion) if item.item_id in wanted]
        name = sheet_name(system, criterion)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / FILLED).mkdir(exist_ok=True)
            for ending in _ENDINGS:
                _write(folder / f"{name}{ending}", items, criterion, language)
        except OSError as error:
            raise UsageError(
                f"The sheets cannot be written: {error.strerror or error}.",
                f"Close them in other programs, and check the permissions of {folder.name}/.",
            ) from error
        written.append(folder / f"{name}.xlsx")
    return written


def filled_sheets(folder: Path) -> list[Path]:
    """Sheets that came back, by name; what an open program leaves beside them is none."""
    found = (folder / FILLED).glob("*") if (folder / FILLED).is_dir() else ()
    return sorted(path for path in found if path.is_file() and not path.name.startswith((".", "~")))


def filled_fingerprint(folder: Path) -> str:
    """Hash of the contents of all filled sheets."""
    return fingerprint(
        [(path.name, hashlib.sha256(path.read_bytes()).hexdigest()) for path in filled_sheets(folder)]
    )


def read_sheets(paths: Iterable[Path], known: Iterable[str]) -> tuple[pa.Table, dict[str, str]]:
    """Labels of all sheets that can be read, and what is wrong with the others.

    Args:
        paths: filled sheets.
        known: identifiers of the items that were to be labelled.

    Returns:
        Table as ``schemas.HUMAN_LABELS``, and a sentence with reason and remedy by name of the bad sheet.
    """
    wanted = list(known)
    tables, problems = [HUMAN_LABELS.empty_table()], {}
    owner: dict[str, str] = {}
    for path in paths:
        try:
            table = read_labels(path, wanted)
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


def _write(path: Path, items: Sequence[Item], criterion: Criterion, language: str) -> None:
    if path.exists():
        if sheet_items(path) == [item.item_id for item in items]:
            return
        if labelled_rows(path) != 0:  # or nobody can tell
            aside = path.parent / EARLIER
            aside.mkdir(exist_ok=True)
            number = 1
            while (target := aside / f"{path.stem}-{number}{path.suffix}").exists():
                number += 1
            path.rename(target)
    if path.suffix == ".csv":
        write_csv(items, path)
    else:
        write_xlsx(items, criterion, path, language)
