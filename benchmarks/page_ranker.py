"""The page ranker on questions of other filings than FinanceBench's, and the general model that is shipped.

    FINRAG_LAKE=lake python -m benchmarks.page_ranker QUESTIONS … --clean FOLDER [--ship]

The lake holds FinanceBench and the filings of the questions; those that a file asks about are its corpus.

Rows of a file of questions have ``pages``, each of which proves the answer (or ``together`` all of them);
``doc`` and ``page``; or ``facts``: a page proves a fact where a row prints its value and period and shares
a word with tag or question; zeros and facts without one are left out. Rows with ``doc`` are also asked with
company and year.

Asked are companies that nothing was learned from: the general model learns from the questions of the other
companies, in three parts, and never from a company of FinanceBench; the lake's own model from FinanceBench.
The encoder of questions learns from the same, and from FinQA and TAT-QA below ``--clean``; a company that is
learned from is asked with an encoder that knows nothing of it. PageRec@5 is the share of the proofs of a
question that its first five pages hold. Of each filing asked about, lines of its statements are asked for in
plain words too, which pages of its primary statements prove. ``--ship`` then trains both on all of these and
writes the files that the package carries.
"""

from __future__ import annotations

import datetime as dt
import json
import lzma
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track
from safetensors.numpy import save_file

from benchmarks import arguments
from benchmarks.answers import read_questions
from benchmarks.intervals import cluster_bootstrap
from benchmarks.question_encoder import Lesson, clean_lessons, teach
from benchmarks.row_cross_encoder import random_text
from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.questions.formula_lexicon import Line, formula_lexicon
from finrag_pipeline.rankers.page_ranker import RANKER_VERSION
from finrag_pipeline.rankers.page_ranker.candidates import Candidates, read_candidates
from finrag_pipeline.rankers.page_ranker.library import PageLibrary
from finrag_pipeline.rankers.page_ranker.model import (
    BOOSTED,
    GENERAL_FILE,
    Example,
    RankingModel,
    train_model,
)
from finrag_pipeline.rankers.page_ranker.question_encoder import ADAPTER_FILE, Encode, QuestionEncoder
from finrag_pipeline.rankers.page_ranker.ranker import LIKELY, show_every_filing
from finrag_pipeline.rankers.page_ranker.terms import terms
from finrag_pipeline.rankers.page_ranker.training import page_examples
from finrag_pipeline.resolver.resolver import load_resolver
from finrag_pipeline.retrieval.page_stage import sentence_vectors
from finrag_pipeline.settings import get_settings
from finrag_pipeline.statements.filing_rows import FilingRow, FilingRows
from finrag_pipeline.storage.lake import Lake

CUTOFF = 5
PARTS = 3
"""Parts of the companies, each asked of a model of the others."""

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_DAYS_APART, _DAYS_OF_A_MONTH = 7, 365.25 / 12
_PACKAGE = Path(str(resources.files("finrag_pipeline.rankers.page_ranker")))
Pages = frozenset[tuple[str, int]]


@dataclass(frozen=True)
class Asked:
    """A question with the pages that prove each part of its answer, and its candidate pages.

    Attributes:
        group: name of its file, and how it is asked.
        question_id: of the file.
        company: that its filing names on its cover.
        filing: that it is about.
        proofs: for each part of the answer the pages that prove it.
        example: to learn from, pages of the filing among the candidates.
        found: candidate pages as a search has them.
    """

    group: str
    question_id: str
    company: str
    filing: str
    proofs: Sequence[Pages]
    example: Example
    found: Candidates


def proving_pages(fact: Mapping[str, Any], question: str, rows: Sequence[FilingRow]) -> Pages:
    """Pages of a filing that print a fact; none for zeros, which many rows print."""
    concept = fact["concept"].split(":")[-1]
    names = (concept, *(member.split(":")[-1] for member in fact["members"].values()))
    said = {*terms(question), *terms(fact.get("row") or ""), *terms(_CAMEL.sub(" ", " ".join(names)))}
    end = dt.date.fromisoformat(fact["end"])
    start = dt.date.fromisoformat(fact["start"]) if fact["start"] else None
    months = round(((end - start).days + 1) / _DAYS_OF_A_MONTH) if start else None
    return frozenset(
        (row.filing, row.page)
        for row in rows
        for value in row.values
        if fact["value"] and abs(abs(value.value) - abs(fact["value"])) <= 1e-6 * abs(fact["value"])
        if value.period_end and abs((value.period_end - end).days) <= _DAYS_APART
        if not (months and value.months) or months == value.months
        if concept == row.concept or said & {*terms(" ".join((*row.path, *row.columns, row.caption[:200])))}
    )


