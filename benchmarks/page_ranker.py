"""The page ranker on questions of other filings than FinanceBench's, and the general model that is shipped.

    python -m benchmarks.page_ranker LAKE_WITH_FINANCEBENCH --asked LAKE QUESTIONS … [--ship]

Rows of a file of questions have ``pages``, each of which proves the answer (or ``together`` all of them);
``doc`` and ``page``; or ``facts``: a page proves a fact where a row prints its value and period and shares
a word with tag or question; zeros and facts without one are left out. Rows with ``doc`` are also asked with
company and year.

Asked are companies that nothing was learned from: the general model learns from the questions of the other
companies, in three parts, and never from a company of FinanceBench; the lake's own model from FinanceBench.
PageRec@5 is the share of the proofs of a question that its first five pages hold. Of each filing asked about,
lines of its statements are asked for in plain words too, which pages of its primary statements prove.
``--ship`` then trains the general model on all of these and writes the file that the package carries.
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
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track

from benchmarks import arguments
from benchmarks.answers import read_questions
from benchmarks.intervals import cluster_bootstrap
from benchmarks.row_cross_encoder import random_text
from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.questions.formula_lexicon import Line, formula_lexicon
from finrag_pipeline.rankers.page_ranker import RANKER_VERSION
from finrag_pipeline.rankers.page_ranker import model as page_model
from finrag_pipeline.rankers.page_ranker.candidates import Candidates, read_candidates
from finrag_pipeline.rankers.page_ranker.library import PageLibrary
from finrag_pipeline.rankers.page_ranker.model import Example, RankingModel, train_model
from finrag_pipeline.rankers.page_ranker.ranker import LIKELY, show_every_filing
from finrag_pipeline.rankers.page_ranker.terms import terms
from finrag_pipeline.rankers.page_ranker.training import page_examples
from finrag_pipeline.resolver.resolver import load_resolver
from finrag_pipeline.retrieval.chunk_index import searchable_filings
from finrag_pipeline.settings import get_settings
from finrag_pipeline.statements.filing_rows import FilingRow, FilingRows
from finrag_pipeline.storage.lake import Lake

CUTOFF = 5
PARTS = 3
"""Parts of the companies, each asked of a model of the others."""

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_DAYS_APART, _DAYS_OF_A_MONTH = 7, 365.25 / 12
_SHIPPED = Path(page_model.__file__).parent / page_model.GENERAL_FILE
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
            if any(pages):
                yield (
                    path.stem,
                    raw["id"],
                    raw["question"],
                    raw["filing"][0],
                    [found for found in pages if found],
                )
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


def ask(lake: Lake, rows: Iterable[Row], encoder: Encoder, title: str) -> Iterator[Asked]:
    """Questions over the filings of a lake."""
    known = searchable_filings(lake)
    library, resolver = PageLibrary(lake), load_resolver(lake, known)
    companies = {row["filing"]: row["company"] for row in lake.read_all("filings").to_pylist()}
    for group, name, question, filing, proofs in track(list(rows), title):
        gold = frozenset[tuple[str, int]]().union(*proofs)
        pages = [page for own, page in gold if own == filing]
        row = {"question": question, "filing": filing, "gold_pages": pages}
        (example,) = page_examples([row], encoder.embed_short, library, resolver, known)
        found = read_candidates(question, encoder.embed_short, library, resolver, known)
        yield Asked(group, name, companies[filing], filing, proofs, example, found)


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


def own_examples(lake: Lake, encoder: Encoder) -> tuple[list[Example], set[str]]:
    """FinanceBench's questions with their candidate pages, and the companies that they are about."""
    rows = [row for row in lake.read("benchmark_questions").to_pylist() if row["status"] == "measured"]
    known = sorted({row["filing"] for row in rows})
    names = {row["filing"]: row["company"] for row in lake.read_all("filings").to_pylist()}
    examples = page_examples(rows, encoder.embed_short, PageLibrary(lake), load_resolver(lake, known), known)
    return examples, {names[filing] for filing in known}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("learned", type=Path, help="lake with FinanceBench")
    parser.add_argument("--asked", nargs=2, action="append", required=True, metavar=("LAKE", "QUESTIONS"))
    parser.add_argument("--ship", action="store_true", help="write the general model into the package")
    options = parser.parse_args()
    settings = get_settings()
    encoder = Encoder(settings.encoder, Lake(options.learned))
    questions: list[Asked] = []
    for folder, path in options.asked:
        lake = Lake(folder)
        questions += ask(lake, read_asked(lake, Path(path)), encoder, path)
    for folder in dict.fromkeys(folder for folder, _ in options.asked):
        lake = Lake(folder)
        tabled = {keys["filing"] for keys in lake.partitions("statement_facts")}
        lines = ask_for_lines(lake, tabled & {one.filing for one in questions}, settings.seed)
        questions += ask(lake, lines, encoder, LINES)
    examples, benchmark = own_examples(Lake(options.learned), encoder)
    own = train_model(examples, settings.seed, {})
    free = [one for one in questions if one.company not in benchmark and not one.group.endswith(NAMED)]
    by_size = [company for company, _ in Counter(one.company for one in free).most_common()]
    part_of = {company: place % PARTS for place, company in enumerate(by_size)}
    recalls: dict[str, list[tuple[str, float, float, float]]] = defaultdict(list)
    for part in range(PARTS):
        learned = [one.example for one in free if part_of[one.company] != part]
        general = train_model(learned, settings.seed, {})
        for one in questions:
            if part_of.get(one.company, 0) == part:
                figures = recall(one, own), recall(one, general), recall(one, own, general)
                recalls[one.group].append((one.filing, *figures))
    for group, found in recalls.items():
        series = np.array([figures for _, *figures in found])
        mean, low, high = cluster_bootstrap(series, [row[0] for row in found], 5_000, 0.95, settings.seed)
        print(f"{group} ({len(found)}): PageRec@{CUTOFF}")
        for name, *row in zip(("own", "general", "both"), mean, low, high, strict=True):
            print("  {:8}{:.3f} [{:.2f}, {:.2f}]".format(name, *row))
    if options.ship:
        card = {
            "version": RANKER_VERSION,
            "question_ids": sorted({one.question_id for one in free}),
            "filings": sorted({one.filing for one in free}),
        }
        ship(train_model([one.example for one in free], settings.seed, card))


def ship(model: RankingModel) -> None:
    """Write the general model into the package."""
    texts = {name: [one.model_to_string() for one in models] for name, models in model.boosters.items()}
    raw = {"features": list(model.names), "models": texts, "card": model.card}
    _SHIPPED.write_bytes(lzma.compress(json.dumps(raw).encode(), preset=9))


if __name__ == "__main__":
    main()
