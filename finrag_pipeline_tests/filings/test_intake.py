from __future__ import annotations

import os
import time
import unicodedata
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from finrag_pipeline.engine import Engine
from finrag_pipeline.errors import FilingError, LakeError
from finrag_pipeline.filings.intake import (
    SETTLED_SECONDS,
    STALLED_SECONDS,
    accept,
    collect_from_inbox,
    is_whole,
    settled_inbox_files,
)
from finrag_pipeline.filings.originals import (
    FilingSource,
    drop_older_originals,
    find_source,
    get_source,
    original_path,
)
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests import small_filings

WHOLE = b"%PDF-1.7 one\n%%EOF"
"""As much of a PDF as the inbox looks at."""


def sources(lake: Lake) -> dict[str, FilingSource]:
    """Every kept original, by filing."""
    base = lake.path("filings")
    folders = lake.fs.ls(base, detail=False) if lake.fs.exists(base) else []
    names = [folder.rstrip("/").rsplit("/", 1)[-1] for folder in folders]
    return {name: source for name in names if (source := find_source(lake, name))}


def _file(path: Path, contents: bytes = b"%PDF-1.7 one", age: float = 60.0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(contents)
    then = path.stat().st_mtime - age
    os.utime(path, (then, then))
    return path


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """One process that reads new versions; the default starts one for each."""
    made = Engine(1, timeout=60)
    yield made
    made.close()


def _kept(lake: Lake, filing: str) -> list[str]:
    return sorted(path.name for path in lake.local_path("filings", filing).iterdir())


class TestAccept:
    def test_the_original_is_kept_under_its_hash(self, lake: Lake, tmp_path: Path) -> None:
        path = _file(tmp_path / "ACME_2023_10K.pdf")
        source = accept(lake, path, {"company": "ACME"})
        assert source.filing == "ACME_2023_10K"
        assert source.file_name == "ACME_2023_10K.pdf"
        assert (source.source, source.bytes) == ("pdf", 12)
        assert source.document_information == {"company": "ACME"}
        assert lake.read_bytes(original_path(lake, source)) == b"%PDF-1.7 one"
        assert source.original.startswith("ACME_2023_10K."), "messages about the original name the filing"
        assert path.exists(), "the file itself is left alone"
        assert get_source(lake, "ACME_2023_10K") == find_source(lake, "ACME_2023_10K") == source

    @pytest.mark.parametrize(
        "name",
        [
            "with spaces.pdf",
            'it\'s "quoted".pdf',
            "株式会社 2023.pdf",
            "naïve é ü.pdf",
            "..pdf.pdf",
            "a;DROP TABLE filings;--.pdf",
            "100% $HOME `x` {y} [z].pdf",
            "new\nline.pdf",
            "x" * 240 + ".pdf",
            "filing=x.pdf",
            "UPPER.PDF",
        ],
    )
    def test_names_of_any_kind(self, lake: Lake, tmp_path: Path, name: str) -> None:
        source = accept(lake, _file(tmp_path / "in" / name))
        assert source.file_name == name
        assert sources(lake) == {source.filing: source}
        assert lake.read_bytes(original_path(lake, source)) == b"%PDF-1.7 one"
        folder = lake.local_path("filings")
        assert [path.parent for path in folder.rglob("source.json")] == [folder / source.filing]
        assert accept(lake, tmp_path / "in" / name) == source

    def test_a_name_that_is_not_utf8(self, lake: Lake, tmp_path: Path) -> None:
        path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/r\xe9sum\xe9.pdf"))
        source = accept(lake, _file(path))
        assert source.file_name == "r\ufffdsum\ufffd.pdf"
        assert find_source(lake, source.filing) == source

    def test_a_path_upwards_counts_by_its_last_part(self, lake: Lake, tmp_path: Path) -> None:
        _file(tmp_path / "a.pdf")
        (tmp_path / "sub").mkdir()
        source = accept(lake, tmp_path / "sub" / ".." / "a.pdf")
        assert source.filing == "a"
        assert {path.name for path in tmp_path.iterdir()} == {"a.pdf", "sub", "lake"}

    def test_the_same_file_again_changes_nothing(self, lake: Lake, tmp_path: Path) -> None:
        source = accept(lake, _file(tmp_path / "a.pdf"), {"company": "ACME"})
        before = lake.local_path("filings", "a", "source.json").stat().st_mtime_ns
        assert accept(lake, _file(tmp_path / "elsewhere" / "a.pdf")) == source, "what was declared stays"
        assert lake.local_path("filings", "a", "source.json").stat().st_mtime_ns == before

    def test_a_lost_original_is_kept_again(self, lake: Lake, tmp_path: Path) -> None:
        source = accept(lake, _file(tmp_path / "a.pdf"))
        Path(original_path(lake, source)).unlink()
        accept(lake, tmp_path / "a.pdf")
        assert lake.read_bytes(original_path(lake, source)) == b"%PDF-1.7 one"

    def test_other_contents_of_the_same_name_take_its_place_and_it_stays_until_they_are_published(
        self, lake: Lake, tmp_path: Path, engine: Engine
    ) -> None:
        path = tmp_path / "a.pdf"
        first = accept(lake, small_filings.annual_report(path, "Acme Corp", 2021), {"company": "ACME"})
        second = accept(lake, small_filings.annual_report(path, "Acme Corp", 2022), engine=engine)
        assert second.sha256 != first.sha256
        assert second.document_information == {"company": "ACME"}
        assert find_source(lake, "a") == second
        assert _kept(lake, "a") == sorted([first.original, second.original, "source.json"])

        coming = lake.local_path(
            "filings", "a", "a.coming.pdf"
        )  # the copy of a version that is being accepted
        coming.write_bytes(b"")
        os.utime(coming, (coming.stat().st_mtime + 60,) * 2)
        drop_older_originals(lake, first)
        assert first.original in _kept(lake, "a"), "another version has taken its place meanwhile"
        drop_older_originals(lake, second)
        assert _kept(lake, "a") == sorted([coming.name, second.original, "source.json"])

    @pytest.mark.parametrize("worse", ["truncated", "half", "scanned", "half page text"])
    def test_a_version_that_cannot_be_read_is_refused_and_the_good_one_stays(
        self, lake: Lake, tmp_path: Path, engine: Engine, worse: str
    ) -> None:
        path = small_filings.annual_report(tmp_path / "a.pdf", "Acme Corp", 2021)
        good = accept(lake, path)
        contents = path.read_bytes()
        if worse == "half page text":
            path = _file(tmp_path / "a.jsonl", b'{"doc": "a", "page": 0, "te')
        elif worse == "half":
            small_filings.truncated(path, 0.5)
        else:
            getattr(small_filings, worse)(path)
        with pytest.raises(
            FilingError, match=rf"^{path.name}.*the version that the lake holds stays"
        ) as caught:
            accept(lake, path, engine=engine)
        assert caught.value.remedy
        assert find_source(lake, "a") == good
        assert lake.read_bytes(original_path(lake, good)) == contents
        assert _kept(lake, "a") == sorted([good.original, "source.json"])
        noted = lake.ledger_entry("filings", "a")
        assert noted is not None
        assert (noted["outcome"], noted["error"], noted["remedy"]) == (
            "failed",
            caught.value.reason,
            caught.value.remedy,
        )

    def test_a_copy_that_differs_is_noticed(
        self, lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(lake, "read_bytes", lambda path: b"%PDF-1.7 on")
        with pytest.raises(LakeError, match=r"differs from a\.pdf"):
            accept(lake, _file(tmp_path / "a.pdf"))
        assert not lake.fs.exists(lake.path("filings", "a", "source.json"))

    def test_another_file_of_the_same_identifier_is_refused(self, lake: Lake, tmp_path: Path) -> None:
        kept = accept(lake, _file(tmp_path / "a.pdf"))
        assert accept(lake, _file(tmp_path / "a.PDF")) == kept, "the same contents change nothing"
        with pytest.raises(FilingError, match=r"a\.PDF is another file than a\.pdf") as caught:
            accept(lake, _file(tmp_path / "a.PDF", b"%PDF-1.7 two"))
        assert "name it a.pdf" in caught.value.remedy
        assert find_source(lake, "a") == kept
        assert _kept(lake, "a") == sorted([kept.original, "source.json"])

    def test_accents_apart_from_their_letters_do_not_make_another_name(
        self, lake: Lake, tmp_path: Path, engine: Engine
    ) -> None:
        composed, apart = (unicodedata.normalize(form, "é.pdf") for form in ("NFC", "NFD"))
        accept(lake, _file(tmp_path / composed))
        second = accept(lake, small_filings.annual_report(tmp_path / apart, "Acme", 2021), engine=engine)
        assert sources(lake) == {second.filing: second}

    def test_a_pdf_takes_the_place_of_page_text_and_the_reverse(
        self, lake: Lake, tmp_path: Path, engine: Engine
    ) -> None:
        text = _file(tmp_path / "a.jsonl", b'{"doc": "a", "page": 0, "text": "x"}')
        pdf = small_filings.annual_report(tmp_path / "a.pdf", "Acme Corp", 2021)
        assert accept(lake, text).source == "page_text"
        assert accept(lake, pdf, engine=engine).source == "pdf"
        assert accept(lake, text, engine=engine).source == "page_text"

    def test_refusals(self, lake: Lake, tmp_path: Path) -> None:
        for name in ("a.docx", "a", "a.pdf.exe", ".pdf", "a.json"):
            with pytest.raises(FilingError, match="is no filing by its name"):
                accept(lake, _file(tmp_path / name))
        with pytest.raises(FilingError, match=r"no\.pdf cannot be read: No such file or directory"):
            accept(lake, tmp_path / "no.pdf")
        (tmp_path / "folder.pdf").mkdir()
        os.mkfifo(tmp_path / "pipe.pdf")
        for name in ("folder.pdf", "pipe.pdf"):
            with pytest.raises(FilingError, match=f"{name} is not a file"):
                accept(lake, tmp_path / name)
        with pytest.raises(FilingError, match=r"big\.pdf has 12 bytes; the limit is 11") as caught:
            accept(lake, _file(tmp_path / "big.pdf"), max_bytes=11)
        assert "FINRAG_MAX_FILING_BYTES" in caught.value.remedy
        assert sources(lake) == {}

    def test_a_file_that_changes_while_it_is_read_is_refused(
        self, lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from finrag_pipeline.filings import intake

        path = _file(tmp_path / "a.pdf")
        whole = intake.file_sha256

        def hash_then_write(file: Path) -> str:
            value = whole(file)
            file.write_bytes(b"%PDF-1.7 one and more")
            return value

        monkeypatch.setattr(intake, "file_sha256", hash_then_write)
        with pytest.raises(FilingError, match=r"a\.pdf changed while it was read"):
            accept(lake, path)
        assert sources(lake) == {}

    def test_a_remote_lake(self, tmp_path: Path) -> None:
        lake = Lake(f"memory://{uuid.uuid4().hex}/lake")
        source = accept(lake, _file(tmp_path / "it's é.pdf"))
        assert sources(lake) == {source.filing: source}
        with lake.local_copy(original_path(lake, source)) as local:
            assert local.read_bytes() == b"%PDF-1.7 one"


class TestSources:
    def test_an_empty_lake(self, lake: Lake) -> None:
        assert sources(lake) == {}
        assert find_source(lake, "a") is None
        with pytest.raises(LakeError, match="no original of 'a'") as caught:
            get_source(lake, "a")
        assert "finrag ingest" in caught.value.remedy

    def test_what_is_no_filing_is_passed_over(self, lake: Lake, tmp_path: Path) -> None:
        source = accept(lake, _file(tmp_path / "a.pdf"))
        lake.write_bytes(lake.path("filings", "README.md"), b"")
        lake.write_bytes(lake.path("filings", "half", "source.json"), b'{"filing": ')
        lake.write_json(lake.path("filings", "list", "source.json"), [])
        lake.write_json(lake.path("filings", "other", "source.json"), {"filing": "other", "hue": "red"})
        assert sources(lake) == {"a": source}
        with pytest.raises(LakeError):
            get_source(lake, "other")

    @pytest.mark.parametrize("filing", ["../../etc", "/etc", ""])
    def test_no_way_out_of_the_lake(self, lake: Lake, filing: str) -> None:
        with pytest.raises(LakeError, match="not a path inside the lake"):
            find_source(lake, filing)


class TestInbox:
    def test_only_settled_filings_are_seen(self, lake: Lake) -> None:
        inbox = lake.local_path("inbox")
        assert list(settled_inbox_files(lake)) == []
        old = _file(inbox / "old.pdf", WHOLE, age=SETTLED_SECONDS + 1)
        _file(inbox / "new.pdf", WHOLE, age=0.0)
        _file(inbox / "README.md")
        _file(inbox / ".hidden.pdf")
        (inbox / "folder.pdf").mkdir()
        (inbox / "broken link.pdf").symlink_to(inbox / "nowhere.pdf")
        future = _file(inbox / "from a fast clock.jsonl", age=-86_400.0)
        found = dict(settled_inbox_files(lake))
        assert set(found.values()) == {old, future}
        assert found["old"] == old

    def test_collecting_moves_the_file_into_the_lake(self, lake: Lake) -> None:
        path = _file(lake.local_path("inbox") / "株 2023.pdf", WHOLE)
        ((filing, _),) = settled_inbox_files(lake)
        source = collect_from_inbox(lake, filing)
        assert source is not None
        assert (source.filing, source.file_name) == (filing, "株 2023.pdf")
        assert not path.exists()
        assert lake.read_bytes(original_path(lake, source)) == WHOLE
        assert collect_from_inbox(lake, filing) is None

    def test_a_refused_file_stays(self, lake: Lake) -> None:
        path = _file(lake.local_path("inbox") / "big.pdf", WHOLE)
        with pytest.raises(FilingError, match=r"big\.pdf has 18 bytes"):
            collect_from_inbox(lake, "big", max_bytes=3)
        assert path.exists()

    def test_two_files_of_one_identifier_take_turns_and_the_second_is_refused(self, lake: Lake) -> None:
        inbox = lake.local_path("inbox")
        one, two = _file(inbox / "a.PDF", WHOLE), _file(inbox / "a.pdf", b"%PDF-1.7 two\n%%EOF")
        assert list(settled_inbox_files(lake)) == [("a", one)]
        kept = collect_from_inbox(lake, "a")
        assert kept is not None
        assert list(settled_inbox_files(lake)) == [("a", two)]
        with pytest.raises(FilingError, match=r"a\.pdf is another file than a\.PDF"):
            collect_from_inbox(lake, "a")
        assert find_source(lake, "a") == kept
        assert two.exists()

    @pytest.mark.parametrize("suffix", [".pdf", ".PDF"])
    def test_of_page_text_and_a_pdf_the_pdf_is_kept_in_the_end(
        self, lake: Lake, engine: Engine, suffix: str
    ) -> None:
        inbox = lake.local_path("inbox")
        pdf = small_filings.annual_report(inbox / "whole.pdf", "Acme Corp", 2021)
        _file(pdf.rename(inbox / f"a{suffix}"), (inbox / f"a{suffix}").read_bytes())
        _file(inbox / "a.jsonl", b'{"doc": "a", "page": 0, "text": "x"}')
        kinds = []
        while source := collect_from_inbox(lake, "a", engine=engine):
            kinds.append(source.source)
        assert kinds == ["page_text", "pdf"]
        assert get_source(lake, "a").source == "pdf"

    def test_html_is_kept_rather_than_a_pdf(self, lake: Lake, engine: Engine) -> None:
        inbox = lake.local_path("inbox")
        pdf = small_filings.annual_report(inbox / "whole.pdf", "Acme Corp", 2021)
        _file(pdf.rename(inbox / "a.pdf"), (inbox / "a.pdf").read_bytes())
        _file(inbox / "a.htm", b"<html><body><p>Net sales rose.</p></body></html>")
        kinds = []
        while source := collect_from_inbox(lake, "a", engine=engine):
            kinds.append(source.source)
        assert kinds == ["pdf", "html"]

    def test_text_that_is_no_filing_stays(self, lake: Lake) -> None:
        inbox = lake.local_path("inbox")
        _file(inbox / "notes.txt", b"Call the bank.\n")
        _file(inbox / "a.txt", b"SECURITIES AND\nEXCHANGE COMMISSION\n")
        assert [filing for filing, _ in settled_inbox_files(lake)] == ["a"]

    def test_an_upload_that_stalls_is_not_taken_half(self, lake: Lake, engine: Engine) -> None:
        """Half a file, quiet for a while, then the rest: nothing of it may be lost."""
        inbox = lake.local_path("inbox")
        inbox.mkdir(parents=True)
        path = small_filings.annual_report(inbox / "a.pdf", "Acme Corp", 2021)
        whole = path.read_bytes()
        with path.open("wb") as upload:
            upload.write(whole[: len(whole) // 2])
            upload.flush()
            for quiet in (SETTLED_SECONDS + 1, STALLED_SECONDS + 1):
                os.utime(path, (time.time() - quiet,) * 2)
                assert list(settled_inbox_files(lake)) == [], "it is open for writing"
        os.utime(path, (time.time() - SETTLED_SECONDS - 1,) * 2)
        assert list(settled_inbox_files(lake)) == [], "its end is missing"
        assert collect_from_inbox(lake, "a") is None

        os.utime(path, (time.time() - STALLED_SECONDS - 1,) * 2)
        with pytest.raises(FilingError, match=r"a\.pdf is truncated") as caught:
            collect_from_inbox(lake, "a", engine=engine)
        assert path.exists() and find_source(lake, "a") is None
        noted = lake.ledger_entry("filings", "a")
        assert noted is not None and noted["error"] == caught.value.reason, "people can look it up"

        with path.open("ab") as upload:
            upload.write(whole[len(whole) // 2 :])
        os.utime(path, (time.time() - SETTLED_SECONDS - 1,) * 2)
        source = collect_from_inbox(lake, "a")
        assert source is not None and lake.read_bytes(original_path(lake, source)) == whole
        assert not path.exists()

    def test_what_arrives_while_a_file_is_taken_stays_as_the_next_version(
        self, lake: Lake, monkeypatch: pytest.MonkeyPatch, engine: Engine
    ) -> None:
        path = small_filings.annual_report(lake.local_path("inbox") / "a.pdf", "Acme Corp", 2021)
        first = path.read_bytes()
        second = small_filings.annual_report(path, "Acme Corp", 2022).read_bytes()
        _file(path, first)
        write = Lake.write_json

        def keep_then_arrive(self: Lake, to: str, value: object) -> None:
            write(self, to, value)
            if path.read_bytes() == first:
                _file(path, second)

        monkeypatch.setattr(Lake, "write_json", keep_then_arrive)
        for contents in (first, second):
            source = collect_from_inbox(lake, "a", engine=engine)
            assert source is not None and lake.read_bytes(original_path(lake, source)) == contents
        assert not path.exists()

    @pytest.mark.parametrize(
        ("name", "contents", "whole"),
        [
            ("a.pdf", WHOLE, True),
            ("a.pdf", WHOLE + b"\n" * 500, True),
            ("a.pdf", b"%PDF-1.7 one %%E", False),
            ("a.pdf", WHOLE + b"x" * 5000, False),
            ("a.pdf", b"", False),
            ("a.jsonl", b'{"doc": "a", "page": 0, "text": "x"}', True),
            ("a.jsonl", b'{"doc": "a", "page": 0, "text": "x"}\n\n', True),
            ("a.jsonl", b'{"doc": "a", "page": 0, "text": "x"}\n{"doc": "a", "pa', False),
            ("a.jsonl", b"1", False),
            ("a.htm", b"<html><p>x</p></HTML>\n", True),
            ("a.htm", b"<html><p>x</p><p", False),
            ("a.txt", b"<TEXT>x\n</TEXT>", True),
            ("a.txt", b"half a li", False),
            ("a.jsonl", b"", False),
        ],
    )
    def test_whole_is_what_ends_as_its_format_does(
        self, tmp_path: Path, name: str, contents: bytes, whole: bool
    ) -> None:
        assert is_whole(_file(tmp_path / name, contents)) is whole

    def test_the_inbox_of_a_remote_lake_is_on_this_machine(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        lake = Lake(f"memory://{uuid.uuid4().hex}/lake")
        assert list(settled_inbox_files(lake)) == []
        path = _file(lake.local_path("inbox", "a.pdf"), b"%PDF-1.7 one\n%%EOF")
        assert list(settled_inbox_files(lake)) == [("a", path)]