Row = tuple[str, str, str, str, list[Pages]]
"""Group, identifier, question, its filing, and for each part of its answer the pages that prove it."""


def read_asked(lake: Lake, path: Path) -> Iterator[Row]:
    """Questions of a file."""
    filings = {row["filing"]: row for row in lake.read_all("filings").to_pylist()}
    rows = FilingRows(lake)
    for raw in read_questions([path]):
        if "facts" in raw:
            pages = [proving_pages(fact, raw["question"], rows.of(fact["filing"])) for fact in raw["facts"]]
            if proofs := list(filter(None, pages)):
                yield path.stem, raw["id"], raw["question"], raw["filing"][0], proofs
        elif "pages" in raw:
            own = raw["filing"]
            if own in filings:
                alone = [frozenset((own, page) for page in raw["pages"])]
                together = [frozenset({(own, page)}) for page in raw.get("together") or ()]
                yield path.stem, raw["id"], raw["question"], own, together or alone
        else:
            doc, proofs = raw["doc"], [frozenset({(raw["doc"], raw["page"])})]
            year = filings[doc]["fiscal_year"] or filings[doc]["declared_year"]
            named = f"In {filings[doc]['company']}'s {year} filing: {raw['question']}"
            yield path.stem, raw["qid"], raw["question"], doc, proofs
            yield f"{path.stem}{NAMED}", raw["qid"], named, doc, proofs


NAMED = ", with company and year"


def ask(lake: Lake, rows: Sequence[Row], encoders: Mapping[str, Encode]) -> Iterator[Asked]:
    """Questions over the filings that they are about, by encoders for their companies."""
    known = sorted({row[3] for row in rows})
    library, resolver = PageLibrary(lake), load_resolver(lake, known)
    companies = companies_of(lake)
    for group, name, question, filing, proofs in track(rows, rows[0][0]):
        gold = frozenset[tuple[str, int]]().union(*proofs)
        pages = [page for own, page in gold if own == filing]
        row = {"question": question, "filing": filing, "gold_pages": pages}
        encode = encoders[companies[filing]]
        (example,) = page_examples([row], encode, library, resolver, known)
        found = read_candidates(question, encode, library, resolver, known)
        yield Asked(group, name, companies[filing], filing, proofs, example, found)


def companies_of(lake: Lake) -> dict[str, str]:
    """The company that each filing names on its cover."""
    return {row["filing"]: row["company"] for row in lake.read_all("filings").to_pylist()}


LINES = "statement lines"
LINES_A_FILING = 8
PLAINLY = (
    "What was {company}'s {line} in FY{year}?", "How much {line} did {company} report for fiscal {year}?",
    "{company} {line} {year}", "{line} of {company} in {year}",
    "Please tell me the {year} {line} at {company}.",
)  # fmt: skip


def ask_for_lines(lake: Lake, filings: Iterable[str], seed: int) -> Iterator[Row]:
    """Plain questions for lines of the statements of filings."""
    rng = random.Random(seed)
    infos = {row["filing"]: row for row in lake.read_all("filings").to_pylist()}
    lexicon = formula_lexicon()
    lines = [
        one for one in lexicon.entries.values() if isinstance(one, Line) and lexicon.phrases_of(one.name)
    ]
    for filing in sorted(filings):
        year = infos[filing]["fiscal_year"]
        pages: dict[str, set[int]] = defaultdict(set)
        for fact in lake.read("statement_facts", {"filing": filing}).to_pylist():
            if fact["scope"] == "primary" and fact["fiscal_year"] == year and fact["concept"]:
                pages[fact["concept"]].add(fact["page"])
        shown = [line for line in lines if any(concept in pages for concept in line.concepts)]
        for line in rng.sample(shown, min(LINES_A_FILING, len(shown))):
            company = infos[filing]["company"].title().split(",")[0]
            words = random_text(rng.choice(lexicon.phrases_of(line.name)).text, rng)
            question = rng.choice(PLAINLY).format(company=company, line=words, year=year)
            gold = set[int]().union(*(pages[one] for one in line.concepts if one in pages))
            proof = frozenset((filing, page) for page in gold)
            yield LINES, f"{filing}/{line.name}", question, filing, [proof]


def first_pages(
    model: RankingModel, candidates: Candidates, general: RankingModel | None = None
) -> list[tuple[str, int]]:
    """The first pages of a ranking as (filing, zero-based page)."""
    order = np.argsort(-model.scores(candidates, general), kind="stable")
    likely = [found.filing for found in candidates.resolution.filings if found.score >= LIKELY]
    order = show_every_filing(order, candidates.filings, likely)
    return [(candidates.filings[place], int(candidates.pages[place])) for place in order[:CUTOFF].tolist()]


