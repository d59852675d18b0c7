"""Finding facts: by concept or label, and period."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.statements.concepts import normal_label


def find_facts(
    facts: pa.Table,
    concept: str | None = None,
    label: str | None = None,
    fiscal_year: int | None = None,
    period_end: dt.date | None = None,
    fiscal_quarter: int | None = None,
    statement: str | None = None,
    scope: str | None = "primary",
) -> pa.Table:
    """Facts that meet every condition given.

    Args:
        facts: rows of ``statement_facts``.
        concept: us-gaap name of concept or line, in any case.
        label: words that the label must contain, compared as the lexicon does (case, brackets, hyphens and
            punctuation make no difference).
        fiscal_year: fiscal year of the period.
        period_end: last day of the period.
        fiscal_quarter: fiscal quarter of a period of three months.
        statement: kind of statement.
        scope: scope; None for any.

    Returns:
        The rows in their order.
    """
    conditions: list[pa.ChunkedArray] = []
    keep: pa.ChunkedArray | None = None
    for column, wanted in (
        ("scope", scope),
        ("statement", statement),
        ("fiscal_year", fiscal_year),
        ("fiscal_quarter", fiscal_quarter),
        ("period_end", period_end),
    ):
        if wanted is not None:
            conditions.append(pc.equal(facts[column], pa.scalar(wanted, facts.schema.field(column).type)))
    if concept is not None:
        named = (pc.equal(pc.utf8_lower(facts[name]), concept.lower()) for name in ("concept", "line"))
        conditions.append(pc.or_kleene(*named))
    for condition in conditions:
        keep = condition if keep is None else pc.and_(keep, condition)
    found = facts if keep is None else facts.filter(keep)
    if label is not None:
        words = normal_label(label)
        found = found.filter(pa.array([words in normal_label(text) for text in found["label"].to_pylist()]))
    return found
