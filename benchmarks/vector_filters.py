"""LanceDB's filtered search against an exact scan of all vectors: every question, every kind of filter.

Questions are those of the active benchmark. Filters are those that systems use: filings the question names,
the gold filing, its gold pages, kinds of chunks, pages of the statements asked for, and their combinations.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.chunking.registry import CONTEXTUAL, FIXED, Chunking, get_chunking
from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.resolver.resolver import Resolver, load_resolver
from finrag_pipeline.retrieval.chunk_index import open_chunk_index, searchable_filings
from finrag_pipeline.retrieval.filters import (
    MOST_FILINGS,
    StatementPages,
    needed_statements,
    read_statement_pages,
)
from finrag_pipeline.settings import get_settings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.storage.vectors import VectorFilter

NAMES = (FIXED.name, CONTEXTUAL.name)
TOLERANCE = 1e-5
"""Scores this near to each other count as tied: LanceDB and NumPy add up in different orders."""


class ExactScan:
    """All rows of an index in memory.

    Args:
        table: columns ``unit_id``, ``filing``, ``page``, ``kind`` and ``vector`` of an index.
    """

    def __init__(self, table: pa.Table) -> None:
        self._names, self._units = _codes(table["unit_id"])
        self._filings, self._filing = _codes(table["filing"])
        self.kinds, self._kind = _codes(table["kind"])
        self._page = table["page"].to_numpy().astype(np.int64)
        flat = table["vector"].combine_chunks().flatten().to_numpy()
        self._vectors = flat.reshape(table.num_rows, -1)
        self.rows = table.num_rows

    def allowed(self, where: VectorFilter) -> np.ndarray:
        """Whether each row passes a filter; shape (rows,)."""
        kept = np.ones(self.rows, bool)
        if where.filings is not None:
            kept &= np.isin(
                self._filing, [n for n, name in enumerate(self._filings) if name in where.filings]
            )
        if where.pages is not None:
            kept &= np.isin(self._page, list(where.pages))
        if where.kinds is not None:
            kept &= np.isin(self._kind, [n for n, name in enumerate(self.kinds) if name in where.kinds])
        if where.locations is not None:
            found = np.zeros(self.rows, bool)
            for filing, page in where.locations:
                if filing in self._filings:
                    found |= (self._filing == self._filings.index(filing)) & (self._page == page)
            kept &= found
        return kept

    def scores(self, vector: np.ndarray) -> np.ndarray:
        """Cosine of each row; shape (rows,)."""
        return self._vectors @ vector.astype(np.float32)

    def units(self, scores: np.ndarray, where: VectorFilter) -> dict[str, float]:
        """Every unit that passes a filter, with the score of its best row."""
        kept = self.allowed(where)
        best = np.full(len(self._names), -np.inf)
        np.maximum.at(best, self._units[kept], scores[kept])
        return {
            self._names[place]: float(best[place]) for place in np.flatnonzero(np.isfinite(best)).tolist()
        }


def _codes(column: pa.ChunkedArray) -> tuple[list[str], np.ndarray]:
    """Distinct values of a column, and the place of each row's value among them."""
    encoded = pc.dictionary_encode(column.combine_chunks())
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy()


def differences(found: Sequence[Mapping[str, Any]], exact: Mapping[str, float], depth: int) -> list[str]:
    """What is wrong with a ranking, in words; nothing when it equals the scan.

    Args:
        found: results with ``unit_id`` and ``score``, best first.
        exact: exact score of every unit that may be returned.
        depth: how many were asked for.
    """
    names = [str(row["unit_id"]) for row in found]
    problems = []
    if len(names) != min(depth, len(exact)) or len(set(names)) != len(names):
        problems.append(f"{len(names)} units instead of {min(depth, len(exact))}")
    if outside := sorted(set(names) - set(exact)):
        return [*problems, f"{outside[0]} does not pass the filter"]
    expected = sorted(exact.values(), reverse=True)[: len(names)]
    for place, (row, score) in enumerate(zip(found, expected, strict=True)):
        own = exact[str(row["unit_id"])]
        if abs(own - row["score"]) > TOLERANCE or abs(own - score) > TOLERANCE:
            problems.append(f"place {place}: {row['unit_id']} with {row['score']:.6f}, expected {score:.6f}")
            break
    return problems


def filters(
    question: Mapping[str, Any], resolver: Resolver, statement_pages: StatementPages, kinds: Sequence[str]
) -> Iterator[tuple[str, VectorFilter]]:
    """Filters of a question by name; ``kinds`` are those of the index."""
    gold, pages = (str(question["filing"]),), tuple(question["gold_pages"])
    resolution = resolver.resolve(question["question"])
    named = resolution.allowed(MOST_FILINGS)
    statements = needed_statements(question["question"])
    years = [period.fiscal_year for period in resolution.periods if period.fiscal_year is not None]
    locations = tuple(statement_pages.locations(named, statements, years))
    yield "none", VectorFilter()
    yield "filing", VectorFilter(gold)
    yield "filings named", VectorFilter(named)
    yield "pages", VectorFilter(None, pages)
    yield "filing, pages", VectorFilter(gold, pages)
    yield "locations of statements", VectorFilter(locations=locations)
    yield "filings named, locations", VectorFilter(named, locations=locations)
    if len(kinds) > 1:
        for kind in kinds:
            yield "kind", VectorFilter(kinds=(kind,))
            yield "filing, kind", VectorFilter(gold, None, (kind,))
            yield "filing, pages, kind", VectorFilter(gold, pages, (kind,))


def compare(
    lake: Lake, chunking: Chunking, questions: Sequence[Mapping[str, Any]], encoder: Encoder
) -> tuple[Counter[str], list[str], int]:
    """Searches by filter, what differed, and the number of rows of the index."""
    import lancedb

    settings = get_settings()
    index = open_chunk_index(lake, encoder, settings, chunking)
    scan = ExactScan(lancedb.connect(lake.uri("lance")).open_table(index.name).to_arrow())
    depth, filings = settings.retrieval.depth, searchable_filings(lake)
    resolver, statement_pages = load_resolver(lake, filings), read_statement_pages(lake, filings)
    counts: Counter[str] = Counter()
    problems: list[str] = []
    for question in questions:
        vector = encoder.embed_short([question["question"]])[0]
        scores = scan.scores(vector)
        for name, where in filters(question, resolver, statement_pages, scan.kinds):
            counts[name] += 1
            found = index.search(vector, depth, where)
            wrong = differences(found, scan.units(scores, where), depth)
            problems += [f"{chunking.name}, {question['question_id']}, {name}: {text}" for text in wrong]
    return counts, problems, scan.rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, help="only the first ones")
    parser.add_argument("--chunkings", nargs="*", choices=NAMES, default=NAMES)
    options = parser.parse_args()
    settings = get_settings()
    lake = Lake(settings.lake)
    table = lake.read("benchmark_questions")
    questions = table.filter(pc.equal(table["status"], "measured")).to_pylist()[: options.questions]
    encoder = Encoder(settings.encoder, lake)
    failed = False
    for chunking in map(get_chunking, options.chunkings):
        start = time.perf_counter()
        counts, problems, rows = compare(lake, chunking, questions, encoder)
        for problem in problems:
            print(problem)
        seconds = time.perf_counter() - start
        print(f"{chunking.name}: {rows} vectors, {dict(counts)}")
        print(f"  {counts.total()} searches, {len(problems)} differences, {seconds:.0f} s")
        failed |= bool(problems)
    if failed:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
