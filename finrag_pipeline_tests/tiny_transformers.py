"""Models of random weights for tests, in the architectures of the published ones and a thousandth of their size."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from finrag_pipeline_tests.tiny_encoder import _vocabulary, _write_tokenizer

POSITIONS = 64

CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{% if message['role'] not in ['system', 'user', 'assistant'] %}{{ raise_exception('unknown role') }}{% endif %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


def write_tiny_bert(folder: Path, head: str, seed: int = 0, **config: Any) -> Path:
    """BERT with a head of transformers, such as ``BertForMaskedLM``, and the WordPiece tokenizer of the tiny encoder."""
    import torch
    import transformers

    folder.mkdir(parents=True)
    vocabulary = _vocabulary()
    _write_tokenizer(folder, vocabulary)
    torch.manual_seed(seed)
    settings = transformers.BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=POSITIONS,
        initializer_range=0.4,
        **config,
    )
    getattr(transformers, head)(settings).save_pretrained(folder)
    return folder


def write_tiny_xlm_roberta(folder: Path, seed: int = 0) -> Path:
    """XLM-RoBERTa with one output: the architecture of the published reranker, whose positions begin at 2."""
    import torch
    from transformers import PreTrainedTokenizerFast, XLMRobertaConfig, XLMRobertaForSequenceClassification

    folder.mkdir(parents=True)
    tokenizer = _byte_level(["<s>", "<pad>", "</s>", "<unk>"])
    from tokenizers import processors

    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        cls_token="<s>",
        sep_token="</s>",
        model_max_length=POSITIONS,
    ).save_pretrained(folder)
    torch.manual_seed(seed)
    config = XLMRobertaConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=POSITIONS + 2,
        type_vocab_size=1,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
        initializer_range=0.4,
        num_labels=1,
    )
    XLMRobertaForSequenceClassification(config).save_pretrained(folder)
    return folder


def write_tiny_qwen(folder: Path, seed: int = 0, positions: int = 512) -> Path:
    """Qwen2 with two layers, a byte-level tokenizer, a chat template and the generation defaults of its family."""
    import torch
    from transformers import GenerationConfig, PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

    folder.mkdir(parents=True)
    specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    tokenizer = _byte_level(specials)
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=["<|im_start|>", "<|im_end|>"],
        model_max_length=positions,
    )
    wrapped.chat_template = CHAT_TEMPLATE
    wrapped.save_pretrained(folder)
    torch.manual_seed(seed)
    config = Qwen2Config(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=positions,
        eos_token_id=2,
        pad_token_id=0,
        initializer_range=0.4,
        tie_word_embeddings=False,
    )
    model = Qwen2ForCausalLM(config)
    # Special tokens are unlikely, so that an answer has text.
    model.lm_head.weight.data[: len(specials)] = 0.0
    model.generation_config = GenerationConfig(
        do_sample=True,
        temperature=0.7,
        top_p=0.8,
        top_k=20,
        repetition_penalty=1.05,
        eos_token_id=[2, 0],
        pad_token_id=0,
    )
    model.save_pretrained(folder)
    return folder


def _byte_level(specials: list[str]) -> Any:
    """A tokenizer of single bytes: no merges to learn, every text can be said."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    pieces = [*specials, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokenizer = Tokenizer(models.BPE({piece: number for number, piece in enumerate(pieces)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(specials)
    return tokenizer


def change_json(path: Path, **changes: Any) -> None:
    """Change entries of a JSON file; None removes one."""
    contents = {**json.loads(path.read_text()), **changes}
    path.write_text(json.dumps({key: value for key, value in contents.items() if value is not None}))
