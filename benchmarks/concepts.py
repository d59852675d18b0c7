"""Trains the model of concepts that the package ships, and tests it on companies left out.

    FINRAG_LAKE=lake python -m benchmarks.concepts FILINGS GAAP [--write]

``FILINGS`` is a folder with the inline XBRL of filings of the lake, ``FILING.html`` each: right is the
concept with which the filer tagged the number. ``GAAP`` says how many companies report a concept, and which
concepts filers choose between for the same figure (its family): ``gaap_mappings.json`` in the folder
``edgar/xbrl/standardization`` of the package edgartools (5.62.1, MIT). Only numbers of primary statements
that are tagged without members count.

Concepts of one family are counted apart, as 'other name': which of them a filer chooses is often not printed.
"""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pyarrow as pa
from rapidfuzz import fuzz
from rich.progress import track
from safetensors.numpy import save_file

from benchmarks import arguments
from benchmarks.trees import tree_arrays
from finrag_pipeline.filings import xbrl
from finrag_pipeline.filings.html import read_html
from finrag_pipeline.settings import get_settings
from finrag_pipeline.statements.assign import lexicon_matches, read_balance_totals
from finrag_pipeline.statements.classify import StatementPage, classify_pages
from finrag_pipeline.statements.concept_model import (
    FEATURES,
    LEAST_CHANCE,
    MODEL_FILE,
    ConceptModel,
    Example,
    Features,
    Knowledge,
    Line,
    describe,
    name_words,
    pack,
    words_of,
)
from finrag_pipeline.statements.concepts import BEGINNING, concept_names, normal_label
from finrag_pipeline.statements.facts import statement_facts
from finrag_pipeline.statements.rows import Row, table_rows
from finrag_pipeline.storage.lake import Lake

SEED = 1
ROUNDS = 200
GROUPS = 4
LEAST_COMPANIES = 60
LEAST_PROBABILITY = 0.005
PARAMETERS = {
    "objective": "binary", "learning_rate": 0.06, "num_leaves": 15, "min_data_in_leaf": 40,
    "feature_fraction": 0.6, "bagging_fraction": 0.8, "bagging_freq": 1, "lambda_l2": 5, "verbose": -1,
    "num_threads": 1, "seed": SEED, "deterministic": True,
}  # fmt: skip
Translations = dict[str, dict[str, float]]

_GAAP = "us-gaap:"


@dataclass(frozen=True)
class Tag:
    """A number that a filer tagged in a table: concept, full value, period, and the label of its row."""

    concept: str
    value: float
    start: dt.date | None
    end: dt.date
    whole: bool
    label: str


@dataclass(frozen=True)
class Printed:
    """A filing as facts are made of it, and what its filer tagged by page, table, row and column."""

    filing: str
    cells: pa.Table
    texts: Sequence[str]
    statements: Sequence[StatementPage]
    tags: dict[tuple[int, ...], str]


@dataclass(frozen=True)
class Table:
    """A table of a primary statement: rows, and what their filer tagged in each by place and column."""

    filing: str
    kind: str
    liabilities_only: bool
    rows: Sequence[Row]
    tags: Mapping[int, Counter[str]]

    @property
    def company(self) -> str:
        """Key of the company: what the identifiers of its filings begin with."""
        return self.filing.split("_")[0]

    def lines(self) -> list[Line | None]:
        """What the model sees of the rows."""
        matches = lexicon_matches(self.kind, self.rows, self.liabilities_only)
        ranks = [{m.concept.name.removesuffix(BEGINNING): m.rank for m in found} for found in matches]
        return describe(self.kind, self.rows, ranks)


# --- what filers tagged ----------------------------------------------------------------------------------


def read_tags(path: Path) -> list[Tag]:
    """Every visible number of inline XBRL that stands in a row of a table."""
    found = []
    for tag in xbrl.read_tags(read_html(path)):
        row = next(tag.element.iterancestors("tr"), None)
        if row is not None and tag.page is not None and tag.value is not None and tag.context.end:
            texts = (" ".join("".join(cell.itertext()).split()) for cell in row.iterchildren())
            label = next(filter(None, texts), "")
            days, whole = (tag.context.start, tag.context.end), not tag.context.members
            found.append(Tag(tag.name, abs(tag.value), *days, whole, label))
    return found


