"""What the service takes and gives, as the OpenAPI page shows it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from finrag_pipeline.answering.modes import AnswerMode
from finrag_pipeline.retrieval.question_text import MAX_QUESTION_CHARACTERS

MAX_RESULTS = 100
MAX_FILINGS = 100

_EXAMPLE_RESULT: dict[str, Any] = {
    "rank": 1,
    "filing": "ACME_2022_10K",
    "page": 58,
    "page_label": "59",
    "chunk_id": "ACME_2022_10K/p58/c0",
    "score": 0.7312,
    "snippet": "… Purchases of property, plant and equipment (1,577) …",
    "why": "cash flow statement (asked for); holds PaymentsToAcquirePropertyPlantAndEquipment FY2022",
}

_QUESTION = "What was the capital expenditure of Acme in FY2022 in USD million?"

_EXAMPLE_ANSWER: dict[str, Any] = {
    "question": _QUESTION,
    "system": "finrag",
    "results": [_EXAMPLE_RESULT],
    "seconds": 0.21,
    "warnings": [],
}
_EXAMPLE_PROBLEM: dict[str, Any] = {
    "error": "The lake holds no filing 'ACME_2031_10K'.",
    "remedy": "List filings with: finrag filings.",
}

WholeNumber = Annotated[
    int,
    BeforeValidator(lambda value: int(value) if isinstance(value, float) and value.is_integer() else value),
]
"""JSON has one kind of number: 3.0 is a whole one."""
FilingName = Annotated[str, Field(min_length=1, max_length=255)]
SystemName = Annotated[
    Annotated[str, Field(min_length=1, max_length=100)] | None,
    Field(
        description="Retrieval system, see /systems; finrag when null, or dense until finrag is trained.",
        examples=["finrag"],
    ),
]


class Asked(BaseModel):
    """A question, and where to look."""

    model_config = ConfigDict(
        extra="forbid", strict=True, json_schema_extra={"examples": [{"question": _QUESTION}]}
    )

    question: str = Field(
        description="The question, in words; for /ask it may define its own formula.",
        min_length=1,
        max_length=MAX_QUESTION_CHARACTERS,
        pattern=r"\S",
        examples=[_QUESTION],
    )
    filings: list[FilingName] = Field(
        default_factory=list,
        description="These filings only; all, or those that the question means, when empty. See /filings.",
        max_length=MAX_FILINGS,
        examples=[["ACME_2022_10K"]],
    )
    system: SystemName = None


class SearchRequest(Asked):
    """A question to search for."""

    k: WholeNumber = Field(5, description="How many results.", ge=1, le=MAX_RESULTS)


class SearchQuery(SearchRequest):
    """The same as query parameters, in which numbers are text."""

    model_config = ConfigDict(strict=False)


class AnswerPart(BaseModel):
    """A part of an answer."""

    # What commands add to their JSON in time is passed on.
    model_config = ConfigDict(extra="allow")


class Result(AnswerPart):
    """A passage that was found."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE_RESULT]})

    rank: int = Field(description="Place in the ranking, from 1.", ge=1)
    filing: str = Field(description="Identifier of the filing.")
    page: int = Field(description="Zero-based page of the filing.", ge=0)
    page_label: str = Field(description="The page as a reader would say it: page + 1.")
    chunk_id: str = Field(description="Identifier of the passage.")
    score: float = Field(description="Score of the system; comparable within one answer only.")
    snippet: str = Field(description="The part of the passage that holds most words of the question.")
    why: str = Field(description="Why it was ranked here.")


