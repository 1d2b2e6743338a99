"""Configurations of AISBench are read as they were written, and never run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthcheck.extensions.service_report.config_text import parse
from tests.support.aisbench_files import render_configuration

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["models", "datasets", "cli_args"]), json_values))
def test_configurations_are_read_as_they_were_written(sections: dict[str, object]) -> None:
    assert parse(render_configuration(sections)) == sections


@pytest.mark.parametrize(
    "text", ["__import__('os').system('x')", "a=open('/etc/passwd')", "a=1+", "a=" + "(" * 5000]
)
def test_configurations_are_never_run(text: str) -> None:
    assert set(parse(text).values()) <= {None}


def test_keys_that_are_no_plain_words_survive() -> None:
    sections = {"models": {"if": 1, "class": [True], "𝐀": None, "a b": -1.5, "": "x"}}
    assert parse(render_configuration(sections)) == sections
