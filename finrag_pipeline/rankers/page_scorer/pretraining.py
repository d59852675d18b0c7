"""Pre-training on clean rows of other data: one model, from which the page scorers of all folds start."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from finrag_pipeline.embedding.model_files import model_folder
from finrag_pipeline.rankers.page_scorer import SCORER_VERSION
from finrag_pipeline.rankers.page_scorer.cards import deciding, training_card
from finrag_pipeline.rankers.page_scorer.clean_rows import CleanRows, clean_pairs, drawn_rows, read_clean_rows
from finrag_pipeline.rankers.page_scorer.loop import Checkpoints, Progress
from finrag_pipeline.rankers.page_scorer.model import (
    base_encoder,
    base_fingerprint,
    base_length,
    kept_or_trained,
    load_model,
    local_folder,
)
from finrag_pipeline.rankers.page_scorer.pairs import Pair, Question, split_inner
from finrag_pipeline.rankers.page_scorer.texts import PageTexts, Pieces
from finrag_pipeline.rankers.page_scorer.training import fit, loss_name
from finrag_pipeline.rankers.page_scorer.validation import Validation
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.fingerprints import file_sha256, fingerprint
from finrag_pipeline.storage.lake import Lake

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

VALIDATION_QUESTIONS = 300
"""Questions, about, on which the pre-training is validated."""


def pretrained_folder(name: str) -> tuple[str, ...]:
    """Folder in the lake of the pre-trained model with this fingerprint."""
    return ("models", "page_scorer_pretraining", name)


def pretraining_fingerprint(settings: Settings) -> str:
    """What the pre-trained model is made from: base, files of the clean rows, settings and seed."""
    scorer = settings.page_scorer
    return fingerprint(
        "page_scorer_pretraining",
        SCORER_VERSION,
        base_fingerprint(settings),
        base_length(settings),
        deciding(scorer),
        [scorer.pretraining_epochs, scorer.pretraining_rows],
        clean_files(Path(scorer.pretraining or "")),
        settings.seed,
    )


def clean_files(folder: Path) -> list[tuple[str, str]]:
    """Name and SHA-256 of the files with clean rows below ``folder``."""
    files = sorted(path for name in ("finqa", "tatqa", "lofin") for path in (folder / name).glob("*.jsonl*"))
    return [(path.name, file_sha256(path)) for path in files]


def pretrained_start(lake: Lake, settings: Settings, progress: Progress | None = None) -> Path:
    """Folder of the model that training starts from: the base, or what it has learned from clean rows.

    Raises:
        BenchmarkError: the clean rows cannot be read.
        ModelError: the base is not to be had.
    """
    base, scorer = base_encoder(settings), settings.page_scorer
    start = model_folder(base.name, base.revision)
    if scorer.pretraining is None:
        return start
    rows, name = Path(scorer.pretraining), pretraining_fingerprint(settings)
    checkpoints = Checkpoints(lake, name, scorer.checkpoint_seconds)

    def train() -> tuple[SentenceTransformer, dict[str, Any]]:
        clean = drawn_rows(read_clean_rows(rows), scorer.pretraining_rows, settings.seed)
        texts = PageTexts(lake, scorer, base, base_length(settings))
        pairs, validation = split_clean(clean, texts, min(1, len(scorer.negatives)), settings.seed)
        model = load_model(start, base_length(settings))
        epochs = scorer.pretraining_epochs
        done = fit(model, pairs, validation, scorer, settings.seed, epochs, checkpoints, progress)
        device = str(model.device.type)
        told = training_card(settings, scorer, SCORER_VERSION, loss_name(scorer), name, pairs, done, device)
        return model, {**told, "skipped": dict(clean.skipped), "questions": len(clean.rows)}

    folder = pretrained_folder(name)
    return local_folder(lake, folder, kept_or_trained(lake, folder, checkpoints, train))


def split_clean(
    clean: CleanRows, texts: PageTexts, negatives: int, seed: int
) -> tuple[list[Pair], Validation | None]:
    """Pairs to learn from, and questions of other filings that choose the best epoch.

    Args:
        clean: what was read.
        texts: cuts pages.
        negatives: hard negatives of each pair.
        seed: of the split.
    """
    learned, questions, pages = split_rows(clean, texts, negatives, seed, VALIDATION_QUESTIONS)
    return learned, Validation(questions, pages) if questions else None


def split_rows(
    clean: CleanRows, texts: PageTexts, negatives: int, seed: int, validating: int
) -> tuple[list[Pair], list[Question], dict[str, list[Pieces]]]:
    """Pairs to learn from; questions of other filings; and the pages of those filings.

    Args:
        clean: what was read.
        texts: cuts pages.
        negatives: hard negatives of each pair.
        seed: of the split.
        validating: questions of other filings, about, and a tenth of all at most.
    """
    share = min(0.1, validating / len(clean.rows))
    rows = [{"filing": row.filing} for row in clean.rows]
    held = {str(row["filing"]) for row in split_inner(rows, share, seed)[1]}
    of_filing: dict[str, list[str]] = {}
    for page, filing in clean.filing_of.items():
        of_filing.setdefault(filing, []).append(page)
    pages: dict[str, list[Pieces]] = {
        filing: [texts.pieces(clean.pages[page]) for page in of_filing[filing]] for filing in sorted(held)
    }
    questions: list[Question] = [
        {
            "question": row.question,
            "filing": row.filing,
            "gold_pages": [of_filing[row.filing].index(row.page_id)],
        }
        for row in clean.rows
        if row.filing in held
    ]
    return clean_pairs(clean.without(held), texts, negatives, seed), questions, pages
