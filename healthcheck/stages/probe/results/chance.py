"""The finding about a loss, by how often one as large occurs by chance."""

from __future__ import annotations

from healthcheck.core.check import fail, note, warn
from healthcheck.core.records import Finding
from healthcheck.text.messages import msg

FAILS, WARNS = 0.001, 0.01


def judged(p_value: float, *, expected: str, seen: str, fix: str) -> Finding:
    """A failure or a warning if chance hardly explains what was seen, else a note of it."""
    if p_value > WARNS:
        return note(seen)
    seen = msg("{seen} (by chance in {share:.2g} % of such runs)", seen=seen, share=100 * p_value)
    return (fail if p_value <= FAILS else warn)(expected=expected, seen=seen, fix=fix)
