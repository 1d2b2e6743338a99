"""The plain form of a repository, and the planner that writes its launch."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from healthcheck import cli
from tests.support.template import KIT, ROOT

CONFIG = {
    "architectures": ["Qwen3ForCausalLM"], "max_position_embeddings": 40960, "torch_dtype": "bfloat16",
    "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
}  # fmt: skip
SMALL = ROOT / "examples" / "simulated_engine" / "weights"
LAUNCH = 'exec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000 \\\n'
WORKFLOW = ".github/workflows/adapter.yml"
IDENTITY = ("-c", "user.name=T", "-c", "user.email=t@example.org")

pytestmark = pytest.mark.process


def weights(folder: Path, gigabytes: float = 16.4) -> str:
    """What there is of weights before their download."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG))
    index = {
        "metadata": {"total_size": int(gigabytes * 10**9)},
        "weight_map": {"w": "model-1.safetensors"},
    }
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return str(folder)


@pytest.fixture
def new(tmp_path: Path, capsys):
    def make(*words: str, name: str = "mine") -> tuple[Path, str]:
        assert cli.main(["new", str(tmp_path / name), "--defaults", *words]) == 0, (
            capsys.readouterr().err
        )
        return tmp_path / name, capsys.readouterr().out

    return make


@pytest.fixture
def plan(capsys):
    def printed(*words: str, status: int = 0) -> str:
        assert cli.main(["plan", *words]) == status
        said = capsys.readouterr()
        return said.err if status else said.out

    return printed


def tracked(place: Path) -> list[str]:
    return subprocess.run(
        ["git", "ls-files"], cwd=place, capture_output=True, text=True, check=True
    ).stdout.splitlines()


def commit(place: Path) -> None:
    subprocess.run(["git", *IDENTITY, "commit", "-qam", "mine"], cwd=place, check=True)


def test_it_is_what_an_author_reads_in_one_go(new, tmp_path):
    place, _ = new("--weights", weights(tmp_path / "w"), "--npu", "910B3")
    files = [name for name in tracked(place) if name != WORKFLOW]
    assert WORKFLOW in tracked(place)
    assert len(files) <= 8
    assert sum(len((place / name).read_text("utf-8").splitlines()) for name in files) <= 120
    script = (place / "deploy.sh").read_text("utf-8")
    assert (place / "deploy.sh").stat().st_mode & 0o111
    launch = script[script.index(LAUNCH) :]
    assert "--max-model-len 40960" in launch
    assert "case" not in script
    for option in re.findall(r"^ +(--[\w-]+)", launch, re.MULTILINE):
        assert re.search(rf"^# {option}  +\w", script, re.MULTILINE), option


@pytest.mark.parametrize("task", ["text-generation", "image-text-to-text"])
def test_it_is_ready_without_a_warning(new, task, tmp_path, capsys):
    place, _ = new("--task", task)
    out = tmp_path / "report.json"
    verify = ("verify", str(place), "--weights", str(SMALL), "--until", "plan", "--json", str(out))
    assert cli.main([*verify]) == 0, capsys.readouterr().out
    outcomes = {check["outcome"] for check in json.loads(out.read_text("utf-8"))["checks"]}
    assert outcomes <= {"pass", "skip"}


def test_one_script_serves_both_kinds_of_npu(new, tmp_path, capsys):
    place, _ = new("--weights", weights(tmp_path / "w"), "--npus", "4")
    assert 'case "$(npu-smi info)" in' in (place / "deploy.sh").read_text("utf-8")
    for kind, shown, size in (("910B4", "| 0  910B4 |", "2"), ("A3", "| 0  Ascend910 |", "1")):
        out = tmp_path / f"{kind}.json"
        verify = (
            "verify",
            str(place),
            "--weights",
            str(SMALL),
            "--until",
            "plan",
            "--npu",
            kind,
            "--npus",
            "4",
        )
        assert cli.main([*verify, "--json", str(out)]) == 0, capsys.readouterr().out
        assert not re.search('"outcome": "(warn|fail)"', out.read_text("utf-8"))
        programs = {"vllm": 'printf "%s\\n" "$@"', "npu-smi": f"echo '{shown}'"}
        words = launched("bash", place, tmp_path / f"bin-{kind}", programs).stdout.splitlines()
        assert words[words.index("--tensor-parallel-size") + 1] == size


