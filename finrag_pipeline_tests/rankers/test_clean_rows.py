"""Clean rows: the leakage rule is kept by code, row by row."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from finrag_pipeline.errors import BenchmarkError
from finrag_pipeline.rankers.clean_rows import (
    clean_pairs,
    drawn_rows,
    is_clean,
    read_clean_rows,
    split_rows,
)
from finrag_pipeline.rankers.texts import PageTexts
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.rankers.corpus import TOPICS, page_text

NONE: dict[str, Any] = {
    "fb_company": None,
    "fb_corpus_company": None,
    "fb_doc_overlap": [],
    "fb_corpus_overlap": [],
}


def finqa(filing: str, page: int, link: str = "exact", **flags: Any) -> dict[str, Any]:
    return {
        "qid": f"{filing}/page_{page}.pdf-1",
        "page_file": f"{filing}/page_{page}.pdf",
        "question": f"what is the {TOPICS[page % 8]} on page {page} of {filing}?",
        "corpus_id": f"{filing} {page}",
        "link": link,
        **NONE,
        **flags,
    }


def write(folder: Path, questions: list[dict[str, Any]], **others: list[dict[str, Any]]) -> Path:
    for name, rows in {
        "finqa/finqa_qa": questions,
        **{k.replace("__", "/"): v for k, v in others.items()},
    }.items():
        path = folder / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    pages = {row["corpus_id"]: row for row in [*questions, *others.get("tatqa__tatqa_reconstructed", [])]}
    for name in ("finqa", "tatqa"):
        (folder / name).mkdir(exist_ok=True)
        with gzip.open(folder / name / f"{name}_corpus.jsonl.gz", "wt", encoding="utf-8") as stream:
            for number, page in enumerate(sorted(pages)):
                if page != "no text":
                    text = page_text(TOPICS[number % 8], number)
                    stream.write(json.dumps({"corpus_id": page, "text": text}) + "\n")
    return folder


@pytest.mark.parametrize("flag", sorted(NONE))
def test_a_row_with_any_flag_is_left_out(flag: str, tmp_path: Path) -> None:
    flags: dict[str, Any] = {flag: ["X"] if flag.endswith("overlap") else "X"}
    rows = [finqa("ABC/2010", 1), finqa("DEF/2011", 2, "exact", **flags)]
    found = read_clean_rows(write(tmp_path, rows))
    assert [row.filing for row in found.rows] == ["ABC/2010"] and found.skipped["overlap"] == 1
    assert set(found.pages) == {"ABC/2010 1"}, "its page is not there to be a negative either"


def test_questions_that_do_not_name_the_filing_of_a_page_take_it_from_those_that_do(tmp_path: Path) -> None:
    def tatqa(name: str, filing: str | None) -> dict[str, Any]:
        margin = {"link_margin": 1.0} if filing else {}
        return {"qid": name, "question": f"{name}?", "corpus_id": "abc", "doc_name": filing, **margin, **NONE}

    named, unnamed = tatqa("a", "acme_2019"), tatqa("b", None)
    folder = write(tmp_path, [], tatqa__tatqa_reconstructed=[named], tatqa__tatqa_official_dev_test=[unnamed])
    found = read_clean_rows(folder)
    assert {row.filing for row in found.rows} == {"acme_2019"} == set(found.filing_of.values())
    assert len(found.rows) == 2


def test_a_row_without_flags_is_refused(tmp_path: Path) -> None:
    row = {name: value for name, value in finqa("ABC/2010", 1).items() if name != "fb_company"}
    with pytest.raises(BenchmarkError, match="does not say whether it overlaps"):
        read_clean_rows(write(tmp_path, [row]))
    assert is_clean({"fb_company": []}, "x") and not is_clean({"fb_company": "", "fb_other": "A"}, "x")


def test_a_page_that_one_question_flags_is_left_out_of_all(tmp_path: Path) -> None:
    flagged = {**finqa("ABC/2010", 1), "qid": "other", "fb_company": "X"}
    found = read_clean_rows(write(tmp_path, [finqa("ABC/2010", 1), flagged, finqa("ABC/2010", 2)]))
    assert [row.page_id for row in found.rows] == ["ABC/2010 2"] and found.skipped["overlap"] == 2


def test_uncertain_links_and_missing_pages_are_left_out(tmp_path: Path) -> None:
    rows = [
        *(finqa("ABC/2010", n, link) for n, link in enumerate(("exact", "A", "B", "C"))),
        {**finqa("ABC/2010", 9), "corpus_id": "no text"},
    ]
    found = read_clean_rows(write(tmp_path, rows))
    assert [row.page_id[-1] for row in found.rows] == ["0", "1", "2"]
    assert found.skipped == {"uncertain link": 1, "no page": 1, "overlap": 0}


def test_the_other_sets(tmp_path: Path) -> None:
    named: list[tuple[str | None, float, dict[str, Any]]] = [
        ("ab_2019", 3.0, {"fb_company": None}),
        (None, 0.5, {"fb_company": None}),
        ("cd_2019", 0.0, {"fb_company": None}),
        ("ef_2019", 9.0, {"fb_company": "X"}),
    ]
    tatqa: list[dict[str, Any]] = [
        {
            "qid": f"t{n}",
            "doc_name": name,
            "corpus_id": f"t{n}",
            "link_margin": margin,
            "question": f"q{n}",
            **flags,
        }
        for n, (name, margin, flags) in enumerate(named)
    ]
    lofin = [
        {"qid": qid, "question": f"rewritten {n}", "source": source, "fb_company": company}
        for n, (qid, source, company) in enumerate(
            [
                ("ABC/2010/page_1.pdf-1", "finqa", []),
                ("unknown", "openqa", []),
                ("DEF/2011/page_2.pdf-1", "finqa", []),  # its FinQA row is flagged
                ("financebench_1", "financebench", ["X"]),
                ("financebench_2", "financebench", []),
            ]
        )
    ]
    rows = [finqa("ABC/2010", 1), finqa("DEF/2011", 2, fb_corpus_company="X")]
    folder = write(tmp_path, rows, tatqa__tatqa_reconstructed=tatqa, lofin__lofin_test=lofin)
    found = read_clean_rows(folder)
    asked = {row.question: row.filing for row in found.rows}
    assert asked == {
        rows[0]["question"]: "ABC/2010",
        "rewritten 0": "ABC/2010",
        "q0": "ab_2019",
        "q1": "t1",
    }
    assert found.skipped == {"overlap": 4, "uncertain link": 1, "no page": 2}


def test_nothing_clean_and_damaged_files_are_told(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match="no clean rows"):
        read_clean_rows(tmp_path)
    (write(tmp_path, [finqa("ABC/2010", 1)]) / "finqa" / "finqa_qa.jsonl").write_text('{"qid": \n')
    with pytest.raises(BenchmarkError, match=r"finqa_qa\.jsonl line 1"):
        read_clean_rows(tmp_path)


class TestPretraining:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        rows = [finqa(f"F{n}/2010", page) for n in range(5) for page in range(4)]
        return write(tmp_path / "data", [*rows, finqa("X/2010", 1, fb_company="X")])

    def texts(self, settings: Settings) -> PageTexts:
        return PageTexts(Lake(settings.lake), settings.page_scorer, settings.encoder, 32)

    def test_negatives_are_other_pages_of_the_filing(self, folder: Path, training_settings: Settings) -> None:
        clean = read_clean_rows(folder)
        pairs = clean_pairs(clean, self.texts(training_settings), 1, 3)
        assert len(pairs) == 20
        for row, pair in zip(clean.rows, pairs, strict=True):
            assert pair.positive == clean.pages[row.page_id]
            others = {
                p for page, p in clean.pages.items() if page[:2] == row.filing[:2] and page != row.page_id
            }
            assert set(pair.negatives[0]) == others

    def test_what_validates_is_not_learned(self, folder: Path, training_settings: Settings) -> None:
        clean = read_clean_rows(folder)
        learned, questions, pages = split_rows(clean, self.texts(training_settings), 1, 3, 300)
        held = {row.filing for row in clean.rows} - {pair.filing for pair in learned}
        assert len(held) == 1 and {row["filing"] for row in questions} == set(pages) == held
        hidden = {clean.pages[page] for page, filing in clean.filing_of.items() if filing in held}
        assert not any(hidden & {pair.positive, *pair.negatives[0]} for pair in learned)

    def test_rows_are_drawn_by_the_seed_with_the_pages_of_their_filings(self, folder: Path) -> None:
        clean = read_clean_rows(folder)
        assert drawn_rows(clean, None, 1) is clean and drawn_rows(clean, 99, 1) is clean
        drawn = drawn_rows(clean, 3, 1)
        assert len(drawn.rows) == 3 and drawn.rows == drawn_rows(clean, 3, 1).rows
        assert {row.filing for row in drawn.rows} == set(drawn.filing_of.values())
        assert len(drawn.pages) == 4 * len(set(drawn.filing_of.values()))
        assert drawn.rows != drawn_rows(clean, 3, 2).rows
