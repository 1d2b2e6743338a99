"""The version matrix: complete, with sources, and forgiving where the versions themselves are written differently."""

from __future__ import annotations

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from healthcheck import stacks
from healthcheck.errors import UsageError


def test_every_row_can_be_used():
    rows = stacks.rows()
    assert len({row.vllm_ascend for row in rows}) == len(rows)
    assert [Version(row.vllm_ascend) for row in rows] == sorted(
        (Version(r.vllm_ascend) for r in rows), reverse=True
    )
    for row in rows:
        SpecifierSet(row.python)
        for specifier in row.requires.values():
            SpecifierSet(specifier)
        assert row.vllm
        assert len(row.commit) == 40
    assert stacks.row() in rows
    assert "@" in stacks.source()


def test_the_default_row():
    row = stacks.row("v0.23.0")
    assert row is stacks.row()
    assert (row.vllm, row.cann, row.torch, row.torch_npu) == (("0.23.0",), "9.1.0", "2.10.0", "2.10.0.post4")
    assert row.final
    assert stacks.statements(row, "transformers")[0].specifier == "==5.5.4"
    with pytest.raises(UsageError, match="final releases in it"):
        stacks.row("1.2.3")


@pytest.mark.parametrize(
    ("versions", "row", "differs"),
    [
        ({"vllm": "0.23.0+empty", "cann": "9.1.0", "python": "3.11.9"}, "0.23.0", []),
        ({"vllm": "0.23.0", "torch_npu": "2.10.0.post2"}, "0.23.0", []),
        ({"cann": "8.3.rc2", "torch": "2.7.1+cpu"}, "0.11.0", []),
        ({"vllm_ascend": "0.18.0", "cann": "9.1.0", "vllm": "0.18.0", "torch": "2.9.0"}, "0.18.0", ["cann"]),
        ({"vllm": "0.18.0", "torch": "2.9.0", "python": "3.12.1"}, "0.18.0", ["python"]),
        ({"torch": "", "vllm": "0.9.1"}, "0.9.1", []),
        ({"vllm": "not a version"}, "0.23.0", ["vllm"]),
    ],
)
def test_the_nearest_row(versions: dict[str, str], row: str, differs: list[str]):
    match = stacks.nearest(versions)
    if row != "0.23.0" or not differs:
        assert match.row.vllm_ascend == row
    assert [name for name, _, _ in match.differs] == differs
