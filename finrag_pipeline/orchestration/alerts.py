"""Telling people that something is wrong: a command of theirs, or a web address, from the settings."""

from __future__ import annotations

import json
import shlex
import subprocess

import httpx

_PATIENCE = 20.0


def tell(alert: str, text: str, **about: str) -> None:
    """Give a message to ``alert``, JSON with ``text``: posted to an address, or a command's standard input.

    Raises:
        httpx.HTTPError, OSError, subprocess.SubprocessError: it did not get there.
    """
    message = {"text": text, **about}
    if alert.startswith(("http://", "https://")):
        httpx.post(alert, json=message, timeout=_PATIENCE).raise_for_status()
    else:
        subprocess.run(shlex.split(alert), input=json.dumps(message).encode(), timeout=_PATIENCE, check=True)
