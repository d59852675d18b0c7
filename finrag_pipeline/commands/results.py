"""The commands that measure and show it: metrics, export-run, evaluate, report, reproduce and tables."""

from __future__ import annotations

import sys
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.table import Table

from finrag_pipeline.commands.console import (
    Json,
    announce,
    app,
    current_lake,
    current_settings,
    hint,
    interval,
    note,
    out,
    plain,
    print_json,
    print_rows,
    print_table,
)
from finrag_pipeline.errors import LakeError, UsageError
from finrag_pipeline.settings import REPOSITORY, Settings


@app.command()
def metrics(
    by: Annotated[
        str | None, typer.Option(help="Slice: question_type, kind, doc_type, company or source.")
    ] = None,
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="All results as one Markdown page, such as docs/results.md.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show the metrics of the active benchmark, with intervals."""
    from finrag_pipeline.evaluation.summary import metrics_records
    from finrag_pipeline.services.results import metrics_table

    lake = current_lake()
    if as_markdown:
        if by or as_json:
            raise UsageError("--markdown writes all results.", "Leave out --by and --json beside it.")
        from finrag_pipeline.reporting.results_page import results_markdown

        sys.stdout.write(results_markdown(lake, current_settings()))
    elif as_json:
        print_json(metrics_records(metrics_table(lake, by)))
    else:
        print_metrics(metrics_table(lake, by), by)


HEADLINE = (("doc_rec", 5), ("page_rec", 5), ("max_rouge_l", 5), ("ndcg", 10), ("mrr", 0))


def print_metrics(table: Any, by: str | None, oracles: bool = True) -> None:
    """Print rows of ``system_metrics``, by a slice or over all questions."""
    from finrag_pipeline.retrieval.systems import ABLATIONS

    # The variants stand in the report, and in --json.
    rows = [
        row
        for row in table.to_pylist()
        if row["slice"] == (by or "all")
        and row["system"] not in ABLATIONS
        and (oracles or row["space"] == "corpus")
    ]
    cells = {(r["slice_value"], r["space"], r["system"], r["metric"], r["k"]): r for r in rows}
    order = {"corpus": 0, "filing": 1, "pages": 2}
    groups = dict.fromkeys((r["slice_value"], r["space"], r["system"]) for r in rows)
    grid = Table(title=f"Metrics by {by}" if by else "Metrics: mean [95 % interval over documents]")
    names = [f"{metric}@{k}" if k else metric for metric, k in HEADLINE]
    for column in [*([by] if by else []), "space", "system", "n", *names]:
        grid.add_column(column, no_wrap=True)
    for value, space, system in sorted(groups, key=lambda g: (g[0], order.get(g[1], 9))):
        found = [cells.get((value, space, system, metric, k)) for metric, k in HEADLINE]
        n = next((str(cell["n"]) for cell in found if cell), "")
        grid.add_row(*([plain(value)] if by else []), space, system, n, *map(_dimmed, found))
    print_table(grid)
    for sentence in fewer_questions(rows):
        out.print(f"[yellow]{plain(sentence)}[/yellow]", soft_wrap=True)


def fewer_questions(rows: list[dict[str, Any]]) -> list[str]:
    """What people must know of systems that were measured over fewer questions than others."""
    counts: dict[tuple[str, str], dict[str, int]] = {}
    for row in rows:
        by_system = counts.setdefault((row["slice_value"], row["space"]), {})
        by_system[row["system"]] = max(row["n"], by_system.get(row["system"], 0))
    told = {
        f"{name} was measured on {count} of {max(found.values())} questions only: do not compare it.": None
        for found in counts.values()
        for name, count in found.items()
        if count < max(found.values())
    }
    return list(told)


def _dimmed(cell: dict[str, Any] | None) -> str:
    value, _, ends = (interval(cell["mean"], cell["low"], cell["high"]) if cell else "").partition(" ")
    return f"{value} [dim]{plain(ends)}[/dim]" if ends else value


@app.command(name="export-run")
def export_run(
    system: Annotated[str, typer.Argument(help="Retrieval system.")],
    space: Annotated[str, typer.Option(help="corpus, filing or pages.")] = "corpus",
    level: Annotated[Literal["chunk", "page"], typer.Option(help="What a document is.")] = "chunk",
    cut: Annotated[int | None, typer.Option("-k", min=1, help="Cut rankings at k chunks.")] = None,
    output_format: Annotated[Literal["trec"], typer.Option("--format", help="File format.")] = "trec",
    to: Annotated[Path, typer.Option(help="Folder to write into.")] = Path(),
    as_json: Json = False,
) -> None:
    """Write a system's rankings and the gold labels for other evaluators (trec_eval, ranx, ir_measures)."""
    from finrag_pipeline.services.results import write_trec

    run_path, qrels_path = write_trec(current_lake(), system, space, level, cut, to)
    if as_json:
        print_json({"run": str(run_path), "qrels": str(qrels_path), "format": output_format})
    else:
        out.print(f"{run_path}\n{qrels_path}", soft_wrap=True)


@app.command()
def evaluate(
    questions: Annotated[
        Path,
        typer.Option(
            help="Questions: CSV or JSON Lines with question and, where known, answer, filing and page; "
            "FinanceBench's JSON Lines; or a folder in BEIR's format, which brings its documents "
            "(corpus.jsonl, queries.jsonl, qrels/test.tsv)."
        ),
    ],
    systems: Annotated[
        list[str] | None,
        typer.Option(help="Retrieval system; may be repeated."),
    ] = None,
    chunking: Annotated[
        str | None,
        typer.Option(help="Run each system also on this chunking."),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(help="Run each system also with this encoder: hub name or folder."),
    ] = None,
    reranker: Annotated[
        str | None,
        typer.Option(help="Run each system also with this reranker: hub name or folder."),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option("--report", help="Write a page of it, every question with its answers: FILE.html."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Score questions of a file over the filings of the lake; nothing is trained."""
    parts = {"chunking": chunking, "encoder": encoder, "reranker": reranker}
    changes = {name: given for name, given in parts.items() if given is not None}
    if questions.is_dir():
        _over_documents(questions, systems or ["bm25"], changes, as_json)
        return
    from finrag_pipeline.reporting.evaluation_page import remarks, write_evaluation
    from finrag_pipeline.services.evaluate import evaluate as score

    done = score(current_settings(), questions, systems or [], changes=changes)
    if page:
        write_evaluation(questions.name, vars(done), page)
    if as_json:
        print_json(vars(done))
        return
    for remark in remarks(vars(done)):
        note(remark)
    rows = [
        {
            "system": row["system"],
            "questions": f"{row['slice']} {row['slice_value']}" if row["slice"] != "all" else "all",
            "metric": f"{row['metric']}@{row['k']}" if row["k"] else row["metric"],
            "value": interval(row["mean"], row["low"], row["high"]),
            "n": str(row["n"]),
        }
        for row in [*done.metrics, *done.answer_metrics]
        if row["slice"] in (("all",) if done.columns else ("all", "question_type", "doc_type"))
    ]
    columns = ["system", "questions", "metric", "value", "n"]
    if rows:
        print_rows("Evaluation: mean [95 % interval over documents]", columns, rows)
    elif not page:
        shown = [{**row, "answer": "–" if row["abstained"] else row["answer"]} for row in done.answers]
        print_rows("Answers", ["question_id", "system", "answer"], shown)
    for one in done.comparisons:
        difference = interval(one["difference"], one["low"], one["high"])
        out.print(plain(f"{one['system']} minus {one['baseline']}: PageRec@5 {difference}"))
    if page:
        out.print(f"Page: {page}", markup=False, soft_wrap=True)
    hint(f"{done.questions} questions, {done.seconds:.1f} s")


def _over_documents(folder: Path, systems: list[str], changes: dict[str, str], as_json: bool) -> None:
    from finrag_pipeline.services.beir import evaluate_documents

    done = evaluate_documents(current_settings(), folder, systems, changes)
    if as_json:
        print_json(done)
        return
    for name, reason in done["not_run"].items():
        note(f"{name} was not run: {reason}")
    rows = [{**row, "value": interval(row["mean"], row["low"], row["high"])} for row in done["metrics"]]
    title = f"{folder.resolve().name}: mean [95 % interval over relevant documents]"
    print_rows(title, ["system", "metric", "value", "n"], rows)
    hint(f"{done['queries']} queries, {done['documents']} documents")


def rewrite_report(settings: Settings) -> str:
    """Write the report of the active benchmark and the warehouse, and nothing else; the report's first page.

    Raises:
        LakeError: the lake holds no benchmark.
    """
    from finrag_pipeline.orchestration.instance import open_materialiser
    from finrag_pipeline.storage.lake import Lake

    lake = Lake(settings.lake).required()
    if lake.info("benchmark_questions") is None:
        raise LakeError("The lake holds no benchmark to report on.", "Run 'finrag run' first.")
    with open_materialiser(settings) as materialiser:
        materialiser.run_or_raise("publish", assets=["warehouse", "report"])
    return lake.uri("report", "index.html")


@app.command()
def report(as_json: Json = False) -> None:
    """Write report and warehouse from what the lake holds, run nothing else, and print the report's path."""
    path = rewrite_report(current_settings())
    if as_json:
        print_json({"report": path})
    else:
        out.print(path, markup=False, soft_wrap=True)


@app.command()
def reproduce(
    paper: Annotated[
        Literal["page-scorer", "eval-rag", "financerag", "table-rag"] | None,
        typer.Argument(help="The paper; every table with what it needs when absent."),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(envvar="FINRAG_DATA", help="Folder of public data: eval_rag, financerag, finqa, …"),
    ] = None,
    documents: Annotated[
        int | None,
        typer.Option(min=1, help="Documents of each corpus of FinanceRAG at most; drawn by the seed."),
    ] = None,
    queries: Annotated[
        int | None,
        typer.Option(min=1, help="Queries of each corpus of FinanceRAG at most; drawn by the seed."),
    ] = None,
    train: Annotated[
        bool, typer.Option("--train", help="Train the encoder and the reranker of FinanceRAG's rows.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Print the tables of a paper, published figures beside those of this lake; see docs/reproduce.md."""
    if paper is None:
        from finrag_pipeline.services.experiments import PAPER_TABLES
        from finrag_pipeline.services.reproduce import Printed

        tables = [Printed("Tables of the papers", [asdict(table) for table in PAPER_TABLES])]
    else:
        from finrag_pipeline.services.reproduce import Options
        from finrag_pipeline.services.reproduce import reproduce as run

        tell = announce(as_json)
        tables = run(paper, Options(current_settings(), data, documents, queries, train, tell))
    if as_json:
        print_json([asdict(table) for table in tables])
        return
    sys.stdout.write("\n".join(table.markdown() for table in tables))


_LABELS = REPOSITORY / "finrag_pipeline_tests" / "golden" / "table_labels.jsonl"


@app.command()
def tables(
    detector: Annotated[str, typer.Option(help="words, pymupdf or tatr; several with commas.")] = "words",
    pdfs: Annotated[
        Path | None,
        typer.Option(help="Folder of the PDFs of the labelled pages, FILING.pdf."),
    ] = None,
    labels: Annotated[Path, typer.Option(help="Labelled pages, one JSON object per line.")] = _LABELS,
    ixbrl: Annotated[
        Path | None,
        typer.Option(help="Folder of filings in inline XBRL: printed to PDF, and scored by their tags."),
    ] = None,
) -> None:
    """Score detectors of tables on labelled pages, and on filings in inline XBRL."""
    from finrag_pipeline.tables.extract import detector_problem

    if not (REPOSITORY / "benchmarks").is_dir():
        raise UsageError("The benchmarks are not installed.", "Run it in a clone of the repository.")
    for name in detector.split(","):
        if problem := detector_problem(name, current_settings().tables):
            raise UsageError(f"The detector {name} cannot run: {problem}", problem.command)
    given = {"--pdfs": pdfs, "--labels": labels if pdfs else None, "--ixbrl": ixbrl}
    paths = [part for option, path in given.items() if path for part in (option, str(path.absolute()))]
    if not paths:
        raise UsageError("There is nothing to score on.", "Give --pdfs, --ixbrl, or both.")
    sys.path.insert(0, str(REPOSITORY))
    import_module("benchmarks.tables").main(["--detector", detector, *paths])
