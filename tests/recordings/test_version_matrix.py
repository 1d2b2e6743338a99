"""The version matrix of vllm-ascend, as its documents have it."""

from __future__ import annotations

import json

from healthcheck.ascend import stacks
from tests.support.recordings import recording


def test_the_rows_are_those_of_the_recorded_table():
    recorded = json.loads(recording("ascend/version_matrix.json").read_bytes())
    for each in recorded["rows"]:
        row = stacks.row(each["vllm_ascend"])
        assert (row.cann, row.torch, row.torch_npu, row.python) == tuple(
            each[name] for name in ("cann", "torch", "torch_npu", "python")
        )
    recorded_rows = {
        each["vllm_ascend"].removeprefix("v")
        for each in (*recorded["rows"], *recorded["derived_rows"])
    }
    assert recorded_rows < {row.vllm_ascend for row in stacks.rows()}
