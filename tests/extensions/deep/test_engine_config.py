"""plan/engine-config: what the engine's own code refuses or resets, and never more than that."""

from __future__ import annotations

import json
import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from healthcheck.ascend import stacks
from healthcheck.cli import main
from healthcheck.core.records import CheckResult, Level, Outcome
from healthcheck.errors import UsageError
from healthcheck.extensions.deep.checks.engine_config import engine_config
from healthcheck.extensions.deep.environment import VARIABLE, find_python
from healthcheck.extensions.deep.facts import EngineConfig, gather_engine_config
from healthcheck.extensions.deep.request import Question
from healthcheck.sandbox.job import EndedBy
from healthcheck.stages.plan.records import Api, LaunchPlan, Origin, PortSource, ServerCommand, ShellRun
from healthcheck.system import processes
from tests.extensions.deep import small_engine
from tests.service.launching import eventually

MODEL = "/data/models/Tiny"
ROOT = "/workspace/submission"
HEADS = "Total number of attention heads (16) must be divisible by tensor parallel size (3)."


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_engine.make(tmp_path_factory.mktemp("engine"))


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    folder = tmp_path / "weights of mine"
    folder.mkdir()
    (folder / "config.json").write_text('{"num_attention_heads": 16}', encoding="utf-8")
    return folder


def plan_of(*argv: str, stack: str = "", engine: str = "vllm", **env: str) -> LaunchPlan:
    words = (MODEL, *argv)
    options = {}
    for name, value in zip(argv, (*argv[1:], "")):  # noqa: B905
        if name.startswith("--"):
            options[name[2:]] = "" if value.startswith("--") else value
    server = ServerCommand(
        engine=engine, api=Api.OPENAI_CHAT, argv=words, command=shlex.join(("vllm", "serve", *words)), env=env, cwd=ROOT,
        foreground=True, model=MODEL, port=8000, port_source=PortSource(kind=Origin.OPTION, text="--port"), host=None, where="deploy.sh:3", options=options,
    )  # fmt: skip
    run = ShellRun(
        shell="sh", exit_status=None, ended_by=EndedBy.SERVER, stdout="", stderr="", commands=(), servers=(server,)
    )
    return LaunchPlan(
        server=server, servers=(server,), commands=(), spaced=None, model_path=MODEL, spaced_model_path="/w w",
        root=ROOT, run=run, stack=stack,
    )  # fmt: skip


class Ask:
    """Asks one environment about arguments."""

    def __init__(self, environment: Path, weights: Path, root: Path) -> None:
        self.environment, self.weights, self.root = environment, weights, root

    def facts(
        self, *argv: str, deadline_s: float = 60, npu: str = "", devices: int = 0, **env: str
    ) -> EngineConfig:
        return gather_engine_config(
            Question(
                plan=plan_of(*argv, **env), root=self.root, weights=self.weights, npu=npu, devices=devices,
                engine_python=str(self.environment), deadline_s=deadline_s,
            )
        )  # fmt: skip

    def result(self, *argv: str, **settings) -> CheckResult:
        return engine_config.judge(self.facts(*argv, **settings))


@pytest.fixture
def ask(environment: Path, weights: Path, tmp_path: Path) -> Ask:
    return Ask(environment, weights, tmp_path)


@pytest.mark.process
def test_a_configuration_that_is_built_passes_and_says_what_was_built(ask: Ask):
    result = ask.result("--tensor-parallel-size", "2", "--max-model-len", "2048", npu="910B4", devices=2)
    assert result.outcome is Outcome.PASS
    (built,) = result.findings
    assert "2 × 910B4" in built.seen
    assert "max_model_len 2048" in built.seen
    assert f"vllm 0.23.0+empty, vllm-ascend {stacks.DEFAULT}" in built.seen


@pytest.mark.process
def test_a_refusal_fails_in_the_engines_words_with_the_option(ask: Ask):
    result = ask.result("--tensor-parallel-size", "3", "--port", "8000")
    (finding,) = result.findings
    assert result.outcome is Outcome.FAIL
    assert HEADS in finding.seen
    assert "--tensor-parallel-size 3" in finding.fix
    assert finding.where == "deploy.sh:3"
    assert finding.evidence["raised_in"].startswith("vllm/engine/arg_utils.py:")


