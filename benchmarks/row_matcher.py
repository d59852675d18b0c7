"""Trains the matcher of printed rows that the package ships, and tests it on companies left out.

    FINRAG_LAKE=lake python -m benchmarks.row_matcher --keep ROWS.npz [--questions FILE ...]
    python -m benchmarks.row_matcher --learn ROWS.npz ... [--write]

In the first line the questions of ``benchmarks/questions`` are asked of a lake that holds their filings, and
all rows that are looked at on the way are kept with their features: once for the filings in inline XBRL, once
for FinanceBench's PDFs (``*answerable_pdfs.jsonl``). Right is each row that prints a number which proves the
answer, for its period. Companies whose rows taught the encoders (``benchmarks.row_cross_encoder``) are not
asked about: these know them better than those that users bring.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
from rich.console import Console
from rich.progress import track
from safetensors.numpy import load, save_file
from sklearn.metrics import roc_auc_score

from benchmarks import arguments
from benchmarks.answers import FOLDER, read_questions
from benchmarks.row_questions import company_of, taught_companies
from benchmarks.trees import tree_arrays
from finrag_pipeline.answering import row_matcher
from finrag_pipeline.answering.row_cross_encoder import RowCrossEncoder
from finrag_pipeline.answering.row_matcher import (
    FEATURES,
    MODEL_FILE,
    SCORES,
    LookedAt,
    RowMatcher,
    ranked,
    relate,
)
from finrag_pipeline.services.ask import Asker
from finrag_pipeline.settings import get_settings
from finrag_pipeline.statements.filing_rows import FilingRow, RowValue

SETS = (
    "answerable_build.jsonl", "answerable_more.jsonl", "unanswerable_build.jsonl", "unanswerable_more.jsonl",
)  # fmt: skip
SEED = 1
FOLDS = 5
ROUNDS = 250
PARAMETERS = {
    "objective": "binary", "learning_rate": 0.04, "num_leaves": 31, "min_data_in_leaf": 100,
    "feature_fraction": 0.3, "bagging_fraction": 0.8, "bagging_freq": 1, "lambda_l2": 10, "verbose": -1,
    "num_threads": 2, "seed": SEED, "deterministic": True,
}  # fmt: skip

_LEAST_ROWS = 200
"""Rows of whole filings; fewer are the headings of tables, among which one is chosen too."""

_DAYS_OFF, _MONTHS_OFF, _ROUNDED = 8, 1, 5e-4


@dataclass(frozen=True)
class Asked:
    """Rows that were looked at for the words of a question.

    Attributes:
        company: that it is about.
        features: `FEATURES`, shape (rows, features).
        right: which rows print what proves the answer.
        shown: which print a number of its periods.
    """

    company: str
    features: np.ndarray
    right: np.ndarray
    shown: np.ndarray

    def without_right(self) -> Asked:
        """The same where no right row is printed; ranks and what is behind the best are among the others."""
        kept = ~self.right
        features = self.features[kept].copy()
        first = FEATURES.index(SCORES[0])
        features[:, first:] = ranked([features[:, FEATURES.index(name)] for name in SCORES])
        relate(features)
        return Asked(self.company, features, self.right[kept], self.shown[kept])


@dataclass
class _Keeper(RowMatcher):
    """A matcher that keeps what it looks at."""

    kept: dict[tuple[str, str], tuple[Sequence[FilingRow], np.ndarray]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shipped = (files("finrag_pipeline.answering") / MODEL_FILE).read_bytes()
        super().__init__(load(shipped))

    def _weighed(self, asked: LookedAt, reader: RowCrossEncoder) -> np.ndarray:
        features = super()._weighed(asked, reader)
        if self._features and len(self._features.rows) >= _LEAST_ROWS:
            self.kept[asked.measure, asked.question] = asked.rows, features
        return features


def read(questions: Sequence[Mapping[str, Any]]) -> list[Asked]:
    """Ask questions and keep the rows that are looked at."""
    keeper = _Keeper()
    row_matcher.row_matcher.cache_clear()
    row_matcher.row_matcher = lambda: keeper
    asker = Asker(get_settings())
    found = []
    for question in track(questions, "asking"):
        keeper.kept.clear()
        asker.ask(question["question"])
        facts = question.get("facts") or ()
        for rows, features in keeper.kept.values():
            right = np.array(
                [any(_prints(value, fact) for value in row.values for fact in facts) for row in rows]
            )
            ends = [dt.date.fromisoformat(fact["end"]) for fact in facts if fact.get("end")]
            shown = np.array([not ends or any(_ends(value, ends) for value in row.values) for row in rows])
            found.append(Asked(company_asked(question), features, right, shown | right))
    return found


def company_asked(question: Mapping[str, Any]) -> str:
    """The company that a question is about, the first of several; its own name where nothing answers it."""
    filings = question.get("filing") or [question["id"]]
    return company_of(filings[0] if isinstance(filings, list) else filings)


def _ends(value: RowValue, ends: Sequence[dt.date]) -> bool:
    return value.period_end is None or any(abs((value.period_end - end).days) <= _DAYS_OFF for end in ends)


def _prints(value: RowValue, fact: Mapping[str, Any]) -> bool:
    """Whether a number of a row is a fact: as large, and of its period where the row says one.

    Facts in per cent are as printed, a row's are hundredths.
    """
    sizes = [abs(value.value), *([100 * abs(value.value)] if value.unit == "percent" else ())]
    wanted = abs(fact["value"])
    if all(abs(size - wanted) > max(1e-9, _ROUNDED * wanted) for size in sizes):
        return False
    if not fact.get("end"):
        return True
    end = dt.date.fromisoformat(fact["end"])
    if not fact.get("start") or not value.months:
        return _ends(value, [end])
    months = round((end - dt.date.fromisoformat(fact["start"])).days / 30.44)
    return _ends(value, [end]) and abs(value.months - months) <= _MONTHS_OFF


def keep(asked: Sequence[Asked], path: Path) -> None:
    """Write what was looked at to a file."""
    np.savez_compressed(
        path,
        features=np.concatenate([one.features for one in asked]),
        right=np.concatenate([one.right for one in asked]),
        shown=np.concatenate([one.shown for one in asked]),
        counts=np.array([len(one.right) for one in asked]),
        companies=np.array([one.company for one in asked]),
    )


def kept(path: Path) -> list[Asked]:
    """What `keep` wrote to a file."""
    with np.load(path) as of:
        arrays = (np.split(of[name], np.cumsum(of["counts"])[:-1]) for name in ("features", "right", "shown"))
        return [Asked(str(company), *own) for company, *own in zip(of["companies"], *arrays, strict=True)]


def train(asked: Sequence[Asked]) -> lightgbm.Booster:
    """Trees that tell which rows of questions are right."""
    data = lightgbm.Dataset(
        np.concatenate([one.features[one.shown] for one in asked]),
        np.concatenate([one.right[one.shown] for one in asked]).astype(int),
        feature_name=list(FEATURES),
    )
    return lightgbm.train(PARAMETERS, data, ROUNDS)


def without_right(asked: Sequence[Asked]) -> list[Asked]:
    """The same questions as if their right rows were not printed: people ask for what no row prints, too."""
    return [one.without_right() for one in asked if one.right.any() and not one.right.all()]


def of_others(asked: Sequence[Asked]) -> Callable[[str], lightgbm.Booster]:
    """For each company trees that learned nothing from its questions."""
    folds = {company: place % FOLDS for place, company in enumerate(sorted({one.company for one in asked}))}
    models = [train([one for one in asked if folds[one.company] != fold]) for fold in range(FOLDS)]
    return lambda company: models[folds.get(company, 0)]


def first_right(asked: Sequence[Asked], chances: Sequence[np.ndarray]) -> tuple[int, int, int, float]:
    """Questions with a right row, for how many it is first and in the first three, and an AUC.

    That of the probability of the first row of any question, for telling whether it is right.
    """
    first = three = count = 0
    likely, is_right = [], []
    for one, chance in zip(asked, chances, strict=True):
        best = np.argsort(-np.where(one.shown, chance, -np.inf), kind="stable")
        likely.append(chance[best[0]])
        is_right.append(bool(one.right[best[0]]))
        if one.right.any():
            count += 1
            first += is_right[-1]
            three += bool(one.right[best[:3]].any())
    return count, first, three, float(roc_auc_score(is_right, likely))


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--questions", nargs="+", type=Path, default=[FOLDER / name for name in SETS])
    parser.add_argument(
        "--keep", type=Path, help="ask the questions, and keep in this file what is looked at"
    )
    parser.add_argument("--learn", nargs="+", type=Path, default=[], help="files of what was looked at")
    parser.add_argument("--write", action="store_true", help="replace the shipped model")
    options = parser.parse_args()
    if options.keep:
        taught = taught_companies()
        keep(
            read([one for one in read_questions(options.questions) if company_asked(one) not in taught]),
            options.keep,
        )
    if not options.learn:
        return
    asked = [one for path in options.learn for one in kept(path)]
    lists = [*asked, *without_right(asked)]
    trees_for = of_others(lists)
    chances = [np.asarray(trees_for(one.company).predict(one.features)) for one in asked]
    count, first, three, area = first_right(asked, chances)
    Console().print(f"{count} measures, right row first {first}, among three {three}, AUC {area:.3f}")
    if options.write:
        arrays = tree_arrays(train(lists))
        save_file(arrays, str(files("finrag_pipeline.answering") / MODEL_FILE))


if __name__ == "__main__":
    main()
