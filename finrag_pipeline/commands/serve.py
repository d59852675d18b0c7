"""The command ``finrag serve``."""

from __future__ import annotations

from typing import Annotated

import typer

from finrag_pipeline.commands.console import current_settings, err, out


def serve(
    host: Annotated[
        str, typer.Option(help="Address to listen on; others than loopback let other machines search.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes any free one.")] = 8600,
) -> None:
    """Answer searches over HTTP, with models loaded once; Ctrl-C stops it."""
    # Only this command needs the web framework.
    from finrag_pipeline.serving.server import is_loopback
    from finrag_pipeline.serving.server import serve as answer

    if not is_loopback(host):
        warning = f"warning: everyone who can reach {host} can search; there is no log-in."
        err.print(warning, markup=False, soft_wrap=True)
    answer(current_settings(), host, port, lambda text: out.print(text, markup=False, soft_wrap=True))
