"""The file behind vLLM's --config: what vLLM refuses to read is found before the launch."""

from __future__ import annotations

from pathlib import Path

import pytest

from healthcheck.core.records import Outcome
from healthcheck.stages.plan.checks.flags import flags
from tests.core.test_yaml_text import aliases
from tests.plan.corpus import case, sh
from tests.support.plans import judged, write

pytestmark = pytest.mark.process


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("c.yaml", "port: 8000\n  host: [\n", "c.yaml cannot be read"),
        ("c.yml", "- port\n", "c.yml holds no names with values"),
        ("c.json", '{"port": 8000}', "c.json is not a .yaml file"),
        ("good.yaml", "port: 8000\n", ""),
    ],
)
def test_a_file_that_vllm_does_not_read_fails(
    name: str, text: str, says: str, tmp_path: Path, weights: Path
) -> None:
    repository = case("config", sh(f'vllm serve "$MODEL_PATH" --config {name}'), files={name: text})
    plan, _ = judged(write(repository, tmp_path / "repo"), weights)
    found = [finding.seen for finding in flags.run(plan)]
    assert any(says in seen for seen in found) if says else not found


@pytest.mark.parametrize("given", ["", "--port 8000 --host 0.0.0.0 --served-model-name mine"])
@pytest.mark.parametrize(
    "more", [f"compilation-config: '{'a' * 300_000}'", aliases(9)], ids=["long", "aliases"]
)
def test_a_file_that_is_too_long_is_said_to_be_unread(
    given: str, more: str, tmp_path: Path, weights: Path
) -> None:
    text = f"port: 8000\nhost: 0.0.0.0\n{more}\n"
    repository = case(
        "long", sh(f'vllm serve "$MODEL_PATH" --config c.yaml {given}'), files={"c.yaml": text}
    )
    plan, results = judged(write(repository, tmp_path / "repo"), weights)
    (unread,) = flags.run(plan)
    assert "c.yaml is too long to be read, or nested too deeply:" in unread.seen
    assert plan.server
    assert (plan.server.port, plan.server.host) == ((8000, "0.0.0.0") if given else (None, None))
    assert plan.server.served_names == (("mine",) if given else ())
    outcomes = {results[name].outcome for name in ("plan/port", "plan/host")}
    assert outcomes == {Outcome.PASS if given else Outcome.WARN}


@pytest.mark.parametrize("engine", ["vllm serve", "python3 -m sglang.launch_server --model-path"])
def test_a_command_of_any_length_is_quoted_in_part(
    engine: str, tmp_path: Path, weights: Path
) -> None:
    line = f'{engine} "$MODEL_PATH" --api-key=hush --port {"9" * 50_000} --seed {"7" * 50_000}'
    plan, results = judged(write(case("long", sh(line)), tmp_path / "repo"), weights)
    assert plan.server
    assert "hush" not in plan.server.command
    assert len(plan.server.command) < 2000
    assert max(len(f.seen) for result in results.values() for f in result.findings) < 4000


@pytest.mark.parametrize(
    ("text", "check", "outcome"),
    [
        ("tokenizer: org/tokenizer\n", "plan/self-contained", Outcome.WARN),
        ("tokenizer: /data/tokenizer\n", "plan/self-contained", Outcome.FAIL),
        ("chat-template: ./gone.jinja\n", "plan/self-contained", Outcome.FAIL),
        ("chat-template: ./here.jinja\n", "plan/self-contained", Outcome.PASS),
        ('chat_template: "conf/here.jinja"\n', "plan/self-contained", Outcome.PASS),
        ("uds: /tmp/a.sock\nport: 8000\n", "plan/port", Outcome.FAIL),
        ("load-format: dummy\n", "plan/model-path", Outcome.FAIL),
        ("headless: true\n", "plan/chat-api", Outcome.FAIL),
    ],
)
def test_options_of_the_file_are_judged_like_others(
    text: str, check: str, outcome: Outcome, tmp_path: Path, weights: Path
) -> None:
    files = {"c.yaml": f"host: 0.0.0.0\n{text}", "here.jinja": "x", "conf/here.jinja": "x"}
    repository = case("config", sh('exec vllm serve "$MODEL_PATH" --config c.yaml'), files=files)
    _, results = judged(write(repository, tmp_path / "repo"), weights)
    assert results[check].outcome is outcome


@pytest.mark.parametrize(
    ("name", "text", "place", "says"),
    [
        ("c.yaml", "host: 0.0.0.0\nport: 8o00\n", "c.yaml:2", "“8o00” (c.yaml:2) is not a port"),
        ("c.json", '{"port": 8080}', "c.json:1", "port 8080 (c.json:1)"),
    ],
)
def test_a_wrong_port_is_placed_where_the_file_has_it(
    name: str, text: str, place: str, says: str, tmp_path: Path, weights: Path
) -> None:
    repository = case(
        "port", sh(f'exec vllm serve "$MODEL_PATH" --config {name}'), files={name: text}
    )
    _, results = judged(write(repository, tmp_path / "repo"), weights)
    (found,) = results["plan/port"].findings
    assert (results["plan/port"].outcome, found.where) == (Outcome.FAIL, place)
    assert says in found.seen


@pytest.mark.parametrize(
    ("given", "port", "file", "ignored"),
    [
        ("--config=conf/c.yaml", 8000, None, "conf/c.yaml"),
        ("--config=conf/missing.yaml", 8000, None, "conf/missing.yaml"),
        ("--config=conf/c.json", 8000, None, "conf/c.json"),
        ("--config conf/c.yaml", 8123, "conf/c.yaml", ""),
        ("--config=conf/missing.yaml --config conf/c.yaml", 8123, "conf/c.yaml", ""),
        ("--config conf/c.yaml --config=x.yaml", 8123, "conf/c.yaml", "x.yaml"),
    ],
)
def test_a_file_is_read_only_after_a_word_of_its_own(
    given: str, port: int, file: str | None, ignored: str, tmp_path: Path, weights: Path
) -> None:
    """As the parsers of vLLM 0.23.0 and 0.32.0 read these arguments."""
    files = {"conf/c.yaml": "port: 8123\nserved-model-name: x\n"}
    repository = case("config", sh(f'exec vllm serve "$MODEL_PATH" {given}'), files=files)
    plan, results = judged(write(repository, tmp_path / "repo"), weights)
    server = plan.server
    assert server
    assert (server.port, server.option("config"), server.ignored_config) == (port, file, ignored)
    assert server.served_names == (("x",) if file else (plan.model_path,))
    warned = [found for found in results["plan/flags"].findings if "have no effect" in found.seen]
    assert bool(warned) is bool(ignored)
    assert not results["plan/no-missing-files"].findings
