"""Orchestration: everything that knows Dagster, kept thin. The domain never imports from here."""

import warnings

import dagster as dg

# Used knowingly, and pinned by the golden test of the graph; a warning per asset would bury the one line that
# people, and the one JSON object that programs, look for on stderr.
warnings.filterwarnings("ignore", message="Parameter `(backfill_policy|owners)`", category=dg.BetaWarning)
warnings.filterwarnings(
    "ignore", message="Specifying a partitions_def on an AssetCheckSpec", category=dg.PreviewWarning
)