def tag_of(fact: Mapping[str, Any], tags: Mapping[float, Sequence[Tag]]) -> Tag | None:
    """The tag of a printed number, by value, period and label."""
    best: tuple[tuple[bool, bool, float], Tag] | None = None
    scales = (1.0,) if fact["scale"] != 1 else (1.0, 1e3, 1e6)
    for scale in scales:
        for tag in tags.get(round(abs(fact["value"]) * scale, 4), ()):
            alike = fuzz.token_sort_ratio(normal_label(fact["label"]), normal_label(tag.label))
            least = (
                90 if scale > 1 or not fact["value"] else 60 if fact["label"] and len(tag.label) > 2 else 0
            )
            rating = (alike >= 80, tag.whole, alike)
            if alike >= least and _same_period(fact, tag) and (best is None or rating > best[0]):
                best = rating, tag
    return best[1] if best else None


def _same_period(fact: Mapping[str, Any], tag: Tag) -> bool:
    if fact["period_end"] is None:
        return True
    if abs((fact["period_end"] - tag.end).days) > 8:
        return False
    if fact["period_kind"] == "instant" or tag.start is None:
        # Cash at both ends stands under the period of the flows.
        return tag.start is None and (fact["period_kind"] == "instant" or fact["statement"] == "cash_flows")
    return fact["period_start"] is None or abs((fact["period_start"] - tag.start).days) <= 10


def read_filing(filing: str, store: Lake, tags: Sequence[Tag]) -> tuple[Printed, list[Table]]:
    """A filing, and the tables of its primary statements with what its filer tagged in them."""
    by_value: dict[float, list[Tag]] = defaultdict(list)
    for tag in tags:
        by_value[round(tag.value, 4)].append(tag)
    partition = {"filing": filing}
    form = store.read("filings", partition).to_pylist()[0]["form"]
    cells = store.read("page_tables", partition)
    texts = store.read("filing_pages", partition, ["page", "text"]).sort_by("page")["text"].to_pylist()
    statements = classify_pages(texts, cells, form)
    facts = store.read("statement_facts", partition).to_pylist()
    rows = table_rows(cells, [(s.page, s.table) for s in statements if s.table is not None])
    own: dict[tuple[int, int], list[dict[str, Any]]] = defaultdict(list)
    for fact in facts:
        if fact["scope"] == "primary":
            own[fact["page"], fact["table"]].append(fact)
    behind_assets = False
    printed = Printed(filing, cells, texts, statements, {})
    tables = []
    for key in sorted(own):
        found: dict[int, Counter[str]] = defaultdict(Counter)
        if own[key][0]["statement"] == "financial_position":
            read_balance_totals(rows[key])
        places = {row.row: place for place, row in enumerate(rows[key])}
        for fact in own[key]:
            tag = tag_of(fact, by_value)
            if tag is not None and tag.whole and tag.concept.startswith(_GAAP):
                concept = tag.concept.removeprefix(_GAAP)
                found[places[fact["row"]]][concept] += 1
                printed.tags[*key, fact["row"], fact["column"]] = concept
        kind = own[key][0]["statement"]
        tables.append(Table(filing, kind, behind_assets, rows[key], found))
        behind_assets |= any(fact["concept"] == "Assets" for fact in own[key])
    return printed, tables


# --- training --------------------------------------------------------------------------------------------


def examples_of(tables: Sequence[Table]) -> list[Example]:
    """Each tagged row once per company, statement and part of it."""
    found: dict[tuple[Any, ...], Example] = {}
    for table in tables:
        for place, line in enumerate(table.lines()):
            if line is None or not table.tags.get(place):
                continue
            concept = table.tags[place].most_common(1)[0][0]
            own = (line.kind, line.region, line.words, concept, table.company)
            found.setdefault(own, Example(*own, round(line.place, 3), round(line.negative, 3)))
    return list(found.values())


