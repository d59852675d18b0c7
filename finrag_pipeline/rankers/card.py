"""Models kept in the lake: their files, and the card that says what they were made from and have seen.

Every card names the questions (``question_ids``) and the filings that the model has seen, so that no model is
measured on them.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finrag_pipeline.errors import BenchmarkError, LakeError
from finrag_pipeline.rankers.texts import PageTexts
from finrag_pipeline.settings import EncoderSettings, Settings, TrainingSettings
from finrag_pipeline.storage.fingerprints import file_sha256
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.storage.model_folders import user_cache

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder, SentenceTransformer

CARD = "card.json"
WEIGHTS = "model.safetensors"

Folder = tuple[str, ...]
"""Parts of the path of a model in the lake."""


def kept_folder(kind: str, name: str) -> Folder:
    """Folder in the lake of the model of a kind with the fingerprint ``name``."""
    return ("models", kind, name)


def check_no_leak(card: Mapping[str, Any], tested: Sequence[Mapping[str, Any]], what: str, kind: str) -> None:
    """Refuse a model that has seen a question or a filing of the rows that it will be tested on.

    Raises:
        BenchmarkError: a question, or a gold filing, is on both sides; ``what`` names the model of a kind.
    """
    questions = sorted({str(row["question_id"]) for row in tested} & set(card["question_ids"]))
    documents = sorted({str(row["filing"]) for row in tested} & set(card["filings"]))
    if shared := [*questions[:3], *documents[:3]]:
        raise BenchmarkError(f"{what} was trained on what it is measured on: {shared}.", leak_remedy(kind))


def leak_remedy(kind: str) -> str:
    """What people can do when a model of this kind has seen what it is measured on."""
    return f"Materialise folds, then {kind}, again."


def write_card(lake: Lake, folder: Folder, card: dict[str, Any]) -> None:
    """Write the card of a model, after all of its files: a folder without a card counts for nothing."""
    lake.write_json(lake.path(*folder, CARD), card)


def read_card(lake: Lake, folder: Folder) -> dict[str, Any] | None:
    """The card of a model; None when there is none.

    Raises:
        LakeError: it is damaged.
    """
    raw = lake.read_bytes(lake.path(*folder, CARD))
    if raw is None:
        return None
    try:
        return dict(json.loads(raw))
    except (ValueError, TypeError) as error:
        raise LakeError(f"The card of {'/'.join(folder)} is damaged: {error}.", _again(folder)) from error


def save_model(
    model: SentenceTransformer | CrossEncoder, lake: Lake, folder: Folder, card: dict[str, Any]
) -> None:
    """Keep a fine-tuned model in the lake as safetensors; its files and their hash are added to the card."""
    if lake.fs.exists(lake.path(*folder, CARD)):
        lake.fs.rm(lake.path(*folder, CARD))
    with tempfile.TemporaryDirectory() as temporary:
        model.save_pretrained(temporary, create_model_card=False)
        files = sorted(path for path in Path(temporary).rglob("*") if path.is_file())
        for path in files:
            lake.write_bytes(lake.path(*folder, *path.relative_to(temporary).parts), path.read_bytes())
        weights = file_sha256(Path(temporary) / WEIGHTS)
        names = [path.relative_to(temporary).as_posix() for path in files]
    write_card(lake, folder, {**card, "weights_sha256": weights, "files": names})


def load_card(lake: Lake, folder: Folder) -> dict[str, Any] | None:
    """The card of a fine-tuned model; None when there is none.

    Raises:
        LakeError: it is damaged, or files that it names are missing.
    """
    card = read_card(lake, folder)
    if card is None:
        return None
    where = "/".join(folder)
    if not isinstance(card.get("files"), list):
        raise LakeError(f"The card of {where} is damaged: it names no files.", _again(folder))
    missing = [name for name in card["files"] if not lake.fs.exists(lake.path(*folder, *name.split("/")))]
    if missing:
        raise LakeError(f"{where} lacks {missing[0]}.", _again(folder))
    return card


def kept_card(lake: Lake, folder: Folder) -> dict[str, Any] | None:
    """The card of a fine-tuned model; None where the lake does not hold the model undamaged."""
    try:
        return load_card(lake, folder)
    except LakeError:
        return None


def local_folder(lake: Lake, folder: Folder, card: dict[str, Any]) -> Path:
    """Folder of this machine with the files of a fine-tuned model; a copy where the lake is elsewhere."""
    if lake.is_local:
        return lake.local_path(*folder)
    copy = user_cache(folder[1]) / str(card["weights_sha256"])
    for name in card["files"]:
        target = copy / name
        if not target.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            lake.fs.get_file(lake.path(*folder, *name.split("/")), f"{target}.tmp")
            Path(f"{target}.tmp").replace(target)
    return copy


@dataclass(eq=False)
class KeptModel:
    """A fine-tuned model of the lake, and the pages as it reads them, of which its card tells."""

    lake: Lake
    settings: Settings
    folder: Folder
    card: dict[str, Any]

    @property
    def question_ids(self) -> list[str]:
        """Questions of the benchmark that it learned from."""
        return list(self.card["question_ids"])

    @cached_property
    def _as_encoder(self) -> EncoderSettings:
        """The model as the settings of an encoder: its files here, its own tokenizer."""
        folder = local_folder(self.lake, self.folder, self.card)
        return self.settings.encoder.model_copy(update={"name": str(folder), "revision": None})

    @cached_property
    def _texts(self) -> PageTexts:
        """Pages cut as the card says, not as the settings of today do, by the model's own tokenizer."""
        read = TrainingSettings(text=self.card["text"], max_characters=self.card["max_characters"])
        tokens = self.card.get("text_tokens", self.card["max_tokens"])
        return PageTexts(self.lake, read, self._as_encoder, tokens)


def _again(folder: Folder) -> str:
    return f"Materialise {folder[1].removesuffix('_pretraining')} again."
