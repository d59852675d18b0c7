from __future__ import annotations

from finrag_pipeline.tables.paths import read_paths
from finrag_pipeline_tests.tables.grids import make_table


def test_headings_by_indentation() -> None:
    paths = read_paths(
        make_table(
            [
                ["", "2018"],
                ["Current assets:", ""],
                ["Cash", "1"],
                ["Total current assets", "1"],
                ["Property", "2"],
            ],
            levels=[0, 0, 1, 1, 0],
        )
    )
    assert paths.rows[2:] == [
        ("Current assets:", "Cash"),
        ("Current assets:", "Total current assets"),
        ("Property",),
    ]
    assert paths.headings == {1}


def test_headings_without_indentation_hold_until_a_total() -> None:
    paths = read_paths(
        make_table(
            [
                ["", "2018"],
                ["Current assets:", ""],
                ["Cash", "1"],
                ["Total current assets", "1"],
                ["Property", "2"],
            ]
        )
    )
    assert paths.rows[2] == ("Current assets:", "Cash")
    assert paths.rows[4] == ("Property",)


def test_a_date_stands_above_headings_of_its_own_depth() -> None:
    paths = read_paths(
        make_table(
            [
                ["", "Cost"],
                ["June 30, 2016", ""],
                ["Assets", ""],
                ["Funds", "5"],
                ["June 30, 2015", ""],
                ["Funds", "4"],
            ]
        )
    )
    assert paths.rows[3] == ("June 30, 2016", "Assets", "Funds")
    assert paths.rows[5] == ("June 30, 2015", "Funds")


def test_a_label_over_two_lines_is_one_label() -> None:
    paths = read_paths(make_table([["", "2018"], ["Net income attributable to", ""], ["the company", "5"]]))
    assert paths.labels[2] == "Net income attributable to the company"
    assert paths.rows[2] == ("Net income attributable to the company",)


def test_column_headers_span() -> None:
    paths = read_paths(
        make_table(
            [
                ["(In millions)", "Three Months Ended", "", "Six Months Ended", ""],
                ["", "2022", "2021", "2022", "2021"],
                ["Revenue", "1", "2", "3", "4"],
            ],
            header_rows=2,
            spans={(0, 1): 2, (0, 3): 2},
        )
    )
    assert paths.headers.paths[2:4] == (("Three Months Ended", "2021"), ("Six Months Ended", "2022"))
    assert paths.headers.stub == ("(In millions)",)


def test_one_header_over_several_columns_covers_them_all() -> None:
    paths = read_paths(
        make_table(
            [["", "", "Year Ended June 30,", ""], ["", "2016", "2015", "2014"], ["Revenue", "1", "2", "3"]],
            header_rows=2,
        )
    )
    assert list(paths.headers.paths[1:]) == [
        ("Year Ended June 30,", year) for year in ("2016", "2015", "2014")
    ]


def test_a_units_line_below_the_headers_is_one_of_them() -> None:
    paths = read_paths(make_table([["", "2016", "2015"], ["", "(in thousands)", ""], ["Revenue", "1", "2"]]))
    assert paths.header_rows == {0, 1}
    assert paths.headers.stub == ("(in thousands)",)
    assert paths.headers.paths[1] == ("2016",)


def test_a_row_of_years_heads_the_rows_below_it() -> None:
    paths = read_paths(
        make_table(
            [
                ["", "2018", "2017"],
                ["Revenue", "1", "2"],
                ["At December 31", "2018", "2016"],
                ["Assets", "3", "4"],
            ]
        )
    )
    below = paths.column_paths()
    assert below[1][2] == ("2017",)
    assert below[3][2] == ("2016",)
    assert 2 in paths.header_rows


def test_headers_of_the_page_before_by_number_and_by_position() -> None:
    before = read_paths(make_table([["", "2018", "2017"], ["Revenue", "1", "2"]])).headers
    same = read_paths(make_table([["Taxes", "3", "4"]], header_rows=0, continues=True), before)
    assert same.headers.paths == ((), ("2018",), ("2017",))
    # A column less: the remaining one stands below 2018.
    fewer = read_paths(make_table([["Taxes", "3"]], header_rows=0, continues=True), before)
    assert fewer.headers.paths == ((), ("2018",))


def test_a_header_alone_below_others_keeps_to_its_column() -> None:
    rows = [
        ["", "Shares", "", "Value"],
        ["", "", "per share", ""],
        ["", "2018", "2018", "2018"],
        ["Series A", "5", "0.5", "7"],
    ]
    paths = read_paths(make_table(rows, header_rows=3))
    assert paths.headers.paths[1:] == (("Shares", "2018"), ("per share", "2018"), ("Value", "2018"))


def test_a_second_column_of_labels_goes_on_below_its_first() -> None:
    paths = read_paths(
        make_table(
            [
                ["", "", "2018", "2017"],
                ["Pumps", "", "", ""],
                ["Rotary", "Home", "10", "9"],
                ["", "Abroad", "4", "3"],
                ["", "Total", "14", "12"],
                ["Piston", "Home", "2", "2"],
                ["", "Total", "2", "2"],
                ["Net sales", "", "16", "14"],
            ]
        )
    )
    assert paths.rows[2:] == [
        ("Pumps", "Rotary", "Home"),
        ("Pumps", "Rotary", "Abroad"),
        ("Pumps", "Rotary", "Total"),
        ("Pumps", "Piston", "Home"),
        ("Pumps", "Piston", "Total"),
        ("Pumps", "Net sales"),
    ]
    assert paths.labels[4] == "Total"


def test_a_column_of_words_beside_every_label_is_no_second_label() -> None:
    paths = read_paths(
        make_table(
            [
                ["Country", "City", "Staff"],
                ["Norway", "Oslo", "4"],
                ["Spain", "Vigo", "7"],
                ["Peru", "Lima", "2"],
            ]
        )
    )
    assert paths.rows[1:] == [("Norway",), ("Spain",), ("Peru",)]