class SearchAnswer(AnswerPart):
    """What was found, best first; the same as `finrag search --json` prints."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE_ANSWER]})

    question: str = Field(description="The question as it was searched for.")
    system: str = Field(description="The system that answered.")
    results: list[Result] = Field(description="Passages, best first.")
    seconds: float = Field(description="Time of the search, without waiting for others.", ge=0)
    warnings: list[str] = Field(description="Filings that were not searched, being incomplete still.")


class SystemRow(AnswerPart):
    """A retrieval system, an answering system or a detector of tables."""

    name: str = Field(description="Identifier, for `system` of a search.", examples=["finrag"])
    kind: str = Field(description="retrieval, answers or tables.")
    status: str = Field(description="measured, runs here, or needs: something is missing here.")
    why: str = Field(description="What is missing, or what is particular about it.")
    command: str = Field(description="The one command that provides what is missing, or measures it.")
    source: str = Field(description="Paper, table and row that it comes from.")


class FilingRow(AnswerPart):
    """A filing of the lake."""

    filing: str = Field(description="Identifier, for `filings` of a search.", examples=["ACME_2022_10K"])
    status: str = Field(description="ok, incomplete, or failed: it could not be read.")
    reason: str | None = Field(None, description="Why it failed.")
    remedy: str | None = Field(None, description="What to do about it.")
    source: str | None = Field(None, description="pdf, or page_text: text extracted elsewhere.")
    pages: int | None = Field(None, description="Number of pages.")
    company: str | None = Field(None, description="Registrant as the cover page prints it.")
    form: str | None = Field(None, description="10-K, 10-Q, 8-K or EARNINGS.")
    fiscal_year: int | None = Field(None, description="Fiscal year that it reports on.")
    fiscal_quarter: int | None = Field(None, description="Fiscal quarter, for quarterly reports.")
    period_end: str | None = Field(
        None, description="Last day of the period, or date of the event of an 8-K: YYYY-MM-DD."
    )
    filed: str | None = Field(None, description="Day on which it was filed, of what came from EDGAR.")
    conflicts: list[str] = Field(description="Disagreements between cover page and declared identity.")
    warnings: list[str] = Field(description="What else is odd about it.")
    tagged: str | None = Field(None, description="How far its tables were read as its filer tagged them.")


class Health(BaseModel):
    """The process is up."""

    status: str = Field(description="Always up.", examples=["up"])
    version: str = Field(description="Version of finrag_pipeline.", examples=["0.1.0"])


class Readiness(BaseModel):
    """The models are loaded, and there is something to search."""

    ready: bool = Field(description="Always true; what is not ready is an error 503.")
    filings: int = Field(description="How many filings there are to search.", ge=1)
    system: str = Field(description="The system that answers when a request names none.")
    loaded_at: datetime = Field(description="When what is searched was loaded.")
    problem: str | None = Field(
        None, description="Why the newest state of the lake could not be loaded; the one before is searched."
    )
    warnings: list[str] = Field(description="Filings that are not searched, being incomplete still.")


class Problem(BaseModel):
    """An error: what is wrong, and what to do about it."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE_PROBLEM]})

    error: str = Field(description="What is wrong, in one sentence.")
    remedy: str = Field(description="What to do about it.")


class AskRequest(Asked):
    """A question to answer."""

    mode: AnswerMode = Field(
        "calculator",
        description="calculator needs no language model; prompt and cot ask one; grounded asks one and holds "
        "it to the calculator's facts.",
    )


class AskQuery(AskRequest):
    """The same as query parameters."""

    model_config = ConfigDict(strict=False)


class OnPage(AnswerPart):
    """Something that stands on a page of a filing."""

    filing: str = Field(description="Identifier of the filing.")
    page: int = Field(description="Zero-based page of the filing.", ge=0)
    page_label: str = Field(description="The page as a reader would say it: page + 1.")


class AnswerInput(OnPage):
    """A number that a calculation read from a filing."""

    line: str = Field(description="What it is, for people.")
    concept: str | None = Field(None, description="Line item as us-gaap names it.")
    label: str = Field(description="Label as printed.")
    period: str = Field(description="Period as the question names it.")
    printed: str = Field(description="The cell as printed.")
    scale: float = Field(description="Full units per printed unit.")
    value: float = Field(description="The number used, in full units.")
    box: list[float] | None = Field(None, description="The cell's box in points: x0, y0, x1, y1.")


class Citation(OnPage):
    """A page, or a cell of it, that the answer rests on."""

    fact_id: str | None = Field(None, description="The cell, where it is one.")


class Quote(OnPage):
    """A sentence of a filing."""

    text: str = Field(description="As printed, line breaks folded.")


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
    header: str = Field(description="Its period for people, or the headers where there is none.")
    period_end: str | None = Field(None, description="Last day of its period, or its instant.")
    months: int | None = Field(None, description="Length of its period; null for an instant.")
    value: float = Field(description="In full units; 0.12 for 12 %.")
    printed: str = Field(description="As printed.")
    box: list[float] | None = Field(None, description="Its box in points: x0, y0, x1, y1.")
    fact_id: str = Field(description="Its cell: filing:page:table:row:column, zero-based.")


class EvidenceRow(OnPage):
    """A printed row that comes close to a question which is not answered."""

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
