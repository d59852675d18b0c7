"""Recorded retrieval runs of the page-scorer papers' authors against recorded scores, and what a mutation does.

Per-question scores were recorded under the definitions of ``retrieval_metrics`` with six decimals; the authors'
own file holds their means of the run with chunks of 128 tokens.
"""

from __future__ import annotations

import csv
import inspect
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from statistics import fmean

import pytest

from finrag_pipeline.evaluation import retrieval_metrics
from finrag_pipeline.evaluation.retrieval_metrics import (
    GoldStandard,
    RankedChunk,
    TextOverlap,
    score_question,
)
from finrag_pipeline_tests.recorded_data import DATA, needs_data, read_lines

pytestmark = needs_data("financebench_authors", "our_retrieval_per_question.csv")

# DocRec@5, PageRec@5, page hit, Max ROUGE-L, Max BLEU.
TOTALS = {
    "shared_mpnet_char1024": (0.7533, 0.3500, 0.3867, 0.3215, 0.1747),
    "oracledoc_mpnet_char1024": (1.0000, 0.6078, 0.6533, 0.4358, 0.2672),
    "shared_mpnet_tok128": (0.5733, 0.2333, 0.2533, 0.1722, 0.0524),
}
# The authors' means of the run with 128 tokens: context_* and coverage_*, BLEU and ROUGE-L at 5.
AUTHORS = {"max_segment": (0.05947718, 0.18645639), "mean_segment": (0.05637403, 0.17984812)}
# Overlap with several evidence texts, as three definitions in circulation have it: with the texts joined, for the
# best pair of chunk and text (``context_*``), and the mean over the texts of the best chunk for each.
COLUMNS = {"concatenated": "max", "max_segment": "segmax", "mean_segment": "segmean"}
ROUNDED = 5.1e-7

Scorer = Callable[[Sequence[RankedChunk], GoldStandard, Mapping[str, tuple[float, float]]], list]


@cache
def questions() -> dict[str, dict]:
    rows = read_lines("financebench", "financebench_open_source.jsonl")
    return {row["financebench_id"]: row for row in rows}


@cache
def recorded(run: str) -> dict[str, dict[str, str]]:
    path = DATA / "financebench_authors" / "our_retrieval_per_question.csv"
    with path.open(encoding="utf-8", newline="") as stream:
        return {row["financebench_id"]: row for row in csv.DictReader(stream) if row["run"] == run}


@cache
def rankings(run: str) -> dict[str, list[dict]]:
    found: dict[str, list[dict]] = defaultdict(list)
    for row in read_lines("financebench_authors", "runs", f"{run}.jsonl.gz"):
        found[row["financebench_id"]].append(row)
    return {question: sorted(rows, key=lambda row: row["rank"]) for question, rows in found.items()}


def page_scores(run: str, scorer: Scorer) -> dict[str, dict[str, float]]:
    scores = {}
    for question, ranking in rankings(run).items():
        row = questions()[question]
        pages = frozenset(item["evidence_page_num"] for item in row["evidence"])
        chunks = [RankedChunk(str(i), one["doc_name"], one["page"]) for i, one in enumerate(ranking)]
        overlap = {chunk.chunk_id: (0.0, 0.0) for chunk in chunks}
        found = {
            (metric, k): value
            for metric, k, value in scorer(chunks, GoldStandard(row["doc_name"], pages, frozenset()), overlap)
        }
        scores[question] = {
            "doc_rec5": found["doc_rec", 5],
            "page_rec5": found["page_rec", 5],
            "page_hit5": found["hit", 5],
        }
    return scores


def evidence_overlap(
    overlap: Callable[[str, str], float], evidence: Sequence[str], chunks: Sequence[str], variant: str
) -> float:
    texts = ["\n".join(evidence)] if variant == "concatenated" else list(evidence)
    best = [max((overlap(text, chunk) for chunk in chunks), default=0.0) for text in texts]
    return sum(best) / len(best) if variant == "mean_segment" else max(best)


def overlap_scores(run: str, every: int = 1) -> dict[str, dict[str, float]]:
    scorer, scores = TextOverlap(), {}
    for question, ranking in list(rankings(run).items())[::every]:
        evidence = [item["evidence_text"] for item in questions()[question]["evidence"]]
        chunks = [one["text"] for one in ranking[:5]]
        scores[question] = {
            f"{COLUMNS[variant]}_{name}": evidence_overlap(overlap, evidence, chunks, variant)
            for variant in COLUMNS
            for name, overlap in (("bleu5", scorer.bleu), ("rougeL5", scorer.rouge_l))
        }
    return scores


