"""Loading a Table Transformer from a local folder, the hub's cache or the hub; safetensors only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from finrag_pipeline.errors import ModelError
from finrag_pipeline.storage.model_hub import cached_model, fetched_model

_FILES = ["config.json", "preprocessor_config.json", "*.safetensors", "*.safetensors.index.json"]


def model_files(name: str, revision: str | None, variable: str) -> Path:
    """Folder with the files of the model ``name``: itself a folder, or a name on the hub.

    Args:
        name: local folder or hub name.
        revision: on the hub; None takes the cached or newest one.
        variable: of the environment, with which another model is chosen.

    Raises:
        ModelError: the model is nowhere to be had.
    """
    local = Path(name).expanduser()
    if local.is_dir():
        return local
    if cached := cached_model(name, revision, _FILES, variable):
        return cached
    remedy = f"Download it on a machine with access and set {variable} to its folder."
    return fetched_model(name, revision, _FILES, remedy)


def load_model(folder: Path, needed: tuple[str, ...]) -> tuple[Any, dict[int, str]]:
    """The model of a folder on the CPU, and the names of its classes.

    Raises:
        ModelError: the files are missing or damaged, the weights are no safetensors, it is another
            architecture, timm is missing, or a class of ``needed`` is unknown to it.
    """
    if not any(folder.glob("*.safetensors")):
        raise ModelError(f"{folder} holds no safetensors weights.", "Convert the model to safetensors.")
    try:
        config = json.loads((folder / "config.json").read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{folder} has no readable config.json.", "Download the model again.") from error
    if config.get("model_type") != "table-transformer":
        raise ModelError(
            f"{folder} holds a model of type '{config.get('model_type')}', not 'table-transformer'.",
            "Choose a Table Transformer.",
        )
    from transformers import TableTransformerForObjectDetection

    try:
        # The weights hold the backbone; without this the backbone's own would be fetched first.
        loaded: Any = TableTransformerForObjectDetection.from_pretrained(
            folder,
            use_safetensors=True,
            trust_remote_code=False,
            local_files_only=True,
            output_loading_info=True,
        )
    except ImportError as error:
        raise ModelError(
            f"The backbone of {folder} needs timm and torchvision.",
            "Install the tatr extra: pip install 'finrag_pipeline[tatr]'.",
        ) from error
    except Exception as error:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise ModelError(f"{folder} cannot be loaded: {reason}.", "Download the model again.") from error
    model, report = loaded
    # Counters of batches in normalisation layers are not used when predicting.
    missing = [key for key in report["missing_keys"] if not key.endswith("num_batches_tracked")]
    if missing:
        raise ModelError(
            f"{folder} lacks {len(missing)} of the model's weights, {sorted(missing)[0]} among them.",
            "Download the model again.",
        )
    labels = {int(number): str(label) for number, label in model.config.id2label.items()}
    unknown = [label for label in needed if label not in labels.values()]
    if unknown:
        raise ModelError(
            f"{folder} does not know the class '{unknown[0]}'; it has {', '.join(labels.values())}.",
            "Choose a model for detection for the one stage, for structure for the other.",
        )
    return model.eval(), labels
