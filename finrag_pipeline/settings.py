"""Typed settings: paths, models, seeds and profiles, read from the environment (prefix ``FINRAG_``).

``FINRAG_LAKE=/data/lake FINRAG_ENCODER__PRECISION=int8 finrag run`` overrides single values; every
setting that changes a result enters the fingerprint of what it produces.
"""

from __future__ import annotations

import datetime as dt
import os
import re
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args, get_origin

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    model_validator,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict, SettingsError

from finrag_pipeline.errors import UsageError, did_you_mean

REPOSITORY = Path(__file__).resolve().parent.parent


class Group(BaseModel):
    """Settings that belong together; a name that no setting has is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class EncoderSettings(Group):
    """The encoder that turns text into vectors."""

    name: str = Field(
        "sentence-transformers/all-MiniLM-L6-v2",
        description="A sentence-transformers name (for example BAAI/bge-m3) or a local folder.",
    )
    revision: str | None = Field(None, description="Hub revision; None takes the cached or newest one.")
    backend: Literal["auto", "torch", "openvino"] = Field(
        "auto",
        description="auto: numpy for static encoders, else torch where it has a GPU, else openvino when it "
        "is installed, else torch.",
    )
    precision: Literal["auto", "fp32", "bf16", "int8"] = Field(
        "auto",
        description="Arithmetic of the backend; int8 needs openvino, bf16 openvino or a GPU. auto: that of "
        "the vectors which the lake has; without any, bf16 where GPU or processor has it, else fp32.",
    )
    window: int = Field(
        256, ge=16, description="Tokens read at once by an encoder that sets no limit, such as a static one."
    )
    pooling: Literal["max", "mean"] = Field(
        "max",
        description="How the windows of a chunk are pooled: max keeps every window and scores a chunk by its "
        "best one; mean keeps one vector, the mean of the windows.",
    )
    batch_size: int | None = Field(
        None, ge=1, description="Windows per forward pass; None takes 8 with OpenVINO and 32 with PyTorch."
    )


class ChunkSettings(Group):
    """Fixed-size chunks within a page."""

    tokens: int = Field(1024, ge=16, description="Longest chunk, in tokens of the encoder's tokenizer.")
    overlap: int = Field(128, ge=0, description="Tokens shared by neighbouring chunks of a page.")


class ContextualChunkSettings(Group):
    """Chunks with their context: prose, table rows, whole tables."""

    tokens: int = Field(512, ge=64, description="Longest chunk, context and all, in tokens of the encoder.")
    overlap: int = Field(50, ge=0, description="Tokens shared by neighbouring chunks of prose of a page.")


class TableSettings(Group):
    """How tables are found; the models are those of the detector ``tatr``."""

    detector: Literal["words", "pymupdf", "tatr"] = Field(
        "words",
        description="words: alignment of words; pymupdf: ruling lines; tatr: Table Transformer.",
    )
    detection_model: str = Field(
        "microsoft/table-transformer-detection", description="Hub name or local folder: finds tables."
    )
    detection_revision: str | None = Field(None, description="Hub revision of the detection model.")
    structure_model: str = Field(
        "microsoft/table-transformer-structure-recognition-v1.1-all",
        description="Hub name or local folder: rows, columns and spanning cells of one table.",
    )
    structure_revision: str | None = Field(None, description="Hub revision of the structure model.")
    detection_threshold: float = Field(0.7, ge=0, le=1, description="Least score of a table.")
    structure_threshold: float = Field(0.6, ge=0, le=1, description="Least score of a row, column or cell.")
    dpi: int = Field(150, ge=36, le=600, description="Resolution of the page pictures.")
    padding: int = Field(30, ge=0, description="Pixels around a detected table that are shown with it.")
    batch_size: int = Field(8, ge=1, description="Pictures per forward pass.")


class LanguageModelSettings(Group):
    """The language model that writes passages and answers; none is needed for anything else."""

    kind: Literal["none", "endpoint", "local"] = Field(
        "none", description="endpoint: any OpenAI-compatible server; local: a transformers model."
    )
    name: str = Field(
        "Qwen/Qwen2.5-7B-Instruct",
        description="Name of the model at the endpoint; for local a hub name or a folder.",
    )
    base_url: str | None = Field(
        None, description="Endpoint up to the version, for example http://localhost:8000/v1."
    )
    key: SecretStr | None = Field(None, description="Key of the endpoint, when it wants one; never logged.")
    revision: str | None = Field(None, description="Hub revision of a local model.")
    timeout: float = Field(120.0, gt=0, description="Seconds to wait for an answer of the endpoint.")
    retries: int = Field(
        4, ge=0, description="New tries after an endpoint was busy, down, slow or failed (429, 5xx)."
    )
    max_concurrency: int = Field(4, ge=1, description="Requests to the endpoint at a time.")

    @model_validator(mode="before")
    @classmethod
    def _an_address_means_an_endpoint(cls, values: Any) -> Any:
        if isinstance(values, dict) and values.get("base_url") and "kind" not in values:
            return {**values, "kind": "endpoint"}
        return values


class HydeSettings(Group):
    """Hypothetical passages (HyDE): who writes them, and how."""

    source: Literal["auto", "generated", "recorded"] = Field(
        "auto", description="auto: recorded when a file is given, else generated when there is a model."
    )
    recorded: str | None = Field(
        None, description="JSON file of passages written before: {question: [passage, …]}."
    )
    passages: int = Field(4, ge=1, description="Passages of Multi-HyDE; HyDE takes one.")
    temperature: float = Field(0.7, ge=0, le=2, description="Of the language model; 0.7 in the paper.")
    max_tokens: int = Field(200, ge=1, description="Longest passage in tokens; 200 in the paper.")
    seed: int = Field(17, ge=0, description="Seed of the first passage; the others take the next ones.")


class AnswerSettings(Group):
    """Answers by a language model: how much it is shown, and how it writes."""

    passages: int = Field(5, ge=1, description="Passages that are shown; 5 in the papers.")
    context_characters: int = Field(24_000, ge=200, description="Characters of all passages together.")
    order: Literal["best_first", "best_last", "filing"] = Field(
        "best_first",
        description="Order of the passages: best_last puts the best beside the question, filing goes by "
        "filing and page.",
    )
    temperature: float = Field(0.0, ge=0, le=2, description="0 decodes greedily, as in the papers.")
    max_tokens: int = Field(256, ge=1, description="Longest answer; 256 in the papers.")
    reasoning_tokens: int = Field(1024, ge=1, description="Longest answer with its reasoning (cot).")
    seed: int = Field(17, ge=0, description="Seed of the first answer; repeats take the next ones.")
    repeats: int = Field(1, ge=1, description="Answers per question; more need a temperature above 0.")
    tools: bool = Field(
        True, description="Offer plan, calculator and rows to the model as functions (grounded)."
    )
    recorded: tuple[str, ...] = Field(
        (), description="Folders of recorded answers of other models, scored as rows of their own."
    )

    @model_validator(mode="after")
    def _repeats_differ(self) -> Self:
        if self.repeats > 1 and self.temperature == 0:
            raise ValueError("repeats would all be the same answer at temperature 0; raise the temperature")
        return self


class JudgeSettings(Group):
    """Judges of answers, and the labels of people that they are held against."""

    models: dict[str, LanguageModelSettings] = Field(
        default_factory=dict,
        description="Language models that judge beside the baseline, by a name of your own: "
        "FINRAG_JUDGE__MODELS__<NAME>__BASE_URL, __NAME, __KEY.",
    )
    language: Literal["en", "fr"] | None = Field(
        None, description="Language of the prompts; None takes that of the question."
    )
    attempts: int = Field(3, ge=1, description="Replies before a verdict counts as missing.")
    labelled: str | None = Field(
        None, description="Folder of recorded answers with labels of people, for the calibration of judges."
    )
    sampled: tuple[str, ...] = Field(
        (), description="Answering systems that people label; all that have answers when empty."
    )
    budget: int = Field(90, ge=3, description="Labels that people give per system and criterion, at most.")
    simulation_draws: int = Field(
        1000, ge=10, description="Simulated studies for the sensitivity and the coverage of intervals."
    )


class RerankerSettings(Group):
    """The cross-encoder that reorders the first candidates."""

    name: str = Field("BAAI/bge-reranker-v2-m3", description="Hub name or local folder.")
    revision: str | None = Field(None, description="Hub revision; None takes the cached or newest one.")
    max_length: int = Field(512, ge=8, description="Tokens of question and text together; the rest is cut.")
    batch_size: int = Field(16, ge=1, description="Pairs per forward pass.")
    candidates: int = Field(20, ge=1, description="Candidates that are reordered; 20 in the papers.")


class SpladeSettings(Group):
    """The learned sparse encoder."""

    name: str = Field("naver/splade-cocondenser-ensembledistil", description="Hub name or local folder.")
    revision: str | None = Field(None, description="Hub revision; None takes the cached or newest one.")
    max_length: int = Field(512, ge=8, description="Tokens of a text; the rest is cut.")
    terms: int = Field(256, ge=1, description="Terms kept of each text, those of largest weight.")
    batch_size: int = Field(8, ge=1, description="Texts per forward pass.")


Negative = Literal["filing", "statement", "neighbour"]
NEGATIVES = get_args(Negative)


class TrainingSettings(Group):
    """Training on pairs of question and gold page; the defaults are those of the paper's page scorer."""

    base: str | None = Field(
        None, description="Model to start from: hub name or local folder; None takes the encoder's."
    )
    revision: str | None = Field(None, description="Hub revision of the base.")
    text: Literal["cut", "windows"] = Field(
        "cut",
        description="cut: the first characters of a page, as in the paper; windows: the whole page, in "
        "windows of at most max_tokens, scored by its best one.",
    )
    max_characters: int = Field(2000, ge=1, description="Where pages are cut (M in the paper).")
    max_tokens: int = Field(512, ge=8, description="Longest input, as far as the base has positions.")
    epochs: int = Field(15, ge=1, description="Epochs at most.")
    batch_size: int = Field(16, ge=2, description="Pairs of question and gold page per step.")
    learning_rate: float = Field(2e-5, gt=0, description="Highest learning rate.")
    warmup: float = Field(0.1, ge=0, lt=1, description="Share of the steps in which the rate rises.")
    negatives: tuple[Negative, ...] = Field(
        NEGATIVES,
        description="Hard negatives of each pair (the paper has only those of the batch): a page of "
        "the same filing, the same statement in another year's filing, the page before or after.",
    )
    validation_share: float = Field(
        0.15, gt=0, lt=0.5, description="Share of the training questions that decides when it stops."
    )
    validation_pages: int | None = Field(
        None,
        ge=1,
        description="Pages of each validation filing that gold pages are found among, drawn by the seed; "
        "all when None. Fewer save time without a GPU.",
    )
    patience: int = Field(5, ge=1, description="Epochs without a better page recall before it stops.")
    policies: tuple[Literal["document", "company"], ...] = Field(
        ("document",),
        min_length=1,
        description="How folds are made for measuring: company also trains models without the companies of a "
        "fold; searches and sweeps take those by document.",
    )
    pretraining: str | None = Field(
        None, description="Folder with finqa, tatqa and lofin: their clean rows are learned from first."
    )
    pretraining_rows: int | None = Field(
        None, ge=2, description="Clean rows that are learned from, drawn by the seed; all when None."
    )
    pretraining_epochs: int = Field(2, ge=1, description="Epochs of the pre-training.")
    checkpoint_seconds: float = Field(
        120.0, ge=0, description="Least time between two checkpoints; a killed training resumes at the last."
    )


