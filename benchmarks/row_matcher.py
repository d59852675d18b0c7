"""Trains the matcher of words to printed rows that the package ships, and tests it on companies left out.

    FINRAG_LAKE=lake python -m benchmarks.row_matcher TAGS [--tatqa FOLDER] [--write]

``TAGS`` is a folder with one file of JSON lines for each filing of the lake that came as inline XBRL: its
facts (``concept``, ``value``, ``start``, ``end``, ``members``, ``printed``, ``table``). The words are names:
of the concept and its segments, and what other companies print for the same concept; right is each row that
prints the number for the period. With ``--tatqa`` (``tatqa_corpus.jsonl.gz``,
``tatqa_official_dev_test.jsonl``) the questions of its test part are added, each over its own table and a
dozen others.
"""

from __future__ import annotations

import datetime as dt
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
from rich.console import Console
from rich.progress import track
from safetensors.numpy import save_file

from benchmarks import arguments
from benchmarks.tatqa import read_contexts, read_questions
from benchmarks.trees import tree_arrays
from finrag_pipeline.answering.row_book import in_series
from finrag_pipeline.answering.row_matcher import FEATURES, MODEL_FILE, Features, RowMatcher
from finrag_pipeline.questions.plan import read_plan
from finrag_pipeline.rankers.page_ranker.terms import terms
from finrag_pipeline.resolver.lexicon import word_set
from finrag_pipeline.settings import get_settings
from finrag_pipeline.statements.filing_rows import FilingRow, FilingRows, RowValue
from finrag_pipeline.storage.lake import Lake

Associations = dict[str, dict[str, float]]

SEED = 1
FOLDS = 4
ROUNDS = 150
PARAMETERS = {
    "objective": "binary", "learning_rate": 0.06, "num_leaves": 15, "min_data_in_leaf": 100,
    "feature_fraction": 0.7, "bagging_fraction": 0.8, "bagging_freq": 1, "lambda_l2": 5, "verbose": -1,
    "num_threads": 2, "seed": SEED, "deterministic": True,
}  # fmt: skip
NOISE = ("how much was the reported amount of", "what did it report for", "total", "spent on", "value of")
FOREIGN = word_set(
    "organic adjusted proforma guidance forecast average employee store barrel customer domestic unaudited "
    "restated core underlying comparable"
)
"""Words that make any quantity another; like the words of other filings they are added to questions."""

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_LONG = re.compile(r"\b(?:Excluding|Including|Net Of|Attributable To)\b")
_AXES = (
    "Operating Segments",
    "Reportable Segment Aggregation Before Other Operating Segment",
    "Business Combination",
)
_MOST_ROWS = 8


@dataclass(frozen=True)
class Named:
    """A quantity that a filer named: concept and segments in words, and the rows that print it."""

    concept: str
    members: str
    rows: frozenset[int]


@dataclass(frozen=True)
class Filing:
    """A filing with its rows and what its filer named among them."""

    filing: str
    rows: Sequence[FilingRow]
    named: Sequence[Named]
    words: frozenset[str]

    @property
    def company(self) -> str:
        """Key of the company: what the identifiers of its filings begin with."""
        return self.filing.split("_")[0]


Question = tuple[str, Sequence[FilingRow], frozenset[int]]
"""Words, rows, and the places of those that are right."""


def _words(name: str) -> str:
    text = _CAMEL.sub(" ", name.split(":")[-1])
    return re.sub(r"\b(?:Member|Domain)\b", "", text).strip()