@pytest.mark.process
@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("--enable-auto-tool-choice",), "requires --tool-call-parser"),
        (("--block-size", "17"), "block_size: Input should be 16 or 128"),
        (("--tensor-parallel-size", "5"), "no words, in vllm/engine/arg_utils.py"),
    ],
)
def test_other_ways_of_refusing(ask: Ask, argv: tuple[str, ...], words: str):
    result = ask.result(*argv)
    assert result.outcome is Outcome.FAIL
    assert words in result.findings[0].seen


@pytest.mark.process
def test_what_the_parser_refuses_fails_unless_another_release_takes_it(ask: Ask):
    refused = ask.result("--max-num-seqs", "16")
    assert refused.outcome is Outcome.FAIL
    assert "unrecognized arguments: --max-num-seqs 16" in refused.findings[0].seen
    newer = ask.result("--shutdown-drain", "--no-such-thing", "1")
    assert newer.outcome is Outcome.FAIL


@pytest.mark.process
def test_an_option_of_another_release_warns(ask: Ask):
    from healthcheck.stages.plan.vllm_cli.catalogue import Kind, catalogue

    here = {flag for option in catalogue("0.23.0").options for flag in option.flags}
    newer = next(
        option
        for option in catalogue("0.30.0").options
        if option.kind is Kind.SWITCH and not here & set(option.flags)
    )
    result = ask.result(newer.name)
    assert result.outcome is Outcome.WARN
    assert "another release takes it" in result.findings[0].seen


@pytest.mark.process
def test_only_options_that_were_given_are_said_to_be_reset(ask: Ask):
    result = ask.result("--block-size", "16", "--disable-cascade-attn", "--max-model-len", "-1")
    assert result.outcome is Outcome.WARN
    silent, said = [finding for finding in result.findings if finding.level is Level.WARN]
    assert "the configuration has 128" in silent.seen
    assert "--block-size 16" in silent.fix
    assert "parameter=disable_cascade_attn" in said.seen
    assert ask.result("--block-size", "128").outcome is Outcome.PASS


@pytest.mark.process
@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("accident", "unexpected error in vllm/engine/arg_utils.py"),
        ("npu", "only an NPU has"),
        ("swallowed", "only an NPU has"),
        ("missing", "something is missing in the environment"),
        ("no-config", "is about the environment"),
        ("gone", "as far as its stage “build”: ended with status -9"),
    ],
)
def test_what_is_no_refusal_stays_open(ask: Ask, fault: str, words: str):
    result = ask.result("--quantization", fault)
    assert (result.outcome, result.settled) == (Outcome.SKIP, False)
    assert words in result.findings[0].seen
    assert result.findings[0].fix


@pytest.mark.process
def test_a_deadline_ends_it_with_all_that_it_started(ask: Ask):
    result = ask.result("--quantization", "slow", deadline_s=4)
    assert not result.settled
    assert "no end within 4 s" in result.findings[0].seen
    assert eventually(
        lambda: not any("left-behind" in child.command for child in processes.descendants(os.getpid()))
    )
    assert eventually(
        lambda: not any("left-behind" in found.command for found in processes.marked("HF_HUB_OFFLINE", "1"))
    )


@pytest.mark.process
def test_what_libraries_print_is_no_answer(ask: Ask):
    assert ask.result("--quantization", "loud").outcome is Outcome.PASS


@pytest.mark.process
def test_the_engine_sees_the_npu_that_is_pretended_and_the_settings_of_the_submission(ask: Ask):
    seen = ask.result("--quantization", "build", npu="A3", devices=4, VLLM_ASCEND_ENABLE_NZ="2").findings[0].seen
    assert "built for A3, 4 of Ascend910C, 2" in seen
    seen = ask.result("--quantization", "build", npu="310P3").findings[0].seen
    assert "built for _310P, 1 of Ascend310P3, None" in seen


@pytest.mark.process
def test_neither_keys_nor_paths_of_the_submission_reach_the_engine(ask: Ask):
    result = ask.result("--api-key", "secret", "--chat-template", "./gone.jinja", VLLM_ASCEND_ENABLE_NZ="/etc")
    assert result.outcome is Outcome.PASS
    assert "None" in ask.result("--quantization", "build", VLLM_ASCEND_ENABLE_NZ="/etc").findings[0].seen


