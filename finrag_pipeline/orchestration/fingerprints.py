"""What each asset's partition should have been made from: the fingerprints to compare the lake with.

Used by the assets to skip work, and by the command line to know what is stale without running anything.
"""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from finrag_pipeline.chunking import CONTEXTUAL_VERSION
from finrag_pipeline.chunking.fixed import CHUNKING_VERSION
from finrag_pipeline.chunking.parent_child import CHILDREN, PARENT_CHILD_VERSION, PARENTS
from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.embedding.model_files import tokenizer_fingerprint
from finrag_pipeline.embedding.windows import WINDOWS_VERSION
from finrag_pipeline.evaluation.retrieval_metrics import METRICS_VERSION
from finrag_pipeline.filings import IDENTITY_VERSION
from finrag_pipeline.filings.intake import FilingSource
from finrag_pipeline.filings.pages import reader_version
from finrag_pipeline.rankers.page_ranker import PROFILES_VERSION, SENTENCES_VERSION
from finrag_pipeline.retrieval.alpha import ALPHA_VERSION, GRID
from finrag_pipeline.retrieval.component import Inputs
from finrag_pipeline.retrieval.system import RetrievalSystem
from finrag_pipeline.settings import Settings
from finrag_pipeline.statements import FACTS_VERSION
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.tables import TABLES_VERSION


def filings_fingerprint(source: FilingSource) -> str:
    """Fingerprint of a row of ``filings``."""
    return fingerprint(
        "filings",
        IDENTITY_VERSION,
        reader_version(),
        source.sha256,
        source.file_name,
        source.document_information,
    )


def pages_fingerprint(source: FilingSource) -> str:
    """Fingerprint of a part of ``filing_pages``."""
    return fingerprint("filing_pages", reader_version(), source.sha256, source.source)


def chunks_fingerprint(pages: str, settings: Settings) -> str:
    """Fingerprint of a part of ``filing_chunks`` made from pages with the fingerprint ``pages``."""
    return fingerprint(
        "filing_chunks", CHUNKING_VERSION, pages, settings.chunks, tokenizer_fingerprint(settings.encoder)
    )


def tables_fingerprint(pages: str, filing: Mapping[str, Any], settings: Settings) -> str:
    """Fingerprint of a part of ``page_tables`` made from pages with the fingerprint ``pages``."""
    from finrag_pipeline.tables.words.detector import WordsDetector

    return fingerprint(
        "page_tables", TABLES_VERSION, WordsDetector.version, pages, _identity(filing), settings.tables
    )


def profiles_fingerprint(parts: Mapping[str, str], filing: Mapping[str, Any]) -> str:
    """Fingerprint of a part of ``page_profiles`` made from parts with these fingerprints, by asset."""
    return fingerprint("page_profiles", PROFILES_VERSION, dict(sorted(parts.items())), _identity(filing))


def sentences_fingerprint(pages: str, encoder: Encoder) -> str:
    """Fingerprint of a part of ``page_sentences`` made from pages with the fingerprint ``pages``."""
    return fingerprint("page_sentences", SENTENCES_VERSION, pages, encoder.fingerprint)


def facts_fingerprint(tables: str, filing: Mapping[str, Any]) -> str:
    """Fingerprint of a part of ``statement_facts`` made from tables with the fingerprint ``tables``."""
    return fingerprint("statement_facts", FACTS_VERSION, tables, _identity(filing))


def contextual_fingerprint(pages: str, tables: str, filing: Mapping[str, Any], settings: Settings) -> str:
    """Fingerprint of a part of ``contextual_chunks`` made from these pages and tables."""
    return fingerprint(
        "contextual_chunks",
        CONTEXTUAL_VERSION,
        pages,
        tables,
        _identity(filing),
        settings.contextual_chunks,
        tokenizer_fingerprint(settings.encoder),
    )


def _identity(filing: Mapping[str, Any]) -> list[Any]:
    names = ("filing", "company", "declared_company", "form", "fiscal_year", "fiscal_quarter", "period_end")
    return [str(filing[name]) for name in names]


def index_fingerprint(chunks: str, encoder: Encoder) -> str:
    """Fingerprint of a filing's rows in ``chunk_index`` made from chunks with the fingerprint ``chunks``."""
    return fingerprint("chunk_index", WINDOWS_VERSION, chunks, encoder.fingerprint, encoder.settings.pooling)


def parent_child_fingerprint(pages: str, settings: Settings) -> str:
    """Fingerprint of a part of ``parent_child_chunks`` made from pages with the fingerprint ``pages``."""
    return fingerprint(
        "parent_child_chunks",
        PARENT_CHILD_VERSION,
        pages,
        PARENTS,
        CHILDREN,
        tokenizer_fingerprint(settings.encoder),
    )


def runs_fingerprint(system: RetrievalSystem, inputs: Inputs, questions: pa.Table) -> str:
    """Fingerprint of a part of ``retrieval_runs``: a system on the questions of a fold.

    Args:
        system: what is run.
        inputs: chunks, encoder, models, and what was learned without the questions.
        questions: rows of ``benchmark_questions`` of the fold.

    Raises:
        ModelError: a model that the system needs cannot be had.
    """
    asked = [questions[column].to_pylist() for column in _ASKED]
    return fingerprint("retrieval_runs", system.fingerprint(inputs), asked)


def alpha_sweep_fingerprint(system: RetrievalSystem, inputs: Inputs, questions: pa.Table) -> str:
    """Fingerprint of ``hybrid_alpha_sweep`` over these questions."""
    asked = [questions[column].to_pylist() for column in _ASKED]
    return fingerprint("hybrid_alpha_sweep", ALPHA_VERSION, GRID, system.fingerprint(inputs), asked)


_ASKED = ("question_id", "question", "filing", "gold_pages")


def scores_fingerprint(runs: str, questions: pa.Table) -> str:
    """Fingerprint of a part of ``retrieval_scores`` made from runs with the fingerprint ``runs``."""
    gold = [questions[column].to_pylist() for column in ("question_id", "evidence", "gold_pages", "filing")]
    return fingerprint("retrieval_scores", METRICS_VERSION, runs, gold)
