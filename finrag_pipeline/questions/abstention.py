"""Why no answer is given, in kinds that programs can tell apart."""

from __future__ import annotations

from enum import StrEnum

CANNOT_BE_DETERMINED = "Cannot be determined from the filings indexed"
"""How every abstention begins."""


class AbstentionKind(StrEnum):
    """Kinds of abstention."""

    NOT_A_CALCULATION = "not_a_calculation"
    """The question asks for no quantity that can be computed; a reader of text may take over."""
    UNKNOWN_COMPANY = "unknown_company"
    """The question names a company that is not in the index, or none."""
    UNKNOWN_PERIOD = "unknown_period"
    """No filing of the company shows the period."""
    NOT_REPORTED = "not_reported"
    """The filings do not show a line that is needed."""
    NO_LINE = "no_line"
    """What is asked is no line of the statements, such as a product's sales; a reader of text may know it."""
    UNDEFINED_NAME = "undefined_name"
    """A formula in the question uses a name that is neither defined there nor known."""
    DIVISION_BY_ZERO = "division_by_zero"
    """A denominator is zero."""
    UNITS_DISAGREE = "units_disagree"
    """A formula adds or subtracts quantities of different units."""
    SEVERAL_COMPANIES = "several_companies"
    """The question asks about several companies at once."""
    NOT_UNDERSTOOD = "not_understood"
    """A word of the question that could change the answer would be left out."""
    UNREADABLE = "unreadable"
    """The question, or a definition in it, cannot be read."""


class Abstention(Exception):  # noqa: N818 - an outcome, not an error for people
    """No answer can be given.

    Args:
        kind: kind of reason.
        why: the reason in one sentence.
        looked_for: what was looked for, one item each.
    """

    def __init__(self, kind: AbstentionKind, why: str, looked_for: tuple[str, ...] = ()) -> None:
        super().__init__(why)
        self.kind = kind
        self.why = why
        self.looked_for = looked_for

    def sentence(self) -> str:
        """The abstention as it is printed: that nothing can be determined, why, and what was looked for."""
        text = f"{CANNOT_BE_DETERMINED}: {self.why.rstrip('.')}."
        return f"{text} Looked for: {'; '.join(self.looked_for)}." if self.looked_for else text
