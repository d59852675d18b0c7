"""A sentence-transformers model of random weights, small enough to make in a test."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

DIMENSIONS = 32
WINDOW = 32
_LAYERS, _INNER = 2, 64
_CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789.,;:!?$€£%()-'\"/&"
# fmt: off
_WORDS = [
    "the", "of", "and", "in", "to", "revenue", "income", "net", "cash", "flow", "tax", "capital",
    "expenditure", "total", "assets", "debt", "company", "year", "quarter", "million", "operating", "margin",
    "share", "dividend", "inventory", "segment", "risk", "goodwill",
]
# fmt: on


def write_tiny_encoder(folder: Path, seed: int = 0) -> Path:
    """Write BERT with two layers, mean pooling and a WordPiece tokenizer, laid out like a published model."""
    from safetensors.numpy import save_file

    folder.mkdir(parents=True)
    vocabulary = _vocabulary()
    _write_tokenizer(folder, vocabulary)
    save_file(_weights(len(vocabulary), seed), folder / "model.safetensors", metadata={"format": "pt"})
    _write_json(
        folder / "config.json",
        {
            "architectures": ["BertModel"],
            "model_type": "bert",
            "vocab_size": len(vocabulary),
            "hidden_size": DIMENSIONS,
            "num_hidden_layers": _LAYERS,
            "num_attention_heads": 2,
            "intermediate_size": _INNER,
            "max_position_embeddings": 64,
            "type_vocab_size": 2,
            "hidden_act": "gelu",
            "pad_token_id": 0,
        },
    )
    _write_json(folder / "sentence_bert_config.json", {"max_seq_length": WINDOW, "do_lower_case": False})
    kinds = ("Transformer", "Pooling")
    modules = [
        {"idx": n, "name": str(n), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for n, (path, kind) in enumerate(zip(("", "1_Pooling"), kinds, strict=True))
    ]
    _write_json(folder / "modules.json", modules)
    (folder / "1_Pooling").mkdir()
    pooling = {"word_embedding_dimension": DIMENSIONS, "pooling_mode_mean_tokens": True}
    _write_json(folder / "1_Pooling" / "config.json", {**pooling, "pooling_mode_cls_token": False})
    return folder


def write_tiny_static(folder: Path, inside: str = "", model2vec: bool = False, seed: int = 0) -> Path:
    """Write a static model that averages the vectors of its tokens, laid out like a published one.

    Args:
        folder: of the model.
        inside: folder of the layer within it; the folder itself where empty.
        model2vec: as that library names the vectors, in half precision, beside no list of layers.
        seed: of the vectors.
    """
    from safetensors.numpy import save_file

    reads = folder / inside
    reads.mkdir(parents=True)
    vocabulary = _vocabulary()
    _write_tokenizer(reads, vocabulary)
    vectors = np.random.default_rng(seed).normal(0.0, 0.4, (len(vocabulary), DIMENSIONS)).astype(np.float32)
    name, kind = ("embeddings", np.float16) if model2vec else ("embedding.weight", np.float32)
    save_file({name: vectors.astype(kind)}, reads / "model.safetensors")
    if model2vec:
        _write_json(folder / "config.json", {"model_type": "model2vec", "seq_length": 1_000_000})
        return folder
    types = {inside: "StaticEmbedding", "1_Normalize": "Normalize"}
    modules = [
        {"idx": n, "name": str(n), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for n, (path, kind) in enumerate(types.items())
    ]
    _write_json(folder / "modules.json", modules)
    return folder


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")


def _vocabulary() -> dict[str, int]:
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *_CHARACTERS]
    pieces += [f"##{c}" for c in _CHARACTERS if c.isalnum()] + _WORDS
    return {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}


def _write_tokenizer(folder: Path, vocabulary: dict[str, int]) -> None:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])],
    )
    # As in published models: truncation and padding stand in the file, and a counter must undo them.
    tokenizer.enable_truncation(max_length=16)
    tokenizer.enable_padding(length=16)
    tokenizer.save(str(folder / "tokenizer.json"))
    _write_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "BertTokenizerFast",
            "model_max_length": 64,
            "pad_token": "[PAD]",
            "unk_token": "[UNK]",
            "cls_token": "[CLS]",
            "sep_token": "[SEP]",
            "mask_token": "[MASK]",
            "do_lower_case": True,
        },
    )


def _weights(vocabulary: int, seed: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)

    def matrix(*shape: int) -> np.ndarray:
        return random.normal(0.0, 0.4, shape).astype(np.float32)

    weights = {
        "embeddings.word_embeddings.weight": matrix(vocabulary, DIMENSIONS),
        "embeddings.position_embeddings.weight": matrix(64, DIMENSIONS),
        "embeddings.token_type_embeddings.weight": matrix(2, DIMENSIONS),
        "embeddings.LayerNorm.weight": np.ones(DIMENSIONS, np.float32),
        "embeddings.LayerNorm.bias": np.zeros(DIMENSIONS, np.float32),
        "pooler.dense.weight": matrix(DIMENSIONS, DIMENSIONS),
        "pooler.dense.bias": matrix(DIMENSIONS),
    }
    for layer in range(_LAYERS):
        base = f"encoder.layer.{layer}"
        for name, rows, columns in (
            ("attention.self.query", DIMENSIONS, DIMENSIONS),
            ("attention.self.key", DIMENSIONS, DIMENSIONS),
            ("attention.self.value", DIMENSIONS, DIMENSIONS),
            ("attention.output.dense", DIMENSIONS, DIMENSIONS),
            ("intermediate.dense", _INNER, DIMENSIONS),
            ("output.dense", DIMENSIONS, _INNER),
        ):
            weights[f"{base}.{name}.weight"] = matrix(rows, columns)
            weights[f"{base}.{name}.bias"] = matrix(rows)
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            weights[f"{base}.{name}.weight"] = np.ones(DIMENSIONS, np.float32)
            weights[f"{base}.{name}.bias"] = np.zeros(DIMENSIONS, np.float32)
    return weights
