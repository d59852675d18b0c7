from __future__ import annotations

import pytest

from finrag_pipeline.evaluation.baseline_judge import BaselineJudge, load_judges
from finrag_pipeline.settings import JudgeSettings, LanguageModelSettings
from finrag_pipeline_tests.evaluation.judged_builders import answer

JUDGE = BaselineJudge()


def veracity(text: str, cited: tuple[str, ...] = ("s1",)) -> int | None:
    return JUDGE.verdicts("veracity", [answer("q/0", (text, cited))])[0][0].label


@pytest.mark.parametrize(
    ("text", "cited", "label"),
    [
        ("Revenue of Torvexley was $1,577 million in fiscal year 2022.", ("s1",), 1),
        ("Revenue of Torvexley was $1,578 million in fiscal year 2022.", ("s1",), 0),
        ("Revenue was $1,577 million in 2019.", ("s1",), 0),
        ("The company employs 1,200 people.", ("s1",), 0),
        ("The company employs 1,200 people.", ("s2",), 1),
        ("Revenue was $1,577 million.", ("s7",), 0),
        ("Analysts expect splendid growth across emerging markets.", ("s1",), 0),
        ("The sources do not contain the information.", ("s1",), 1),
    ],
)
def test_what_it_sees(text, cited, label):
    assert veracity(text, cited) == label


@pytest.mark.parametrize(
    "text",
    [
        "Revenue was $1,402 million in fiscal year 2022.",  # the figure of another year
        "Revenue of Torvexley was not $1,577 million in 2022.",  # negation
        "Revenue of Torvexley was down to $1,577 million from $1,402 million.",  # direction
    ],
)
def test_what_it_cannot_see(text):
    assert veracity(text) == 1, "and the documentation says so"


def test_without_sources_there_is_no_verdict():
    lonely = answer("q/0", ("Revenue was $5.", ()), sources={})
    assert JUDGE.verdicts("veracity", [lonely])[0][0].label is None


def correctness(text: str, gold: str, question: str = "What is revenue in USD millions?") -> int | None:
    return JUDGE.verdicts("correctness", [answer("q/0", (text, ()), question=question)], [gold])[0][0].label


@pytest.mark.parametrize(
    ("text", "gold", "label"),
    [
        ("Revenue was $1,577 million.", "$1577.00", 1),
        ("Revenue was $1,402 million.", "$1577.00", 0),
        ("I cannot determine this from the documents provided.", "$1577.00", 2),
        ("", "$1577.00", 2),
        ("No, it is not capital intensive.", "Yes. Heavy plants.", 0),
        ("No, margins are high.", "No, it is light in assets.", 1),
        ("The segments are Consumer and Health Care.", "Consumer and Health Care", 1),
        ("The segments are Retail and Banking.", "Consumer and Health Care", 0),
    ],
)
def test_correctness(text, gold, label):
    assert correctness(text, gold) == label


def test_relevance():
    verdicts = JUDGE.verdicts(
        "relevance",
        [
            answer("a", ("Torvexley's revenue was high.", ())),
            answer("b", ("$1,577 million", ())),
            answer("c", ("The weather is fine.", ())),
            answer("d", ("It cannot be determined.", ()), abstains=True),
        ],
    )
    assert [one.label for (one,) in verdicts] == [1, 1, 0, 0]
    assert JUDGE.name == "baseline" and len(JUDGE.fingerprint) == 32


@pytest.mark.parametrize(
    ("question", "quote", "label"),
    [
        ("How many pilots does Torvexley employ?", "Torvexley employs 1,200 pilots.", 1),
        (
            "How many pilots does Torvexley employ?",
            "Torvexley has employed pilots since 2015.",
            0,
        ),  # no amount
        ("How many pilots does Torvexley employ?", "Torvexley sold 1,200 pumps.", 0),  # another subject
        ("Why did the gross margin fall?", "The gross margin fell because copper was dear.", 1),
        ("Why did the gross margin fall?", "The gross margin fell by 3 points.", 0),
        ("When was the foundry closed?", "The foundry was closed in May 2021.", 1),
        ("When was the foundry closed?", "The foundry was closed for good.", 0),
        ("Who became president of the segment?", "Ann B. Lund became president of the segment.", 1),
        ("Who became president of the segment?", "He became president of the segment.", 0),
    ],
)
def test_quotes_must_hold_the_subject_and_the_kind_of_thing_asked_for(question, quote, label):
    sources = {"TORVEXLEY_2022_10K/p4/c0": quote}
    told = f"“{quote}” (TORVEXLEY_2022_10K, page 5)"
    quoting = answer("q/0", (told, tuple(sources)), question=question, sources=sources)
    ((verdict,),) = JUDGE.verdicts("relevance", [quoting])
    assert verdict.label == label, verdict.reasoning


def model(name: str, **more: object) -> LanguageModelSettings:
    return LanguageModelSettings(name=name, base_url="http://127.0.0.1:9/v1", **more)


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
