"""Ways to fail on the real vLLM, each diagnosed with its cause, or with what the last error says (minutes)."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from healthcheck.core.progress import Silent
from healthcheck.core.records import Outcome
from healthcheck.stages.service.checks import START_CHECKS
from healthcheck.stages.service.facts import Service
from healthcheck.stages.service.records import LaunchOutcome
from healthcheck.stages.service.watch import Patience
from tests.service.launching import free_port, with_word

(starts,) = START_CHECKS
SERVE = 'exec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port PORT --enforce-eager'
pytestmark = [pytest.mark.engine, pytest.mark.timeout(600)]


def nothing(weights: Path) -> None:
    """The weights as they are."""


def gone(weights: Path) -> None:
    shutil.rmtree(weights)


def configured(**values: object) -> Callable[[Path], None]:
    def change(weights: Path) -> None:
        path = weights / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | values))

    return change


def without(*names: str) -> Callable[[Path], None]:
    def remove(weights: Path) -> None:
        for name in names:
            (weights / name).unlink()

    return remove


def cut_short(weights: Path) -> None:
    path = weights / "model.safetensors"
    path.write_bytes(path.read_bytes()[:100_000])


def without_template(weights: Path) -> None:
    (weights / "chat_template.jinja").unlink(missing_ok=True)
    path = weights / "tokenizer_config.json"
    settings = json.loads(path.read_text())
    settings.pop("chat_template", None)
    path.write_text(json.dumps(settings))


PLUGIN = f"""mkdir -p plugin/bad-1.0.dist-info
printf 'def register():\\n    return undefined_name\\n' > plugin/bad.py
printf 'Metadata-Version: 2.1\\nName: bad\\nVersion: 1.0\\n' > plugin/bad-1.0.dist-info/METADATA
printf '[vllm.general_plugins]\\nbad = bad:register\\n' > plugin/bad-1.0.dist-info/entry_points.txt
export PYTHONPATH="$PWD/plugin"
{SERVE}"""
KILLED = f"""{SERVE.removeprefix("exec ")} &
server=$!
( sleep 12; kill -9 $server ) &
wait $server"""
TAKEN = f"""python3 -c '
import socket, sys, time
held = socket.create_server(("127.0.0.2", int(sys.argv[1])))
time.sleep(600)' PORT &
until python3 -c 'import socket; socket.create_connection(("127.0.0.2", PORT)).close()' 2>/dev/null; do sleep 0.2; done
{SERVE}"""
EXITED, REFUSED = LaunchOutcome.EXITED, LaunchOutcome.ANSWERS_WRONGLY
FAILURES = {
    "no such model": (SERVE, gone, EXITED, "model-path-invalid"),
    "no config.json": (SERVE, without("config.json"), EXITED, "model-path-invalid"),
    "wrong architecture": (SERVE, configured(architectures=["FooForCausalLM"]), EXITED, "arch-unsupported"),
    "wrong model type": (SERVE, configured(model_type="foo"), EXITED, "transformers-too-old"),
    "context too long for the memory": (SERVE, configured(max_position_embeddings=4_000_000), EXITED, "kv-too-small"),
    "context too long for the model": (f"{SERVE} --max-model-len 90000", nothing, EXITED, "context-too-long"),
    "unknown flag": (f"{SERVE} --no-such-flag 3", nothing, EXITED, "cli-unrecognized"),
    "heads that do not divide": (
        f"{SERVE} --tensor-parallel-size 3", nothing, EXITED, "tensor-parallel-heads",
    ),
    "port taken": (TAKEN, nothing, EXITED, "port-8000-busy"),
    "error in a plugin": (PLUGIN, nothing, EXITED, "plugin-crashed"),
    "killed while loading": (KILLED, nothing, EXITED, "killed"),
    "no tokenizer": (SERVE, without("tokenizer.json", "tokenizer_config.json"), EXITED, "tokenizer-empty"),
    "half of the tokenizer": (SERVE, without("tokenizer.json"), EXITED, "tokenizer-missing"),
    "weights cut short": (SERVE, cut_short, EXITED, "weights-broken"),
    "no weights": (SERVE, without("model.safetensors"), EXITED, "weights-none"),
    "other shapes": (SERVE, configured(hidden_size=192), EXITED, "weights-shape"),
    "no chat template": (SERVE, without_template, REFUSED, "chat-template-missing"),
    "deploy.sh exits 0": ("exit 0", nothing, EXITED, ""),
}  # fmt: skip


@pytest.fixture
def weights(tiny_weights: Path, tmp_path: Path) -> Path:
    """A copy of the small weights, to be spoilt."""
    return Path(shutil.copytree(tiny_weights, tmp_path / "weights"))


@pytest.fixture
def launched(
    tmp_path: Path, weights: Path, engine_environment: dict[str, str]
) -> Callable[[str], Service]:
    """A service over a deploy.sh in which PORT is a free port."""

    def launch(script: str) -> Service:
        port = free_port()
        export = tmp_path / "export"
        export.mkdir()
        (export / "deploy.sh").write_text(script.replace(" PORT", f" {port}") + "\n")
        patience = Patience(deadline_s=480, refusal_s=3)
        log = tmp_path / "deploy.log"
        return Service(
            export,
            weights,
            log=log,
            progress=Silent(),
            port=port,
            patience=patience,
            environment=engine_environment,
        )

    return launch


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failed_launch_is_diagnosed(launched, weights, failure):
    script, spoil, outcome, cause = FAILURES[failure]
    spoil(weights)
    with launched(script) as running:
        launch = running.launch
    assert launch.outcome is outcome
    assert (launch.diagnosis.named.failure.id if launch.diagnosis.named else "") == cause
    result = starts.judge(launch)
    assert result.outcome is Outcome.FAIL
    assert result.findings[0].fix
    assert not running.stop().survivors
    assert not with_word(str(weights))


def test_healthy_weights_start_and_the_timeline_tells_how(launched, weights):
    with launched(SERVE) as running:
        launch = running.launch
        ended = running.ended()
    assert launch.outcome is LaunchOutcome.READY
    assert launch.model == str(weights)
    assert {"loading weights", "answering the first request"} <= {
        phase.name for phase in launch.phases
    }
    assert not ended.stopped.killed
    assert not with_word(str(weights))
