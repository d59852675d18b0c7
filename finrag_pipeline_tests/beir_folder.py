"""Small corpora with judgements in BEIR's layout."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from finrag_pipeline_tests.small_filings import write_lines


def write_beir(
    folder: Path,
    documents: Mapping[str, str],
    queries: Mapping[str, str],
    gains: Mapping[str, Mapping[str, int]],
) -> Path:
    """Write a corpus as BEIR publishes it."""
    (folder / "qrels").mkdir(parents=True)
    for name, texts in (("corpus", documents), ("queries", queries)):
        rows = [{"_id": key, "title": "", "text": text} for key, text in texts.items()]
        write_lines(folder / f"{name}.jsonl", rows)
    lines = [f"{query}\t{name}\t{gain}" for query, judged in gains.items() for name, gain in judged.items()]
    (folder / "qrels" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *lines]) + "\n")
    return folder
