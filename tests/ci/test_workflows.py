"""The pipelines of a generated repository and the action: valid for their schema, and green with their own commands."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from healthcheck import cli, contract
from healthcheck.system.yaml_text import load
from tests.support.template import KIT, ROOT, template_in

pytestmark = pytest.mark.slow

BIN = Path(sys.executable).parent
GITHUB = ".github/workflows/adapter.yml"
GITCODE = ".gitcode/workflows/adapter.yml"
ACTION = ROOT / "action.yml"


def generated(folder: Path, task: str) -> Path:
    destination = folder / f"adapter-{task}"
    template = template_in(folder / f"template-{task}")
    command = [
        "new",
        str(destination),
        "--template",
        str(template),
        "--defaults",
        "--task",
        task,
        "--data",
        "form=planned",
        "--data",
        "ci=both",
        "--data",
        f"kit={KIT}",
    ]
    assert cli.main(command) == 0
    return destination


@pytest.fixture(scope="module")
def repository(tmp_path_factory) -> Path:
    return generated(tmp_path_factory.mktemp("ci"), "text-generation")


def run(script: str, *, cwd: Path, scratch: Path, path: Path = BIN, **variables: str):
    """As a runner runs a step: bash -e, with the variables that GitHub sets."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST", "GITHUB", "SMOKE"))
    }
    environment = kept | {"PATH": f"{path}:{kept['PATH']}", "GITHUB_ACTIONS": "true", "RUNNER_TEMP": str(scratch),
                          "GITHUB_STEP_SUMMARY": str(scratch / "summary.md"),
                          "GITHUB_OUTPUT": str(scratch / "output"), "GITHUB_WORKSPACE": str(cwd)}  # fmt: skip
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        cwd=cwd, env=environment | variables, capture_output=True, text=True, check=False,
    )  # fmt: skip


def scripts(job) -> list[str]:
    return [step["run"] for step in job["steps"] if "run" in step]


