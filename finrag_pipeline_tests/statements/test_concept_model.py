import os
import subprocess
import sys
from importlib.resources import files

import numpy as np
import pytest

from finrag_pipeline.statements.assign import Assigned, assign_concepts
from finrag_pipeline.statements.concept_model import (
    FEATURES,
    MODEL_FILE,
    Example,
    Features,
    Knowledge,
    concept_model,
    describe,
    name_words,
    pack,
    regions,
    unpack,
    words_of,
)
from finrag_pipeline.statements.rows import Row, table_rows
from finrag_pipeline_tests.statements.books import FLOWS, POSITION, page_tables, table


def rows_of(page: int, lines: list, **how: object) -> list[Row]:
    return table_rows(page_tables(table(page, lines, **how)), [(page, 0)])[page, 0]


def by_label(kind: str, rows: list[Row]) -> dict[str, Assigned]:
    return {rows[place].label: found for place, found in assign_concepts(kind, rows).items()}


@pytest.mark.parametrize(
    ("concept", "words"),
    [
        ("PaymentsToAcquirePropertyPlantAndEquipment", ("payment", "acquire", "property", "plant", "equipment")),
        ("GainLossOnDispositionOfAssets1", ("gain", "loss", "disposition", "asset", "#")),
        ("OtherLiabilitiesNoncurrent", ("other", "liability", "noncurrent")),
    ],
)  # fmt: skip
def test_names_have_words(concept: str, words: tuple[str, ...]) -> None:
    assert name_words(concept) == words


def test_numbers_in_labels_are_alike() -> None:
    assert words_of("common stock, 10 shares in 2021") == words_of("common stock, 20 shares in 2024")


def test_parts_of_a_balance_sheet() -> None:
    rows = rows_of(6, POSITION, instant=True)
    found = dict(zip([row.label for row in rows], regions("financial_position", rows), strict=True))
    assert found["Total current assets"] == "current assets"
    assert found["Total assets"] == "noncurrent assets"
    assert found["Total current liabilities"] == "current liabilities"
    assert found["Retained earnings"] == "equity"


def test_parts_of_cash_flows() -> None:
    rows = rows_of(8, FLOWS)
    found = dict(zip([row.label for row in rows], regions("cash_flows", rows), strict=True))
    assert (found["Net income"], found["Purchases of property and equipment"]) == ("operating", "investing")
    assert found["Dividends paid"] == "financing"


@pytest.mark.parametrize(
    ("label", "line", "concept"),
    [
        ("Payments for acquisition of property, plant and equipment",
         "PaymentsToAcquirePropertyPlantAndEquipment", "PaymentsToAcquirePropertyPlantAndEquipment"),
        ("Proceeds from the exercise of employee warrants of mars", None, None),
    ],
)  # fmt: skip
def test_a_label_that_the_lexicon_does_not_know(label: str, line: str | None, concept: str | None) -> None:
    lines = [
        (name.replace("Purchases of property and equipment", label), *numbers) for name, *numbers in FLOWS
    ]
    found = by_label("cash_flows", rows_of(8, lines)).get(label)
    assert (found.line if found else None, found.concept if found else None) == (line, concept)


def test_a_line_keeps_its_name_whatever_filers_call_it() -> None:
    rows = rows_of(
        6, [("Current assets",), ("Current assets > Accounts receivable, net", "10", "9")], instant=True
    )
    found = by_label("financial_position", rows)["Accounts receivable, net"]
    assert (found.line, found.concept) == ("ReceivablesNetCurrent", "AccountsReceivableNetCurrent")


def test_no_two_rows_have_a_concept() -> None:
    for kind, page, lines in (("financial_position", 6, POSITION), ("cash_flows", 8, FLOWS)):
        found = assign_concepts(kind, rows_of(page, lines))
        assert len({one.concept for one in found.values()}) == len(found)


def test_chances_are_probabilities_and_headings_have_none() -> None:
    rows = rows_of(8, FLOWS)
    chances = concept_model().chances(describe("cash_flows", rows, [{} for _ in rows]))
    assert [not own for own in chances] == [not row.cells for row in rows]
    assert all(0 <= chance <= 1 for own in chances for chance in own.values())
    assert all(sorted(own.values(), reverse=True) == list(own.values()) for own in chances)


def test_no_rows() -> None:
    assert concept_model().chances([]) == [] and assign_concepts("cash_flows", []) == {}


def test_what_is_known_is_kept() -> None:
    example = Example(
        "cash_flows", "investing", ("capital", "expenditure"), "PaymentsToAcquire", "ABC", 0.5, 1.0
    )
    known = Knowledge(
        {"PaymentsToAcquire": ("Investing", 7)},
        [example],
        {"capital": {"acquire": 0.5}},
        {"capital": {"acquire": 1.0}},
    )
    assert unpack(pack(known)) == known
    rows = rows_of(
        8, [("Investing activities",), ("Investing activities > Capital expenditures", "(7)", "(6)")]
    )
    (line,) = [line for line in describe("cash_flows", rows, [{}, {}]) if line]
    places, features = Features(known).of(line)
    assert places.tolist() == [0] and features.shape == (1, len(FEATURES)) and np.isfinite(features).all()
    assert features[0, FEATURES.index("near_here")] == pytest.approx(1.0)


def test_the_model_is_small() -> None:
    assert len((files("finrag_pipeline.statements") / MODEL_FILE).read_bytes()) < 1_000_000


_PRINT_FEATURES = """
from finrag_pipeline.statements.concept_model import Line, concept_model
words = ("purchase", "marketable", "security")
line = Line("cash_flows", "investing", words, ("kind:cash_flows",), 0.5, 1.0, {})
print(concept_model().features.of(line)[1].tobytes().hex())
"""


def test_features_are_the_same_in_every_process() -> None:
    told = {
        subprocess.check_output(
            [sys.executable, "-c", _PRINT_FEATURES], env={**os.environ, "PYTHONHASHSEED": seed}
        )
        for seed in ("1", "2")
    }
    assert len(told) == 1
