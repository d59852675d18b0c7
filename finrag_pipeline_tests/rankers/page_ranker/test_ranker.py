from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from finrag_pipeline.errors import BenchmarkError, LakeError, ModelError
from finrag_pipeline.rankers.card import kept_folder
from finrag_pipeline.rankers.page_ranker.lexical import read_labels
from finrag_pipeline.rankers.page_ranker.library import PageLibrary
from finrag_pipeline.rankers.page_ranker.model import general_model
from finrag_pipeline.rankers.page_ranker.needs import read_needs
from finrag_pipeline.rankers.page_ranker.ranker import LearnedPageRanker, page_reasons
from finrag_pipeline.rankers.page_ranker.terms import terms
from finrag_pipeline.rankers.registry import load_page_ranker, trained_models
from finrag_pipeline.retrieval.corpus import Corpus
from finrag_pipeline.retrieval.spaces import Scope
from finrag_pipeline.schemas import FOLDS
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.indexed_lake import PAGES, IndexedLake
from finrag_pipeline_tests.profiled_lake import COMPANIES, GOODWILL_PAGE, copied, train
from finrag_pipeline_tests.rankers.page_ranker.made_up import annual_report
from finrag_pipeline_tests.retrieval.stand_ins import corpus_of

ASKED = f"What was the goodwill of {COMPANIES[0]} in FY2020?"


class TestReasons:
    def test_statement_concepts_and_section(self) -> None:
        pages = annual_report()
        needs = read_needs("How much was capital expenditure in FY2020 and FY2021?")
        spent = "shows capital expenditure of"
        assert page_reasons(needs, pages, 3) == [
            "cash flow statement (asked for)",
            f"{spent} FY2020 and FY2021",
        ]
        # The section's page of prose holds one of the years; the balance sheet was not asked for.
        assert page_reasons(needs, pages, 1) == [f"{spent} FY2021"]
        assert page_reasons(needs, pages, 2) == ["balance sheet"]
        assert page_reasons(needs, pages, 0) == ["similar words"]

    def test_a_label_that_says_what_is_asked(self) -> None:
        printed = [["Paints,\nvarnishes"], ["Paints"], [], []]
        labels = read_labels(printed, [[terms(label) for label in page] for page in printed])
        pages = replace(annual_report(), labels=labels)
        needs = read_needs("How much are paints and varnishes?")
        assert page_reasons(needs, pages, 0) == ['table label "Paints, varnishes"']
        assert page_reasons(needs, pages, 3) == ["cash flow statement"]

    def test_a_concept_of_no_known_year_and_sections(self) -> None:
        pages = annual_report()
        found = page_reasons(read_needs("What is the current ratio in FY2021?"), pages, 2)
        assert found == [
            "balance sheet (asked for)",
            "shows total current assets of FY2021",
            "shows total current liabilities",
        ]
        found = page_reasons(read_needs("What drove growth?"), pages, 1)
        assert found == ["section mdna"]


@pytest.fixture(scope="module")
def trained(indexed: IndexedLake, tmp_path_factory: pytest.TempPathFactory) -> IndexedLake:
    found = copied(indexed, tmp_path_factory.mktemp("trained"))
    train(found, found.questions, "production")
    return found


@pytest.fixture
def ranker(trained: IndexedLake) -> LearnedPageRanker:
    found = load_page_ranker(trained.lake, trained.settings, None)
    assert isinstance(found, LearnedPageRanker)
    return found


@pytest.fixture
def corpus(trained: IndexedLake) -> Corpus:
    return corpus_of(trained)


