from __future__ import annotations

from finrag_pipeline.evaluation.baseline_judge import load_judges
from finrag_pipeline.settings import JudgeSettings, LanguageModelSettings


def model(name: str, **more: object) -> LanguageModelSettings:
    return LanguageModelSettings(name=name, base_url="http://127.0.0.1:9/v1", **more)  # type: ignore[arg-type]


def test_the_baseline_is_always_there(lake):
    judges, problems = load_judges(JudgeSettings(), lake)
    assert [judge.name for judge in judges] == ["baseline"] and problems == {}


def test_several_models_and_those_that_cannot_be_asked(lake):
    settings = JudgeSettings(
        models={
            "a": model("Qwen"),
            "b": model("Qwen", key="sk"),
            "none": LanguageModelSettings(name="x"),
            "lost": LanguageModelSettings(kind="endpoint", name="x"),
        },
        language="fr",
    )
    judges, problems = load_judges(settings, lake)
    assert [judge.name for judge in judges] == ["baseline", "a: Qwen (fr)", "b: Qwen (fr)"]
    assert problems["none"] == "No language model is set up (FINRAG_JUDGE__MODELS__NONE__KIND)."
    assert "FINRAG_JUDGE__MODELS__LOST__BASE_URL" in problems["lost"]
    again, _ = load_judges(settings.model_copy(update={"attempts": 1}), lake)
    assert judges[0].fingerprint == again[0].fingerprint and judges[1].fingerprint != again[1].fingerprint
    assert not lake.fs.exists(lake.root), "nothing was asked, nothing was kept"