def read_filing(filing: str, rows: Sequence[FilingRow], tags: Path) -> Filing:
    """A filing and the rows that print each number which its filer tagged in a table."""
    parts = in_series(rows)
    places: dict[float, list[tuple[int, RowValue]]] = defaultdict(list)
    for place, row in enumerate(parts):
        for value in row.values:
            places[round(abs(value.value), 4)].append((place, value))
    votes: dict[tuple[str, tuple[str, ...]], Counter[int]] = defaultdict(Counter)
    facts: Counter[tuple[str, tuple[str, ...]]] = Counter()
    for line in tags.read_text().splitlines():
        fact = json.loads(line)
        digits = re.sub(r"\D", "", str(fact["printed"])).strip("0")
        if fact["concept"].startswith("dei:") or not fact["table"] or not fact["value"] or len(digits) < 2:
            continue
        key = (fact["concept"], tuple(sorted(fact["members"].values())))
        facts[key] += 1
        found = {place for place, value in places[round(abs(fact["value"]), 4)] if _prints(value, fact)}
        votes[key].update(found)
    named = []
    for (concept, members), seen in votes.items():
        right = frozenset(
            p for p, times in seen.items() if times >= 2 or times >= 0.5 * facts[concept, members]
        )
        parts_of = [name for name in map(_words, members) if name not in _AXES]
        if 0 < len(right) <= _MOST_ROWS:
            named.append(Named(_words(concept), " ".join(parts_of), right))
    text = " ".join(" ".join((*row.path, *row.columns, row.caption)) for row in parts)
    return Filing(filing, parts, named, frozenset(re.findall(r"[a-z]{4,}", text.lower())))


def _prints(value: RowValue, fact: Mapping[str, Any]) -> bool:
    """Whether a number of a row is of the period of a fact; one without a period may be."""
    if value.period_end is None:
        return True
    end = dt.date.fromisoformat(fact["end"])
    if abs((value.period_end - end).days) > 8:
        return False
    if not fact["start"] or not value.months:
        return not fact["start"] and not value.months
    months = round((end - dt.date.fromisoformat(fact["start"])).days / 30.44)
    return abs(value.months - months) <= 1


def read_labels(filings: Sequence[Filing]) -> dict[str, dict[str, list[str]]]:
    """What each company prints for a concept of the whole company, by concept and company."""
    labels: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for filing in filings:
        for named in filing.named:
            for place in () if named.members else named.rows:
                if label := re.sub(r"\(.*?\)|\s+", " ", filing.rows[place].label).strip():
                    labels[named.concept][filing.company].add(label)
    return {c: {company: sorted(s) for company, s in by.items()} for c, by in labels.items()}


def ask(
    filing: Filing,
    labels: Mapping[str, Mapping[str, list[str]]],
    vocabulary: Sequence[str],
    rng: random.Random,
) -> Iterator[Question]:
    """Words for the quantities of a filing; half of them again with a foreign word and nothing right."""
    for named in filing.named:
        forms = [named.concept]
        if (short := _LONG.split(named.concept)[0].strip()) not in ("", named.concept):
            forms.append(short)
        by_company = labels.get(named.concept, {})
        others = [label for who, own in by_company.items() if who != filing.company for label in own]
        forms += rng.sample(others, min(2, len(others)))
        own = [filing.rows[place].label for place in sorted(named.rows) if filing.rows[place].label]
        if named.members and own:
            forms.append(rng.choice(own))
        for form in rng.sample(forms, min(2, len(forms))):
            words = [named.members, form] if rng.random() < 0.5 else [form, named.members]
            said = " ".join(words).split()
            if rng.random() < 0.25 and len(said) > 2:
                said.pop(rng.randrange(len(said)))
            if rng.random() < 0.2:
                said = [*rng.choice(NOISE).split(), *said]
            yield " ".join(said), filing.rows, named.rows
            foreign = rng.choice(vocabulary)
            if rng.random() < 0.5 and foreign not in filing.words:
                said.insert(rng.randrange(len(said) + 1), foreign)
                yield " ".join(said), filing.rows, frozenset()


# --- TAT-QA ----------------------------------------------------------------------------------------------


