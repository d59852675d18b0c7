"""Fuzzers of what reads text that others wrote, and of the service; by hand (see docs/faults.md).

    pip install 'finrag_pipeline[fuzz]'
    python -m benchmarks.fuzz values --minutes 60      # or periods, scales, questions, formulas, html
    python -m benchmarks.fuzz service --minutes 60     # schemathesis on a `finrag serve` over the sample

A target may raise what its documentation names and nothing else, and takes a minute at most (on a busy
machine). An input that made one crash stays in benchmarks/fuzz_corpus/<target>; every run of the tests tries
it again.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

from benchmarks import FINRAG, served
from finrag_pipeline.errors import FilingError, FinragError
from finrag_pipeline.sample.generate import write_sample

CORPUS = Path(__file__).with_name("fuzz_corpus")
SLOWEST = 60
"""Seconds that an input may take."""
_MEMORY = 3000


def values(data: bytes) -> None:
    """Cells of tables."""
    from finrag_pipeline.tables.units import unit_of_words
    from finrag_pipeline.tables.values import parse_value

    text = data.decode("utf-8", "replace")
    found = parse_value(text)
    assert found.number is None or math.isfinite(found.number), found
    unit_of_words(text)


def periods(data: bytes) -> None:
    """Headers of columns and periods of questions."""
    from finrag_pipeline.resolver.periods import read_periods
    from finrag_pipeline.tables.fiscal_calendar import FiscalCalendar
    from finrag_pipeline.tables.periods import parse_periods

    lines = data.decode("utf-8", "replace").split("\n")
    parse_periods(lines[:4], FiscalCalendar(), lines[4:])
    read_periods(" ".join(lines))


def scales(data: bytes) -> None:
    """Words that set a scale."""
    from finrag_pipeline.tables.scale import find_scale, noted_scales, without_scale

    text = data.decode("utf-8", "replace")
    assert all(rule.scale > 0 for rule in find_scale(text.split("\n")))
    noted_scales(text.split("\n"))
    without_scale(text)


def questions(data: bytes) -> None:
    """What a question asks for, by its grammar; the model that reads along takes any text and is slow."""
    from finrag_pipeline.questions import question_reader
    from finrag_pipeline.questions.abstention import Abstention
    from finrag_pipeline.questions.parser import parse_question
    from finrag_pipeline.questions.plan import read_plan
    from finrag_pipeline.questions.series import read_series

    text = data.decode("utf-8", "replace")
    with patch.object(question_reader, "question_reader", lambda: None):
        with suppress(Abstention):
            parse_question(text, ("alder",))
        read_plan(text, ("Alder",))
        read_series(text)


def formulas(data: bytes) -> None:
    """Formulas as people write them."""
    from finrag_pipeline.questions.expression import ExpressionError, parse_expression, print_expression

    with suppress(ExpressionError):
        found = parse_expression(data.decode("utf-8", "replace"))
        assert parse_expression(print_expression(found)) == found


def html(data: bytes) -> None:
    """HTML and inline-XBRL filings."""
    from finrag_pipeline.filings.html import parse

    with suppress(FilingError):
        filing = parse(data)
        for page in filing.pages:
            _ = page.text


TARGETS: dict[str, Callable[[bytes], None]] = {
    one.__name__: one for one in (values, periods, scales, questions, formulas, html)
}


def _fuzz(name: str, seconds: int, corpus: Path) -> None:
    try:
        import atheris
    except ImportError as error:
        raise FinragError("atheris is not installed.", "pip install 'finrag_pipeline[fuzz]'.") from error
    read = TARGETS[name]
    with atheris.instrument_imports(include=["finrag_pipeline"]), suppress(FilingError):
        read(b"1")  # imports what it needs, so that libFuzzer sees its branches
    limits = [f"-max_total_time={seconds}", f"-timeout={SLOWEST}", f"-rss_limit_mb={_MEMORY}"]
    places = [f"-artifact_prefix={corpus}/", "-print_final_stats=1", "-max_len=2000"]
    found = corpus / "found"  # inputs that reach something new; not kept in the repository
    found.mkdir(parents=True, exist_ok=True)
    atheris.Setup([sys.argv[0], *limits, *places, str(found), str(CORPUS / name)], read)
    atheris.Fuzz()


def _fuzz_service(seconds: int) -> int:
    """schemathesis on a service of its own over the sample; its exit code."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        env = os.environ | {"FINRAG_LAKE": str(Path(folder, "lake"))}
        files = sorted((write_sample(Path(folder, "sample")) / "pdfs").glob("*.pdf"))[:2]
        ingest = [*FINRAG, "ingest", *map(str, files)]
        subprocess.run(ingest, env=env, check=True, stdout=subprocess.DEVNULL)
        tool, config = Path(sys.executable).with_name("schemathesis"), Path(folder, "schemathesis.toml")
        # 503 tells what is missing here, such as a language model.
        config.write_text('[checks.not_a_server_error]\nexpected-statuses = ["2xx", "3xx", "4xx", "503"]\n')
        with served(env) as (url, service):
            end, code, seed = time.monotonic() + seconds, 0, 0
            while code == 0 and time.monotonic() < end:
                seed += 1
                options = ["--seed", seed, "--request-timeout", SLOWEST, "--max-examples", 300]
                options += ["--suppress-health-check", "all"]  # of a busy machine
                command = [tool, "--config-file", config, "run", f"{url}/openapi.json", *options]
                code = subprocess.run([*map(str, command)]).returncode
            assert service.poll() is None, "the service is gone"
        return code


def main() -> None:
    """Fuzz one target."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("target", choices=[*TARGETS, "service"])
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--corpus", type=Path, help="folder for what it finds; a temporary one if absent")
    asked = parser.parse_args()
    os.nice(19)
    seconds = round(asked.minutes * 60)
    if asked.target == "service":
        raise SystemExit(_fuzz_service(seconds))
    _fuzz(asked.target, seconds, asked.corpus or Path(tempfile.mkdtemp(prefix="fuzz-")))


if __name__ == "__main__":
    main()
