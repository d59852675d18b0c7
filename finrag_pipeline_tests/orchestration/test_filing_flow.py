"""One filing from its original to search: what is made, what is not made twice, how it fails."""

from __future__ import annotations

import os
import time
from dataclasses import asdict
from pathlib import Path

import dagster as dg
import pytest

from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.errors import FilingError, UsageError
from finrag_pipeline.filings import pages
from finrag_pipeline.filings.originals import get_source, original_path
from finrag_pipeline.orchestration.ahead import make_parts
from finrag_pipeline.orchestration.lineage import stale_filings
from finrag_pipeline.orchestration.runs import backfill
from finrag_pipeline.retrieval.chunk_index import open_chunk_index, searchable_filings
from finrag_pipeline.schemas import PER_FILING
from finrag_pipeline.schemas.catalogue import INDEX_FILING
from finrag_pipeline.services.filings import list_filings
from finrag_pipeline.storage.fingerprints import file_sha256
from finrag_pipeline_tests import small_filings
from finrag_pipeline_tests.orchestration.conftest import Pipeline, caches, failure_text, made

pytestmark = pytest.mark.slow


def vectors(pipeline: Pipeline, filing: str) -> int:
    encoder = Encoder(pipeline.settings.encoder, pipeline.lake)
    return open_chunk_index(pipeline.lake, encoder, pipeline.settings).count(filing)


def test_a_new_filing_becomes_its_assets_with_metadata(pipeline: Pipeline, tmp_path: Path) -> None:
    filing = pipeline.accept(small_filings.annual_report(tmp_path / "ALDER_2021_10K.pdf", "Alder Corp", 2021))
    result = pipeline.index(filing)

    assert result.success
    found = made(result)
    assert set(found) == set(PER_FILING)
    for asset in found.values():
        assert asset.partition == filing
        assert asset.metadata["cache"] == "miss" and asset.metadata["cache_hits"] == 0
        assert asset.metadata["seconds"] > 0
        assert asset.metadata["rows"] == asset.metadata["dagster/partition_row_count"]
        assert asset.metadata["fingerprint"] == asset.version
    assert found["filings"].metadata["pages"] == found["filing_pages"].metadata["rows"] == 3
    assert found["filings"].metadata["form"] == "10-K"
    assert found["filing_pages"].metadata["words"] > 50
    assert found["filing_chunks"].metadata["longest_chunk_tokens"] <= pipeline.settings.chunks.tokens
    assert vectors(pipeline, filing) == 0, "those of chunks are made on demand"
    indexed = made(pipeline.index_chunks(filing))["chunk_index"]
    assert indexed.metadata["vectors"] == vectors(pipeline, filing) == 3
    assert indexed.metadata["embedded"] == 3
    checks = {
        f"{e.asset_key.to_user_string()}:{e.check_name}": e.passed
        for e in result.get_asset_check_evaluations()
    }
    assert checks == {
        "filings:readable": True,
        "filings:identity_agrees": True,
        "filing_pages:has_pages": True,
        "filing_pages:text_layer": True,
        "filing_pages:within_bounds": True,
        "filing_chunks:within_token_limit": True,
        "filing_chunks:not_empty": True,
        "page_tables:values_have_a_scale": True,
        "xbrl_facts:read_as_tagged": True,
        "statement_facts:primary_statements_found": False,
        "statement_facts:balance_sheet_balances": True,
        "statement_facts:identities_hold": True,
        "statement_facts:subtotals_add_up": True,
    }
    for asset in PER_FILING:
        entry = pipeline.lake.ledger_entry(asset, filing)
        assert entry and entry["outcome"] == "materialised"
        assert (entry["run_id"], entry["fingerprint"]) == (result.run_id, found[asset].version)
        assert entry["rows"] == found[asset].metadata["rows"]


def test_what_another_process_made_ahead_is_noted_as_made(pipeline: Pipeline, tmp_path: Path) -> None:
    filing = pipeline.accept(small_filings.annual_report(tmp_path / "ALDER_2021_10K.pdf", "Alder Corp", 2021))
    values, ahead = pipeline.settings.model_dump(mode="json", exclude_none=True), ["filings", "filing_pages"]
    make_parts(values, INDEX_FILING, filing, {}, ahead)
    entries = [pipeline.lake.ledger_entry(asset, filing) or {} for asset in ahead]
    assert [one["outcome"] for one in entries] == ["made_ahead"] * 2
    found = made(pipeline.index(filing))
    for asset, before in zip(ahead, entries, strict=True):
        entry = pipeline.lake.ledger_entry(asset, filing) or {}
        assert (entry["outcome"], entry["seconds"]) == ("materialised", before["seconds"])
        assert found[asset].metadata["cache"] == "miss" and before["seconds"] > 0
    pipeline.index(filing)
    assert {(pipeline.lake.ledger_entry(asset, filing) or {})["outcome"] for asset in ahead} == {"cache_hit"}


