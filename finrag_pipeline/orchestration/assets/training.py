"""Training: what is learned from a benchmark's questions so that a fold can be left out."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.evaluation.benchmark import assign_folds, benchmark_filings
from finrag_pipeline.orchestration.lineage import versions
from finrag_pipeline.orchestration.partitions import FOLD_COUNT, PRODUCTION, fold_number
from finrag_pipeline.orchestration.resources import Corpora, get_encoder
from finrag_pipeline.orchestration.steps import Part, Step, check, picture, table_asset
from finrag_pipeline.orchestration.sweeps import asked
from finrag_pipeline.reporting.plots import alpha_plot, training_plot
from finrag_pipeline.retrieval.alpha import GRID, alpha_means, alpha_sweep
from finrag_pipeline.retrieval.component import Inputs
from finrag_pipeline.retrieval.spaces import Space
from finrag_pipeline.retrieval.systems import SYSTEMS
from finrag_pipeline.schemas import TABLES
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.lake import Lake

if TYPE_CHECKING:
    from finrag_pipeline.rankers.page_ranker.training import Examples
    from finrag_pipeline.rankers.recipe import FineTuning, Policy, Recipe
    from finrag_pipeline.resolver.resolver import Resolver

_Questions = Sequence[Mapping[str, Any]]
"""Rows of ``benchmark_questions``."""
_NO_LEAK = {"no_leak": "Neither a question nor a gold filing of the fold was trained or validated on."}
# Each is optional: without questions outside a fold there is nothing to learn from.


@table_asset(blocking_checks=_NO_LEAK, optional=True)
def page_ranker(part: Part) -> Step:
    """The ranker of pages for a fold, trained on those of the others; ``production`` learns from all.

    Where no question is left to learn from, nothing is materialised.
    """
    from finrag_pipeline.rankers.page_ranker.training import PageRankerRecipe

    examples, names = part.run.once(_examples)

    def recipe(learned: _Questions, tested: _Questions, policy: "Policy") -> "Recipe":
        return PageRankerRecipe(part.store, part.values, learned, tested, names, examples=examples)

    return _trained(part, PageRankerRecipe, recipe, ("document",))


def _examples(values: Settings, store: Lake, corpora: Corpora) -> "tuple[Examples, tuple[str, ...]]":
    from finrag_pipeline.rankers.page_ranker.library import KEPT_IN_A_RUN, PageLibrary
    from finrag_pipeline.rankers.page_ranker.question_encoder import question_encoder
    from finrag_pipeline.rankers.page_ranker.training import Examples

    names, encoder = benchmark_filings(store), get_encoder(values, store)
    questions, library = _measured_questions(store).to_pylist(), PageLibrary(store, KEPT_IN_A_RUN)

    def resolver() -> "Resolver":
        return corpora.resolver(values, store, names)

    return Examples(questions, library, question_encoder(encoder), resolver, names), names


@table_asset(blocking_checks=_NO_LEAK, optional=True)
def page_scorer(part: Part) -> Step:
    """The bi-encoder of a fold, trained on the questions of the others; ``production`` learns from all.

    A back-fill trains a model for every fold and policy of folds: hours without a GPU, minutes with one. What
    is trained stays; a run that was killed goes on where it was. Where no question is left to learn from,
    nothing is materialised.
    """
    from finrag_pipeline.rankers.page_scorer import PageScorerRecipe

    return _fine_tuned(part, PageScorerRecipe, part.values.page_scorer.policies)


@table_asset(blocking_checks=_NO_LEAK, optional=True)
def reranker(part: Part) -> Step:
    """The cross-encoder of a fold, trained on the pairs of the page scorer; ``production`` learns from all.

    A back-fill trains a model for every fold and policy of folds: hours without a GPU, minutes with one. What
    is trained stays; a run that was killed goes on where it was. Where no question is left to learn from,
    nothing is materialised.
    """
    from finrag_pipeline.rankers.reranker import RerankerRecipe

    return _fine_tuned(part, RerankerRecipe, part.values.reranker_training.policies)


def _fine_tuned(part: Part, kind: "type[FineTuning]", policies: "Sequence[Policy]") -> Step:
    names = benchmark_filings(part.store)

    def recipe(learned: _Questions, tested: _Questions, policy: "Policy") -> "Recipe":
        return kind(part.store, part.values, learned, tested, names, policy)

    return _trained(part, kind, recipe, policies)


def _trained(
    part: Part,
    kind: "type[Recipe]",
    make_recipe: "Callable[[_Questions, _Questions, Policy], Recipe]",
    policies: "Sequence[Policy]",
) -> Step:
    """Train the models of one kind for a fold, one by each policy of folds.

    A recipe is made of the questions to learn from, those that are tested, and a policy.
    """
    store, key, name = part.store, part.key, kind.kind.replace("_", " ")
    questions = _measured_questions(store)
    rows = questions.to_pylist()
    left_out = None if key == PRODUCTION else fold_number(key)
    recipes: dict[str, Recipe] = {}
    unseen: dict[str, _Questions] = {}
    for policy in policies:
        table = (
            store.read("folds")
            if policy == "document"
            else assign_folds(questions, FOLD_COUNT, part.values.seed, by="company")
        )
        fold = dict(zip(table["question_id"].to_pylist(), table["fold"].to_pylist(), strict=True))
        learned = [row for row in rows if fold[row["question_id"]] != left_out]
        others = [row for row in rows if fold[row["question_id"]] == left_out]
        if not learned:
            store.remove(kind.kind, part.partition)  # what is there was learned from other folds
            return part.skipped("There is no question outside the fold to learn from.")
        what = f"The {name} of {key} by {policy}"
        recipes[what], unseen[what] = make_recipe(learned, others, policy), others
    wanted = kind.part_fingerprint(list(recipes.values()))
    known = store.info(kind.kind, part.partition)
    if known and known.fingerprint == wanted and not all(recipe.kept() for recipe in recipes.values()):
        store.remove(kind.kind, part.partition)  # a model is gone or damaged

    def make() -> pa.Table:
        found = []
        for what, recipe in recipes.items():
            found += recipe.rows(recipe.trained(what, _log(part.context, what)))
        return pa.Table.from_pylist(found, TABLES[kind.kind])

    step = part.made(make, wanted=wanted)
    # Of what was found in the lake as well.
    cards = {what: recipe.trained(what) for what, recipe in recipes.items()}
    leaks = [
        what
        for what, card in cards.items()
        if {row["question_id"] for row in unseen[what]} & set(card["question_ids"])
        or {row["filing"] for row in unseen[what]} & set(card["filings"])
    ]
    counts = ", ".join(
        f"{len(unseen[what])} by {policy}" for what, policy in zip(unseen, policies, strict=True)
    )
    step.checks = [check("no_leak", not leaks, description=", ".join(leaks) or None, tested=counts)]
    step.metadata = {"questions": max(len(card["question_ids"]) for card in cards.values())}
    if any("curve" in card for card in cards.values()):
        step.metadata |= _figures(part.read().to_pylist(), key)
    return step


def _log(context: dg.AssetExecutionContext, what: str) -> Callable[[int, int], None]:
    """Tells the run how far a training is, at every tenth of it."""
    tenths: set[int] = set()

    def told(done: int, total: int) -> None:
        if (tenth := 10 * done // total) not in tenths:
            tenths.add(tenth)
            context.log.info(f"{what}: step {done} of {total}")

    return told


def _measured_questions(store: Lake) -> pa.Table:
    return store.read("benchmark_questions").filter(pc.field("status") == "measured")


def _figures(rows: list[dict[str, Any]], key: str) -> dict[str, Any]:
    """Page recall of the epochs that were kept, and the curves of the trainings, by policy of folds."""
    figures: dict[str, Any] = {}
    shown = {"best_epoch": "epoch", "validation_page_rec": "page_rec", "tested_page_rec": "tested_page_rec"}
    for policy in dict.fromkeys(row["policy"] for row in rows):
        curve = [row for row in rows if row["policy"] == policy]
        (chosen,) = (row for row in curve if row["chosen"])
        values = {f"{name}_{policy}": chosen[column] for name, column in shown.items()}
        figures |= {name: value for name, value in values.items() if value is not None}
        figures[f"curves_{policy}"] = picture(
            training_plot({f"{key} by {policy}": curve}, fmt="png"),
            f"Loss and page recall, {key} by {policy}",
        )
    return figures


@table_asset(optional=True)  # without vectors of the chunks there is nothing to weigh
def hybrid_alpha_sweep(part: Part) -> Step:
    """PageRec@5 and DocRec@5 of every weight of the hybrid on every question; a fold asks the others.

    Where filings have no vectors of their chunks, nothing is materialised, and the log says so.
    """
    from finrag_pipeline.rankers.registry import alphas_without

    store = part.store
    system = SYSTEMS["hybrid_alpha"]
    inputs = Inputs(part.run.corpora.corpus(part.values, store, benchmark_filings(store), system))
    if problem := system.not_made(inputs):
        return part.skipped(problem)
    questions = _measured_questions(store)
    code = versions("hybrid_alpha_sweep")
    wanted = fingerprint("hybrid_alpha_sweep", code, GRID, system.fingerprint(inputs), asked(questions))
    step = part.made(lambda: alpha_sweep(system, inputs, questions.to_pylist()), wanted=wanted)
    means = alpha_means(part.read())
    of_folds = [alphas_without(store, fold) for fold in range(FOLD_COUNT)]
    chosen = {space.value: [found[space] for found in of_folds if space in found] for space in Space}
    plot = alpha_plot(means, chosen, fmt="png")
    step.metadata = {
        "sweep": picture(plot, "Page recall over the weight of the dense score"),
        "chosen": {space: [round(alpha, 2) for alpha in alphas] for space, alphas in chosen.items()},
        **{f"alpha_{space}": alpha for space, alpha in alphas_without(store, None).items()},
    }
    return step
