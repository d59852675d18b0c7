"""Answers of real models that others recorded, as rows of their own beside those of this pipeline.

Two sources on FinanceBench: the answers that Patronus AI published with people's verdicts (16
configurations), and those of the authors of the oracle evaluation (Kobeissi & Langlais). Nothing is asked
again; an answer is read as it was written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from finrag_pipeline.answering.final_answer import final_answer
from finrag_pipeline.errors import BenchmarkError
from finrag_pipeline.evaluation.benchmark_files import read_objects
from finrag_pipeline.schemas import ANSWERS, conform
from finrag_pipeline.storage.fingerprints import fingerprint

_ENDINGS = (".jsonl", ".jsonl.gz")
_LABELS = {"Correct Answer": "correct", "Incorrect Answer": "incorrect", "Refusal": "refusal"}
# What a model was given, by the word in the name of its file, and the search space that corresponds to it.
_SPACES = (
    ("closedbook", None),
    ("openbook", "pages"),
    ("oracledoc", "filing"),
    ("oracle", "pages"),
    ("singlestore", "filing"),
    ("incontext", "filing"),
    ("shared", "corpus"),
)


def load_recorded_answers(folder: Path, questions: Mapping[str, str]) -> pa.Table:
    """All recorded answers of a folder, by file and in the order of the files.

    A file ``<given>__<model>.jsonl(.gz)`` or ``<model>_<given>.jsonl(.gz)`` is one system; each line holds
    ``financebench_id`` and ``answer`` or ``model_answer``, perhaps a ``label``.

    Args:
        folder: holds the files.
        questions: question by identifier; answers to others are left out.

    Returns:
        Table as ``schemas.ANSWERS``.

    Raises:
        BenchmarkError: the folder holds no such file, or a file is damaged, with file and line.
    """
    files = _files(folder)
    if not files:
        raise BenchmarkError(
            f"The folder {folder} holds no recorded answers.", "Give one with *.jsonl files."
        )
    rows = [
        _row(path, line, record, questions)
        for path in files
        for line, record in _records(path)
        if record.get("financebench_id") in questions
    ]
    return conform(pa.Table.from_pylist(rows, ANSWERS), "answers")


def recorded_fingerprint(folders: Sequence[Path]) -> str:
    """Hash of the contents of all files of recorded answers in ``folders``."""
    files = [path for folder in folders for path in _files(folder)]
    return fingerprint([(path.name, hashlib.sha256(path.read_bytes()).hexdigest()) for path in files])


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*") if path.name.endswith(_ENDINGS))


def _records(path: Path) -> list[tuple[int, dict[str, Any]]]:
    objects, problems = read_objects(path)
    if problems:
        raise BenchmarkError(problems[0], "")
    return objects


def _row(path: Path, line: int, record: dict[str, Any], questions: Mapping[str, str]) -> dict[str, Any]:
    answer = record.get("answer", record.get("model_answer"))
    if not isinstance(answer, str | int | float):
        raise BenchmarkError(f"{path.name}, line {line}: there is no answer.", "Correct the line.")
    text = str(answer)
    final = final_answer(text)
    system = path.name.removesuffix(".gz").removesuffix(".jsonl")
    given, separator, model = system.partition("__")
    if not separator:
        model, _, given = system.partition("_")
    space = next((space for word, space in _SPACES if word in given.lower()), None)
    return {
        "question_id": record["financebench_id"],
        "question": questions[record["financebench_id"]],
        "system": f"recorded {system}",
        "retrieval": None,
        "space": space,
        "fold": None,
        "repeat": 0,
        "answer": text,
        "final_answer": None,
        "value": None if final.quantity is None or final.declined else final.quantity.value,
        "unit": None if final.quantity is None or final.declined else final.quantity.unit,
        "retrieved": [],
        "abstained": final.declined,
        "warnings": [],
        "model": record.get("model") or model,
        "human_label": _LABELS.get(str(record.get("label"))),
    }
