"""What others published on FinanceBench: figures of the oracle evaluation, and recorded answers of models.

Of the figures three sources by the same first author give three columns, and they disagree: the thesis
corrects the baselines of the two papers. Reports print all three beside a run and compare with the thesis. A
published row is tied to a system of our registry and a search space: the papers' rows "Oracle document" and
"Oracle page" restrict the *dense* system, so they are ``dense`` in the spaces ``filing`` and ``pages``.

Recorded answers are rows of their own beside those of this pipeline: those that Patronus AI published with
people's verdicts (16 configurations), and those of the authors of the oracle evaluation (Kobeissi &
Langlais). Nothing is asked again; an answer is read as it was written.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from finrag_pipeline.answering.final_answer import final_answer
from finrag_pipeline.errors import BenchmarkError
from finrag_pipeline.evaluation.questions import read_objects
from finrag_pipeline.schemas import ANSWERS, conform
from finrag_pipeline.storage.fingerprints import file_sha256, fingerprint


class Publication(NamedTuple):
    """Where published figures come from; its label is the head of a column, its title begins with authors."""

    key: str
    label: str
    title: str
    table: str


class PublishedFigure(NamedTuple):
    """One published mean over :data:`QUESTIONS` questions; the papers give no intervals.

    Attributes:
        paper: key of :data:`PUBLICATIONS`.
        system: system of our registry that the row stands for.
        space: search space: corpus, filing or pages.
        row: name of the row in the publication.
        metric: metric, named as in ``schemas.SYSTEM_METRICS``, at `CUTOFF`.
        value: the figure, in [0, 1].
        note: what differs from our system of that name.
    """

    paper: str
    system: str
    space: str
    row: str
    metric: str
    value: float
    note: str


class PublishedStatistic(NamedTuple):
    """A statistic of ``schemas.CORPUS_STATISTICS``: a mean with its deviation, or the count of a total."""

    paper: str
    statistic: str
    mean: float
    std: float | None = None


_READ = tomllib.loads(files("finrag_pipeline.evaluation").joinpath("published.toml").read_text("utf-8"))

PUBLICATIONS = {one["key"]: Publication(**one) for one in _READ["publications"]}

COMPARED_WITH = "thesis"
"""The publication that differences are taken to: the latest, with corrected baselines."""

QUESTIONS = 150
DOCUMENTS = 84
"""What the published means are over: FinanceBench's open questions and the filings they ask about."""

CUTOFF = 5
METRICS = ("doc_rec", "page_rec", "max_bleu", "max_rouge_l")

PUBLISHED = tuple(
    PublishedFigure(paper, system, space, row, metric, value, _READ["notes"][note])
    for paper, system, space, row, *values, note in _READ["figures"]["rows"]
    for metric, value in zip(METRICS, values, strict=True)
)
"""Every published figure that a system of the registry can be compared with."""

PUBLISHED_STATISTICS = tuple(PublishedStatistic(*row) for row in _READ["statistics"]["rows"])
"""Table 3 of the French paper, and the evidence length that the thesis adds; tokens are BGE-M3's."""

PUBLISHED_VALUES = {(one.paper, one.system, one.space, one.metric): one.value for one in PUBLISHED}


def is_comparable(questions: int, documents: int) -> bool:
    """Whether means over so many questions and gold filings are over what the papers measured."""
    return (questions, documents) == (QUESTIONS, DOCUMENTS)


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

    Returns:
        Table as ``schemas.ANSWERS``; answers to others than ``questions``, by identifier, are left out.

    Raises:
        BenchmarkError: the folder holds no such file, or a file is damaged, with file and line.
    """
    files = _files(folder)
    if not files:
        raise BenchmarkError(
            f"The folder {folder} holds no recorded answers.", "Give one with *.jsonl files."
        )
    rows = []
    for path in files:
        objects, problems = read_objects(path)
        if problems:
            raise BenchmarkError(problems[0], "")
        rows += [_row(path, *one, questions) for one in objects if one[1].get("financebench_id") in questions]
    return conform(pa.Table.from_pylist(rows, ANSWERS), "answers")


def recorded_fingerprint(folders: Sequence[Path]) -> str:
    """Hash of the contents of all files of recorded answers in ``folders``."""
    files = [path for folder in folders for path in _files(folder)]
    return fingerprint([(path.name, file_sha256(path)) for path in files])


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*") if path.name.endswith(_ENDINGS))


def _row(path: Path, line: int, record: dict[str, Any], questions: Mapping[str, str]) -> dict[str, Any]:
    answer = record.get("answer", record.get("model_answer"))
    if not isinstance(answer, str | int | float):
        raise BenchmarkError(f"{path.name}, line {line}: there is no answer.", "Correct the line.")
    text = str(answer)
    final = final_answer(text)
    quantity = None if final.declined else final.quantity
    system = path.name.removesuffix(".gz").removesuffix(".jsonl")
    given, separator, model = system.partition("__")
    if not separator:
        model, _, given = system.partition("_")
    space = next((space for word, space in _SPACES if word in given.lower()), None)
    return {
        "question_id": record["financebench_id"],
        "question": questions[record["financebench_id"]],
        "system": f"recorded {system}",
        "space": space,
        "repeat": 0,
        "answer": text,
        "value": quantity and quantity.value,
        "unit": quantity and quantity.unit,
        "retrieved": [],
        "abstained": final.declined,
        "warnings": [],
        "model": record.get("model") or model,
        "human_label": _LABELS.get(str(record.get("label"))),
    }
