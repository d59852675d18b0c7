"""The shape of the code base: who may import whom, what an import costs, what the repository may not hold."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from finrag_pipeline_tests.console import REPOSITORY, environment

pytestmark = pytest.mark.slow

PACKAGE = REPOSITORY / "finrag_pipeline"

PACKAGES = (
    "errors",
    "schemas",
    "settings",
    "storage",
    "language_models",
    "engine",
    "filings",
    "tables",
    "statements",
    "sample",
    "embedding",
    "reranking",
    "resolver",
    "questions",
    "chunking",
    "retrieval",
    "rankers",
    "answering",
    "evaluation",
    "reporting",
    "services",
    "serving",
    "orchestration",
    "definitions",
    "commands",
    "cli",
)
"""Packages and modules from the ground up: one may import those before it, never one after it."""

KNOWS_DAGSTER = ("orchestration", "definitions", "commands", "cli")
HEAVY = (
    "torch",
    "transformers",
    "sentence_transformers",
    "ray",
    "openvino",
    "langchain_text_splitters",
    "lancedb",
    "pymupdf",
    "matplotlib",
    "pandas",
    "scipy",
)
RUN_ONLY = (
    "chunking.contextual",
    "filings.describe",
    "rankers.page_ranker.model",
    "rankers.recipe",
    "rankers.registry",
    "reporting.explorer",
    "reporting.report",
    "resolver.resolver",
    "statements.facts",
    "tables.extract",
)
"""Modules, each the entry to a package of rules, that assets import where they run."""


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def package_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """(line, module) of every import anywhere in a file, also inside functions and ``if TYPE_CHECKING``."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports relatively; the project imports absolutely"
            yield node.lineno, node.module or ""
            # 'from finrag_pipeline import x' and 'from package.part import module' name modules too.
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in (
            "import_module",
            "__import__",
        ):
            for argument in node.args[:1]:
                assert isinstance(argument, ast.Constant), f"{path}:{node.lineno} imports a computed name"
                yield node.lineno, str(argument.value)


def test_every_module_belongs_to_a_package() -> None:
    assert {package_of(path) for path in modules()} - {"__init__"} == set(PACKAGES)


def test_the_domain_knows_no_dagster() -> None:
    found = [
        f"{path.relative_to(REPOSITORY)}:{line} imports {name}"
        for path in modules()
        if package_of(path) not in KNOWS_DAGSTER
        for line, name in imports(path)
        if re.match(r"(dagster|finrag_pipeline\.(orchestration|definitions|commands|cli))(\W|_|$)", name)
    ]
    assert not found


def test_imports_run_downwards() -> None:
    height = {name: level for level, name in enumerate(PACKAGES)}
    found = set()
    for path in modules():
        for line, name in imports(path):
            parts = name.split(".")
            if parts[0] != "finrag_pipeline" or len(parts) < 2 or package_of(path) == "__init__":
                continue
            if height[parts[1]] > height[package_of(path)]:
                found.add(f"{path.relative_to(REPOSITORY)}:{line} imports {name}")
    assert not found


def dotted(path: Path) -> str:
    parts = path.relative_to(REPOSITORY).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_no_import_leads_back_to_its_module() -> None:
    """Late imports and those for type hints included: two modules that name each other are one."""
    names = {dotted(path) for path in modules()}
    graph = {dotted(path): {name for _, name in imports(path)} & names - {dotted(path)} for path in modules()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"imports in a circle: {' → '.join(error.args[1])}")


MEMORIES = {"evaluation/retrieval_metrics.py"}
"""They keep what any call of a process would compute again."""


def test_no_module_keeps_state_in_a_global() -> None:
    """A list or mapping that is empty at first is filled by somebody later."""
    found = [
        f"{path.relative_to(REPOSITORY)}:{node.lineno}"
        for path in modules()
        if str(path.relative_to(PACKAGE)) not in MEMORIES
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and (
            (
                isinstance(node.value, ast.List | ast.Set | ast.Dict)
                and not ast.unparse(node.value).strip("[]{}")
            )
            or (isinstance(node.value, ast.Call) and ast.unparse(node.value) in ("dict()", "list()", "set()"))
        )
    ]
    assert not found


