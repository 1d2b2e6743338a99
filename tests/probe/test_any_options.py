"""Any options: a file says the same as the record, and any setting is taken or refused in words."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from healthcheck.errors import UsageError
from healthcheck.stages.probe.options.reading import as_toml, from_file, with_settings
from healthcheck.stages.probe.options.record import ProbeOptions, options

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)
VALUES = st.recursive(
    st.booleans() | st.integers(-(2**62), 2**62) | st.floats(-1e18, 1e18) | TEXTS | st.just(""),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
ANY = st.builds(
    ProbeOptions,
    system=st.none() | TEXTS,
    prompt=st.none() | TEXTS.map("{{question}} {}".format),
    temperature=st.none() | st.floats(0, 2),
    top_k=st.none() | st.integers(-1, 2**40),
    stop=st.none() | st.lists(TEXTS, min_size=1, max_size=3).map(tuple),
    logprobs=st.none() | st.booleans(),
    chat_template_kwargs=st.none() | st.dictionaries(TEXTS, VALUES, max_size=3),
    api_key_env=st.none() | TEXTS,
    gate=st.none() | st.just((0.3, 0.05, 0.01)),
)


@given(asked=ANY)
@settings(max_examples=200, deadline=None)
def test_a_file_says_the_same_as_the_record(
    asked: ProbeOptions, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("toml") / "probe.toml"
    path.write_text(as_toml(asked), "utf-8", newline="")
    assert from_file(path) == asked


@given(
    name=st.sampled_from([option.name for option in options()]),
    value=VALUES | TEXTS,
    dotted=st.none() | TEXTS,
)
@settings(max_examples=300, deadline=None)
def test_any_setting_is_taken_or_refused_in_words(
    name: str, value: object, dotted: str | None
) -> None:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    setting = f"{name}.{dotted.replace('=', '')}={text}" if dotted else f"{name}={text}"
    told, asked = "", ProbeOptions()
    try:
        asked = with_settings(asked, [setting])
    except UsageError as error:
        told = str(error)
    assert f"--set {name}" in told if told else getattr(asked, name) is not None