@pytest.mark.process
def test_an_environment_that_cannot_import_stays_open(tmp_path: Path, weights: Path):
    broken = small_engine.make(tmp_path / "env", vllm_platforms="import nothing_of_this_name")
    result = Ask(broken, weights, tmp_path).result()
    assert not result.settled
    assert "cannot be imported there" in result.findings[0].seen
    elsewhere = small_engine.make(tmp_path / "cpu", vllm_platforms="class current_platform: device_type = 'cpu'")
    result = Ask(elsewhere, weights, tmp_path).result()
    assert not result.settled
    assert "not with an NPU" in result.findings[0].seen


@pytest.mark.process
def test_transformers_of_another_release_refuses_nothing(tmp_path: Path, weights: Path):
    unknown = small_engine.MODULES["vllm/engine/arg_utils.py"].replace(
        "bitsandbytes is not installed",
        "model type `new`: Transformers does not recognize this architecture, pip install it",
    )
    for version, outcome in (("5.5.4", Outcome.FAIL), ("4.57.6", Outcome.SKIP)):
        versions = {**small_engine.VERSIONS, "transformers": version}
        made = small_engine.make(tmp_path / version, versions, vllm_engine_arg_utils=unknown)
        assert Ask(made, weights, tmp_path).result("--quantization", "missing").outcome is outcome


@pytest.mark.process
def test_versions_of_another_row_stay_open_and_name_both(tmp_path: Path, weights: Path):
    older = small_engine.make(tmp_path / "env", {**small_engine.VERSIONS, "vllm-ascend": "0.18.0"})
    result = Ask(older, weights, tmp_path).result()
    assert not result.settled
    assert (
        f"vllm-ascend 0.18.0, and the chosen row has vllm 0.23.0 and vllm-ascend {stacks.DEFAULT}"
        in result.findings[0].seen
    )
    assert "make_engine_config.py" in result.findings[0].fix


@pytest.mark.process
@pytest.mark.parametrize(
    "body",
    [
        "exit 3",
        "exit 0",
        'for last; do :; done; head -c 3000000 /dev/zero > "$last"',
        """for last; do :; done; echo '{"stage": "done", "error": 7}' > "$last" """,
        """for last; do :; done; echo '{"stage": "build", "error": null}' > "$last" """,
        'for last; do :; done; ln -s /dev/zero "$last"',
        "kill -9 $$",
    ],
)
def test_an_environment_that_answers_nonsense_stays_open(tmp_path: Path, weights: Path, body: str):
    versions = json.dumps(small_engine.VERSIONS)
    script = f"""#!/bin/sh\ncase $1 in *list_versions.py) echo '{versions}' > "$2"; exit;; esac\n{body}\n"""
    environment = small_engine.executable(tmp_path / "env", script)
    result = Ask(environment, weights, tmp_path).result()
    assert (result.outcome, result.settled) == (Outcome.SKIP, False)
    assert result.findings[0].fix


@pytest.mark.process
def test_an_environment_that_does_not_say_its_versions_stays_open(tmp_path: Path, weights: Path):
    environment = small_engine.executable(tmp_path / "env", "#!/bin/sh\nexit 1\n")
    result = Ask(environment, weights, tmp_path).result()
    assert not result.settled
    assert "ended with status 1" in result.findings[0].seen


def test_the_question_does_not_always_arise(ask: Ask, weights: Path, tmp_path: Path):
    def because(plan: LaunchPlan, npu: str = "") -> str:
        facts = gather_engine_config(
            Question(plan=plan, root=tmp_path, weights=weights, npu=npu, engine_python=str(ask.environment))
        )
        result = engine_config.judge(facts)
        assert (result.outcome, result.settled) == (Outcome.SKIP, True)
        return result.because

    assert because(plan_of(engine="sglang")) == "the server is sglang, not vLLM"
    assert "no build for 910A" in because(plan_of(), npu="910A")
    assert "could not determine" in because(plan_of("--seed", "<unresolved: $RANDOM>"))
    assert "Python code of a model" in because(plan_of("--trust-remote-code", "--hf-config-path", "./cfg"))
    (weights / "config.json").write_text('{"auto_map": {"AutoConfig": "sub/mod.C"}}')
    assert "Python code of a model" in because(plan_of("--trust-remote-code"))
    (weights / "config.json").unlink()
    assert "no config.json" in because(plan_of())