def launched(shell: str, place: Path, folder: Path, programs: dict[str, str], **variables: str):
    folder.mkdir(exist_ok=True)
    for name, text in programs.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    environment = {"PATH": f"{folder}:/usr/bin:/bin", "MODEL_PATH": "/a b", **variables}
    return subprocess.run(
        [shell, str(place / "deploy.sh")],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_without_weights_it_says_what_to_set(new):
    place, _ = new("--npu", "A3", "--npus", "8")
    script = (place / "deploy.sh").read_text("utf-8")
    assert (
        "weights of unknown size on 8 × A3. Set --tensor-parallel-size and --max-model-len"
        in script
    )
    assert "    --tensor-parallel-size 8 \\\n" in script


def test_a_configuration_without_weights_is_planned_as_one_copy(plan, tmp_path):
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "config.json").write_text(json.dumps(CONFIG))
    printed = plan("--weights", str(tmp_path / "w"), "--npu", "910B4", "--npus", "4")
    assert "--tensor-parallel-size 4" in printed
    assert "--data-parallel-size" not in printed
    assert "the cache holds" not in printed, "nobody knows what the weights leave"


def test_the_reasons_are_true_of_weights_for_a_trial(plan):
    printed = plan(
        "--weights",
        str(ROOT / "examples/simulated_engine/weights"),
        "--npu",
        "910B4",
        "--npus",
        "1",
    )
    assert "Qwen3ForCausalLM of 8 kB on 1 × 910B4." in printed
    assert "less than 0.1 GiB of weights a device" in printed
    assert "sequences of 2048 tokens" in printed


def test_plan_prints_what_new_writes(new, plan, tmp_path):
    words = ("--weights", weights(tmp_path / "w"), "--npu", "A3", "--npus", "2")
    place, _ = new(*words)
    printed = plan(*words)
    assert LAUNCH in printed
    assert (place / "deploy.sh").read_text("utf-8").endswith(f"\n{printed}")


def test_plan_is_about_the_machine_and_the_release(plan, tmp_path):
    folder = weights(tmp_path / "w", 61)
    assert "tensor-parallel-size 2" in plan("--weights", folder, "--npu", "910B3", "--npus", "2")
    assert "float16" in plan("--weights", weights(tmp_path / "small", 2), "--npu", "310P3")
    fp8 = {**CONFIG, "quantization_config": {"quant_method": "fp8"}}
    (tmp_path / "small" / "config.json").write_text(json.dumps(fp8))
    asked = ("--weights", str(tmp_path / "small"), "--npu", "A3", "--stack")
    assert "before 0.27" in plan(*asked, "0.23.0", status=2)
    assert LAUNCH in plan(*asked, "0.30.0")


def test_what_is_set_for_python_here_decides_nothing(plan, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    assert "--max-num-seqs 64" in plan("--npu", "A3")


def test_a_refusal_names_the_variable_that_overrules_it(plan, tmp_path, monkeypatch):
    asked = ("--weights", weights(tmp_path / "w", 61), "--npu", "910B3")
    said = plan(*asked, status=2)
    assert "set ADAPTER_TENSOR_PARALLEL_SIZE to try all the same" in said
    monkeypatch.setenv("ADAPTER_TENSOR_PARALLEL_SIZE", "1")
    assert "--tensor-parallel-size 1" in plan(*asked)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--weights", "/no/such"), "--weights /no/such is not a folder"),
        (("--npu", "H100"), "--npu H100 is not known: expected none, 910B1"),
        (("--npu", "910"), "name one"),
    ],
)
def test_what_cannot_be_planned_is_refused(words, says):
    done = subprocess.run(
        ["python3", "-c", "from healthcheck.cli import main; raise SystemExit(main())", "plan", *words],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, says in done.stderr) == (2, True), done.stderr


def test_weights_that_do_not_fit_make_no_repository(tmp_path, capsys):
    words = ("--defaults", "--weights", weights(tmp_path / "w", 140), "--npus", "2")
    assert cli.main(["new", str(tmp_path / "mine"), *words]) == 2
    assert "with 2 device(s)" in capsys.readouterr().err
    assert not (tmp_path / "mine").exists()


def test_a_planned_repository_takes_no_machine(tmp_path, capsys):
    words = ("--template", "planned", "--defaults", "--npus", "2", "--npu", "A3")
    assert cli.main(["new", str(tmp_path / "mine"), *words]) == 2
    assert "--npu, --npus is for the plain form" in capsys.readouterr().err
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize(("machines", "there"), [("one", False), ("several", True)])
def test_a_planned_repository_is_for_so_many_machines(machines, there, tmp_path):
    place = tmp_path / machines
    words = ("--template", "planned", "--defaults", "--data", f"machines={machines}")
    assert cli.main(["new", str(place), *words]) == 0
    assert (place / "adapter/nodes.py").exists() == there


