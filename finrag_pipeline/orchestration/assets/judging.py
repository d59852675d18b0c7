"""Judging: sentences, metrics and verdicts of answers, labels of people, what both say, comparisons."""

from collections import Counter
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.answering.systems import ANSWER_SYSTEMS, get_answer_system
from finrag_pipeline.errors import LakeError
from finrag_pipeline.evaluation.baseline_judge import load_judges
from finrag_pipeline.evaluation.judge_estimates import LabelledAnswer, calibrate, labelled_answers
from finrag_pipeline.evaluation.judge_estimates import judge_agreement as measure_agreement
from finrag_pipeline.evaluation.judge_estimates import judged_estimates as estimate
from finrag_pipeline.evaluation.judged_answers import (
    AUTOMATIC_VERSION,
    ITEMS_VERSION,
    Answer,
    rates,
    read_answers,
    sentence_rows,
    without_text,
)
from finrag_pipeline.evaluation.judged_answers import automatic_scores as score_answers
from finrag_pipeline.evaluation.judges import JUDGES_VERSION, REFUSAL, Criterion, Judge, judge_answers
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
from finrag_pipeline.evaluation.paired_tests import ANSWERS, RETRIEVAL, compare_families
from finrag_pipeline.evaluation.simulations import sensitivity_to_agreement
from finrag_pipeline.orchestration.assets.answering import RECORDED
from finrag_pipeline.orchestration.lineage import versions
from finrag_pipeline.orchestration.resources import Corpora
from finrag_pipeline.orchestration.steps import Part, Run, Step, check, listed, picture, table_asset
from finrag_pipeline.orchestration.sweeps import measured_systems
from finrag_pipeline.reporting.grid import grid_markdown
from finrag_pipeline.reporting.plots import sensitivity_plot
from finrag_pipeline.reporting.tables import calibration_grid, comparison_grid, estimates_grid, rates_grid
from finrag_pipeline.retrieval.spaces import Space
from finrag_pipeline.schemas import JUDGE_CALIBRATION, LABEL_SAMPLE, SYSTEM_COMPARISONS
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.lake import Lake

_VALID = {"relevance": {0, 1}, "veracity": {0, 1}, "correctness": {0, 1, REFUSAL}}


def _answers(store: Lake, partition: dict[str, str]) -> list[Answer]:
    return read_answers(store, store.read("answers", partition), store.read("benchmark_questions"))


def _without_answers(part: Part) -> Step | None:
    """The part left out where there are no answers to look at; None where there are."""
    if part.store.info("answers", part.partition):
        return None
    part.store.remove(part.entry.name, part.partition)  # of answers that are gone
    return part.skipped(f"The lake holds no answers of {part.system} on {part.partition['fold']}.")


@table_asset(
    blocking_checks={
        "sources_have_text": "The lake holds the text of every source that was given to an answer."
    },
    optional=True,  # a system that did not answer leaves nothing
)
def answer_sentences(part: Part) -> Step:
    """Every answer by sentence: what it cites, what of that was retrieved, and what it is held against."""
    if left_out := _without_answers(part):
        return left_out
    found = _answers(part.store, part.partition)
    missing = without_text(part.store.read("answers", part.partition), found)
    step = part.made(lambda: sentence_rows(found))
    description = f"No text of {', '.join(missing[:5])}: chunk the filings as they were." if missing else None
    step.checks = [check("sources_have_text", not missing, description=description, missing=len(missing))]
    repeats = max((one.repeat + 1 for one in found), default=0)
    step.metadata = {"answers": len(found), "repeats": repeats}
    return step


@table_asset(optional=True)
def automatic_scores(part: Part) -> Step:
    """Right language, a response at all, citations that work: of every answer and sentence."""
    return _without_answers(part) or part.made(lambda: score_answers(_answers(part.store, part.partition)))


