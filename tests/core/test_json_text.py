"""JSON from strangers: how much of it there is, before it is parsed."""

from __future__ import annotations

import json

import pytest

from healthcheck.system.json_text import JsonError, load_few


@pytest.mark.parametrize(
    "value",
    [
        [1] * 100,
        [[]] * 51,
        [{}] * 51,
        {str(number): number for number in range(101)},
        ["a,[{\\"] * 100,
        ['"', "\\", '\\"', ","] * 25,
    ],
)
def test_values_count_and_what_strings_hold_does_not(
    value: list[object] | dict[str, object],
) -> None:
    text = json.dumps(value).encode()
    most = 101 if isinstance(value, dict) else 2 * len(value) if value[0] in ([], {}) else 100
    assert load_few(text, object, most) == value
    with pytest.raises(JsonError, match=f"more than {most - 1} values"):
        load_few(text, object, most - 1)
