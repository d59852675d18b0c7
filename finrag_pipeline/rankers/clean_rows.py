"""Rows of FinQA, TAT-QA and LOFin to learn from before the benchmark: only those that share nothing with it.

Every row carries flags of its overlap with FinanceBench (``fb_company``, ``fb_corpus_company``,
``fb_doc_overlap``, …). A row with any of them set is skipped and counted; a row that lacks ``fb_company``
is refused, because nobody could tell.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from finrag_pipeline.errors import BenchmarkError
from finrag_pipeline.rankers.pairs import Pair, Question, evidence_piece, split_inner
from finrag_pipeline.rankers.texts import PageTexts, Pieces
from finrag_pipeline.storage.fingerprints import file_sha256

FLAG = "fb_"
"""Beginning of the names of all flags of overlap."""

CERTAIN_LINKS = ("exact", "A", "B")
"""Links from a FinQA question to its page that are mostly right; the others are a coin toss."""


@dataclass(frozen=True)
class CleanRow:
    """A question and the page that answers it."""

    question_id: str
    question: str
    filing: str
    page_id: str


@dataclass(frozen=True)
class CleanRows:
    """Questions without any overlap, and the texts and filings of pages by their identifiers.

    Pages of questions that were ``skipped``, counted by reason, are left out.
    """

    rows: list[CleanRow]
    pages: dict[str, str]
    filing_of: dict[str, str]
    skipped: Counter[str]

    def of_filing(self) -> dict[str, list[str]]:
        """Pages of each filing."""
        found: dict[str, list[str]] = defaultdict(list)
        for page, filing in self.filing_of.items():
            found[filing].append(page)
        return found

    def without(self, filings: Collection[str]) -> CleanRows:
        """The rows and pages of all other filings."""
        filing_of = {page: filing for page, filing in self.filing_of.items() if filing not in filings}
        return CleanRows(
            [row for row in self.rows if row.filing not in filings],
            {page: text for page, text in self.pages.items() if page in filing_of},
            filing_of,
            self.skipped,
        )

    def apart_from(self, keys: Collection[str]) -> CleanRows:
        """The rows and pages of filings none of whose pages has one of the keys (`text_key`)."""
        return self.without(
            {self.filing_of[page] for page, text in self.pages.items() if text_key(text) in keys}
        )


def text_key(text: str) -> str:
    """What tells that two corpora hold the same page: the first 300 letters and digits of its text."""
    return _NO_WORD.sub("", text.casefold())[:300]


_NO_WORD = re.compile(r"\W+")


def clean_files(folder: Path) -> list[tuple[str, str]]:
    """Name and SHA-256 of the files with clean rows below ``folder``."""
    files = sorted(path for name in ("finqa", "tatqa", "lofin") for path in (folder / name).glob("*.jsonl*"))
    return [(path.name, file_sha256(path)) for path in files]


def is_clean(row: Mapping[str, Any], where: str) -> bool:
    """Whether no flag of overlap is set.

    Raises:
        BenchmarkError: the row has no flags.
    """
    if f"{FLAG}company" not in row:
        raise BenchmarkError(
            f"A row of {where} does not say whether it overlaps with the benchmark.",
            f"Give every row the field {FLAG}company, empty when it does not.",
        )
    return not any(value for name, value in row.items() if name.startswith(FLAG))


def read_clean_rows(folder: Path) -> CleanRows:
    """Questions of ``finqa``, ``tatqa`` and ``lofin`` below ``folder`` that share nothing with FinanceBench.

    LOFin's questions are self-contained rewrites of FinQA's and take their page.

    Raises:
        BenchmarkError: there is nothing to read, a file is damaged, or a row has no flags of overlap.
    """
    skipped: Counter[str] = Counter()
    rows: list[CleanRow] = []
    texts: dict[str, str] = {}
    dirty: set[str] = set()
    for name in ("finqa", "tatqa"):
        for row in _lines(folder / name / f"{name}_corpus.jsonl.gz"):
            texts[row["corpus_id"]] = row["text"]

    def keep(row: Mapping[str, Any], where: str, filing: str, usable: bool) -> None:
        if not is_clean(row, where):
            skipped["overlap"] += 1
            dirty.add(row["corpus_id"])
        elif not usable:
            skipped["uncertain link"] += 1
        elif row["corpus_id"] not in texts:
            skipped["no page"] += 1
        else:
            rows.append(CleanRow(row["qid"], row["question"], filing, row["corpus_id"]))

    for row in _lines(folder / "finqa" / "finqa_qa.jsonl"):
        keep(row, "finqa", row["page_file"].rsplit("/", 1)[0], row["link"] in CERTAIN_LINKS)
    by_id = {row.question_id: row for row in rows}
    for name in ("tatqa_official_dev_test", "tatqa_reconstructed"):
        for row in _lines(folder / "tatqa" / f"{name}.jsonl"):
            margin = row.get("link_margin", 1.0)  # the official rows name their page themselves
            keep(row, name, row["doc_name"] or row["corpus_id"], margin is not None and margin > 0)
    for row in _lines(folder / "lofin" / "lofin_test.jsonl"):
        if not is_clean(row, "lofin") or row["source"] == "financebench":
            skipped["overlap"] += 1
        elif (known := by_id.get(row["qid"])) is None:
            skipped["no page"] += 1
        else:
            rows.append(CleanRow(f"lofin {row['qid']}", row["question"], known.filing, known.page_id))
    # A page may be flagged by one question and not by another.
    clean = [row for row in rows if row.page_id not in dirty]
    skipped["overlap"] += len(rows) - len(clean)
    if not clean:
        raise BenchmarkError(f"{folder} holds no clean rows.", "Give the folder above finqa, tatqa, lofin.")
    # Some questions of a page name its filing, and others do not.
    filing_of = {row.page_id: row.page_id for row in clean}
    filing_of.update({row.page_id: row.filing for row in clean if row.filing != row.page_id})
    clean = [replace(row, filing=filing_of[row.page_id]) for row in clean]
    return CleanRows(clean, {page: texts[page] for page in filing_of}, filing_of, skipped)


def drawn_rows(clean: CleanRows, count: int | None, seed: int) -> CleanRows:
    """``count`` rows drawn by the seed, with the pages of their filings; all when None."""
    if count is None or count >= len(clean.rows):
        return clean
    places = np.random.default_rng(seed).permutation(len(clean.rows))[:count]
    rows = [clean.rows[n] for n in sorted(places.tolist())]
    others = set(clean.filing_of.values()) - {row.filing for row in rows}
    return replace(clean.without(others), rows=rows)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    if not path.is_file():
        return
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            try:
                row = json.loads(line)
                if not isinstance(row, dict):
                    raise ValueError("not an object")
            except ValueError as error:
                raise BenchmarkError(
                    f"{path.name} line {number} is damaged: {error}.", "Copy the file again."
                ) from error
            yield row


def clean_pairs(clean: CleanRows, texts: PageTexts, negatives: int, seed: int) -> list[Pair]:
    """Pairs of question and page, each with so many hard negatives.

    They are other pages of the filing, or pages of any filing, drawn by the seed, where it has no other.
    """
    pieces = {page: texts.pieces(text) for page, text in clean.pages.items()}
    of_filing, all_pages = clean.of_filing(), sorted(pieces)
    random = np.random.default_rng(seed)
    pairs = []
    for row in clean.rows:
        if not pieces[row.page_id]:
            continue
        others = [page for page in of_filing[row.filing] if page != row.page_id]
        if not others:
            drawn = random.choice(len(all_pages), size=min(8, len(all_pages)), replace=False)
            others = [all_pages[n] for n in drawn if all_pages[n] != row.page_id]
        positive = evidence_piece(pieces[row.page_id], row.question)
        found = tuple(dict.fromkeys(p for page in others for p in pieces[page] if p != positive))
        if found or not negatives:
            of_kinds, seen = (found,) * negatives, frozenset({row.filing})
            pairs.append(Pair(row.question_id, row.question, row.filing, positive, of_kinds, seen))
    return pairs


def split_rows(
    clean: CleanRows, texts: PageTexts, negatives: int, seed: int, validating: int
) -> tuple[list[Pair], list[Question], dict[str, list[Pieces]]]:
    """Pairs to learn from, as `clean_pairs`; questions of other filings; and the pages of those filings.

    About ``validating`` questions are of other filings, and a tenth of all at most.
    """
    share = min(0.1, validating / len(clean.rows))
    rows = [{"filing": row.filing} for row in clean.rows]
    held = {str(row["filing"]) for row in split_inner(rows, share, seed)[1]}
    of_filing = clean.of_filing()
    pages = {name: [texts.pieces(clean.pages[page]) for page in of_filing[name]] for name in sorted(held)}
    questions: list[Question] = [
        {
            "question": row.question,
            "filing": row.filing,
            "gold_pages": [of_filing[row.filing].index(row.page_id)],
        }
        for row in clean.rows
        if row.filing in held
    ]
    return clean_pairs(clean.without(held), texts, negatives, seed), questions, pages
