"""`npu-adapter new` and what its planned form is, with the real copier, git and shells."""

from __future__ import annotations

import io
import os
import pty
import shlex
import subprocess
import sys

import pytest

from healthcheck import cli, contract
from healthcheck.ascend import stacks
from healthcheck.system import yaml_text
from tests.support.daily import every
from tests.support.template import KIT, ROOT, SHARED_BY_DESIGN, template_in

STACKS = tuple(
    row.vllm_ascend
    for row in stacks.rows()
    if row.final and not stacks.is_older(row.vllm_ascend, "0.11.0")
)
"""The releases that the template offers; scripts/release_template.py writes them."""


COMMANDS = ("MODEL_PATH=", "pip ", "npu-adapter ", "curl ", "vllm", "pipeline_tag", "base_model")


@pytest.fixture(scope="session")
def template(tmp_path_factory):
    return template_in(tmp_path_factory.mktemp("template"))


@pytest.fixture
def anonymous(monkeypatch, tmp_path):
    """A machine where nobody told git who commits."""
    for name in list(os.environ):
        if name.startswith(("GIT_", "EMAIL")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def new(template, tmp_path, capsys):
    def make(*arguments, destination="adapter-of-mine"):
        place = tmp_path / destination
        given = ("--template", str(template), "--data", "form=planned", "--data", f"kit={KIT}")
        status = cli.main(["new", str(place), *given, *arguments])
        return status, place, capsys.readouterr().err

    return make


def git(place, *arguments):
    return subprocess.run(
        ["git", *arguments], cwd=place, capture_output=True, text=True, check=True
    ).stdout


def files(folder):
    return {
        str(path.relative_to(folder)): path
        for path in folder.rglob("*")
        if path.is_file()
        and "__pycache__" not in path.parts
        and ".git" not in path.relative_to(folder).parts
    }


@pytest.mark.process
def test_the_reference_adapter_is_the_planned_form_for_several_machines(new):
    status, place, _ = new("--defaults", "--data", "machines=several")
    assert status == 0
    rendered = files(place)
    for name in SHARED_BY_DESIGN:
        here = files(ROOT / name) if (ROOT / name).is_dir() else {"": ROOT / name}
        for part, path in here.items():
            copy = rendered.pop(f"{name}/{part}".rstrip("/"))
            assert copy.read_bytes() == path.read_bytes()
            assert copy.stat().st_mode & 0o111 == path.stat().st_mode & 0o111
            assert not copy.is_symlink()
    assert not any(name.startswith("adapter/") for name in rendered)
    assert os.access(place / "deploy.sh", os.X_OK)


def test_nothing_of_the_template_runs_code():
    text = (ROOT / "copier.yml").read_text()
    assert not any(word in text for word in ("_tasks", "_migrations", "_jinja_extensions"))


def test_nothing_exists_twice():
    repository = ROOT / "templates" / "planned"
    linked = [name for name in SHARED_BY_DESIGN if (repository / name).is_symlink()]
    assert linked == ["requirements.txt", "adapter.toml", "adapter"]
    assert (repository / "deploy.sh.jinja").read_text() == '{% include "deploy.sh" %}'


@pytest.mark.process
@pytest.mark.parametrize("task", every(3, [task.value for task in contract.Task]))
def test_a_generated_repository_passes_its_own_tests(new, task):
    status, place, _ = new("--defaults", "--task", task)
    assert status == 0
    assert f"pipeline_tag: {task}\n" in (place / "README.md").read_text()
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST", "SMOKE"))
    }
    environment["SMOKE_SERVER"] = "http://127.0.0.1:1"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=place, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


@pytest.mark.process
@pytest.mark.parametrize("stack", STACKS)
def test_every_stack_row_renders(new, stack):
    status, place, _ = new("--defaults", "--data", f"stack={stack}")
    assert status == 0
    readme = (place / "README.md").read_text()
    row = stacks.row(stack)
    assert row.final
    for value in (
        f"vllm-ascend:v{stack}",
        f"| CANN | {row.cann} |",
        f"{row.vllm[0]}, {stack}",
        f"{row.torch}, {row.torch_npu.split('+')[0]}",
    ):
        assert value in readme
    assert f"vllm-ascend:v{stack}" in (place / ".github/workflows/adapter.yml").read_text()