def assert_valid(schema: str, path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", str(path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_schema_check_finds_a_misspelt_key(repository, tmp_path):
    broken = tmp_path / "adapter.yml"
    broken.write_text(
        (repository / GITHUB).read_text("utf-8").replace("runs-on:", "run-on:"), "utf-8"
    )
    with pytest.raises(AssertionError, match="run-on"):
        assert_valid("github-workflows", broken)


@pytest.mark.parametrize("task", [task.value for task in contract.Task])
def test_the_workflow_keeps_to_the_schema_of_github(task, tmp_path):
    assert_valid("github-workflows", generated(tmp_path, task) / GITHUB)


def test_the_action_keeps_to_the_schema_of_github():
    assert_valid("github-actions", ACTION)


@pytest.mark.skipif(
    not shutil.which("actionlint"), reason="actionlint (a Go program) is not on PATH"
)
def test_actionlint_finds_nothing(repository):
    done = subprocess.run(
        ["actionlint", str(repository / GITHUB)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_every_step_of_the_pipelines_is_a_script_that_bash_can_read(repository):
    for path in (repository / GITHUB, repository / GITCODE):
        for job in load(path.read_bytes())["jobs"].values():
            for script in scripts(job):
                assert subprocess.run(["bash", "-n", "-c", script], check=False).returncode == 0, (
                    script
                )


def test_the_cpu_job_is_green_with_its_own_commands(repository, tmp_path):
    install, *rest = scripts(load((repository / GITHUB).read_bytes())["jobs"]["cpu"])
    assert "pip install" in install
    for script in rest:
        done = run(script, cwd=repository, scratch=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
    assert "READY" in (tmp_path / "summary.md").read_text("utf-8").upper()


def test_the_cpu_job_is_red_for_a_broken_repository(tmp_path):
    repository = generated(tmp_path, "text-generation")
    deploy = repository / "deploy.sh"
    deploy.write_text(deploy.read_text("utf-8").replace("exec", "echo exec"), "utf-8")
    subprocess.run(["git", "commit", "-aqm", "broken"], cwd=repository, check=True, env=_author())
    *_, verify = scripts(load((repository / GITHUB).read_bytes())["jobs"]["cpu"])
    done = run(verify, cwd=repository, scratch=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "::error" in done.stderr


def test_the_npu_job_validates_then_verifies_and_keeps_the_report(repository):
    job = load((repository / GITHUB).read_bytes())["jobs"]["npu"]
    commands = [script for script in scripts(job) if script.startswith("npu-adapter")]
    assert [command.split()[1] for command in commands] == ["runner", "verify"]
    assert job["steps"][-1]["if"] == "always()"
    assert job["steps"][-1]["with"]["path"] in commands[-1]
    for command in commands:  # every option is one that the command has
        options = [word for word in command.split() if word.startswith("--")]
        shown = run(
            f"{' '.join(command.split()[:2])} --help-all", cwd=repository, scratch=repository
        ).stdout
        assert [option for option in options if option not in shown] == []


def test_the_npu_job_keeps_what_it_found_on_a_machine_without_npu(repository, tmp_path):
    *_, folder, runner, verify = scripts(load((repository / GITHUB).read_bytes())["jobs"]["npu"])
    assert run(folder, cwd=repository, scratch=tmp_path).returncode == 0
    assert run(runner, cwd=repository, scratch=tmp_path).returncode == 1
    empty = tmp_path / "weights"
    empty.mkdir()
    static = verify.replace("/weights", str(empty)) + " --until plan"
    done = run(static, cwd=repository, scratch=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {"runner.xml", "junit.xml", "report.json"} <= {
        path.name for path in (repository / "report").iterdir()
    }


def test_no_pipeline_names_a_package_registry(repository):
    for path in (repository / GITHUB, repository / GITCODE, ACTION):
        text = path.read_text("utf-8")
        assert "index-url" not in text
        assert "pypi" not in text.lower()


def action_steps(tmp_path: Path, repository: Path, **inputs: str):
    """The steps of the action with its defaults, over an environment that is made of this one."""
    action = load(ACTION.read_bytes())
    values = {name: value["default"] for name, value in action["inputs"].items()} | inputs
    for step in action["runs"]["steps"]:
        if "if" in step and values["runner"] != "true":
            continue
        variables = {
            name: values[text.removeprefix("${{ inputs.").removesuffix(" }}")]
            for name, text in step.get("env", {}).items()
        }
        yield (
            step,
            run(
                step["run"],
                cwd=repository,
                scratch=tmp_path,
                GITHUB_ACTION_PATH=str(ROOT),
                **variables,
            ),
        )


def test_the_folder_of_the_action_is_ignored_here_and_in_a_generated_repository(repository):
    folder = load(ACTION.read_bytes())["inputs"]["report"]["default"]
    for checkout in (repository, ROOT):
        done = subprocess.run(
            ["git", "check-ignore", f"{folder}/report.html"], cwd=checkout, check=False
        )
        assert done.returncode == 0, checkout


def test_the_steps_of_the_action_verify_another_repository(repository, tmp_path):
    for step, done in action_steps(tmp_path, repository):
        assert done.returncode == 0, (step["name"], done.stdout, done.stderr)
    assert (tmp_path / "output").read_text("utf-8") == "verdict=ready\n"
    assert "READY" in (tmp_path / "summary.md").read_text("utf-8").upper()


def test_warnings_are_failures_for_the_action_where_it_is_strict(repository, tmp_path):
    (tmp_path / "npu-adapter-kit").symlink_to(BIN.parent)
    warned = tmp_path / "warned"
    shutil.copytree(repository, warned)
    with (warned / "requirements.txt").open("a", encoding="utf-8") as file:
        file.write("torch==2.1.0\n")
    git = ("git", "-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run(
        [*git, "commit", "--quiet", "--all", "--message=pin torch"], cwd=warned, check=True
    )
    step = load(ACTION.read_bytes())["runs"]["steps"][-1]
    for strict, status in (("false", 0), ("true", 1)):
        done = run(step["run"], cwd=warned, scratch=tmp_path, REPOSITORY=".", TASK="text-generation", UNTIL="repo",
                   WEIGHTS="", REPORT="report", STRICT=strict)  # fmt: skip
        assert done.returncode == status, done.stdout + done.stderr


def test_the_action_says_not_ready_for_a_folder_without_deploy_sh(tmp_path):
    (tmp_path / "npu-adapter-kit").symlink_to(BIN.parent)
    empty = tmp_path / "empty"
    empty.mkdir()
    step = load(ACTION.read_bytes())["runs"]["steps"][-1]
    done = run(step["run"], cwd=empty, scratch=tmp_path, REPOSITORY=".", TASK="text-generation", UNTIL="plan",
               WEIGHTS="", REPORT="report")  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    assert (tmp_path / "output").read_text("utf-8") == "verdict=not-ready\n"
    assert (empty / "report" / "junit.xml").is_file()


@pytest.fixture
def published(tmp_path) -> tuple[Path, dict[str, str]]:
    """A checkout of the kit whose origin is an https address, and the variables with which git reaches it here."""
    checkout = template_in(tmp_path / "kit")
    junk = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "healthcheck", checkout / "healthcheck", ignore=junk)
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy2(ROOT / name, checkout)
    address = "https://someone:secret@git.example.org/someone/npu-adapter-kit.git"
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-qm", "kit"), ("remote", "add", "origin", address),
                  ("update-ref", "refs/remotes/origin/main", "HEAD")):  # fmt: skip
        subprocess.run(["git", *words], cwd=checkout, check=True, env=_author())
    rewriting = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": f"url.{checkout.as_uri()}.insteadOf",
                 "GIT_CONFIG_VALUE_0": "https://git.example.org/someone/npu-adapter-kit.git"}  # fmt: skip
    return checkout, rewriting


def pushed(made: Path, tmp_path: Path) -> Path:
    """What a runner checks out: a fresh clone."""
    subprocess.run(["git", "clone", "-q", made.as_uri(), "checkout"], cwd=tmp_path, check=True)
    return tmp_path / "checkout"


def fresh_python(tmp_path: Path) -> Path:
    venv.create(tmp_path / "python", with_pip=True)
    return tmp_path / "python" / "bin"


def test_the_first_push_is_green_with_the_kit_from_its_own_origin(published, tmp_path):
    checkout, rewriting = published
    command = [
        sys.executable,
        "-m",
        "healthcheck",
        "new",
        str(tmp_path / "made"),
        "--template",
        "planned",
        "--defaults",
    ]
    subprocess.run(command, cwd=checkout, check=True, capture_output=True)
    clone = pushed(tmp_path / "made", tmp_path)
    workflow = clone / GITHUB
    assert "secret" not in workflow.read_text("utf-8")
    assert not (clone / ".kit").exists()
    python = fresh_python(tmp_path)
    for script in scripts(load(workflow.read_bytes())["jobs"]["cpu"]):
        done = run(
            script, cwd=clone, scratch=tmp_path, path=python, NPU_ADAPTER_KIT="", **rewriting
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert "READY" in (tmp_path / "summary.md").read_text("utf-8").upper()


def test_the_first_push_is_green_with_a_wheel_in_the_repository(tmp_path):
    build = [
        sys.executable,
        "-m",
        "hatchling",
        "build",
        "-t",
        "wheel",
        "-d",
        str(tmp_path / "wheel"),
    ]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = (tmp_path / "wheel").iterdir()
    made = tmp_path / "made"
    assert (
        cli.main(
            [
                "new",
                str(made),
                "--defaults",
                "--data",
                "ci=gitcode",
                "--data",
                f"kit=./.kit/{wheel.name}",
            ]
        )
        == 0
    )
    (made / ".kit").mkdir()
    wheel.rename(made / ".kit" / wheel.name)
    for words in (("add", "."), ("commit", "-qm", "wheel")):
        subprocess.run(["git", *words], cwd=made, check=True, env=_author())
    clone = pushed(made, tmp_path)
    job = load((clone / GITCODE).read_bytes())["jobs"]["cpu"]
    fresh_python(tmp_path)
    home = str(tmp_path / "home")
    files = {
        name: str(tmp_path / name)
        for name in ("ATOMGIT_ENV", "ATOMGIT_OUTPUT", "ATOMGIT_STEP_SUMMARY")
    }
    kept: dict[str, str] = {}
    for script in scripts(job):
        done = run(script, cwd=clone, scratch=tmp_path, HOME=home, **files, **job["env"], **kept)
        assert done.returncode == 0, done.stdout + done.stderr
        pairs = (
            line.split("=", 1)
            for line in (tmp_path / "ATOMGIT_ENV").read_text("utf-8").splitlines()
        )
        kept = dict(pairs)
    assert kept == {"KIT": f"{home}/kit/bin"}


def _author() -> dict[str, str]:
    names = {
        f"GIT_{who}_{what}": "a@example.org"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    return os.environ | names