def test_what_is_fresh_is_not_made_again_and_what_changed_is(pipeline: Pipeline, tmp_path: Path) -> None:
    path = small_filings.annual_report(tmp_path / "ALDER_2021_10K.pdf", "Alder Corp", 2021)
    filing = pipeline.accept(path)
    first = pipeline.index(filing)
    pipeline.index_chunks(filing)

    again = pipeline.index(filing)
    assert caches(again) == dict.fromkeys(PER_FILING, "hit")
    assert {a: m.version for a, m in made(again).items()} == {a: m.version for a, m in made(first).items()}
    assert made(pipeline.index_chunks(filing))["chunk_index"].metadata["cache"] == "hit"

    # A shorter chunk changes chunks and vectors; the pages stay.
    shorter = pipeline.configured(
        chunks=pipeline.settings.chunks.model_copy(update={"tokens": 24, "overlap": 4})
    )
    rechunked = shorter.index(filing)
    assert rechunked.success
    assert caches(rechunked) == {
        "filings": "hit",
        "filing_pages": "hit",
        "filing_chunks": "miss",
        # Tables do not depend on the length of the chunks.
        "page_tables": "hit",
        "xbrl_facts": "hit",
        "statement_facts": "hit",
        "page_profiles": "hit",
        "page_sentences": "hit",
    }
    assert made(rechunked)["filing_chunks"].metadata["longest_chunk_tokens"] <= 24
    assert made(rechunked)["filing_chunks"].metadata["rows"] > made(first)["filing_chunks"].metadata["rows"]
    assert made(shorter.index_chunks(filing))["chunk_index"].metadata["cache"] == "miss"

    # And back: the lake holds one chunking at a time, the vectors come from the cache.
    back = pipeline.index(filing)
    assert made(back)["filing_chunks"].version == made(first)["filing_chunks"].version
    assert made(pipeline.index_chunks(filing))["chunk_index"].metadata["embedded"] == 0

    # Another file under the same name changes everything.
    small_filings.annual_report(path, "Alder Corp", 2021, pages=4)
    assert pipeline.accept(path) == filing
    changed = pipeline.index(filing)
    assert changed.success
    assert caches(changed) == dict.fromkeys(PER_FILING, "miss")
    assert not {m.version for m in made(changed).values()} & {m.version for m in made(first).values()}
    embedded = made(pipeline.index_chunks(filing))["chunk_index"].metadata["embedded"]
    assert embedded == 1, "three of the four pages are known texts"
    assert vectors(pipeline, filing) == 4


BROKEN = {
    "EMPTY": (small_filings.zero_bytes, "is empty (0 bytes).", "Download or export the filing again."),
    "NO_PDF": (small_filings.not_a_pdf, "is not a PDF.", "Convert it to PDF"),
    "TRUNCATED": (small_filings.truncated, "is truncated", "Download or export the filing again."),
    "ENCRYPTED": (small_filings.encrypted, "is encrypted", "Save it without a password"),
}


def test_files_that_cannot_be_read_fail_their_own_runs_and_say_why(
    pipeline: Pipeline, tmp_path: Path
) -> None:
    for name, (make, told, remedy) in BROKEN.items():
        filing = pipeline.accept(make(tmp_path / f"{name}.pdf"))
        result, reason = pipeline.index(filing), f"{name}.pdf {told}"

        assert not result.success
        assert reason in failure_text(result) and remedy in failure_text(result)
        entry = pipeline.lake.ledger_entry("filings", filing)
        assert entry and entry["outcome"] == "failed" and entry["run_id"] == result.run_id
        assert entry["error"].startswith(reason.rstrip(".")) and remedy.rstrip(".") in entry["remedy"]
        (row,) = pipeline.lake.read("filings", {"filing": filing}).to_pylist()
        assert row["status"] == "failed"
        assert row["reason"] == entry["error"] and row["remedy"] == entry["remedy"]
        assert not set(made(result)) - {"filings"}, "nothing may be made from a file that cannot be read"
    assert pipeline.lake.partitions("filing_pages") == []

    # Others go on.
    sound = pipeline.accept(small_filings.annual_report(tmp_path / "BIRCH_2022_10K.pdf", "Birch Corp", 2022))
    assert pipeline.index(sound).success


