"""What a reader would take for more than it is must be said, or not be printed unasked."""

from __future__ import annotations

from typing import Any

import pytest
import typer

from finrag_pipeline.commands import answers as judge
from finrag_pipeline.commands import results, run
from finrag_pipeline.orchestration import runs
from finrag_pipeline.settings import Settings


def _metric(system: str, n: int, space: str = "corpus") -> dict[str, Any]:
    return {"system": system, "space": space, "slice_value": "all", "n": n}


def test_a_system_over_fewer_questions_than_others_is_told() -> None:
    rows = [_metric("dense", 39), _metric("page_scorer", 9), _metric("page_scorer", 9, "filing")]
    assert results.fewer_questions([*rows, _metric("dense", 39, "filing")]) == [
        "page_scorer was measured on 9 of 39 questions only: do not compare it."
    ]
    assert results.fewer_questions(rows[:1]) == results.fewer_questions([]) == []


@pytest.mark.parametrize(("asked", "code"), [(["bm25", "splade"], 3), (None, 0)])
def test_a_sweep_ends_with_what_was_skipped(
    asked: list[str] | None,
    code: int,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Exit code 3 where somebody asked for a system that cannot run."""
    report = runs.RunReport("sample", 2, not_run={"splade": "Model splade is not on this machine."})
    monkeypatch.setattr(runs, "run", lambda *_: report)
    monkeypatch.setattr(run, "current_settings", lambda: settings)
    with pytest.raises(typer.Exit) as ended:
        run.run(systems=asked)
    told = capsys.readouterr().err.split()
    assert ended.value.exit_code == code
    assert " ".join(told).endswith(
        "not run: splade: Model splade is not on this machine. "
        "1 systems were not run. What each needs: finrag systems"
    )


def test_a_judge_no_better_than_chance_is_not_printed_unasked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], settings: Settings
) -> None:
    def estimate(name: str, criterion: str, share: float) -> dict[str, Any]:
        return {
            **{
                "system": "prompt",
                "space": "corpus",
                "criterion": criterion,
                "judge": name,
                "method": "judge",
            },
            **{"estimate": share, "low": None, "high": None, "effective_n": None, "theme": "all"},
        }

    found: dict[str, Any] = {name: [] for name in judge._TABLES}
    found |= {"missing": [], "judges_not_asked": {}, "bad_sheets": {}, "not_calibrated": "No labels."}
    found["agreement"] = [{"judge": "qwen", "criterion": "veracity", "theme": "all", "kappa": -0.1}]
    found["estimates"] = [
        estimate("baseline", "relevance", 0.111),
        estimate("baseline", "veracity", 0.222),
        estimate("qwen", "veracity", 0.333),
        estimate("qwen", "relevance", 0.444),
    ]
    monkeypatch.setattr(judge, "judge_answers", lambda *_: found)
    monkeypatch.setattr(judge, "current_settings", lambda: settings)
    judge.judge()
    shown = capsys.readouterr()
    assert [share in shown.out for share in ("0.111", "0.222", "0.333", "0.444")] == [
        False,
        True,
        False,
        True,
    ]
    assert "baseline on relevance agrees with people no more than by chance" in " ".join(shown.err.split())
    judge.judge(every=True)
    assert "0.111" in capsys.readouterr().out
    found["agreement"] = [{"judge": "baseline", "criterion": "relevance", "theme": "all", "kappa": 0.4}]
    judge.judge()
    assert "0.111" in capsys.readouterr().out, "people's labels here say otherwise"
