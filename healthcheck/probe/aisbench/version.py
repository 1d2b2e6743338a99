"""The version column of a summary: a digest of how the prompt is made, and of nothing else.

It covers neither the data's size nor any sampling parameter, and for an unchanged prompt it changed with AISBench's
release, because the names of the types are part of it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

from healthcheck.messages import msg
from healthcheck.records import JsonValue

_ROOT = "ais_bench.benchmark.openicl"


_INFERENCER = f"{_ROOT}.icl_inferencer.icl_gen_inferencer.GenInferencer"
_TEMPLATE = f"{_ROOT}.icl_prompt_template.icl_prompt_template.PromptTemplate"
_RETRIEVER = f"{_ROOT}.icl_retriever.icl_zero_retriever.ZeroRetriever"
KNOWN = {
    "0ba9da": msg("the stock 4-shot GSM8K chat prompt, AISBench up to March 2026"),
    "f588a9": msg("the stock 4-shot GSM8K chat prompt, AISBench from April 2026"),
}


def infer_config(rounds: Sequence[tuple[str, str]]) -> dict[str, JsonValue]:
    """AISBench's `infer_cfg` for a chat prompt of (role, text) rounds, with the template twice, as it has it."""

    def template() -> dict[str, JsonValue]:
        turns: list[JsonValue] = [{"prompt": text, "role": role} for role, text in rounds]
        return {"template": {"round": turns}, "type": _TEMPLATE}

    return {
        "inferencer": {"type": _INFERENCER},
        "prompt_template": template(),
        "retriever": {"prompt_template": template(), "type": _RETRIEVER},
    }


def version_of(infer_cfg: Mapping[str, JsonValue]) -> str:
    """The six hex digits of the version column."""
    return hashlib.sha256(json.dumps(infer_cfg, sort_keys=True).encode()).hexdigest()[:6]
