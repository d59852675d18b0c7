"""Pages before a question is asked: their profiles, and their sentences with vectors."""

import pyarrow as pa

from finrag_pipeline.orchestration.steps import Part, Step, table_asset


@table_asset()
def page_profiles(part: Part) -> Step:
    """What can be said of each page before a question is asked: section, headings, statements, concepts."""

    def make() -> pa.Table:
        from finrag_pipeline.rankers.page_ranker.profiles import page_profiles as profiles_of

        pages = part.read("filing_pages", ["page", "text", "word_count"])
        tables = part.read("page_tables", ["page", "table", "caption", "kind", "text"])
        return profiles_of(part.filing, pages, tables, part.read("statement_facts"))

    step = part.made(make)
    step.metadata = {"pages": step.rows}
    return step


@table_asset()
def page_sentences(part: Part) -> Step:
    """Sentences of each page with their vectors: the page ranker compares them with a question."""

    def make() -> pa.Table:
        from finrag_pipeline.rankers.page_ranker.page_sentences import page_sentences as sentences_of

        rows = part.read("filing_pages", ["filing", "page", "text", "needs_ocr"])
        return sentences_of(rows, part.run.encoder.embedder.embed)

    step = part.made(make)
    step.metadata = {"sentences": step.rows}
    return step
