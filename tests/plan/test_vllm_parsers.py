"""plan/flags beside vLLM's own parsers: their recorded answers, and the vLLM that is here."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from healthcheck.core.records import Outcome
from healthcheck.stages.plan.checks.flags import flags
from healthcheck.stages.plan.vllm_cli.catalogue import Catalogue, catalogue
from healthcheck.stages.plan.vllm_cli.grammar import parse
from healthcheck.stages.plan.vllm_cli.values import judge
from tests.plan.test_flags import command, plan_of

ANSWERS = Path(__file__).with_name("vllm_parser_answers.json")
BEYOND_THE_PARSER = {
    ("--hf-overrides", '{"a":1'): "taken as text, and refused when it is used",
    ("--stream-interval", "0"): "refused by the configuration that is made of it",
    ("--cpu-offload-gb", "-1"): "refused by the configuration that is made of it",
    ("--video-pruning-rate", "1.5"): "refused by the configuration that is made of it",
    ("--gpu-memory-utilization", "nan"): "refused by the configuration that is made of it",
}
NOT_JUDGED = {
    ("--chat-template", "./x.jinja"): "a file that is not there is the plan stage's finding",
    ("--profiler-config", '{"profiler":"torch"}'): "a value that needs another value",
}
UNITS_IN_JSON_SINCE = "0.23.0"


def refused(argv: tuple[str, ...], release: Catalogue) -> bool:
    parsed = parse(argv, release)
    return bool(parsed.problems or tuple(judge(parsed, release, argv)))


ASKED = [(tuple(argv), tuple(takers)) for argv, takers in json.loads(ANSWERS.read_bytes())["asked"]]


@pytest.mark.parametrize("version", sorted({version for _, takers in ASKED for version in takers}))
def test_the_parsers_themselves_say_the_same(version: str):
    different = []
    for argv, takers in ASKED:
        if argv[1:3] in NOT_JUDGED or (
            version < UNITS_IN_JSON_SINCE and re.search(r"\d[kK]\}", argv[-1])
        ):
            continue
        taken = version in takers and argv[1:3] not in BEYOND_THE_PARSER
        if refused(argv, catalogue(version)) is taken:
            different.append((argv, taken))
    assert not different


@pytest.mark.engine
def test_the_recorded_answers_are_those_of_the_vllm_here(tmp_path: Path):
    python = Path(
        os.environ.get("VLLM_PYTHON", Path(__file__).parents[2] / ".venv-vllm" / "bin" / "python")
    )
    if not python.exists():
        pytest.skip("needs an environment with vLLM: set VLLM_PYTHON, or make .venv-vllm")
    script = Path(__file__).parents[2] / "scripts" / "make_flag_catalogue.py"
    subprocess.run((python, script, tmp_path), check=True, capture_output=True)
    made = next(tmp_path.glob("vllm-*.json"))
    kept = Path(__file__).parents[2] / "healthcheck" / "data" / made.name
    new, old = (json.loads(path.read_bytes()) for path in (made, kept))
    assert {**new, "made_on": ""} == {**old, "made_on": ""}


TWO_MODELS = ("/srv/weights --model /elsewhere", "--port 8000 /srv/weights --model=/elsewhere")


@pytest.mark.parametrize("line", TWO_MODELS)
@pytest.mark.parametrize("stack", ["", "0.18.0", "0.26.0rc1"])
def test_a_positional_model_beside_the_option_is_refused(line: str, stack: str):
    result = flags.judge(plan_of(command(*shlex.split(line)), stack))
    assert result.outcome is Outcome.FAIL
    (finding,) = result.findings
    assert finding.evidence["flag"] == "--model"
    assert finding.evidence["taken_by"] == []
    assert "/srv/weights" in finding.seen
    assert "--model" in finding.fix


@pytest.mark.engine
@pytest.mark.parametrize("environment", [".venv-vllm-0.23", ".venv-vllm"])
@pytest.mark.parametrize("line", TWO_MODELS)
def test_vllm_itself_refuses_a_positional_model_beside_the_option(line: str, environment: str):
    program = Path(__file__).parents[2] / environment / "bin" / "vllm"
    if not program.exists():
        pytest.skip(f"needs {environment}: an environment with vLLM")
    done = subprocess.run(
        (program, "serve", *shlex.split(line)), capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "unrecognized arguments: /srv/weights" in done.stderr
