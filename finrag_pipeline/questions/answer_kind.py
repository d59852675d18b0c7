"""Whether a question asks for numbers or for words, by a linear model over its words.

'What was the audit fee?' asks for a number, 'What does the audit fee comprise?' for words, though both name a
row of a table. The model is made by ``python -m benchmarks.answer_kind``.
"""

from __future__ import annotations

import math
import re
import zlib
from functools import cache
from importlib.resources import files

import numpy as np
from safetensors.numpy import load

MODEL_FILE = "answer_kind.safetensors"
BUCKETS = 1 << 15
_LONGEST = 3
_WORD = re.compile(r"[a-z]+|\d+")


def buckets(question: str) -> list[int]:
    """Buckets of the runs of one to three words of a question, each once; years and figures are alike."""
    words = ["0" if word.isdigit() else word for word in _WORD.findall(question.lower())]
    words = ["", *words, ""]
    runs = (
        " ".join(words[at : at + length])
        for length in range(1, _LONGEST + 1)
        for at in range(len(words) - length + 1)
    )
    return sorted({zlib.crc32(run.encode()) % BUCKETS for run in runs})


def asks_for_number(question: str) -> float:
    """Probability that a question asks for one or several numbers.

    Args:
        question: without the names of companies.
    """
    weights, bias = _model()
    own = buckets(question)
    score = bias + float(weights[own].sum()) / math.sqrt(len(own))
    return 1 / (1 + math.exp(-score))


@cache
def _model() -> tuple[np.ndarray, float]:
    arrays = load((files("finrag_pipeline.questions") / MODEL_FILE).read_bytes())
    return arrays["weights"].astype(np.float32), float(arrays["bias"][0])