@pytest.mark.process
def test_a_dockerfile_only_if_asked_for(new):
    _, place, _ = new("--defaults")
    assert not (place / "Dockerfile").exists()
    _, place, _ = new("--defaults", "--data", "dockerfile=true", destination="with-docker")
    text = (place / "Dockerfile").read_text()
    assert 'ENTRYPOINT ["./deploy.sh"]' in text
    assert "adapter.ready" in text


@pytest.mark.process
@pytest.mark.parametrize("task", [task.value for task in contract.Task])
def test_the_workflow_is_what_github_reads(new, task):
    _, place, _ = new("--defaults", "--task", task)
    workflow = yaml_text.load((place / ".github/workflows/adapter.yml").read_text())
    assert set(workflow["jobs"]) == {"cpu", "npu"}
    assert workflow["jobs"]["npu"]["runs-on"] == ["self-hosted", "linux", "npu"]
    commands = [
        step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step
    ]
    assert f"npu-adapter verify . --task {task} --until plan" in commands
    assert not any("{%" in command or "{{ " in command for command in commands)


@pytest.mark.slow
@pytest.mark.parametrize("task", [task.value for task in contract.Task])
def test_the_cpu_job_runs_green_here(new, task):
    _, place, _ = new("--defaults", "--task", task)
    workflow = yaml_text.load((place / ".github/workflows/adapter.yml").read_text())
    commands = [
        step["run"]
        for step in workflow["jobs"]["cpu"]["steps"]
        if "run" in step and "pip install" not in step["run"]
    ]
    path = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST", "SMOKE"))
    }
    environment |= {"PATH": path, "SMOKE_SERVER": "http://127.0.0.1:1"}
    for command in commands:
        done = subprocess.run(
            ["bash", "-e", "-c", command],
            cwd=place,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    assert len(commands) == 2
    assert git(place, "status", "--porcelain") == ""


@pytest.mark.process
def test_the_first_commit_has_everything(new):
    _, place, _ = new("--defaults")
    assert git(place, "status", "--porcelain") == ""
    assert git(place, "rev-list", "--count", "HEAD").strip() == "1"
    assert set(git(place, "ls-files").split()) == set(files(place))
    assert git(place, "ls-files", "--stage", "deploy.sh").startswith("100755")


@pytest.mark.process
def test_it_commits_where_nobody_told_git_who_commits(anonymous, new):
    status, place, error = new("--defaults")
    assert status == 0, error
    assert "npu-adapter" in git(place, "log", "--format=%an")
    with pytest.raises(subprocess.CalledProcessError):
        git(place, "config", "user.email")


@pytest.mark.process
def test_it_leaves_the_users_identity_alone(anonymous, new, tmp_path):
    (tmp_path / ".gitconfig").write_text("[user]\nname = An Author\nemail = author@example.org\n")
    _, place, _ = new("--defaults")
    assert (
        git(place, "log", "--format=%an %ae %cn").strip()
        == "An Author author@example.org An Author"
    )


@pytest.mark.process
def test_the_repository_is_called_like_its_folder(new):
    _, place, _ = new("--defaults", destination="qwen3-on-npu")
    assert "# qwen3-on-npu\n" in (place / "README.md").read_text()


@pytest.mark.process
@pytest.mark.parametrize(
    ("folder", "title"),
    [("模型适配", "模型适配"), ("a b", "a b"), ("我的&模型", "我的 模型"), ("&&", "my-adapter")],
)
def test_the_title_is_the_name_of_the_folder(new, folder, title):
    status, place, _ = new("--defaults", destination=folder)
    assert status == 0
    assert f"# {title}\n" in (place / "README.md").read_text("utf-8")
    assert yaml_text.load((place / ".copier-answers.yml").read_text("utf-8"))["name"] == title


@pytest.mark.process
def test_the_readme_is_in_the_language_of_its_author(tmp_path, monkeypatch):
    commands = {}
    for language, heading in (("en", "## Run it"), ("zh", "## 运行")):
        monkeypatch.setenv("NPU_ADAPTER_LANG", language)
        assert (
            cli.main(
                [
                    "new",
                    str(tmp_path / language / "x"),
                    "--template",
                    "planned",
                    "--defaults",
                    "--data",
                    f"kit={KIT}",
                ]
            )
            == 0
        )
        readme = (tmp_path / language / "x" / "README.md").read_text(encoding="utf-8")
        assert heading in readme
        commands[language] = [
            line.partition("#")[0] for line in readme.splitlines() if line.startswith(COMMANDS)
        ]
    assert len(commands["zh"]) > 5
    assert commands["zh"] == commands["en"]


@pytest.mark.process
def test_an_empty_folder_will_do(new, tmp_path):
    (tmp_path / "adapter-of-mine").mkdir()
    assert new("--defaults")[0] == 0


@pytest.mark.process
def test_a_folder_in_use_is_refused_and_left_alone(new, tmp_path):
    (tmp_path / "adapter-of-mine").mkdir()
    (tmp_path / "adapter-of-mine" / "mine").write_text("mine")
    status, place, error = new("--defaults")
    assert status == 2
    assert "not empty" in error
    assert set(files(place)) == {"mine"}


@pytest.mark.process
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--task", "text-classification"], "text-generation, image-text-to-text, any-to-any"),
        (["--data", "stack=1.0"], ", ".join(STACKS)),
        (["--data", "licence"], "has no '='"),
        (
            ["--data", "color=red"],
            "name, form, task, model_name, licence, stack, language, ci, dockerfile, machines, kit, launch",
        ),
        (["--data", "name=../evil"], "name is '../evil': letters"),
        (
            ["--data", "model_name=bad name"],
            "model_name is 'bad name': a name such as Qwen/Qwen3-8B\n",
        ),
        (["--data", "kit=npu-adapter-kit"], "kit is 'npu-adapter-kit': git+URL@COMMIT"),
    ],
)
def test_wrong_answers_are_refused_with_what_would_do(tmp_path, capsys, arguments, says):
    status = cli.main(["new", str(tmp_path / "x"), "--defaults", *arguments])
    assert status == 2
    assert says in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


