"""Problems that only the service has, and the HTTP status of every problem."""

from __future__ import annotations

from finrag_pipeline.errors import FinragError, UsageError

_LONGEST_TEXT = 500
NO_MCP = ("The MCP SDK is not installed.", "Install the mcp extra: pip install 'finrag_pipeline[mcp]'.")


class NotFoundError(UsageError):
    """A filing or system that does not exist."""


class NotReadyError(FinragError):
    """Nothing can be searched: models are being loaded, or the lake holds nothing."""


class BusyError(FinragError):
    """The request came too late or took too long; the same one may succeed a little later."""


def status_of(error: FinragError) -> int:
    """HTTP status of a problem: 404 and 400 for what the caller got wrong, 503 for what is missing here."""
    if isinstance(error, NotFoundError):
        return 404
    return 400 if isinstance(error, UsageError) else 503


def problem(error: str, remedy: str) -> dict[str, str]:
    """The body of every answer that is an error; always text that UTF-8 can hold."""
    return {"error": _sendable(error), "remedy": _sendable(remedy)}


def _sendable(text: str) -> str:
    # A caller can put half of a surrogate pair into a field name, which is then quoted here.
    text = text.encode("utf-8", "replace").decode()
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]} …"
