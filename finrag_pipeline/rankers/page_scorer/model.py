"""The model of a page scorer: the base it starts from, and the trained one in the lake with its card."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finrag_pipeline.embedding.model_files import encoder_fingerprint, model_folder
from finrag_pipeline.errors import LakeError, ModelError
from finrag_pipeline.rankers.page_scorer.loop import Checkpoints
from finrag_pipeline.settings import EncoderSettings, Settings, TrainingSettings
from finrag_pipeline.storage.fingerprints import file_sha256
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.storage.torch_models import (
    first_line,
    quiet_libraries,
    read_config,
    torch_device,
    usable_length,
)

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder, SentenceTransformer

CARD = "card.json"
WEIGHTS = "model.safetensors"


def base_encoder(settings: Settings, training: TrainingSettings | None = None) -> EncoderSettings:
    """The model that ``training`` starts from, as the settings of an encoder.

    Args:
        settings: of the run.
        training: those of ``settings`` that a model is trained by; the page scorer's when None.
    """
    training = training or settings.page_scorer
    if training.base is None:
        return settings.encoder
    return settings.encoder.model_copy(update={"name": training.base, "revision": training.revision})


def base_length(settings: Settings, training: TrainingSettings | None = None) -> int:
    """Tokens of an input that a model trained from the base reads, special tokens included.

    Raises:
        ModelError: the base is not to be had.
    """
    training = training or settings.page_scorer
    base = base_encoder(settings, training)
    config = read_config(model_folder(base.name, base.revision))
    return usable_length(config, training.max_tokens)


def base_fingerprint(settings: Settings, training: TrainingSettings | None = None) -> str:
    """Weights and tokenizer of the base."""
    # Training reads the weights themselves, whatever arithmetic the encoder runs at.
    return encoder_fingerprint(base_encoder(settings, training).model_copy(update={"precision": "fp32"}))


def load_model(folder: Path, length: int) -> SentenceTransformer:
    """A sentence-transformers model for training, on a GPU where there is one.

    Args:
        folder: of the model; only safetensors are read and no code in it is run.
        length: longest input in tokens.

    Raises:
        ModelError: it cannot be loaded.
    """
    encoder_fingerprint(EncoderSettings(name=str(folder)))  # raises where weights are pickles only
    quiet_libraries()
    from sentence_transformers import SentenceTransformer

    try:
        model = SentenceTransformer(
            str(folder),
            device=torch_device(),
            trust_remote_code=False,
            model_kwargs={"use_safetensors": True},
        )
    except Exception as error:
        raise ModelError(
            f"The model in {folder} cannot be loaded: {first_line(error)}.", "Download it again."
        ) from error
    model.max_seq_length = length
    return model


def save_scorer(
    model: SentenceTransformer | CrossEncoder, lake: Lake, folder: tuple[str, ...], card: dict[str, Any]
) -> None:
    """Keep a trained model in the lake as safetensors with a card; the card is written last.

    A folder without a card counts for nothing, so that a killed run leaves no half model behind.

    Args:
        model: trained.
        lake: the lake.
        folder: in the lake.
        card: what it was trained on and how; the hash of its weights is added.
    """
    if lake.fs.exists(lake.path(*folder, CARD)):
        lake.fs.rm(lake.path(*folder, CARD))
    with tempfile.TemporaryDirectory() as temporary:
        model.save_pretrained(temporary, create_model_card=False)
        files = sorted(path for path in Path(temporary).rglob("*") if path.is_file())
        for path in files:
            lake.write_bytes(lake.path(*folder, *path.relative_to(temporary).parts), path.read_bytes())
        weights = file_sha256(Path(temporary) / WEIGHTS)
    lake.write_json(
        lake.path(*folder, CARD),
        {**card, "weights_sha256": weights, "files": [p.relative_to(temporary).as_posix() for p in files]},
    )


def load_card(lake: Lake, folder: tuple[str, ...]) -> dict[str, Any] | None:
    """The card of a trained model; None when there is none.

    Raises:
        LakeError: it is damaged, or files that it names are missing.
    """
    raw = lake.read_bytes(lake.path(*folder, CARD))
    if raw is None:
        return None
    where, remedy = "/".join(folder), f"Materialise {folder[1].removesuffix('_pretraining')} again."
    try:
        card = json.loads(raw)
        files = card["files"]
    except (ValueError, KeyError, TypeError) as error:
        raise LakeError(f"The card of {where} is damaged: {error}.", remedy) from error
    missing = [name for name in files if not lake.fs.exists(lake.path(*folder, *name.split("/")))]
    if missing:
        raise LakeError(f"{where} lacks {missing[0]}.", remedy)
    return dict(card)


def kept_card(lake: Lake, folder: tuple[str, ...]) -> dict[str, Any] | None:
    """The card of a trained model; None where the lake does not hold the model undamaged."""
    try:
        return load_card(lake, folder)
    except LakeError:
        return None


def kept_or_trained(
    lake: Lake,
    folder: tuple[str, ...],
    checkpoints: Checkpoints,
    train: Callable[[], tuple[SentenceTransformer | CrossEncoder, dict[str, Any]]],
) -> dict[str, Any]:
    """Card of the model of a folder; it is trained and kept where the lake does not hold it undamaged.

    Args:
        lake: the lake.
        folder: in the lake.
        checkpoints: of the training; forgotten once the model is kept.
        train: makes the model and its card.
    """
    card = kept_card(lake, folder)
    if card is None:
        model, made = train()
        save_scorer(model, lake, folder, made)
        checkpoints.clear()
        card = load_card(lake, folder)
        assert card is not None, "its card was just written"
    return card


def local_folder(lake: Lake, folder: tuple[str, ...], card: dict[str, Any]) -> Path:
    """Folder of this machine with the files of a trained model; a copy where the lake is elsewhere."""
    if lake.is_local:
        return lake.local_path(*folder)
    copy = Path.home() / ".cache" / "finrag" / folder[1] / str(card["weights_sha256"])
    for name in card["files"]:
        target = copy / name
        if not target.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            lake.fs.get_file(lake.path(*folder, *name.split("/")), f"{target}.tmp")
            Path(f"{target}.tmp").replace(target)
    return copy
