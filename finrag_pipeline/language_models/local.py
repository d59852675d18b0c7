"""A language model on this machine: causal language models of transformers, through their chat template.

Only safetensors weights are loaded, and no code from a model repository is run.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from copy import deepcopy
from functools import cached_property
from pathlib import Path
from typing import Any

from finrag_pipeline.errors import ModelError
from finrag_pipeline.language_models.protocol import Completion, Message, Request
from finrag_pipeline.settings import LanguageModelSettings
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.model_folders import model_fingerprint, model_folder
from finrag_pipeline.storage.torch_models import AGAIN, first_line, loading, torch_device

VARIABLE = "FINRAG_LANGUAGE_MODEL__NAME"
LOCAL_VERSION = "1"


class LocalModel:
    """A causal language model of transformers, on a GPU where there is one.

    Weights are loaded with the first answer. The model's own ``generation_config.json`` gives what the
    protocol does not (top-p, top-k, repetition penalty), as servers do too; temperature, length and
    seed come from the request, and temperature 0 is greedy decoding.
    """

    def __init__(self, settings: LanguageModelSettings) -> None:
        self._settings = settings
        self.name = settings.name
        self._one_at_a_time = threading.RLock()

    @cached_property
    def _folder(self) -> Path:
        return model_folder(self._settings.name, self._settings.revision, VARIABLE)

    @cached_property
    def fingerprint(self) -> str:
        """Of weights, tokenizer, chat template and generation defaults.

        Raises:
            ModelError: the model is nowhere to be had.
        """
        return fingerprint("local", LOCAL_VERSION, model_fingerprint(self._folder))

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        """Tokenizer and model."""
        from transformers import AutoModelForCausalLM, AutoTokenizer

        folder = self._folder
        with loading(folder) as shared:
            tokenizer = AutoTokenizer.from_pretrained(folder, **shared)
            loaded: Any = AutoModelForCausalLM.from_pretrained(
                folder, use_safetensors=True, dtype="auto", output_loading_info=True, **shared
            )
        model, report = loaded
        if report["missing_keys"]:
            missing = sorted(report["missing_keys"])
            raise ModelError(f"{folder} lacks {len(missing)} of the weights, {missing[0]} among them.", AGAIN)
        if not tokenizer.chat_template:  # pyrefly: ignore[missing-attribute]: it is never None
            raise ModelError(
                f"The model in {folder} has no chat template.", "Choose a model that was tuned to chat."
            )
        return tokenizer, model.to(torch_device()).eval()

    def complete(self, request: Request) -> Completion:
        """The answer to a request, one at a time; the model is told of no tools.

        Raises:
            ModelError: the model cannot be loaded, the prompt is too long for it, or it says nothing.
        """
        import torch

        with self._one_at_a_time:
            tokenizer, model = self._loaded
            prompt = self._prompt(tokenizer, request.messages).to(model.device)
            read = int(prompt["input_ids"].shape[1])
            longest = getattr(model.config, "max_position_embeddings", None)
            if longest and read + request.max_tokens > longest:
                raise ModelError(
                    f"{read} tokens of prompt and {request.max_tokens} of answer are more than the {longest} "
                    f"of {self.name}.",
                    "Give it less text, or choose a model with a longer context.",
                )
            start = time.perf_counter()
            # The generator of torch is global: a fork leaves the one of everybody else as it was.
            devices = [model.device] if model.device.type == "cuda" else []
            with torch.random.fork_rng(devices=devices), torch.inference_mode():
                if request.seed is not None:
                    torch.manual_seed(request.seed)
                else:
                    torch.seed()
                output = model.generate(**prompt, generation_config=_generation(model, request))
            written = output[0, read:]
        text = tokenizer.decode(written, skip_special_tokens=True).strip()
        ended = bool(len(written)) and int(written[-1]) in _ends(model)
        if not text:
            raise ModelError(f"{self.name} answered with no text.", "Choose another model.")
        return Completion(
            text=text,
            model=self.name,
            prompt_tokens=read,
            completion_tokens=len(written),
            seconds=time.perf_counter() - start,
            cached=False,
            finish_reason="stop" if ended else "length",
        )

    def _prompt(self, tokenizer: Any, messages: Sequence[Message]) -> Any:
        try:
            # Control tokens inside a message, such as the end of a turn, are read as plain text: a document
            # that holds them cannot speak for the user.
            return tokenizer.apply_chat_template(
                [message.as_json() for message in messages],
                add_generation_prompt=True,
                sanitize_control_tokens=True,
                return_dict=True,
                return_tensors="pt",
            )
        except Exception as error:  # templates raise errors of their own
            raise ModelError(
                f"The chat template of {self.name} refuses the messages: {first_line(error)}.",
                "Choose another model.",
            ) from error


def _generation(model: Any, request: Request) -> Any:
    """The model's own defaults with what the request asks for."""
    config = deepcopy(model.generation_config)
    config.max_new_tokens, config.max_length = request.max_tokens, None
    config.do_sample = request.temperature > 0
    if config.do_sample:
        config.temperature = request.temperature
    else:  # else the library warns that they are not used
        config.temperature = config.top_p = config.top_k = None
    if config.pad_token_id is None:
        config.pad_token_id = min(_ends(model), default=0)
    return config


def _ends(model: Any) -> set[int]:
    """Tokens that end an answer."""
    ends = model.generation_config.eos_token_id
    return set() if ends is None else {ends} if isinstance(ends, int) else set(ends)
