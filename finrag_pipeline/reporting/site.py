"""The pages of the report as a site: its menu, and the templates that all of them share."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates"
"""Folder of the templates, and of the style sheets and scripts that go with them."""

PAGES = {
    "Overview": "index.html",
    "Questions": "questions.html",
    "Filings": "filings.html",
    "Method": "method.html",
}
"""Name and file of every page in the menu, in its order."""


def render_page(template: str, here: str, root: str = "", **context: Any) -> str:
    """One page as HTML; every text in it is escaped.

    Args:
        template: file in `TEMPLATES`; extends ``base.html.jinja``.
        here: its name in the menu, or that of the page it belongs to.
        root: the way up to ``index.html``: empty, or ``../`` for pages in a folder.
        context: what the template shows.
    """
    pages = list(PAGES.items())
    return _environment().get_template(template).render(here=here, root=root, pages=pages, **context)


@cache
def _environment() -> Environment:
    # Kept, so that a template is compiled once for hundreds of pages.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
