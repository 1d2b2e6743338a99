"""YAML from strangers: bounded while it is read, and like any other below the bounds."""

from __future__ import annotations

import itertools

import pytest

from healthcheck.system.yaml_text import MAX_CHARACTERS, MAX_DEPTH, YamlBoundError, YamlError, load
from tests.support.limited import limited


def aliases(levels: int, merged: bool = False) -> str:
    """Each level has nine aliases of the one before: 9 ** levels values when they are written out."""
    names = "abcdefghij"[:levels]
    lines = ["a: &a {x: 1}" if merged else "a: &a [x, x, x, x, x, x, x, x, x]"]
    for before, name in itertools.pairwise(names):
        nine = ", ".join([f"*{before}"] * 9)
        lines.append(f"{name}: &{name} {{<<: [{nine}]}}" if merged else f"{name}: &{name} [{nine}]")
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("largest", "larger"),
    [
        (
            "[" * (MAX_DEPTH - 1) + "1" + "]" * (MAX_DEPTH - 1),
            "[" * MAX_DEPTH + "1" + "]" * MAX_DEPTH,
        ),
        ("- " * (MAX_DEPTH - 1) + "1", "- " * MAX_DEPTH + "1"),
        (f"a: {'x' * (MAX_CHARACTERS - 3)}", f"a: {'x' * (MAX_CHARACTERS - 2)}"),
        (aliases(5), aliases(6)),
        (aliases(4, merged=True), aliases(6, merged=True)),
        ("a: &a [1]\nb: *a", "a: &a [*a]"),
        ("a: &a {b: 1}", "a: &a {b: *a}"),
    ],
)
def test_the_bounds_are_where_they_are_said_to_be(largest: str, larger: str) -> None:
    assert load(largest)
    with pytest.raises(YamlBoundError):
        load(larger)


def test_anchors_and_merges_of_ordinary_size_are_read() -> None:
    found = load(
        "base: &base {dtype: float16, tp: 8}\nsmall: {<<: *base, tp: 1}\nlist: [*base, *base]\n"
    )
    assert isinstance(found, dict)
    assert found["small"] == {"dtype": "float16", "tp": 1}
    assert found["list"] == [{"dtype": "float16", "tp": 8}] * 2


def test_depth_counts_through_aliases() -> None:
    lines = ["a0: &a0 [1]", *(f"a{at}: &a{at} [*a{at - 1}]" for at in range(1, MAX_DEPTH + 1))]
    assert load("\n".join(lines[: MAX_DEPTH - 3]))
    with pytest.raises(YamlBoundError):
        load("\n".join(lines))


@pytest.mark.parametrize(
    "text", ["? [a]\n: b", "a: !!python/object:os.system x", "a: [", "a: \x00"]
)
def test_what_is_no_plain_yaml_is_an_error_and_no_bound(text: str) -> None:
    with pytest.raises(YamlError) as raised:
        load(text)
    assert not isinstance(raised.value, YamlBoundError)


@pytest.mark.process
@pytest.mark.parametrize(
    "text", ["aliases(9)", "aliases(9, merged=True)", "'[' * 200_000", "'? ' * 100_000"]
)
def test_a_small_text_takes_little_memory_and_time(text: str) -> None:
    code = (
        "from healthcheck.system.yaml_text import load, YamlBoundError\n"
        "from tests.core.test_yaml_text import aliases\n"
        f"try:\n    print(str(load({text}))[:9])\nexcept YamlBoundError:\n    print('bounded')\n"
    )
    done = limited("-c", code, cpu_s=30)
    assert done.stdout == "bounded\n", done.stderr[-500:]
