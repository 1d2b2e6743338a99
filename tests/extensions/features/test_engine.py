"""A real vLLM with small weights: its grammar enforces tools and formats of which the model knows nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from healthcheck.cli import main
from tests.support.engines import NEW, vllm, weights_of

GRAMMAR = json.dumps({"backend": "xgrammar", "disable_any_whitespace": True})
OPTIONS = ("--enable-auto-tool-choice", "--tool-call-parser", "hermes", "--structured-outputs-config", GRAMMAR)


@pytest.mark.engine
@pytest.mark.timeout(900)
def test_vllm_enforces_what_it_takes(tmp_path: Path) -> None:
    with vllm(NEW, weights_of("dense"), tmp_path, *OPTIONS) as url:
        main(["features", url, "--n", "4", "--json", str(tmp_path / "r.json"), "--quiet"])
    checks = {check["id"]: check for check in json.loads((tmp_path / "r.json").read_text("utf-8"))["checks"]}
    assert {name for name, check in checks.items() if check["outcome"] == "fail"} == set()
    assert checks["features/tool-choice"]["outcome"] == checks["features/parameters"]["outcome"] == "pass"
    said = checks["features/tool-calls"]["detail"]
    assert "tool_choice auto" in said, "the model never calls of its own accord"
    assert "tool_choice required" not in said
    said = checks["features/structured-output"]["detail"]
    assert "(guided_json)" in said, "vLLM 0.12 and later swallow it"
    assert not [name for name in ("(json_schema", "(structured_outputs") if name in said]
