"""Markdown tables against tables written by hand."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.errors import LakeError, UsageError
from finrag_pipeline.evaluation.corpus_statistics import STATISTICS, TOTALS
from finrag_pipeline.evaluation.failure_modes import LABELS
from finrag_pipeline.evaluation.published import (
    COMPARED_WITH,
    METRICS,
    PUBLICATIONS,
    PUBLISHED,
    PUBLISHED_STATISTICS,
    PUBLISHED_VALUES,
    is_comparable,
)
from finrag_pipeline.evaluation.retrieval_gap import LEVELS
from finrag_pipeline.reporting.grid import (
    Cell,
    Column,
    Grid,
    MetricIndex,
    Row,
    escape_markdown,
    grid_markdown,
)
from finrag_pipeline.reporting.plots import LIGHT, gap_levels_plot, in_dark
from finrag_pipeline.reporting.tables import (
    LABEL_NAMES,
    LEVEL_NAMES,
    ablation_grid,
    calibration_grid,
    comparison_grid,
    estimates_grid,
    gap_grid,
    gap_markdown,
    gap_shares,
    headline_grid,
    labels_grid,
    levels_grid,
    metrics_markdown,
    published_markdown,
    published_notes,
    rates_grid,
    slice_grid,
    statistics_markdown,
)
from finrag_pipeline.retrieval.spaces import Space
from finrag_pipeline.retrieval.systems import SYSTEMS
from finrag_pipeline.schemas import (
    ANSWER_RATES,
    CORPUS_STATISTICS,
    GAP_COUNTS,
    JUDGE_CALIBRATION,
    JUDGED_ESTIMATES,
    SYSTEM_COMPARISONS,
    SYSTEM_METRICS,
)
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


def test_another_table_is_refused() -> None:
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


def _metrics(*systems: str) -> pa.Table:
    rows = [
        {
            "system": system, "space": space, "slice": "all", "slice_value": "all", "metric": metric, "k": 5,
            "mean": 0.1 * number + (0.5 if space == "filing" else 0.0), "low": 0.0, "high": 1.0, "n": 150,
            "documents": 84,
        }
        for number, system in enumerate(systems)
        for space in ("corpus", "filing")
        for metric in ("doc_rec", "page_rec")
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, schema=SYSTEM_METRICS)


def test_each_variant_stands_under_its_system() -> None:
    grid = ablation_grid(
        MetricIndex(_metrics("bm25", "dense", "dense_contextual", "bm25_contextual_text_rows_pages"))
    )
    shown = [[cell.text for cell in row.cells] for row in grid.rows]
    assert [row[:4] for row in shown] == [
        ["BM25 (Okapi)", "fixed", "text", "chunk"],
        ["BM25 (Okapi)", "contextual", "text, table row", "page"],
        ["Dense", "fixed", "text", "chunk"],
        ["Dense", "contextual", "text, table rows and tables", "chunk"],
    ]
    assert [row[4] for row in shown] == ["0.000", "0.300", "0.100", "0.200"]
    assert [row[6] for row in shown] == ["0.500", "0.800", "0.600", "0.700"]
    assert {row[7] for row in shown} == {"150"}


def test_only_systems_whose_chunks_were_varied_have_rows() -> None:
    index = MetricIndex(
        _metrics("dense", "hyde", "finrag", "dense_pages", "multi_hyde_fused", "page_scorer_p5")
    )
    assert [row.system for row in ablation_grid(index).rows] == ["dense", "dense_pages"]


def test_ablations_do_not_stand_among_the_systems() -> None:
    index = MetricIndex(_metrics("bm25", "dense_contextual"))
    assert index.systems == ["bm25"]
    assert index.ablations == ["dense_contextual"]
    assert {row.system for row in headline_grid(index).rows} == {"bm25"}


def test_without_ablations_the_table_says_how_to_make_them() -> None:
    grid = ablation_grid(MetricIndex(_metrics("bm25", "dense")))
    assert not grid.rows and "finrag run --ablations" in grid.empty
    assert not ablation_grid(MetricIndex(SYSTEM_METRICS.empty_table())).rows


def count(retrieval: str, answering: str | None, value: str, number: int, **more: Any) -> dict[str, Any]:
    share = number / 10
    ends = {"low": max(0.0, share - 0.2), "high": min(1.0, share + 0.2)}
    row = {"retrieval": retrieval, "answering": answering, "space": "corpus", "kind": "level", "value": value}
    return {**row, "count": number, "share": share, **ends, "n": 10, **more}


ROWS = [
    count("dense", None, "filing", 3),
    count("dense", None, "page", 5),
    count("dense", None, "chunk", 0),
    count("dense", None, "none", 2),
    count("dense", None, "wrong_year", 4, kind="label"),
    count("finrag", None, "filing", 1),
    count("finrag", None, "page", 1, low=None, high=None),
    count("finrag", None, "none", 8),
    count("bm25_contextual_pages", None, "none", 10),
    count("finrag", "prompt", "generation", 6),
    count("finrag", "prompt", "none", 4),
    count("finrag", "prompt", "scale_error", 1, kind="label"),
    count("finrag", None, "none", 9, space="filing"),
]
COUNTS = pa.Table.from_pylist(ROWS, schema=GAP_COUNTS)
NOTHING = GAP_COUNTS.empty_table()


def cells(grid: Any) -> dict[str, list[tuple[str, str]]]:
    return {row.cells[0].text: [(cell.text, cell.small) for cell in row.cells[1:]] for row in grid.rows}


def test_every_level_and_label_has_a_name_for_people():
    assert tuple(LEVEL_NAMES) == LEVELS
    assert tuple(LABEL_NAMES) == LABELS


def test_systems_come_best_first_then_answers_and_no_ablations():
    assert list(gap_shares(COUNTS)) == [("finrag", None), ("dense", None), ("finrag", "prompt")]


def test_shares_stand_with_their_intervals_and_counts():
    found = cells(levels_grid(COUNTS))
    assert list(found) == ["finrag: resolver and page ranker", "Dense", "prompt on finrag"]
    assert found["Dense"][1] == ("0.500", "0.300–0.700, 5 of 10")
    assert found["Dense"][3] == ("–", ""), "a retrieval by itself answers nothing"
    assert found["finrag: resolver and page ranker"][1] == ("0.100", "n = 10, 1 of 10")
    labels = cells(labels_grid(COUNTS))
    assert labels["Dense"][LABELS.index("wrong_year")] == ("0.400", "0.200–0.600, 4 of 10")
    assert labels["prompt on finrag"][LABELS.index("scale_error")][0] == "0.100"


def test_markdown():
    text = gap_markdown(COUNTS)
    assert "| Dense | 0.300 [0.100, 0.500] 3 |" in text
    assert "Wrong year" in text and "bm25_contextual_pages" not in text
    assert gap_markdown(NOTHING).count("No system has been measured yet.") == 2


def test_a_name_that_looks_like_markup_shows_as_itself():
    row = count("<b>|x", None, "none", 1)
    text = gap_markdown(pa.Table.from_pylist([row], schema=GAP_COUNTS))
    assert "\\<b\\>\\|x" in text
    svg = gap_levels_plot(pa.Table.from_pylist([row], schema=GAP_COUNTS))
    ElementTree.fromstring(svg)


class TestPlot:
    def test_the_same_counts_give_the_same_bytes_in_every_form(self):
        assert gap_levels_plot(COUNTS) == gap_levels_plot(COUNTS)
        assert gap_levels_plot(COUNTS, fmt="png").startswith(b"\x89PNG")
        assert gap_levels_plot(COUNTS) != gap_levels_plot(COUNTS.slice(1))
        ElementTree.fromstring(gap_levels_plot(COUNTS))

    def test_no_bar_or_hatch_is_left_in_light_colours(self):
        light, dark = gap_levels_plot(COUNTS), in_dark(gap_levels_plot(COUNTS))
        for colour in (LIGHT.surface, *LIGHT.levels):
            assert colour.encode() in light
            assert colour.encode() not in dark

    def test_nothing_was_measured(self):
        assert b"<svg" in gap_levels_plot(NOTHING)

    def test_another_format_is_refused(self):
        with pytest.raises(UsageError, match="gif"):
            gap_levels_plot(COUNTS, fmt="gif")


RATE = {
    "system": "prompt on <b>|dense", "space": "corpus", "metric": "response", "theme": "all", "difficulty": "all",
    "rate": 0.9, "low": 0.8, "high": 0.95, "n": 20, "questions": 5, "effective_n": 8.0,
}  # fmt: skip
CALIBRATION = {
    "judge": "baseline", "criterion": "correctness", "labels": "two", "group": "all", "n": 9, "missing": 1,
    "observed": 0.8, "observed_low": 0.7, "observed_high": 0.9, "chance": 0.5, "kappa": None, "kappa_low": None,
    "kappa_high": None, "human_rate": 0.5, "judge_rate": 0.4, "failed": 0,
}  # fmt: skip
ESTIMATE = {
    "system": "prompt", "space": "corpus", "criterion": "veracity", "judge": "j", "theme": "all", "method": "ppi",
    "estimate": 0.7, "low": 0.5, "high": 0.8, "effective_n": 21.25, "lam": 0.4, "labels": 9, "verdicts": 40,
    "missing": 2, "questions": 5,
}  # fmt: skip
COMPARISON = {
    "system": "finrag", "baseline": "dense", "space": "corpus", "metric": "page_rec", "k": 5, "mean": 0.8,
    "baseline_mean": 0.2, "difference": -0.25, "low": -0.3, "high": -0.2, "p_value": 0.001, "p_holm": 0.026,
    "detectable": 0.12, "detectable_in_family": 0.2, "better": 3, "worse": 9, "equal": 1, "n": 13, "documents": 8,
}  # fmt: skip


def table(schema: pa.Schema, rows: list[dict]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema)


def texts(grid) -> list[list[str]]:
    return [[f"{cell.text} {cell.small}".strip() for cell in row.cells] for row in grid.rows]


def test_rates_of_all_questions_with_their_intervals() -> None:
    grid = rates_grid(table(ANSWER_RATES, [RATE, {**RATE, "theme": "x", "rate": 0.1}]))
    assert texts(grid) == [["prompt on <b>|dense", "corpus", "–", "0.900 0.800–0.950", "–"]]
    assert r"prompt on \<b\>\|dense" in grid_markdown(rates_grid(table(ANSWER_RATES, [RATE]))), (
        "no text is taken for markup"
    )


def test_calibration_without_a_kappa() -> None:
    (row,) = texts(
        calibration_grid(table(JUDGE_CALIBRATION, [CALIBRATION, {**CALIBRATION, "group": "some system"}]))
    )
    assert row == ["baseline", "correctness", "two", "0.800 0.700–0.900", "0.500", "–", "9", "1"]


def test_estimates_of_people_name_no_judge() -> None:
    human = {**ESTIMATE, "method": "human", "effective_n": None}
    first, second = texts(
        estimates_grid(table(JUDGED_ESTIMATES, [ESTIMATE, human, {**ESTIMATE, "theme": "x"}]))
    )
    assert first == [
        "prompt",
        "Whole corpus",
        "veracity",
        "j",
        "PPI, over questions",
        "0.700 0.500–0.800",
        "21.2",
        "9",
        "40",
        "2",
    ]
    assert second[3:5] == ["", "People, over questions"] and second[6] == "–"


def test_comparisons_show_difference_interval_and_corrected_p() -> None:
    single = {**COMPARISON, "low": None, "high": None, "p_holm": None, "detectable": None}
    first, second = texts(comparison_grid(table(SYSTEM_COMPARISONS, [COMPARISON, single])))
    assert first[3:] == [
        "PageRec@5",
        "0.800 n = 13",
        "−0.250 [−0.300, −0.200]",
        "0.0260",
        "0.120",
        "3 / 9 / 1",
    ]
    assert second[5:8] == ["−0.250", "–", "–"]


def test_empty_tables_of_judges_say_so() -> None:
    grids = (rates_grid, calibration_grid, estimates_grid, comparison_grid)
    schemas = (ANSWER_RATES, JUDGE_CALIBRATION, JUDGED_ESTIMATES, SYSTEM_COMPARISONS)
    for grid, table in zip(grids, (schema.empty_table() for schema in schemas), strict=True):
        assert grid_markdown(grid(table)).startswith("_")


def value(paper: str, system: str, space: str, metric: str) -> float:
    return PUBLISHED_VALUES[paper, system, space, metric]


# Rows that the English paper's table does not have.
NOT_IN = {"english": {("query_expansion", "corpus"), ("hyde", "corpus")}}


def rows_of(paper: str) -> set[tuple[str, str]]:
    return {(figure.system, figure.space) for figure in PUBLISHED if figure.paper == paper}


def test_every_row_is_complete_in_every_publication() -> None:
    rows = {(figure.system, figure.space) for figure in PUBLISHED}
    assert {("bm25", "corpus"), ("splade", "corpus"), ("page_scorer", "corpus")} <= rows
    assert {("dense", "corpus"), ("dense", "filing"), ("dense", "pages")} <= rows
    for paper in PUBLICATIONS:
        assert rows_of(paper) == rows - NOT_IN.get(paper, set()), paper
    assert len(PUBLISHED) == sum(len(rows_of(paper)) for paper in PUBLICATIONS) * len(METRICS)
    assert all(figure.system in SYSTEMS and Space(figure.space) and figure.note for figure in PUBLISHED)
    assert COMPARED_WITH in PUBLICATIONS


@pytest.mark.parametrize("paper", PUBLICATIONS)
def test_figures_obey_the_definitions_of_their_metrics(paper: str) -> None:
    for system, space in rows_of(paper):
        document, page, bleu, rouge = (value(paper, system, space, metric) for metric in METRICS)
        assert 0 < bleu < rouge < 1
        assert page <= document, "a gold page stands in the gold filing"
        if space != "corpus":
            assert document == 1.0
    assert value(paper, "dense", "pages", "page_rec") == 1.0
    pages = [value(paper, "dense", space, "page_rec") for space in ("corpus", "filing", "pages")]
    assert pages == sorted(pages), "a smaller oracle space finds more gold pages"


def test_the_thesis_corrects_the_baselines_of_the_papers() -> None:
    for system in ("bm25", "dense", "hybrid_rrf"):
        for metric in METRICS:
            assert value("french", system, "corpus", metric) == value("english", system, "corpus", metric)
        assert value("thesis", system, "corpus", "doc_rec") > value("french", system, "corpus", "doc_rec")


def test_statistics_are_those_of_our_table() -> None:
    for statistic in PUBLISHED_STATISTICS:
        assert statistic.statistic in STATISTICS
        assert (statistic.std is None) == (statistic.statistic in TOTALS)
    mean = {statistic.statistic: statistic.mean for statistic in PUBLISHED_STATISTICS}
    assert mean["pages"] / mean["documents"] == pytest.approx(mean["pages_per_document"], abs=0.05)


def test_only_the_full_benchmark_is_comparable() -> None:
    assert is_comparable(150, 84)
    assert not is_comparable(149, 84)
    assert not is_comparable(150, 83)
