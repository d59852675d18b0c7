from __future__ import annotations

from finrag_pipeline.orchestration.steps import listed


def test_texts_of_filings_are_no_markdown() -> None:
    """Dagster's UI shows lists of what is odd: names of files, and lines of covers."""
    shown = listed(["<img src=x onerror=alert(1)>", "[click](javascript:alert(1)) |\n# big"]).value
    assert shown.splitlines() == [
        r"- \<img src=x onerror=alert(1)\>",
        r"- \[click\](javascript:alert(1)) \| # big",
    ]
    assert listed([]).value == "none"
