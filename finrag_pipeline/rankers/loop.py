"""The loop of a training: checkpoints, early stopping, and a true return to the best epoch.

It is our own, because it must go on after a kill exactly where it was, stop by page recall and truly return
to the best epoch; it takes AdamW, a linear rate with warm-up and gradient clipping, the defaults of the
trainer of sentence-transformers.
"""

from __future__ import annotations

import io
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from finrag_pipeline.errors import ModelError
from finrag_pipeline.rankers.pairs import Pair, Question
from finrag_pipeline.rankers.validation import PagesOf, Recall
from finrag_pipeline.settings import TrainingSettings
from finrag_pipeline.storage.lake import Lake

if TYPE_CHECKING:
    import torch

CLIP = 1.0
"""Largest norm of the gradient."""

Progress = Callable[[int, int], object]
"""Told how many of how many steps are done."""

Batch = list[list[str]]
"""Question, gold page and negatives of some pairs."""

Validation = tuple[Sequence[Question], PagesOf]
"""Questions, one at least, and the pages of their filings: what stops a training."""


@dataclass
class State:
    """Where a training stands; everything that must be kept to go on with it.

    Attributes:
        epoch: that is trained, from 1.
        steps: updates of the weights that were made.
        losses: of the steps of this epoch so far.
        curve: of every epoch that is done its number, the mean loss of its steps, and PageRec@5
            (``page_rec``) and mean reciprocal rank (``mrr``) on the validation questions, None without any.
            The first one, of number 0, is the model before its training, without a loss.
        best_weights: of the best epoch; the model has them when its training has ended.
    """

    epoch: int = 1
    steps: int = 0
    losses: list[float] = field(default_factory=list)
    curve: list[dict[str, Any]] = field(default_factory=list)
    best_epoch: int = 0
    best_weights: dict[str, torch.Tensor] = field(default_factory=dict)


class Checkpoints:
    """The state of a training in the lake, by kind of model and name; ``seconds`` at least between two."""

    def __init__(self, lake: Lake, name: str, seconds: float, kind: str) -> None:
        self._lake = lake
        self._path = lake.path("checkpoints", kind, f"{name}.pt")
        self._seconds = seconds
        self._last = time.monotonic()

    def write(self, state: Callable[[], dict[str, Any]]) -> None:
        """Keep a state in place of the one before, when it is time; a kill leaves one of them whole."""
        import torch

        if time.monotonic() - self._last >= self._seconds:
            sink = io.BytesIO()
            torch.save(state(), sink)
            self._lake.write_bytes(self._path, sink.getvalue())
            self._last = time.monotonic()

    def read(self) -> dict[str, Any] | None:
        """The last state; None when there is none or it is damaged."""
        import torch

        data = self._lake.read_bytes(self._path)
        if data is None:
            return None
        try:
            # Tensors and plain values only: nothing in the file is executed.
            found = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
        except Exception:  # whatever a broken archive makes of it: the training begins anew
            return None
        return found if isinstance(found, dict) else None

    def clear(self) -> None:
        """Forget the state of a training that has ended."""
        if self._lake.fs.exists(self._path):
            self._lake.fs.rm(self._path)


