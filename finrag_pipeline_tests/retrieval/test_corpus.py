from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.errors import LakeError
from finrag_pipeline.retrieval.bm25 import RankBm25
from finrag_pipeline.retrieval.chunk_index import index_chunks, open_chunk_index, searchable_filings
from finrag_pipeline.retrieval.component import Inputs, Query, no_more
from finrag_pipeline.retrieval.corpus import Corpus
from finrag_pipeline.retrieval.first_stages import Bm25
from finrag_pipeline.retrieval.spaces import Scope
from finrag_pipeline.retrieval.systems import get_system
from finrag_pipeline.schemas import FILING_CHUNKS
from finrag_pipeline.settings import Bm25Settings, EncoderSettings, Settings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.indexed_lake import IndexedLake, write_filing


@pytest.fixture(scope="module")
def corpus(indexed: IndexedLake) -> Corpus:
    return Corpus(indexed.lake, indexed.filings, indexed.settings, indexed.encoder)


@pytest.fixture
def small(settings: Settings, tmp_path: Path) -> tuple[Settings, Lake, Encoder]:
    """A lake of its own with two filings."""
    lake = Lake(settings.lake)
    encoder = Encoder(settings.encoder, lake)
    for seed, name in enumerate(("A", "B"), start=1):
        write_filing(settings, lake, encoder, name, seed, tmp_path / "in")
    return settings, lake, encoder


class TestChunks:
    def test_by_filing_page_and_ordinal(self, corpus: Corpus, indexed: IndexedLake) -> None:
        keys = [(row["filing"], row["page"], row["ordinal"]) for row in corpus.chunks.to_pylist()]
        assert keys == sorted(keys)
        assert {key[0] for key in keys} == set(indexed.filings)
        assert corpus.chunk_ids == corpus.chunks["chunk_id"].to_pylist()
        assert corpus.filings == tuple(sorted(indexed.filings))
        assert searchable_filings(indexed.lake) == corpus.filings

    def test_texts(self, corpus: Corpus) -> None:
        for row in corpus.chunks.to_pylist()[::7]:
            assert corpus.text(row["chunk_id"]) == row["text"]

    def test_positions(self, corpus: Corpus, indexed: IndexedLake) -> None:
        assert corpus.positions(Scope()) is None
        name = indexed.filings[1]
        for filings, pages in (
            ([name], None),
            ([name], [1, 3]),
            ([name, indexed.filings[3], name], [0]),
            (["no such filing"], None),
            ([], None),
            ([name], []),
        ):
            expected = [
                n
                for n, row in enumerate(corpus.chunks.to_pylist())
                if row["filing"] in filings and (pages is None or row["page"] in pages)
            ]
            found = corpus.positions(Scope(tuple(filings), None if pages is None else tuple(pages)))
            assert found is not None
            assert found.tolist() == expected

    def test_a_filing_without_chunks_is_named(self, indexed: IndexedLake) -> None:
        corpus = Corpus(indexed.lake, ["ALDER_2021_10K", "NOPE_2020_10K"], indexed.settings, indexed.encoder)
        with pytest.raises(LakeError, match="1 filings have no chunks: NOPE_2020_10K"):
            _ = corpus.chunks


class TestIndexes:
    def test_bm25_is_kept_under_the_corpus_and_read_again(
        self, small: tuple[Settings, Lake, Encoder]
    ) -> None:
        settings, lake, encoder = small
        built = Corpus(lake, ["A", "B"], settings, encoder).bm25
        ((folder),) = Path(lake.path("bm25")).iterdir()
        made = (folder / "bm25.npz").stat().st_mtime_ns
        again = Corpus(lake, ["B", "A", "A"], settings, encoder).bm25
        assert (folder / "bm25.npz").stat().st_mtime_ns == made
        np.testing.assert_array_equal(again.scores("net revenue"), built.scores("net revenue"))
        Corpus(lake, ["A"], settings, encoder).bm25  # noqa: B018 - another corpus has its own
        assert len(list(Path(lake.path("bm25")).iterdir())) == 2

    def test_the_package_rank_bm25_ranks_alike_and_keeps_nothing(
        self, small: tuple[Settings, Lake, Encoder]
    ) -> None:
        settings, lake, encoder = small
        package = settings.model_copy(update={"bm25": Bm25Settings(backend="rank_bm25")})
        ours, theirs = (Corpus(lake, ["A", "B"], one, encoder) for one in (settings, package))
        assert isinstance(theirs.bm25, RankBm25) and not Path(lake.path("bm25")).exists()
        for text in ("net revenue", "capital expenditure of 2022", "goodwill"):
            query = Query(text, text, ())
            mine, other = (Bm25().search(query, Inputs(one), Scope(), 10, no_more) for one in (ours, theirs))
            assert [hit.chunk_id for hit in mine] == [hit.chunk_id for hit in other]
            assert [hit.score for hit in mine] == pytest.approx([hit.score for hit in other], rel=1e-4)
        wanted = {get_system("bm25").fingerprint(Inputs(corpus)) for corpus in (ours, theirs)}
        assert len(wanted) == 2, "runs of one backend are not taken for the other's"

    @pytest.mark.parametrize("name", ["bm25.npz", "vocabulary.json"])
    def test_a_damaged_bm25_index_is_made_again(
        self, small: tuple[Settings, Lake, Encoder], name: str
    ) -> None:
        settings, lake, encoder = small
        scores = Corpus(lake, ["A", "B"], settings, encoder).bm25.scores("net revenue")
        ((folder),) = Path(lake.path("bm25")).iterdir()
        (folder / name).write_bytes(b"PK\x03\x04 damaged")
        np.testing.assert_array_equal(
            Corpus(lake, ["A", "B"], settings, encoder).bm25.scores("net revenue"), scores
        )
        np.testing.assert_array_equal(
            Corpus(lake, ["A", "B"], settings, encoder).bm25.scores("net revenue"), scores
        )

    def test_the_fingerprint_follows_the_chunks(self, small: tuple[Settings, Lake, Encoder]) -> None:
        settings, lake, encoder = small
        before = Corpus(lake, ["A", "B"], settings, encoder).fingerprint
        assert Corpus(lake, ["B", "A"], settings, encoder).fingerprint == before
        assert Corpus(lake, ["A"], settings, encoder).fingerprint != before
        lake.write("filing_chunks", lake.read("filing_chunks", {"filing": "A"}), "new", {"filing": "A"})
        assert Corpus(lake, ["A", "B"], settings, encoder).fingerprint != before

    def test_a_filing_that_is_not_indexed_is_named(self, small: tuple[Settings, Lake, Encoder]) -> None:
        settings, lake, encoder = small
        open_chunk_index(lake, encoder, settings).remove(["B"])
        with pytest.raises(LakeError, match="1 filings are not in the vector index: B"):
            _ = Corpus(lake, ["A", "B"], settings, encoder).vectors

    def test_searches_are_restricted_as_soon_as_the_index_holds_other_filings(
        self, small: tuple[Settings, Lake, Encoder], tmp_path: Path
    ) -> None:
        settings, lake, encoder = small
        both, one = (Corpus(lake, names, settings, encoder) for names in (["A", "B"], ["A"]))
        assert both.indexed_filings() is None
        assert one.indexed_filings() == ("A",)
        write_filing(settings, lake, encoder, "C", 3, tmp_path / "in")
        assert both.indexed_filings() == ("A", "B"), "another run has added a filing meanwhile"


