"""The papers' tokenizer for lexical retrieval."""

from __future__ import annotations

import re

_TOKEN = re.compile(r"\b\w+(?:[.,]\w+)*\b|[$€£%]")


def finance_tokens(text: str) -> list[str]:
    """Lower-cased words, numbers with their separators (1,577.0), and the signs $ € £ %.

    The regular expression is the one published with Kobeissi & Langlais.
    """
    return _TOKEN.findall(text.lower())