class Run(ABC):
    """Model, optimiser and rate of a training of ``total`` steps at most.

    A kind of model says what a step learns and is measured by.
    """

    variable: ClassVar[str]
    """Of the environment, that sets the learning rate."""

    def __init__(
        self, model: Any, settings: TrainingSettings, total: int, validation: Validation | None
    ) -> None:
        import torch
        from transformers import get_linear_schedule_with_warmup

        self.model, self.validation = model, validation
        self.settings: Any = settings  # of its kind
        self._optimiser = torch.optim.AdamW(model.parameters(), lr=settings.learning_rate, weight_decay=0.0)
        self._rate = get_linear_schedule_with_warmup(self._optimiser, round(total * settings.warmup), total)
        self.prepare()

    @abstractmethod
    def prepare(self) -> None:
        """Make the loss, and the pages among which those of the validation questions are looked for."""

    @staticmethod
    @abstractmethod
    def batches(pairs: Sequence[Pair], size: int, seed: int, epoch: int) -> list[Batch]:
        """The batches of an epoch, from 1, of ``size`` pairs; the last ones may be smaller.

        The same seed and epoch give the same order and negatives, so that a resumed training sees what an
        uninterrupted one would have seen.
        """

    @abstractmethod
    def backward(self, batch: Batch) -> float:
        """Compute loss and gradients of a batch; the loss."""

    @abstractmethod
    def measured(self) -> Recall:
        """Page recall on the validation questions of the model as it is now."""

    def learn(self, batch: Batch) -> float:
        """One update of the weights; the loss before it.

        Raises:
            ModelError: the loss is no number any more.
        """
        import torch

        value = self.backward(batch)
        if not np.isfinite(value):
            raise ModelError("The loss is no number any more.", f"Lower {self.variable}.")
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)
        self._optimiser.step()
        self._rate.step()
        self._optimiser.zero_grad()
        return value

    def measure(self, state: State, loss: float | None) -> None:
        """Note how good the model is now, and keep its weights when they are the best so far."""
        found = self.measured() if self.validation else None
        number = 0 if loss is None else state.epoch
        best = state.curve[state.best_epoch] if state.curve else None
        measures = vars(found) if found else {"page_rec": None, "mrr": None}
        state.curve.append({"epoch": number, "loss": loss, **measures})
        # Without validation questions every epoch is the best so far.
        if found is None or best is None or found > Recall(best["page_rec"], best["mrr"]):
            state.best_epoch = number
            # Copies: the state dict itself changes with every step.
            state.best_weights = {
                name: tensor.detach().to("cpu", copy=True) for name, tensor in self.model.state_dict().items()
            }

    def kept(self, state: State) -> dict[str, Any]:
        """All that is needed to go on, as tensors and plain values."""
        import torch

        cuda = self.model.device.type == "cuda"
        return {
            "state": vars(state),
            "weights": self.model.state_dict(),
            "optimiser": self._optimiser.state_dict(),
            "rate": self._rate.state_dict(),
            "random": torch.get_rng_state(),
            "random_gpu": torch.cuda.get_rng_state(self.model.device) if cuda else None,
        }

    def resume(self, kept: dict[str, Any] | None) -> State:
        """Go back to a kept state; to the beginning when there is none, or one of another version."""
        import torch

        if kept is None or kept["state"].keys() != vars(State()).keys():
            return State()
        self.model.load_state_dict(kept["weights"])
        self._optimiser.load_state_dict(kept["optimiser"])
        self._rate.load_state_dict(kept["rate"])
        torch.set_rng_state(kept["random"])
        if kept["random_gpu"] is not None and self.model.device.type == "cuda":
            torch.cuda.set_rng_state(kept["random_gpu"], self.model.device)
        return State(**kept["state"])


def fit(
    kind: type[Run],
    model: Any,
    pairs: Sequence[Pair],
    validation: Validation | None,
    settings: TrainingSettings,
    seed: int,
    epochs: int,
    checkpoints: Checkpoints | None = None,
    progress: Progress | None = None,
) -> State:
    """Train ``model`` in place; it ends with the weights of its best epoch.

    The best epoch is that of the highest page recall on the validation questions; the model before its
    training counts too. Without validation questions, which are never of the fold that is tested, all epochs
    are run and the last one is kept. On a GPU arithmetic is bf16. The seed is of the order, the choice of
    negatives and dropout.

    Raises:
        ModelError: there is nothing to learn from, or the loss is no number any more.
    """
    import torch

    device = model.device
    schedule = [kind.batches(pairs, settings.batch_size, seed, n + 1) for n in range(epochs)] if pairs else []
    total = sum(map(len, schedule))
    if not total:
        raise ModelError(
            "There is no pair of question and page to learn from.", "Check the benchmark's questions."
        )
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        run = kind(model, settings, total, validation)
        state = run.resume(checkpoints.read() if checkpoints else None)
        if not state.curve:
            run.measure(state, None)
        while state.epoch <= len(schedule) and state.epoch - 1 - state.best_epoch < settings.patience:
            model.train()
            for batch in schedule[state.epoch - 1][len(state.losses) :]:
                state.losses.append(run.learn(batch))
                state.steps += 1
                if progress:
                    progress(state.steps, total)
                if checkpoints:
                    checkpoints.write(lambda: run.kept(state))
            run.measure(state, float(np.mean(state.losses)))
            state.epoch, state.losses = state.epoch + 1, []
            if checkpoints:
                checkpoints.write(lambda: run.kept(state))
    model.load_state_dict(state.best_weights)
    model.eval()
    return state


def bf16_on_gpu(model: Any) -> AbstractContextManager[Any]:
    """bf16 arithmetic for a model on a GPU; on a CPU everything stays as it is."""
    import torch

    if model.device.type == "cuda":
        return torch.autocast("cuda", dtype=torch.bfloat16)
    return nullcontext()
