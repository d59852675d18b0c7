"""The learned ranking of pages: two models of trees, one by lists and one by pages, fused by rank."""

from __future__ import annotations

import json
import lzma
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from finrag_pipeline.errors import LakeError, ModelError
from finrag_pipeline.rankers.card import Folder, read_card, write_card
from finrag_pipeline.rankers.page_ranker import RANKER_VERSION
from finrag_pipeline.rankers.page_ranker.candidates import Candidates
from finrag_pipeline.rankers.page_ranker.question_encoder import encoder_version
from finrag_pipeline.storage.fingerprints import fingerprint, text_hash
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.storage.optional_imports import UNUSED, without

if TYPE_CHECKING:
    import lightgbm


COMMON: dict[str, Any] = {
    "learning_rate": 0.05,
    "feature_fraction": 0.3,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "lambda_l2": 5.0,
    "num_threads": 1,
    "deterministic": True,
    "force_row_wise": True,
    "verbosity": -1,
}
KINDS: dict[str, dict[str, Any]] = {
    "lambdarank": {
        "objective": "lambdarank",
        "lambdarank_truncation_level": 10,
        "min_data_in_leaf": 10,
        "num_leaves": 15,
    },
    "binary": {"objective": "binary", "min_data_in_leaf": 8, "num_leaves": 15},
    "forest": {
        "objective": "binary",
        "boosting": "rf",
        "extra_trees": True,
        "min_data_in_leaf": 3,
        "num_leaves": 63,
        "bagging_fraction": 0.6,
        "lambda_l2": 1.0,
    },
}
"""What LightGBM is told beside `COMMON`: LambdaMART (Burges 2010) over the pages of a question; a boosted
classifier of pages, in which every question weighs the same; and the same as a forest of extremely randomised
trees (Geurts, Ernst & Wehenkel 2006), twice as many."""

BOOSTED, WITH_FOREST = ("lambdarank", "binary"), ("lambdarank", "forest")
"""Kinds of the general model and of one of few questions, and of one of a lake's own `FOREST_NEEDS` or more.

A forest learns the habits of those who asked better than boosting, and the general classifier, which knows
others, is left out beside it; of few questions it learns less."""
FOREST_NEEDS = 100
"""Questions."""
ROUNDS = 200
SEEDS = (0, 1, 2)
GENERAL_FILE = "general.json.xz"
"""The shipped model, made by ``python -m benchmarks.page_ranker``."""

MOST_WEIGHED = 500
"""Pages of a question that all boosted models weigh, the best ones of the first model, where there are more
than `MOST_PAGES`, as where a question names no company."""

MOST_PAGES = 5_000
"""Pages of a question that are learned from: LightGBM refuses lists of more than 10,000."""

PAGES_OF_A_THREAD = 1_000
"""Pages of a question that one thread predicts for."""


@dataclass(frozen=True)
class Example:
    """Candidate pages of a question to learn from, and whether each is a gold page; shape (candidates,)."""

    candidates: Candidates
    relevant: np.ndarray


@dataclass(eq=False)
class RankingModel:
    """Models over named features: LightGBM models, or their texts, by kind.

    Its card says what it was trained on.
    """

    names: tuple[str, ...]
    models: Mapping[str, Sequence[lightgbm.Booster | str]]
    card: dict[str, Any]

    @cached_property
    def boosters(self) -> dict[str, list[lightgbm.Booster]]:
        """LightGBM models by kind; texts are read when they are first asked for."""
        with without(*UNUSED):
            import lightgbm

        return {
            kind: [lightgbm.Booster(model_str=one) if isinstance(one, str) else one for one in models]
            for kind, models in self.models.items()
        }

    @property
    def fingerprint(self) -> str:
        """What decides its scores."""
        return fingerprint("page_ranker", RANKER_VERSION, encoder_version(), self.card)

    def scores(self, candidates: Candidates, general: RankingModel | None = None) -> np.ndarray:
        """Score of each candidate page, shape (candidates,): −Σ over kinds of ln(1 + rank).

        The predictions of a general model, of other questions, are added to this one's of the same kind.
        Pages that are not weighed, see `MOST_WEIGHED`, have −inf.

        Raises:
            ModelError: the features are not those it was trained on.
        """
        if candidates.names != self.names or (general is not None and candidates.names != general.names):
            raise ModelError(
                "The page ranker was trained on other features.", "Materialise page_ranker again."
            )
        features, places = candidates.features, np.arange(len(candidates.pages))
        if len(places) > MOST_PAGES:
            first = next(iter((general or self).boosters.values()))[0]
            places = np.sort(np.argsort(-np.asarray(first.predict(features)), kind="stable")[:MOST_WEIGHED])
            features = features[places]
        total = np.zeros(len(places))
        for kind in self.boosters:
            predicted = self._predict(kind, features)
            if general is not None and kind in general.boosters:
                predicted = predicted + general._predict(kind, features)
            order = np.argsort(-predicted, kind="stable")
            ranks = np.empty(len(order))
            ranks[order] = np.arange(len(order))
            total -= np.log1p(ranks)
        scores = np.full(len(candidates.pages), -np.inf)
        scores[places] = total
        return scores

    def _predict(self, kind: str, features: np.ndarray) -> np.ndarray:
        """Sum over seeds of what the models of a kind predict, shape (pages,)."""
        # Over few pages threads take longer to wait for each other than to predict.
        threads = 1 + len(features) // PAGES_OF_A_THREAD
        predicted = [model.predict(features, num_threads=threads) for model in self.boosters[kind]]
        return np.asarray(np.sum(predicted, axis=0))

    def importance(self) -> dict[str, float]:
        """Share of the total gain that each feature brings, largest first."""
        gain = np.zeros(len(self.names))
        for models in self.boosters.values():
            own = np.sum([model.feature_importance("gain") for model in models], axis=0)
            gain += own / max(float(own.sum()), 1e-9) / len(self.boosters)
        return {self.names[place]: float(gain[place]) for place in np.argsort(-gain)}

    def save(self, lake: Lake, folder: Folder) -> None:
        """Keep it in the lake as LightGBM's text and a card; the card is written last."""
        hashes: dict[str, list[str]] = {}
        for kind, models in self.boosters.items():
            for number, model in enumerate(models):
                text = model.model_to_string()
                lake.write_bytes(lake.path(*folder, f"{kind}-{number}.txt"), text.encode())
                hashes.setdefault(kind, []).append(text_hash(text))
        card = {**self.card, "features": list(self.names), "models": hashes}
        write_card(lake, folder, card)


