from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.filings.pdf import is_garbled


@pytest.mark.parametrize(
    ("text", "garbled"),
    [
        ("", False),
        (" \n\t " * 100, False),
        ("Net sales were $1,577.0 million, up 3 % from the year before.", False),
        ("純売上高は前年比で増加した。営業利益も増加した。" * 3, False),
        ("Größe, naïveté, Œuvre — “quoted” … €5 ½ ©" * 3, False),
        ("\ufffd" * 40, True),
        ("\ue021\ue022\ue023 " * 20, True),
        ("\x01\x02\x03 " * 20, True),
        ("(cid:12)(cid:44)(cid:7)" * 10, True),
        # Some stray signs in a page of text do no harm.
        ("Net sales rose \uf0b7 and costs fell \uf0b7 in every quarter of the year. " * 5, False),
        # Too little to judge.
        ("\ufffd\ufffd\ufffd", False),
    ],
)
def test_examples(text: str, garbled: bool) -> None:
    assert is_garbled(text) is garbled


def test_the_share_that_decides() -> None:
    assert not is_garbled("a" * 70 + "\ufffd" * 30)
    assert is_garbled("a" * 69 + "\ufffd" * 31)


@given(st.text(st.characters(codec="ascii", categories=("L", "N", "P", "Z"))))
def test_plain_text_never_is(text: str) -> None:
    assert not is_garbled(text)
