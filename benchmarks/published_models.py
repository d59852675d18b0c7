"""Folders of models with the file names, configuration and tensors of the published ones, and random weights.

Vocabularies are trained on texts that are given, and smaller. Transformers of words keep files and names of
tensors, with layers that are fewer and narrower, for machines without a GPU.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

_NARROW = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
DETECTED = ("table", "table rotated")
"""Classes of the detection model, in its order."""
TABLE_CLASSES = (
    *("table", "table column", "table row", "table column header"),
    *("table projected row header", "table spanning cell"),
)
"""Classes of the structure model, in its order."""


def write_bge_m3(folder: Path, texts: Sequence[str]) -> Path:
    """BAAI/bge-m3: XLM-RoBERTa large in ``pytorch_model.bin``, the first token pooled, pickles beside it."""
    import torch

    _write_xlm_roberta(folder, texts, "XLMRobertaModel", pickled=True)
    kinds = {"": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"}
    modules = [
        {"idx": n, "name": str(n), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for n, (path, kind) in enumerate(kinds.items())
    ]
    _write_json(folder / "modules.json", modules)
    _write_json(folder / "sentence_bert_config.json", {"max_seq_length": 8192, "do_lower_case": False})
    pooling = {"word_embedding_dimension": _NARROW["hidden_size"], "pooling_mode_cls_token": True}
    modes = ("mean_tokens", "max_tokens", "mean_sqrt_len_tokens")
    _write_json(folder / "1_Pooling/config.json", pooling | {f"pooling_mode_{one}": False for one in modes})
    for name in ("colbert_linear.pt", "sparse_linear.pt"):
        torch.save({"weight": torch.zeros(1, _NARROW["hidden_size"]), "bias": torch.zeros(1)}, folder / name)
    return folder


def write_reranker(folder: Path, texts: Sequence[str]) -> Path:
    """BAAI/bge-reranker-v2-m3: XLM-RoBERTa large with one output, safetensors."""
    one = {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}
    return _write_xlm_roberta(folder, texts, "XLMRobertaForSequenceClassification", **one)


def write_splade(folder: Path, texts: Sequence[str]) -> Path:
    """naver/splade-cocondenser-ensembledistil: BERT base with its masked-word head, a pickle."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.train_from_iterator(texts, trainers.WordPieceTrainer(vocab_size=30522, special_tokens=specials))
    pieces = [(name, specials.index(name)) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=pieces
    )
    names = dict(zip(("pad", "unk", "cls", "sep", "mask"), specials, strict=True))
    _write_tokenizer(folder, tokenizer, "BertTokenizer", 512, names)
    config = {
        **{"model_type": "bert", "max_position_embeddings": 512, "type_vocab_size": 2, "hidden_act": "gelu"},
        **{"pad_token_id": 0, "vocab_size": tokenizer.get_vocab_size()},
    }
    return _write_transformer(folder, "BertForMaskedLM", config, pickled=True)


def write_table_transformer(folder: Path, labels: Sequence[str], queries: int, pickled: bool) -> Path:
    """A Table Transformer in its published size, tensors under the published names; ResNet-18 of timm.

    Detection has `DETECTED` for labels and 15 queries, structure `TABLE_CLASSES` and 125.
    """
    numbered = {str(number): label for number, label in enumerate(labels)}
    zeros = ("activation_dropout", "attention_dropout", "encoder_layerdrop", "decoder_layerdrop")
    config = {
        **{"architectures": ["TableTransformerForObjectDetection"], "model_type": "table-transformer"},
        **{"backbone": "resnet18", "use_timm_backbone": True, "use_pretrained_backbone": True},
        **{"d_model": 256, "num_queries": queries, "num_channels": 3, "num_hidden_layers": 6, "dropout": 0.1},
        **{f"{side}_{what}": value for side in ("encoder", "decoder") for what, value in _DETR.items()},
        **dict.fromkeys(zeros, 0.0),
        **dict.fromkeys(("auxiliary_loss", "dilation", "scale_embedding"), False),
        **{"activation_function": "relu", "backbone_kwargs": None, "is_encoder_decoder": True},
        **{"init_std": 0.02, "init_xavier_std": 1.0},
        **{"position_embedding_type": "sine", "max_position_embeddings": 1024, "torch_dtype": "float32"},
        **{"id2label": numbered, "label2id": {label: int(number) for number, label in numbered.items()}},
    }
    _write_json(folder / "config.json", config)
    side = {"longest_edge": 800 if queries == 15 else 1000}
    mean, deviation = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    picture = {
        **{"feature_extractor_type": "DetrFeatureExtractor", "do_resize": True, "do_normalize": True},
        **{"size": side, "image_mean": mean, "image_std": deviation},
    }
    _write_json(folder / "preprocessor_config.json", picture)
    _write_weights(folder, dict(_table_transformer(len(labels), queries)), pickled)
    return folder


_DETR = {"layers": 6, "attention_heads": 8, "ffn_dim": 2048}


