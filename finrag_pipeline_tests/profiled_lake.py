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
        add_profile(found.lake, found.encoder, filing, place)


def add_profile(lake: Lake, encoder: Encoder, filing: str, place: int) -> None:
    """Write the identity of the filing at ``place`` of `COMPANIES` and the profiles of its pages."""
    partition = {"filing": filing}
    source = find_source(lake, filing)
    assert source is not None
    (row,) = describe_filing(Path(original_path(lake, source)), source).to_pylist()
    row |= {"company": COMPANIES[place], "form": "10-K", "fiscal_year": 2020 + place}
    lake.write("filings", pa.Table.from_pylist([row], schema=FILINGS_SCHEMA), f"row {place}", partition)
    facts = pa.table(
        {
            "page": [GOODWILL_PAGE] * 2,
            "statement": ["financial_position"] * 2,
            "scope": ["primary"] * 2,
            "line": ["Goodwill", None],
            "fiscal_year": [2020 + place] * 2,
        }
    )
    pages = lake.read("filing_pages", partition)
    tables = figures(filing, place + 1)
    lake.write("page_tables", tables, f"tables {place}", partition)
    lake.write("page_profiles", page_profiles(row, pages, tables, facts), f"profiles {place}", partition)
    lake.write("page_sentences", page_sentences(pages, encoder.embed), f"sentences {place}", partition)


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
