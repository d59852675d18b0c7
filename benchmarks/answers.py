"""Questions of people over filings that nothing was written against: right, wrong, not answered, by kind.

    python -m benchmarks.answers
    python -m benchmarks.answers --questions benchmarks/questions/answerable_held_out.jsonl

The lake must hold the filings that the questions name: inline XBRL of 2024 and 2025 as filed, printed to PDF
by a browser. ``benchmarks/questions`` says where questions and answers come from and what may be looked at.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from rich.progress import track

from benchmarks import arguments
from finrag_pipeline.answering.answer import Answer
from finrag_pipeline.services.ask import Asker
from finrag_pipeline.settings import get_settings

Outcome = Literal["right", "wrong", "not answered"]
FOLDER = Path(__file__).parent / "questions"
BUILD = ("answerable_build.jsonl", "unanswerable_build.jsonl")

_ROUNDING = 1e-6
_FISCAL = re.compile(r"\b(?:fiscal(?: year)?|fy)\s*(?=\d)")
_SCALES = (1.0, 1e3, 1e6, 1e9)


def judge(question: Mapping[str, Any], answer: Answer) -> Outcome:
    """Whether an answer is right.

    A number is right within the tolerance of the question, in full units, whatever its sign: a fall may be
    told as a negative or a positive amount. All of several numbers must be told. Of a choice, what is told
    first is the answer. A quote is right where the one printed number that proves the answer stands in it.

    Args:
        question: ``answer`` (a number, several, a text; absent where any answer is wrong), ``unit``,
            ``tolerance``, ``accept`` and ``facts``.
        answer: of `Asker`.
    """
    if answer.abstained:
        return "not answered"
    if "answer" not in question:
        return "wrong"
    wanted = question["answer"] if isinstance(question["answer"], list) else [question["answer"]]
    accepted = [*wanted, *(question.get("accept") or ())] if len(wanted) == 1 else wanted
    tests = [_holds(one, question, answer) for one in accepted]
    return "right" if (any(tests) if len(wanted) == 1 else all(tests)) else "wrong"


def _holds(wanted: float | str, question: Mapping[str, Any], answer: Answer) -> bool:
    text = _FISCAL.sub("fy", answer.answer.lower())
    if question.get("unit") == "year":
        wanted = str(wanted)
    if isinstance(wanted, str):
        chosen, *_ = text.split("(")  # the others stand in brackets
        wanted = _FISCAL.sub("fy", wanted.lower())
        return text.startswith(wanted) if wanted in ("yes", "no") else wanted in chosen
    tolerance = max(question.get("tolerance") or 0.0, _ROUNDING * abs(wanted))
    return any(abs(abs(value) - abs(wanted)) <= tolerance for value in _values(question, answer)) or (
        answer.derivation.abstained and _proof(question) in answer.answer
    )


def _values(question: Mapping[str, Any], answer: Answer) -> Iterator[float]:
    """Every number that an answer tells as calculated, in full units, per cent as such."""
    derivation = answer.derivation
    scale = 100 if question.get("unit") == "percent" else 1
    exact = [derivation.exact, *(one.value for one in derivation.series)]
    yield from (value * scale for value in exact if value is not None)
    told = [derivation.value, *(other.get("value") for other in derivation.alternatives if "named" in other)]
    yield from (value * scale for value in told if value is not None for scale in _SCALES)


def _proof(question: Mapping[str, Any]) -> str:
    """The one printed number that proves an answer; a text that stands nowhere where there are several."""
    printed = [str(fact.get("printed") or "") for fact in question.get("facts") or ()]
    return printed[0] if len(printed) == 1 and printed[0] else "\0"


def read_questions(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """Questions of files of JSON lines."""
    return [json.loads(line) for path in paths for line in path.read_text().splitlines() if line.strip()]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--questions", nargs="+", type=Path, default=[FOLDER / name for name in BUILD])
    parser.add_argument("--show", action="store_true", help="print each question that is answered wrongly")
    options = parser.parse_args()
    asker = Asker(get_settings())
    counts: dict[str, Counter[Outcome]] = defaultdict(Counter)
    for question in track(read_questions(options.questions), "asking"):
        answer = asker.ask(question["question"]).answer
        outcome = judge(question, answer)
        counts[question["kind"]][outcome] += 1
        counts["all" if "answer" in question else "all without an answer"][outcome] += 1
        if options.show and outcome == "wrong":
            print(f"{question['question']}\n  {question.get('answer')} ({question.get('derivation')})")
            print(f"  {answer.answer}")
    print(f"{'kind':24}{'right':>8}{'wrong':>8}{'not':>8}  wrong among answered")
    for kind, found in counts.items():
        answered = found["right"] + found["wrong"]
        share = f"{found['wrong'] / answered:.2f}" if answered else "-"
        print(f"{kind:24}{found['right']:8}{found['wrong']:8}{found['not answered']:8}  {share}")


if __name__ == "__main__":
    main()
