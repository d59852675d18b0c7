"""The indexed lake with what the page ranker reads besides: identities and profiles of pages."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.filings.describe import describe_filing
from finrag_pipeline.filings.originals import find_source, original_path
from finrag_pipeline.rankers.card import kept_folder
from finrag_pipeline.rankers.page_ranker import model
from finrag_pipeline.rankers.page_ranker.library import PageLibrary
from finrag_pipeline.rankers.page_ranker.model import RankingModel
from finrag_pipeline.rankers.page_ranker.page_sentences import page_sentences
from finrag_pipeline.rankers.page_ranker.profiles import page_profiles
from finrag_pipeline.rankers.page_ranker.training import card_of, page_examples
from finrag_pipeline.resolver.resolver import load_resolver
from finrag_pipeline.schemas import FILINGS as FILINGS_SCHEMA
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.indexed_lake import IndexedLake, figures

COMPANIES = ("Alder Corp", "O'Birch & Söhne", "Cedar Corp", "株式会社")
GOODWILL_PAGE = 1
"""Page of every filing that holds a balance sheet with goodwill."""


def add_profiles(found: IndexedLake) -> None:
    """Write identities of the filings and profiles of their pages."""
    for place, filing in enumerate(found.filings):
        partition = {"filing": filing}
        source = find_source(found.lake, filing)
        assert source is not None
        (row,) = describe_filing(Path(original_path(found.lake, source)), source).to_pylist()
        row |= {"company": COMPANIES[place], "form": "10-K", "fiscal_year": 2020 + place}
        found.lake.write(
            "filings", pa.Table.from_pylist([row], schema=FILINGS_SCHEMA), f"row {place}", partition
        )
        facts = pa.table(
            {
                "page": [GOODWILL_PAGE] * 2,
                "statement": ["financial_position"] * 2,
                "scope": ["primary"] * 2,
                "line": ["Goodwill", None],
                "fiscal_year": [2020 + place] * 2,
            }
        )
        pages = found.lake.read("filing_pages", partition)
        tables = figures(filing, place + 1)
        found.lake.write("page_tables", tables, f"tables {place}", partition)
        profiles = page_profiles(row, pages, tables, facts)
        found.lake.write("page_profiles", profiles, f"profiles {place}", partition)
        found.lake.write(
            "page_sentences", page_sentences(pages, found.encoder.embed), f"sentences {place}", partition
        )


_shared: list[IndexedLake] = []


def shared_profiled_lake(indexed: IndexedLake, factory: pytest.TempPathFactory) -> IndexedLake:
    """The profiled lake of this test session, without any ranker; for reading only."""
    if not _shared:
        _shared.append(copied(indexed, factory.mktemp("profiled")))
        add_profiles(_shared[0])
    return _shared[0]


def copied(found: IndexedLake, folder: Path) -> IndexedLake:
    """A copy of a lake that a test may change."""
    shutil.copytree(found.lake.root, folder / "lake", symlinks=True)
    settings = found.settings.model_copy(update={"lake": str(folder / "lake")})
    lake = Lake(settings.lake)
    return IndexedLake(settings, lake, Encoder(settings.encoder, lake), found.filings, found.questions)


def train(found: IndexedLake, questions: Sequence[dict], key: str, seed: int = 13) -> RankingModel:
    """Train a small ranker on ``questions`` and keep it as the one of the partition ``key``."""
    library = PageLibrary(found.lake)
    resolver = load_resolver(found.lake, found.filings)
    examples = page_examples(questions, found.encoder.embed_short, library, resolver, found.filings)
    wanted = f"{key} {seed}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model, "ROUNDS", 10)
        made = model.train_model(examples, seed, card_of(questions, wanted))
    made.save(found.lake, kept_folder("page_ranker", wanted))
    gain = made.importance()
    found.lake.write(
        "page_ranker", pa.table({"feature": list(gain), "gain": list(gain.values())}), wanted, {"fold": key}
    )
    return made
