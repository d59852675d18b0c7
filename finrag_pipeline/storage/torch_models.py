"""What every model on PyTorch needs: a device, quiet libraries, errors in one line. Imports torch late."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from finrag_pipeline.errors import ModelError

AGAIN = "Download the model again."

# Positions of these begin after the padding token's number.
_SHIFTED = {"roberta", "xlm-roberta", "camembert", "xlm-roberta-xl"}


def torch_device() -> str:
    """``cuda`` where there is a GPU, else ``cpu``."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def quiet_libraries() -> None:
    """Keep transformers from reporting to the console."""
    from huggingface_hub.utils import disable_progress_bars
    from transformers.utils import logging

    disable_progress_bars()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")


def first_line(error: Exception) -> str:
    """The first line of an error's message, or its kind when it has none."""
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__


@contextmanager
def loading(folder: Path) -> Iterator[dict[str, Any]]:
    """Arguments that every model is loaded with, in quiet libraries; their errors say which model it was.

    Raises:
        ModelError: it cannot be loaded.
    """
    quiet_libraries()
    try:
        yield {"local_files_only": True, "trust_remote_code": False}
    except ModelError:
        raise
    except Exception as error:  # the libraries raise nothing narrower
        raise ModelError(f"The model in {folder} cannot be loaded: {first_line(error)}.", AGAIN) from error


def read_config(folder: Path) -> dict[str, Any]:
    """Contents of ``config.json``.

    Raises:
        ModelError: it is missing or damaged.
    """
    with suppress(OSError, ValueError):
        config = json.loads((folder / "config.json").read_text("utf-8"))
        if isinstance(config, dict):
            return config
    raise ModelError(f"{folder} has no readable config.json.", AGAIN)


def usable_length(config: dict[str, Any], wanted: int) -> int:
    """Tokens that a model reads: as many as wanted, or as it has positions for."""
    positions = config.get("max_position_embeddings")
    if not isinstance(positions, int):
        return wanted
    if config.get("model_type") in _SHIFTED:
        positions -= int(config.get("pad_token_id") or 0) + 1
    return min(wanted, positions)