_LABELS_ARE_VALID = {"labels_are_valid": "Every label is one of its criterion, and a missing one says why."}
_NO_VERDICT_MISSING = {"no_verdict_missing": "Every judge gave a verdict on everything."}


def _judges(run: Run) -> list[Judge]:
    judges, problems = run.once(_load_judges)
    for name, problem in problems.items():
        run.context.log.warning(f"Judge {name} is not asked: {problem}")
    return judges


def _load_judges(values: Settings, store: Lake, _: Corpora) -> tuple[list[Judge], dict[str, str]]:
    return load_judges(values.judge, store)


@table_asset(blocking_checks=_LABELS_ARE_VALID, checks=_NO_VERDICT_MISSING, optional=True)
def verdicts(part: Part) -> Step:
    """Relevance and correctness of every answer, veracity of every sentence, by every judge.

    Replies of language models are kept by what they were asked, and what has failed is asked again.
    """
    return _without_answers(part) or _judged(
        part, part.partition, [part.wanted()], ("relevance", "veracity", "correctness")
    )


@table_asset(blocking_checks=_LABELS_ARE_VALID, checks=_NO_VERDICT_MISSING)
def recorded_verdicts(part: Part) -> Step:
    """Verdicts on recorded answers, and whether they are in the right language.

    What they were given is not recorded, so that neither veracity nor citations can be judged.
    """
    store = part.store
    info = store.info("answers", RECORDED)
    made_from = [info.fingerprint, ITEMS_VERSION, store.fingerprints("benchmark_questions")] if info else []
    wanted = fingerprint("automatic_scores", AUTOMATIC_VERSION, made_from)
    if (info := store.info("automatic_scores", RECORDED)) is None or info.fingerprint != wanted:
        scores = score_answers(_answers(store, RECORDED) if made_from else [])
        scores = scores.filter(pc.equal(scores["metric"], "correct_language"))
        store.write("automatic_scores", scores, wanted, RECORDED)
    return _judged(part, RECORDED, made_from, ("relevance", "correctness"))


def _judged(
    part: Part, partition: dict[str, str], made_from: list[Any], criteria: Sequence[Criterion]
) -> Step:
    """One part of ``verdicts``."""
    store, judges = part.store, _judges(part.run)
    panel = [(one.name, one.fingerprint) for one in judges]
    wanted = fingerprint("verdicts", JUDGES_VERSION, made_from, list(criteria), panel)
    info = store.info("verdicts", partition)
    if info and any(store.read("verdicts", partition, ["failed"])["failed"].to_pylist()):
        store.remove("verdicts", partition)  # what has failed is asked again; replies that came are kept

    def make() -> pa.Table:
        questions = store.read("benchmark_questions")
        gold = dict(zip(*(questions[name].to_pylist() for name in ("question_id", "answer")), strict=True))
        found = [one for one in _answers(store, partition) if one.text.strip()] if made_from else []
        references = {one.answer_id: gold[one.question_id] for one in found}
        return pa.concat_tables(judge_answers(judge, found, criteria, references) for judge in judges)

    step = part.made(make, wanted=wanted, partition=partition)
    found = store.read("verdicts", partition, ["judge", "criterion", "label", "problem"]).to_pylist()
    missing = [row for row in found if row["label"] is None]
    wrong = [row for row in missing if not row["problem"]]
    wrong += [row for row in found if row["label"] not in {None} | _VALID[row["criterion"]]]
    why = "\n".join(sorted({f"{row['judge']}: {row['problem']}" for row in missing})[:5]) or None
    step.checks = [
        check("labels_are_valid", not wrong, wrong=len(wrong)),
        check("no_verdict_missing", not missing, warn=True, description=why, missing=len(missing)),
    ]
    step.metadata = {"missing": len(missing), "judges": [judge.name for judge in judges]}
    return step