class TestRanking:
    def test_a_question_about_a_company_is_searched_in_its_filing(
        self, ranker: LearnedPageRanker, corpus: Corpus, trained: IndexedLake
    ) -> None:
        hits = ranker.rank_pages(ASKED, corpus, Scope(), 50)
        assert {hit.filing for hit in hits} == {trained.filings[0]}
        assert sorted(hit.page for hit in hits) == list(range(PAGES)), "every page once"
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)

    def test_reasons_tell_the_page_and_the_filing(self, ranker: LearnedPageRanker, corpus: Corpus) -> None:
        why = {hit.page: hit.why for hit in ranker.rank_pages(ASKED, corpus, Scope(), 50)}
        assert why[GOODWILL_PAGE].startswith("balance sheet (asked for); shows goodwill of FY2020")
        assert why[GOODWILL_PAGE + 1].startswith("similar words")
        assert all("filed by " in text for text in why.values())

    def test_a_question_without_company_is_searched_everywhere(
        self, ranker: LearnedPageRanker, corpus: Corpus
    ) -> None:
        hits = ranker.rank_pages("goodwill of the whole industry", corpus, Scope(), 1000)
        assert len(hits) == len({(hit.filing, hit.page) for hit in hits}) == PAGES * len(corpus.filings)

    def test_so_many_and_no_more(self, ranker: LearnedPageRanker, corpus: Corpus) -> None:
        long = ranker.rank_pages(ASKED, corpus, Scope(), 50)
        assert ranker.rank_pages(ASKED, corpus, Scope(), 2) == long[:2]
        assert ranker.rank_pages(ASKED, corpus, Scope(), 0) == []

    def test_restricted_to_filings(
        self, ranker: LearnedPageRanker, corpus: Corpus, trained: IndexedLake
    ) -> None:
        chosen = trained.filings[1:3]
        hits = ranker.rank_pages(ASKED, corpus, Scope(tuple(chosen)), 50)
        assert {hit.filing for hit in hits} == set(chosen), "whatever company the question names"
        assert len(hits) == 2 * PAGES
        assert ranker.rank_pages(ASKED, corpus, Scope(()), 50) == []
        assert ranker.rank_pages(ASKED, corpus, Scope(("NOPE",)), 50) == []

    def test_restricted_to_pages(
        self, ranker: LearnedPageRanker, corpus: Corpus, trained: IndexedLake
    ) -> None:
        filing = (trained.filings[0],)
        inside = ranker.rank_pages(ASKED, corpus, Scope(filing), 50)
        hits = ranker.rank_pages(ASKED, corpus, Scope(filing, (3, 1)), 50)
        assert [hit.page for hit in hits] == [hit.page for hit in inside if hit.page in (1, 3)]
        assert ranker.rank_pages(ASKED, corpus, Scope(filing, ()), 50) == []
        assert ranker.rank_pages(ASKED, corpus, Scope(filing, (PAGES,)), 50) == []

    @pytest.mark.parametrize("question", ["", " ", "?", "株式会社の売上", "\x00", "goodwill " * 3000])
    def test_questions_of_any_kind(self, ranker: LearnedPageRanker, corpus: Corpus, question: str) -> None:
        hits = ranker.rank_pages(question, corpus, Scope(), 3)
        assert len(hits) == 3 and all(np.isfinite(hit.score) for hit in hits)

    def test_other_features_than_those_it_learned(
        self, ranker: LearnedPageRanker, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(ranker._own, "names", ("one",))
        with pytest.raises(ModelError):
            ranker.rank_pages(ASKED, corpus, Scope(), 3)


def assign(lake: Lake, questions: list[dict], fold_of: Callable[[dict], int]) -> None:
    rows = [{"question_id": q["question_id"], "filing": q["filing"], "fold": fold_of(q)} for q in questions]
    lake.write("folds", pa.Table.from_pylist(rows, schema=FOLDS), f"folds {rows}")


@pytest.fixture(scope="module")
def two_folds(trained: IndexedLake, tmp_path_factory: pytest.TempPathFactory) -> IndexedLake:
    """Two folds, the first filing and the others, each with a ranker of the questions of the other."""
    found = copied(trained, tmp_path_factory.mktemp("folds"))
    assign(found.lake, found.questions, lambda question: int(question["filing"] != found.filings[0]))
    for fold in (0, 1):
        others = [q for q in found.questions if (q["filing"] != found.filings[0]) != bool(fold)]
        train(found, others, f"fold_{fold}", seed=fold)
    return found


@pytest.fixture
def folded(two_folds: IndexedLake, tmp_path: Path) -> IndexedLake:
    return copied(two_folds, tmp_path)


class TestLoading:
    """`load_page_ranker`: production for searches, and the model of a fold for measuring."""

    def test_where_none_was_trained_the_general_one_searches_and_nothing_is_measured(
        self, indexed: IndexedLake
    ) -> None:
        assert load_page_ranker(indexed.lake, indexed.settings, 0) is None
        found = load_page_ranker(indexed.lake, indexed.settings, None)
        assert found is not None and found.question_ids == general_model().card["question_ids"]
        corpus = corpus_of(indexed)
        (best, *_) = found.rank_pages(ASKED, corpus, Scope(), 3)
        assert (best.filing, best.page) == (indexed.filings[0], GOODWILL_PAGE)

    def test_a_filing_that_the_general_one_was_trained_on_is_not_measured(self, folded: IndexedLake) -> None:
        (seen, *_) = general_model().card["filings"]
        rows = folded.lake.read("folds").to_pylist()
        rows.append({"question_id": "another", "filing": seen, "fold": 0})
        folded.lake.write("folds", pa.Table.from_pylist(rows, schema=FOLDS), "one more")
        with pytest.raises(BenchmarkError, match=seen):
            load_page_ranker(folded.lake, folded.settings, 0)
        assert load_page_ranker(folded.lake, folded.settings, 1) is not None

    def test_each_fold_has_its_own(self, folded: IndexedLake) -> None:
        found = [load_page_ranker(folded.lake, folded.settings, fold) for fold in (None, 0, 1)]
        assert all(found) and len({one.fingerprint for one in found if one}) == 3
        assert load_page_ranker(folded.lake, folded.settings, 4) is None

    def test_a_ranker_of_the_tested_questions_is_refused(self, folded: IndexedLake) -> None:
        train(folded, folded.questions, "fold_0", seed=7)
        with pytest.raises(BenchmarkError, match="trained on what it is measured on") as caught:
            load_page_ranker(folded.lake, folded.settings, 0)
        assert "fold 0" in caught.value.reason and caught.value.remedy
        assert "page_ranker" not in trained_models(folded.lake, folded.settings, 0).models
        assert load_page_ranker(folded.lake, folded.settings, 1) is not None

    def test_a_ranker_of_another_question_on_a_tested_filing_is_refused(self, folded: IndexedLake) -> None:
        mine = next(q for q in folded.questions if q["filing"] == folded.filings[0])
        train(folded, [{**mine, "question_id": "another"}], "fold_0", seed=8)
        with pytest.raises(BenchmarkError):
            load_page_ranker(folded.lake, folded.settings, 0)

    def test_folds_that_changed_after_the_training_are_noticed(self, folded: IndexedLake) -> None:
        assign(folded.lake, folded.questions, lambda question: 0)
        with pytest.raises(BenchmarkError):
            load_page_ranker(folded.lake, folded.settings, 0)

    def test_a_damaged_model_is_an_error_and_not_a_search_without_it(self, folded: IndexedLake) -> None:
        info = folded.lake.info("page_ranker", {"fold": "fold_1"})
        assert info is not None
        folded.lake.local_path(*kept_folder("page_ranker", info.fingerprint), "binary-0.txt").write_text("")
        with pytest.raises(LakeError):
            load_page_ranker(folded.lake, folded.settings, 1)


def test_pages_are_read_once(trained: IndexedLake) -> None:
    library = PageLibrary(trained.lake)
    assert library.pages(trained.filings[0]) is library.pages(trained.filings[0])
