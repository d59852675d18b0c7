"""Typical texts for quantising an encoder: windows of the sample filings, the same on every machine."""

from __future__ import annotations

import tempfile
from pathlib import Path

CALIBRATION_TEXTS = 128


def calibration_texts() -> list[str]:
    """Paragraph-sized texts from the generated sample filings."""
    from finrag_pipeline.filings.originals import filing_files
    from finrag_pipeline.filings.pdf import inspect_pdf, read_texts
    from finrag_pipeline.sample.generate import write_sample

    with tempfile.TemporaryDirectory() as folder:
        texts: list[str] = []
        for path in filing_files(write_sample(Path(folder) / "sample") / "pdfs"):
            texts.extend(text[:1200] for text in read_texts(path, 0, inspect_pdf(path).pages) if text.strip())
    step = max(1, len(texts) // CALIBRATION_TEXTS)
    return texts[::step][:CALIBRATION_TEXTS]
