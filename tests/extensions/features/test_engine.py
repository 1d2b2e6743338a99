"""A real vLLM with small weights: its grammar enforces tools and formats of which the model knows nothing.

Other small weights call tools or think of their own accord, and openai-python reads the same answers.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from healthcheck.cli import main
from healthcheck.extensions.features import facts, records
from healthcheck.extensions.features.reading import read
from healthcheck.extensions.features.records import AUTO, PLAIN, STREAMED, THINKING, Answer
from healthcheck.wire.client import Client
from healthcheck.wire.models import model_cards
from tests.support.engines import NEW, program, vllm, weights_of

pytestmark = [pytest.mark.engine, pytest.mark.timeout(900)]
GRAMMAR = json.dumps({"backend": "xgrammar", "disable_any_whitespace": True})
OPTIONS = (
    "--enable-auto-tool-choice",
    "--tool-call-parser",
    "hermes",
    "--structured-outputs-config",
    GRAMMAR,
)
CLIENT = Path(__file__).with_name("openai_view.py")


def asked(url: str, place: Path, *words: str) -> dict[str, dict[str, str]]:
    main(["features", url, "--json", str(place), "--quiet", *words])
    return {check["id"]: check for check in json.loads(place.read_text("utf-8"))["checks"]}


def seen_by_both(url: str) -> dict[str, tuple[Answer, dict[str, Any]]]:
    """What the kit and openai-python hold of each answer at temperature 0 that the server gives."""
    client = Client(url)
    usual = {
        "model": model_cards(client.models().body)[0]["id"],
        "temperature": 0,
        "max_tokens": 512,
    }
    bodies = {
        name: usual | body for name, body in facts.requests(2048).items() if name != records.STOP
    }
    bodies = {name: body for name, body in bodies.items() if body["temperature"] == 0}
    ours = {name: read(client.chat(body)) for name, body in bodies.items()}
    given = {name: bodies[name] for name, answer in ours.items() if not answer.said}
    command = [program(NEW, "python"), CLIENT]
    told = json.dumps({"url": url, "bodies": given})
    done = subprocess.run(command, input=told, stdout=subprocess.PIPE, text=True, check=True)
    return {name: (ours[name], view) for name, view in json.loads(done.stdout).items()}


def agree(url: str) -> dict[str, Answer]:
    both = seen_by_both(url)
    for name, (ours, theirs) in both.items():
        calls = [[call.name, call.arguments] for call in ours.calls]
        assert {"text": ours.text, "calls": calls, "finish": ours.finish} == theirs, name
    return {name: ours for name, (ours, _) in both.items()}


def test_vllm_enforces_what_it_takes(tmp_path: Path) -> None:
    with vllm(NEW, weights_of("dense"), tmp_path, *OPTIONS) as url:
        checks = asked(url, tmp_path / "r.json", "--n", "4")
        agree(url)
    assert {name for name, check in checks.items() if check["outcome"] == "fail"} == set()
    assert (
        checks["features/tool-choice"]["outcome"]
        == checks["features/parameters"]["outcome"]
        == "pass"
    )
    said = checks["features/tool-calls"]["detail"]
    assert "tool_choice auto" in said, "the model never calls of its own accord"
    assert "tool_choice required" not in said
    said = checks["features/structured-output"]["detail"]
    assert "(guided_json)" in said, "vLLM 0.12 and later swallow it"
    assert not [name for name in ("(json_schema", "(structured_outputs") if name in said]
    assert "no thoughts in 4 answers" in checks["features/reasoning"]["detail"]
    assert "does not repeat a number" in checks["features/long-context"]["detail"], (
        "and too much is refused"
    )


def test_a_model_that_calls_tools_is_read_as_openai_python_reads_it(tmp_path: Path) -> None:
    with vllm(NEW, weights_of("calling"), tmp_path, *OPTIONS) as url:
        checks = asked(url, tmp_path / "r.json")
        answers = agree(url)
    assert checks["features/tool-calls"]["outcome"] == "pass", checks["features/tool-calls"][
        "detail"
    ]
    assert checks["features/tool-rate"]["outcome"] == "pass", checks["features/tool-rate"]["detail"]
    said = checks["features/tool-choice"]["detail"]
    assert "'<tool_call>" in said, "with none, vLLM shows the model its tools, and parses no call"
    assert said.count("\n") == 0
    assert [call.name for call in answers[AUTO + STREAMED].calls] == ["get_weather"]


def test_thoughts_are_where_the_parser_puts_them(tmp_path: Path) -> None:
    """The template does not know enable_thinking; with false, vLLM's parser takes the thoughts for content."""
    with vllm(NEW, weights_of("thinking"), tmp_path, "--reasoning-parser", "qwen3") as url:
        checks = asked(url, tmp_path / "r.json", "--n", "1")
        answers = agree(url)
    assert answers[THINKING].reasoning == answers[THINKING + STREAMED].reasoning != ""
    said = checks["features/reasoning"]["detail"]
    assert checks["features/reasoning"]["outcome"] == "fail"
    assert f"({THINKING}" not in said
    assert f"({PLAIN})" in said
    assert f"({PLAIN}{STREAMED})" in said


def test_a_model_that_finds_a_number_finds_it_in_all_of_the_promised_length(tmp_path: Path) -> None:
    with vllm(NEW, weights_of("finding"), tmp_path) as url:
        long = asked(url, tmp_path / "r.json", "--n", "1")["features/long-context"]
    assert long["outcome"] == "pass", long["detail"]
    assert "of 2048 tokens" in long["detail"]


def test_a_window_over_the_last_tokens_loses_the_number(tmp_path: Path) -> None:
    window = {"use_sliding_window": True, "sliding_window": 512, "max_window_layers": 0}
    layers = {"layer_types": ["sliding_attention"] * 2}
    with vllm(
        NEW, weights_of("finding"), tmp_path, "--hf-overrides", json.dumps(window | layers)
    ) as url:
        long = asked(url, tmp_path / "r.json", "--n", "1")["features/long-context"]
    assert long["outcome"] == "fail"
    assert "(a number at 50 %)" in long["detail"]
    assert "(a number at 90 %)" not in long["detail"]
