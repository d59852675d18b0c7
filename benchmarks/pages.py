"""Reading pages: against a bare PyMuPDF loop, and two workers against one."""

from __future__ import annotations

import time
from pathlib import Path

from benchmarks import arguments, paired, rate
from finrag_pipeline.engine import Engine
from finrag_pipeline.filings.originals import filing_files
from finrag_pipeline.filings.pages import extract_pages, page_ranges
from finrag_pipeline.filings.pdf import inspect_pdf, read_pages


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("folder", type=Path, help="folder of PDFs")
    parser.add_argument("--files", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    files = [path for path in filing_files(options.folder) if path.suffix.lower() == ".pdf"]
    files = files[:: max(1, len(files) // options.files)][: options.files]

    def bare() -> int:
        import pymupdf

        pages = 0
        for path in files:
            with pymupdf.open(path) as document:
                for page in document:
                    page.get_text("words")
                    pages += 1
        return pages

    def ours() -> int:
        pages = 0
        for path in files:
            for start, stop in page_ranges(inspect_pdf(path).pages, workers=1):
                pages += read_pages(path, path.stem, start, stop).num_rows
        return pages

    # CPU time of this process: what else the machine does must not enter a per-process ratio.
    paired(
        "pages per process (text, words with boxes, counts, as Arrow) / bare get_text('words')",
        rate(ours, time.process_time),
        rate(bare, time.process_time),
        options.rounds,
        "pages per CPU second",
    )
    one, two = Engine(1, 600), Engine(2, 600)

    def through(engine: Engine) -> int:
        return sum(extract_pages(path, path.stem, "pdf", engine).num_rows for path in files)

    both = rate(lambda: through(two)), rate(lambda: through(one))
    paired("two workers / one", *both, options.rounds, "pages per second")
    one.close()
    two.close()


if __name__ == "__main__":
    main()