def differences(run: str, scores: dict[str, dict[str, float]]) -> int:
    """Recorded scores that are not met."""
    return sum(
        abs(float(recorded(run)[question][column]) - value) > ROUNDED
        for question, row in scores.items()
        for column, value in row.items()
    )


@pytest.mark.parametrize("run", TOTALS)
def test_documents_and_pages(run):
    scores = page_scores(run, score_question)
    assert len(scores) == 150 and differences(run, scores) == 0
    means = [
        fmean(row[column] for row in scores.values()) for column in ("doc_rec5", "page_rec5", "page_hit5")
    ]
    assert means == pytest.approx(TOTALS[run][:3], abs=5e-5)


def test_overlap_of_the_run_that_the_authors_scored():
    run = "shared_mpnet_tok128"
    scores = overlap_scores(run)
    assert differences(run, scores) == 0

    def mean(column: str) -> float:
        return fmean(row[column] for row in scores.values())

    assert (mean("max_rougeL5"), mean("max_bleu5")) == pytest.approx(TOTALS[run][3:], abs=5e-5)
    for variant, (bleu, rouge) in AUTHORS.items():
        prefix = COLUMNS[variant]
        assert mean(f"{prefix}_bleu5") == pytest.approx(bleu, abs=3e-8)
        assert mean(f"{prefix}_rougeL5") == pytest.approx(rouge, abs=3e-8)


@pytest.mark.parametrize("run", ["shared_mpnet_char1024", "oracledoc_mpnet_char1024"])
def test_overlap_of_the_other_runs(run):
    every = 5
    assert differences(run, overlap_scores(run, every)) == 0
    column = [float(row["max_rougeL5"]) for row in recorded(run).values()]
    assert fmean(column) == pytest.approx(TOTALS[run][3], abs=5e-5)


def mutant(before: str, after: str) -> Scorer:
    """``score_question`` of a module of metrics in whose source one piece is replaced."""
    source = inspect.getsource(retrieval_metrics)
    assert source.count(before) == 1, f"the definition no longer holds '{before}': mend the mutations"
    namespace = {"__name__": retrieval_metrics.__name__}
    exec(source.replace(before, after), namespace)
    return namespace["score_question"]


RECALL = "len({chunk.page for chunk, hit in hits if hit}) / len(self.gold.pages)"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (RECALL, "float(any(hit for _, hit in hits))"),  # hit instead of recall
        (RECALL, "len({chunk.page for chunk, hit in hits if hit}) / k"),
        ("float(any(one.relevant[:k]))", "one.page_recall(k)"),  # recall instead of hit
        ("chunk.page in gold.pages", "chunk.page + 1 in gold.pages"),  # pages from one
        ("chunk.filing == gold.filing and chunk.page in", "chunk.page in"),  # the page of any filing
        ("zip(self.ranking[:k], self", "zip(self.ranking[:k - 1], self"),
        ("any(one.inside[:k])", "any(one.inside[:1])"),
        ("any(one.inside[:k])", "all(one.inside[:k])"),
    ],
)
def test_another_definition_of_pages_is_noticed(before, after):
    scorer = mutant(before, after)
    assert any(differences(run, page_scores(run, scorer)) for run in TOTALS)


def _no_stemmer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrieval_metrics, "_memoising_stemmer", lambda: None)


def _recall(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rouge_score.scoring.fmeasure", lambda precision, recall: recall)


def _other_smoothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from sacrebleu.metrics import BLEU

    def other(*args, **options):
        return BLEU(*args, **{**options, "smooth_method": "add-k"})

    monkeypatch.setattr("sacrebleu.metrics.BLEU", other)


def _lower_case(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = TextOverlap._tokenise_for_bleu
    monkeypatch.setattr(TextOverlap, "_tokenise_for_bleu", lambda self, text: whole(self, text.lower()))


@pytest.mark.parametrize("mutate", [_no_stemmer, _recall, _other_smoothing, _lower_case])
def test_another_definition_of_overlap_is_noticed(mutate, monkeypatch):
    run = "shared_mpnet_tok128"
    assert differences(run, overlap_scores(run, every=15)) == 0
    mutate(monkeypatch)
    assert differences(run, overlap_scores(run, every=15)) > 0


def test_the_variants_differ():
    scores = list(recorded("shared_mpnet_char1024").values())
    for one, other in (("max", "segmax"), ("max", "segmean"), ("segmax", "segmean")):
        assert any(row[f"{one}_bleu5"] != row[f"{other}_bleu5"] for row in scores)
