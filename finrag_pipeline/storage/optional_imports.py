"""Libraries without the integrations that they look for when they are loaded: nothing here uses those.

NLTK, LightGBM and PyArrow try to import scikit-learn, SciPy and pandas, which takes seconds at a cold start.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from typing import Any

UNUSED = ("sklearn", "pandas", "matplotlib", "dask")


class _Hidden(MetaPathFinder):
    """Finds some modules to be missing."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names

    def find_spec(self, fullname: str, *_: Any) -> None:
        if fullname in self._names:
            raise ModuleNotFoundError(f"{fullname} is not used here", name=fullname)


@contextmanager
def without(*modules: str) -> Iterator[None]:
    """Let imports inside find none of ``modules``, as if not installed; what is loaded already stays.

    Args:
        modules: names of modules that are optional to what is imported.
    """
    hidden = _Hidden(modules)
    sys.meta_path.insert(0, hidden)
    try:
        yield
    finally:
        sys.meta_path.remove(hidden)
