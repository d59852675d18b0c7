from __future__ import annotations

import pytest

from finrag_pipeline.retrieval.bm25 import finance_tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", []),
        ("Net sales were $1,577.0 million", ["net", "sales", "were", "$", "1,577.0", "million"]),
        ("up 3.5% (€2, £1.)", ["up", "3.5", "%", "€", "2", "£", "1"]),
        ("FY2022 Q3 10-K", ["fy2022", "q3", "10", "k"]),
        ("U.S. dollars, Größe; naïve", ["u.s", "dollars", "größe", "naïve"]),
        ("company's year-end", ["company", "s", "year", "end"]),
        ("株式会社 2023", ["株式会社", "2023"]),
        ("¥ & * §", []),
    ],
)
def test_words_numbers_and_signs_of_money(text: str, tokens: list[str]) -> None:
    assert finance_tokens(text) == tokens