@pytest.mark.process
def test_options_in_a_file_that_is_too_long_to_be_read_leave_it_open(ask: Ask, weights: Path, tmp_path: Path):
    plan = plan_of("--config", "c.yaml")
    plan = replace(plan, server=replace(plan.server, unread_config="c.yaml"))
    question = Question(plan=plan, root=tmp_path, weights=weights, engine_python=str(ask.environment))
    result = engine_config.judge(gather_engine_config(question))
    assert (result.outcome, result.settled) == (Outcome.SKIP, False)
    assert "c.yaml is too long" in result.findings[0].seen


@pytest.mark.process
def test_code_of_a_model_is_never_allowed_to_run(ask: Ask):
    assert ask.result("--trust-remote-code").outcome is Outcome.PASS
    assert ask.result("--quantization", "own").outcome is Outcome.FAIL
    assert not ask.result("--quantization", "own", "--trust-remote-code").settled


@pytest.mark.process
@pytest.mark.parametrize(
    ("draft", "outcome"),
    [("org/draft", Outcome.SKIP), ("draft-8b", Outcome.SKIP), ("./draft", Outcome.FAIL), ("/data/x", Outcome.FAIL)],
)
def test_a_repository_of_the_hub_cannot_be_looked_up_offline(ask: Ask, draft: str, outcome: Outcome):
    result = ask.result("--speculative-config", json.dumps({"model": draft}))
    assert result.outcome is outcome
    assert "Invalid repository ID" in result.findings[0].seen
    assert result.settled is (outcome is Outcome.FAIL)


def test_where_the_environment_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(sys, "path", [])
    assert find_python(clone=tmp_path) is None
    made = small_engine.executable(tmp_path / ".venv-engine-config", "#!/bin/sh\n")
    assert find_python(clone=tmp_path) is None, "half made"
    (made / "ready").touch()
    assert find_python(clone=tmp_path).path == str(made / "bin" / "python")
    monkeypatch.setattr(sys, "path", [str(small_engine.make(tmp_path / "image") / "site-packages")])
    assert find_python(clone=tmp_path / "none").named_by == "the running Python"
    monkeypatch.setenv(VARIABLE, sys.executable)
    assert find_python(clone=tmp_path).path == sys.executable
    assert find_python(str(made)).named_by == "--engine-python"
    with pytest.raises(UsageError, match="there is no Python"):
        find_python(str(tmp_path / "nowhere"))


def test_none_is_found_stays_open_with_the_command_that_makes_one(weights: Path, tmp_path: Path, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr("healthcheck.extensions.deep.facts.find_python", lambda named: None)
    result = engine_config.judge(gather_engine_config(Question(plan=plan_of(), root=tmp_path, weights=weights)))
    assert not result.settled
    assert "make engine-config" in result.findings[0].fix


@pytest.mark.process
def test_verify_asks_only_where_it_was_asked_to(
    environment: Path, weights: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    repository = tmp_path / "adapter"
    repository.mkdir()
    (repository / "requirements.txt").touch()
    script = repository / "deploy.sh"
    script.write_text(
        '#!/bin/sh\nexec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000 --tensor-parallel-size 3\n'
    )
    script.chmod(0o755)
    command = ["verify", str(repository), "--weights", str(weights), "--until", "plan", "--quiet", "--json", "-"]

    def asked(*more: str) -> tuple[int, dict[str, dict[str, str]]]:
        status = main([*command, *more])
        return status, {check["id"]: check for check in json.loads(capsys.readouterr().out)["checks"]}

    status, plain = asked()
    assert (status, "plan/engine-config" in plain) == (0, False)
    status, deep = asked("--deep", "--engine-python", str(environment))
    assert (status, deep["plan/engine-config"]["outcome"]) == (1, "fail")
    assert HEADS in deep["plan/engine-config"]["detail"]


@pytest.mark.parametrize(
    "words", [["--engine-python", "x"], ["--deep", "--until", "repo"], ["--deep", "--url", "http://localhost:1"]]
)
def test_deep_without_a_launch_command_is_wrong_usage(words: list[str], weights: Path):
    assert main(["verify", ".", "--weights", str(weights), *words]) == 2