class TestIndexing:
    def test_max_pooling_keeps_every_window(self, small: tuple[Settings, Lake, Encoder]) -> None:
        settings, lake, encoder = small
        chunks = lake.read("filing_chunks", {"filing": "A"})
        windows = sum(len(encoder.windows(text)) for text in chunks["text"].to_pylist())
        index = open_chunk_index(lake, encoder, settings)
        assert windows > chunks.num_rows
        assert index.count("A") == windows
        logged: list[str] = []
        assert index_chunks(chunks, encoder, index, logged.append) == (windows, 0), (
            "nothing is embedded again"
        )
        assert logged == []

    def test_mean_pooling_keeps_one_vector_per_chunk_in_a_table_of_its_own(
        self, small: tuple[Settings, Lake, Encoder], tiny_encoder_settings: EncoderSettings
    ) -> None:
        settings, lake, _ = small
        mean = settings.model_copy(
            update={"encoder": tiny_encoder_settings.model_copy(update={"pooling": "mean"})}
        )
        encoder = Encoder(mean.encoder, lake)
        index = open_chunk_index(lake, encoder, mean)
        assert not index.exists()
        chunks = lake.read("filing_chunks", {"filing": "A"})
        assert index_chunks(chunks, encoder, index) == (chunks.num_rows, 0)
        table = index._open().to_arrow()
        vectors = dict(zip(table["unit_id"].to_pylist(), table["vector"].to_pylist(), strict=True))
        for chunk_id, text in zip(chunks["chunk_id"].to_pylist(), chunks["text"].to_pylist(), strict=True):
            expected = encoder.embed(encoder.windows(text)).mean(axis=0)
            np.testing.assert_allclose(vectors[chunk_id], expected / np.linalg.norm(expected), atol=1e-6)

    def test_other_chunks_have_another_table(self, small: tuple[Settings, Lake, Encoder]) -> None:
        settings, lake, encoder = small
        other = settings.model_copy(update={"chunks": settings.chunks.model_copy(update={"overlap": 0})})
        assert open_chunk_index(lake, encoder, other).name != open_chunk_index(lake, encoder, settings).name

    def test_a_long_embedding_tells_how_far_it_is(self, settings: Settings, lake: Lake) -> None:
        encoder = Encoder(settings.encoder, lake)
        rows = [
            {
                "chunk_id": f"A/p{n}/c0",
                "filing": "A",
                "page": n,
                "ordinal": 0,
                "kind": "text",
                "text": f"net revenue {n}",
                "tokens": 4,
            }
            for n in range(1100)
        ]
        chunks = FILING_CHUNKS.empty_table().from_pylist(rows, FILING_CHUNKS)
        logged: list[str] = []
        written = index_chunks(chunks, encoder, open_chunk_index(lake, encoder, settings), logged.append)
        assert written == (1100, 1100)
        assert logged
        assert all(text.endswith("of 1100 windows") for text in logged)

    def test_no_chunks_are_an_error(self, settings: Settings, lake: Lake) -> None:
        encoder = Encoder(settings.encoder, lake)
        with pytest.raises(LakeError, match="no chunks to index"):
            index_chunks(FILING_CHUNKS.empty_table(), encoder, open_chunk_index(lake, encoder, settings))
