"""What systems have learned, as the lake holds it: without the questions of a fold, or with all of them.

The one place that knows all that is trained: a sweep asks for the models of a fold, a search for the
production models.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.errors import BenchmarkError
from finrag_pipeline.page_ranker.library import PageLibrary
from finrag_pipeline.page_ranker.model import load_model
from finrag_pipeline.page_ranker.ranker import LearnedPageRanker
from finrag_pipeline.page_ranker.training import model_folder
from finrag_pipeline.page_scorer.model import load_card
from finrag_pipeline.page_scorer.ranking import PageScorerRanker
from finrag_pipeline.page_scorer.recipe import REMEDY as SCORER_REMEDY
from finrag_pipeline.page_scorer.recipe import scorer_folder
from finrag_pipeline.retrieval.alpha import pick_alphas
from finrag_pipeline.retrieval.leaks import check_no_leak
from finrag_pipeline.retrieval.trained import PageRanker, Trained
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake

ALPHA_SWEEP = "hybrid_alpha_sweep"
PAGE_RANKER = "page_ranker"
PAGE_SCORER = "page_scorer"


def trained_models(
    lake: Lake, settings: Settings, fold: int | None, library: PageLibrary | None = None
) -> Trained:
    """What was trained without the questions of ``fold``; production models when it is None.

    What was not trained is missing from the result: the systems that need it are not run.

    Args:
        lake: holds the models.
        settings: of the run.
        fold: whose questions were left out.
        library: pages that the rankers of several folds share; one of its own when None.
    """
    return Trained(
        fold,
        alphas_without(lake, fold),
        load_page_scorer(lake, settings, fold),
        load_page_ranker(lake, settings, fold, library),
    )


def usable_models(lake: Lake, settings: Settings, fold: int, library: PageLibrary | None = None) -> Trained:
    """`trained_models` of a fold, in which rankers that have seen its questions count as missing.

    So it is after another benchmark, or a part of one, has made other folds: they must not be measured, and
    must not keep the other systems from being measured either.
    """
    try:
        return trained_models(lake, settings, fold, library)
    except BenchmarkError:
        return Trained(fold, alphas_without(lake, fold))


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


def load_page_scorer(lake: Lake, settings: Settings, fold: int | None) -> PageRanker | None:
    """The learned page scorer trained without ``fold``; None when the lake holds none.

    Raises:
        BenchmarkError: it was trained on questions or filings that ``fold`` tests.
        LakeError: its files are damaged.
    """
    keys = {"fold": "production" if fold is None else f"fold_{fold}"}
    if lake.info(PAGE_SCORER, keys) is None:
        return None
    curves: pa.Table = lake.read(PAGE_SCORER, keys, ["policy", "model"])
    names = curves.filter(pc.equal(curves["policy"], "document"))["model"].to_pylist()
    card = load_card(lake, scorer_folder(names[0])) if names else None
    if card is None:
        return None
    if tested := _tested(lake, fold):
        what = f"The page scorer of fold {fold}"
        check_no_leak(card["question_ids"], card["filings"], tested, what, SCORER_REMEDY)
    return PageScorerRanker(lake, settings, scorer_folder(names[0]), card)


def load_page_ranker(
    lake: Lake, settings: Settings, fold: int | None, library: PageLibrary | None = None
) -> PageRanker | None:
    """The page ranker of ``finrag`` trained without ``fold``; None when the lake holds none.

    Raises:
        BenchmarkError: it was trained on questions or filings that ``fold`` tests.
    """
    info = lake.info(PAGE_RANKER, {"fold": "production" if fold is None else f"fold_{fold}"})
    model = load_model(lake, model_folder(info.fingerprint)) if info else None
    if model is None:
        return None
    if tested := _tested(lake, fold):
        what = f"The page ranker of fold {fold}"
        check_no_leak(model.card["question_ids"], model.card["filings"], tested, what)
    return LearnedPageRanker(model, library or page_library(lake, settings))


def page_library(lake: Lake, settings: Settings) -> PageLibrary:
    """Pages of the filings of the lake, loaded when a ranker first asks for them."""
    return PageLibrary(lake, settings, Encoder(settings.encoder, lake))


def _tested(lake: Lake, fold: int | None) -> list[dict[str, Any]]:
    """Rows of ``folds`` of the questions that ``fold`` tests; none for the production models."""
    if fold is None or lake.info("folds") is None:
        return []
    table: pa.Table = lake.read("folds")
    return list(table.filter(pc.equal(table["fold"], fold)).to_pylist())
