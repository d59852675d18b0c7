"""Every row of the registry beside the first stages, on the indexed lake."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from finrag_pipeline.chunking.fixed import CHILD, parent_of
from finrag_pipeline.chunking.registry import PARENT_CHILD, get_chunking
from finrag_pipeline.embedding.tokens import pool_windows
from finrag_pipeline.errors import LakeError, ModelError
from finrag_pipeline.retrieval.component import Inputs, Learned, Query
from finrag_pipeline.retrieval.corpus import Corpus
from finrag_pipeline.retrieval.first_stages import Splade
from finrag_pipeline.retrieval.fusion import HybridWeights, reciprocal_rank_fusion, weighted_fusion
from finrag_pipeline.retrieval.query_expansion import expand_query, keywords
from finrag_pipeline.retrieval.second_stages import CrossEncoder
from finrag_pipeline.retrieval.spaces import Scope, Space
from finrag_pipeline.retrieval.system import run_system
from finrag_pipeline.retrieval.systems import ABLATIONS, SYSTEMS, RetrievalSystem, variant
from finrag_pipeline.settings import ChunkSettings
from finrag_pipeline_tests.indexed_lake import IndexedLake
from finrag_pipeline_tests.retrieval.stand_ins import (
    FixedPages,
    Replies,
    ScoredBy,
    Written,
    corpus_of,
    give,
    ids,
    rank,
    resolver,
)
from finrag_pipeline_tests.tiny_transformers import write_tiny_bert

pytestmark = pytest.mark.slow

QUESTION = "What was the net revenue and the goodwill of the company?"


@pytest.fixture(scope="module")
def corpus(indexed: IndexedLake) -> Corpus:
    return corpus_of(indexed)


class TestHybridAlpha:
    def test_it_is_the_weighted_sum_of_both_rankings(self, corpus: Corpus, indexed: IndexedLake) -> None:
        learned = Learned({"hybrid_alpha": HybridWeights({"corpus": 0.3, "filing": 0.3, "pages": 0.3})})
        for question in indexed.questions:
            text = question["question"]
            dense = [(hit.chunk_id, hit.score) for hit in rank(SYSTEMS["dense"], text, corpus)]
            lexical = [
                (hit.chunk_id, hit.score) for hit in rank(SYSTEMS["bm25"], text, corpus) if hit.score > 0
            ]
            hits = rank(SYSTEMS["hybrid_alpha"], text, corpus, learned=learned)
            assert [(hit.chunk_id, hit.score) for hit in hits] == weighted_fusion(dense, lexical, 0.3)
            assert all("weight of dense 0.30" in hit.why and hit.passage for hit in hits)

    def test_each_space_has_its_weight(self, corpus: Corpus, indexed: IndexedLake) -> None:
        learned = Learned({"hybrid_alpha": HybridWeights({"corpus": 1.0, "filing": 0.0, "pages": 1.0})})
        filing, text = indexed.filings[0], "x1y2z revenue of x1y0z"
        hits = rank(SYSTEMS["hybrid_alpha"], text, corpus, learned=learned)
        assert ids(hits) == ids(rank(SYSTEMS["dense"], text, corpus))
        in_filing = rank(SYSTEMS["hybrid_alpha"], text, corpus, (filing,), learned=learned)
        lexical = [hit for hit in rank(SYSTEMS["bm25"], text, corpus, (filing,)) if hit.score > 0]
        assert ids(in_filing)[: len(lexical)] == ids(lexical)
        on_pages = rank(SYSTEMS["hybrid_alpha"], text, corpus, (filing,), (0, 2), learned=learned)
        assert ids(on_pages) == ids(rank(SYSTEMS["dense"], text, corpus, (filing,), (0, 2)))

    def test_without_a_weight_it_is_not_run(self, corpus: Corpus) -> None:
        with pytest.raises(ModelError, match="was not tuned"):
            rank(SYSTEMS["hybrid_alpha"], QUESTION, corpus)
        with pytest.raises(ModelError, match="was not tuned for this space"):
            rank(
                SYSTEMS["hybrid_alpha"],
                QUESTION,
                corpus,
                learned=Learned({"hybrid_alpha": HybridWeights({"pages": 0.5})}),
            )


class TestSplade:
    def test_it_ranks_by_the_weights_of_the_index(self, indexed: IndexedLake) -> None:
        corpus = corpus_of(indexed)
        weights = np.arange(len(corpus.chunk_ids), dtype=np.float32)
        corpus.splade = SimpleNamespace(scores=lambda question: weights)
        assert ids(rank(SYSTEMS["splade"], QUESTION, corpus)) == corpus.chunk_ids[::-1]
        filing = indexed.filings[2]
        hits = rank(SYSTEMS["splade"], QUESTION, corpus, (filing,), (1, 3))
        positions = corpus.positions(Scope((filing,), (1, 3)))
        assert positions is not None
        inside = positions.tolist()[::-1]
        assert ids(hits) == [corpus.chunk_ids[n] for n in inside]
        assert hits[0].score == weights[inside[0]] and hits[0].why.startswith("weighted terms")


class TestParentChild:
    def test_parents_are_scored_by_their_best_child(self, indexed: IndexedLake) -> None:
        parents = corpus_of(indexed, chunking=PARENT_CHILD, kinds=("parent",))
        assert set(parents.chunks["kind"].to_pylist()) == {"parent"}
        vector = indexed.encoder.embed_queries([QUESTION])[0].astype(np.float64)
        best: dict[str, float] = defaultdict(lambda: -2.0)
        children = parents.of_kinds((CHILD,))
        for child in children.chunk_ids:
            windows = indexed.encoder.embed(indexed.encoder.windows(children.text(child)))
            best[parent_of(child)] = max(
                best[parent_of(child)], float((windows.astype(np.float64) @ vector).max())
            )
        hits = rank(SYSTEMS["parent_child"], QUESTION, parents)
        assert set(ids(hits)) == set(best) == set(parents.chunk_ids), "every parent once"
        assert [hit.score for hit in hits] == pytest.approx(sorted(best.values(), reverse=True), abs=1e-5)
        for hit in hits:
            assert hit.score == pytest.approx(best[hit.chunk_id], abs=1e-5)
            assert hit.passage and hit.passage in " ".join(parents.text(hit.chunk_id).split())

    def test_runs_hold_parents_in_every_space(self, indexed: IndexedLake) -> None:
        parents = corpus_of(indexed, chunking=PARENT_CHILD, kinds=("parent",))
        rows = run_system(SYSTEMS["parent_child"], Inputs(parents), indexed.questions).to_pylist()
        assert {row["chunk_id"] for row in rows} <= set(parents.chunk_ids)
        pages = {(row["question_id"], row["page"]) for row in rows if row["space"] == "pages"}
        assert pages == {(q["question_id"], page) for q in indexed.questions for page in q["gold_pages"]}

    def test_any_first_stage_finds_parents(self, indexed: IndexedLake) -> None:
        parents = corpus_of(indexed, chunking=PARENT_CHILD, kinds=("parent",))
        for name in ("bm25", "hybrid_rrf"):
            hits = rank(variant(SYSTEMS[name], chunking="parent_child"), "x1y2z revenue", parents)
            assert set(ids(hits)) <= set(parents.chunk_ids) and len(set(ids(hits))) == len(hits)
            assert (hits[0].filing, hits[0].page) == (indexed.filings[0], 2)


class TestQueries:
    def test_expansion_is_dense_search_for_the_expanded_question(self, corpus: Corpus) -> None:
        question = "What was the FY2020 CAPEX?"
        assert expand_query(question) != question
        found = rank(SYSTEMS["query_expansion"], question, corpus)
        assert ids(found) == ids(rank(SYSTEMS["dense"], expand_query(question), corpus))
        assert [h.score for h in found] != [h.score for h in rank(SYSTEMS["dense"], question, corpus)]

    @pytest.mark.parametrize(("name", "count"), [("hyde", 1), ("multi_hyde", 4)])
    def test_hyde_searches_for_the_mean_of_its_passages(
        self, indexed: IndexedLake, name: str, count: int
    ) -> None:
        words = ["net income tax", "goodwill debt", "dividend margin", "cash flow", "never asked for"]
        corpus = corpus_of(indexed, {"passages": Written(lambda question, place: words[place])})
        (wanted,) = pool_windows(indexed.encoder.embed(words[:count]), [count])
        expected = rank(SYSTEMS["dense"], Query("whatever", "whatever", (wanted,)), corpus)
        found = rank(SYSTEMS[name], QUESTION, corpus)
        assert ids(found) == ids(expected)
        assert [hit.score for hit in found] == pytest.approx([hit.score for hit in expected], abs=1e-6)

    def test_the_fused_variant_fuses_question_and_passages(self, indexed: IndexedLake) -> None:
        words = ["net income tax", "goodwill debt", "dividend margin", "cash flow"]
        corpus = corpus_of(indexed, {"passages": Written(lambda question, place: words[place])})
        rankings = [ids(rank(SYSTEMS["dense"], text, corpus)) for text in (QUESTION, *words)]
        expected = reciprocal_rank_fusion(rankings)[:100]
        found = rank(ABLATIONS["multi_hyde_fused"], QUESTION, corpus)
        assert dict(zip(ids(found), [hit.score for hit in found], strict=True)) == pytest.approx(
            dict(expected)
        )

    def test_runs_ask_for_each_question_in_every_space(self, indexed: IndexedLake) -> None:
        corpus = corpus_of(indexed, {"passages": Written(lambda question, place: f"{question} {place}")})
        rows = run_system(SYSTEMS["multi_hyde"], Inputs(corpus), indexed.questions).to_pylist()
        expected = {(space.value, q["question_id"]) for space in Space for q in indexed.questions}
        assert {(row["space"], row["question_id"]) for row in rows} == expected

    def test_without_passages_it_is_not_run(self, corpus: Corpus) -> None:
        with pytest.raises(ModelError, match="neither recorded passages nor a language model"):
            rank(SYSTEMS["hyde"], QUESTION, corpus)


class TestReranking:
    def test_the_first_candidates_are_ordered_by_the_reranker(self, indexed: IndexedLake) -> None:
        reranker = ScoredBy(lambda question, text: -len(text))
        corpus = corpus_of(indexed, {"rerankers": {"mine": reranker}})
        system = replace(SYSTEMS["dense"], rerank=CrossEncoder("mine", 8))
        before = ids(rank(SYSTEMS["dense"], QUESTION, corpus))
        hits = rank(system, QUESTION, corpus)
        assert ids(hits)[:8] == sorted(before[:8], key=lambda chunk: len(corpus.text(chunk)))
        assert ids(hits)[8:] == before[8:], "the others stay in their order, behind"
        scores = [hit.score for hit in hits]
        assert scores == sorted(scores, reverse=True) and len(set(scores[8:])) == len(scores[8:])
        assert reranker.asked == [(QUESTION, 8)]
        assert hits[0].why.startswith("cross-encoder -")

    def test_n_candidates_are_read_however_few_are_wanted(self, indexed: IndexedLake) -> None:
        reranker = ScoredBy(lambda question, text: -len(text))
        corpus = corpus_of(indexed, {"rerankers": {None: reranker}})
        few = rank(SYSTEMS["dense_rerank"], QUESTION, corpus, depth=3)
        assert ids(few) == ids(rank(SYSTEMS["dense_rerank"], QUESTION, corpus))[:3]
        assert reranker.asked[0] == (QUESTION, 20)

    def test_name_and_candidates_of_the_settings_count(self, indexed: IndexedLake, tmp_path: Path) -> None:
        def corpus(**values: Any) -> Corpus:
            chosen = indexed.settings.reranker.model_copy(update=values)
            settings = indexed.settings.model_copy(update={"reranker": chosen})
            return Corpus(indexed.lake, indexed.filings, settings, indexed.encoder)

        row, reranker = SYSTEMS["dense_rerank"], ScoredBy(lambda question, text: -len(text))
        five = corpus(candidates=5)
        give(five, "rerankers", {None: reranker})
        rank(row, QUESTION, five)
        assert reranker.asked == [(QUESTION, 5)]
        head = "BertForSequenceClassification"
        one, other = (write_tiny_bert(tmp_path / str(n), head, n, num_labels=1) for n in range(2))
        changes = ({"name": str(one)}, {"name": str(other)}, {"name": str(one), "candidates": 5})
        found = [Inputs(corpus(**change)) for change in changes]
        assert [row.problem(inputs) for inputs in found] == [None] * 3
        assert len({row.fingerprint(inputs) for inputs in found}) == 3

    def test_it_reads_the_question_and_not_the_passages(self, indexed: IndexedLake) -> None:
        reranker = ScoredBy(lambda question, text: 0.0)
        passages = Written(lambda question, place: "net income")
        tools = {"rerankers": {None: reranker}, "passages": passages}
        corpus = corpus_of(indexed, tools)
        hits = rank(SYSTEMS["multi_hyde_rerank"], QUESTION, corpus)
        assert reranker.asked == [(QUESTION, 20)]
        assert ids(hits) == ids(rank(SYSTEMS["multi_hyde"], QUESTION, corpus)), "equal scores change no order"


class TestSelection:
    def test_what_the_model_drops_is_gone(self, indexed: IndexedLake) -> None:
        model = Replies("F T F F T F F F F T")
        corpus = corpus_of(indexed, {"language_model": model})
        first = ids(rank(SYSTEMS["dense"], QUESTION, corpus, depth=10))
        hits = rank(SYSTEMS["document_selection"], QUESTION, corpus)
        assert ids(hits) == [first[1], first[4], first[9]]
        assert all(hit.why.endswith("selected") for hit in hits) and len(model.asked) == 1

    @pytest.mark.parametrize("reply", ["I keep all of them", "F F F F F F F F F F", "T T"])
    def test_a_reply_of_no_use_drops_nothing(self, indexed: IndexedLake, reply: str) -> None:
        corpus = corpus_of(indexed, {"language_model": Replies(reply)})
        hits = rank(SYSTEMS["document_selection"], QUESTION, corpus)
        assert ids(hits) == ids(rank(SYSTEMS["dense"], QUESTION, corpus, depth=10))

    def test_without_a_model_it_is_not_run(self, corpus: Corpus) -> None:
        with pytest.raises(ModelError, match="No language model"):
            rank(SYSTEMS["document_selection"], QUESTION, corpus)


class TestWhatTheGuideAndTheCompetitionVary:
    def test_keywords_are_the_words_that_carry_the_question(self) -> None:
        asked = "What was the total net revenue of Alder in 2021, in USD millions?"
        assert keywords(asked) == "total net revenue alder 2021 millions"
        assert keywords("What was it?") == "What was it?"

    @pytest.mark.parametrize("name", ["dense_llm_keywords", "dense_llm_expansion"])
    def test_a_language_model_adds_to_the_question_once(self, indexed: IndexedLake, name: str) -> None:
        model = Replies("goodwill,  dividends")
        inputs = Inputs(corpus_of(indexed, {"language_model": model}))
        queries = ABLATIONS[name].queries([QUESTION, QUESTION, "tax?"], inputs)
        assert [query.text for query in queries.values()] == [
            f"{QUESTION} goodwill, dividends",
            "tax? goodwill, dividends",
        ]
        assert len(model.asked) == 2 and "give no answer" in model.asked[0][0].content

    def test_without_a_language_model_it_says_so(self, corpus: Corpus) -> None:
        assert "language model" in str(ABLATIONS["dense_llm_expansion"].problem(Inputs(corpus)))

    def test_company_and_year_are_filters_of_their_own(self, indexed: IndexedLake) -> None:
        first, second, third, _ = indexed.filings
        rows = [{"filing": name, "fiscal_year": year} for name, year in ((first, 2021), (third, 2022))]
        tools = {"resolver": resolver(first, second, years=(2022,)), "fiscal years": rows}
        corpus = corpus_of(indexed, tools)
        assert {hit.filing for hit in rank(ABLATIONS["filtered_company"], QUESTION, corpus)} == {
            first,
            second,
        }
        assert {hit.filing for hit in rank(ABLATIONS["filtered_year"], QUESTION, corpus)} == {third}
        nobody = corpus_of(indexed, {"resolver": resolver()})
        for name in ("filtered_company", "filtered_year"):
            assert ids(rank(ABLATIONS[name], QUESTION, nobody)) == ids(
                rank(SYSTEMS["dense"], QUESTION, nobody)
            )

    def test_broad_search_takes_the_pages_of_all_statements(self, indexed: IndexedLake) -> None:
        name = indexed.filings[0]
        kinds = ("income_statement", "financial_position", "cash_flows")
        pages = {(name, page, kind): frozenset() for page, kind in enumerate(kinds, start=1)}
        corpus = corpus_of(indexed, {"resolver": resolver(name), "statement_pages": pages})

        def found(system: str) -> set[int]:
            row = {**SYSTEMS, **ABLATIONS}[system]
            return {hit.page for hit in rank(row, "What was the capital expenditure?", corpus)}

        assert found("statement_aware") == {3} and found("statement_all") == {1, 2, 3}
        assert found("statement_none") > {1, 2, 3}


def _learned(indexed: IndexedLake) -> Learned:
    pages = FixedPages([(name, page) for page in range(5) for name in indexed.filings])
    weights = HybridWeights({space.value: 0.4 for space in Space})
    return Learned(
        {"hybrid_alpha": weights, **dict.fromkeys(("page_scorer", "page_ranker", "page_reranker"), pages)}
    )


def _every_tool(indexed: IndexedLake) -> dict[str, Any]:
    return {
        "resolver": resolver(indexed.filings[0]),
        "statement_pages": {(indexed.filings[0], 1, "cash_flows"): frozenset()},
        "passages": Written(lambda question, place: f"{question} {place}"),
        "language_model": Replies("T T T T T F F F F F"),
        "rerankers": {None: ScoredBy(lambda question, text: len(text))},
    }


ROWS = [system for system in (*SYSTEMS.values(), *ABLATIONS.values()) if system.first != Splade()]


@pytest.mark.parametrize("system", ROWS, ids=lambda system: system.name)
def test_gold_labels_are_read_by_the_oracle_spaces_alone(
    indexed: IndexedLake, system: RetrievalSystem
) -> None:
    """Other gold labels, the same rankings of the whole corpus."""
    chunks = {"chunking": get_chunking(system.chunking), "kinds": system.kinds}
    corpus = corpus_of(indexed, _every_tool(indexed), **chunks)
    questions = indexed.questions
    wrong = [{**question, "filing": "NOBODY", "gold_pages": [99]} for question in questions]
    first, second = (
        run_system(system, Inputs(corpus, _learned(indexed)), asked, [Space.CORPUS])
        for asked in (questions, wrong)
    )
    assert first.num_rows and first.equals(second)


@pytest.mark.parametrize("system", ROWS, ids=lambda system: system.name)
def test_rankings_are_sorted_without_doubles_inside_their_space(
    indexed: IndexedLake, system: RetrievalSystem
) -> None:
    chunks = {"chunking": get_chunking(system.chunking), "kinds": system.kinds}
    corpus = corpus_of(indexed, _every_tool(indexed), **chunks)
    rows = run_system(system, Inputs(corpus, _learned(indexed)), indexed.questions).to_pylist()
    gold = {q["question_id"]: (q["filing"], q["gold_pages"]) for q in indexed.questions}
    rankings = defaultdict(list)
    for row in rows:
        rankings[row["space"], row["question_id"]].append(row)
    for (space, question), ranking in rankings.items():
        assert [row["rank"] for row in ranking] == list(range(1, len(ranking) + 1))
        assert len({row["chunk_id"] for row in ranking}) == len(ranking)
        scores = [row["score"] for row in ranking]
        assert scores == sorted(scores, reverse=True)
        if space != "corpus":
            assert {row["filing"] for row in ranking} == {gold[question][0]}
        if space == "pages":
            assert {row["page"] for row in ranking} <= set(gold[question][1])


def test_vectors_that_no_asset_makes_are_made_on_first_use(indexed: IndexedLake) -> None:
    # Another length of chunks has another table, which is empty.
    settings = indexed.settings.model_copy(update={"chunks": ChunkSettings(tokens=63, overlap=16)})
    names = indexed.filings[:2]
    with pytest.raises(LakeError, match="not in the vector index"):
        rank(SYSTEMS["dense"], QUESTION, Corpus(indexed.lake, names, settings, indexed.encoder))
    corpus = Corpus(indexed.lake, names, settings, indexed.encoder, index_missing=True)
    expected = rank(
        SYSTEMS["dense"], QUESTION, Corpus(indexed.lake, names, indexed.settings, indexed.encoder)
    )
    assert ids(rank(SYSTEMS["dense"], QUESTION, corpus)) == ids(expected)
