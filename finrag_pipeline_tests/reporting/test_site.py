"""File names of pages: safe everywhere, never two alike, and those of plain identifiers unchanged."""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.errors import LakeError, UsageError
from finrag_pipeline.reporting import site as module
from finrag_pipeline.reporting.site import page_names, replace_folder
from finrag_pipeline_tests.reporting.builders import HOSTILE

ANY = st.lists(st.text(max_size=200), max_size=12, unique=True)


def test_plain_identifiers_are_their_own_names() -> None:
    plain = ["EXAMPLE_2018_10K", "EXAMPLE_2022_8K_dated-2022-07-01", "q_1"]
    assert page_names(plain) == {name: name for name in plain}


@given(ANY)
def test_names_are_safe_and_differ_in_more_than_case(identifiers: list[str]) -> None:
    names = page_names(identifiers)
    assert list(names) == identifiers
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,120}", name) for name in names.values())
    assert len({name.casefold() for name in names.values()}) == len(identifiers)


@given(ANY)
def test_a_name_does_not_depend_on_the_others_order(identifiers: list[str]) -> None:
    assert page_names(identifiers[::-1]) == page_names(identifiers)


def test_what_file_systems_take_for_one_stays_apart() -> None:
    names = page_names(["Example", "EXAMPLE", "other"])
    assert names["other"] == "other"
    assert len({name.lower() for name in names.values()}) == 3


def test_paths_and_devices_become_plain_names() -> None:
    for name in page_names(["../../etc/passwd", "con", "a/b", "", ".hidden", HOSTILE, "x" * 300]).values():
        assert re.fullmatch(r"[A-Za-z0-9_]+-[0-9a-f]{12}", name), name


FILES = 20


def writer(version: int) -> Callable[[Path], None]:
    """Writes files that all hold the same version."""

    def write(target: Path) -> None:
        for number in range(FILES):
            (target / f"{number}.txt").write_text(str(version))

    return write


def versions(folder: Path) -> set[str]:
    return {path.read_text() for path in folder.glob("*.txt")}


@pytest.fixture(params=["exchange", "renames"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways of swapping: the one of Linux, and the one of systems that cannot exchange folders."""
    if request.param == "renames":
        monkeypatch.setattr(module, "_exchange", lambda first, second: False)
    return request.param


def test_replaces_everything_and_leaves_nothing_behind(tmp_path: Path, either_way: str) -> None:
    target = tmp_path / "deep" / "report"
    replace_folder(target, writer(1))
    (target / "left over.html").write_text("old")
    assert replace_folder(target, writer(2)) == target
    assert versions(target) == {"2"}
    assert not (target / "left over.html").exists()
    assert [path.name for path in target.parent.iterdir()] == ["report"]


def test_a_failing_writer_leaves_the_old_folder(tmp_path: Path, either_way: str) -> None:
    target = tmp_path / "report"
    replace_folder(target, writer(1))

    def fail(folder: Path) -> None:
        writer(2)(folder)
        raise OSError(28, "No space left on device")

    with pytest.raises(LakeError, match=r"report cannot be written: No space left.*free space"):
        replace_folder(target, fail)
    assert versions(target) == {"1"}
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


def test_the_old_folder_stands_until_the_new_one_is_complete(tmp_path: Path, either_way: str) -> None:
    target = tmp_path / "report"
    replace_folder(target, writer(1))

    def write(folder: Path) -> None:
        writer(2)(folder)
        assert versions(target) == {"1"}
        assert len(list(target.glob("*.txt"))) == FILES

    replace_folder(target, write)
    assert versions(target) == {"2"}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs renameat2")
def test_the_folder_is_never_missing(tmp_path: Path) -> None:
    target = tmp_path / "report"
    replace_folder(target, writer(0))
    assert module._exchange(target, replace_folder(tmp_path / "other", writer(0))), "not on this file system"
    done = threading.Event()
    seen: list[bool] = []

    def watch() -> None:
        while not done.is_set():
            seen.append(target.is_dir())

    thread = threading.Thread(target=watch)
    thread.start()
    for version in range(40):
        replace_folder(target, writer(version))
    done.set()
    thread.join()
    assert len(seen) > 100
    assert all(seen)


def test_two_writers_at_once_leave_one_of_their_versions(tmp_path: Path, either_way: str) -> None:
    target = tmp_path / "report"
    errors: list[Exception] = []

    def work(version: int) -> None:
        try:
            for _ in range(5):
                replace_folder(target, writer(version))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(version,)) for version in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if either_way == "exchange":
        assert not errors
    assert versions(target) in ({"1"}, {"2"})
    assert len(list(target.glob("*.txt"))) == FILES


def test_leftovers_of_killed_runs_go_once_they_are_old(tmp_path: Path) -> None:
    old, young, other = (tmp_path / name for name in (".report.a.tmp", ".report.b.tmp", ".reports.c.tmp"))
    for path in (old, young, other):
        path.mkdir()
        (path / "half.txt").write_text("x")
    hours_ago = time.time() - 7200
    for path in (old, other):
        os.utime(path, (hours_ago, hours_ago))
    replace_folder(tmp_path / "report", writer(1))
    assert not old.exists()
    assert young.exists() and other.exists()


def test_folders_of_others_are_left_alone(tmp_path: Path) -> None:
    foreign = tmp_path / "thesis"
    foreign.mkdir()
    (foreign / "chapter.txt").write_text("years of work")
    with pytest.raises(UsageError, match=r"thesis holds files that no report put there.*Choose another"):
        replace_folder(foreign, writer(1))
    assert (foreign / "chapter.txt").read_text() == "years of work"
    with pytest.raises(UsageError, match="is a file"):
        replace_folder(foreign / "chapter.txt", writer(1))


def test_empty_folders_and_links_are_filled(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    replace_folder(tmp_path / "link", writer(3))
    assert (tmp_path / "link").is_symlink()
    assert versions(tmp_path / "real") == {"3"}