class PageScorerSettings(TrainingSettings):
    """The learned page scorer and its training."""

    mini_batch_size: int | None = Field(
        None, ge=1, description="Texts per forward pass: gradients are cached, so that large batches fit."
    )


class RerankerTrainingSettings(TrainingSettings):
    """The cross-encoder that is trained here, and how it reorders the first pages of ``finrag``."""

    text: Literal["cut", "windows"] = Field(
        "windows", description="As for the page scorer: the first characters of a page, or all of it."
    )
    max_tokens: int = Field(256, ge=8, description="Longest question and text together.")
    windows: int = Field(
        2, ge=1, description="Windows of a page that are read: those that share most words with the question."
    )
    question_tokens: int = Field(
        64, ge=1, description="Tokens of max_tokens that windows leave to the question; half at most."
    )
    epochs: int = Field(5, ge=1, description="Epochs at most.")
    negatives: tuple[Negative, ...] = Field(
        NEGATIVES, min_length=1, description="Pages that are to score low."
    )
    validation_pages: int = Field(
        20, ge=1, description="Pages of its filing, best by BM25, that a validation question is asked of."
    )
    patience: int = Field(2, ge=1, description="Epochs without a better page recall before it stops.")
    pages: int = Field(20, ge=1, description="First pages that are reordered (N in the papers).")
    fusion_k: int = Field(
        1, ge=0, description="Constant of the reciprocal rank fusion with the order of the page ranker."
    )
    prediction_batch_size: int = Field(16, ge=1, description="Pairs per forward pass of a search.")


