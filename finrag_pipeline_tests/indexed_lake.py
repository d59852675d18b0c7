"""A lake of made-up filings that is chunked and indexed, without Dagster."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from finrag_pipeline.chunking.contextual import contextual_chunks
from finrag_pipeline.chunking.fixed import chunk_pages, parent_child_chunks
from finrag_pipeline.chunking.registry import CONTEXTUAL, ON_DEMAND, PARENT_CHILD
from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.filings.intake import accept
from finrag_pipeline.filings.originals import original_path
from finrag_pipeline.filings.pages import read_page_text
from finrag_pipeline.rankers.page_ranker.page_sentences import page_sentences
from finrag_pipeline.retrieval.chunk_index import index_chunks, open_chunk_index, to_index
from finrag_pipeline.settings import ChunkSettings, Settings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.tables.context import filing_context
from finrag_pipeline.tables.model import Box, Cell, Table
from finrag_pipeline.tables.normalise import normalise_tables
from finrag_pipeline_tests.small_filings import write_lines

FILINGS = ("ALDER_2021_10K", "O'Birch & Söhne 2022", "CEDAR_2023_10K", "株式会社_2020")
PAGES = 5
_WORDS = [
    "revenue", "income", "net", "cash", "flow", "tax", "capital", "expenditure", "assets", "debt",
    "operating", "margin", "dividend", "inventory", "segment", "risk", "goodwill", "$", "%", "million",
]  # fmt: skip


@dataclass(frozen=True)
class IndexedLake:
    """The lake, what made it, and questions on it.

    Attributes:
        settings: settings of the lake.
        lake: the lake.
        encoder: the encoder that indexed it.
        filings: identifiers of the filings, in the order of `FILINGS`.
        questions: rows as in ``benchmark_questions``, as far as retrieval reads them.
    """

    settings: Settings
    lake: Lake
    encoder: Encoder
    filings: tuple[str, ...]
    questions: list[dict]

    def variables(self) -> dict[str, str]:
        """Environment variables that say the same as `settings`, but for the lake, to the command line."""
        encoder, chunks = self.settings.encoder, self.settings.chunks
        return {
            "FINRAG_ENCODER__NAME": encoder.name,
            "FINRAG_ENCODER__BACKEND": encoder.backend,
            "FINRAG_CHUNKS__TOKENS": str(chunks.tokens),
            "FINRAG_CHUNKS__OVERLAP": str(chunks.overlap),
        }


def page_texts(seed: int) -> list[str]:
    """Texts of the pages of a filing; the last page of every filing is the same, as boilerplate is."""
    random = np.random.default_rng(seed)
    pages = [
        " ".join([*random.choice(_WORDS, size=int(random.integers(20, 150))), f"x{seed}y{page}z"])
        for page in range(PAGES - 1)
    ]
    return [*pages, "the company of the year " * 12]


def figures(filing: str, seed: int) -> pa.Table:
    """A table of three rows on page 1 of a filing, as rows of ``page_tables``."""
    cells = [
        Cell(0, 1, Box(0, 0, 0, 0), "2020", header=True),
        *(
            Cell(row, 0, Box(0, 0, 0, 0), label)
            for row, label in enumerate(("Net revenue", "Goodwill", "Tax"), 1)
        ),
        *(Cell(row, 1, Box(0, 0, 0, 0), f"{seed}{row},000") for row in (1, 2, 3)),
    ]
    table = Table(
        1, "words", Box(0, 0, 0, 0), 4, 2, tuple(cells), 1, (0, 0, 0, 0), "Figures", ("(in millions)",)
    )
    return normalise_tables(filing, [table], filing_context({"filing": filing}, []))


def write_filing(settings: Settings, lake: Lake, encoder: Encoder, name: str, seed: int, inbox: Path) -> str:
    """Bring a filing of page text into the lake and index it; returns its identifier."""
    rows = [{"doc": name, "page": n, "text": text} for n, text in enumerate(page_texts(seed))]
    source = accept(lake, write_lines(inbox / f"{name}.jsonl", rows))
    partition = {"filing": source.filing}
    pages = read_page_text(Path(original_path(lake, source)), source.filing)
    lake.write("filing_pages", pages, f"pages {seed}", partition)
    chunks = chunk_pages(pages, settings.chunks, encoder.tokens)
    lake.write("filing_chunks", chunks, f"chunks {seed}", partition)
    index_chunks(chunks, encoder, open_chunk_index(lake, encoder, settings))
    identity = {"filing": source.filing, "company": name.split("_")[0], "form": "10-K", "fiscal_year": 2020}
    contextual = contextual_chunks(
        pages, figures(source.filing, seed), identity, settings.contextual_chunks, encoder.tokens
    )
    lake.write("contextual_chunks", contextual, f"contextual chunks {seed}", partition)
    index_chunks(contextual, encoder, open_chunk_index(lake, encoder, settings, CONTEXTUAL))
    family = parent_child_chunks(
        pages, encoder.tokens, ChunkSettings(tokens=96, overlap=8), ChunkSettings(tokens=24, overlap=4)
    )
    lake.write(PARENT_CHILD.table, family, f"family {seed}", partition)
    index_chunks(
        to_index(family, PARENT_CHILD), encoder, open_chunk_index(lake, encoder, settings, PARENT_CHILD)
    )
    for asset in ON_DEMAND:
        lake.record(asset, source.filing, "materialised")
    lake.write("page_sentences", page_sentences(pages, encoder.embed_short), f"sentences {seed}", partition)
    return source.filing


def write_indexed_lake(settings: Settings) -> IndexedLake:
    """Write `FILINGS` and index them."""
    lake = Lake(settings.lake)
    encoder = Encoder(settings.encoder, lake)
    inbox = Path(lake.root).parent / "in"
    names = tuple(
        write_filing(settings, lake, encoder, name, seed, inbox) for seed, name in enumerate(FILINGS, start=1)
    )
    questions = [
        {
            "question_id": f"q{number}",
            "question": question,
            "filing": names[number % len(names)],
            "gold_pages": pages,
        }
        for number, (question, pages) in enumerate(
            [
                ("What was the net revenue of x1y0z?", [0]),
                ("goodwill and inventory, $ million", [1, 3]),
                ("capital expenditure capital expenditure x3y2z", [2]),
                ("the company of the year", [4]),
                ("zzz qqq unknown words", [0, 4]),
            ]
        )
    ]
    return IndexedLake(settings, lake, encoder, names, questions)
