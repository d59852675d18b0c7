"""Fusion of the rankings of several first stages into one: by ranks, or by scores."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from finrag_pipeline.errors import ModelError, Problem
from finrag_pipeline.retrieval.component import Component, Hit, Inputs, Query, Search
from finrag_pipeline.retrieval.spaces import Scope, Space
from finrag_pipeline.storage.fingerprints import fingerprint

Item = TypeVar("Item", bound=Hashable)


@dataclass(frozen=True)
class Fusion(Component):
    """Several first stages, whose rankings are fused."""

    stages: tuple[Component, ...]

    @property
    def embeds(self) -> bool:
        """Whether one of them looks for vectors."""
        return any(stage.embeds for stage in self.stages)

    @property
    def reads(self) -> tuple[str, ...]:
        """What the stages read."""
        return tuple(asset for stage in self.stages for asset in stage.reads)

    def problem(self, inputs: Inputs) -> Problem | None:
        """The first problem of a stage."""
        return next(filter(None, (stage.problem(inputs) for stage in self.stages)), None)

    def fingerprint(self, inputs: Inputs) -> Any:
        """Of the stages."""
        return [stage.fingerprint(inputs) for stage in self.stages]

    def rankings(
        self, query: Query, inputs: Inputs, scope: Scope, depth: int, inner: Search
    ) -> list[list[Hit]]:
        """The ranking of each stage.

        A chunk that shares no term with the question has no rank among those that do.
        """
        return [
            [hit for hit in stage.search(query, inputs, scope, depth, inner) if stage.embeds or hit.score > 0]
            for stage in self.stages
        ]


@dataclass(frozen=True)
class ReciprocalRanks(Fusion):
    """The sum of reciprocal ranks."""

    def fingerprint(self, inputs: Inputs) -> Any:
        """Of the stages and the constant."""
        return [*super().fingerprint(inputs), inputs.corpus.settings.retrieval.rrf_k]

    def search(self, query: Query, inputs: Inputs, scope: Scope, depth: int, inner: Search) -> list[Hit]:
        """Chunks by their fused ranks."""
        names = [type(stage).__name__.lower() for stage in self.stages]
        rankings = self.rankings(query, inputs, scope, depth, inner)
        return fuse_ranks(rankings, names, inputs.corpus.settings.retrieval.rrf_k, depth)


@dataclass(frozen=True)
class HybridWeights:
    """Weights of the dense score by search space, chosen without some questions.

    They name no question that they learned from: one number for a space learns nothing of a question.
    """

    by_space: Mapping[str, float]
    question_ids: tuple[str, ...] = ()

    @property
    def fingerprint(self) -> str:
        """Of the weights."""
        return fingerprint("hybrid weights", dict(sorted(self.by_space.items())))


@dataclass(frozen=True)
class WeightedSum(Fusion):
    """The weighted sum of a dense and a lexical score; the weight is learned by search space."""

    models = ("hybrid_alpha",)

    def _weights(self, inputs: Inputs) -> Mapping[str, float]:
        found = inputs.learned.models.get("hybrid_alpha")
        return found.by_space if isinstance(found, HybridWeights) else {}

    def problem(self, inputs: Inputs) -> Problem | None:
        """That the weight was not tuned, or the first problem of a stage."""
        if not self._weights(inputs):
            return Problem("The weight of the hybrid was not tuned: materialise hybrid_alpha_sweep.")
        return super().problem(inputs)

    def fingerprint(self, inputs: Inputs) -> Any:
        """Of the stages and the weights."""
        return [*super().fingerprint(inputs), dict(sorted(self._weights(inputs).items()))]

    def search(self, query: Query, inputs: Inputs, scope: Scope, depth: int, inner: Search) -> list[Hit]:
        """Chunks by their fused scores."""
        space = (
            Space.CORPUS if scope.filings is None else Space.FILING if scope.pages is None else Space.PAGES
        )
        alpha = self._weights(inputs).get(space.value)
        if alpha is None:
            raise ModelError("The weight of the hybrid was not tuned for this space.", "Run: finrag run.")
        dense, lexical = self.dense_and_lexical(self.rankings(query, inputs, scope, depth, inner))
        scores = [{hit.chunk_id: f"{hit.score:.2f}" for hit in ranking} for ranking in (dense, lexical)]
        return [
            replace(hit, why=f"{hit.why}; weight of dense {alpha:.2f}")
            for hit in _fused(
                fuse_scores(dense, lexical, alpha)[:depth], [dense, lexical], ["dense", "lexical"], scores
            )
        ]

    def dense_and_lexical(self, rankings: Sequence[list[Hit]]) -> tuple[list[Hit], list[Hit]]:
        """The rankings of the stages, the dense one first."""
        by_kind = {stage.embeds: found for stage, found in zip(self.stages, rankings, strict=True)}
        return by_kind[True], by_kind[False]


def fuse_scores(dense: Sequence[Hit], lexical: Sequence[Hit], alpha: float) -> list[tuple[str, float]]:
    """Chunks of two rankings with their weighted sum, best first."""
    scored = [[(hit.chunk_id, hit.score) for hit in ranking] for ranking in (dense, lexical)]
    return weighted_fusion(scored[0], scored[1], alpha)


def fuse_ranks(rankings: list[list[Hit]], names: list[str], k: int, depth: int) -> list[Hit]:
    """The first ``depth`` of rankings fused by reciprocal rank with the constant k, named in the reasons."""
    fused = reciprocal_rank_fusion([[hit.chunk_id for hit in ranking] for ranking in rankings], k)
    ranks = [{hit.chunk_id: f"rank {n}" for n, hit in enumerate(found, start=1)} for found in rankings]
    return _fused(fused[:depth], rankings, names, ranks)


def _fused(
    fused: Sequence[tuple[str, float]],
    rankings: Sequence[list[Hit]],
    names: Sequence[str],
    told: Sequence[Mapping[str, str]],
) -> list[Hit]:
    """Hits of fused chunks, each with what is told of it in each ranking."""
    known: dict[str, Hit] = {}
    for hit in (hit for ranking in rankings for hit in ranking):
        # One that knows its passage, where there is any.
        if hit.chunk_id not in known or known[hit.chunk_id].passage is None:
            known[hit.chunk_id] = hit
    found = list(zip(names, told, strict=True))
    return [
        replace(
            known[chunk_id],
            score=score,
            why=", ".join(f"{name} {of[chunk_id]}" for name, of in found if chunk_id in of),
        )
        for chunk_id, score in fused
    ]


def reciprocal_rank_fusion(rankings: Sequence[Sequence[Item]], k: int = 60) -> list[tuple[Item, float]]:
    """Fuse rankings, best first and without repeats: score(x) = Σ over rankings of 1 / (k + rank of x).

    Cormack, Clarke & Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual rank
    learning methods", SIGIR 2009, where k is 60. Ranks are from 1; items that a ranking lacks add nothing
    for it. Ties come in the order in which the items first appear.
    """
    scores: dict[Item, float] = {}
    for ranking in rankings:
        for rank, item in enumerate(ranking, start=1):
            scores[item] = scores.get(item, 0.0) + 1.0 / (k + rank)
    return sorted(scores.items(), key=lambda pair: -pair[1])


def weighted_fusion(
    dense: Sequence[tuple[Item, float]], sparse: Sequence[tuple[Item, float]], alpha: float
) -> list[tuple[Item, float]]:
    """Fuse two scored rankings, best first and without repeats: S(x) = α · dense(x) + (1 − α) · sparse(x).

    Kim et al. (2025), "Optimizing Retrieval Strategies for Financial Question Answering Documents". Cosines
    and BM25 weights are not on one scale, and the paper names no normalisation (its code takes a softmax).
    Here each ranking's scores are brought to [0, 1] by their minimum and maximum, query by query; an item
    that a ranking lacks counts 0 there, as its last one does. At α = 1 the order is that of ``dense``,
    followed by the others; at 0 that of ``sparse``. Ties come in the order in which the items first appear,
    those of the ranking with the greater weight first.
    """
    weighted = [(dense, alpha), (sparse, 1.0 - alpha)]
    if alpha < 0.5:
        weighted.reverse()
    scores: dict[Item, float] = {}
    for ranking, weight in weighted:
        values = [score for _, score in ranking]
        low, high = min(values, default=0.0), max(values, default=0.0)
        for item, score in ranking:
            # Equal scores say that all of them match alike, not that none does.
            unit = (score - low) / (high - low) if high > low else 1.0
            scores[item] = scores.get(item, 0.0) + weight * unit
    return sorted(scores.items(), key=lambda pair: -pair[1])
