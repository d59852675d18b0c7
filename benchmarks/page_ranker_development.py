"""The page ranker on questions it may be changed for: none of FinanceBench, none that it learns from.

Rankers learn from all questions of a lake with FinanceBench, one per seed. Rows with ``doc`` and ``page`` are
asked as they are, and with company and year. Of rows with ``facts``, a page proves a fact where a row prints
its value and period and shares a word with tag or question; zeros and facts without one are left out.
PageRec@5 is the share of facts that the first five pages prove.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track

from benchmarks.answers import read_questions
from benchmarks.page_ranker_ablation import CUTOFF, first_pages
from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.evaluation.intervals import cluster_bootstrap
from finrag_pipeline.rankers.page_ranker.candidates import read_candidates
from finrag_pipeline.rankers.page_ranker.library import PageLibrary
from finrag_pipeline.rankers.page_ranker.model import RankingModel, train_model
from finrag_pipeline.rankers.page_ranker.terms import terms
from finrag_pipeline.rankers.page_ranker.training import page_examples
from finrag_pipeline.resolver.resolver import load_resolver
from finrag_pipeline.retrieval.chunk_index import searchable_filings
from finrag_pipeline.settings import get_settings
from finrag_pipeline.statements.filing_rows import FilingRow, FilingRows
from finrag_pipeline.storage.lake import Lake

SEEDS = (17, 117, 217)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_DAYS_APART, _DAYS_OF_A_MONTH = 7, 365.25 / 12
Pages = frozenset[tuple[str, int]]


def proving_pages(fact: Mapping[str, Any], question: str, rows: Sequence[FilingRow]) -> Pages:
    """Pages of a filing that print a fact; none for zeros, which many rows print."""
    concept = fact["concept"].split(":")[-1]
    names = (concept, *(member.split(":")[-1] for member in fact["members"].values()))
    said = {*terms(question), *terms(fact.get("row") or ""), *terms(_CAMEL.sub(" ", " ".join(names)))}
    end = dt.date.fromisoformat(fact["end"])
    start = dt.date.fromisoformat(fact["start"]) if fact["start"] else None
    months = round(((end - start).days + 1) / _DAYS_OF_A_MONTH) if start else None
    return frozenset(
        (row.filing, row.page)
        for row in rows
        for value in row.values
        if fact["value"] and abs(abs(value.value) - abs(fact["value"])) <= 1e-6 * abs(fact["value"])
        if value.period_end and abs((value.period_end - end).days) <= _DAYS_APART
        if not (months and value.months) or months == value.months
        if concept == row.concept or said & {*terms(" ".join((*row.path, *row.columns, row.caption[:200])))}
    )


def read_asked(lake: Lake, path: Path) -> Iterator[tuple[str, str, str, list[Pages]]]:
    """Group, question, its filing, and for each of its facts the pages that prove it."""
    filings = {row["filing"]: row for row in lake.read_all("filings").to_pylist()}
    rows = FilingRows(lake)
    for raw in read_questions([path]):
        if "facts" in raw:
            pages = [proving_pages(fact, raw["question"], rows.of(fact["filing"])) for fact in raw["facts"]]
            if any(pages):
                yield path.stem, raw["question"], raw["filing"][0], [found for found in pages if found]
        else:
            doc, proofs = raw["doc"], [frozenset({(raw["doc"], raw["page"])})]
            year = filings[doc]["fiscal_year"] or filings[doc]["declared_year"]
            named = f"In {filings[doc]['company']}'s {year} filing: {raw['question']}"
            yield path.stem, raw["question"], doc, proofs
            yield f"{path.stem}, with company and year", named, doc, proofs


def train(lake: Lake, encoder: Encoder) -> list[RankingModel]:
    """A ranker for each seed, learned from all measured questions of a lake over their filings."""
    rows = [row for row in lake.read("benchmark_questions").to_pylist() if row["status"] == "measured"]
    known = sorted({row["filing"] for row in rows})
    library, resolver = PageLibrary(lake), load_resolver(lake, known)
    examples = page_examples(rows, encoder.embed_short, library, resolver, known)
    return [train_model(examples, seed, {}) for seed in track(SEEDS, "learning")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("learned", type=Path, help="lake with FinanceBench")
    parser.add_argument("--asked", nargs=2, action="append", required=True, metavar=("LAKE", "QUESTIONS"))
    parser.add_argument("--out", type=Path, help="JSON file that keeps PageRec of each question")
    parser.add_argument("--against", type=Path, help="such a file to compare with")
    options = parser.parse_args()
    encoder = Encoder(get_settings().encoder, Lake(options.learned))
    models = train(Lake(options.learned), encoder)
    found: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for folder, path in options.asked:
        lake = Lake(folder)
        known = searchable_filings(lake)
        library, resolver = PageLibrary(lake), load_resolver(lake, known)
        for group, question, filing, proofs in track(list(read_asked(lake, Path(path))), "asking"):
            candidates = read_candidates(question, encoder.embed_short, library, resolver, known)
            tops = [{*first_pages(model, candidates)} for model in models]
            proved = [bool(pages & top) for top in tops for pages in proofs]
            found[group].append((filing, float(np.mean(proved))))
    before = json.loads(options.against.read_text()) if options.against else {}
    for group, rows in found.items():
        own = np.array([value for _, value in rows])
        series = np.stack([own, own - [value for _, value in before.get(group, rows)]], 1)
        mean, low, high = cluster_bootstrap(series, [filing for filing, _ in rows], 5_000, 0.95, SEEDS[0])
        print(f"{group} ({len(rows)}): PageRec@{CUTOFF} {mean[0]:.3f} [{low[0]:.2f}, {high[0]:.2f}]")
        if before:
            print(f"  {mean[1]:+.3f} [{low[1]:+.3f}, {high[1]:+.3f}]")
    if options.out:
        options.out.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
