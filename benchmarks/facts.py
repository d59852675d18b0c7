"""Statement facts: which needed values are among them, on the right page; identities; filings per minute.

The needed values come from a JSON list of objects with ``question``, ``filing``, ``page`` (zero-based),
``label`` and ``values`` (full units, signs as printed). Texts of benchmarks stay outside the repository.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from finrag_pipeline.settings import get_settings
from finrag_pipeline.statements.facts import statement_facts
from finrag_pipeline.statements.identities import check_identities, pass_rates
from finrag_pipeline.storage.lake import Lake


def read_facts(folder: Path | None) -> pa.Table:
    """Facts of all filings: from Parquet files, or from the lake."""
    if folder is None:
        return Lake(get_settings().lake).read_all("statement_facts")
    return pa.concat_tables(pq.read_table(path) for path in sorted(folder.glob("*.parquet")))


def coverage(facts: pa.Table, needed: list[dict], skip: set[str]) -> None:
    """Print which share of the needed values is found, anywhere, on its page, and with a concept."""
    pages: dict[tuple[str, float], set[tuple[int, bool]]] = defaultdict(set)
    for filing, value, page, scope, concept in zip(
        *(facts[name].to_pylist() for name in ("filing", "value", "page", "scope", "concept")), strict=True
    ):
        pages[(filing, round(value, 2))].add((page, scope == "primary" and concept is not None))
    counts = {"values": 0, "found": 0, "on the page": 0, "primary, with concept": 0}
    questions: dict[str, bool] = {}
    for item in needed:
        if item["filing"] in skip:
            continue
        complete = True
        for value in item["values"]:
            places = pages[(item["filing"], round(value, 2))]
            on_page = [place for place in places if place[0] == item["page"]]
            counts["values"] += 1
            counts["found"] += bool(places)
            counts["on the page"] += bool(on_page)
            counts["primary, with concept"] += any(named for _, named in on_page)
            complete &= bool(on_page)
            if not on_page:
                elsewhere = sorted(page for page, _ in places)
                where = f"{item['filing']} page {item['page']}"
                print(f"missing: {where} {item['label']!r} {value:,.10g}; on {elsewhere}")
        questions[item["question"]] = questions.get(item["question"], True) and complete
    print({name: f"{count} ({count / max(1, counts['values']):.3f})" for name, count in counts.items()})
    print(f"questions with all values on their pages: {sum(questions.values())} of {len(questions)}")


def identities(facts: pa.Table) -> None:
    """Print pass rates of the identities over all filings."""
    totals: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for filing in pc.unique(facts["filing"]).to_pylist():
        own = facts.filter(pc.equal(facts["filing"], filing))
        for name, counts in pass_rates(check_identities(own)).items():
            totals[name] = [one + other for one, other in zip(totals[name], counts, strict=True)]
    for name, (passed, failed, skipped) in totals.items():
        share = passed / max(1, passed + failed)
        print(f"{name}: {passed} of {passed + failed} pass ({share:.3f}), {skipped} not applicable")


def speed(pages: Path, tables: Path) -> None:
    """Print how many filings per minute one core turns from tables to facts."""
    seconds, filings = 0.0, 0
    for path in sorted(tables.glob("*.parquet")):
        texts = pq.read_table(pages / path.name, columns=["page", "text"]).sort_by("page")["text"].to_pylist()
        rows = pq.read_table(path)
        start = time.perf_counter()
        statement_facts(path.stem, rows, texts)
        seconds += time.perf_counter() - start
        filings += 1
    print(f"{filings} filings, {60 * filings / seconds:.0f} per minute")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("needed", type=Path, help="JSON list of needed values")
    parser.add_argument("--facts", type=Path, help="folder of statement_facts as Parquet (default: the lake)")
    parser.add_argument("--skip", type=Path, help="file with names of filings to leave out")
    parser.add_argument("--pages", type=Path, help="folder of filing_pages by filing, to measure speed")
    parser.add_argument("--tables", type=Path, help="folder of page_tables by filing, to measure speed")
    options = parser.parse_args()
    facts = read_facts(options.facts)
    skip = set(options.skip.read_text().split()) if options.skip else set()
    coverage(facts, json.loads(options.needed.read_text()), skip)
    identities(facts)
    if options.pages and options.tables:
        speed(options.pages, options.tables)


if __name__ == "__main__":
    main()
