"""What a finding of the plan stage says, and what the record holds for those who program on it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from healthcheck.core.records import Outcome
from healthcheck.engines.base import Grammar
from healthcheck.stages.plan import facts as plan_facts
from healthcheck.stages.plan.servers.options import parse, vllm_grammar
from healthcheck.stages.repo.facts import read_submission
from tests.plan.corpus import case, sh
from tests.support.plans import judged, write


@pytest.mark.process
def test_a_port_is_named_with_its_line_and_its_repair(tmp_path: Path, weights: Path) -> None:
    deploy = sh('exec vllm serve "$MODEL_PATH" \\\n  --host 0.0.0.0 \\\n  --port 8001')
    _, results = judged(write(case("x", deploy), tmp_path / "repo"), weights)
    (finding,) = results["plan/port"].findings
    assert finding.where == "deploy.sh:4"
    assert "--port 8000" in finding.fix
    assert "port 8000" in (results["plan/port"].rule.quote() if results["plan/port"].rule else "")


@pytest.mark.process
def test_missing_quotes_are_named_with_their_line(tmp_path: Path, weights: Path) -> None:
    deploy = sh('echo "weights: $MODEL_PATH"\n# $MODEL_PATH\nexec vllm serve $MODEL_PATH')
    _, results = judged(write(case("x", deploy), tmp_path / "repo"), weights)
    (finding,) = results["plan/model-path"].findings
    assert finding.where == "deploy.sh:4"
    assert '"$MODEL_PATH"' in finding.fix


@pytest.mark.process
@pytest.mark.parametrize(("name", "outcome"), [("w", Outcome.WARN), ("my weights", Outcome.FAIL)])
def test_missing_quotes_fail_only_for_a_path_with_a_blank(
    name: str, outcome: Outcome, tmp_path: Path, weights: Path
) -> None:
    given = Path(shutil.copytree(weights, tmp_path / name))
    _, results = judged(
        write(case("x", sh("exec vllm serve $MODEL_PATH")), tmp_path / "repo"), given
    )
    assert results["plan/model-path"].outcome is outcome


@pytest.mark.process
@pytest.mark.parametrize(
    ("options", "check"),
    [
        ('"$MODEL_PATH" --served-model-name $(seq 5000) LONG', "plan/served-name"),
        ("/LONG", "plan/model-path"),
        ("$MODEL_PATH/LONG", "plan/model-path"),
    ],
)
def test_what_a_submission_makes_long_is_quoted_in_part(
    options: str, check: str, tmp_path: Path, weights: Path
) -> None:
    deploy = sh(f"exec vllm serve {options}".replace("LONG", "x" * 20_000))
    _, results = judged(write(case("x", deploy), tmp_path / "repo"), weights)
    assert results[check].outcome in {Outcome.FAIL, Outcome.WARN}
    for finding in results[check].findings:
        assert 100 < len(finding.seen) < 5000
        assert len(str(finding.evidence)) < 5000


@pytest.mark.process
def test_a_key_is_never_repeated(tmp_path: Path, weights: Path) -> None:
    deploy = sh('exec vllm serve "$MODEL_PATH" --api-key hunter2 --port 8001')
    _, results = judged(write(case("x", deploy), tmp_path / "repo"), weights)
    assert all(
        "hunter2" not in finding.seen for result in results.values() for finding in result.findings
    )


@pytest.mark.process
def test_options_are_found_by_their_long_names(tmp_path: Path, weights: Path) -> None:
    deploy = sh(
        'exec vllm serve "$MODEL_PATH" -tp=2 --max_model 4096 --trust-remote-code --config c.yaml --chat-template t.jinja'
    )
    files = {
        "c.yaml": "gpu-memory-utilization: 0.8\nenforce_eager: true\nmax-model-len: 1\n",
        "t.jinja": "x",
    }
    plan = plan_facts.gather(
        read_submission(write(case("x", deploy, files=files), tmp_path / "repo")), weights
    )
    server = plan.server
    assert server is not None
    assert server.option("tensor-parallel-size") == "2"
    assert server.option("--max_model_len") == "4096"
    assert server.option("trust-remote-code") == ""
    assert server.option("gpu-memory-utilization") == "0.8"
    assert server.option("enforce-eager") == ""
    assert server.option("dtype") is None
    assert server.option("chat-template") == "t.jinja"
    assert server.cwd == plan.root


@pytest.mark.process
def test_changes_that_are_not_committed_do_not_count(tmp_path: Path, weights: Path) -> None:
    root = write(
        case("x", sh('exec vllm serve "$MODEL_PATH"'), untracked={"notes.txt": "x"}),
        tmp_path / "repo",
    )
    (root / "deploy.sh").write_text(sh('exec vllm serve "$MODEL_PATH" --port 9000'))
    plan, _ = judged(root, weights)
    assert plan.server is not None
    assert plan.server.port == 8000


@pytest.mark.process
def test_what_cannot_be_told_leaves_the_verdict_open(tmp_path: Path, weights: Path) -> None:
    text = "import omegaconf, os\nif omegaconf.load('x').go == 'yes': os.system('vllm serve \"$MODEL_PATH\"')\n"
    _, results = judged(
        write(case("x", sh("python3 a.py"), files={"a.py": text}), tmp_path / "repo"), weights
    )
    assert results["plan/starts-server"].outcome is Outcome.SKIP
    assert not results["plan/starts-server"].settled


def test_a_command_line_is_read_as_argparse_reads_it() -> None:
    grammar = Grammar(
        switches=frozenset({"fast"}), many=frozenset({"names"}), valued=frozenset({"port"})
    )
    line = parse(
        ["model", "--fast", "other", "--names", "a", "b", "--po", "-1", "--", "--port"], grammar
    )
    assert line.positional == ("model", "other", "--port")
    assert line.lists["names"] == ("a", "b")
    assert line.options["port"] == "-1"
    assert vllm_grammar().full_name("max-model") == "max-model-len"
    assert vllm_grammar().full_name("max") == "max"


@pytest.mark.parametrize("words", [["-O0"], ["-O", "0"], ["-O=0"], ["--optimization-level", "0"]])
def test_a_level_of_optimization_has_one_name(words: list[str]) -> None:
    assert parse(["model", *words, "--port", "8000"], vllm_grammar()).options == {
        "optimization-level": "0", "port": "8000",
    }  # fmt: skip
