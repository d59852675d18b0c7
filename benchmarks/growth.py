"""How time, memory and disk grow: stages by filings, search by corpus, vectors by rows, ticks by partitions.

Each measurement appends a line of JSON to --out; ``plot`` fits exponents and draws. Seconds are processor
seconds of the process and its children, so that what else a machine does falls out of them.

    python -m benchmarks.growth stages --lake LAKE --counts 10 25 50 84
    python -m benchmarks.growth ingest --source FOLDER --lake NEW --counts 10 25 50 84
    python -m benchmarks.growth search --lake LAKE --work NEW --counts 10 25 50 84 --copies 9
    python -m benchmarks.growth vectors --lake LAKE --work NEW --counts 15000 150000 1500000
    python -m benchmarks.growth ticks --partitions 100 1000 5000
    python -m benchmarks.growth plot --out growth.jsonl --to docs/images
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks import FINRAG, arguments
from finrag_pipeline.evaluation.benchmark import get_benchmark
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake

_TABLES = ("filings", "filing_pages", "page_tables", "xbrl_facts", "statement_facts")
_TABLES += ("page_profiles", "filing_chunks", "page_sentences")


def processor_seconds() -> float:
    """Of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = processor_seconds()
    found = work()
    return processor_seconds() - start, found


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def each_in_a_process(options: Sequence[str]) -> tuple[dict[str, Any], float, int]:
    """What ``growth`` prints with other arguments, its processor seconds and its peak memory in bytes."""
    command = [sys.executable, "-m", "benchmarks.growth", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    printed = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0, printed
    last = json.loads(printed.splitlines()[-1]) if printed.strip() else {}
    return last, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


# -- ingestion ---------------------------------------------------------------------------------


def ingest(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Cumulative: the lake of 25 is that of 10 and 15 more."""
    files = sorted(
        path for path in options.source.rglob("*") if path.suffix.lower() in {".pdf", ".htm", ".html"}
    )
    environment = {**os.environ, "FINRAG_LAKE": str(options.lake)}
    environment.pop("DAGSTER_HOME", None)
    seconds = 0.0
    for last, count in zip([0, *options.counts], options.counts, strict=False):
        command = [*FINRAG, "ingest", *map(str, files[last:count]), "--json"]
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
        _, _, used = os.wait4(process.pid, 0)
        seconds += used.ru_utime + used.ru_stime
        lake = Lake(options.lake)
        made: dict[str, float] = {}
        for one in lake.ledger_entries():
            made[one["asset"]] = made.get(one["asset"], 0.0) + (one["seconds"] or 0.0)
        yield {
            "what": "ingest",
            "filings": count,
            "pages": sum(lake.read_all("filings", ["pages"])["pages"].to_pylist()),
            "seconds": round(seconds, 1),
            "peak": used.ru_maxrss * 1024,
            "bytes": {
                name: size_of(options.lake / name)
                for name in ("filings", "parquet", "dagster_home", "ledger")
            },
            "ledger_seconds": {name: round(value, 2) for name, value in made.items()},
        }


def stages(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Of the first filings of a lake that is there: seconds as its ledger has them, bytes of its parts.

    A step that the ledger has as found fresh counts as many seconds per page as those that were made.
    """
    lake = Lake(options.lake)
    rows = lake.read_all("filings", ["filing", "pages"]).to_pylist()
    pages = {row["filing"]: row["pages"] for row in rows}
    made = {
        (one["asset"], one["partition"]): one["seconds"] for one in lake.ledger_entries() if one["seconds"]
    }
    chosen = sorted(get_benchmark(lake).filings)
    for count in options.counts:
        some = chosen[:count]
        seconds, size = {}, {}
        for name in _TABLES:
            known = [(made[name, one], pages[one]) for one in pages if (name, one) in made]
            rate = sum(spent for spent, _ in known) / sum(of for _, of in known)
            seconds[name] = round(sum(made.get((name, one), rate * pages[one]) for one in some), 2)
            parts = (Path(lake.part_path(name, {"filing": one})) for one in some)
            size[name] = sum(path.stat().st_size for path in parts if path.exists())
        size["originals"] = sum(size_of(options.lake / "filings" / one) for one in some)
        yield {
            "what": "stages",
            "filings": count,
            "pages": sum(pages[one] for one in some),
            "seconds": round(sum(seconds.values()), 1),
            "of": seconds,
            "bytes": sum(size.values()),
            "bytes_of": size,
        }


# -- search ------------------------------------------------------------------------------------


def part_of(source: Lake, target: Lake, filings: Sequence[str], copies: int) -> None:
    """A lake of some filings of another, and so many copies of them under other identifiers and companies."""
    for folder in ("benchmarks", "models"):
        if source.fs.exists(source.path(folder)):
            shutil.copytree(source.path(folder), target.path(folder), dirs_exist_ok=True)
    for table in ("benchmark_questions", "folds"):
        target.write(table, source.read(table), "copied")
    for filing in filings:
        for name in _TABLES:
            keys = {"filing": filing}
            if source.info(name, keys) is None:
                continue
            path = Path(target.part_path(name, keys))
            path.parent.mkdir(parents=True)
            os.link(source.part_path(name, keys), path)
            for number in range(1, copies + 1):
                renamed = f"{filing}_{number}"
                table = renamed_rows(source.read(name, keys), filing, renamed, number)
                target.write(name, table, f"copy {number}", {"filing": renamed})


def renamed_rows(table: pa.Table, filing: str, renamed: str, number: int) -> pa.Table:
    for place, field in enumerate(table.schema):
        column = table[field.name]
        if not pa.types.is_string(field.type) or not table.num_rows:
            continue
        if field.name in {"filing", "chunk_id", "fact_id"}:
            column = pc.replace_substring(column, filing, renamed)
        elif field.name in {"company", "declared_company"}:
            column = pc.binary_join_element_wise(column, f"Series{number}", " ")
        table = table.set_column(place, field, column)
    return table


def search(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    source = Lake(options.lake)
    filings = sorted(get_benchmark(source).filings)
    for count, copies in [*((count, 0) for count in options.counts), (max(options.counts), options.copies)]:
        root = options.work / f"{count}x{copies + 1}"
        if not root.exists():
            part_of(source, Lake(root), filings[:count], copies)
        asked = ["one-search", "--lake", str(root)]
        each_in_a_process(asked)  # builds the lexical index
        found, seconds, peak = each_in_a_process(asked)
        yield {"what": "search", **found, "process_seconds": round(seconds, 2), "peak": peak}


def one_search(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    from finrag_pipeline.services.search import Searcher

    settings = Settings(lake=str(options.lake))
    lake = Lake(options.lake)
    here = {keys["filing"] for keys in lake.partitions("filings")}
    rows = lake.read("benchmark_questions", columns=["question", "filing"]).to_pylist()
    questions = [row["question"] for row in rows if row["filing"] in here][: options.questions]
    loading, searcher = timed(lambda: Searcher(settings))
    first, _ = timed(lambda: searcher.search(questions[0], None, 10))
    spent = [timed(lambda one=one: searcher.search(one, None, 10))[0] for one in questions]
    chunks = sum(info.rows for key in here if (info := lake.info("filing_chunks", {"filing": key})))
    yield {
        "filings": len(here),
        "chunks": chunks,
        "questions": len(questions),
        "load": round(loading + first, 2),
        "p50": round(float(np.quantile(spent, 0.5)), 4),
        "p95": round(float(np.quantile(spent, 0.95)), 4),
    }


# -- vectors -----------------------------------------------------------------------------------


def vectors(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    for count in options.counts:
        found, _, peak = each_in_a_process(
            ["one-index", "--lake", str(options.lake), "--work", str(options.work), "--counts", str(count)]
        )
        yield {"what": "vectors", **found, "peak": peak}


def one_index(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Real vectors of sentences as far as the lake has them; past that, real ones with noise.

    The noise turns a vector by about 50 degrees (cosine .64), further than a paraphrase does. Questions are
    200 other sentences, turned as far.
    """
    from finrag_pipeline.storage.vectors import VectorFilter, VectorIndex, index_rows

    (count,) = options.counts
    random = np.random.default_rng(17)
    real = real_vectors(Lake(options.lake), random)
    questions, real = turned(real[:200], random), real[200:]
    folder = options.work / str(count)
    shutil.rmtree(folder, ignore_errors=True)
    index = VectorIndex(str(folder), "growth", exact_below=1 << 40)
    writing = 0.0
    for start in range(0, count, _BLOCK):
        size = min(_BLOCK, count - start)
        block = real[start : start + size]
        if len(block) < size:
            more = real[random.integers(0, len(real), size - len(block))]
            block = np.concatenate([block, turned(more, random)])
        units = [(f"u{start + n}", f"f{start}", n % 300, "text", ["x"]) for n in range(size)]
        seconds, _ = timed(
            lambda units=units, block=block: index.replace_filing(units[0][1], index_rows(units, block))
        )
        writing += seconds

    def ask(one: VectorIndex) -> tuple[list[float], list[list[str]]]:
        spent, found = [], []
        for question in questions:
            seconds, hits = timed(lambda question=question: one.search(question, 10, VectorFilter()))
            spent.append(seconds)
            found.append([hit["unit_id"] for hit in hits])
        return spent, found

    index.optimize()
    exact_spent, exact = ask(index)
    approximate = VectorIndex(str(folder), "growth", exact_below=0)
    building, _ = timed(approximate.optimize)
    spent, found = ask(approximate)
    recall = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(exact, found, strict=True)])
    yield {
        "vectors": count,
        "real": min(count, len(real)),
        "bytes": size_of(folder),
        "write": round(writing, 2),
        "build": round(building, 2),
        "exact_p95": round(float(np.quantile(exact_spent, 0.95)), 4),
        "p95": round(float(np.quantile(spent, 0.95)), 4),
        "recall": round(float(recall), 4),
    }
    shutil.rmtree(folder)


_BLOCK = 50_000


def real_vectors(lake: Lake, random: np.random.Generator) -> np.ndarray:
    """Vectors of distinct sentences of all filings, shuffled."""
    table = lake.read_all("page_sentences", ["text", "vector"])
    _, first = np.unique(np.array(table["text"].to_pylist(), dtype=object).astype(str), return_index=True)
    column = table["vector"].combine_chunks()
    found = column.values.to_numpy(zero_copy_only=False).reshape(len(column), -1)[first]
    return random.permutation(found).astype(np.float32)


def turned(rows: np.ndarray, random: np.random.Generator) -> np.ndarray:
    noise = random.standard_normal(rows.shape).astype(np.float32)
    mixed = rows + 1.2 * noise / np.linalg.norm(noise, axis=1, keepdims=True)
    return np.asarray(mixed / np.linalg.norm(mixed, axis=1, keepdims=True), np.float32)


# -- ticks -------------------------------------------------------------------------------------


def ticks(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    import dagster as dg

    from finrag_pipeline.orchestration.build import build_definitions
    from finrag_pipeline.orchestration.partitions import FILINGS

    definitions = build_definitions()
    for count in options.partitions:
        with dg.instance_for_test() as instance:
            instance.add_dynamic_partitions(FILINGS, [f"FILING_{n}" for n in range(count)])
            cursor, spent = None, []
            for _ in range(4):
                seconds, found = timed(
                    lambda cursor=cursor: dg.evaluate_automation_conditions(
                        defs=definitions, instance=instance, cursor=cursor
                    )
                )
                cursor = found.cursor
                spent.append(seconds)
        yield {
            "what": "tick",
            "partitions": count,
            "first": round(spent[0], 2),
            "seconds": round(min(spent[1:]), 2),
        }


# -- plots -------------------------------------------------------------------------------------


def exponent(x: Sequence[float], y: Sequence[float]) -> float:
    """Of a power law through the points, by least squares of logarithms."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


_PLOTS = (
    ("stages", "filings", {"seconds": "seconds", "bytes": "disk"}, "Ingestion"),
    (
        "search",
        "filings",
        {"load": "loading, s", "p95": "a question, p95, s", "peak": "peak memory"},
        "Search",
    ),
    (
        "vectors",
        "vectors",
        {"exact_p95": "exact, p95, s", "p95": "approximate, p95, s", "build": "build, s"},
        "Vectors",
    ),
    ("tick", "partitions", {"seconds": "a tick, s"}, "Automation"),
)


def plot(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    from matplotlib.figure import Figure

    lines = [json.loads(line) for line in options.out.read_text().splitlines()]
    figure = Figure(figsize=(11, 2.9), layout="constrained")
    for axes, (what, by, shown, title) in zip(figure.subplots(1, len(_PLOTS)), _PLOTS, strict=True):
        rows = sorted((line for line in lines if line.get("what") == what), key=lambda row: row[by])
        for name, label in shown.items():
            x, y = (
                [row[by] for row in rows],
                [row[name] / (1 << 30 if name in {"peak", "bytes"} else 1) for row in rows],
            )
            if len(x) < 2:
                continue
            found = exponent(x, y)
            yield {"what": what, "of": name, "exponent": round(found, 2)}
            unit = ", GiB" if name in {"peak", "bytes"} else ""
            axes.loglog(x, y, "o-", markersize=3, linewidth=1, label=f"{label}{unit} ∝ n^{found:.2f}")
        axes.set_title(title, fontsize=9)
        axes.set_xlabel(by, fontsize=8)
        axes.tick_params(labelsize=7)
        axes.legend(fontsize=6)
    figure.savefig(options.to / "growth.svg", metadata={"Date": None})


def main() -> None:
    parser = arguments(__doc__)
    commands = [stages, ingest, search, one_search, vectors, one_index, ticks, plot]
    by_name = {one.__name__.replace("_", "-"): one for one in commands}
    parser.add_argument("command", choices=by_name)
    for name in ("--source", "--lake", "--work", "--out", "--to"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--counts", type=int, nargs="+", default=[10, 25, 50, 84])
    parser.add_argument("--partitions", type=int, nargs="+", default=[100, 1000, 5000])
    parser.add_argument("--copies", type=int, default=9)
    parser.add_argument("--questions", type=int, default=40)
    options = parser.parse_args()
    for row in by_name[options.command](options):
        print(json.dumps(row), flush=True)
        if options.out and options.command != "plot":
            with options.out.open("a") as file:
                file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
