"""Automation conditions: what re-runs by itself.

Concept: https://docs.dagster.io/guides/automate/declarative-automation
"""

import dagster as dg


def on_changed_data() -> dg.AutomationCondition:
    """Re-run a filing's child when its parent's data changed, not merely when the parent ran again.

    ``AutomationCondition.eager()`` would re-run children whose parent came back unchanged.
    """
    condition = dg.AutomationCondition
    changed = condition.any_deps_match(condition.data_version_changed())
    return (
        (condition.newly_missing() | changed | condition.code_version_changed()).since(
            condition.newly_requested() | condition.newly_updated() | condition.initial_evaluation()
        )
        & ~condition.any_deps_missing()
        & ~condition.any_deps_in_progress()
        & ~condition.in_progress()
        & condition.all_deps_blocking_checks_passed()
    ).with_label("on_changed_data")


def on_corpus_change() -> dg.AutomationCondition:
    """Re-run a corpus-wide asset when any filing changed.

    Without ``any_deps_missing``: one filing that cannot be read would otherwise hold it back for ever.
    """
    condition = dg.AutomationCondition
    return condition.eager().without(~condition.any_deps_missing()).with_label("on_corpus_change")


AUTOMATION = {"data": on_changed_data(), "corpus": on_corpus_change(), "": None}
"""Conditions by their name in the catalogue."""
