"""``finrag edgar``: from a ticker to an answer, and nothing a second time."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from finrag_pipeline_tests.console import called
from finrag_pipeline_tests.edgar_server import TEN, sec
from finrag_pipeline_tests.language_models.server import Reply


def test_a_release_is_fetched_once_and_answers(tmp_path: Path) -> None:
    lake, one = tmp_path / "lake", TEN[6]
    with sec(TEN[5], one) as server:
        where = {"FINRAG_EDGAR__WWW_URL": server.url, "FINRAG_EDGAR__DATA_URL": server.url}
        nobody = called(lake, "edgar", "TVXL", **where)
        assert nobody.code == 2 and "FINRAG_EDGAR__USER_AGENT" in nobody.err

        where["FINRAG_EDGAR__USER_AGENT"] = "Ada Example ada@example.com"
        server.faults[one.folder + one.document] = [Reply(body=b"<html>cut")]
        asked = ("edgar", "TVXL", "--forms", "8-K", "--since", "2023", "--json")
        done = called(lake, *asked, **where).json()
        assert (done["indexed"], done["fresh"], done["failures"]) == ([one.filing], [], [])
        again = called(lake, *asked, **where).json()
        assert (again["indexed"], again["fresh"]) == ([], [one.filing])
        assert Counter(server.documents())[one.folder + one.document] == 2, "the cut one came again"
        assert not list((lake / "edgar").glob("*.txt"))
    answer = called(lake, "ask", "What was Torvexley's net income in the third quarter of 2023?")
    assert answer.out.startswith("$88 million") and f"{one.filing} p. 4" in answer.out