def recall(question: Asked, model: RankingModel, general: RankingModel | None = None) -> float:
    """PageRec@5 of a question."""
    top = {*first_pages(model, question.found, general)}
    return float(np.mean([not pages.isdisjoint(top) for pages in question.proofs]))


def lessons(lake: Lake, rows: Iterable[Row]) -> Iterator[Lesson]:
    """Questions among the sentences of their filings."""
    sentences: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for _, _, question, filing, proofs in rows:
        pages, vectors = sentences.setdefault(filing, sentence_vectors(lake, filing))
        gold = {page for proof in proofs for own, page in proof if own == filing}
        yield Lesson(question, vectors.astype(np.float32), pages, sorted(gold))


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("questions", type=Path, nargs="+")
    parser.add_argument("--clean", type=Path, required=True, help="folder with finqa, tatqa and lofin")
    parser.add_argument("--ship", action="store_true", help="write encoder and model into the package")
    options = parser.parse_args()
    settings = get_settings()
    lake, seed = Lake(settings.lake), settings.seed
    companies, encoder = companies_of(lake), Encoder(settings.encoder, lake)
    own_rows = [row for row in lake.read("benchmark_questions").to_pylist() if row["status"] == "measured"]
    own_filings = sorted({row["filing"] for row in own_rows})
    benchmark = {companies[filing] for filing in own_filings}

    files = [list(read_asked(lake, path)) for path in options.questions]
    tabled = {keys["filing"] for keys in lake.partitions("statement_facts")}
    files.append(list(ask_for_lines(lake, tabled & {row[3] for rows in files for row in rows}, seed)))
    rows = [row for own in files for row in own]
    free = [row for row in rows if companies[row[3]] not in benchmark and not row[0].endswith(NAMED)]
    by_size = [company for company, _ in Counter(companies[row[3]] for row in free).most_common()]
    part_of = {company: place % PARTS for place, company in enumerate(by_size)}

    clean = clean_lessons(options.clean, encoder, {re.split("[/_]", row[3])[0].lower() for row in rows})
    parts = [[row for row in free if part_of[companies[row[3]]] != part] for part in range(PARTS)]
    taught = [teach(list(lessons(lake, part)), clean) for part in (*parts, free)]
    encoders = [QuestionEncoder(adapters) for adapters in taught]
    of_company = {company: encoders[part_of.get(company, PARTS)] for company in companies.values()}
    asked = [one for own in files for one in ask(lake, own, of_company)]
    resolver = load_resolver(lake, own_filings)
    own_examples = page_examples(own_rows, encoders[-1], PageLibrary(lake), resolver, own_filings)
    own = train_model(own_examples, seed, {})
    known = {(row[0], row[1]) for row in free}
    learned = [one for one in asked if (one.group, one.question_id) in known]
    recalls: dict[str, list[tuple[str, float, float, float]]] = defaultdict(list)
    for part in range(PARTS):
        others = [one.example for one in learned if part_of[one.company] != part]
        general = train_model(others, seed, {}, BOOSTED)
        for one in asked:
            if part_of.get(one.company, 0) == part:
                figures = recall(one, own), recall(one, general), recall(one, own, general)
                recalls[one.group].append((one.filing, *figures))
    for group, found in recalls.items():
        series = np.array([figures for _, *figures in found])
        mean, low, high = cluster_bootstrap(series, [row[0] for row in found], 5_000, 0.95, seed)
        print(f"{group} ({len(found)}): PageRec@{CUTOFF}")
        for name, *row in zip(("own", "general", "both"), mean, low, high, strict=True):
            print("  {:8}{:.3f} [{:.2f}, {:.2f}]".format(name, *row))
    if options.ship:
        card = {
            "version": RANKER_VERSION,
            "question_ids": sorted({one.question_id for one in learned}),
            "filings": sorted({one.filing for one in learned}),
        }
        model = train_model([one.example for one in learned], seed, card, BOOSTED)
        texts = {name: [one.model_to_string() for one in models] for name, models in model.boosters.items()}
        raw = {"features": list(model.names), "models": texts, "card": model.card}
        (_PACKAGE / GENERAL_FILE).write_bytes(lzma.compress(json.dumps(raw).encode(), preset=9))
        save_file(taught[-1], _PACKAGE / ADAPTER_FILE)


if __name__ == "__main__":
    main()
