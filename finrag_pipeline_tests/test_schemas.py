from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from finrag_pipeline.errors import LakeError
from finrag_pipeline.schemas import FILING_PAGES, FOLDS, TABLES, column_docs, conform

_FOLD = {"question_id": ["q1", "q2"], "filing": ["a", "b"], "fold": [0, 1]}


def test_a_table_that_fits_comes_back_in_the_declared_order_and_types() -> None:
    shuffled = pa.table({name: _FOLD[name] for name in ("fold", "filing", "question_id")})
    table = conform(shuffled, "folds")
    assert table.schema == FOLDS
    assert table.to_pydict() == _FOLD


@pytest.mark.parametrize("name", sorted(TABLES))
def test_every_table_may_be_empty(name: str) -> None:
    assert conform(TABLES[name].empty_table(), name).schema == TABLES[name]


@pytest.mark.parametrize("name", sorted(TABLES))
def test_every_column_is_described(name: str) -> None:
    docs = column_docs(TABLES[name])
    assert list(docs) == TABLES[name].names
    assert all(doc.endswith((".", "…")) and len(doc) > 4 for doc in docs.values())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"fold": None}, "missing ['fold']"),
        ({"extra": [1, 2]}, "unexpected ['extra']"),
        ({"question_id": ["q1", None]}, "null"),
        ({"fold": ["0", "1"]}, "Column 'fold' of table 'folds' is string, not int32"),
        ({"question_id": [1, 2]}, "Column 'question_id' of table 'folds' is int64, not string"),
        ({"fold": [0.5, 1.0]}, "truncated"),
        ({"fold": [0, 2**40]}, "not in range"),
        ({"fold": [[0], [1]]}, "Unsupported cast"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(change: dict, message: str) -> None:
    columns = {name: values for name, values in {**_FOLD, **change}.items() if values is not None}
    with pytest.raises(LakeError) as caught:
        conform(pa.table(columns), "folds")
    assert "'folds'" in caught.value.reason
    assert message in caught.value.reason
    assert caught.value.remedy


def test_a_repeated_column_is_refused() -> None:
    values = [pa.array(v) for v in (*_FOLD.values(), [5, 6])]
    with pytest.raises(LakeError, match=r"repeated \['fold'\]"):
        conform(pa.Table.from_arrays(values, names=[*_FOLD, "fold"]), "folds")


@pytest.mark.parametrize("word", [{"x0": None}, {"text": None}])
def test_nulls_inside_words_are_refused(word: dict) -> None:
    whole = {"x0": 1.0, "y0": 1.0, "x1": 2.0, "y1": 2.0, "text": "a", "block": 0, "line": 0, "word": 0}
    row = {
        "filing": "a", "page": 0, "label": None, "text": "a", "characters": 1, "word_count": 1,
        "image_count": None, "rotation": None, "width": None, "height": None, "needs_ocr": False,
    }  # fmt: skip
    loose = pa.schema([f for f in FILING_PAGES if f.name != "words"])
    for words, fits in (([whole], True), ([{**whole, **word}], False), (None, True)):
        table = pa.Table.from_pylist([row], schema=loose).append_column("words", pa.array([words]))
        if fits:
            assert conform(table, "filing_pages").num_rows == 1
        else:
            with pytest.raises(LakeError, match="filing_pages"):
                conform(table, "filing_pages")


def test_moments_are_kept_in_utc() -> None:
    at = datetime(2024, 5, 1, 12, tzinfo=UTC)
    row = dict.fromkeys(TABLES["ledger"].names)
    row |= {"asset": "a", "partition": "", "outcome": "failed", "at": at}
    table = conform(pa.Table.from_pylist([row], schema=TABLES["ledger"]), "ledger")
    assert table["at"].to_pylist() == [at]
