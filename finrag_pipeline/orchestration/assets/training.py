"""Training: the models that are learned from a benchmark's questions, one per fold and one for searching."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.evaluation.folds import assign_folds
from finrag_pipeline.orchestration.assets.benchmark import benchmark_questions, folds
from finrag_pipeline.orchestration.assets.pages import page_profiles, page_sentences
from finrag_pipeline.orchestration.corpora import benchmark_filings
from finrag_pipeline.orchestration.metadata import picture
from finrag_pipeline.orchestration.partitions import FOLD_COUNT, PRODUCTION, fold_number, trained_partitions
from finrag_pipeline.orchestration.resources.settings import (
    LakeResource,
    SettingsResource,
    get_encoder,
    get_resolver,
)
from finrag_pipeline.orchestration.steps import (
    Step,
    check,
    each_partition,
    part_step,
    result_or_skipped,
    skipped_step,
    table_asset,
)
from finrag_pipeline.rankers import RERANKER_TRAINING_VERSION, SCORER_VERSION
from finrag_pipeline.rankers.page_ranker import RANKER_VERSION
from finrag_pipeline.reporting.plots import training_plot
from finrag_pipeline.schemas import TABLES
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake

if TYPE_CHECKING:
    from finrag_pipeline.rankers.recipe import FineTuning, Policy, Recipe

_Questions = Sequence[Mapping[str, Any]]
"""Rows of ``benchmark_questions``."""
_Results = Iterator[dg.MaterializeResult | dg.AssetCheckResult]


def _learned_asset(
    version: str, library: str, *sources: dg.AssetsDefinition
) -> Callable[[Callable[..., Any]], dg.AssetsDefinition]:
    """Decorates the asset of a kind of model that is learned fold by fold.

    Args:
        version: its code version.
        library: what it is trained with, shown as a kind.
        *sources: partitioned by filing; every filing's part is read. Questions and folds are read as well.
    """
    return table_asset(
        *sources,
        benchmark_questions,
        folds,
        group="training",
        version=version,
        partitions=trained_partitions,
        kinds={"python", library},
        output_required=False,  # without questions outside a fold there is nothing to learn from
        blocking_checks={
            "no_leak": "Neither a question nor a gold filing of the fold was trained or validated on."
        },
    )


@_learned_asset(RANKER_VERSION, "lightgbm", page_profiles, page_sentences)
def page_ranker(
    context: dg.AssetExecutionContext, settings: SettingsResource, lake: LakeResource
) -> _Results:
    """The ranker of pages for a fold, trained on those of the others; ``production`` learns from all.

    Where no question is left to learn from, nothing is materialised.
    """
    from finrag_pipeline.rankers.page_ranker.library import PageLibrary
    from finrag_pipeline.rankers.page_ranker.training import Examples, PageRankerRecipe

    store, values = lake.open(), settings.get()
    names, encoder = benchmark_filings(store), get_encoder(values, store)
    examples = Examples(
        _measured_questions(store).to_pylist(),
        PageLibrary(store),
        encoder.embed_short,
        lambda: get_resolver(values, store, names),
        names,
    )

    def recipe(learned: _Questions, tested: _Questions, policy: "Policy") -> "Recipe":
        return PageRankerRecipe(store, values, learned, tested, names, examples)

    yield from _trained(context, values, store, PageRankerRecipe, recipe, ("document",))


@_learned_asset(SCORER_VERSION, "pytorch", page_profiles)
def page_scorer(
    context: dg.AssetExecutionContext, settings: SettingsResource, lake: LakeResource
) -> _Results:
    """The bi-encoder of a fold, trained on the questions of the others; ``production`` learns from all.

    Trained once per fold and policy of folds; a run that was killed goes on where it was. Where no question
    is left to learn from, nothing is materialised.
    """
    from finrag_pipeline.rankers.page_scorer import PageScorerRecipe

    values = settings.get()
    yield from _fine_tuned(context, values, lake.open(), PageScorerRecipe, values.page_scorer.policies)


@_learned_asset(RERANKER_TRAINING_VERSION, "pytorch", page_profiles)
def reranker(context: dg.AssetExecutionContext, settings: SettingsResource, lake: LakeResource) -> _Results:
    """The cross-encoder of a fold, trained on the pairs of the page scorer; ``production`` learns from all.

    Trained once per fold and policy of folds; a run that was killed goes on where it was. Where no question
    is left to learn from, nothing is materialised.
    """
    from finrag_pipeline.rankers.reranker import RerankerRecipe

    values = settings.get()
    yield from _fine_tuned(context, values, lake.open(), RerankerRecipe, values.reranker_training.policies)


def _fine_tuned(
    context: dg.AssetExecutionContext,
    values: Settings,
    store: Lake,
    kind: "type[FineTuning]",
    policies: "Sequence[Policy]",
) -> _Results:
    names = benchmark_filings(store)

    def recipe(learned: _Questions, tested: _Questions, policy: "Policy") -> "Recipe":
        return kind(store, values, learned, tested, names, policy)

    yield from _trained(context, values, store, kind, recipe, policies)


def _trained(
    context: dg.AssetExecutionContext,
    values: Settings,
    store: Lake,
    kind: "type[Recipe]",
    make_recipe: "Callable[[_Questions, _Questions, Policy], Recipe]",
    policies: "Sequence[Policy]",
) -> _Results:
    """Train the models of one kind for the folds of the run.

    Args:
        context: knows the folds.
        values: settings of the run.
        store: the lake.
        kind: of model; its name is that of the asset.
        make_recipe: of the questions to learn from, those that are tested, and a policy.
        policies: of folds; a model is trained by each.
    """
    asset, name = kind.kind, kind.kind.replace("_", " ")
    questions = _measured_questions(store)
    rows = questions.to_pylist()
    fold_of = {policy: _folds(store, values, questions, policy) for policy in policies}

    def work(key: str) -> Step:
        left_out = None if key == PRODUCTION else fold_number(key)
        partition = {"fold": key}
        recipes: dict[str, Recipe] = {}
        tested: dict[str, int] = {}
        for policy, fold in fold_of.items():
            learned = [row for row in rows if fold[row["question_id"]] != left_out]
            others = [row for row in rows if fold[row["question_id"]] == left_out]
            if not learned:
                store.remove(asset, partition)  # what is there was learned from other folds
                problem = "There is no question outside the fold to learn from."
                return skipped_step(store, asset, key, problem, context.run.run_id)
            what = f"The {name} of {key} by {policy}"
            recipes[what], tested[policy] = make_recipe(learned, others, policy), len(others)
        wanted = kind.part_fingerprint(list(recipes.values()))
        part = store.info(asset, partition)
        if part and part.fingerprint == wanted and not all(recipe.kept() for recipe in recipes.values()):
            store.remove(asset, partition)  # a model is gone or damaged

        def make() -> pa.Table:
            found = []
            for what, recipe in recipes.items():
                found += recipe.rows(recipe.trained(what, _Log(context, what)))
            return pa.Table.from_pylist(found, TABLES[asset])

        step = part_step(store, asset, key, partition, wanted, make, context.run.run_id)
        # Of what was found in the lake as well.
        cards = {what: recipe.trained(what) for what, recipe in recipes.items()}
        counts = ", ".join(f"{count} by {policy}" for policy, count in tested.items())
        step.checks = [check("no_leak", True, tested=counts)]
        step.metadata = {"questions": max(len(card["question_ids"]) for card in cards.values())}
        if any("curve" in card for card in cards.values()):
            step.metadata |= _figures(store.read(asset, partition).to_pylist(), key)
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


def _measured_questions(store: Lake) -> pa.Table:
    questions = store.read("benchmark_questions")
    return questions.filter(pc.equal(questions["status"], "measured"))


def _folds(store: Lake, values: Settings, questions: pa.Table, policy: "Policy") -> dict[str, int]:
    table = (
        store.read("folds")
        if policy == "document"
        else assign_folds(questions, FOLD_COUNT, values.seed, by="company")
    )
    return dict(zip(table["question_id"].to_pylist(), table["fold"].to_pylist(), strict=True))


def _figures(rows: list[dict[str, Any]], key: str) -> dict[str, Any]:
    """Page recall of the epochs that were kept, and the curves of the trainings, by policy of folds."""
    figures: dict[str, Any] = {}
    shown = {"best_epoch": "epoch", "validation_page_rec": "page_rec", "tested_page_rec": "tested_page_rec"}
    for policy in dict.fromkeys(row["policy"] for row in rows):
        curve = [row for row in rows if row["policy"] == policy]
        (chosen,) = (row for row in curve if row["chosen"])
        for name, column in shown.items():
            if chosen[column] is not None:
                figures[f"{name}_{policy}"] = chosen[column]
        figures[f"curves_{policy}"] = picture(
            training_plot({f"{key} by {policy}": curve}, fmt="png"),
            f"Loss and page recall, {key} by {policy}",
        )
    return figures
