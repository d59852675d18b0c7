"""Markdown tables against tables written by hand."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.errors import LakeError, UsageError
from finrag_pipeline.reporting.grid import (
    Cell,
    Column,
    Grid,
    MetricIndex,
    Row,
    escape_markdown,
    grid_markdown,
)
from finrag_pipeline.reporting.tables import (
    gap_grid,
    metrics_markdown,
    published_markdown,
    published_notes,
    slice_grid,
    statistics_markdown,
)
from finrag_pipeline.schemas import CORPUS_STATISTICS, SYSTEM_METRICS
from finrag_pipeline_tests.reporting.builders import (
    HOSTILE,
    metric_row,
    metrics_table,
    random_metrics,
    statistics_table,
)

EMPTY = SYSTEM_METRICS.empty_table()


def small_run(**overrides: object) -> pa.Table:
    """Two systems over the corpus and one oracle; the weaker system comes first in the table."""
    rows = []
    for system, space, values in (
        ("bm25", "filing", (1.0, 0.3)),
        ("bm25", "corpus", (0.5, 0.1)),
        ("dense", "corpus", (0.75, 0.25)),
    ):
        for metric, value in zip(("doc_rec", "page_rec"), values, strict=True):
            rows.append(metric_row(system, space, metric, 5, value, **overrides))
    return metrics_table(rows)


def columns(markdown: str) -> list[list[str]]:
    """Cells of every line of the first table."""
    lines = [line for line in markdown.split("\n\n")[0].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def test_metrics_golden() -> None:
    assert metrics_markdown(small_run()) == (
        "| System | Space | DocRec@5 | PageRec@5 | Hit@5 | Max BLEU@5 | Max ROUGE-L@5 | NDCG@10 | MRR | n |\n"
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
        "| `dense` | Whole corpus | 0.750 [0.700, 0.800] | 0.250 [0.200, 0.300] | – | – | – | – | – | 150 |\n"
        "| `bm25` | Whole corpus | 0.500 [0.450, 0.550] | 0.100 [0.050, 0.150] | – | – | – | – | – | 150 |\n"
        "| `bm25` | Oracle filing | 1.000 [0.950, 1.000] | 0.300 [0.250, 0.350] | – | – | – | – | – | 150 |\n"
    )


def test_a_mean_without_interval_shows_its_number_of_questions() -> None:
    table = small_run(low=None, high=None, n=3, documents=1)
    assert "| 0.750 (n = 3) | 0.250 (n = 3) |" in metrics_markdown(table)
    nan = small_run(low=float("nan"), high=float("nan"), n=3)
    assert metrics_markdown(nan) == metrics_markdown(table)


def test_slices_add_a_column_and_read_as_people_speak() -> None:
    markdown = metrics_markdown(random_metrics(systems=("dense",), companies=2), slice="source")
    head, _, *rows = columns(markdown)
    assert head[:3] == ["Source", "System", "Space"]
    assert [row[0] for row in rows] == ["PDF"] * 3 + ["Text only"] * 3
    assert {row[-1] for row in rows if row[0] == "Text only"} == {"21"}


def test_cutoffs_apply_to_the_metrics_that_take_one() -> None:
    (head, *_) = columns(metrics_markdown(random_metrics(systems=("dense",), companies=0), k=20))
    assert head[2:-1] == [
        "DocRec@20",
        "PageRec@20",
        "Hit@20",
        "Max BLEU@20",
        "Max ROUGE-L@20",
        "NDCG@10",
        "MRR",
    ]


def test_unknown_slices_and_cutoffs_name_the_choices() -> None:
    with pytest.raises(
        UsageError, match="Choose one of: all, question_type, kind, doc_type, company, source"
    ):
        metrics_markdown(small_run(), slice="sector")
    with pytest.raises(UsageError, match=r"k = 7\. Choose one of: 5"):
        metrics_markdown(small_run(), k=7)
    with pytest.raises(LakeError, match="system_metrics"):
        metrics_markdown(pa.table({"system": ["dense"]}))


def test_empty_tables_say_so() -> None:
    assert metrics_markdown(EMPTY) == "_No system has been measured yet._\n"
    assert (
        statistics_markdown(CORPUS_STATISTICS.empty_table()) == "_The corpus has not been described yet._\n"
    )
    assert "| – | 0.32 | 0.32 | 0.55 |" in published_markdown(EMPTY)
    assert "this run measured none" in published_markdown(EMPTY)


def test_published_columns_stand_beside_ours() -> None:
    head, _, *rows = columns(published_markdown(small_run()))
    assert head == [
        "System",
        "Metric",
        "This run",
        "K&L, French (published)",
        "K&L, English (published)",
        "Kobeissi 2026 (published)",
        "Difference (this run − Kobeissi 2026)",
    ]
    assert [
        "`bm25`, whole corpus",
        "DocRec@5",
        "0.500 [0.450, 0.550]",
        "0.32",
        "0.32",
        "0.55",
        "−0.050",
    ] in rows
    assert [
        "`dense`, whole corpus",
        "PageRec@5",
        "0.250 [0.200, 0.300]",
        "0.34",
        "0.34",
        "0.35",
        "−0.100",
    ] in rows
    assert ["`dense`, oracle pages", "PageRec@5", "–", "1.00", "1.00", "1.00", "–"] in rows
    assert len(rows) == 13 * 4  # published rows and their metrics


def test_other_question_sets_get_no_difference_but_a_caution() -> None:
    markdown = published_markdown(small_run(n=12, documents=5))
    assert columns(markdown)[0][-1] == "Kobeissi 2026 (published)"
    assert "- Not comparable: the papers measured 150 questions on 84 filings" in markdown
    assert "this run measured 12 on 5." in markdown


def test_notes_count_the_questions_without_pdf() -> None:
    notes = published_notes(MetricIndex(random_metrics()))
    assert any(note.startswith("21 of the 150 questions") for note in notes)
    assert not any(
        "of the 150 questions are on" in note for note in published_notes(MetricIndex(small_run()))
    )
    assert any("BAAI/bge-m3" in note for note in notes)


def test_statistics_golden() -> None:
    rows = [
        {"doc_type": "10-K", "statistic": "documents", "mean": 2.0, "std": None, "n": 2},
        {"doc_type": "10-K", "statistic": "question_tokens", "mean": 30.0, "std": 2.0, "n": 4},
        {"doc_type": "all", "statistic": "documents", "mean": 3.0, "std": None, "n": 3},
        {"doc_type": "all", "statistic": "question_tokens", "mean": 31.25, "std": 4.5, "n": 1200},
        {"doc_type": "all", "statistic": "chunks_per_page", "mean": 1.25, "std": 0.5, "n": 9},
    ]
    assert statistics_markdown(pa.Table.from_pylist(rows, schema=CORPUS_STATISTICS)) == (
        "| Statistic | All filings | FinanceBench (published, K&L, French) | 10-K |\n"
        "| --- | ---: | ---: | ---: |\n"
        "| Filings | 3 | 84 | 2 |\n"
        "| Chunks per page | 1.2 ± 0.5 (n = 9) | – | – |\n"
        "| Tokens per question | 31.2 ± 4.5 (n = 1,200) | 40.0 ± 24.0 | 30.0 ± 2.0 (n = 4) |\n"
    )


def test_every_statistic_has_a_name() -> None:
    names = [row[0] for row in columns(statistics_markdown(statistics_table()))[2:]]
    assert len(names) == 12
    assert not any("_" in name for name in names)


def test_gap_grid_gives_the_gain_of_an_oracle_over_the_corpus() -> None:
    grid = gap_grid(MetricIndex(small_run()))
    gains = {(row.system, row.cells[1].text): row.cells[-1].text for row in grid.rows}
    assert gains == {
        ("bm25", "Whole corpus"): "–",
        ("bm25", "Oracle filing"): "+0.200",
        ("dense", "Whole corpus"): "–",
    }


def test_slice_grid_ranks_systems_within_each_value() -> None:
    grid = slice_grid(MetricIndex(random_metrics(companies=3)), "company")
    assert [row.cells[0].text for row in grid.rows] == [f"Company 0{i}" for i in range(3) for _ in range(3)]
    for start in (0, 3, 6):
        recall = [row.cells[3].sort for row in grid.rows[start : start + 3]]
        assert recall == sorted(recall, reverse=True)
    assert all(row.cells[5].text and row.cells[6].text for row in grid.rows), "questions and filings"


def test_unknown_systems_and_spaces_keep_their_names_and_come_last() -> None:
    rows = [
        metric_row("zzz", "attic", "page_rec", 5, 0.9),
        metric_row("zzz", "corpus", "page_rec", 5, 0.9),
        metric_row("dense", "corpus", "page_rec", 5, 0.2),
    ]
    table = columns(metrics_markdown(metrics_table(rows)))
    assert [(row[0], row[1]) for row in table[2:]] == [
        ("`zzz`", "Whole corpus"),
        ("`dense`", "Whole corpus"),
        ("`zzz`", "attic"),
    ]


def test_hostile_names_stay_within_their_cell() -> None:
    rows = [metric_row(HOSTILE, "corpus", "page_rec", 5, 0.5)]
    head, _, row = columns(metrics_markdown(metrics_table(rows)))
    assert len(row) == len(head)
    assert "<script>" not in row[0].replace("\\<", "")


@given(st.text(max_size=60))
def test_any_text_makes_one_cell_on_one_line(text: str) -> None:
    grid = Grid("g", "caption", (Column("A"), Column("B")), (Row((Cell(text), Cell("end"))),))
    lines = grid_markdown(grid).removesuffix("\n").split("\n")
    assert len(lines) == 3
    assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", lines[2])) == 3


def test_escaping_leaves_plain_text_alone() -> None:
    assert escape_markdown("Procter & Gamble 10-K (2022)") == "Procter & Gamble 10-K (2022)"
    assert escape_markdown("a|b<c>&amp;\nd") == r"a\|b\<c\>\&amp; d"