@cache
def general_model() -> RankingModel:
    """The shipped model: what searches where a lake has no questions to learn from, and adds to what has.

    Its card names the questions and filings that it was trained on.
    """
    raw = json.loads(
        lzma.decompress((files("finrag_pipeline.rankers.page_ranker") / GENERAL_FILE).read_bytes())
    )
    return RankingModel(tuple(raw["features"]), raw["models"], raw["card"])


def load_model(lake: Lake, folder: Folder) -> RankingModel | None:
    """A kept model; None when there is none.

    Raises:
        LakeError: its files are damaged.
    """
    card = read_card(lake, folder)
    if card is None:
        return None
    try:
        names, hashes = card.pop("features"), card.pop("models")
        texts: dict[str, list[str]] = {}
        for kind, expected in hashes.items():
            for number, wanted in enumerate(expected):
                name = f"{kind}-{number}.txt"
                raw = lake.read_bytes(lake.path(*folder, name))
                # LightGBM ends the process on a text that is cut short, so it never gets to see one.
                if raw is None or text_hash(text := raw.decode()) != wanted:
                    raise ValueError(f"{name} is {'missing' if raw is None else 'not as it was written'}")
                texts.setdefault(kind, []).append(text)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise LakeError(
            f"The page ranker in {'/'.join(folder)} is damaged: {error}.", "Train it again."
        ) from error
    return RankingModel(tuple(names), texts, card)


def train_model(
    examples: Sequence[Example], seed: int, card: dict[str, Any], kinds: Sequence[str] = ()
) -> RankingModel:
    """Learn to rank pages; the card, of what it is trained on, is kept with the model.

    Questions without a gold page among their candidates teach nothing and are left out. The kinds of trees
    are ``kinds``, or those that fit the number of questions.

    Raises:
        ModelError: no question is left.
    """
    with without(*UNUSED):
        import lightgbm

    examples = [example for example in examples if example.relevant.any()]
    if not examples:
        raise ModelError(
            "There is no question to train the page ranker on.", "Check the benchmark's questions."
        )
    kinds = kinds or (WITH_FOREST if len(examples) >= FOREST_NEEDS else BOOSTED)
    names = examples[0].candidates.names
    chosen = [_learned_pages(example.relevant, seed) for example in examples]
    of_pages = [example.relevant[places] for example, places in zip(examples, chosen, strict=True)]
    features = np.concatenate(
        [example.candidates.features[places] for example, places in zip(examples, chosen, strict=True)]
    )
    labels = np.concatenate(of_pages).astype(int)
    sizes = [len(relevant) for relevant in of_pages]
    # Every question weighs the same, half of it on its gold pages.
    weights = np.concatenate(
        [np.where(relevant, 1 / relevant.sum(), 1 / max((~relevant).sum(), 1)) for relevant in of_pages]
    )

    def grown(name: str, number: int) -> lightgbm.Booster:
        told: dict[str, Any] = {"group": sizes} if name == "lambdarank" else {"weight": weights * 100}
        data = lightgbm.Dataset(features, labels, params={"verbosity": -1, "num_threads": 1}, **told)
        rounds = 2 * ROUNDS if name == "forest" else ROUNDS
        return lightgbm.train({**COMMON, **KINDS[name], "seed": seed + number}, data, rounds)

    # Each learns in one thread, so that it is the same everywhere, and LightGBM leaves the interpreter alone.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        learning = {name: [pool.submit(grown, name, number) for number in SEEDS] for name in kinds}
        boosters = {name: [one.result() for one in models] for name, models in learning.items()}
    return RankingModel(
        names, boosters, {**card, "questions": len(examples), "pages": len(labels), "seed": seed}
    )


def _learned_pages(relevant: np.ndarray, seed: int) -> np.ndarray:
    """Places of the pages to learn from: the gold pages, and others drawn at random where there are many."""
    if len(relevant) <= MOST_PAGES:
        return np.arange(len(relevant))
    gold = np.flatnonzero(relevant)
    others = np.random.default_rng(seed).choice(
        np.flatnonzero(~relevant), max(MOST_PAGES - len(gold), 1), replace=False
    )
    return np.sort(np.concatenate([gold, others]))
