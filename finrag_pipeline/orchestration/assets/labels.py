"""Labels of people: what they label, the sheets out and in, and what they and the judges say together."""

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.answering.systems import ANSWER_SYSTEMS, get_answer_system
from finrag_pipeline.evaluation.judge_estimates import judge_agreement as measure_agreement
from finrag_pipeline.evaluation.judge_estimates import judged_estimates as estimate
from finrag_pipeline.evaluation.judged_answers import ITEMS_VERSION, Answer, read_answers
from finrag_pipeline.evaluation.labels import (
    CRITERIA,
    FILLED,
    FOLDER,
    draw_sample,
    filled_fingerprint,
    filled_sheets,
    read_sheets,
    sampled_items,
    write_sheets,
)
from finrag_pipeline.orchestration.fingerprints import versions
from finrag_pipeline.orchestration.steps import Part, Step, check, table_asset
from finrag_pipeline.reporting.grid import grid_markdown
from finrag_pipeline.reporting.tables import estimates_grid
from finrag_pipeline.retrieval.spaces import Space
from finrag_pipeline.schemas import LABEL_SAMPLE
from finrag_pipeline.settings import JudgeSettings
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.lake import Lake

PROBLEMS = (FOLDER, "problems.json")
"""What is wrong with filled sheets, by name of the sheet."""


def _sampled_parts(store: Lake, settings: JudgeSettings) -> list[dict[str, str]]:
    """Parts of ``answers`` whose systems people label."""
    names = {get_answer_system(name).name for name in settings.sampled} or set(ANSWER_SYSTEMS)
    return [keys for keys in store.partitions("answers") if keys["system"] in names]


def _sampled_answers(store: Lake, parts: list[dict[str, str]]) -> dict[str, list[Answer]]:
    """Answers over the whole corpus by system; those that were never written are left out."""
    found: dict[str, list[Answer]] = {}
    questions = store.read("benchmark_questions")
    for keys in parts:
        rows = store.read("answers", keys)
        rows = rows.filter(pc.equal(rows["space"], Space.CORPUS.value))
        for one in read_answers(store, rows, questions):
            if one.text.strip():
                found.setdefault(one.system, []).append(one)
    return found


@table_asset(
    blocking_checks={
        "within_budget": "No sheet asks for more labels than the budget, and every type of question is on it."
    }
)
def label_sample(part: Part) -> Step:
    """Stratified samples of answers and sentences over the corpus, and the sheets to label them on."""
    store, values, encoder = part.store, part.values, part.run.encoder
    parts = _sampled_parts(store, values.judge)
    infos = [store.info("answers", keys) for keys in parts]
    made_from = [info.fingerprint for info in infos if info]
    code = (*versions("label_sample"), ITEMS_VERSION)
    wanted = fingerprint(
        "label_sample", code, made_from, encoder.fingerprint, values.judge.budget, values.seed
    )
    asked = _sampled_answers(store, parts)

    def make() -> pa.Table:
        drawn = [
            draw_sample(found, criterion, encoder.embed_short, values.judge.budget, values.seed)
            for found in asked.values()
            for criterion in CRITERIA
        ]
        return pa.concat_tables([LABEL_SAMPLE.empty_table(), *drawn])

    step = part.made(make, wanted=wanted)
    sample = part.read()
    answers = [one for found in asked.values() for one in found]
    sheets = write_sheets(store.local_path(FOLDER), sample, answers, values.judge.language or "en")
    counts: dict[tuple[str, str], int] = {}
    themes: dict[tuple[str, str, str], bool] = {}
    for row in sample.to_pylist():
        key = (row["system"], row["criterion"])
        counts[key] = counts.get(key, 0) + row["sampled"]
        themes[*key, row["theme"]] = themes.get((*key, row["theme"]), False) or row["sampled"]
    fits = all(count <= values.judge.budget for count in counts.values()) and all(themes.values())
    step.checks = [check("within_budget", fits, largest=max(counts.values(), default=0))]
    listed = "\n".join(f"- `{FOLDER}/{path.name}`" for path in sheets) or "none"
    step.metadata = {"labels": sum(counts.values()), "sheets": dg.MetadataValue.md(listed)}
    return step


@table_asset(
    checks={
        "sheets_readable": "Every filled sheet can be read; a bad one is left out, and the others count.",
        "nothing_open": "No two annotators wait for a third to decide.",
    }
)
def human_labels(part: Part) -> Step:
    """Labels of people from the sheets in ``labels/filled/`` of the lake."""
    store = part.store
    folder = store.local_path(FOLDER)
    known = sampled_items(part.read("label_sample"))

    def make() -> pa.Table:
        table, problems = read_sheets(filled_sheets(folder), known)
        store.write_json(store.path(*PROBLEMS), problems)
        return table

    step = part.made(make, filled_fingerprint(folder))
    problems = store.read_json(store.path(*PROBLEMS)) or {}
    for name, problem in problems.items():
        part.context.log.error(f"{FOLDER}/{FILLED}/{name}: {problem}")
    states = part.read()["state"].to_pylist()
    step.checks = [
        check("sheets_readable", not problems, description="\n".join(problems.values()) or None),
        check("nothing_open", "open" not in states, warn=True, open=states.count("open")),
    ]
    final = states.count("agreed") + states.count("decided")
    step.metadata = {"sheets": len(filled_sheets(folder)), "final": final}
    return step


@table_asset(
    blocking_checks={
        "estimates_lie_in_their_intervals": "0 ≤ low ≤ estimate ≤ high ≤ 1, "
        "but for the intervals of the literature."
    }
)
def judged_estimates(part: Part) -> Step:
    """Shares of relevant, true and correct answers by people, by each judge, and by both together (PPI)."""
    confidence = part.values.evaluation.confidence
    step = part.made(lambda: estimate(*_judged_by_both(part), confidence))
    rows = part.read().to_pylist()
    # Those of the literature leave [0, 1]: that is why others stand beside them.
    broken = [
        row
        for row in rows
        if row["method"] in ("human", "judge", "ppi")
        and not -1e-9 <= row["low"] - 1e-9 <= row["estimate"] <= row["high"] + 1e-9 <= 1 + 2e-9
    ]
    step.checks = [check("estimates_lie_in_their_intervals", not broken, broken=len(broken))]
    step.metadata = {"table": dg.MetadataValue.md(grid_markdown(estimates_grid(part.read())))}
    return step


@table_asset()
def judge_agreement(part: Part) -> Step:
    """Agreement of each judge with people on the labelled items: observed, by chance, Cohen's κ."""
    return part.made(lambda: measure_agreement(*_judged_by_both(part), part.values.seed))


def _judged_by_both(part: Part) -> tuple[pa.Table, pa.Table, pa.Table]:
    """Verdicts, labels of people, and what these were drawn from."""
    return part.store.read_all("verdicts"), part.read("human_labels"), part.read("label_sample")