def test_a_scan_fails_at_its_pages_and_a_readable_version_mends_it(
    pipeline: Pipeline, tmp_path: Path
) -> None:
    path = small_filings.scanned(tmp_path / "Our annual report (final).pdf")
    filing = pipeline.accept(path)
    result = pipeline.index(filing)

    assert not result.success
    assert list(made(result)) == ["filings"], "its identity is kept: the file itself is sound"
    text = failure_text(result)
    assert path.name in text, "the lake keeps originals under names of its own; people know the one they gave"
    assert "no text layer" in text and "ocrmypdf" in text
    entry = pipeline.lake.ledger_entry("filing_pages", filing)
    assert entry and entry["outcome"] == "failed" and "no text layer" in entry["error"]
    assert "optical character recognition" in entry["remedy"]
    (row,) = pipeline.lake.read("filings", {"filing": filing}).to_pylist()
    assert row["status"] == "ok" and row["pages"] == 2

    small_filings.annual_report(path, "Readable Corp", 2020)
    pipeline.accept(path)
    assert pipeline.index(filing).success
    entry = pipeline.lake.ledger_entry("filing_pages", filing)
    assert entry and entry["outcome"] == "materialised" and entry["error"] is None


def test_a_sound_filing_stays_when_a_broken_file_of_its_name_comes(
    pipeline: Pipeline, tmp_path: Path, inbox: Path
) -> None:
    path = small_filings.annual_report(tmp_path / "ALDER_2021_10K.pdf", "Alder Corp", 2021)
    filing = pipeline.accept(path)
    assert pipeline.index(filing).success
    pipeline.index_chunks(filing)
    tables = ("filings", "filing_pages", "filing_chunks", "page_tables", "page_profiles")
    before = {table: pipeline.lake.read(table, {"filing": filing}) for table in tables}
    original = Path(original_path(pipeline.lake, get_source(pipeline.lake, filing)))
    contents = original.read_bytes()

    def stands() -> None:
        """The filing is what it was, and the refusal can be looked up."""
        assert original.read_bytes() == contents
        for table, rows in before.items():
            assert pipeline.lake.read(table, {"filing": filing}) == rows
        assert searchable_filings(pipeline.lake) == (filing,) and vectors(pipeline, filing) == 3
        (listed,) = list_filings(pipeline.lake, failed=True)
        assert listed["filing"] == filing and listed["status"] == "failed"
        assert listed["reason"].startswith("ALDER_2021_10K.pdf is truncated: its end is missing.")
        assert "the version that the lake holds stays" in listed["reason"] and listed["remedy"]

    broken = small_filings.truncated(inbox / path.name)
    os.utime(broken, (time.time() - 120,) * 2)
    result = pipeline.index(filing)
    assert not result.success and "is truncated" in failure_text(result)
    assert broken.exists(), "a refused file stays where people find it"
    stands()
    broken.unlink()
    with pytest.raises(FilingError, match="is truncated"):
        pipeline.accept(small_filings.truncated(path))
    stands()

    # The sound file once more: nothing is made, and the note goes.
    path.write_bytes(contents)
    assert pipeline.accept(path) == filing
    assert stale_filings(
        pipeline.lake, pipeline.settings, [get_source(pipeline.lake, filing)], pipeline.instance
    ) == [filing]
    assert caches(pipeline.index(filing)) == dict.fromkeys(PER_FILING, "hit")
    assert list_filings(pipeline.lake, failed=True) == []

    # A better one takes its place, and only then the earlier original goes.
    pipeline.accept(small_filings.annual_report(path, "Alder Corp", 2021, pages=4))
    assert original.exists()
    assert pipeline.index(filing).success
    assert not original.exists()
    assert pipeline.lake.read("filing_pages", {"filing": filing}).num_rows == 4