def _table_transformer(classes: int, queries: int) -> Iterator[tuple[str, Any]]:
    """Names and tensors of the published checkpoints."""
    import torch

    def norm(name: str, width: int, running: bool = False) -> Iterator[tuple[str, Any]]:
        yield f"{name}.weight", torch.ones(width)
        yield f"{name}.bias", torch.zeros(width)
        if running:
            yield f"{name}.running_mean", torch.zeros(width)
            yield f"{name}.running_var", torch.ones(width)

    def linear(name: str, *shape: int) -> Iterator[tuple[str, Any]]:
        yield f"{name}.weight", torch.randn(*shape) * 0.02
        yield f"{name}.bias", torch.zeros(shape[0])

    body = "model.backbone.conv_encoder.model"
    yield f"{body}.conv1.weight", torch.randn(64, 3, 7, 7) * 0.05
    yield from norm(f"{body}.bn1", 64, running=True)
    for layer, width in enumerate((64, 128, 256, 512), start=1):
        for block in (0, 1):
            name, into = f"{body}.layer{layer}.{block}", width // 2 if layer > 1 and not block else width
            yield f"{name}.conv1.weight", torch.randn(width, into, 3, 3) * 0.05
            yield f"{name}.conv2.weight", torch.randn(width, width, 3, 3) * 0.05
            for one in ("bn1", "bn2"):
                yield from norm(f"{name}.{one}", width, running=True)
            if into != width:
                yield f"{name}.downsample.0.weight", torch.randn(width, into, 1, 1) * 0.05
                yield from norm(f"{name}.downsample.1", width, running=True)
    yield from linear("model.input_projection", 256, 512, 1, 1)
    yield "model.query_position_embeddings.weight", torch.randn(queries, 256)
    for side, attentions in (("encoder", ["self_attn"]), ("decoder", ["self_attn", "encoder_attn"])):
        for layer in range(6):
            name = f"model.{side}.layers.{layer}"
            for attention in attentions:
                for part in ("k_proj", "v_proj", "q_proj", "out_proj"):
                    yield from linear(f"{name}.{attention}.{part}", 256, 256)
                yield from norm(f"{name}.{attention}_layer_norm", 256)
            yield from linear(f"{name}.fc1", 2048, 256)
            yield from linear(f"{name}.fc2", 256, 2048)
            yield from norm(f"{name}.final_layer_norm", 256)
        yield from norm(f"model.{side}.layernorm", 256)
    yield from linear("class_labels_classifier", classes + 1, 256)
    for layer, width in enumerate((256, 256, 4)):
        yield from linear(f"bbox_predictor.layers.{layer}", width, 256)


def _write_xlm_roberta(
    folder: Path, texts: Sequence[str], kind: str, pickled: bool = False, **more: Any
) -> Path:
    """A model of XLM-RoBERTa's kind with 8,192 tokens, and its tokenizer."""
    config = {
        **{"model_type": "xlm-roberta", "max_position_embeddings": 8194, "type_vocab_size": 1},
        **{"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2, "layer_norm_eps": 1e-5},
        **{"hidden_act": "gelu", "vocab_size": _unigram(folder, texts), **more},
    }
    return _write_transformer(folder, kind, config, pickled)


def _unigram(folder: Path, texts: Sequence[str]) -> int:
    """Write a tokenizer of XLM-RoBERTa's kind; the size of its vocabulary, which is smaller."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=8000, special_tokens=specials, unk_token="<unk>")
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    names = dict(zip(("bos", "pad", "eos", "unk", "mask"), specials, strict=True))
    names |= {"cls": "<s>", "sep": "</s>"}
    _write_tokenizer(folder, tokenizer, "XLMRobertaTokenizer", 8192, names)
    return int(tokenizer.get_vocab_size())


def _write_tokenizer(folder: Path, tokenizer: Any, kind: str, longest: int, names: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    tokens = {f"{name}_token": token for name, token in names.items()}
    _write_json(folder / "special_tokens_map.json", tokens)
    config = {"tokenizer_class": kind, "model_max_length": longest}
    _write_json(folder / "tokenizer_config.json", tokens | config)


def _write_transformer(folder: Path, kind: str, config: dict[str, Any], pickled: bool = False) -> Path:
    import torch
    import transformers

    torch.manual_seed(17)
    config = {"architectures": [kind], **config, **_NARROW}
    known = {name: value for name, value in config.items() if name not in ("architectures", "model_type")}
    of = transformers.XLMRobertaConfig if config["model_type"] == "xlm-roberta" else transformers.BertConfig
    model = getattr(transformers, kind)(of(**known, initializer_range=0.1))
    _write_json(folder / "config.json", config)
    _write_weights(folder, model.state_dict(), pickled)
    return folder


def _write_weights(folder: Path, tensors: dict[str, Any], pickled: bool) -> None:
    import torch
    from safetensors.torch import save_file

    if pickled:
        torch.save(tensors, folder / "pytorch_model.bin")
    else:
        apart = {name: one.clone().contiguous() for name, one in tensors.items()}
        save_file(apart, folder / "model.safetensors", metadata={"format": "pt"})


def _write_json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")
