"""The command ``train``: what takes long to learn is not part of ``finrag run``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from finrag_pipeline.commands.console import (
    Json,
    announce,
    app,
    current_settings,
    hint,
    print_json,
    print_rows,
)
from finrag_pipeline.errors import UsageError

if TYPE_CHECKING:
    from finrag_pipeline.settings import Settings

Model = Literal["page_scorer", "reranker"]
COLUMNS = ["fold", "policy", "best_epoch", "validation_page_rec", "tested_page_rec"]
_SHOWN = {
    "page_scorer": ("Page scorers", "page_scorer"),
    "reranker": ("Rerankers, among the candidates of a filing", "finrag_rerank"),
}


def train_models(
    settings: Settings, model: Model, folds: Sequence[str] | None, progress: Callable[[str], object]
) -> list[dict[str, Any]]:
    """Train models on the active benchmark; for each fold and policy the epoch kept and its page recall."""
    from finrag_pipeline.orchestration.instance import open_materialiser
    from finrag_pipeline.orchestration.partitions import trained_partitions
    from finrag_pipeline.storage.lake import Lake

    known = trained_partitions.get_partition_keys()
    chosen = list(dict.fromkeys(folds or known))
    if unknown := [fold for fold in chosen if fold not in known]:
        raise UsageError(f"There is no fold '{unknown[0]}'.", f"Choose from: {', '.join(known)}.")
    lake, rows = Lake(settings.lake).required(), []
    with open_materialiser(settings) as materialiser:
        for fold in chosen:
            progress(f"training {fold}")
            materialiser.run_or_raise(f"train_{model}", partition=fold)
            if lake.info(model, {"fold": fold}) is None:
                continue  # nothing to learn from outside this fold
            for row in lake.read(model, {"fold": fold}).to_pylist():
                if row["chosen"]:
                    values = (fold, row["policy"], row["epoch"], row["page_rec"], row["tested_page_rec"])
                    rows.append(dict(zip(COLUMNS, values, strict=True)))
    return rows


@app.command()
def train(
    model: Annotated[Model, typer.Argument(help="What to train.")],
    folds: Annotated[
        list[str] | None,
        typer.Option(help="Only this fold (fold_0 …, production); may be repeated."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Train a model on the active benchmark, for each fold without its questions, and one for searching.

    A killed training goes on where it was. Hours without a GPU; the settings are FINRAG_PAGE_SCORER__… and
    FINRAG_RERANKER_TRAINING__….
    """
    rows = train_models(current_settings(), model, folds, announce(as_json))
    if as_json:
        print_json(rows)
        return
    shown = [{k: f"{v:.3f}" if isinstance(v, float) else v for k, v in row.items()} for row in rows]
    title, system = _SHOWN[model]
    print_rows(f"{title}: PageRec@5", COLUMNS, shown)
    hint(f"Next: finrag run --systems {system}")
