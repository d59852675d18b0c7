"""Checks over the whole corpus: what no single filing can know.

Broken data fails; odd data warns.
"""

from collections import defaultdict

import dagster as dg
import pyarrow.compute as pc

from finrag_pipeline.orchestration.assets.benchmark import benchmark_questions
from finrag_pipeline.orchestration.assets.filings import filing_chunks, filings, page_sentences
from finrag_pipeline.orchestration.assets.reporting import system_metrics
from finrag_pipeline.orchestration.resources import LakeResource
from finrag_pipeline.orchestration.steps import listed
from finrag_pipeline.retrieval.chunk_index import searchable_filings
from finrag_pipeline.retrieval.fusion import Fusion
from finrag_pipeline.retrieval.spaces import Space
from finrag_pipeline.retrieval.systems import get_system

_WARN = dg.AssetCheckSeverity.WARN


@dg.asset_check(asset=filings)
def no_duplicate_files(lake: LakeResource) -> dg.AssetCheckResult:
    """No two filings are the same file byte for byte."""
    groups = defaultdict(list)
    for row in lake.open().read_all("filings", ["filing", "sha256"]).to_pylist():
        groups[row["sha256"]].append(row["filing"])
    return _none_of("duplicates", [" = ".join(names) for names in groups.values() if len(names) > 1])


def _none_of(what: str, lines: list[str]) -> dg.AssetCheckResult:
    """A check that warns of each line."""
    found = {what: listed(lines), "count": dg.MetadataValue.int(len(lines))}
    return dg.AssetCheckResult(passed=not lines, severity=_WARN, metadata=found)


@dg.asset_check(asset=filings)
def identities_agree(lake: LakeResource) -> dg.AssetCheckResult:
    """Cover pages agree with file names and declared identities."""
    rows = lake.open().read_all("filings", ["filing", "conflicts"]).to_pylist()
    odd = [f"{row['filing']}: {'; '.join(row['conflicts'])}" for row in rows if row["conflicts"]]
    return _none_of("conflicts", odd)


@dg.asset_check(asset=filings)
def all_readable(lake: LakeResource) -> dg.AssetCheckResult:
    """Every filing can be read."""
    rows = lake.open().read_all("filings", ["filing", "status", "reason", "remedy"]).to_pylist()
    failed = [f"{r['filing']}: {r['reason']} {r['remedy']}" for r in rows if r["status"] != "ok"]
    return _none_of("failed", failed)


@dg.asset_check(asset=filing_chunks)
def corpus_not_empty(lake: LakeResource) -> dg.AssetCheckResult:
    """The lake holds at least one chunk."""
    names = searchable_filings(lake.open())
    return dg.AssetCheckResult(passed=bool(names), metadata={"filings": len(names)})


@dg.asset_check(asset=page_sentences)
def sentences_cover_corpus(lake: LakeResource) -> dg.AssetCheckResult:
    """Every chunked filing can be found by vector search."""
    store = lake.open()
    compared = {keys["filing"] for keys in store.partitions("page_sentences")}
    missing = sorted(set(searchable_filings(store)) - compared)
    return dg.AssetCheckResult(passed=not missing, metadata={"missing": ", ".join(missing) or "none"})


@dg.asset_check(asset=benchmark_questions)
def gold_pages_have_text(lake: LakeResource) -> dg.AssetCheckResult:
    """Every measured question has gold text in the corpus."""
    store = lake.open()
    questions = store.read("benchmark_questions").filter(pc.field("status") == "measured")
    gold = {(q["filing"], page) for q in questions.to_pylist() for page in q["gold_pages"]}
    wanted = {filing for filing, _ in gold}
    chunks = store.read_all("filing_chunks", ["filing", "page"], only={"filing": wanted})
    gold -= set(zip(chunks["filing"].to_pylist(), chunks["page"].to_pylist(), strict=True))
    empty = sorted(f"{filing} page {page + 1}" for filing, page in gold)
    return dg.AssetCheckResult(
        passed=not empty,
        severity=_WARN,
        metadata={"without_text": "; ".join(empty) or "none", "count": len(empty)},
    )


@dg.asset_check(asset=system_metrics)
def oracle_not_below_parent(lake: LakeResource) -> dg.AssetCheckResult:
    """A smaller oracle space never finds fewer gold pages."""
    # Certain for a single ranking, whose restriction only removes wrong chunks; a fusion re-ranks: it warns.
    means = {
        (row["system"], row["space"]): row["mean"]
        for row in lake.open().read("system_metrics").to_pylist()
        if row["slice"] == "all" and row["metric"] == "page_rec" and row["k"] == 5
    }
    broken, fused_only = [], True
    for system in sorted({system for system, _ in means}):
        for smaller, larger in ((Space.PAGES, Space.FILING), (Space.FILING, Space.CORPUS)):
            less, more = means[system, smaller], means[system, larger]
            if less < more - 1e-9:
                broken.append(f"{system}: {smaller} {less:.4f} < {larger} {more:.4f}")
                fused_only &= isinstance(get_system(system).first, Fusion)
    return dg.AssetCheckResult(
        passed=not broken,
        severity=_WARN if fused_only else dg.AssetCheckSeverity.ERROR,
        metadata={"broken": "; ".join(broken) or "none"},
    )