def translate(pairs: Sequence[tuple[Sequence[str], Sequence[str], float]], rounds: int = 6) -> Translations:
    """Probability of a word of the first text given one of the second: IBM model 1 (Brown et al., 1993).

    Args:
        pairs: two texts that say the same, and the weight of the pair.
        rounds: of expectation and maximisation.
    """
    left = {word: at for at, word in enumerate(sorted({word for text, _, _ in pairs for word in text}))}
    right = {word: at for at, word in enumerate(["", *sorted({w for _, text, _ in pairs for w in text})])}
    ones, others, groups, weights = [], [], [], []
    for text, other, weight in pairs:
        given = [0, *(right[word] for word in other)]
        for word in text:
            ones += [left[word]] * len(given)
            others += given
            groups += [groups[-1] + 1 if groups else 0] * len(given)
            weights += [weight] * len(given)
    keys, inverse = np.unique(np.array(ones) * len(right) + np.array(others), return_inverse=True)
    chance = np.ones(len(keys))
    for _ in range(rounds):
        each = chance[inverse]
        expected = np.array(weights) * each / np.bincount(groups, each)[groups]
        counts = np.bincount(inverse, expected)
        chance = counts / np.bincount(keys % len(right), counts, minlength=len(right))[keys % len(right)]
    names, given_names = list(left), list(right)
    found: Translations = defaultdict(dict)
    for key, probability in zip(keys.tolist(), chance.tolist(), strict=True):
        if probability >= LEAST_PROBABILITY:
            found[names[key // len(right)]][given_names[key % len(right)]] = round(probability, 4)
    return dict(found)


def learn(
    tables: Sequence[Table], tags: Mapping[str, Sequence[Tag]], gaap: Mapping[str, Any], companies: set[str]
) -> Knowledge:
    """What filings of some companies tell of concepts, and the names of all."""
    kept = [table for table in tables if table.company in companies]
    examples = examples_of(kept)
    names = {name for name, entry in gaap.items() if entry.get("company_count", 0) >= LEAST_COMPANIES}
    names |= {name.removesuffix(BEGINNING) for name in concept_names()} | {e.concept for e in examples}
    concepts = {}
    for name in sorted(names):
        entry = gaap.get(name, {})
        concepts[name] = str((entry.get("standard_tags") or [name])[0]), int(entry.get("company_count", 20))
    pairs: dict[tuple[tuple[str, ...], tuple[str, ...], str], float] = {}
    for table in kept:
        for place, line in enumerate(table.lines()):
            if line is not None and table.tags.get(place):
                concept = table.tags[place].most_common(1)[0][0]
                pairs[(*line.words, *line.context), name_words(concept), table.company] = 1.0
    for filing, found in tags.items():
        company = filing.split("_")[0]
        for tag in found if company in companies else ():
            words = words_of(normal_label(tag.label))
            if tag.whole and tag.concept.startswith(_GAAP) and words and len(tag.label) < 160:
                pairs.setdefault((words, name_words(tag.concept.removeprefix(_GAAP)), company), 0.5)
    for name in concepts:
        pairs.setdefault((name_words(name), name_words(name), ""), 0.3)
    said = [(one, other, weight) for (one, other, _), weight in pairs.items()]
    forward = translate(
        [(tuple(w for w in one if ":" not in w), other, weight) for one, other, weight in said]
    )
    backward = translate([(other, one, weight) for one, other, weight in said])
    by_word: Translations = defaultdict(dict)
    for name_word, given in backward.items():
        for word, probability in given.items():
            if word:
                by_word[word][name_word] = probability
    return Knowledge(concepts, examples, forward, dict(by_word))


def train(
    tables: Sequence[Table], tags: Mapping[str, Sequence[Tag]], gaap: Mapping[str, Any], companies: set[str]
) -> dict[str, np.ndarray]:
    """The arrays of a model; the trees see each company with the knowledge of others alone."""
    features, right = [], []
    order = sorted(companies)
    for at in range(GROUPS):
        group = set(order[at::GROUPS])
        known = Features(learn(tables, tags, gaap, companies - group))
        seen = set()
        for table in tables:
            for place, line in enumerate(table.lines()) if table.company in group else ():
                gold = table.tags.get(place, Counter()).most_common(1)
                if line is None or (table.kind == "equity" and not gold):
                    continue
                concept = gold[0][0] if gold else None
                key = (table.company, line.kind, line.region, line.words, concept)
                if key not in seen:
                    seen.add(key)
                    candidates, own = known.of(line)
                    features.append(own)
                    right.append([known.names[candidate] == concept for candidate in candidates])
    data = lightgbm.Dataset(np.concatenate(features), np.concatenate(right), feature_name=list(FEATURES))
    booster = lightgbm.train(PARAMETERS, data, ROUNDS)
    return tree_arrays(booster) | {"known": pack(learn(tables, tags, gaap, companies))}


def count(filing: Printed, model: ConceptModel) -> dict[str, Counter[str]]:
    """Facts by statement: all, covered, with the filer's own concept, with another of its family."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    facts = statement_facts(filing.filing, filing.cells, filing.texts, None, filing.statements, model)
    for fact in facts.to_pylist():
        gold = filing.tags.get((fact["page"], fact["table"], fact["row"], fact["column"]))
        if gold is None:
            continue
        own = counts[fact["statement"]]
        own["facts"] += 1
        if fact["concept"]:
            name = fact["concept"].removesuffix(BEGINNING)
            families = [model.families.get(one, one) for one in (name, gold)]
            own["covered"] += 1
            own["own name"] += name == gold
            own["other name"] += name != gold and families[0] == families[1]
    return counts


def show(counts: Mapping[str, Counter[str]]) -> None:
    """Print shares of the facts by statement."""
    print(f"{'':24}{'facts':>7}{'covered':>9}{'own name':>10}{'other name':>12}{'wrong':>8}")
    total: Counter[str] = sum(counts.values(), Counter())
    for kind, own in [*sorted(counts.items()), ("all", total)]:
        covered = max(own["covered"], 1)
        wrong = covered - own["own name"] - own["other name"]
        shares = [own["covered"] / max(own["facts"], 1)]
        shares += [number / covered for number in (own["own name"], own["other name"], wrong)]
        print(
            f"{kind:24}{own['facts']:7}"
            + "".join(f"{share:{w}.3f}" for share, w in zip(shares, (9, 10, 12, 8), strict=True))
        )


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("filings", type=Path)
    parser.add_argument("gaap", type=Path)
    parser.add_argument("--least", type=float, nargs="*", default=[], help="other least probabilities")
    parser.add_argument(
        "--write", action="store_true", help="train on all companies and replace the shipped model"
    )
    options = parser.parse_args()
    gaap: Mapping[str, Any] = json.loads(options.gaap.read_text())
    store = Lake(get_settings().lake)
    printed = set(store.read_all("filings")["filing"].to_pylist())
    tags = {
        path.stem: read_tags(path) for path in sorted(options.filings.glob("*.html")) if path.stem in printed
    }
    read = [read_filing(filing, store, own) for filing, own in track(tags.items(), "reading")]
    tables = [table for _, own in read for table in own]
    companies = {filing.split("_")[0] for filing in tags}
    if options.write:
        arrays = train(tables, tags, gaap, companies)
        save_file(arrays, str(files("finrag_pipeline.statements") / MODEL_FILE))
        return
    counts: dict[float, dict[str, Counter[str]]] = {
        least: defaultdict(Counter) for least in (*options.least, LEAST_CHANCE)
    }
    for company in track(sorted({table.company for table in tables}), "training"):
        arrays = train(tables, tags, gaap, companies - {company})
        for least, total in counts.items():
            model = ConceptModel(arrays, least)
            for filing, _ in read:
                if filing.filing.split("_")[0] == company:
                    for kind, own in count(filing, model).items():
                        total[kind] += own
    for least, total in counts.items():
        print(f"least probability {least}")
        show(total)


if __name__ == "__main__":
    main()
