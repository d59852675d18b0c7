from __future__ import annotations

import pyarrow as pa
import pytest

from finrag_pipeline.evaluation.retrieval_metrics import GoldStandard, RankedChunk, score_question
from finrag_pipeline.retrieval.alpha import GRID, alpha_means, alpha_sweep, pick_alphas
from finrag_pipeline.retrieval.component import Inputs, Learned
from finrag_pipeline.retrieval.corpus import Corpus
from finrag_pipeline.retrieval.fusion import HybridWeights
from finrag_pipeline.retrieval.spaces import Space
from finrag_pipeline.retrieval.systems import SYSTEMS
from finrag_pipeline.schemas import RETRIEVAL_SCORES, conform
from finrag_pipeline_tests.indexed_lake import IndexedLake

GOLDEN = {
    # question: {alpha: (DocRec@5, PageRec@5)}
    "q1": {0.0: (1.0, 1.0), 0.5: (1.0, 0.0), 1.0: (1.0, 0.0)},
    "q2": {0.0: (1.0, 0.0), 0.5: (1.0, 1.0), 1.0: (0.0, 1.0)},
    "q3": {0.0: (1.0, 0.5), 0.5: (1.0, 0.5), 1.0: (1.0, 0.5)},
}


def _table(values: dict[str, dict[float, tuple[float, float]]], space: str = "corpus") -> pa.Table:
    rows = [
        {
            "system": f"alpha={alpha:.2f}", "space": space, "question_id": question, "metric": metric, "k": 5,
            "value": value,
        }
        for question, of_alpha in values.items()
        for alpha, pair in of_alpha.items()
        for metric, value in zip(("doc_rec", "page_rec"), pair, strict=True)
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, schema=RETRIEVAL_SCORES)


class TestPick:
    def test_golden_choices(self) -> None:
        sweep = _table(GOLDEN)
        assert pick_alphas(sweep, ["q1"]) == {"corpus": 0.0}
        assert pick_alphas(sweep, ["q2"]) == {"corpus": 0.5}, "equal page recall: document recall decides"
        assert pick_alphas(sweep, ["q3"]) == {"corpus": 0.5}, "nothing decides: the middle"
        # Page recall of q1 and q2 is 1/2 for each weight; document recall leaves 0 and 1/2, and the middle wins.
        assert pick_alphas(sweep, ["q1", "q2"]) == {"corpus": 0.5}
        assert pick_alphas(sweep, []) == {}

    def test_the_questions_of_the_fold_decide_nothing(self) -> None:
        """Whatever happens to the question that is left out, the choice stays."""
        others = ["q1", "q3"]
        chosen = pick_alphas(_table(GOLDEN), others)
        for value in (0.0, 1.0):
            changed = {**GOLDEN, "q2": dict.fromkeys(GOLDEN["q2"], (value, 1 - value))}
            assert pick_alphas(_table(changed), others) == chosen == {"corpus": 0.0}
        assert pick_alphas(_table(GOLDEN), ["q2", "q3"]) != chosen

    def test_each_space_has_its_choice(self) -> None:
        other = {"q1": {0.0: (1.0, 0.1), 0.5: (1.0, 0.2), 1.0: (1.0, 0.3)}}
        sweep = pa.concat_tables([_table({"q1": GOLDEN["q1"]}), _table(other, "filing")])
        assert pick_alphas(sweep, ["q1"]) == {"corpus": 0.0, "filing": 1.0}
        assert alpha_means(sweep)["filing"] == {0.0: 0.1, 0.5: 0.2, 1.0: 0.3}

    def test_the_order_of_the_rows_does_not_matter(self) -> None:
        sweep = _table(GOLDEN)
        turned = sweep.take(list(range(sweep.num_rows))[::-1])
        for questions in (["q1", "q2", "q3"], ["q2", "q3"]):
            assert pick_alphas(turned, questions) == pick_alphas(sweep, questions)


class TestSweep:
    @pytest.fixture(scope="class")
    @classmethod
    def corpus(cls, indexed: IndexedLake) -> Corpus:
        return Corpus(indexed.lake, indexed.filings, indexed.settings, indexed.encoder)

    def test_it_scores_what_the_runner_ranks(self, corpus: Corpus, indexed: IndexedLake) -> None:
        grid = (0.0, 0.35, 1.0)
        sweep = conform(
            alpha_sweep(SYSTEMS["hybrid_alpha"], Inputs(corpus), indexed.questions, grid=grid),
            "retrieval_scores",
        )
        found = {
            (row["system"], row["space"], row["question_id"], row["metric"]): row["value"]
            for row in sweep.to_pylist()
        }
        assert len(found) == len(grid) * 3 * len(indexed.questions) * 2 == sweep.num_rows
        for alpha in grid:
            learned = Learned({"hybrid_alpha": HybridWeights({space.value: alpha for space in Space})})
            for question in indexed.questions:
                for space in Space:
                    where = space.scope(question["filing"], question["gold_pages"])
                    hits = SYSTEMS["hybrid_alpha"].search(
                        question["question"], Inputs(corpus, learned), where
                    )[:5]
                    ranking = [RankedChunk(hit.chunk_id, hit.filing, hit.page) for hit in hits]
                    gold = GoldStandard(question["filing"], frozenset(question["gold_pages"]), frozenset())
                    overlap = {hit.chunk_id: (0.0, 0.0) for hit in hits}
                    scores = {(m, k): v for m, k, v in score_question(ranking, gold, overlap)}
                    for metric in ("doc_rec", "page_rec"):
                        key = (f"alpha={alpha:.2f}", space.value, question["question_id"], metric)
                        assert found[key] == scores[metric, 5]

    def test_the_grid(self) -> None:
        assert len(GRID) == 21 and GRID[0] == 0.0 and GRID[-1] == 1.0 and GRID[7] == 0.35

    def test_no_questions(self, corpus: Corpus) -> None:
        assert alpha_sweep(SYSTEMS["hybrid_alpha"], Inputs(corpus), []).num_rows == 0
