"""Whether the text layer of a page is usable, or only optical character recognition would help."""

from __future__ import annotations

import re

SCARCE_TEXT = 40
"""Characters below which a page counts as carrying next to no text."""

_GARBLED_SHARE = 0.3
# What extractors return for fonts without a usable mapping to Unicode: control characters, the
# replacement character, private-use code points, and '(cid:12)' placeholders.
_ODD = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ufffd\ue000-\uf8ff\U000f0000-\U0010ffff]")
_PLACEHOLDER = re.compile(r"\(cid:\d+\)")
_SPACE = re.compile(r"\s+")


def is_garbled(text: str) -> bool:
    """Whether a broken font encoding has made ``text`` unreadable: more than 30 % odd characters."""
    odd = len(_ODD.findall(text))
    if "(cid:" in text:
        odd += sum(len(match) for match in _PLACEHOLDER.findall(text))
    if odd < SCARCE_TEXT * _GARBLED_SHARE:
        return False
    visible = len(_SPACE.sub("", text))
    return visible >= SCARCE_TEXT and odd > _GARBLED_SHARE * visible
