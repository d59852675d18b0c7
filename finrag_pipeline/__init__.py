"""finrag_pipeline: financial filings to a searchable, measured index.

``finrag_pipeline.open`` gives a lake to notebooks and scripts; all else is imported from its submodule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from os import PathLike

    from finrag_pipeline.services.notebook import OpenLake

__version__ = "0.1.0"


def open(lake: str | PathLike[str] | None = None) -> OpenLake:
    """A lake to search, ask and look into; that of the settings (``FINRAG_LAKE``) when None.

    Raises:
        LakeError: there is no such lake.
        UsageError: a setting in the environment is wrong.
    """
    from finrag_pipeline.services.notebook import OpenLake
    from finrag_pipeline.settings import get_settings

    settings = get_settings()
    return OpenLake(settings if lake is None else settings.model_copy(update={"lake": str(lake)}))
