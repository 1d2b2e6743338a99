"""Errors of the runtime that imply a specific repair."""

from __future__ import annotations

from collections.abc import Mapping

from healthcheck.text.messages import msg

RUNTIME_ERRORS = {
    "107001": msg(
        "write ASCEND_RT_VISIBLE_DEVICES in ascending order, with numbers from 0 that exist, or unset it"
    ),
    "507899": msg(
        "the driver's library found no usable device: the card is held by another container, or "
        "its device nodes are missing; see runner/npu-smi"
    ),
    "drvRetCode=87": msg("the driver found no usable device; see runner/npu-smi"),
}


def known_repair(text: str, table: Mapping[str, str]) -> str:
    """The repair of the first error of the table in the text, or ""."""
    return next((fix for words, fix in table.items() if words in text), "")
