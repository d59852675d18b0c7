from __future__ import annotations

from finrag_pipeline.chunking.restructure import RESTRUCTURED, as_markdown, with_table_sentences

TEXT = """note 2 : net revenue
the change was due to weather .

                  | amount | 2014
----------------- | ------ | ----
2014 net revenue  | $ 5735 | 1
volume | weather  | -32
the retail price rose ."""


def test_markdown() -> None:
    assert as_markdown(TEXT) == (
        "## note 2 : net revenue\n\nthe change was due to weather .\n\n"
        "|  | amount | 2014 |\n| --- | --- | --- |\n| 2014 net revenue | $ 5735 | 1 |\n"
        "| volume | weather | -32 |\n\n"
        "the retail price rose ."
    )


def test_cells_in_words_stand_behind_their_table() -> None:
    lines = with_table_sentences(TEXT).splitlines()
    assert lines[:2] == ["note 2 : net revenue", "the change was due to weather ."]
    place = lines.index("2014 net revenue, amount: $ 5735.")
    assert lines[place : place + 2] == ["2014 net revenue, amount: $ 5735.", "2014 net revenue, 2014: 1."]
    assert lines[-1] == "the retail price rose ."


def test_text_without_a_table_keeps_its_words() -> None:
    plain = "It rose .\nIt fell ."
    assert as_markdown(plain) == "It rose . It fell ."
    assert with_table_sentences(plain) == plain
    assert all(form("") == "" for form in RESTRUCTURED.values())
