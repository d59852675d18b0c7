"""Corpora with relevance judgements in BEIR's format (Thakur et al., 2021), and metrics of rankings.

Documents and queries are JSON Lines of ``{_id, title, text}``, judgements tab-separated lines of query,
document and gain below a heading. FinanceRAG's sets come so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from finrag_pipeline.errors import BenchmarkError
from finrag_pipeline.evaluation.questions import read_objects
from finrag_pipeline.evaluation.retrieval_metrics import discounted_gain

CUTOFF = 10
METRICS = (f"ndcg@{CUTOFF}", f"recall@{CUTOFF}", f"mrr@{CUTOFF}")


@dataclass(frozen=True)
class JudgedCorpus:
    """Documents, and queries with the documents that answer them.

    Attributes:
        documents: text by identifier, with its title before it.
        queries: text by identifier; those with a judgement that counts.
        gains: gain of each relevant document, by query; positive.
        left_out: queries without a judgement, or whose relevant documents the corpus lacks.
    """

    name: str
    documents: Mapping[str, str]
    queries: Mapping[str, str]
    gains: Mapping[str, Mapping[str, int]]
    left_out: int = 0

    @property
    def relevant(self) -> set[str]:
        """Documents that answer some query."""
        return {document for gains in self.gains.values() for document in gains}

    def drawn(self, most: int | None, seed: int, queries: int | None = None) -> JudgedCorpus:
        """A smaller corpus: what answers its queries always stays, the rest is drawn by the seed.

        Args:
            most: documents, about; all when None.
            seed: of the draw.
            queries: queries; all when None.
        """
        asked = list(self.queries)
        if queries is not None and queries < len(asked):
            order = np.random.default_rng(seed).permutation(len(asked))[:queries]
            asked = [asked[n] for n in sorted(order.tolist())]
        found = replace(
            self,
            queries={name: self.queries[name] for name in asked},
            gains={name: self.gains[name] for name in asked},
        )
        relevant = found.relevant
        others = sorted(set(self.documents) - relevant)
        kept = len(others) if most is None else max(0, most - len(relevant))
        order = np.random.default_rng(seed).permutation(len(others))[:kept]
        names = relevant | {others[n] for n in order.tolist()}
        texts = {name: text for name, text in self.documents.items() if name in names}
        return replace(found, documents=texts)


def read_judged_corpus(name: str, corpus: Path, queries: Path, qrels: Path) -> JudgedCorpus:
    """Read documents and queries, JSON Lines (``.gz`` is unpacked), and judgements; those of 0 do not count.

    Raises:
        BenchmarkError: a file cannot be read or is damaged, or no query can be measured.
    """
    documents, asked = _texts(corpus), _texts(queries)
    gains: dict[str, dict[str, int]] = {}
    try:
        lines = qrels.read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BenchmarkError(f"'{qrels}' cannot be read: {error}.", "Check the path.") from error
    for number, line in enumerate(lines[1:], start=2):
        try:
            query, document, gain = line.split("\t")
            gains.setdefault(query, {})[document] = int(gain)
        except ValueError as error:
            raise BenchmarkError(
                f"{qrels.name} line {number} is no judgement.", "Give query, document and gain by tabs."
            ) from error
    usable = {
        query: found
        for query, judged in gains.items()
        if query in asked and (found := {d: gain for d, gain in judged.items() if gain > 0})
        and found.keys() <= documents.keys()
    }  # fmt: skip
    if not usable:
        raise BenchmarkError(
            f"No query of {queries.name} has judged documents in {corpus.name}.", "Give files of one set."
        )
    kept = {query: asked[query] for query in usable}
    return JudgedCorpus(name, documents, kept, usable, len(asked) - len(kept))


def read_beir_folder(folder: Path) -> JudgedCorpus:
    """The corpus of a folder as BEIR publishes it: ``corpus.jsonl``, ``queries.jsonl``, ``qrels/test.tsv``.

    Raises:
        BenchmarkError: a file is missing or damaged, or no query can be measured.
    """

    def one(name: str) -> Path:
        return next((p for p in (folder / name, folder / f"{name}.gz") if p.is_file()), folder / name)

    return read_judged_corpus(
        folder.resolve().name, one("corpus.jsonl"), one("queries.jsonl"), folder / "qrels" / "test.tsv"
    )


def _texts(path: Path) -> dict[str, str]:
    found = {}
    objects, problems = read_objects(path)
    for line, row in objects:
        name, text = row.get("_id", row.get("corpus_id")), row.get("text")
        if not isinstance(name, str) or not isinstance(text, str):
            problems.append(f"{path.name}, line {line}: '_id' or 'text' is missing.")
            continue
        found[name] = "\n".join(filter(None, (row.get("title"), text)))
    if problems:
        raise BenchmarkError(problems[0], "Correct the line; a corpus with holes measures something else.")
    return found


def ndcg(ranking: Sequence[str], gains: Mapping[str, int]) -> float:
    """NDCG of the first `CUTOFF` documents as trec_eval computes it; the ideal is over all relevant ones.

    Args:
        ranking: documents, best first, none twice.
        gains: positive gains of the relevant documents, at least one.
    """
    found = discounted_gain(gains.get(document, 0) for document in ranking[:CUTOFF])
    return found / discounted_gain(sorted(gains.values(), reverse=True)[:CUTOFF])


def score_documents(rankings: Mapping[str, Sequence[str]], corpus: JudgedCorpus) -> np.ndarray:
    """Metrics of rankings, shape (queries, metrics), queries in the order of the corpus; in [0, 1].

    Args:
        rankings: documents by query, best first; a query without a ranking scores 0.
        corpus: the judgements.
    """
    rows = []
    for query in corpus.queries:
        gains, found = corpus.gains[query], list(rankings.get(query, ()))[:CUTOFF]
        hits = [rank for rank, document in enumerate(found, start=1) if document in gains]
        rows.append([ndcg(found, gains), len(hits) / len(gains), 1 / hits[0] if hits else 0.0])
    return np.array(rows, dtype=np.float64).reshape(-1, len(METRICS))


def document_clusters(corpus: JudgedCorpus) -> list[str]:
    """For each query the document that it shares with others: the first relevant one, for intervals."""
    return [min(corpus.gains[query]) for query in corpus.queries]