def test_a_filing_that_a_newer_reader_cannot_read_any_more_stays(
    pipeline: Pipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = small_filings.annual_report(tmp_path / "ALDER_2021_10K.pdf", "Alder Corp", 2021)
    filing = pipeline.accept(path)
    readers = [dg.AssetKey("filings"), dg.AssetKey("filing_pages")]
    assert pipeline.run("index_filing", partition_key=filing, asset_selection=readers).success
    before = pipeline.lake.read("filings", {"filing": filing})
    source = get_source(pipeline.lake, filing)
    unreadable = small_filings.truncated(Path(original_path(pipeline.lake, source)))
    monkeypatch.setattr(pages, "reader_version", lambda: "a newer one")
    damaged = pipeline.run("index_filing", partition_key=filing, asset_selection=readers)
    assert not damaged.success and "is not as it came" in failure_text(damaged)
    known = asdict(source) | {"sha256": file_sha256(unreadable)}
    pipeline.lake.write_json(pipeline.lake.path("filings", filing, "source.json"), known)
    result = pipeline.run("index_filing", partition_key=filing, asset_selection=readers)
    assert not result.success and "ALDER_2021_10K.pdf is truncated" in failure_text(result)
    assert pipeline.lake.read("filings", {"filing": filing}) == before
    assert pipeline.lake.info("filing_pages", {"filing": filing}) is not None


def test_a_damaged_part_is_made_again(pipeline: Pipeline, tmp_path: Path) -> None:
    filing = pipeline.accept(small_filings.annual_report(tmp_path / "ALDER_2021_10K.pdf", "Alder Corp", 2021))
    first = pipeline.index(filing)
    part = Path(pipeline.lake.part_path("filing_pages", {"filing": filing}))
    part.write_bytes(part.read_bytes()[:-40])

    again = pipeline.index(filing)
    assert again.success
    assert caches(again) == {**dict.fromkeys(PER_FILING, "hit"), "filing_pages": "miss"}
    assert made(again)["filing_pages"].version == made(first)["filing_pages"].version
    # What is as it was is no news: the filing is searched although its chunks are older than its pages.
    entry = pipeline.lake.ledger_entry("filing_pages", filing)
    assert entry and entry["outcome"] == "made_again"


def test_a_filing_that_the_lake_does_not_hold_says_what_to_do(pipeline: Pipeline) -> None:
    pipeline.instance.add_dynamic_partitions("filings", ["NOBODY_2020_10K"])
    result = pipeline.index("NOBODY_2020_10K")
    assert not result.success
    assert "The lake holds no original of 'NOBODY_2020_10K'." in failure_text(result)
    assert "finrag ingest" in failure_text(result)
    entry = pipeline.lake.ledger_entry("filings", "NOBODY_2020_10K")
    assert entry and entry["outcome"] == "failed" and "no original" in entry["error"]


def test_several_filings_in_one_run_each_fail_alone(pipeline: Pipeline, tmp_path: Path) -> None:
    """A range of partitions in one run: the sound ones are made, the failure names the others."""
    sound = pipeline.accept(small_filings.annual_report(tmp_path / "ALDER_2021_10K.pdf", "Alder Corp", 2021))
    scan = pipeline.accept(small_filings.scanned(tmp_path / "BAD_2021_10K.pdf"))
    last = pipeline.accept(small_filings.annual_report(tmp_path / "CEDAR_2023_10K.pdf", "Cedar Corp", 2023))
    for filing in (sound, scan, last):
        pipeline.run("index_filing", partition_key=filing, asset_selection=[dg.AssetKey("filings")])
    result = pipeline.run(
        "index_filing",
        asset_selection=[dg.AssetKey("filing_pages")],
        tags={"dagster/asset_partition_range_start": sound, "dagster/asset_partition_range_end": last},
    )
    assert not result.success
    assert "BAD_2021_10K: " in failure_text(result) and "ALDER" not in failure_text(result)
    assert [keys["filing"] for keys in pipeline.lake.partitions("filing_pages")] == [sound, last]


def test_a_backfill_makes_what_is_missing_of_one_asset(pipeline: Pipeline, tmp_path: Path) -> None:
    filings = ["ALDER_2021_10K", "BIRCH_2022_10K"]
    for name in filings:
        company, year, _ = name.split("_")
        pdf = small_filings.annual_report(tmp_path / f"{name}.pdf", f"{company} Corp", int(year))
        assert pipeline.index(pipeline.accept(pdf)).success
        pipeline.lake.remove("page_profiles", {"filing": name})
    pipeline.lake.remove("filing_chunks", {"filing": "BIRCH_2022_10K"})

    def fill(*parts: str) -> tuple[list[str], list[str]]:
        done = backfill(pipeline.settings, "page_profiles", parts or None, lambda *_: None)
        assert not done.failures
        return done.indexed, done.fresh

    assert fill("ALDER_2021_10K") == (["ALDER_2021_10K"], [])
    assert fill() == (["BIRCH_2022_10K"], ["ALDER_2021_10K"])
    assert fill("all") == ([], filings)
    assert not pipeline.lake.info("filing_chunks", {"filing": "BIRCH_2022_10K"}), "of that asset alone"
    with pytest.raises(UsageError, match="page_profiles has no part 'NOBODY_2020_10K'"):
        fill("NOBODY_2020_10K")
