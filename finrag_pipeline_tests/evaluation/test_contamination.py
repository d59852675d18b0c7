from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.errors import LakeError
from finrag_pipeline.evaluation.contamination import METRICS, contamination, contamination_scores
from finrag_pipeline.evaluation.failure_modes import FilingIdentity, filing_identities
from finrag_pipeline.evaluation.summary import summarise
from finrag_pipeline.settings import EvaluationSettings
from finrag_pipeline_tests.evaluation.builders import question_row, questions_table, run_rows, runs_table

IDENTITIES = {
    "A_2020": FilingIdentity("alder", 2020),
    "A_2021": FilingIdentity("alder", 2021),
    "A_2021_Q1": FilingIdentity("alder", 2021),
    "A_LETTER": FilingIdentity("alder", None),
    "B_2020": FilingIdentity("birch", 2020),
    "B_2021": FilingIdentity("birch", 2021),
}


class TestOneRanking:
    @pytest.mark.parametrize(
        ("ranked", "expected"),
        [
            (["A_2021"] * 5, [0, 0]),
            (["A_2021", "A_2021_Q1"], [0, 0]),
            (["A_2021", "A_2020", "B_2021", "B_2020", "A_2021"], [2 / 5, 1 / 5]),
            (["B_2020", "B_2021"], [1, 0]),
            (["A_2020", "A_LETTER"], [0, 1 / 2]),
            ([], [0, 0]),
        ],
    )
    def test_worked_by_hand(self, ranked, expected):
        assert contamination(ranked, "A_2021", IDENTITIES) == pytest.approx(expected)

    def test_a_gold_filing_without_year_makes_no_year_wrong(self):
        assert contamination(["A_2020", "B_2020"], "A_LETTER", IDENTITIES) == [0.5, 0]

    def test_a_filing_that_nobody_knows_is_an_error(self):
        with pytest.raises(LakeError, match="'C_2021' of a ranking is not in the table"):
            contamination(["A_2021", "C_2021"], "A_2021", IDENTITIES)

    @given(st.lists(st.sampled_from(sorted(IDENTITIES)), max_size=8), st.sampled_from(sorted(IDENTITIES)))
    def test_shares_are_shares_of_one_ranking(self, ranked, gold):
        company, year = contamination(ranked, gold, IDENTITIES)
        assert 0 <= company + year <= 1 + 1e-12
        right = sum(IDENTITIES[filing] == IDENTITIES[gold] for filing in ranked)
        assert company + year <= 1 - right / max(len(ranked), 1) + 1e-12


class TestRuns:
    QUESTIONS = questions_table(
        question_row("q1", "A_2021", [0]),
        question_row("q2", "B_2020", [0]),
        question_row("q3", "B_2020", [0], status="excluded", problem="no page"),
    )

    def scores(self, **options):
        ranked = [("c1", "A_2021", 0), ("c2", "A_2020", 0), ("c3", "B_2020", 0), ("c4", "B_2020", 1)]
        rows = run_rows("dense", "corpus", "q1", ranked) + run_rows("dense", "corpus", "q3", ranked)
        table = contamination_scores(
            runs_table(list(reversed(rows))), self.QUESTIONS, IDENTITIES, 3, **options
        )
        return {
            (row["system"], row["space"], row["question_id"], row["metric"]): row["value"]
            for row in table.to_pylist()
            if row["k"] == 3
        }

    def test_the_first_chunks_by_rank_count_and_a_question_without_chunks_holds_nothing_wrong(self):
        values = self.scores()
        assert [values["dense", "corpus", "q1", metric] for metric in METRICS] == pytest.approx(
            [1 / 3, 1 / 3]
        )
        assert [values["dense", "corpus", "q2", metric] for metric in METRICS] == [0, 0]
        assert len(values) == 2 * len(METRICS), "excluded questions are not scored"

    def test_an_expected_system_without_rows_is_scored(self):
        values = self.scores(expected=[("finrag", "corpus")])
        assert values["finrag", "corpus", "q1", "wrong_company"] == 0
        assert len(values) == 4 * len(METRICS)

    def test_its_means_come_with_intervals(self):
        table = contamination_scores(
            runs_table(run_rows("dense", "corpus", "q1", [("c1", "B_2020", 0)])), self.QUESTIONS, IDENTITIES
        )
        means = summarise(table, self.QUESTIONS, {}, EvaluationSettings()).to_pylist()
        (found,) = [row for row in means if row["slice"] == "all" and row["metric"] == "wrong_company"]
        assert (found["mean"], found["n"]) == (0.5, 2)
        assert 0 < found["low"] < 0.05 and 0.95 < found["high"] < 1, "two filings show little"


class TestIdentities:
    @staticmethod
    def row(filing, company, **changes):
        return {
            "filing": filing,
            "status": "ok",
            "company": company,
            "declared_company": None,
            "ticker": None,
            "fiscal_year": 2021,
            **changes,
        }

    def test_filings_of_a_company_that_is_spelt_in_two_ways_are_one_companys(self):
        found = filing_identities(
            [
                self.row("a", "THE ALDER COMPANY", fiscal_year=2020),
                self.row("b", "Alder Co"),
                self.row("c", "Birch, Inc."),
            ]
        )
        assert found["a"].company == found["b"].company != found["c"].company
        assert [found[filing].fiscal_year for filing in "abc"] == [2020, 2021, 2021]

    def test_a_renamed_company_is_told_by_the_file_number_of_the_covers(self):
        covers = {"a": "Commission File Number 001-12345", "b": "Commission file number: 1-12345"}
        found = filing_identities([self.row("a", "Alder Inc."), self.row("b", "Larch Inc.")], covers)
        assert found["a"].company == found["b"].company

    def test_a_filing_without_name_is_a_company_of_its_own_and_a_failed_one_is_left_out(self):
        rows = [self.row("a", None), self.row("b", None), self.row("c", "Alder Inc.", status="failed")]
        found = filing_identities(rows)
        assert set(found) == {"a", "b"}
        assert found["a"].company != found["b"].company