def read_tatqa(folder: Path, rng: random.Random) -> list[Question]:
    """Test questions of TAT-QA whose answer stands in a table, without companies of other benchmarks."""
    tables = {name: grid_rows(name, context["table"]) for name, context in read_contexts(folder).items()}
    with_rows = [name for name, rows in tables.items() if rows]
    asked: list[Question] = []
    for question in read_questions(folder, "test"):
        name = question["corpus_id"]
        if question["answer_from"] == "text" or name not in tables:
            continue
        answers = question["answer"] if isinstance(question["answer"], list) else [question["answer"]]
        numbers = _numbers(question["derivation"] or " ".join(map(str, answers)))
        right = [
            place
            for place, row in enumerate(tables[name])
            if numbers & {abs(value.value) for value in row.values}
        ]
        plan = read_plan(question["question"])
        if plan is None or not 0 < len(right) <= 2:
            continue
        others = [row for other in rng.sample(with_rows, 12) if other != name for row in tables[other]]
        for measure in plan.measures:
            mine = right
            if len(plan.measures) > 1:
                said = set(terms(measure))
                shared = {
                    place: len(said & set(terms(" ".join(tables[name][place].path)))) for place in right
                }
                best = max(right, key=lambda place: shared[place])
                mine = [best] if shared[best] else []
            if mine:
                asked.append((measure, [*tables[name], *others], frozenset(mine)))
    return asked


def grid_rows(name: str, table: str | Sequence[Sequence[str]]) -> list[FilingRow]:
    """Rows of a table that is given as a grid of texts."""
    grid = json.loads(table) if isinstance(table, str) else table
    rows, heading = [], ""
    for place, cells in enumerate(grid):
        texts = [str(cell).strip() for cell in cells]
        values = [value for column, text in enumerate(texts[1:], 1) if (value := _value(text, column))]
        if not values:
            heading = texts[0] if texts and texts[0] and not any(texts[1:]) else heading
        elif texts[0]:
            path = (heading, texts[0]) if heading else (texts[0],)
            rows.append(FilingRow(name, 0, 0, place, "", path, (), None, None, tuple(values)))
    return rows


def _value(text: str, column: int) -> RowValue | None:
    bare = re.sub(r"[^\d.()-]", "", text)
    number = bare.strip("()-").strip(".")
    if re.fullmatch(r"(?:fy ?)?(?:19|20)\d\d\.?", text, re.IGNORECASE) or not re.fullmatch(
        r"\d+\.?\d*|\.\d+", number
    ):
        return None
    value = -float(number) if bare.startswith(("(", "-")) else float(number)
    unit = "percent" if "%" in text else "currency"
    return RowValue((), None, None, None, None, value, text, unit, None, None, column)


def _numbers(text: str) -> set[float]:
    found = {float(n.replace(",", "").rstrip(".")) for n in re.findall(r"\d[\d,]*\.?\d*", text)}
    return {n for n in found if n not in (1, 2, 3, 4, 5, 100) and not 1990 <= n <= 2030}


# --- training --------------------------------------------------------------------------------------------


def associate(
    labels: Mapping[str, Mapping[str, list[str]]], companies: set[str], questions: Sequence[Question]
) -> Associations:
    """Words that stand for each other in names of one concept, by share of the pairs, if far above chance."""
    joint: Counter[tuple[str, str]] = Counter()
    left: Counter[str] = Counter()
    right: Counter[str] = Counter()
    pairs = 0

    def add(asked: str, printed: str) -> None:
        nonlocal pairs
        said, label = set(terms(asked)), set(terms(printed))
        pairs += 1
        left.update(said)
        right.update(label)
        for word in said - label:
            for other in label - said:
                joint[word, other] += 1 / len(said - label)  # type: ignore[assignment]

    for concept, by_company in labels.items():
        own = [
            (company, label) for company, all_ in by_company.items() if company in companies for label in all_
        ]
        for company, label in own:
            add(concept, label)
            for who, other in own:
                if who != company:
                    add(label, other)
    for words, rows, places in questions:
        for place in places:
            add(words, rows[place].label)
    found: Associations = defaultdict(dict)
    for (word, other), times in joint.items():
        share = times / left[word]
        if times >= 1.5 and share > 0.08 and share / (right[other] / pairs) > 4:
            found[word][other] = min(1.0, 1.5 * share)
    return {word: dict(sorted(by.items(), key=lambda item: -item[1])[:6]) for word, by in found.items()}


