"""The forward pass of a BERT encoder in numpy, for short texts: PyTorch takes seconds to import."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from finrag_pipeline.embedding.model_files import MINILM, model_folder

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController
    from tokenizers import Tokenizer

_BLOCKED = np.float32(-1e9)
_LIMITED = threading.Lock()
"""Held while the linear algebra has one thread: two callers at once would each put back what they met."""

_AT_ONCE = 4
"""Texts that pass through the layers together: what is made of more does not stay in the cache."""

_LEAST_TOKENS = 90
"""Of a text that are worth a thread."""


@cache
def _linear_algebra() -> ThreadpoolController:
    """The libraries behind numpy, looked for once: that takes as long as reading a few words."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


class Bert:
    """BERT (Devlin et al., 2019, section 3; Vaswani et al., 2017, section 3.2) over float32 weights.

    The weights have the names of the transformers library; the numbers are those of a ``config.json``.
    """

    def __init__(
        self, weights: Mapping[str, np.ndarray], heads: int, layers: int, epsilon: float = 1e-12
    ) -> None:
        self._weights, self._heads, self._layers, self._epsilon = weights, heads, layers, epsilon

    def hidden(self, ids: np.ndarray, types: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Last hidden states, shape (texts, tokens, dimensions), float32.

        Args:
            ids: token identifiers, shape (texts, tokens).
            types: 0 for tokens of the first segment, 1 for those of the second.
            mask: 1 for tokens, 0 for padding.
        """
        parts = [slice(start, start + _AT_ONCE) for start in range(0, len(ids), _AT_ONCE)]
        threads = min(os.cpu_count() or 1, max(1, ids.shape[1] // _LEAST_TOKENS))
        # Threads of our own: those of the linear algebra would wait for each other at every product, and
        # keep a core busy for a while after the last.
        with (
            _LIMITED,
            _linear_algebra().limit(limits=1, user_api="blas"),
            ThreadPoolExecutor(threads) as pool,
        ):
            apply = pool.map if threads > 1 else map
            read = [self._read(ids[part], types[part], mask[part], threads, apply) for part in parts]
        return np.concatenate(read)

    def of_text(self, ids: Sequence[int]) -> np.ndarray:
        """States of the tokens of one text, shape (tokens, dimensions)."""
        shape = (1, len(ids))
        return self.hidden(np.array([ids]), np.zeros(shape, int), np.ones(shape, int))[0]

    def _read(
        self,
        ids: np.ndarray,
        types: np.ndarray,
        mask: np.ndarray,
        threads: int,
        apply: Callable[..., Iterable[Any]],
    ) -> np.ndarray:
        """Last hidden states of a few texts; each thread takes a part of the tokens through a layer."""
        w = self._weights
        states = w["embeddings.word_embeddings.weight"][ids]
        states += w["embeddings.position_embeddings.weight"][: ids.shape[1]]
        states += w["embeddings.token_type_embeddings.weight"][types]
        states = self._norm(states, "embeddings.LayerNorm")
        blocked = np.where(mask[:, None, None, :] > 0, np.float32(0), _BLOCKED)
        parts = np.array_split(states, threads, axis=1)
        for layer in range(self._layers):
            name = f"encoder.layer.{layer}."
            attended = zip(*apply(partial(self._keys_and_values, name=name), parts), strict=True)
            keys, values = (np.concatenate(of, axis=2) for of in attended)
            parts = list(
                apply(partial(self._layer, keys=keys, values=values, blocked=blocked, name=name), parts)
            )
        return np.concatenate(parts, axis=1)

    def _by_head(self, states: np.ndarray, name: str) -> np.ndarray:
        """A product of states for each head, shape (texts, heads, tokens, dimensions of a head)."""
        made = self._linear(states, name)
        return made.reshape(*states.shape[:2], self._heads, -1).transpose(0, 2, 1, 3)

    def _keys_and_values(self, states: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray]:
        key, value = (self._by_head(states, f"{name}attention.self.{part}") for part in ("key", "value"))
        return key, value

    def _layer(
        self, states: np.ndarray, keys: np.ndarray, values: np.ndarray, blocked: np.ndarray, name: str
    ) -> np.ndarray:
        """States of tokens after a layer, by the keys and values of all tokens."""
        scores = self._by_head(states, f"{name}attention.self.query") @ keys.transpose(0, 1, 3, 2)
        scores *= np.float32(1 / math.sqrt(keys.shape[-1]))
        scores += blocked
        scores -= scores.max(-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(-1, keepdims=True)
        mixed = (scores @ values).transpose(0, 2, 1, 3).reshape(states.shape)
        attended = self._linear(mixed, f"{name}attention.output.dense")
        attended += states
        attended = self._norm(attended, f"{name}attention.output.LayerNorm")
        inner = gelu(self._linear(attended, f"{name}intermediate.dense"))
        out = self._linear(inner, f"{name}output.dense")
        out += attended
        return self._norm(out, f"{name}output.LayerNorm")

    def _linear(self, states: np.ndarray, name: str) -> np.ndarray:
        flat = states.reshape(-1, states.shape[-1]) @ self._weights[f"{name}.weight"].T
        flat += self._weights[f"{name}.bias"]
        return flat.reshape(*states.shape[:-1], -1)

    def _norm(self, states: np.ndarray, name: str) -> np.ndarray:
        centred = states - states.mean(-1, keepdims=True)
        variance = (centred * centred).mean(-1, keepdims=True)
        centred /= np.sqrt(variance + np.float32(self._epsilon))
        centred *= self._weights[f"{name}.weight"]
        centred += self._weights[f"{name}.bias"]
        return centred


def gelu(x: np.ndarray) -> np.ndarray:
    """GELU by its tanh form (Hendrycks & Gimpel, 2016, section 2), within 5e-4 of the exact one."""
    root = np.float32(math.sqrt(2 / math.pi))
    inner = x * x
    inner *= np.float32(0.044715) * root
    inner += root
    inner *= x
    np.tanh(inner, out=inner)
    inner += 1
    inner *= x
    inner *= np.float32(0.5)
    return inner


def adapted_minilm(adapters: Mapping[str, np.ndarray]) -> Bert:
    """The default encoder with low-rank adapters (Hu et al., LoRA, 2021, equation 3).

    Args:
        adapters: A and B of each adapted layer, ``NAME.a`` and ``NAME.b``, the scale being in B: W + B A.

    Raises:
        ModelError: the encoder's weights are not to be had.
    """
    weights, shape = _minilm()
    adapted = dict(weights)
    for name in (name.removesuffix(".a") for name in adapters if name.endswith(".a")):
        low, high = (adapters[f"{name}.{part}"].astype(np.float32) for part in "ab")
        adapted[f"{name}.weight"] = weights[f"{name}.weight"] + high @ low
    return Bert(adapted, *shape)


@cache
def minilm_tokenizer() -> Tokenizer:
    """The tokenizer of the default encoder, which neither cuts nor pads.

    Raises:
        ModelError: it is not to be had.
    """
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(model_folder(MINILM) / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def minilm_embeddings() -> np.ndarray:
    """What the default encoder says of each token alone, shape (tokens, dimensions), float32.

    Raises:
        ModelError: the encoder's weights are not to be had.
    """
    weights, _ = _minilm()
    return weights["embeddings.word_embeddings.weight"]


@cache
def _minilm() -> tuple[dict[str, np.ndarray], tuple[int, int, float]]:
    """Weights of the default encoder, and its heads, layers and epsilon."""
    import json

    from safetensors.numpy import load_file

    folder = model_folder(MINILM)
    config = json.loads((folder / "config.json").read_text("utf-8"))
    shape = config["num_attention_heads"], config["num_hidden_layers"], config["layer_norm_eps"]
    return load_file(folder / "model.safetensors"), shape
