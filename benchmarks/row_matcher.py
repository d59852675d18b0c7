"""Trains the ranker of printed rows that the package ships, and tests it on companies left out.

    FINRAG_LAKE=lake python -m benchmarks.row_matcher [--questions FILE ...] [--write]

The questions of ``benchmarks/questions`` are asked of a lake that holds their filings, and all rows that are
looked at on the way are kept with their features. Right is each row that prints a number which proves the
answer, for its period. Only companies whose rows did not teach the encoders
(``benchmarks.row_cross_encoder``) are asked about: these know the others better than those that users bring.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
from rich.console import Console
from rich.progress import track
from safetensors.numpy import load, save_file
from sklearn.linear_model import LogisticRegression

from benchmarks import arguments
from benchmarks.answers import FOLDER, read_questions
from benchmarks.row_questions import RANKED, company_of
from benchmarks.trees import tree_arrays
from finrag_pipeline.answering import row_matcher
from finrag_pipeline.answering.row_matcher import (
    FEATURES,
    JUDGED_BY,
    MODEL_FILE,
    SCORES,
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
FOLDS = 6
ROUNDS = 300
PARAMETERS = {
    "objective": "lambdarank", "learning_rate": 0.05, "num_leaves": 7, "min_data_in_leaf": 60,
    "feature_fraction": 0.5, "bagging_fraction": 0.8, "bagging_freq": 1, "lambda_l2": 10,
    "lambdarank_truncation_level": 3, "verbose": -1, "num_threads": 2, "seed": SEED, "deterministic": True,
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

    def _weighed(
        self, measure: str, question: str, rows: Sequence[FilingRow], by_words: np.ndarray
    ) -> np.ndarray | None:
        features = super()._weighed(measure, question, rows, by_words)
        if features is not None and self._features and len(self._features.rows) >= _LEAST_ROWS:
            self.kept[measure, question] = rows, features
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
            found.append(Asked(_company(question), features, right, shown | right))
    return found


def _company(question: Mapping[str, Any]) -> str:
    filings = question.get("filing") or [question["id"]]
    return company_of(filings[0] if isinstance(filings, list) else filings)


def _ends(value: RowValue, ends: Sequence[dt.date]) -> bool:
    return value.period_end is None or any(abs((value.period_end - end).days) <= _DAYS_OFF for end in ends)


def _prints(value: RowValue, fact: Mapping[str, Any]) -> bool:
    """Whether a number of a row is a fact: as large, and of its period where the row says one."""
    if abs(abs(value.value) - abs(fact["value"])) > max(1e-9, _ROUNDED * abs(fact["value"])):
        return False
    if not fact.get("end"):
        return True
    end = dt.date.fromisoformat(fact["end"])
    if not fact.get("start") or not value.months:
        return _ends(value, [end])
    months = round((end - dt.date.fromisoformat(fact["start"])).days / 30.44)
    return _ends(value, [end]) and abs(value.months - months) <= _MONTHS_OFF


def train(asked: Sequence[Asked]) -> lightgbm.Booster:
    """Trees that rank the rows of each question for which one is right."""
    lists = [one for one in asked if one.right.any()]
    data = lightgbm.Dataset(
        np.concatenate([one.features[one.shown] for one in lists]),
        np.concatenate([one.right[one.shown] for one in lists]).astype(int),
        group=[int(one.shown.sum()) for one in lists],
        feature_name=list(FEATURES),
    )
    return lightgbm.train(PARAMETERS, data, ROUNDS)


def left_out_scores(asked: Sequence[Asked], absent: Sequence[Asked]) -> tuple[list[np.ndarray], ...]:
    """Scores of the rows of questions by trees of other companies; last of those without a right row."""
    companies = sorted({one.company for one in asked})
    folds = {company: place % FOLDS for place, company in enumerate(companies)}
    models = [train([one for one in asked if folds[one.company] != fold]) for fold in range(FOLDS)]
    return tuple(
        [np.asarray(models[folds[one.company]].predict(one.features)) for one in lists]
        for lists in (asked, absent)
    )


def first_right(asked: Sequence[Asked], scores: Sequence[np.ndarray]) -> tuple[int, int, int]:
    """Questions with a right row, and for how many it is first and in the first three."""
    first = three = count = 0
    for one, score in zip(asked, scores, strict=True):
        if one.right.any():
            best = np.argsort(-np.where(one.shown, score, -np.inf), kind="stable")
            count += 1
            first += bool(one.right[best[0]])
            three += bool(one.right[best[:3]].any())
    return count, first, three


def calibrated(asked: Sequence[Asked], scores: Sequence[np.ndarray]) -> np.ndarray:
    """Constant and weights that make log-odds of a score and of how well a row fits (Platt, 1999)."""
    judged = [FEATURES.index(name) for name in JUDGED_BY]
    rows = [
        np.column_stack([score, one.features[:, judged]])[one.shown]
        for one, score in zip(asked, scores, strict=True)
    ]
    right = np.concatenate([one.right[one.shown] for one in asked])
    fitted = LogisticRegression(C=1e6, max_iter=500).fit(np.concatenate(rows), right)
    return np.concatenate([fitted.intercept_, fitted.coef_[0]]).astype(np.float32)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--questions", nargs="+", type=Path, default=[FOLDER / name for name in SETS])
    parser.add_argument("--write", action="store_true", help="replace the shipped model")
    options = parser.parse_args()
    questions = [one for one in read_questions(options.questions) if _company(one) in RANKED]
    asked = read(questions)
    # People ask for what no row prints, too.
    absent = [one.without_right() for one in asked if one.right.any() and not one.right.all()]
    scores, scores_absent = left_out_scores(asked, absent)
    count, first, three = first_right(asked, scores)
    Console().print(f"{count} measures, right row first {first}, among three {three}")
    if options.write:
        blend = calibrated([*asked, *absent], [*scores, *scores_absent])
        arrays = tree_arrays(train(asked)) | {"blend": blend}
        save_file(arrays, str(files("finrag_pipeline.answering") / MODEL_FILE))


if __name__ == "__main__":
    main()
