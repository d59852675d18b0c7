r"""Trains the trees that tell how likely an answer from rows is right, and tests them on hands left out.

    FINRAG_LAKE=lake python -m benchmarks.answer_confidence --keep ANSWERS.npz --rows ROWS.npz ... \
        [--questions FILE ...]
    python -m benchmarks.answer_confidence --learn ANSWERS.npz ... [--write]

In the first line questions of ``benchmarks/questions`` are asked of a lake that holds their filings, and
every answer from rows is kept with its signs, however unsure it is. The rows of each company are matched by
trees that learned nothing from questions about it, from what ``benchmarks.row_matcher --keep`` has kept: an
answer is else surer than it is about a filing that users bring.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import lightgbm
import numpy as np
from rich.console import Console
from rich.progress import track
from safetensors.numpy import save_file
from sklearn.model_selection import GroupKFold

from benchmarks import arguments
from benchmarks.answers import judge, read_questions
from benchmarks.row_matcher import FOLDER, SETS, company_asked, kept, of_others, without_right
from benchmarks.row_questions import taught_companies
from benchmarks.trees import tree_arrays
from finrag_pipeline.answering import open_answer, row_matcher
from finrag_pipeline.answering.answer_confidence import CONFIDENCE_FILE, SIGNS_OF_ANSWERS
from finrag_pipeline.answering.row_matcher import RowMatcher
from finrag_pipeline.services.ask import Asker
from finrag_pipeline.settings import get_settings

SEED = 1
FOLDS = 8
ROUNDS = 250
RISING = (
    "least", "second", "product", "doubt", "least_alone", "least_together", "least_ahead", "operation",
    "number", "direction", "measure", "prior",
)  # fmt: skip
"""Signs of which more never makes an answer less likely."""
PARAMETERS = {
    "objective": "binary", "learning_rate": 0.04, "num_leaves": 4, "min_data_in_leaf": 25,
    "feature_fraction": 0.4, "bagging_fraction": 0.8, "bagging_freq": 1, "lambda_l2": 5, "verbose": -1,
    "num_threads": 2, "seed": SEED, "deterministic": True,
    "monotone_constraints": [int(name in RISING) for name in SIGNS_OF_ANSWERS],
}  # fmt: skip
BOUNDS = (0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8)


@dataclass(frozen=True)
class Answers:
    """Answers from rows, shape (answers,) each.

    Attributes:
        signs: `SIGNS_OF_ANSWERS`, shape (answers, signs).
        right: whether each is right.
        answerable: whether its question has an answer.
        hands: who wrote the question.
    """

    signs: np.ndarray
    right: np.ndarray
    answerable: np.ndarray
    hands: np.ndarray


class Keeper:
    """Has every answer given, by matchers of other companies, and keeps its signs.

    Args:
        rows: files of `benchmarks.row_matcher`.
    """

    def __init__(self, rows: Sequence[Path]) -> None:
        asked = [one for path in rows for one in kept(path)]
        self._trees_for = of_others([*asked, *without_right(asked)])
        self._arrays: dict[int, dict[str, np.ndarray]] = {}
        self._matcher = row_matcher.row_matcher()
        row_matcher.row_matcher = lambda: self._matcher
        open_answer.LEAST_CONFIDENCE = 0.0
        open_answer.answer_confidence = self._confidence
        self.signs: np.ndarray | None = None

    def _confidence(self, signs: np.ndarray) -> float:
        self.signs = signs
        return float(1 / (1 + np.exp(-signs[SIGNS_OF_ANSWERS.index("prior")])))

    def ask_about(self, company: str) -> None:
        """Match the rows of the next answer by trees that learned nothing from questions about a company."""
        self.signs = None
        trees = self._trees_for(company)
        if id(trees) not in self._arrays:
            self._arrays[id(trees)] = tree_arrays(trees)
        RowMatcher.__init__(self._matcher, self._arrays[id(trees)])


def keep(path: Path, questions: Sequence[Path], rows: Sequence[Path]) -> None:
    """Ask questions and keep the signs of every answer from rows."""
    keeper = Keeper(rows)
    asker = Asker(get_settings())
    taught, found = taught_companies(), []
    asked = [one for one in read_questions(questions) if company_asked(one) not in taught]
    for question in track(asked, "asking"):
        keeper.ask_about(company_asked(question))
        answer = asker.ask(question["question"]).answer
        if answer.derivation.from_rows and keeper.signs is not None:
            right = judge(question, answer) == "right"
            found.append((keeper.signs, right, "answer" in question, question["id"].partition("-")[0]))
    signs, right, answerable, hands = zip(*found, strict=True)
    np.savez_compressed(path, signs=np.stack(signs), right=right, answerable=answerable, hands=hands)


def read(paths: Sequence[Path]) -> Answers:
    """What `keep` wrote to files."""
    parts = [np.load(path) for path in paths]
    return Answers(
        *(
            np.concatenate([part[name] for part in parts])
            for name in ("signs", "right", "answerable", "hands")
        )
    )


def train(signs: np.ndarray, right: np.ndarray) -> lightgbm.Booster:
    """Trees that tell which answers are right."""
    data = lightgbm.Dataset(signs, right.astype(int), feature_name=list(SIGNS_OF_ANSWERS))
    return lightgbm.train(PARAMETERS, data, ROUNDS)


def left_out(answers: Answers) -> np.ndarray:
    """Probabilities of answers by trees that learned from questions of other hands, shape (answers,)."""
    chances = np.zeros(len(answers.right))
    for others, own in GroupKFold(FOLDS).split(answers.signs, groups=answers.hands):
        chances[own] = train(answers.signs[others], answers.right[others]).predict(answers.signs[own])
    return chances


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--questions", nargs="+", type=Path, default=[FOLDER / name for name in SETS])
    parser.add_argument("--keep", type=Path, help="ask the questions, and keep in this file what is answered")
    parser.add_argument("--rows", nargs="+", type=Path, help="files of `benchmarks.row_matcher --keep`")
    parser.add_argument("--learn", nargs="+", type=Path, default=[], help="files of answers")
    parser.add_argument("--write", action="store_true", help="replace the shipped model")
    options = parser.parse_args()
    if options.keep:
        keep(options.keep, options.questions, options.rows)
    if not options.learn:
        return
    answers = read(options.learn)
    prior = 1 / (1 + np.exp(-answers.signs[:, SIGNS_OF_ANSWERS.index("prior")]))
    for name, chances in (("trees", left_out(answers)), ("product of probabilities", prior)):
        for bound in BOUNDS:
            given = Counter(
                zip(
                    answers.right[chances >= bound].tolist(),
                    answers.answerable[chances >= bound].tolist(),
                    strict=True,
                )
            )
            Console().print(
                f"{name} from {bound}: {given[True, True]} right, {given[False, True]} wrong, "
                f"{given[False, False]} without an answer"
            )
    if options.write:
        arrays = tree_arrays(train(answers.signs, answers.right))
        save_file(arrays, str(files("finrag_pipeline.answering") / CONFIDENCE_FILE))


if __name__ == "__main__":
    main()
