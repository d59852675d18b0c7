"""Test questions of FinQA over the table of their own page: execution accuracy.

    python -m benchmarks.finqa FOLDER [--show]

``FOLDER`` holds ``finqa_corpus.jsonl.gz`` and ``finqa_qa.jsonl``. Each table goes the way of any other, and
the question is answered from its rows; what stands in the text around it is not read. Left out are companies
of other benchmarks and questions whose page is not surely known.

Execution accuracy is that of Chen et al. (FinQA, 2021, section 5): the value equals the gold program's, both
rounded to five decimals. Gold programs compute with numbers as printed, ours with full units, so a scale is
divided out where the answer is an amount.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track

from benchmarks.tatqa import answer, read_table, text_grid
from finrag_pipeline.answering.derivation import Derivation

SURE = ("exact", "A")
OVERLAPS = ("fb_company", "fb_corpus_company", "fb_doc_overlap", "fb_corpus_overlap")
_SCALES = (1.0, 1e3, 1e6, 1e9)


def read_questions(folder: Path, split: str) -> list[dict[str, Any]]:
    """Questions of a part, "train", "dev" or "test", whose page is known and that no benchmark shares."""
    lines = (folder / "finqa_qa.jsonl").read_text("utf-8").splitlines()
    every = (json.loads(line) for line in lines)
    return [
        one
        for one in every
        if one["split"] == split and one["link"] in SURE and not any(map(one.get, OVERLAPS))
    ]


def is_right(question: Mapping[str, Any], found: Derivation) -> bool:
    """Whether an answer equals what the gold program gives."""
    gold = str(question["exe_answer"])
    if gold in ("yes", "no"):
        return found.answer.lower().startswith(gold)
    value = found.exact if found.exact is not None else found.value
    return value is not None and any(round(value / scale, 5) == round(float(gold), 5) for scale in _SCALES)


def outcomes(folder: Path, split: str) -> Iterator[tuple[dict[str, Any], Derivation | None, bool]]:
    """Each question with its answer and whether it is right."""
    with gzip.open(folder / "finqa_corpus.jsonl.gz", "rt") as corpus:
        pages = {page["corpus_id"]: page for page in map(json.loads, corpus)}
    for question in track(read_questions(folder, split), "asking"):
        page = pages[question["corpus_id"]]
        grid = text_grid(page["text"])
        read = read_table(question["corpus_id"], {**page, "table": grid}) if grid else None
        found = answer(question["question"], *read) if read else None
        yield question, found, found is not None and is_right(question, found)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--split", default="test")
    parser.add_argument("--show", action="store_true", help="print each question that is not right")
    options = parser.parse_args()
    console = Console()
    counts: Counter[str] = Counter()
    for question, found, right in outcomes(options.folder, options.split):
        counts["right" if right else "wrong" if found else "not answered"] += 1
        if options.show and not right:
            told = f"{found.answer} = {found.exact} {found.formula}" if found else "-"
            console.print(question["question"], question["answer"], told, markup=False, soft_wrap=True)
    total = sum(counts.values())
    shares = ", ".join(
        f"{name} {counts[name] / total:.3f}" for name in ("right", "wrong", "not answered") if total
    )
    console.print(f"{total} questions: {shares}")


if __name__ == "__main__":
    main()