class Bm25Settings(Group):
    """Okapi BM25; both backends give the same scores."""

    backend: Literal["precomputed", "rank_bm25"] = Field(
        "precomputed",
        description="precomputed: weights kept in the lake; rank_bm25: the package itself, slower.",
    )


class RetrievalSettings(Group):
    """Search and sweep."""

    depth: int = Field(100, ge=10, description="Length of a stored ranking, in chunks.")
    rrf_k: int = Field(60, ge=1, description="Constant of reciprocal rank fusion.")
    exact_below: int = Field(
        200_000,
        ge=0,
        description="Vectors below which LanceDB scans exactly; above it an ANN index is built.",
    )


class EvaluationSettings(Group):
    """Metrics and intervals."""

    confidence: float = Field(0.95, gt=0.5, lt=1.0)
    folds: int = Field(5, ge=2, description="Cross-validation folds, by document.")


def _parted(value: object) -> object:
    return (
        tuple(filter(None, (part.strip() for part in value.split(",")))) if isinstance(value, str) else value
    )


def _first_day(value: object) -> object:
    """A year is its first day; Pydantic would take it for seconds since 1970."""
    return f"{value}-01-01" if re.fullmatch(r"\d{4}", str(value)) else value


Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_parted)]
"""Names with commas between them."""


