"""Answers in words: equal after normalisation."""

from __future__ import annotations

import re
import unicodedata

from healthcheck.stages.probe.grading.numbers import normalise

_AROUND = " \t\n\"'“”‘’`*_$.。!！,，;；:：?？()（）[]{}<>「」『』、"


def same(text: str) -> str:
    """A canonical spelling: without case, surrounding punctuation, markup and English articles."""
    plain = unicodedata.normalize("NFKC", normalise(text)).casefold()
    plain = re.sub(r"_\{(\w{1,2})\}", r"_\1", plain)
    plain = re.sub(r"(?<=\d) ?([ap])\.?m\b\.?", r" \1m", plain)
    plain = re.sub(r"\s+", " ", plain).strip(_AROUND)
    plain = re.sub(r"\s*\{?:\}?\s*", ":", plain)
    plain = re.sub(r"\s*([-+*/=])\s*", r"\1", plain)
    return re.sub(r"^(?:the|an?)\s+(?=\S)", "", plain)
