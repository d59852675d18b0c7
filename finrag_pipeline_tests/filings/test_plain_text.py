"""Plain-text filings: pages, words in their places, and their tables."""

from pathlib import Path

import pytest

from finrag_pipeline.errors import FilingError
from finrag_pipeline.filings.pages import read_text_pages
from finrag_pipeline.tables.words.detector import WordsDetector
from finrag_pipeline.tables.words_of_pages import page_words
from finrag_pipeline_tests.tables.grids import texts_of

STATEMENT = """<SEC-DOCUMENT>0000-1.txt
<DOCUMENT>
<TYPE>10-K
<TEXT>
                       SECURITIES AND EXCHANGE COMMISSION
                                    1
<PAGE>
                        STATEMENTS OF INCOME (in thousands)
<TABLE>
<CAPTION>
                                        1996        1995
<S>                                   <C>         <C>
Net sales                             $ 5,210     $ 4,811
Cost of sales                           3,301       3,140
                                      -------     -------
Gross profit                            1,909       1,671
Selling and administrative             (1,201)     (1,115)
</TABLE>
                                    2
</TEXT>
</DOCUMENT>
<DOCUMENT><TEXT>An exhibit</TEXT></DOCUMENT>
"""


def test_pages_words_and_tables(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(STATEMENT)
    pages = read_text_pages(path, "a")
    assert pages["label"].to_pylist() == ["1", "2"]
    assert "exhibit" not in "".join(pages["text"].to_pylist())
    _, found = WordsDetector().detect(page_words(pages), path)
    (table,) = found
    assert texts_of(table)[:2] == [["", "1996", "1995"], ["Net sales", "$ 5,210", "$ 4,811"]]
    assert ["Gross profit", "1,909", "1,671"] in texts_of(table)


def test_a_text_without_breaks_is_cut_between_paragraphs(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(("word\n" * 59 + "\n") * 5)
    assert [text.count("word") for text in read_text_pages(path, "a")["text"].to_pylist()] == [177, 118]


def test_an_empty_text_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("\n\n")
    with pytest.raises(FilingError, match=r"^a\.txt holds no text"):
        read_text_pages(path, "a")
