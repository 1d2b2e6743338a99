"""Words that several checks of the probe share."""

from __future__ import annotations

from healthcheck.redact import beginning


def excerpt(text: str) -> str:
    """The beginning of an answer, quoted."""
    return repr(beginning(text, 80) + ("…" if len(text) > 80 else ""))
