"""What the service takes and gives, as the OpenAPI page shows it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

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

FilingName = Annotated[str, Field(min_length=1, max_length=255)]
SystemName = Annotated[
    Annotated[str, Field(min_length=1, max_length=100)] | None,
    Field(
        description="Retrieval system, see /systems; finrag when null, or dense until finrag is trained.",
        examples=["finrag"],
    ),
]


class SearchRequest(BaseModel):
    """A question to search for."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={"examples": [{"question": "What was the capital expenditure of Acme in FY2022?"}]},
    )

    question: str = Field(
        description="The question, in words.",
        min_length=1,
        max_length=MAX_QUESTION_CHARACTERS,
        pattern=r"\S",
        examples=["What was the capital expenditure of Acme in FY2022?"],
    )
    k: int = Field(5, description="How many results.", ge=1, le=MAX_RESULTS)
    filings: list[FilingName] = Field(
        default_factory=list,
        description="Search these filings only; all when empty. See /filings.",
        max_length=MAX_FILINGS,
        examples=[["ACME_2022_10K"]],
    )
    system: SystemName = None


class SearchQuery(SearchRequest):
    """The same as query parameters, in which numbers are text."""

    model_config = ConfigDict(extra="forbid", strict=False)


class AnswerPart(BaseModel):
    """A part of an answer."""

    # What commands add to their JSON in time is passed on.
    model_config = ConfigDict(extra="allow")


class Result(AnswerPart):
    """A passage that was found."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"examples": [_EXAMPLE_RESULT]})

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

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [
                {
                    "question": "What was the capital expenditure of Acme in FY2022?",
                    "system": "finrag",
                    "results": [_EXAMPLE_RESULT],
                    "seconds": 0.21,
                    "warnings": [],
                }
            ]
        },
    )

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
    status: str = Field(description="ok, or failed: it could not be read.")
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
    conflicts: list[str] = Field(description="Disagreements between cover page and declared identity.")
    warnings: list[str] = Field(description="What else is odd about it.")


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

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "error": "The lake holds no filing 'ACME_2031_10K'.",
                    "remedy": "List filings with: finrag filings.",
                }
            ]
        }
    )

    error: str = Field(description="What is wrong, in one sentence.")
    remedy: str = Field(description="What to do about it.")
