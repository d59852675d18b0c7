"""What ``/ask`` takes and gives, as the OpenAPI page shows it."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from finrag_pipeline.answering.answer import AnswerMode
from finrag_pipeline.retrieval.question_text import MAX_QUESTION_CHARACTERS
from finrag_pipeline.serving.models import MAX_FILINGS, AnswerPart, FilingName, SystemName

_QUESTION = "What was the capital expenditure of Acme in FY2022 in USD million?"


class AskRequest(BaseModel):
    """A question to answer."""

    model_config = ConfigDict(
        extra="forbid", strict=True, json_schema_extra={"examples": [{"question": _QUESTION}]}
    )

    question: str = Field(
        description="The question, in words; it may define its own formula.",
        min_length=1,
        max_length=MAX_QUESTION_CHARACTERS,
        pattern=r"\S",
        examples=[_QUESTION],
    )
    mode: AnswerMode = Field(
        "calculator",
        description="calculator needs no language model; prompt and cot ask one; grounded asks one and holds "
        "it to the calculator's facts.",
    )
    filings: list[FilingName] = Field(
        default_factory=list,
        description="Use these filings only; those that the question means when empty. See /filings.",
        max_length=MAX_FILINGS,
        examples=[["ACME_2022_10K"]],
    )
    system: SystemName = None


class AskQuery(AskRequest):
    """The same as query parameters."""

    model_config = ConfigDict(extra="forbid", strict=False)


class AnswerInput(AnswerPart):
    """A number that a calculation read from a filing."""

    line: str = Field(description="What it is, for people.")
    concept: str | None = Field(None, description="Line item as us-gaap names it.")
    label: str = Field(description="Label as printed.")
    period: str = Field(description="Period as the question names it.")
    filing: str = Field(description="Identifier of the filing.")
    page: int = Field(description="Zero-based page.", ge=0)
    page_label: str = Field(description="The page as a reader would say it: page + 1.")
    printed: str = Field(description="The cell as printed.")
    scale: float = Field(description="Full units per printed unit.")
    value: float = Field(description="The number used, in full units.")
    box: list[float] | None = Field(None, description="The cell's box in points: x0, y0, x1, y1.")


class Citation(AnswerPart):
    """A page, or a cell of it, that the answer rests on."""

    filing: str = Field(description="Identifier of the filing.")
    page: int = Field(description="Zero-based page.", ge=0)
    page_label: str = Field(description="The page as a reader would say it.")
    fact_id: str | None = Field(None, description="The cell, where it is one.")


class Quote(AnswerPart):
    """A sentence of a filing."""

    text: str = Field(description="As printed, line breaks folded.")
    filing: str = Field(description="Identifier of the filing.")
    page: int = Field(description="Zero-based page.", ge=0)
    page_label: str = Field(description="The page as a reader would say it.")


class Alternative(AnswerPart):
    """Another reading: another convention, another period, or a cell that contradicts an input."""

    what: str = Field(description="What is shown.")
    answer: str = Field(description="Its value, for people.")
    why: str = Field(description="Why it is shown.")


class SeriesValue(AnswerPart):
    """One of several values that answer a question."""

    label: str = Field(description="Period, part of the company, or company.", examples=["FY2023"])
    answer: str = Field(description="For people.")
    value: float = Field(description="In full units.")
    of: str = Field("", description="Which of several series it belongs to; '' where there is one.")
    change: str = Field("", description="On the year before; of a part, its share.", examples=["+3.4%"])


class EvidenceValue(AnswerPart):
    """A number of a printed row."""

    column: str = Field(description="Headers above it, outermost first.")
    period_end: str | None = Field(None, description="Last day of its period, or its instant.")
    months: int | None = Field(None, description="Length of its period; null for an instant.")
    value: float = Field(description="In full units; 0.12 for 12 %.")
    printed: str = Field(description="As printed.")
    box: list[float] | None = Field(None, description="Its box in points: x0, y0, x1, y1.")


class EvidenceRow(AnswerPart):
    """A printed row that comes close to a question which is not answered."""

    filing: str = Field(description="Identifier of the filing.")
    page: int = Field(description="Zero-based page.", ge=0)
    page_label: str = Field(description="The page as a reader would say it.")
    caption: str | None = Field(None, description="Title of the table.")
    label: str = Field(description="Label as printed.")
    path: list[str] = Field(description="Headings above it, outermost first, and the label.")
    unit: str | None = Field(None, description="Unit of most of its values.", examples=["USD"])
    values: list[EvidenceValue] = Field(description="At most eight, from left to right.")


class Answer(AnswerPart):
    """An answer with its proof; the same as `finrag ask --json` prints."""

    question: str = Field(description="As asked.")
    mode: str = Field(description="How it was made.")
    answer: str = Field(description="For people; says what is missing where it cannot be determined.")
    value: float | None = Field(None, description="In `unit`, rounded as asked.")
    unit: str | None = Field(None, description="Unit of the value.", examples=["USD million"])
    formula: str | None = Field(None, description="Formula, in names of lines.")
    steps: list[str] = Field(description="How the value comes about.")
    inputs: list[AnswerInput] = Field(description="Cells that were read.")
    citations: list[Citation] = Field(description="Pages and cells that the answer rests on.")
    alternatives: list[Alternative] = Field(description="Other readings.")
    quotes: list[Quote] = Field(description="Sentences quoted.")
    abstained: bool = Field(description="Nothing is answered: the filings do not hold it.")
    kind: str | None = Field(None, description="Kind of abstention.")
    why: str | None = Field(None, description="Reason of an abstention.")
    looked_for: list[str] = Field(description="What was looked for where it abstains.")
    evidence: list[EvidenceRow] = Field(
        description="Where nothing is answered: at most five printed rows that come closest. No answer."
    )
    warnings: list[str] = Field(
        description="What is odd about a model's answer; filings that are incomplete and were not searched."
    )
    system: str | None = Field(
        None, description="The retrieval system; null where nothing had to be searched for."
    )
    confidence: float | None = Field(
        None, description="Probability that an answer from rows of any table is right.", ge=0, le=1
    )
    from_rows: bool = Field(False, description="It rests on rows that the words of the question name.")
    series: list[SeriesValue] = Field(
        default_factory=list, description="The values, in order, where there are several."
    )
    plot: list[str] = Field(default_factory=list, description="The series as lines of text with bars.")
    seconds: float = Field(description="From question to answer.", ge=0)