def examples(
    questions: Sequence[Question], associations: Associations, weight: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features of the candidates of every question, which are right, and their weights."""
    made: dict[int, Features] = {}
    rows, right = [np.zeros((0, len(FEATURES)), np.float32)], [np.zeros(0, bool)]
    for words, candidates, places in questions:
        features = made.setdefault(id(candidates), Features(candidates, associations))
        if found := features.candidates(words):
            rows.append(features.of(words, found))
            right.append(np.array([place in places for place in found]))
    x, y = np.concatenate(rows), np.concatenate(right)
    return x, y, np.full(len(y), weight)


def train(
    tagged: Sequence[Question], tables: Sequence[Question], associations: Associations
) -> lightgbm.Booster:
    """Trees over the features of the candidates of all questions."""
    sets = [examples(tagged, associations, 0.5), examples(tables, associations, 2.0)]
    x, y, weights = (np.concatenate(parts) for parts in zip(*sets, strict=True))
    data = lightgbm.Dataset(x, y, weight=weights, feature_name=list(FEATURES))
    return lightgbm.train(PARAMETERS, data, ROUNDS)


def as_arrays(booster: lightgbm.Booster, associations: Associations) -> dict[str, np.ndarray]:
    """A model in the form of :class:`~finrag_pipeline.answering.row_matcher.RowMatcher`."""
    names = sorted({name for word, others in associations.items() for name in (word, *others)})
    place = {name: at for at, name in enumerate(names)}
    triples = [(place[w], place[o], s) for w, others in associations.items() for o, s in others.items()]
    return tree_arrays(booster) | {
        "names": np.frombuffer("\n".join(names).encode(), np.uint8),
        "words": np.array([one for one, _, _ in triples], np.uint16),
        "others": np.array([other for _, other, _ in triples], np.uint16),
        "strengths": np.array([strength for *_, strength in triples], np.float16),
    }


def recall(matcher: RowMatcher, questions: Sequence[Question]) -> tuple[float, float]:
    """Share of the questions with a right row first, and among the first five."""
    first = five = asked = 0
    for words, rows, places in questions:
        if places:
            best = np.argsort(-matcher.probabilities(words, rows), kind="stable")[:5]
            asked += 1
            first += int(best[0]) in places
            five += not places.isdisjoint(map(int, best))
    return first / max(asked, 1), five / max(asked, 1)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("tags", type=Path)
    parser.add_argument("--tatqa", type=Path)
    parser.add_argument(
        "--write", action="store_true", help="train on all companies and replace the shipped model"
    )
    options = parser.parse_args()
    console = Console()
    printed = FilingRows(Lake(get_settings().lake))
    names = sorted(path.stem for path in options.tags.glob("*.jsonl") if path.stem in printed.filings)
    filings = [
        read_filing(name, printed.of(name), options.tags / f"{name}.jsonl")
        for name in track(names, "reading")
    ]
    labels = read_labels(filings)
    vocabulary = sorted({*FOREIGN, *(word for filing in filings for word in filing.words)})
    tables = read_tatqa(options.tatqa, random.Random(SEED)) if options.tatqa else []
    companies = sorted({filing.company for filing in filings})
    folds = [set(companies[place::FOLDS]) for place in range(FOLDS)]
    for left_out in [set()] if options.write else folds:
        rng = random.Random(SEED)
        kept: list[Question] = []
        others: list[Question] = []
        for filing in filings:
            asked = list(ask(filing, labels, vocabulary, rng))
            (others if filing.company in left_out else kept).extend(asked)
        associations = associate(labels, set(companies) - left_out, tables)
        arrays = as_arrays(train(kept, tables, associations), associations)
        if options.write:
            save_file(arrays, str(files("finrag_pipeline.answering") / MODEL_FILE))
            return
        first, five = recall(RowMatcher(arrays), others)
        console.print(
            f"left out {', '.join(sorted(left_out))}: right row first {first:.3f}, in five {five:.3f}"
        )


if __name__ == "__main__":
    main()
