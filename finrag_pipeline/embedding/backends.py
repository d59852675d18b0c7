"""Encoder backends: the same model run by PyTorch or by OpenVINO; static models by numpy.

All return unit-length float32 vectors. OpenVINO and numpy agree with PyTorch to float rounding at fp32; bf16
and int8 are faster and slightly different (see docs/encoder-backends.md for measured losses).
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
import uuid
import warnings
from collections import deque
from collections.abc import Callable, Collection, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from finrag_pipeline.embedding.model_files import (
    chosen_backend,
    chosen_precision,
    encoder_fingerprint,
    is_static,
    max_tokens,
    model_folder,
    network_folder,
    openvino,
    problem_of_precision,
    tokenizer_file,
)
from finrag_pipeline.engine import Engine
from finrag_pipeline.errors import ModelError
from finrag_pipeline.settings import EncoderSettings
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.torch_models import AGAIN, first_line, loading, torch_device

Progress = Callable[[int], None]
"""Called with the number of texts just finished."""

_STATIC_BATCH = 1024
"""Texts tokenised at once, on all cores."""


def load_embedder(settings: EncoderSettings, cache: Path, calibration: Callable[[], list[str]]) -> Embedder:
    """The embedder that ``settings`` describe; converted models are kept in the folder ``cache``.

    The typical texts of ``calibration`` are asked for only when a model is quantised to int8 for the first
    time.

    Raises:
        ModelError: the model or the backend is not to be had.
    """
    backend, precision = chosen_backend(settings), chosen_precision(settings)
    if problem := problem_of_precision(backend, precision):
        raise ModelError(problem, "Set FINRAG_ENCODER__PRECISION=auto.")
    settings = settings.model_copy(update={"precision": precision})
    if backend != "openvino":
        return StaticEmbedder(settings) if backend == "numpy" else TorchEmbedder(settings)
    if is_static(settings):
        raise ModelError(
            f"{settings.name} is a static encoder, which OpenVINO does not run.",
            "Set FINRAG_ENCODER__BACKEND=auto.",
        )
    if importlib.util.find_spec("openvino") is None:
        raise ModelError(
            "OpenVINO is not installed.", "Install the fast extra, or set FINRAG_ENCODER__BACKEND=torch."
        )
    return OpenVinoEmbedder(settings, cache, calibration)


def load_sentence_transformer(folder: Path, bf16: bool = False) -> Any:
    """A model of sentence-transformers, on a GPU when there is one; no code in its folder is run.

    Raises:
        ModelError: it cannot be loaded.
    """
    from sentence_transformers import SentenceTransformer

    with loading(folder) as shared:
        how = {"use_safetensors": True, **({"dtype": "bfloat16"} if bf16 else {})}
        return SentenceTransformer(str(folder), device=torch_device(), model_kwargs=how, **shared)


def _sentence_transformer(settings: EncoderSettings) -> Any:
    folder = model_folder(settings.name, settings.revision)
    model = load_sentence_transformer(folder, settings.precision == "bf16")
    model.default_prompt_name = None  # texts come with their prompts
    if is_static(settings):
        model.tokenizer.enable_truncation(max_tokens(settings))
    else:
        model.max_seq_length = max_tokens(settings)
    return model


class TorchEmbedder:
    """The reference backend: sentence-transformers on PyTorch, on a GPU when there is one."""

    def __init__(self, settings: EncoderSettings) -> None:
        self._model = _sentence_transformer(settings)
        self._batch_size = settings.batch_size or 32
        self.max_tokens = max_tokens(settings)
        self.dimensions = int(self._model.get_embedding_dimension())

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> np.ndarray:
        """Unit-length float32 vectors, shape (texts, dimensions)."""
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        # encode() sorts by length itself; a few batches at a time keep the progress honest.
        step = self._batch_size * 16
        for start in range(0, len(texts), step):
            part = list(texts[start : start + step])
            found = self._model.encode(
                part, batch_size=self._batch_size, convert_to_tensor=True, show_progress_bar=False
            )
            # Lengths are made one in full precision.
            lengths = found.float().norm(dim=1, keepdim=True).clamp(min=1e-12)
            vectors[start : start + len(part)] = (found.float() / lengths).cpu().numpy()
            if progress:
                progress(len(part))
        return vectors


class StaticEmbedder:
    """Static encoders: the mean of the vectors of a text's tokens.

    sentence-transformers computes the same, after seconds of importing PyTorch.
    """

    def __init__(self, settings: EncoderSettings) -> None:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        folder = network_folder(model_folder(settings.name, settings.revision))
        try:
            self._vectors = _token_vectors(load_file(folder / "model.safetensors"))
            self._tokenizer = Tokenizer.from_file(str(tokenizer_file(settings)))
        except Exception as error:  # the libraries raise nothing narrower
            if isinstance(error, ModelError):
                raise
            raise ModelError(
                f"The model in {folder} cannot be loaded: {first_line(error)}.", AGAIN
            ) from error
        self.max_tokens = max_tokens(settings)
        self.dimensions = int(self._vectors.shape[1])
        self._tokenizer.enable_truncation(self.max_tokens)
        self._tokenizer.no_padding()

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> np.ndarray:
        """Unit-length float32 vectors, shape (texts, dimensions); zeros for texts without tokens."""
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for start in range(0, len(texts), _STATIC_BATCH):
            part = list(texts[start : start + _STATIC_BATCH])
            encodings = self._tokenizer.encode_batch_fast(part, add_special_tokens=False)
            for row, encoding in enumerate(encodings, start):
                if encoding.ids:
                    mean = self._vectors[encoding.ids].mean(axis=0)
                    vectors[row] = mean / max(float(np.linalg.norm(mean)), 1e-12)
            if progress:
                progress(len(part))
        return vectors


def _token_vectors(weights: dict[str, np.ndarray]) -> np.ndarray:
    """Vector of each token, shape (tokens, dimensions), float32.

    sentence-transformers and model2vec keep it under different names; model2vec
    may share one vector among tokens (``mapping``) and weigh tokens (``weights``).

    Raises:
        KeyError: there is no such table.
    """
    if "embedding.weight" in weights:
        return weights["embedding.weight"].astype(np.float32)
    vectors = weights["embeddings"].astype(np.float32)
    if "mapping" in weights:
        vectors = vectors[weights["mapping"]]
    return vectors * weights["weights"][:, None].astype(np.float32) if "weights" in weights else vectors


class OpenVinoEmbedder:
    """The fast backend for CPUs: the model converted once, then run on all cores.

    Conversion happens on first use and is kept under ``cache``; later loads need no torch.
    """

    def __init__(self, settings: EncoderSettings, cache: Path, calibration: Callable[[], list[str]]) -> None:
        ov = openvino()
        from tokenizers import Tokenizer

        folder = cache / conversion_key(settings)
        if not (folder / "model.xml").is_file():
            _convert_once(settings, folder, calibration)
        # Small ones stay in the caches of a processor: 27 windows per processor second, 21 with 32.
        self._batch_size = settings.batch_size or 8
        core = ov.Core()
        config: dict[str, Any] = {"PERFORMANCE_HINT": "THROUGHPUT"}
        # Some processors would otherwise run at bf16 unasked, and vectors would differ by machine.
        if hint := {"fp32": "f32", "bf16": "bf16"}.get(settings.precision):
            config["INFERENCE_PRECISION_HINT"] = hint
        try:
            self._compiled = core.compile_model(str(folder / "model.xml"), "CPU", config)
            self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        except Exception as error:
            reason = (str(error).strip().splitlines() or [type(error).__name__])[-1][:200]
            raise ModelError(
                f"The converted model in {folder} cannot be loaded: {reason}.",
                "Delete that folder: it is made again from the model.",
            ) from error
        self._inputs = {port.get_any_name() for port in self._compiled.inputs}
        self.dimensions = int(self._compiled.output(0).partial_shape[1].get_length())
        self.max_tokens = int((self._tokenizer.truncation or {})["max_length"])

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> np.ndarray:
        """Unit-length float32 vectors, shape (texts, dimensions)."""
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
        # Plain requests, waited for in turn. AsyncInferQueue calls back into Python from an OpenVINO thread;
        # while that thread waits for the interpreter lock, taking down the model waits for the thread, the
        # lock in hand, and the process hangs for ever.
        parallel = int(self._compiled.get_property("OPTIMAL_NUMBER_OF_INFER_REQUESTS"))
        idle = [self._compiled.create_infer_request() for _ in range(parallel)]
        running: deque[tuple[Any, list[int]]] = deque()

        def finish_oldest() -> Any:
            request, rows = running.popleft()
            request.wait()
            vectors[rows] = request.get_output_tensor(0).data
            if progress:
                progress(len(rows))
            return request

        for start in range(0, len(order), self._batch_size):
            rows = order[start : start + self._batch_size]
            encodings = self._tokenizer.encode_batch([texts[i] for i in rows])
            request = idle.pop() if idle else finish_oldest()
            request.start_async(_arrays(encodings, self._inputs))
            running.append((request, rows))
        while running:
            finish_oldest()
        return vectors


def _arrays(encodings: Sequence[Any], names: Collection[str]) -> dict[str, np.ndarray]:
    """Those inputs of the network that it has a name for, each of shape (texts, tokens)."""
    arrays = {
        "input_ids": [encoding.ids for encoding in encodings],
        "attention_mask": [encoding.attention_mask for encoding in encodings],
        "token_type_ids": [encoding.type_ids for encoding in encodings],
    }
    return {name: np.array(rows, np.int64) for name, rows in arrays.items() if name in names}


Embedder = TorchEmbedder | StaticEmbedder | OpenVinoEmbedder
"""Turns texts into unit-length float32 vectors, shape (texts, dimensions); longer texts are cut."""

CONVERSION_VERSION = "1"


def conversion_key(settings: EncoderSettings) -> str:
    """Name of a converted model: fp32 and bf16 run the same one, which differs in int8."""
    stored = "int8" if settings.precision == "int8" else "fp32"
    return fingerprint(
        CONVERSION_VERSION, encoder_fingerprint(settings.model_copy(update={"precision": stored}))
    )


_LONGEST = 3600.0
"""Seconds that a conversion may take."""


def _convert_once(settings: EncoderSettings, folder: Path, calibration: Callable[[], list[str]]) -> None:
    """Convert a model, in a process of its own: half a gigabyte that PyTorch takes is given back."""
    from filelock import FileLock

    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.parent.with_suffix(".lock")):
        if (folder / "model.xml").is_file():  # another process was faster
            return
        texts = calibration() if settings.precision == "int8" else []
        if "torch" in sys.modules:
            _convert(settings, folder, texts)
            return
        with closing(Engine(1, _LONGEST, memory=-1)) as engine:
            if isinstance(
                error := engine.outcome(engine.begin(_convert, settings, folder, texts)), Exception
            ):
                raise error


def _convert(settings: EncoderSettings, folder: Path, texts: list[str]) -> None:
    """Convert the model with its pooling layers to OpenVINO's format, quantised with ``texts`` when asked."""
    ov = openvino()
    import torch
    from tokenizers import Tokenizer

    class UnitVectors(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
            features = dict(zip(names, inputs, strict=True))
            return torch.nn.functional.normalize(self.model(features)["sentence_embedding"], dim=1)

    model = _sentence_transformer(settings.model_copy(update={"precision": "fp32"})).to("cpu").eval()
    temporary = folder.with_name(f"{folder.name}.{uuid.uuid4().hex}.tmp")
    temporary.mkdir(parents=True)
    try:
        tokenizer = model.tokenizer.backend_tokenizer
        pad = model.tokenizer.pad_token_id
        tokenizer.enable_truncation(max_length=int(model.max_seq_length))
        tokenizer.enable_padding(pad_id=pad, pad_token=model.tokenizer.pad_token)
        tokenizer.save(str(temporary / "tokenizer.json"))
        known = ("input_ids", "attention_mask", "token_type_ids")
        names = [name for name in known if name in model.tokenizer.model_input_names]
        encoded = model.tokenizer(["one text", "another, longer text"], padding=True, return_tensors="pt")
        with torch.no_grad(), warnings.catch_warnings():
            # Of PyTorch's tracing, which OpenVINO uses: nothing here that a reader could act on.
            warnings.simplefilter("ignore")
            converted = ov.convert_model(UnitVectors(), example_input=tuple(encoded[n] for n in names))
        for port, name in zip(converted.inputs, names, strict=True):
            port.get_tensor().set_names({name})
            port.get_node().set_partial_shape(ov.PartialShape([-1, -1]))
        converted.validate_nodes_and_infer_types()
        if settings.precision == "int8":
            # From the file: calling the model's tokenizer has undone the truncation of the one in memory.
            saved = Tokenizer.from_file(str(temporary / "tokenizer.json"))
            converted = _quantised(converted, saved, names, texts)
        ov.save_model(converted, str(temporary / "model.xml"), compress_to_fp16=False)
        shutil.rmtree(folder, ignore_errors=True)
        temporary.rename(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _quantised(converted: Any, tokenizer: Any, names: list[str], texts: list[str]) -> Any:
    if importlib.util.find_spec("nncf") is None:
        raise ModelError("NNCF, which quantises models to int8, is not installed.", "Install the fast extra.")
    openvino()
    import nncf

    return nncf.quantize(
        converted,
        nncf.Dataset(texts, lambda text: _arrays([tokenizer.encode(text)], names)),
        model_type=nncf.ModelType.TRANSFORMER,
        preset=nncf.QuantizationPreset.MIXED,
        subset_size=len(texts),
    )
