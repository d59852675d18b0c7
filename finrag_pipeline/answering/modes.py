"""How a question is answered: by the calculator, or by a language model with one of three prompts."""

from typing import Literal

Mode = Literal["prompt", "cot", "grounded"]
MODES: tuple[Mode, ...] = ("prompt", "cot", "grounded")

AnswerMode = Literal["calculator"] | Mode
"""``calculator`` needs no language model: it computes, and quotes where nothing can be computed."""
