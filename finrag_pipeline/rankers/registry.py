"""What systems have learned, as the lake holds it: without the questions of a fold, or with all of them.

The one place that knows all that is trained: a sweep asks for the models of a fold, a search for the
production models. A single model of a fold is refused (BenchmarkError) where it was trained on questions or
filings that the fold tests, and LakeError is raised where files are damaged.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.errors import BenchmarkError, Fallback
from finrag_pipeline.rankers.card import Folder, check_no_leak, kept_folder, load_card
from finrag_pipeline.rankers.page_ranker.library import PageLibrary
from finrag_pipeline.rankers.page_ranker.model import general_model, load_model
from finrag_pipeline.rankers.page_ranker.ranker import LearnedPageRanker
from finrag_pipeline.rankers.page_scorer import PageScorerRanker
from finrag_pipeline.rankers.reranker import RerankedPages, TrainedReranker
from finrag_pipeline.retrieval.alpha import pick_alphas
from finrag_pipeline.retrieval.component import Learned, LearnedModel
from finrag_pipeline.retrieval.fusion import HybridWeights
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake

ALPHA_SWEEP = "hybrid_alpha_sweep"
PAGE_RANKER = "page_ranker"
PAGE_SCORER = "page_scorer"
RERANKER = "reranker"
_LOST = Fallback(
    "The page ranker that was trained on this lake is gone: the general one ranks alone. "
    "Train it again: finrag run, with the --source of its questions."
)


def trained_models(
    lake: Lake, settings: Settings, fold: int | None, library: PageLibrary | None = None
) -> Learned:
    """What was trained without the questions of ``fold``; production models when it is None.

    By the names under which the components of `retrieval.systems` ask for them. What was not trained is
    missing from the result: the systems that need it are not run. So are rankers that have seen questions of
    the fold, after another benchmark, or a part of one, has made other folds: they must not be measured, and
    must not keep the other systems from being measured either. Rankers of several folds may share a
    ``library`` of pages.
    """
    models: dict[str, LearnedModel] = {}
    if weights := alphas_without(lake, fold):
        models["hybrid_alpha"] = HybridWeights(weights)
    with suppress(BenchmarkError):
        if scorer := load_page_scorer(lake, settings, fold):
            models[PAGE_SCORER] = scorer
    with suppress(BenchmarkError):
        if ranker := load_page_ranker(lake, settings, fold, library):
            models[PAGE_RANKER] = ranker
            if reranker := load_reranker(lake, settings, fold):
                how = settings.reranker_training
                models["page_reranker"] = RerankedPages(ranker, reranker, how.pages, how.fusion_k)
    return Learned(models, fold)


def alphas_without(lake: Lake, fold: int | None) -> dict[str, float]:
    """Weight of ``hybrid_alpha`` by search space, chosen without the questions of ``fold``.

    Empty when the lake holds no sweep of weights, or when the fold holds all of its questions.
    """
    if lake.info(ALPHA_SWEEP) is None:
        return {}
    sweep = lake.read(ALPHA_SWEEP)
    if fold is None:
        return pick_alphas(sweep, sweep["question_id"].unique().to_pylist())
    if lake.info("folds") is None:
        return {}
    table: pa.Table = lake.read("folds")
    others = table.filter(pc.not_equal(table["fold"], fold))["question_id"].to_pylist()
    return pick_alphas(sweep, others)


def load_page_scorer(lake: Lake, settings: Settings, fold: int | None) -> PageScorerRanker | None:
    """The learned page scorer trained without ``fold``; None when the lake holds none."""
    found = _fine_tuned(lake, PAGE_SCORER, fold)
    return PageScorerRanker(lake, settings, *found) if found else None


def load_reranker(lake: Lake, settings: Settings, fold: int | None) -> TrainedReranker | None:
    """The cross-encoder trained without ``fold``; None when the lake holds none."""
    found = _fine_tuned(lake, RERANKER, fold)
    return TrainedReranker(lake, settings, *found) if found else None


def _fine_tuned(lake: Lake, kind: str, fold: int | None) -> tuple[Folder, dict[str, Any]] | None:
    """Folder and card of the model of a kind for a fold, by document; None when the lake holds none."""
    keys = _part(fold)
    if lake.info(kind, keys) is None:
        return None
    curves: pa.Table = lake.read(kind, keys, ["policy", "model"])
    names = curves.filter(pc.equal(curves["policy"], "document"))["model"].to_pylist()
    folder = kept_folder(kind, names[0]) if names else ()
    card = load_card(lake, folder) if folder else None
    if card is None:
        return None
    _refuse_leak(lake, kind, fold, card)
    return folder, card


def load_page_ranker(
    lake: Lake, settings: Settings, fold: int | None, library: PageLibrary | None = None
) -> LearnedPageRanker | None:
    """The page ranker of ``finrag`` trained without ``fold``, and the general one; None when there is none.

    For searching, where ``fold`` is None, the general one ranks alone then.
    """
    info = lake.info(PAGE_RANKER, _part(fold))
    model = load_model(lake, kept_folder(PAGE_RANKER, info.fingerprint)) if info else None
    if fold is not None:
        if model is None:
            return None
        for seen in (model, general_model()):
            _refuse_leak(lake, PAGE_RANKER, fold, seen.card)
    lost = info is not None and model is None
    return LearnedPageRanker(model, library or PageLibrary(lake), _LOST if lost else None)


def _part(fold: int | None) -> dict[str, str]:
    return {"fold": "production" if fold is None else f"fold_{fold}"}


def _refuse_leak(lake: Lake, kind: str, fold: int | None, card: dict[str, Any]) -> None:
    """Refuse a model that has seen a question or a filing that ``fold`` tests; production tests none."""
    if fold is None or lake.info("folds") is None:
        return
    table: pa.Table = lake.read("folds")
    tested = table.filter(pc.equal(table["fold"], fold)).to_pylist()
    check_no_leak(card, tested, f"The {kind.replace('_', ' ')} of fold {fold}", kind)
