"""The experiments of the papers as data: their tables, what each needs, and the rows that are run for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from finrag_pipeline.answering.systems import Method

Paper = Literal["page-scorer", "eval-rag", "financerag", "table-rag"]


@dataclass(frozen=True)
class PaperTable:
    """A table or figure of a paper, and the command that prints it.

    Attributes:
        needs: what it takes besides a processor: weights of the hub, a language model, a GPU.
        hours: on two cores without a GPU, after the filings are indexed; on a GPU where it needs one.
    """

    paper: Paper
    table: str
    needs: str
    hours: str
    command: str


_SCORER = "finrag reproduce page-scorer"
_KIM = "finrag reproduce financerag --data DATA"
_GUIDE = "finrag reproduce table-rag"
_HUB = "FINRAG_ENCODER__NAME=BAAI/bge-m3 finrag run --source FINANCEBENCH"
FULL_RECIPE = (
    "FINRAG_PAGE_SCORER__BASE=BAAI/bge-m3 FINRAG_PAGE_SCORER__TEXT=windows finrag train page_scorer "
    "&& finrag run --systems page_scorer"
)
"""The page scorer on whole pages with hard negatives; 15 epochs are the default."""

PAPER_TABLES: tuple[PaperTable, ...] = (
    PaperTable("page-scorer", "Table 3, corpus", "", "1", _SCORER),
    PaperTable("page-scorer", "Table 4 (English 1), retrieval, MiniLM", "", "2", _SCORER),
    PaperTable("page-scorer", "Table 4, BGE-M3, SPLADE, reranker", "hub, GPU", "1", _HUB),
    PaperTable("page-scorer", "Figure 2, Table 5, by type", "", "0", "finrag metrics --by doc_type"),
    PaperTable("page-scorer", "Table 6, generation", "language model", "1", "finrag answers"),
    PaperTable("page-scorer", "Table 9, P = 5, 10, 20", "", "5", f"finrag train page_scorer && {_SCORER}"),
    PaperTable("page-scorer", "Table 4, learned page scorer, full recipe", "hub, GPU", "1", FULL_RECIPE),
    PaperTable("eval-rag", "Table 2, relevance", "", "0", "finrag reproduce eval-rag --data DATA"),
    PaperTable("eval-rag", "Table 3, veracity (from its inputs)", "", "0", "finrag reproduce eval-rag"),
    PaperTable("eval-rag", "Figure 8, simulation", "", "0", "finrag reproduce eval-rag"),
    PaperTable("eval-rag", "Figures 3 and 4, rates and estimates", "", "0.1", "finrag judge"),
    PaperTable("financerag", "retrievers, hybrid, corpus as Markdown", "", "0.5", _KIM),
    PaperTable("financerag", "fine-tuned retriever, depth of reranking", "", "1", f"{_KIM} --train"),
    PaperTable("financerag", "fine-tuning as published", "hub, GPU", "1",
               f"FINRAG_PAGE_SCORER__BASE=NovaSearch/stella_en_400M_v5 {_KIM} --train"),
    PaperTable("financerag", "expansion, keywords, selection by a model", "language model", "0.5", _KIM),
    PaperTable("table-rag", "10, progression", "", "0.2", _GUIDE),
    PaperTable("table-rag", "12.1, detection of tables", "hub", "4",
               "FINRAG_TABLES__DETECTOR=tatr finrag run --source FINANCEBENCH"),
    PaperTable("table-rag", "12.2, statements: none, all, those needed", "", "0.1", _GUIDE),
    PaperTable("table-rag", "12.3, chain of thought against direct", "language model", "0.5", _GUIDE),
    PaperTable("table-rag", "12.4, filters: none, company, year, both", "", "0.1", _GUIDE),
    PaperTable("table-rag", "4, 5, chunking and scale on and off", "", "0.5",
               f"finrag index dense_contextual && {_GUIDE}"),
)  # fmt: skip


# Kobeissi & Langlais, Table 9: DocRec@5, PageRec@5, Max BLEU@5, Max ROUGE-L@5.
TABLE_9 = {
    "page_scorer_p5": (0.92, 0.48, 0.30, 0.44),
    "page_scorer_p10": (0.95, 0.48, 0.31, 0.44),
    "page_scorer": (0.95, 0.55, 0.33, 0.46),
}


@dataclass(frozen=True)
class Agreement:
    """A row of Martinon et al.'s Tables 2 and 3.

    Attributes:
        label: of the theme in the published file.
        chance: chance agreement of judge and people.
        observed: observed agreement.
        labels: human labels, worth ``effective`` with the judge's verdicts beside them.
        judged: verdicts of the judge.
    """

    theme: str
    label: str
    chance: float
    observed: float
    labels: int
    effective: float
    judged: int


TABLE_2 = (
    Agreement("Finance", "Financial", 0.62, 0.69, 29, 31.98, 791),
    Agreement("IT", "IT", 0.43, 0.50, 30, 30.04, 551),
    Agreement("HR", "HR", 0.61, 0.59, 29, 29.00, 325),
)
TABLE_3 = (
    Agreement("Finance", "Financial", 0.67, 0.79, 140, 155.59, 3985),
    Agreement("IT", "IT", 0.73, 0.80, 141, 141.57, 3799),
    Agreement("HR", "HR", 0.82, 0.88, 139, 162.36, 2408),
)
HUMAN_VERACITY, JUDGE_BIAS = (0.80, 0.88), 0.06
"""What the text says of Table 3: shares of true sentences by people, and how far the judge is at most."""

SIMULATED = (0.68, 0.80, 0.85, 0.90, 0.93, 0.94, 0.97)
"""Agreements of Figure 8; at 0.68 two series of mean 0.8 agree by chance."""


class Corpus(NamedTuple):
    """Files of a corpus with judgements, below the folder of the data."""

    documents: str
    queries: str
    qrels: str


CORPORA = {
    name: Corpus(documents, f"financerag/{name}_queries.jsonl", f"financerag/{name}_qrels.tsv")
    for name, documents in {
        "FinQA": "finqa/finqa_corpus.jsonl.gz",
        "TATQA": "tatqa/tatqa_corpus.jsonl.gz",
        "ConvFinQA": "financerag/ConvFinQA_corpus.jsonl.gz",
        "FinQABench": "financerag/FinQABench_corpus.jsonl",
    }.items()
}
"""Sets of the competition whose documents are public; FinDER and MultiHiertt are not."""


@dataclass(frozen=True)
class DocumentRow:
    """A system of the registry over corpora of documents.

    Attributes:
        form: how documents are written (`chunking.restructure.RESTRUCTURED`).
        tuned: with the encoder that is tuned here.
        reranker: with the cross-encoder that is trained here.
        alpha: weight of the dense score: ``nested``: best for the other folds; ``best``: best for the queries
            that are measured, as the paper chooses it.
        published: NDCG@10 of the paper's counterpart, on other sets and with other models.
    """

    name: str
    system: str
    form: str = ""
    tuned: bool = False
    reranker: bool = False
    alpha: float | Literal["nested", "best"] | None = None
    published: float | None = None


_ALPHA = "hybrid_alpha"
FINANCERAG: tuple[DocumentRow, ...] = (
    DocumentRow("dense", "dense", published=0.32178),
    DocumentRow("bm25", "bm25"),
    DocumentRow("hybrid, ranks fused", "hybrid_rrf"),
    *(DocumentRow(f"hybrid, α = {alpha}", _ALPHA, alpha=alpha) for alpha in (0.25, 0.5, 0.75)),
    DocumentRow("hybrid, α nested", _ALPHA, alpha="nested"),
    DocumentRow("hybrid, α of the same queries", _ALPHA, alpha="best"),
    DocumentRow("query: short forms spelled out", "query_expansion"),
    DocumentRow("query: keywords by rule", "dense_keywords"),
    DocumentRow("query: keywords by a model", "dense_llm_keywords"),
    DocumentRow("query: expanded by a model", "dense_llm_expansion"),
    DocumentRow("corpus as Markdown", "dense", form="markdown", published=0.48645),
    DocumentRow("corpus with sentences for cells", "dense", form="sentences", published=0.45411),
    DocumentRow("tuned", "dense", tuned=True, published=0.50864),
    DocumentRow("tuned, corpus as Markdown", "dense", form="markdown", tuned=True),
    DocumentRow("tuned, hybrid, α nested", _ALPHA, tuned=True, alpha="nested"),
    *(
        DocumentRow(f"tuned, reranked to {depth}", f"dense_rerank{suffix}", tuned=True, reranker=True)
        for depth, suffix in ((5, "_5"), (10, "_10"), (20, ""), (50, "_50"))
    ),
    DocumentRow("reranked to 20 by the papers' reranker", "dense_rerank"),
    DocumentRow("selected by a language model", "document_selection"),
)


@dataclass(frozen=True)
class Step:
    """A retrieval system of the registry, and a reader of its pages alone.

    Attributes:
        method: how it answers; ``calculator`` reads tables, ``extractive`` quotes text.
        scaled: values in full units; else as printed.
        published: accuracy in the guide, on 150 questions, by another reader.
    """

    name: str
    retrieval: str
    method: Method = "calculator"
    scaled: bool = True
    published: float | None = None


GUIDE: dict[str, tuple[Step, ...] | dict[str, str]] = {
    # Each step is added to the one before; the guide's last figure is a target.
    "Progression: each step added": (
        Step("text of the nearest chunks", "dense", "extractive", published=0.25),
        Step("+ tables, values as printed", "dense", scaled=False, published=0.32),
        Step("+ scale", "dense", published=0.38),
        Step("+ company and year as filters", "filtered_dense", published=0.413),
        Step("+ statements that are needed", "statement_aware", published=0.50),
        Step("finrag: resolver and page ranker", "finrag"),
    ),
    "Filters (12.4)": {
        "none": "dense",
        "company": "filtered_company",
        "year": "filtered_year",
        "company and year": "filtered_dense",
    },
    "Statements (12.2)": {
        "semantic only": "statement_none",
        "all statements": "statement_all",
        "statements needed": "statement_aware",
    },
    "Chain of thought against direct (12.3)": (
        Step("direct", "statement_aware", "prompt", published=0.60),
        Step("chain of thought", "statement_aware", "cot", published=0.769),
    ),
    "Scale normalisation (5)": (
        Step("as printed", "statement_aware", scaled=False),
        Step("in full units", "statement_aware"),
    ),
    "Chunking (4), one chunk a page": {
        "BM25, fixed": "bm25_pages",
        "BM25, context-aware": "bm25_contextual_pages",
        "dense, fixed": "dense_pages",
        "dense, context-aware": "dense_contextual_pages",
    },
}
"""Tables of the guide: readers that answer, or retrieval systems by name of the row."""