class EdgarSettings(Group):
    """The watch-list: companies whose filings are fetched from the SEC."""

    watch: Names = Field((), description="Tickers or numbers (CIK), with commas between them.")
    user_agent: str = Field("", description='Who asks, as the SEC wants it: "Your Name you@example.com".')
    forms: Names = Field(
        ("10-K", "10-Q", "8-K"), description="Forms, with commas between them; amendments belong to them."
    )
    since: Annotated[dt.date | None, BeforeValidator(_first_day)] = Field(
        None, description="Year or day of the first filings; None: a year before a company's latest."
    )
    requests_per_second: float = Field(8.0, gt=0, le=10, description="The SEC allows ten.")
    patience: float = Field(120.0, gt=0, description="Seconds for which a request is tried again.")
    www_url: str = Field("https://www.sec.gov", description="Where documents are.")
    data_url: str = Field("https://data.sec.gov", description="Where lists of filings are.")


class RaySettings(Group):
    """The Ray cluster that does heavy work ahead; nothing of it changes a result."""

    address: str = Field(
        "", description="auto, HOST:6379 or ray://HOST:10001; without one all is done on this machine."
    )
    gpus: float = Field(0.0, ge=0, description="GPUs of a task that embeds; a part of one can be shared.")


class Settings(BaseSettings):
    """All settings of the pipeline."""

    model_config = SettingsConfigDict(
        env_prefix="FINRAG_", env_nested_delimiter="__", env_ignore_empty=True, extra="ignore"
    )

    profile: Literal["sample", "full"] = Field(
        "sample", description="sample: the generated filings; full: the FinanceBench download in the lake."
    )
    lake: str = Field(
        default_factory=lambda: str(REPOSITORY / "data_lake"),
        description="Root of the lake: a folder, or a URL that fsspec understands.",
    )
    seed: int = 17
    workers: int = Field(default_factory=lambda: os.cpu_count() or 1, ge=1, description="Worker processes.")
    page_timeout: float = Field(
        60.0,
        gt=0,
        description="Seconds after which a worker that reads a part of a filing is given up.",
    )
    worker_memory: int = Field(
        2 << 30, ge=1 << 30, description="Bytes of address space that a worker may have."
    )
    ray: RaySettings = RaySettings()
    max_filing_bytes: int = Field(1 << 30, gt=0, description="Larger files are refused.")
    edgar: EdgarSettings = EdgarSettings()
    definitions: str = Field(
        "", description="TOML file of your own metrics, and of printed labels that mean a line."
    )
    service_token: SecretStr | None = Field(
        None, description="Asked for by a service that other machines reach; a new one each time when None."
    )
    alert: str = Field(
        "",
        description="Told of runs that fail without anybody watching and of data that grows old: an address "
        "that takes JSON ({text, …}), or a command that gets it on its standard input.",
    )
    keep_days: int = Field(
        30, ge=1, description="Days that indexes and models of other settings and damaged parts are kept."
    )
    encoder: EncoderSettings = EncoderSettings()
    chunks: ChunkSettings = ChunkSettings()
    contextual_chunks: ContextualChunkSettings = ContextualChunkSettings()
    tables: TableSettings = TableSettings()
    bm25: Bm25Settings = Bm25Settings()
    retrieval: RetrievalSettings = RetrievalSettings()
    evaluation: EvaluationSettings = EvaluationSettings()
    language_model: LanguageModelSettings = LanguageModelSettings()
    hyde: HydeSettings = HydeSettings()
    answers: AnswerSettings = AnswerSettings()
    judge: JudgeSettings = JudgeSettings()
    reranker: RerankerSettings = RerankerSettings()
    splade: SpladeSettings = SpladeSettings()
    page_scorer: PageScorerSettings = PageScorerSettings()
    reranker_training: RerankerTrainingSettings = RerankerTrainingSettings()


