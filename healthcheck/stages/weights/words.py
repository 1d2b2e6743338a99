"""Words for messages: sizes, lists of names, and a finding for a broken document."""

from __future__ import annotations

from collections.abc import Sequence

from healthcheck.core.check import At
from healthcheck.core.records import Finding
from healthcheck.stages.weights.documents import Document
from healthcheck.stages.weights.folder import shown
from healthcheck.text.messages import msg

AGAIN = msg("take it from the model's original repository again")


def gigabytes(size_bytes: float) -> str:
    """A size in powers of ten, like the service's limit: "1.24 GB"."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if abs(size_bytes) >= factor:
            return msg("{size_bytes:,.2f} {unit}", size_bytes=size_bytes / factor, unit=unit)
    return msg("{size_bytes:,.0f} bytes", size_bytes=size_bytes)


def some(names: Sequence[str], limit: int = 5) -> str:
    """The first names of a list, and the number of the others."""
    listed = ", ".join(shown(name) for name in names[:limit])
    return (
        listed
        if len(names) <= limit
        else msg("{listed} and {names:,} more", listed=listed, names=len(names) - limit)
    )


def broken(document: Document, fix: str = AGAIN) -> Finding:
    """A failure for a document that is present but not a JSON object."""
    seen = msg("{name} {error}", name=shown(document.name), error=document.error)
    return At(shown(document.name)).fail(expected=msg("a JSON object in UTF-8"), seen=seen, fix=fix)
