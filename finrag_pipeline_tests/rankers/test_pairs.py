from __future__ import annotations

from typing import Any

import pytest

from finrag_pipeline.evaluation.benchmark import assign_folds
from finrag_pipeline.rankers.loop import Run
from finrag_pipeline.rankers.page_scorer import BiEncoderRun
from finrag_pipeline.rankers.pairs import (
    Neighbourhood,
    Pair,
    benchmark_pairs,
    draw_rows,
    evidence_piece,
    split_inner,
)
from finrag_pipeline.rankers.reranker import CrossEncoderRun
from finrag_pipeline.rankers.texts import PageTexts, flatten, page_scores
from finrag_pipeline.settings import EncoderSettings, PageScorerSettings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.rankers.corpus import question, write_corpus, write_filing

KINDS = ("filing", "statement", "neighbour")


def reader(lake: Lake, encoder: EncoderSettings, **changes: Any) -> PageTexts:
    return PageTexts(lake, PageScorerSettings(**changes), encoder, 32)


class TestTexts:
    def test_a_page_is_cut_after_its_white_space_is_collapsed(
        self, lake: Lake, tiny_encoder_settings: EncoderSettings
    ) -> None:
        texts = reader(lake, tiny_encoder_settings, max_characters=9)
        assert texts.pieces("net \n\n  income\tand more") == ("net incom",)
        assert texts.pieces(" \n ") == ()
        assert len(reader(lake, tiny_encoder_settings).pieces("x " * 9000)[0]) == 1999

    def test_windows_hold_the_whole_page(self, lake: Lake, tiny_encoder_settings: EncoderSettings) -> None:
        words = [f"tax {n}" for n in range(200)]
        windows = reader(lake, tiny_encoder_settings, text="windows").pieces("  \n".join(words))
        assert len(windows) > 10 and " ".join(windows) == " ".join(words)

    def test_a_page_is_scored_by_its_best_piece(self) -> None:
        texts, owners = flatten([("a", "b"), (), ("c",)])
        assert texts == ["a", "b", "c"] and owners.tolist() == [0, 0, 2]
        scores = page_scores([0.1, 0.7, -0.2], owners, 3)
        assert scores.tolist() == pytest.approx([0.7, -1.0, -0.2])
        assert page_scores(*flatten([()]), 1).tolist() == [-1.0]


class TestNegatives:
    @pytest.fixture
    def around(self, lake: Lake, tiny_encoder_settings: EncoderSettings) -> Neighbourhood:
        pages = ["cover", "income", "", "assets", "notes"]
        for company in ("A", "B"):
            for year in (2019, 2020, 2021):
                # The statement stands on another page each year.
                shown = {1 + (year - 2019): "income", 4: "balance"} if year > 2019 else {3: "income"}
                texts = [f"{page} {company}{year}" if page else "" for page in pages]
                texts[2] = "income again" if year == 2021 else ""
                write_filing(lake, f"{company}_{year}", texts, f"Company  {company}", year, shown)
        names = [f"{company}_{year}" for company in "AB" for year in (2019, 2020, 2021)]
        return Neighbourhood(lake, reader(lake, tiny_encoder_settings), names)

    def test_other_pages_of_the_filing(self, around: Neighbourhood) -> None:
        assert around.places("filing", "A_2020", 1, [1, 4]) == [("A_2020", 0), ("A_2020", 3)]

    def test_the_neighbours_that_are_neither_gold_nor_blank(self, around: Neighbourhood) -> None:
        assert around.places("neighbour", "A_2020", 0, [0]) == [("A_2020", 1)]
        assert around.places("neighbour", "A_2020", 3, [3, 4]) == []

    def test_the_same_statement_in_other_years_of_the_company(self, around: Neighbourhood) -> None:
        found = around.places("statement", "A_2021", 4, [4])
        assert found == [("A_2020", 4)], "the balance sheet of 2019 is not known"
        assert around.places("statement", "A_2019", 3, [3]) == [("A_2021", 3)], "that of 2020 is blank"
        assert around.places("statement", "A_2020", 0, [0]) == [], "a cover shows no statement"

    def test_hidden_filings_give_none(self, lake: Lake, tiny_encoder_settings: EncoderSettings) -> None:
        names, _ = write_corpus(lake, 4)
        texts = reader(lake, tiny_encoder_settings)
        assert Neighbourhood(lake, texts, names).places("statement", "C0_2020", 0, [0]) == [("C0_2021", 0)]
        hidden = Neighbourhood(lake, texts, [name for name in names if name != "C0_2021"])
        assert hidden.places("statement", "C0_2020", 0, [0]) == []


