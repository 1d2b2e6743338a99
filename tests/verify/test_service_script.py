"""A service that runs another script, asks for another model name, as another user, more or less at once."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from healthcheck import contract
from healthcheck.cli import main
from healthcheck.contract import Service
from healthcheck.core.records import Outcome
from healthcheck.extensions.simulator import Behaviour, Simulator
from healthcheck.stages.endpoint.checks import CHECKS
from healthcheck.stages.endpoint.facts import interview
from healthcheck.stages.endpoint.prompts import line
from healthcheck.stages.probe.records import ProbeSettings
from healthcheck.stages.service.records import LaunchOutcome
from healthcheck.text.language import Language, translation
from healthcheck.text.messages import joined, msg, plural
from healthcheck.text.redact import without_secrets
from healthcheck.verify import catalogue
from tests.service.launching import service
from tests.support.catalogues import translations
from tests.support.interviews import PATIENT
from tests.support.repositories import git, repository

GOOD = 'exec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000'
TEMPLATE = re.compile(r'^ *"(?:template|plural)": .*$', re.MULTILINE)
"""What a report keeps for translation."""


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    folder = tmp_path / "weights"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "qwen3"}')
    return folder


@pytest.fixture
def another_script() -> Iterator[None]:
    with contract.judging_for(Service(entry_point="start.sh")):
        yield


def verified(folder: Path, weights: Path, profile: str, *options: str) -> dict:
    room, file = folder.parent / "room.toml", folder.parent / "report.json"
    room.write_text(profile, encoding="utf-8")
    words = [
        "--weights",
        str(weights),
        "--until",
        "plan",
        "--service",
        str(room),
        "--json",
        str(file),
        *options,
    ]
    main(["verify", str(folder), *words])
    return json.loads(file.read_bytes())


def outcome(report: dict, id: str) -> dict:
    return next(check for check in report["checks"] if check["id"] == id)


def script(tmp_path: Path, text: str, name: str = "deploy.sh") -> Path:
    return repository(tmp_path / "repo", {name: f"#!/bin/bash\n{text}\n", "requirements.txt": ""})


def test_a_message_names_the_script_of_the_service_and_no_quotation_does(
    another_script: None,
) -> None:
    said = msg(
        "deploy.sh says {words}: deploy.sh, ./deploy.sh, my-deploy.sh, deploy.sh.txt",
        words="deploy.sh",
    )
    assert said == "start.sh says deploy.sh: start.sh, ./start.sh, my-deploy.sh, deploy.sh.txt"
    several = plural("{n} line of deploy.sh", "{n} lines of deploy.sh", 2, n=2)
    assert joined("; ", [several, "deploy.sh"]) == "2 lines of start.sh; deploy.sh"
    assert copy.deepcopy(said) == said


def test_a_message_of_an_imported_module_names_it_too() -> None:
    made = msg("deploy.sh stays")
    with contract.judging_for(Service(entry_point="my-deploy.sh")):
        assert (
            without_secrets(made) == translation(Language.ENGLISH).say(made) == "my-deploy.sh stays"
        )
    assert without_secrets(made) == "deploy.sh stays"


@pytest.mark.parametrize("language", Language)
def test_every_page_and_template_names_it(language: Language, another_script: None) -> None:
    say = translation(language).look_up
    pages = [catalogue.text(page, say) for page in catalogue.pages()]
    assert any("start.sh" in page for page in pages)
    assert [page for page in pages if "deploy.sh" in page] == []
    templates = [template for template, _ in translations(Language.CHINESE) if "{" not in template]
    assert [template for template in templates if "deploy.sh" in say(template)] == []


@pytest.mark.process
@pytest.mark.parametrize("language", Language)
def test_a_run_names_no_other_script(
    language: Language,
    tmp_path: Path,
    weights: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NPU_ADAPTER_LANG", language.value)
    text = (
        f'set -e\nroot=$(git rev-parse --show-toplevel)\necho "${{1:?usage: port}}" "$root"\n{GOOD}'
    )
    folder, out = script(tmp_path, text, "start.sh"), tmp_path / "out"
    report = verified(folder, weights, 'entry-point = "start.sh"', "--verbose", "--out", str(out))
    assert outcome(report, "repo/deploy-sh-present")["outcome"] == "pass"
    arguments = outcome(report, "plan/no-arguments")
    assert (arguments["outcome"], arguments["evidence"][0]["where"]) == ("fail", "start.sh:4")
    assert (
        "requirements.txt and start.sh must be" in outcome(report, "repo/deploy-sh-present")["rule"]
    )
    pages = [file.read_text("utf-8") for file in out.iterdir() if file.is_file()]
    for said in (capsys.readouterr().out, *pages):
        assert "start.sh" in said
        assert "deploy.sh" not in TEMPLATE.sub("", said)


@pytest.mark.process
def test_the_script_of_the_public_page_is_another_file_there(tmp_path: Path, weights: Path) -> None:
    folder = script(tmp_path, GOOD)
    found = outcome(verified(folder, weights, 'entry-point = "start.sh"'), "repo/deploy-sh-present")
    assert found["outcome"] == "fail"
    assert found["evidence"][0]["command"] == f"(cd {folder} && git mv deploy.sh start.sh)"
    git(folder, "mv", "deploy.sh", "start.sh")
    git(folder, "commit", "-q", "-m", "Renamed")
    assert verified(folder, weights, 'entry-point = "start.sh"')["verdict"] == "ready"
    with_break = (folder / "start.sh").read_bytes().replace(b"\n", b"\r\n")
    (folder / "start.sh").write_bytes(with_break)
    git(folder, "commit", "-q", "-a", "-m", "Broken")
    broken = outcome(verified(folder, weights, 'entry-point = "start.sh"'), "repo/deploy-sh-syntax")
    assert "sed -i 's/\\r$//' start.sh" in broken["evidence"][0]["command"]
    verified(folder, weights, 'entry-point = "start.sh"', "--fix")
    assert b"\r" not in (folder / "start.sh").read_bytes()


@pytest.mark.process
def test_the_launch_runs_it(tmp_path: Path, another_script: None) -> None:
    running = service(tmp_path, "exec SERVER PORT")
    (tmp_path / "export" / "deploy.sh").rename(tmp_path / "export" / "start.sh")
    with running:
        assert (running.launch.outcome, running.launch.command) == (
            LaunchOutcome.READY,
            ("bash", "start.sh"),
        )


@pytest.mark.process
def test_the_launch_has_to_serve_the_name_that_requests_use(tmp_path: Path, weights: Path) -> None:
    folder, profile = script(tmp_path, GOOD), 'served-name = "qwen"'
    found = outcome(verified(folder, weights, profile), "plan/served-name")
    assert (found["outcome"], found["fix"]) == ("fail", "pass --served-model-name qwen")
    assert found["rule"].startswith("“Requests ask for the model by the name qwen.” — ")
    assert "by the name qwen" in found["why"]
    with contract.judging_for(Service(served_name="qwen")):
        launch = str(contract.LAUNCH)
    (folder / "deploy.sh").write_text(f"#!/bin/sh\n{launch}\n", encoding="utf-8")
    git(folder, "commit", "-q", "-a", "-m", "repaired")
    assert verified(folder, weights, profile)["verdict"] == "ready"
    verified(folder, weights, "", "--fix")
    assert "--served-model-name" not in (folder / "deploy.sh").read_text("utf-8")
    git(folder, "checkout", "-q", "deploy.sh")
    other = 'served-name = "gpt"\n[sentences]\nserved-name = "Call it gpt."'
    found = outcome(verified(folder, weights, other, "--fix"), "plan/served-name")
    assert found["rule"].startswith("“Call it gpt.” — ")
    assert "--served-model-name qwen" in (folder / "deploy.sh").read_text("utf-8")


@pytest.mark.process
def test_the_endpoint_is_asked_for_that_name(tmp_path: Path) -> None:
    (check,) = (each for each in CHECKS if each.id == "endpoint/model-name")
    with (
        Simulator(Behaviour(model="qwen")) as simulator,
        contract.judging_for(Service(served_name="qwen")),
    ):
        assert (
            check.judge(interview(simulator.url, weights="/weights", limits=PATIENT)).outcome
            is Outcome.PASS
        )
        assert check.title == "The model is served under the name qwen"
    with (
        Simulator(Behaviour(model="/weights")) as simulator,
        contract.judging_for(Service(served_name="qwen")),
    ):
        result = check.judge(interview(simulator.url, weights="/weights", limits=PATIENT))
    assert result.outcome is Outcome.FAIL
    assert result.findings[0].fix == "serve it under that name: --served-model-name qwen"
    assert check.title == "The model is served under the weight path"


def test_the_probe_asks_for_that_name() -> None:
    with contract.judging_for(Service(served_name="qwen")):
        assert ProbeSettings(url="").model == "qwen"
    assert ProbeSettings(url="").model == ""


@pytest.mark.process
def test_a_known_user_is_whom_the_script_finds_and_may_not_do_what_root_may(
    tmp_path: Path, weights: Path
) -> None:
    folder = script(
        tmp_path, f'set -e\n[ "$(id -u) $(whoami) $USER" = "1000 ops ops" ]\napt-get update\n{GOOD}'
    )
    known = verified(folder, weights, '[known]\nnetwork = true\nuser = "ops"')
    found = outcome(known, "plan/no-missing-programs")
    assert (found["outcome"], outcome(known, "plan/no-downloads")["outcome"]) == ("fail", "pass")
    assert found["rule"].startswith("“deploy.sh is run by the user ops.” — ")
    assert "the user that runs deploy.sh" not in known["unknown_about_the_service"]
    root = verified(folder, weights, '[known]\nuser = "root"')
    assert outcome(root, "plan/starts-server")["outcome"] == "fail"
    assert outcome(root, "plan/no-missing-programs")["outcome"] == "pass"


@pytest.mark.process
@pytest.mark.parametrize(("asked", "tried"), [(24, 24), (1, 8)])
def test_as_many_streams_are_tried_as_the_service_sends(asked: int, tried: int) -> None:
    (check,) = (each for each in CHECKS if each.id == "endpoint/concurrency")
    with Simulator(Behaviour()) as simulator, contract.judging_for(Service(concurrency=asked)):
        facts = interview(simulator.url, limits=PATIENT)
        assert f"{tried} concurrent streams, each" in contract.filled(check.page)
        assert check.judge(facts).outcome is Outcome.PASS
    assert len(facts.crowd.lines) == len(facts.crowd.rounds[0]) == tried


def test_no_two_lines_are_alike() -> None:
    lines = [line(index) for index in range(64)]
    assert {len(text.split()) for text in lines} == {5}
    assert (
        len({text.split(" ", 1)[1] for text in lines})
        == len({text.split()[0] for text in lines})
        == 64
    )
    assert (Service(concurrency=500).streams, Service().streams) == (64, 16)
