"""README and docs say what the program does: commands run on the sample, answers are as printed, names exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from finrag_pipeline.commands.console import out
from finrag_pipeline.settings import OTHER_VARIABLES, variables
from finrag_pipeline_tests.console import REPOSITORY, called
from finrag_pipeline_tests.shared_run import sample_copy

README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
DOCS = sorted(REPOSITORY.glob("docs/*.md"))
PARSED = ("serve", "fetch", "ingest")
"""Commands that do not end, need a connection, or a file of the reader's: only their arguments are checked."""
CUT = "…"
"""Where README leaves out the rest of a line."""


def examples(text: str) -> list[tuple[str, list[str]]]:
    """Every ``$ finrag …`` of the code blocks, without its comment, and the lines printed under it."""
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"^```\w*\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        commands = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
        for command, *printed in (part.rstrip().split("\n") for part in commands):
            if command.startswith("finrag "):
                found.append((command, printed))
    return found


def mismatch(shown: list[str], printed: list[str]) -> tuple[str, str] | None:
    """The first line shown that is not what was printed there."""
    for said, line in zip(shown, [*printed, *[""] * len(shown)], strict=False):
        said, line = said.rstrip(), line.rstrip()
        if not (line.startswith(said[: -len(CUT)].rstrip()) if said.endswith(CUT) else line == said):
            return said, line
    return None


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_copy(tmp_path_factory, tmp_path_factory.mktemp("readme") / "lake")


@pytest.mark.slow
@pytest.mark.parametrize(("command", "shown"), examples(README), ids=[c for c, _ in examples(README)])
def test_the_command_does_what_readme_shows(
    command: str, shown: list[str], root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(out, "_width", 200)
    arguments = shlex.split(command, comments=True)[1:]
    if arguments[0] in PARSED:
        arguments.append("--help")  # an unknown option or argument is an error before it
    if arguments[0] == "show":
        arguments += ["--to", str(tmp_path)]  # not into the repository
    done = called(root, *arguments)
    assert done.code == 0, done.err
    assert done.out.strip()
    assert not mismatch(shown, done.out.splitlines())


def test_readme_shows_what_a_first_reader_tries() -> None:
    verbs = [command.split()[1] for command, _ in examples(README)]
    assert verbs.count("ask") == 5 and verbs.count("search") == 1 and "serve" in verbs
    assert all(shown for command, shown in examples(README) if command.split()[1] in ("ask", "search"))


def test_examples_and_their_answers_are_found() -> None:
    block = '```\n$ finrag ask "a # b"   # c\n1\n\n  2\n\n$ finrag systems\n$ ls\n```\n'
    assert examples(block) == [('finrag ask "a # b"   # c', ["1", "", "  2"]), ("finrag systems", [])]


def test_another_answer_is_told_apart() -> None:
    assert not mismatch(["1. A, page 2  why …"], ["1. A, page 2  why not", "more"])
    assert mismatch(["1. A, page 2  why …"], ["1. A, page 3  why not"])
    assert mismatch(["$171 million"], ["$172 million"]) and mismatch(["a", "b"], ["a"])


def test_readme_is_short() -> None:
    assert len(README.splitlines()) <= 130


@pytest.mark.parametrize("path", [REPOSITORY / "README.md", *DOCS], ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    links = re.findall(r"\]\((?!\w+:)([^)#\s]+)", path.read_text(encoding="utf-8"))
    assert not [link for link in links if not (path.parent / link).exists()]


def test_the_settings_that_documents_name_exist() -> None:
    known = variables() | {*OTHER_VARIABLES}
    named = {
        (name, path.name)
        for path in (REPOSITORY / "README.md", *DOCS)
        for name in re.findall(r"FINRAG_(?:[A-Z0-9_]|<NAME>)+(?!…)", path.read_text(encoding="utf-8"))
    }
    assert len(named) > 30
    unknown = {(name, file) for name, file in named if name.rstrip("_") not in known}
    assert not unknown
