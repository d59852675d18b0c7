"""Page scoring: the page scorers and the rerankers learned for the folds, and those for searching."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.evaluation.folds import assign_folds
from finrag_pipeline.orchestration.assets.learned import learned_asset
from finrag_pipeline.orchestration.assets.ranking import page_profiles
from finrag_pipeline.orchestration.corpora import benchmark_filings
from finrag_pipeline.orchestration.metadata import picture
from finrag_pipeline.orchestration.partitions import FOLD_COUNT, PRODUCTION, fold_number
from finrag_pipeline.orchestration.resources.settings import LakeResource, SettingsResource
from finrag_pipeline.orchestration.steps import (
    Step,
    check,
    each_partition,
    part_step,
    result_or_skipped,
    skipped_step,
)
from finrag_pipeline.rankers.page_scorer import SCORER_VERSION
from finrag_pipeline.rankers.page_scorer.texts import pages_fingerprint
from finrag_pipeline.rankers.reranker import RERANKER_TRAINING_VERSION
from finrag_pipeline.reporting.training_plot import training_plot
from finrag_pipeline.schemas import TABLES
from finrag_pipeline.settings import Settings, TrainingSettings
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.lake import Lake

_Questions = Sequence[Mapping[str, Any]]
"""Rows of ``benchmark_questions``."""

if TYPE_CHECKING:
    from finrag_pipeline.rankers.page_scorer.recipe import Policy, Recipe
    from finrag_pipeline.rankers.page_scorer.validation import Recall

    _Tested = Callable[[Recipe, dict[str, Any], _Questions, Sequence[str]], Recall | None]
    """Page recall of the model of a recipe and its card on questions, over a corpus."""


@learned_asset("page_scorer", SCORER_VERSION, "pytorch", page_profiles)
def page_scorer(
    context: dg.AssetExecutionContext, settings: SettingsResource, lake: LakeResource
) -> Iterator[dg.MaterializeResult | dg.AssetCheckResult]:
    """The bi-encoder of a fold, trained on the questions of the others; ``production`` learns from all.

    Trained once per fold and policy of folds; a run that was killed goes on where it was. Where no question
    is left to learn from, nothing is materialised.
    """
    from finrag_pipeline.rankers.page_scorer.ranking import PageScorerRanker
    from finrag_pipeline.rankers.page_scorer.recipe import Recipe

    values = settings.get()

    def tested(
        recipe: Recipe, card: dict[str, Any], rows: _Questions, names: Sequence[str]
    ) -> "Recall | None":
        return PageScorerRanker(lake.open(), values, recipe.folder, card).recall(rows, names)

    yield from _trained(context, values, lake.open(), values.page_scorer, Recipe, tested)


@learned_asset("reranker", RERANKER_TRAINING_VERSION, "pytorch", page_profiles)
def reranker(
    context: dg.AssetExecutionContext, settings: SettingsResource, lake: LakeResource
) -> Iterator[dg.MaterializeResult | dg.AssetCheckResult]:
    """The cross-encoder of a fold, trained on the pairs of the page scorer; ``production`` learns from all.

    Trained once per fold and policy of folds; a run that was killed goes on where it was. Where no question
    is left to learn from, nothing is materialised.
    """
    from finrag_pipeline.rankers.reranker.ranking import TrainedReranker
    from finrag_pipeline.rankers.reranker.recipe import RerankerRecipe

    values = settings.get()

    def tested(
        recipe: "Recipe", card: dict[str, Any], rows: _Questions, names: Sequence[str]
    ) -> "Recall | None":
        return TrainedReranker(lake.open(), values, recipe.folder, card).recall(rows)

    yield from _trained(context, values, lake.open(), values.reranker_training, RerankerRecipe, tested)


def _trained(
    context: dg.AssetExecutionContext,
    values: Settings,
    store: Lake,
    training: TrainingSettings,
    kind: "type[Recipe]",
    measured: "_Tested",
) -> Iterator[dg.MaterializeResult | dg.AssetCheckResult]:
    """Train the models of one kind for the folds of the run, by each policy of folds."""
    asset, version = kind.kind, kind.version
    name = asset.replace("_", " ")
    names = benchmark_filings(store)
    questions = store.read("benchmark_questions")
    questions = questions.filter(pc.equal(questions["status"], "measured"))
    rows = questions.to_pylist()
    fold_of = {policy: _folds(store, values, questions, policy) for policy in training.policies}

    def work(key: str) -> Step:
        left_out = None if key == PRODUCTION else fold_number(key)
        recipes: dict[Policy, Recipe] = {}
        tested: dict[Policy, list[dict[str, Any]]] = {}
        for policy, fold in fold_of.items():
            learned = [row for row in rows if fold[row["question_id"]] != left_out]
            tested[policy] = [row for row in rows if fold[row["question_id"]] == left_out]
            if not learned:
                problem = "There is no question outside the fold to learn from."
                return skipped_step(store, asset, key, problem, context.run.run_id)
            recipes[policy] = kind(store, values, learned, tested[policy], names, policy)
        made_from = [recipe.fingerprint for recipe in recipes.values()]
        wanted = fingerprint(asset, version, made_from, pages_fingerprint(store, names))
        partition = {"fold": key}
        if not all(recipe.kept() for recipe in recipes.values()):
            store.remove(asset, partition)  # a model is gone or damaged

        def make() -> pa.Table:
            found = []
            for policy, recipe in recipes.items():
                what = f"The {name} of {key} by {policy}"
                card = recipe.trained(what, _Log(context, what))
                found += _rows(policy, recipe, card, measured(recipe, card, tested[policy], names))
            return pa.Table.from_pylist(found, TABLES[asset])

        step = part_step(store, asset, key, partition, wanted, make, context.run.run_id)
        # Of what was found in the lake as well.
        cards = {
            policy: recipe.trained(f"The {name} of {key} by {policy}") for policy, recipe in recipes.items()
        }
        counts = ", ".join(f"{len(found)} by {policy}" for policy, found in tested.items())
        step.checks = [check("no_leak", True, tested=counts)]
        step.metadata = _figures(store.read(asset, partition).to_pylist(), cards)
        for policy, card in cards.items():
            curve = [{**epoch, "chosen": epoch["epoch"] == card["best_epoch"]} for epoch in card["curve"]]
            step.metadata[f"curves_{policy}"] = picture(
                training_plot({f"{key} by {policy}": curve}, "png"),
                f"Loss and page recall, {key} by {policy}",
            )
        return step

    yield from result_or_skipped(each_partition(context, store, work), ["no_leak"])


class _Log:
    """Tells the run how far a training is, at every tenth of it."""

    def __init__(self, context: dg.AssetExecutionContext, what: str) -> None:
        self._context, self._what, self._told = context, what, -1

    def __call__(self, done: int, total: int) -> None:
        if (tenth := 10 * done // total) > self._told:
            self._told = tenth
            self._context.log.info(f"{self._what}: step {done} of {total}")


def _folds(store: Lake, values: Settings, questions: pa.Table, policy: "Policy") -> dict[str, int]:
    table = (
        store.read("folds")
        if policy == "document"
        else assign_folds(questions, FOLD_COUNT, values.seed, by="company")
    )
    return dict(zip(table["question_id"].to_pylist(), table["fold"].to_pylist(), strict=True))


def _rows(
    policy: "Policy", recipe: "Recipe", card: dict[str, Any], tested: "Recall | None"
) -> list[dict[str, Any]]:
    found = []
    for epoch in card["curve"]:
        chosen = epoch["epoch"] == card["best_epoch"]
        measured = tested.page_rec if chosen and tested else None
        found.append(
            {
                "policy": policy,
                "model": recipe.fingerprint,
                **epoch,
                "chosen": chosen,
                "tested_page_rec": measured,
            }
        )
    return found


def _figures(rows: list[dict[str, Any]], cards: "Mapping[Policy, dict[str, Any]]") -> dict[str, Any]:
    figures: dict[str, Any] = {"questions": len(next(iter(cards.values()))["question_ids"])}
    for row in rows:
        if row["chosen"]:
            names = {
                "best_epoch": "epoch",
                "validation_page_rec": "page_rec",
                "tested_page_rec": "tested_page_rec",
            }
            figures |= {
                f"{name}_{row['policy']}": row[column]
                for name, column in names.items()
                if row[column] is not None
            }
    return figures