@table_asset()
def answer_rates(part: Part) -> Step:
    """Rates of the automatic metrics by system, type of question and kind of reasoning, over questions."""
    confidence = part.values.evaluation.confidence
    step = part.made(lambda: rates(part.store.read_all("automatic_scores"), confidence))
    step.metadata = {"table": dg.MetadataValue.md(grid_markdown(rates_grid(part.read())))}
    return step


@table_asset(
    checks={
        "better_than_chance": "Every judge agrees with people on correctness more often than chance would."
    },
    optional=True,  # without labels of people there is nothing to compare with
)
def judge_calibration(part: Part) -> Step:
    """Agreement of judges with people on recorded answers that these labelled (FINRAG_JUDGE__LABELLED)."""
    store, values = part.store, part.values
    found: list[LabelledAnswer] = []
    reason = "No labels of people are given: set FINRAG_JUDGE__LABELLED to their folder."
    if values.judge.labelled:
        folder = Path(values.judge.labelled).expanduser()
        questions = store.read("benchmark_questions")
        found = labelled_answers(store, folder, questions)
        reason = f"No labelled answer of {folder.name} is to a question of the active benchmark."
    if not found:
        store.remove("judge_calibration", {})  # a judge may have changed since
        return part.skipped(reason)
    judges, _ = part.run.once(_load_judges)
    compared = [(one.answer.answer_id, one.label, one.gold) for one in found]
    evidence = {one.answer.question_id: dict(one.answer.sources) for one in found}
    panel = [(one.name, one.fingerprint) for one in judges]
    code = versions("judge_calibration")
    wanted = fingerprint("judge_calibration", code, JUDGES_VERSION, compared, evidence, panel, values.seed)
    if store.info("judge_calibration"):
        known = part.read(columns=["judge", "failed"]).to_pylist()
        silent = {judge.name for judge in judges} - {row["judge"] for row in known}
        if silent or any(row["failed"] for row in known):
            store.remove("judge_calibration", {})  # what has failed is asked again; replies are kept

    def make() -> pa.Table:
        tables = [JUDGE_CALIBRATION.empty_table()]
        criteria: tuple[Criterion, ...] = ("correctness", "veracity")
        for judge, criterion in product(judges, criteria):
            try:
                tables.append(calibrate(judge, criterion, found, values.seed))
            except LakeError as error:  # no verdict at all: the others are reported nevertheless
                part.context.log.error(str(error))
        return pa.concat_tables(tables)

    step = part.made(make, wanted=wanted)
    good = {
        row["judge"]
        for row in part.read().to_pylist()
        if (row["group"], row["criterion"]) == ("all", "correctness") and (row["kappa_low"] or 0.0) > 0
    }
    weak = [judge.name for judge in judges if judge.name not in good]
    description = f"Not better than chance, or without verdicts: {', '.join(weak)}." if weak else None
    step.checks = [check("better_than_chance", not weak, warn=True, description=description)]
    table = dg.MetadataValue.md(grid_markdown(calibration_grid(part.read())))
    step.metadata = {"answers": len(found), "table": table}
    return step


PROBLEMS = (FOLDER, "problems.json")
"""What is wrong with filled sheets, by name of the sheet."""


