from __future__ import annotations

import pytest

from finrag_pipeline.filings.forms import form_family
from finrag_pipeline.resolver.forms import read_form


@pytest.mark.parametrize(
    ("question", "form"),
    [
        ("in the 10-K?", "10-K"),
        ("in this 10K report", "10-K"),
        ("the annual report of 2022", "10-K"),
        ("its 10-Q", "10-Q"),
        ("the quarterly report", "10-Q"),
        ("in the 8k filing", "8-K"),
        ("Form 8-K dated", "8-K"),
        ("on the earnings call", "EARNINGS"),
        ("the earnings release of Q2", "EARNINGS"),
        ("at the AGM held on", "8-K"),
        ("annual meeting of shareholders", "8-K"),
        ("the 10-K, not the 8-K", "10-K"),
        ("a 10-kilometre road, 18-K gold, net earnings per share", None),
        ("", None),
    ],
)
def test_named_forms(question: str, form: str | None) -> None:
    assert read_form(question).form == form


def test_unadjusted_is_not_adjusted() -> None:
    assert read_form("unadjusted EBITDA").release is None
    assert read_form("adjusted EBITDA").release == "adjusted"


@pytest.mark.parametrize(
    ("question", "item"),
    [
        ("Does the new CEO have experience?", "5.02"),
        ("Which nominees got votes?", "5.07"),
        ("the revolving credit agreement", "2.03"),
        ("treated as a discontinued operation", "2.01"),
        ("Who replaced the dismissed auditor, dismissed its auditors?", "4.01"),
    ],
)
def test_events(question: str, item: str) -> None:
    assert item in read_form(question).items


@pytest.mark.parametrize(
    ("form", "family"),
    [
        ("10-K/A", "10-K"),
        ("10-KT", "10-K"),
        ("20-F", "10-K"),
        ("6-K", "8-K"),
        ("S-1", None),
        (None, None),
        ("", None),
    ],
)
def test_families(form: str | None, family: str | None) -> None:
    assert form_family(form) == family
    assert form_family(form, 3) == ("EARNINGS" if family == "8-K" else family)