class TestPairs:
    def test_one_pair_per_question_and_gold_page(
        self, lake: Lake, tiny_encoder_settings: EncoderSettings
    ) -> None:
        write_filing(lake, "F", ["zero", "one", "", "three"])
        texts = reader(lake, tiny_encoder_settings)
        rows = [
            question(0, "F", [1, 0, 1], "twice the same page"),
            question(1, "F", [2], "a blank page"),
            question(2, "F", [0], "page zero"),
            question(3, "F", [77], "no such page"),
        ]
        pairs = benchmark_pairs(rows, texts, KINDS, Neighbourhood(lake, texts, ["F"]))
        assert [(pair.question_id, pair.positive) for pair in pairs] == [
            ("q00", "zero"),
            ("q00", "one"),
            ("q02", "zero"),
        ]
        assert [pair.negatives for pair in pairs[:2]] == [(("three",),) * 3] * 2
        assert all(len(pair.negatives) == 3 for pair in pairs), "where a kind has no page, one of the filing"
        assert pairs[0].seen == {"F"}

    def test_as_in_the_paper_there_are_no_hard_negatives(
        self, lake: Lake, tiny_encoder_settings: EncoderSettings
    ) -> None:
        write_filing(lake, "F", ["the only page"])
        texts = reader(lake, tiny_encoder_settings)
        (pair,) = benchmark_pairs([question(0, "F", [0], "q")], texts, (), Neighbourhood(lake, texts, ["F"]))
        assert pair.negatives == () and draw_rows([pair], 1, 1) == [["q", "the only page"]]
        assert (
            benchmark_pairs([question(0, "F", [0], "q")], texts, KINDS, Neighbourhood(lake, texts, [])) == []
        )

    def test_a_repeated_text_is_no_negative(self, lake: Lake, tiny_encoder_settings: EncoderSettings) -> None:
        write_filing(lake, "F", ["form", "form", "other"])
        texts = reader(lake, tiny_encoder_settings)
        around = Neighbourhood(lake, texts, ["F"])
        (pair,) = benchmark_pairs([question(0, "F", [0], "q")], texts, ("neighbour", "filing"), around)
        assert pair.negatives == (("other",), ("other",))

    def test_the_window_with_the_evidence_is_the_positive(self) -> None:
        pieces = ("revenue rose", "goodwill of 17 and tax", "tax")
        assert evidence_piece(pieces, "Goodwill 17") == pieces[1]
        assert evidence_piece(pieces, "unknown") == pieces[0]


def pairs_sharing_texts() -> list[Pair]:
    """Twelve questions on four pages, some asked twice, with negatives that are positives of others."""
    return [
        Pair(
            f"q{n}",
            f"question {n % 7}",
            "F",
            f"page {n % 4}",
            ((f"page {(n + 1) % 4}", f"page {(n + 2) % 4}"), (f"note {n % 5}",)),
            frozenset({"F"}),
        )
        for n in range(12)
    ]


@pytest.mark.parametrize("size", [2, 4, 16])
def test_no_text_stands_twice_in_a_batch(size: int) -> None:
    for epoch in range(1, 6):
        batches = BiEncoderRun.batches(pairs_sharing_texts(), size, 7, epoch)
        for batch in batches:
            texts = [text for row in batch for text in row]
            assert len(texts) == len(set(texts)) and len(batch) <= size
        assert {row[0] for batch in batches for row in batch} == {f"question {n}" for n in range(7)}


@pytest.mark.parametrize("kind", [BiEncoderRun, CrossEncoderRun])
def test_batches_are_those_of_their_seed_and_epoch(kind: type[Run[Any]]) -> None:
    pairs = pairs_sharing_texts()
    assert kind.batches(pairs, 4, 7, 2) == kind.batches(pairs, 4, 7, 2)
    assert kind.batches(pairs, 4, 7, 2) != kind.batches(pairs, 4, 7, 3)
    assert kind.batches(pairs, 4, 7, 2) != kind.batches(pairs, 4, 8, 2)


def test_every_pair_stands_once_in_an_epoch_of_a_cross_encoder() -> None:
    pairs = pairs_sharing_texts()
    found = CrossEncoderRun.batches(pairs, 5, 7, 1)
    assert [len(batch) for batch in found] == [5, 5, 2]
    assert sorted(row[:2] for batch in found for row in batch) == sorted(
        [pair.question, pair.positive] for pair in pairs
    )


class TestSplits:
    def test_the_inner_split_keeps_documents_whole(self) -> None:
        rows = [question(n, f"F{n % 6}", [0], "q") for n in range(30)]
        training, validating = split_inner(rows, 0.2, 3)
        assert len(validating) >= 6 and len(training) + len(validating) == 30
        assert not {row["filing"] for row in training} & {row["filing"] for row in validating}
        assert split_inner(rows, 0.2, 3) == (training, validating)
        assert split_inner(rows[:1], 0.2, 3) == (rows[:1], [])

    def test_or_companies(self) -> None:
        rows = [question(n, f"C{n % 3}_{n}", [0], "q") for n in range(12)]
        training, validating = split_inner(rows, 0.2, 3, "company")
        assert validating and not {r["company"] for r in training} & {r["company"] for r in validating}

    def test_folds_by_company_keep_its_years_together(self) -> None:
        import pyarrow as pa

        rows = [question(n, f"C{n % 7}_{n % 3}", [0], "q", status="measured") for n in range(42)]
        table = pa.Table.from_pylist(rows)
        found = assign_folds(table, 5, 17, by="company")
        folds: dict[str, set[int]] = {}
        for filing, fold in zip(found["filing"].to_pylist(), found["fold"].to_pylist(), strict=True):
            folds.setdefault(filing.split("_")[0], set()).add(fold)
        assert all(len(own) == 1 for own in folds.values()) and len({*found["fold"].to_pylist()}) == 5
        by_document = assign_folds(table, 5, 17)
        assert by_document != found