def test_an_update_keeps_the_launch(new, capsys):
    place, _ = new("--npu", "A3", "--npus", "2")
    script = (place / "deploy.sh").read_text("utf-8")
    assert cli.main(["update", str(place)]) == 0
    assert "already up to date" in capsys.readouterr().out
    (place / "deploy.sh").write_text(
        script.replace("--max-num-seqs 64", "--max-num-seqs 16"), "utf-8"
    )
    commit(place)
    assert cli.main(["update", str(place)]) == 0
    assert "--max-num-seqs 16" in (place / "deploy.sh").read_text("utf-8")


def test_a_repository_from_before_the_forms_stays_planned(tmp_path, capsys):
    answered = (
        word
        for answer in (f"kit={KIT}", "ci=both", "machines=several")
        for word in ("--data", answer)
    )
    words = ("--template", "planned", "--defaults", *answered)
    assert cli.main(["new", str(tmp_path / "mine"), *words]) == 0
    answers = tmp_path / "mine" / ".copier-answers.yml"
    kept = [
        line
        for line in answers.read_text("utf-8").splitlines()
        if not line.startswith(("form", "ci", "machines"))
    ]
    answers.write_text("\n".join([*kept, ""]), "utf-8")
    commit(tmp_path / "mine")
    before = tracked(tmp_path / "mine")
    assert cli.main(["update", str(tmp_path / "mine")]) == 0, capsys.readouterr().err
    assert tracked(tmp_path / "mine") == before
    assert 'form: "planned"' in answers.read_text("utf-8")


@pytest.mark.parametrize(
    ("ci", "folders"),
    [("github", {".github"}), ("gitcode", {".gitcode"}), ("both", {".github", ".gitcode"})],
)
def test_it_has_the_workflow_that_is_asked_for(new, ci, folders):
    place, _ = new("--data", f"ci={ci}", "--data", "dockerfile=true")
    assert {path.name for path in place.glob(".git?*") if path.is_dir()} == folders
    assert "adapter" not in (place / "Dockerfile").read_text("utf-8").partition("FROM")[2].replace(
        "/adapter", ""
    )
    for folder in folders:
        assert "pytest" not in (place / folder / "workflows/adapter.yml").read_text("utf-8")


@pytest.mark.parametrize(
    ("kit", "installs"),
    [
        (KIT, f'pip install "${{NPU_ADAPTER_KIT:-npu-adapter-kit @ {KIT}}}"'),
        ("npu-adapter-kit==0.1.0", 'pip install "${NPU_ADAPTER_KIT:-npu-adapter-kit==0.1.0}"'),
        ("", "if: vars.NPU_ADAPTER_KIT != ''"),
    ],
)
def test_the_workflow_installs_the_kit_that_is_known(new, kit, installs):
    place, said = new("--data", f"kit={kit}")
    assert installs in (place / WORKFLOW).read_text("utf-8")
    assert not (place / ".kit").exists()
    assert ("the workflow waits for its variable NPU_ADAPTER_KIT" in said) == (not kit)


def test_here_adds_what_is_missing_and_no_planner(tmp_path, capsys):
    place = tmp_path / "mine"
    place.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=place, check=True)
    (place / "deploy.sh").write_text("#!/bin/sh\nexec vllm serve $MODEL_PATH --port 8000\n")
    assert cli.main(["new", "--here", str(place), "--defaults"]) == 0
    assert "exec vllm serve $MODEL_PATH --port 8000\n" in (place / "deploy.sh").read_text()
    assert (place / WORKFLOW).is_file()
    assert not (place / "adapter").exists()


@pytest.mark.skipif(shutil.which("dash") is None, reason="no dash")
@pytest.mark.parametrize("shell", ["dash", "bash"])
def test_deploy_sh_runs_in_any_shell_and_says_what_is_missing(new, shell, tmp_path):
    place, _ = new("--npu", "A3")
    programs = {"vllm": 'printf "%s\\n" "$@"'}
    done = launched(shell, place, tmp_path / "bin", programs)
    assert done.stdout.splitlines()[:4] == ["serve", "/a b", "--host", "0.0.0.0"]
    none = launched(shell, place, tmp_path / "bin", programs, MODEL_PATH="")
    assert none.returncode
    assert "export MODEL_PATH=" in none.stderr
