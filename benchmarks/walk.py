"""All ways in, walked over a lake: how long each takes when warm, and pictures of them.

    python -m benchmarks.walk [--lake FOLDER] [--question TEXT] [--pictures docs/images]

Serves the lake, asks on the page in Chromium and by the tools for assistants, and prints the least and the
median of some requests, with the processor time that the service took for one. With ``--pictures`` the same
is drawn: commands in a terminal, the first run among them where there is no lake yet, the page, a notebook
(by nbconvert, which uv fetches), a client of the tools.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import mcp
from PIL import Image
from playwright.sync_api import sync_playwright
from rich.console import Console
from rich.text import Text

from benchmarks import FINRAG, arguments, served

QUESTION = "What was Torvexley's capital expenditure in FY2023, in USD millions?"
NO_ANSWER = "What were sales to astronauts?"
CLIENT = """\
import asyncio
import mcp

async def main():
    async with mcp.Client("{url}") as client:
        answer = await client.call_tool("ask", {{"question": "{question}"}})
        print(answer.content[0].text)

asyncio.run(main())
"""
QUERIES = (
    "SELECT company, fiscal_year, Revenues, NetIncomeLoss FROM company_year ORDER BY ALL LIMIT 9",
    "SELECT period_end, value / 1e6 AS millions, printed, filing, page_label FROM latest_facts"
    " WHERE concept = 'PaymentsToAcquirePropertyPlantAndEquipment' ORDER BY ALL DESC LIMIT 9",
    "SELECT filing, page_label FROM page_text WHERE text ILIKE '%covenant%'",
)
_COLUMNS = 96
_COLOURS = 128
_DRAWN = "(image => image.complete && image.naturalWidth)(document.querySelector('{} img'))"
Row = tuple[str, list[float], float]
"""What was asked, its seconds, and the processor seconds of the service for one of it."""


def repeated(work: Callable[[], object], pid: int, times: int) -> tuple[list[float], float]:
    """Seconds of each of so many calls after a first, and processor seconds of a process for one."""
    work()
    before, seconds = _processor(pid), []
    for _ in range(times):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return seconds, (_processor(pid) - before) / times


def _processor(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def page_times(page: Any, url: str, pid: int, question: str, filing: str, times: int) -> list[Row]:
    """Pages until a browser has loaded them, and pictures of pages of filings."""
    rows: list[Row] = []
    for told, query in (
        ("the page", {}),
        ("the page with an answer and the pages found", {"q": question}),
        ("the same, not answered", {"q": NO_ANSWER}),
    ):
        address = f"{url}/?{urlencode(query)}"
        rows.append((told, *repeated(partial(page.goto, address), pid, times)))
    numbers = iter(range(1, times + 2))
    client = httpx.Client(trust_env=False, timeout=60)

    def picture(number: int) -> None:
        client.get(f"{url}/pages/{filing}/{number}.webp").raise_for_status()

    rows.append(("a picture of a page", *repeated(lambda: picture(next(numbers)), pid, times)))
    rows.append(("the same again", *repeated(lambda: picture(1), pid, times)))
    return rows


def tool_times(url: str, pid: int, question: str, filing: str, company: str, times: int) -> list[Row]:
    """The tools for assistants, over HTTP, in one session."""
    calls: Sequence[tuple[str, dict[str, Any]]] = (
        ("ask", {"question": question}),
        ("search", {"question": question}),
        ("rows", {"question": question}),
        ("facts", {"filing": filing}),
        ("facts", {"filing": company, "concept": "Revenues", "series": "year"}),
        ("show", {"filing": filing, "page": 2}),
        ("filings", {}),
    )
    rows: list[Row] = []

    async def call() -> None:
        async with mcp.Client(f"{url}/mcp") as client:
            for name, given in calls:
                seconds, before = [], 0.0
                for place in range(times + 1):
                    if place == 1:  # the first may load a model
                        before = _processor(pid)
                    start = time.perf_counter()
                    result = await client.call_tool(name, given)
                    seconds.append(time.perf_counter() - start)
                    assert not result.is_error, result
                told = f"tool `{name}`" + (", a series" if "series" in given else "")
                rows.append((told, seconds[1:], (_processor(pid) - before) / times))

    asyncio.run(call())
    return rows


def terminal(
    page: Any,
    commands: Sequence[tuple[str, Sequence[str]]],
    env: dict[str, str],
    to: Path,
    columns: int = _COLUMNS,
) -> None:
    """Run commands and draw what a terminal shows of them."""
    screen = Console(record=True, file=io.StringIO(), width=columns)
    for told, command in commands:
        wide = env | {"COLUMNS": str(columns)}
        shown = subprocess.check_output(command, env=wide, stderr=subprocess.STDOUT, text=True)
        screen.print(Text(f"$ {told}", "bold"))
        screen.print(Text(shown.strip("\n") + "\n"))
    body = screen.export_html(inline_styles=True, code_format="<pre>{code}</pre>")
    style = "pre { display: inline-block; margin: 0; padding: 12px 16px; font: 13px/1.35 monospace; }"
    page.set_content(f"<meta charset=utf-8><style>body {{ margin: 0 }} {style}</style>{body}")
    draw(page.locator("pre"), to)


def draw(shown: Any, to: Path) -> None:
    """Draw an element or a page, in few colours."""
    image = Image.open(io.BytesIO(shown.screenshot())).convert("RGB")
    image.quantize(_COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(to, optimize=True)


def notebook(page: Any, cells: Sequence[str], env: dict[str, str], to: Path) -> None:
    """Run cells in Jupyter and draw what it shows of them."""
    made = [
        {"cell_type": "code", "id": f"c{n}", "metadata": {}, "execution_count": None, "outputs": [],
         "source": source}
        for n, source in enumerate(cells)
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "walk.ipynb"
        path.write_text(json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
        uv = shutil.which("uv") or str(Path(sys.executable).with_name("uv"))
        command = [uv, "run", "--no-project", "--active", "--with", "nbconvert", "--with", "ipykernel"]
        command += ["python", "-m", "nbconvert", "--execute", "--to", "html", str(path)]
        lake = str(Path(env["FINRAG_LAKE"]).absolute())
        subprocess.run(command, env=env | {"VIRTUAL_ENV": sys.prefix, "FINRAG_LAKE": lake}, check=True)
        page.goto(path.with_suffix(".html").as_uri())
        draw(page.locator("main"), to)


def draw_all(page: Any, url: str, question: str, env: dict[str, str], folder: Path) -> None:
    """Pictures of all ways in: ``walk-….png``."""
    page.goto(f"{url}/")
    draw(page, folder / "walk-page.png")
    page.keyboard.type(question)
    page.keyboard.press("Enter")
    page.locator(".answer").wait_for()
    page.wait_for_function(_DRAWN.format(".found"))
    draw(page, folder / "walk-answer.png")
    page.locator(".derivation td.number a").first.click()
    page.locator("#sheet img").wait_for()
    page.wait_for_function(_DRAWN.format("#sheet"))
    draw(page, folder / "walk-cell.png")
    cells = ["import finrag_pipeline as finrag\n\nlake = finrag.open()", f'lake.ask("{question}")']
    notebook(page, cells, env, folder / "walk-notebook.png")
    code = CLIENT.format(url=f"{url}/mcp", question=question)
    terminal(
        page, [(f"python - <<END\n{code}END", [sys.executable, "-c", code])], env, folder / "walk-client.png"
    )
    queries = [(f'finrag sql "{query}"', [*FINRAG, "sql", query]) for query in QUERIES]
    terminal(page, queries, env, folder / "walk-sql.png")


def main(argv: Sequence[str] | None = None) -> None:
    """Print the times, and draw the pictures where a folder for them is given."""
    parser = arguments(__doc__)
    parser.add_argument("--lake", default=os.environ.get("FINRAG_LAKE", "data_lake"))
    parser.add_argument("--question", default=QUESTION)
    parser.add_argument("--times", type=int, default=7)
    parser.add_argument("--pictures", type=Path)
    given = parser.parse_args(argv)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = os.environ | {"FINRAG_LAKE": given.lake, "PATH": path}
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1240, "height": 800}, bypass_csp=True)
        page.set_default_timeout(120_000)
        if given.pictures and not Path(given.lake).exists():
            run = ("finrag run", [*FINRAG, "run"])
            terminal(page, [run], env, given.pictures / "walk-run.png", columns=144)
        with served(env) as (url, service):
            pid = service.pid
            client = httpx.Client(base_url=url, trust_env=False, timeout=120)
            answer = client.post("/ask", json={"question": given.question}).json()
            filing = answer["inputs"][0]["filing"]
            listed = {row["filing"]: row["company"] for row in client.get("/filings").json()}
            rows = page_times(page, url, pid, given.question, filing, given.times)
            with ThreadPoolExecutor(1) as pool:  # the browser has the event loop of this thread
                asked = (url, pid, given.question, filing, listed[filing], given.times)
                rows += pool.submit(tool_times, *asked).result()
            print(f"{len(listed)} filings, {given.times} requests of each\n")
            print("| | least, ms | median, ms | processor, ms |\n|---|--:|--:|--:|")
            for told, seconds, processor in rows:
                numbers = (min(seconds), statistics.median(seconds), processor)
                print(f"| {told} | {' | '.join(f'{1000 * number:.0f}' for number in numbers)} |")
            if given.pictures:
                draw_all(page, url, given.question, env, given.pictures)
        browser.close()


if __name__ == "__main__":
    main()