@lru_cache(maxsize=1)
def get_settings() -> Settings:
    """Settings of this process, read from the environment once.

    Raises:
        UsageError: a variable has a value that its setting does not allow, or a name that no setting has.
    """
    known = {*variables(), *OTHER_VARIABLES}
    for name in sorted(os.environ):
        if name.startswith("FINRAG_") and not any(re.fullmatch(_pattern(one), name) for one in known):
            remedy = f"{did_you_mean(name, known, 1)}Correct or unset it; all settings: docs/settings.md."
            raise UsageError(f"There is no setting {name}.", remedy)
    try:
        return Settings()
    except ValidationError as error:
        found = "; ".join(f"{_variable(one['loc'])}: {one['msg']}" for one in error.errors())
        raise UsageError(f"The settings are wrong: {found}.", "Correct or unset these variables.") from error
    except SettingsError as error:
        raise UsageError(
            f"The settings are wrong: {error}.", "Set single values: FINRAG_GROUP__NAME."
        ) from error


OTHER_VARIABLES = ("FINRAG_SCHEDULES", "FINRAG_DATA", "FINRAG_RECORDED_DATA")
"""Variables that are no settings: of the Dagster instance, of ``finrag reproduce``, of tests."""


def variables(model: type[BaseModel] = Settings, prefix: str = "FINRAG_") -> set[str]:
    """Environment variables of all settings and their groups; a name of the reader's choice is ``<NAME>``."""
    found: set[str] = set()
    for name, field in model.model_fields.items():
        variable, kind = f"{prefix}{name.upper()}", field.annotation
        found.add(variable)
        if get_origin(kind) is dict:
            variable, kind = f"{variable}__<NAME>", get_args(kind)[1]
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            found |= variables(kind, f"{variable}__")
    return found


def _pattern(variable: str) -> str:
    return variable.replace("<NAME>", ".+")


def _variable(location: tuple[int | str, ...]) -> str:
    return "FINRAG_" + "__".join(str(part).upper() for part in location)
