"""Trains the model that tells questions for numbers from questions for words; tests it on filings left out.

    python -m benchmarks.answer_kind TATQA FINQA [--write]

``TATQA`` and ``FINQA`` are the folders of the two sets, whose training questions (of FinQA, development ones
too) without companies of other benchmarks are used. Numbers are all answers of FinQA, and of TAT-QA those
that are calculated or hold digits alone; words are the others, and counts, which no row prints.
Phrases of the lexicon in wordings of people are numbers too; half of all questions are asked in more words.
Every sixth filing is left out.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np
from rich.console import Console
from safetensors.numpy import save_file
from sklearn.linear_model import LogisticRegression

from benchmarks import arguments, finqa
from benchmarks.operation_model import as_matrix
from benchmarks.row_cross_encoder import ASKED, FILLERS, FRAMES, random_text
from benchmarks.row_questions import tatqa_training
from finrag_pipeline.questions.answer_kind import BUCKETS, MODEL_FILE, buckets
from finrag_pipeline.questions.formula_lexicon import Line, formula_lexicon

SEED = 0
_PHRASES = 12
_DIGITS = re.compile(r"[\s$€£¥%()\-,.\d]*\d[\s$€£¥%()\-,.\d]*(?:thousand|million|billion)?")

Asked = tuple[str, str, bool]
"""Question, filing or company, whether it asks for numbers."""


def of_tatqa(folder: Path) -> Iterator[Asked]:
    """Training questions of TAT-QA."""
    for one, answers in tatqa_training(folder):
        digits = all(_DIGITS.fullmatch(str(answer).lower()) for answer in answers)
        numbers = one["answer_type"] == "arithmetic" or (one["answer_type"] != "count" and digits)
        yield one["question"], one["doc_name"], numbers


def of_lexicon(rng: random.Random) -> Iterator[Asked]:
    """Phrases of lines in wordings that ask for a number."""
    lexicon = formula_lexicon()
    for entry in lexicon.entries.values():
        phrases = lexicon.phrases_of(entry.name) if isinstance(entry, Line) else ()
        for phrase in rng.choices(phrases, k=_PHRASES) if phrases else ():
            words = random_text(phrase.text, rng)
            if rng.random() < 0.4:
                words = f"{rng.choice(FILLERS)} {words}"
            yield rng.choice(ASKED).format(words), entry.name, True


def in_more_words(asked: Sequence[Asked], rng: random.Random) -> Iterator[Asked]:
    """Every question, and half of them in a frame of talk too."""
    for question, group, numbers in asked:
        yield question, group, numbers
        if rng.random() < 0.5:
            yield rng.choice(FRAMES).format(question.rstrip("?")), group, numbers


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("tatqa", type=Path)
    parser.add_argument("finqa", type=Path)
    parser.add_argument("--write", action="store_true", help="replace the shipped model")
    options = parser.parse_args()
    rng = random.Random(SEED)
    others = [q for split in ("train", "dev") for q in finqa.read_questions(options.finqa, split)]
    from_finqa = [(one["question"], one["ticker"], True) for one in others]
    asked = list(in_more_words([*of_tatqa(options.tatqa), *from_finqa, *dict.fromkeys(of_lexicon(rng))], rng))
    left_out = np.array([finqa.left_out(group) for _, group, _ in asked])
    matrix = as_matrix([buckets(question) for question, _, _ in asked], BUCKETS)
    right = np.array([numbers for _, _, numbers in asked])
    model = LogisticRegression(C=4.0, max_iter=1000).fit(matrix[~left_out], right[~left_out])
    chances = model.predict_proba(matrix[left_out])[:, 1]
    by_kind: dict[bool, list[float]] = defaultdict(list)
    for chance, numbers in zip(chances, right[left_out], strict=True):
        by_kind[bool(numbers)].append(chance)
    for numbers, found in by_kind.items():
        shares = ", ".join(f"{np.mean(np.array(found) > bound):.3f} above {bound}" for bound in (0.3, 0.5))
        Console().print(f"{'numbers' if numbers else 'words'}: {len(found)} questions left out, {shares}")
    if options.write:
        arrays = {
            "weights": model.coef_[0].astype(np.float16),
            "bias": model.intercept_.astype(np.float32),
        }
        save_file(arrays, str(files("finrag_pipeline.questions") / MODEL_FILE))


if __name__ == "__main__":
    main()