@table_asset(
    blocking_checks={
        "within_budget": "No sheet asks for more labels than the budget, and every type of question is on it."
    },
)
def label_sample(part: Part) -> Step:
    """Stratified samples of answers and sentences over the corpus, and the sheets to label them on."""
    store, values, encoder = part.store, part.values, part.run.encoder
    names = {get_answer_system(name).name for name in values.judge.sampled} or set(ANSWER_SYSTEMS)
    parts = [keys for keys in store.partitions("answers") if keys["system"] in names]
    infos = [store.info("answers", keys) for keys in parts]
    made_from = [info.fingerprint for info in infos if info]
    code = (*versions("label_sample"), ITEMS_VERSION)
    wanted = fingerprint(
        "label_sample", code, made_from, encoder.fingerprint, values.judge.budget, values.seed
    )
    asked: dict[str, list[Answer]] = {}
    for keys in parts:
        rows = store.read("answers", keys)
        rows = rows.filter(pc.equal(rows["space"], Space.CORPUS.value))
        for one in read_answers(store, rows, store.read("benchmark_questions")):
            if one.text.strip():  # else it was never written
                asked.setdefault(one.system, []).append(one)

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
    rows = sample.filter(sample["sampled"])
    drawn = Counter(zip(rows["system"].to_pylist(), rows["criterion"].to_pylist(), strict=True))
    largest = max(drawn.values(), default=0)
    all_themes, drawn_themes = (
        one.group_by(["system", "criterion", "theme"]).aggregate([]).num_rows for one in (sample, rows)
    )
    step.checks = [
        check("within_budget", largest <= values.judge.budget and all_themes == drawn_themes, largest=largest)
    ]
    where = listed(f"{FOLDER}/{path.name}" for path in sheets)
    step.metadata = {"labels": rows.num_rows, "sheets": where}
    return step


@table_asset(
    checks={
        "sheets_readable": "Every filled sheet can be read; a bad one is left out, and the others count.",
        "nothing_open": "No two annotators wait for a third to decide.",
    },
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
    },
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


AGREEMENTS = tuple(round(0.62 + 0.02 * step, 2) for step in range(15)) + tuple(
    round(0.91 + 0.01 * step, 2) for step in range(9)
)
"""Agreements of people and judge that are simulated: 62 % to 99 %, closer where it matters."""


@table_asset(
    blocking_checks={
        "corrected_p_values": "No corrected p-value is below its own, "
        "and every difference lies in its interval."
    },
)
def system_comparisons(part: Part) -> Step:
    """Paired tests: retrieval against dense and the page scorer, answers against the calculator."""
    store, values = part.store, part.values
    confidence = values.evaluation.confidence

    def make() -> pa.Table:
        from finrag_pipeline.evaluation.answer_metrics import as_series

        questions = store.read("benchmark_questions")
        answers = as_series(store.read_all("answer_scores"))
        retrieval = store.read_all("retrieval_scores", only={"system": measured_systems(store)})
        scored = ((retrieval, RETRIEVAL), (answers, ANSWERS))
        compared = [
            compare_families(scores, questions, families, confidence=confidence, seed=values.seed)
            for scores, families in scored
        ]
        return pa.concat_tables([SYSTEM_COMPARISONS.empty_table(), *compared])

    step = part.made(make)
    found = part.read()
    rows = found.to_pylist()
    broken = [
        row
        for row in rows
        if row["p_value"] is not None
        and not (row["p_value"] <= row["p_holm"] <= 1 and row["low"] <= row["difference"] <= row["high"])
    ]
    step.checks = [check("corrected_p_values", not broken, broken=len(broken))]
    sure = sum(row["p_holm"] is not None and row["p_holm"] < 1 - confidence for row in rows)
    table = dg.MetadataValue.md(grid_markdown(comparison_grid(found)))
    step.metadata = {"significant": sure, "table": table}
    return step


@table_asset()
def judge_sensitivity(part: Part) -> Step:
    """What a judge is worth: half width of the PPI++ interval over its agreement with people, simulated."""
    values = part.values
    draws, confidence = values.judge.simulation_draws, values.evaluation.confidence

    def make() -> pa.Table:
        return sensitivity_to_agreement(AGREEMENTS, confidence=confidence, draws=draws, seed=values.seed)

    step = part.made(make, AGREEMENTS)
    found = part.read()
    rows = found.to_pylist()
    plot = picture(sensitivity_plot(rows, fmt="png"), "Half width of the interval over agreement with people")
    widths = {f"half_width_at_{100 * row['agreement']:.0f}": row["half_width"] for row in rows[-9:]}
    step.metadata = {"plot": plot, **widths}
    return step