def test_the_reader_of_imports_sees_lazy_and_dynamic_ones(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(
        "def f():\n    import dagster as dg\n\nif TYPE_CHECKING:\n    from dagster import asset\n"
        "import importlib\nimportlib.import_module('finrag_pipeline.orchestration')\n"
    )
    assert {"dagster", "dagster.asset", "finrag_pipeline.orchestration"} <= {
        name for _, name in imports(path)
    }


def test_only_one_module_knows_each_reader() -> None:
    readers = {"pymupdf": "filings/pdf.py", "fitz": "filings/pdf.py", "lxml": "filings/html.py"}
    users = {
        (str(path.relative_to(PACKAGE)), readers[name.split(".")[0]])
        for path in modules()
        for _, name in imports(path)
        if name.split(".")[0] in readers
    }
    assert users == {("filings/pdf.py", "filings/pdf.py"), ("filings/html.py", "filings/html.py")}


def fresh_import(code: str, lake: Path) -> tuple[float, str]:
    """Processor seconds of a new interpreter until ``code`` has run, its start included, and what it printed.

    Not those of its end: taking all modules down again, half a second, is nothing that a user waits for.
    """
    timed = f"{code}\nimport os; print(); print(sum(os.times()[:4]), end='')"  # its children's too
    done = subprocess.run(
        [sys.executable, "-c", timed], env=environment(lake), capture_output=True, text=True, cwd=REPOSITORY
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr, f"the import is not silent: {done.stderr}"
    printed, _, seconds = done.stdout.rpartition("\n")
    return float(seconds), printed.strip()


def test_definitions_load_nothing_heavy_and_say_nothing(tmp_path: Path) -> None:
    code = "import json, sys; import finrag_pipeline.definitions; print(json.dumps(list(sys.modules)))"
    _, out = fresh_import(code, tmp_path / "lake")
    loaded = set(json.loads(out))
    assert not set(HEAVY) & {name.partition(".")[0] for name in loaded}
    assert all((PACKAGE / f"{name.replace('.', '/')}.py").is_file() for name in RUN_ONLY)
    assert not {f"finrag_pipeline.{name}" for name in RUN_ONLY} & loaded
    assert not (tmp_path / "lake").exists(), "importing the definitions must not touch the lake"


def test_definitions_add_little_to_the_import_of_dagster(tmp_path: Path) -> None:
    """Processor time, best of several in turn, so that the load of the machine hardly matters."""
    ours, theirs = [], []
    for _ in range(2):
        theirs.append(fresh_import("import dagster", tmp_path / "lake")[0])
        ours.append(fresh_import("import finrag_pipeline.definitions", tmp_path / "lake")[0])
    assert min(ours) - min(theirs) < 1.5, (ours, theirs)


def test_definitions_load_in_two_seconds(tmp_path: Path) -> None:
    """In processor time, which is the time of an idle machine; beside other work cores share caches and clock."""
    if os.getloadavg()[0] > 0.75 * (os.cpu_count() or 1):
        pytest.skip("the machine is busy; the time would say nothing")
    seconds: list[float] = []
    while len(seconds) < 5 and min(seconds, default=9.0) >= 2.0:
        seconds.append(fresh_import("import finrag_pipeline.definitions", tmp_path / "lake")[0])
    assert min(seconds) < 2.0, seconds


def committed() -> list[Path]:
    """Files of the repository as git lists them, those about to be added included."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY,
        capture_output=True,
        check=True,
    )
    paths = [REPOSITORY / name for name in listed.stdout.decode().split("\0") if name]
    return [path for path in paths if path.is_file()]


needs_git = pytest.mark.skipif(not (REPOSITORY / ".git").exists(), reason="not a git working tree")


# Written in pieces, so that this file does not find itself.
_MACHINE = re.compile(
    r"(?<![\w.~/])/(?:"
    + "root|work|home|Users"
    + r")/\w|\b[\w.-]*(?:arti"
    + r"factory|ne"
    + r"xus|pypi\.[a-z]+\.)[\w-]*\.\w+"
    r"|--(?:extra-)?index" + r"-url|://[\w.-]*\.(?:in" + r"ternal|local|corp)\b"
)


@needs_git
def test_no_file_names_this_machine_or_its_package_registry() -> None:
    found = []
    for path in committed():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # pictures
        found += [f"{path.relative_to(REPOSITORY)}: {match[0]}" for match in _MACHINE.finditer(text)]
    assert not found


def test_the_search_for_machine_paths_finds_them() -> None:
    home = "/" + "root" + "/venv/bin"
    assert _MACHINE.search(f"see {home}") and _MACHINE.search("pip install --index" + "-url x")
    assert not _MACHINE.search("https://example.com/workshop/file") and not _MACHINE.search("./work/x")