@pytest.mark.process
def test_a_place_that_cannot_be_made_is_named(capsys):
    assert cli.main(["new", "/proc/adapter", "--defaults"]) == 2
    assert (
        capsys.readouterr().err
        == "npu-adapter: cannot write /proc/adapter: No such file or directory\n"
    )


@pytest.mark.process
def test_without_a_terminal_it_names_what_it_would_ask(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert cli.main(["new", str(tmp_path / "x"), "--task", "text-generation"]) == 2
    error = capsys.readouterr().err
    assert "--defaults" in error
    assert "model_name" in error
    assert not (tmp_path / "x").exists()


@pytest.mark.process
def test_without_copier_it_says_how_to_get_it(tmp_path):
    program = "import sys; sys.modules['copier'] = None; from healthcheck.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", program, "new", str(tmp_path / "x"), "--defaults"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    command = done.stderr.strip().partition("needs copier: ")[2]
    dry = subprocess.run(
        [*shlex.split(command), "--dry-run", "--no-index"],
        capture_output=True,
        text=True,
        check=False,
    )  # it is there: nothing is looked for elsewhere
    assert dry.returncode == 0, done.stderr + dry.stderr
    assert not (tmp_path / "x").exists()
    assert "Traceback" not in done.stderr


@pytest.mark.process
def test_an_empty_clone_is_filled_and_keeps_its_branch_and_origin(new, tmp_path):
    git(tmp_path, "init", "-q", "--bare", "--initial-branch", "trunk", "origin.git")
    git(tmp_path, "clone", "-q", str(tmp_path / "origin.git"), "adapter-of-mine")
    status, place, error = new("--defaults")
    assert status == 0, error
    git(place, "push", "-q", "origin", "HEAD")
    assert "deploy.sh" in git(tmp_path / "origin.git", "ls-tree", "--name-only", "trunk").split()


@pytest.mark.process
def test_a_clone_whose_files_were_removed_is_not_taken_for_empty(new):
    _, place, _ = new("--defaults")
    git(place, "rm", "-qr", ".")
    status, _, error = new("--defaults")
    assert status == 2
    assert "has commits" in error
    assert git(place, "rev-list", "--count", "HEAD").strip() == "1"


@pytest.mark.process
def test_ctrl_c_at_a_question_is_one_line(tmp_path):
    """At a terminal: the question is awaited, then Ctrl-C is typed."""
    terminal, other = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "healthcheck", "new", str(tmp_path / "x")],
        cwd=ROOT, stdin=other, stdout=other, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    os.close(other)
    shown = b""
    while b"Name of the repository" not in shown:
        shown += os.read(terminal, 1024)
    os.write(terminal, b"\x03")
    _, error = process.communicate(timeout=120)
    os.close(terminal)
    assert process.returncode == 3
    assert error.decode().splitlines() == ["npu-adapter: interrupted"]
    assert not (tmp_path / "x").exists()
