"""``finrag report``: write the report and the warehouse from what the lake holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from finrag_pipeline.commands.console import Json, current_settings, out, print_json
from finrag_pipeline.errors import LakeError

if TYPE_CHECKING:
    from finrag_pipeline.settings import Settings


def rewrite_report(settings: Settings) -> str:
    """Write the report of the active benchmark and the warehouse; a fresh report stays as it is.

    Nothing else is run, so what other commands have added is in both.

    Returns:
        Path of its first page.

    Raises:
        LakeError: the lake holds no benchmark, or is not local.
        FinragError: the run failed.
    """
    from finrag_pipeline.commands.instance import open_materialiser
    from finrag_pipeline.commands.run import run_or_raise
    from finrag_pipeline.storage.lake import Lake

    lake = Lake(settings.lake)
    path = str(lake.local_path("report", "index.html"))
    if lake.info("benchmark_questions") is None:
        raise LakeError("The lake holds no benchmark to report on.", "Run 'finrag run' first.")
    with open_materialiser(settings) as materialiser:
        run_or_raise(materialiser, "publish", None, "report", assets=["warehouse", "report"])
    return path


def report(as_json: Json = False) -> None:
    """Write report and warehouse from what the lake holds, run nothing else, and print the report's path."""
    path = rewrite_report(current_settings())
    if as_json:
        print_json({"report": path})
    else:
        out.print(path, markup=False, soft_wrap=True)
