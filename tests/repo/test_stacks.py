"""The version matrix: complete, with sources, and forgiving where the versions themselves are written differently."""

from __future__ import annotations

import re

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from healthcheck.ascend import schemes, stacks
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
        assert row.cann
        assert re.fullmatch(r"[0-9a-f]{7,40}", row.commit or "")
        assert schemes.registry(row.vllm_ascend)
    assert stacks.row() in rows
    assert "versioning_policy" in stacks.source()


def test_the_default_row():
    row = stacks.row("v0.23.0.post1")
    assert row is stacks.row()
    assert (row.vllm, row.cann, row.torch, row.torch_npu) == (
        ("0.23.0",),
        "9.1.0",
        "2.10.0",
        "2.10.0.post4",
    )
    assert row is next(each for each in stacks.rows() if each.final)
    assert stacks.statements(row, "transformers")[0].specifier == "==5.5.4"


@pytest.mark.parametrize(
    ("asked", "row", "known"),
    [
        ("", "0.23.0.post1", True),
        ("0.18.0", "0.18.0", True),
        ("v0.23", "0.23.0", True),
        ("0.30.0-rc.1", "0.30.0rc1", True),
        ("v0.18.0-a3", "0.18.0", True),
        ("v0.23.0-310p-openeuler", "0.23.0", True),
        ("0.99.0", "0.30.0rc2", False),
        ("0.29.0", "0.29.0rc1", False),
        ("0.23.0.post7", "0.23.0.post1", False),
        ("0.0.1", "0.7.3", False),
    ],
)
def test_a_release_without_a_row_is_judged_by_the_one_before_it(asked: str, row: str, known: bool):
    choice = stacks.choose(asked)
    assert choice.row.vllm_ascend == row
    doubt = f"the version matrix has no row of vllm-ascend {asked}: judged as {row}, the nearest of 0.7.3 to 0.30.0rc2"
    assert choice.doubt == ("" if known else doubt)


@pytest.mark.parametrize(
    ("asked", "words"), [("0.23.O", "did you mean 0.23.0"), ("newest", "final ones: 0.23.0.post1")]
)
def test_what_is_no_version_is_wrong_usage(asked: str, words: str):
    with pytest.raises(UsageError, match=words):
        stacks.choose(asked)


def test_several_releases_in_words():
    known = ("0.18.0", "0.9.1", "0.23.0", "0.26.0", "0.27.1", "0.33.0")
    assert stacks.spans(known, known) == "0.9.1 to 0.33.0"
    assert stacks.spans(("0.33.0", "0.18.0", "0.23.0"), known) == "0.18.0, 0.23.0, 0.33.0"
    assert stacks.spans(("0.9.1", "0.26.0", "0.27.1", "0.33.0"), known) == "0.9.1, 0.26.0 to 0.33.0"
    assert stacks.spans((), known) == ""


@pytest.mark.parametrize(
    ("versions", "row"),
    [
        ({"vllm": "0.23.0+empty", "cann": "9.1.0", "python": "3.11.9"}, "0.23.0.post1"),
        ({"vllm_ascend": "0.23.0", "cann": "9.1.0", "python": "3.11.9"}, "0.23.0"),
        ({"vllm": "0.23.0", "torch_npu": "2.10.0.post2"}, "0.23.0.post1"),
        ({"cann": "8.3.rc2", "torch": "2.7.1+cpu"}, "0.11.0"),
        ({"vllm_ascend": "0.18.0", "cann": "9.1.0", "vllm": "0.18.0", "torch": "2.9.0"}, "0.18.0"),
        ({"vllm": "0.18.0", "torch": "2.9.0", "python": "3.12.1"}, "0.18.0"),
        ({"torch": "2.9.0"}, "0.18.0"),
        ({"cann": "8.5.0"}, "0.13.0"),
        ({"torch": "", "vllm": "0.9.1"}, "0.9.1"),
        ({"vllm": "not a version"}, "0.23.0.post1"),
    ],
    ids=str,
)
def test_the_nearest_row(versions: dict[str, str], row: str):
    assert stacks.nearest(versions).vllm_ascend == row
