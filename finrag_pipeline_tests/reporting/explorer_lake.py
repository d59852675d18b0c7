"""A small lake for the question explorer: two filings, six questions, four systems, and something odd each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from finrag_pipeline.evaluation.answer_metrics import RIGHT
from finrag_pipeline.filings.describe import describe_filing
from finrag_pipeline.filings.intake import accept
from finrag_pipeline.filings.originals import original_path
from finrag_pipeline.filings.pages import read_page_text
from finrag_pipeline.filings.pdf import read_pages
from finrag_pipeline.rankers.page_ranker.profiles import page_profiles
from finrag_pipeline.schemas import TABLES
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.reporting.builders import HOSTILE, question_row
from finrag_pipeline_tests.small_filings import texts, write_lines, write_pdf

PDF, TEXT = "ALDER_2021_10K", "BIRCH_2021_10K"
FILINGS = (PDF, TEXT)
PAGES = 5
SYSTEMS = ("finrag", "dense", "bm25", "dense_pages")
HOSTILE_ID = '../</script><script>alert("id")</script>?#ID 1'
EVIDENCE = "The revenue of division 2 was $221 million"

_EMPTY: dict[str, Any] = {}


def rows_table(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    """Rows as the table ``name``; columns that are not given are null, empty, false or zero."""
    schema = TABLES[name]

    def default(field: pa.Field) -> Any:
        if field.nullable:
            return None
        if pa.types.is_list(field.type):
            return []
        if pa.types.is_boolean(field.type):
            return False
        return "" if pa.types.is_string(field.type) else 0

    full = [{field.name: row.get(field.name, default(field)) for field in schema} for row in rows]
    return pa.Table.from_pylist(full, schema)


def questions() -> list[dict[str, Any]]:
    """A metrics question, a narrative one, one on a text-only filing, hostile ones, and an excluded one."""

    def evidence(filing: str, page: int, text: str) -> list[dict[str, Any]]:
        return [{"filing": filing, "page": page, "text": text}]

    return [
        question_row(
            "q_metrics",
            PDF,
            question="What was the revenue of division 2 of Alder Corp in FY2021?",
            answer="$221 million",
            justification="Stated in the text.",
            question_type="metrics-generated",
            company="Alder",
            gold_pages=[2],
            evidence=evidence(PDF, 2, EVIDENCE),
        ),
        question_row(
            "q_two_pages",
            PDF,
            question="Why did capital expenditure rise?",
            answer="Warehouses of two kinds.",
            question_type="novel-generated",
            company="Alder",
            gold_pages=[1, 3],
            evidence=evidence(PDF, 1, "Its capital expenditure on warehouses of kind 1"),
        ),
        question_row(
            "q_text",
            TEXT,
            question="What was the revenue of division 2 of Birch Inc in FY2021?",
            answer="$221 million",
            question_type="metrics-generated",
            company="Birch",
            gold_pages=[2],
            evidence=evidence(TEXT, 2, EVIDENCE),
        ),
        question_row(
            HOSTILE_ID,
            PDF,
            question=f"{HOSTILE} {'very long ' * 300}",
            answer=HOSTILE,
            justification=HOSTILE,
            question_type=HOSTILE,
            company=HOSTILE,
            gold_pages=[2, 77],
            evidence=evidence(PDF, 2, HOSTILE),
        ),
        question_row(
            "Q_METRICS",
            PDF,
            question="Does the same identifier in capitals have a page of its own?",
            company="Alder",
            gold_pages=[],
            evidence=[],
        ),
        question_row(
            "q_excluded",
            "GONE_2020_10K",
            company="Gone",
            question="What became of the filing?",
            gold_pages=[3],
            evidence=evidence("GONE_2020_10K", 3, "gone"),
            status="excluded",
            problem="gold filing 'GONE_2020_10K' could not be read",
        ),
    ]


def write_filings(lake: Lake, inbox: Path) -> None:
    """Both filings with pages, chunks, profiles, and a table with a fact on page 3 of the PDF."""
    contents = {PDF: texts("Alder Corp", 2021, PAGES), TEXT: texts("Birch Inc", 2021, PAGES)}
    write_pdf(inbox / f"{PDF}.pdf", contents[PDF])
    write_lines(
        inbox / f"{TEXT}.jsonl",
        [{"doc": TEXT, "page": n, "text": text} for n, text in enumerate(contents[TEXT])],
    )
    for path in sorted(inbox.iterdir()):
        source = accept(lake, path)
        keys = {"filing": source.filing}
        original = Path(original_path(lake, source))
        pages = (
            read_pages(original, source.filing, 0, PAGES)
            if source.source == "pdf"
            else read_page_text(original, source.filing)
        )
        row = describe_filing(original, source).to_pylist()[0] | {"form": "10-K", "fiscal_year": 2021}
        lake.write("filings", pa.Table.from_pylist([row], TABLES["filings"]), "row", keys)
        lake.write("filing_pages", pages, "pages", keys)
        cells, facts = _figures(source.filing)
        lake.write("page_tables", cells, "cells", keys)
        lake.write("statement_facts", facts, "facts", keys)
        lake.write("page_profiles", page_profiles(row, pages, cells, facts), "profiles", keys)
        chunks = [
            {"chunk_id": f"{source.filing}/p{page}/c0", "filing": source.filing, "page": page, "text": text}
            for page, text in enumerate(contents[source.filing])
        ]
        lake.write("filing_chunks", rows_table("filing_chunks", chunks), "chunks", keys)


def _figures(filing: str) -> tuple[pa.Table, pa.Table]:
    box = {"x0": 60.0, "y0": 80.0, "x1": 120.0, "y1": 95.0} if filing == PDF else _EMPTY
    cell = {"filing": filing, "page": 2, "table": 0, "row": 1, "column": 1, "text": "221", "kind": "number",
            "value": 221e6, **box}  # fmt: skip
    header = {**cell, "row": 0, "text": "2021", "kind": "header", "header": True, "value": None}
    odd = {**cell, "row": 2, "text": "2?1", "value": None, "reason": "unreadable characters"}
    fact = {"fact_id": f"{filing}:2:0:1:1", "filing": filing, "page": 2, "statement": "income_statement",
            "scope": "primary", "concept": "Revenues", "line": "Revenues", "label": "Revenue", "printed": "221", "value": 221e6,
            "fiscal_year": 2021, **box}  # fmt: skip
    return rows_table("page_tables", [cell, header, odd]), rows_table("statement_facts", [fact])


def write_runs(lake: Lake) -> None:
    """Rankings of every system: `finrag` puts the gold pages first, `dense` last, `bm25` finds half of them."""
    for system in SYSTEMS:
        runs, scores = [], []
        for space in ("corpus", "filing"):
            for row in questions():
                if row["status"] != "measured" or not row["gold_pages"]:
                    continue
                gold = [(row["filing"], page) for page in row["gold_pages"] if page < PAGES]
                others = [
                    (f, n) for f in (row["filing"], TEXT, PDF) for n in range(PAGES) if (f, n) not in gold
                ]
                order = {
                    "finrag": [*gold, *others],
                    "dense": [*others, *gold],
                    "bm25": [*gold[:1], *others, *gold[1:]],
                }.get(system, [*others[:3], *gold])
                order = list(dict.fromkeys(order))[:100]
                key = {"system": system, "space": space, "question_id": row["question_id"]}
                runs += [
                    {
                        **key,
                        "rank": rank,
                        "chunk_id": f"{filing}/p{page}/c0",
                        "filing": filing,
                        "page": page,
                        "score": 1 / rank,
                    }
                    for rank, (filing, page) in enumerate(order, start=1)
                ]
                first = order[:5]
                share = sum(place in first for place in gold) / len(row["gold_pages"])
                document = float(any(filing == row["filing"] for filing, _ in first))
                scores += [
                    {**key, "metric": "doc_rec", "k": 5, "value": document},
                    {**key, "metric": "page_rec", "k": 5, "value": share},
                ]
        keys = {"system": system, "fold": "fold_0"}
        lake.write("retrieval_runs", rows_table("retrieval_runs", runs), "runs", keys)
        lake.write("retrieval_scores", rows_table("retrieval_scores", scores), "scores", keys)


def derivation() -> dict[str, Any]:
    """As a calculator stores it."""
    one = {
        "line": "Revenue", "label": "Revenue of division 2", "period": "FY2021", "filing": PDF, "page": 2,
        "printed": "221", "scale": 1e6, "value": 221e6, "box": [60.0, 80.0, 120.0, 95.0],
        "fact_id": f"{PDF}:2:0:1:1",
    }  # fmt: skip
    return {
        "answer": "$221 million",
        "formula": "revenue@2021",
        "steps": ["Revenue FY2021 = 221 million"],
        "inputs": [one],
        "alternatives": [{"what": "Revenue of all divisions", "answer": "$884 million", "why": "as well"}],
        "series": [
            {"label": "FY2021", "answer": "$221 million", "value": 221e6},
            {"label": "odd", "value": None},
        ],
        "abstained": False,
    }


def write_answers(lake: Lake) -> None:
    """A calculator that is right, an extractive answer, three repeats of a model, and recorded answers."""
    base = {"retrieval": "finrag", "space": "corpus", "repeat": 0}
    right = {**base, "question_id": "q_metrics", "system": "calculator", "answer": "$221 million",
             "derivation": json.dumps(derivation()), "formula": "revenue@2021"}  # fmt: skip
    quoted = {
        **base,
        "question_id": "q_two_pages",
        "system": "extractive",
        "answer": f"“Warehouses.” {HOSTILE}",
        "citations": json.dumps(
            [{"text": "Warehouses.", "sources": [f"{PDF}/p1/c0"], "unknown": [], "supported": True}]
        ),
        "why": "it was quoted",
    }
    wrong = {**base, "question_id": "q_text", "system": "calculator", "answer": "$999 million"}
    damaged = {**base, "question_id": HOSTILE_ID, "system": "calculator", "answer": HOSTILE,
               "derivation": "{not json", "citations": "[[[", "warnings": [HOSTILE]}  # fmt: skip
    parts: dict[str, list[dict[str, Any]]] = {
        "calculator": [right, wrong, damaged],
        "extractive": [quoted],
        "prompt": [
            {**base, "question_id": "q_metrics", "system": "prompt", "repeat": n, "answer": f"Answer {n}",
             "abstained": n == 2, "model": "a-model"} for n in range(3)
        ],
    }  # fmt: skip
    for system, rows in parts.items():
        lake.write("answers", rows_table("answers", rows), "answers", {"system": system, "fold": "fold_0"})
    recorded = [
        {"question_id": row["question_id"], "system": "recorded some-model_closedBook", "answer": "It says 7.",
         "human_label": "incorrect"} for row in questions()[:2]
    ]  # fmt: skip
    lake.write(
        "answers", rows_table("answers", recorded), "answers", {"system": "recorded", "fold": "recorded"}
    )
    scored = [(right, 1.0), (wrong, 0.0)]
    scores = [{**row, "metric": RIGHT, "value": value} for row, value in scored]
    scores += [{**right, "metric": "rouge_l", "value": 0.25}]
    lake.write(
        "answer_scores",
        rows_table("answer_scores", scores),
        "scores",
        {"system": "calculator", "fold": "fold_0"},
    )


def write_gap(lake: Lake) -> None:
    """`dense` loses the page, with two failure modes; `finrag` loses nothing, and its calculator the answer."""
    lost = {"retrieval": "dense", "space": "corpus", "level": "page", "labels": ["wrong_year", "lexical_gap"],
            "why": "page 3 is missing", "filing": PDF, "page": 2}  # fmt: skip
    kept = {"retrieval": "finrag", "space": "corpus", "level": "none", "labels": [], "why": "nothing is lost"}
    rows = [
        {**loss, "question_id": name}
        for name in ("q_metrics", "q_two_pages", "q_text")
        for loss in (lost, kept)
    ]
    rows.append(
        {**kept, "question_id": "q_text", "answering": "calculator", "level": "generation",
         "labels": ["invented_number"], "why": f"the answer is wrong {HOSTILE}"}
    )  # fmt: skip
    rows.append({**lost, "question_id": "q_text", "retrieval": "bm25", "level": "chunk", "labels": []})
    lake.write("retrieval_gap", rows_table("retrieval_gap", rows), "gap")


def write_explorer_lake(settings: Settings, inbox: Path) -> Lake:
    """All of it."""
    lake = Lake(settings.lake)
    write_filings(lake, inbox)
    lake.write("benchmark_questions", rows_table("benchmark_questions", questions()), "questions")
    write_runs(lake)
    write_answers(lake)
    write_gap(lake)
    return lake
