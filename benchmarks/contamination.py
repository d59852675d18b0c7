"""Contamination of rankings: how much of the first chunks is of another company, or of another year.

Reads the runs of a lake; systems that narrow the search to the filings a question names stand beside those
that do not.
"""

from __future__ import annotations

import argparse

import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.evaluation.contamination import CUTOFF, METRICS, contamination_scores, filing_identities
from finrag_pipeline.evaluation.summary import summarise
from finrag_pipeline.retrieval.spaces import Space
from finrag_pipeline.settings import get_settings
from finrag_pipeline.storage.lake import Lake

SYSTEMS = ("dense", "filtered_dense", "finrag")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--systems", nargs="*", default=SYSTEMS)
    parser.add_argument("-k", type=int, default=CUTOFF)
    options = parser.parse_args()
    settings = get_settings()
    lake = Lake(settings.lake)
    rows = lake.read_all("filings").to_pylist()
    covers = {}
    for row in rows:
        if row["status"] == "ok":
            pages = lake.read("filing_pages", {"filing": row["filing"]}, ["page", "text"])
            covers[row["filing"]] = str(pages["text"][0].as_py()) if pages.num_rows else ""
    questions = lake.read("benchmark_questions")
    runs = lake.read_all("retrieval_runs", only={"system": options.systems})
    runs = runs.filter(pc.equal(runs["space"], Space.CORPUS.value))
    scores = contamination_scores(runs, questions, filing_identities(rows, covers), options.k)
    sources = {row["filing"]: row["source"] for row in rows}
    table = summarise(scores, questions, sources, settings.evaluation)
    means = {
        (row["system"], row["metric"], row["slice_value"]): row
        for row in table.to_pylist()
        if row["slice"] in ("all", "question_type")
    }
    slices = pa.array(sorted({value for _, _, value in means}, key=lambda value: (value != "all", value)))
    print(f"| system | questions | {' | '.join(f'{metric}@{options.k}' for metric in METRICS)} |")
    print("|---|---" + "|---:" * len(METRICS) + "|")
    for value in slices.to_pylist():
        for system in options.systems:
            if (system, METRICS[0], value) not in means:
                continue
            cells = [means[system, metric, value] for metric in METRICS]
            texts = [f"{100 * c['mean']:.1f} % [{100 * c['low']:.0f}, {100 * c['high']:.0f}]" for c in cells]
            print(f"| `{system}` | {value} ({cells[0]['n']}) | {' | '.join(texts)} |")


if __name__ == "__main__":
    main()
