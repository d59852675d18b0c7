"""The judges that the settings name: the baseline always, and language models beside it."""

from __future__ import annotations

from finrag_pipeline.judging.baseline import BaselineJudge
from finrag_pipeline.judging.judges import Judge, LanguageModelJudge
from finrag_pipeline.language_models.load import language_model_problem, load_language_model
from finrag_pipeline.settings import JudgeSettings
from finrag_pipeline.storage.lake import Lake


def load_judges(settings: JudgeSettings, lake: Lake) -> tuple[list[Judge], dict[str, str]]:
    """Judges that can be asked, and why others cannot, by name.

    Cheap: a model is loaded, or asked, with the first verdict that is not in the lake. Replies are kept there
    by request, so that nothing is judged twice.

    Args:
        settings: which language models.
        lake: keeps their replies.
    """
    judges: list[Judge] = [BaselineJudge()]
    problems: dict[str, str] = {}
    for key, one in settings.models.items():
        problem = language_model_problem(one)
        model = None if problem else load_language_model(one, lake)
        if model is None:
            problems[key] = (problem or "It has no model.").replace(
                "FINRAG_LANGUAGE_MODEL__", f"FINRAG_JUDGE__MODELS__{key.upper()}__"
            )
            continue
        name = f"{key}: {model.name}"
        judges.append(
            LanguageModelJudge(model, one.max_concurrency, settings.attempts, settings.language, name)
        )
    return judges, problems
