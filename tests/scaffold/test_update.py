"""`npu-adapter update` with real repositories: of the kit's own template, of tagged templates, of plain folders."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import zipfile

import pytest

from healthcheck import cli
from healthcheck.scaffold import template as template_versions
from tests.support.template import KIT, ROOT, template_in

IDENTITY = ("-c", "user.name=T", "-c", "user.email=t@example.org")


def git(place, *arguments):
    return subprocess.run(
        ["git", *IDENTITY, *arguments], cwd=place, capture_output=True, text=True, check=True
    ).stdout


def edit(path, old, new):
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def committed(folder, message="one"):
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", message)


@pytest.fixture
def template(tmp_path):
    """A git repository with the template, tagged 1.0.0."""
    folder = template_in(tmp_path / "template")
    (folder / ".gitignore").write_text("__pycache__/\n")
    committed(folder)
    git(folder, "tag", "1.0.0")
    return folder


@pytest.fixture
def made(template, tmp_path):
    place = tmp_path / "mine"
    assert (
        cli.main(
            [
                "new",
                str(place),
                "--template",
                str(template),
                "--defaults",
                "--data",
                "form=planned",
                "--data",
                f"kit={KIT}",
            ]
        )
        == 0
    )
    return place


def release(template, tag):
    git(template, "commit", "-qam", tag)
    git(template, "tag", tag)


@pytest.mark.process
def test_an_update_brings_the_templates_change_and_keeps_the_authors(template, made, capsys):
    edit(made / "deploy.sh", "set -eu\n", "set -eu\n# mine\n")
    git(made, "commit", "-qam", "mine")
    edit(template / "deploy.sh", "exec vllm", "# new\nexec vllm")
    release(template, "1.1.0")
    assert cli.main(["update", str(made)]) == 0
    text = (made / "deploy.sh").read_text()
    assert "# mine\n" in text
    assert "# new\nexec vllm" in text
    said = capsys.readouterr().out
    assert f"updated from the template at {template}, from 1.0.0 to 1.1.0" in said
    assert "M  deploy.sh\n" in said
    assert git(made, "ls-files", "--stage", "deploy.sh").startswith("100755")


@pytest.mark.process
def test_a_conflict_is_called_one_and_names_its_files(template, made, capsys):
    edit(made / "deploy.sh", "exec vllm", "# mine\nexec vllm")
    (made / "requirements.txt").unlink()
    git(made, "commit", "-qam", "mine")
    edit(template / "deploy.sh", "exec vllm", "# theirs\nexec vllm")
    edit(template / "adapter.toml", "# What", "# All that")
    (template / "requirements.txt").write_text("# theirs\n")
    release(template, "1.1.0")
    capsys.readouterr()
    assert cli.main(["update", str(made)]) == 1
    said = capsys.readouterr().out
    assert said.startswith("CONFLICT")
    assert [line for line in said.splitlines() if line.startswith("  ")] == [
        "  deploy.sh",
        "  requirements.txt",
        "  git reset --hard",
    ]
    assert "updated" not in said
    assert "<<<<<<< " in (made / "deploy.sh").read_text()
    assert git(made, "status", "--short", "adapter.toml") == "M  adapter.toml\n"
    git(made, "reset", "-q", "--hard")
    assert "# mine\nexec vllm" in (made / "deploy.sh").read_text()


@pytest.mark.process
def test_what_is_up_to_date_stays_as_it_is(made, capsys):
    assert cli.main(["update", str(made)]) == 0
    assert re.search(
        r"already up to date with the template at .*, 1\.0\.0\n", capsys.readouterr().out
    )
    assert git(made, "status", "--short") == ""


@pytest.mark.process
def test_uncommitted_changes_are_not_touched(made, capsys):
    (made / "README.md").write_text("mine")
    assert cli.main(["update", str(made)]) == 2
    assert "uncommitted changes" in capsys.readouterr().err
    assert (made / "README.md").read_text() == "mine"


@pytest.mark.process
def test_a_template_without_tags_is_followed_by_its_commits(template, tmp_path, capsys):
    git(template, "tag", "-d", "1.0.0")
    place = tmp_path / "mine"
    command = [
        "new",
        str(place),
        "--template",
        str(template),
        "--defaults",
        "--data",
        "form=planned",
        "--data",
        f"kit={KIT}",
    ]
    assert cli.main(command) == 0
    before = git(template, "rev-parse", "--short", "HEAD").strip()
    (template / "requirements.txt").write_text("# nothing\n")
    git(template, "commit", "-qam", "two")
    after = git(template, "rev-parse", "--short", "HEAD").strip()
    capsys.readouterr()
    assert cli.main(["update", str(place)]) == 0
    assert f"from {before} to {after}" in capsys.readouterr().out


@pytest.fixture
def from_a_folder(tmp_path):
    folder = template_in(tmp_path / "plain")
    place = tmp_path / "mine"
    command = [
        "new",
        str(place),
        "--template",
        str(folder),
        "--defaults",
        "--data",
        "form=planned",
        "--data",
        f"kit={KIT}",
    ]
    assert cli.main(command) == 0
    return folder, place


@pytest.mark.process
def test_a_plain_folder_is_compared_with_what_it_made(from_a_folder, capsys):
    folder, place = from_a_folder
    edit(place / "deploy.sh", "set -eu\n", "set -eu\n# mine\n")
    git(place, "commit", "-qam", "mine")
    edit(folder / "deploy.sh", "exec vllm", "# new\nexec vllm")
    assert cli.main(["update", str(place)]) == 0
    text = (place / "deploy.sh").read_text()
    assert "# mine\n" in text
    assert "# new\nexec vllm" in text


@pytest.mark.process
def test_an_amended_first_commit_is_not_taken_for_what_the_template_made(
    from_a_folder, tmp_path, capsys
):
    folder, place = from_a_folder
    edit(place / "deploy.sh", "set -eu\n", "set -eu\n# mine\n")
    git(place, "commit", "-qa", "--amend", "--no-edit")
    edit(folder / "deploy.sh", "exec vllm", "# new\nexec vllm")
    capsys.readouterr()
    assert cli.main(["update", str(place)]) == 2
    said = capsys.readouterr().err
    assert "is lost" in said
    assert git(place, "status", "--short") == ""
    (command,) = [
        line.split("npu-adapter ")[1]
        for line in said.splitlines()
        if "npu-adapter new FRESH" in line
    ]
    assert cli.main(shlex.split(command.replace("FRESH", str(tmp_path / "fresh")))) == 0


def test_what_was_not_made_from_a_template_is_refused(tmp_path, capsys):
    assert cli.main(["update", str(tmp_path)]) == 2
    assert "npu-adapter new" in capsys.readouterr().err


class Kit:
    """A plain folder with the kit in it, such as an unpacked archive, whose template changes."""

    def __init__(self, folder):
        shutil.copytree(
            ROOT / "healthcheck",
            folder / "healthcheck",
            ignore=shutil.ignore_patterns("__pycache__"),
        )
        template_in(folder)
        (folder / "scripts").mkdir()
        shutil.copy2(ROOT / "scripts/keep_template.py", folder / "scripts")
        self.folder = folder

    def __call__(self, *words):
        command = [sys.executable, "-m", "healthcheck", *map(str, words)]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)

    def keep(self):
        command = [sys.executable, "scripts/keep_template.py"]
        subprocess.run(command, cwd=self.folder, check=True, capture_output=True)


@pytest.fixture
def kit(tmp_path):
    return Kit(tmp_path / "kit")


def author_and_template_change(kit, place):
    edit(place / "deploy.sh", "set -eu\n", "set -eu\n# mine\n")
    committed(place, "mine")
    edit(kit.folder / "deploy.sh", "exec vllm", "# new\nexec vllm")


def both_changes_are_there(place):
    text = (place / "deploy.sh").read_text()
    return "# mine\n" in text and "# new\nexec vllm" in text


@pytest.mark.process
def test_a_kept_template_outlives_the_history_of_the_repository(kit, tmp_path):
    place = tmp_path / "mine"
    kit.keep()
    assert (
        kit("new", place, "--defaults", "--data", "form=planned", "--data", f"kit={KIT}").returncode
        == 0
    )
    assert str(tmp_path) not in (place / ".copier-answers.yml").read_text()
    shutil.rmtree(place / ".git")
    author_and_template_change(kit, place)
    done = kit("update", place)
    assert done.returncode == 0, done.stderr
    assert both_changes_are_there(place)


def test_each_kept_template_is_the_version_that_its_name_says(tmp_path):
    archives = sorted((ROOT / "healthcheck/scaffold/kept").glob("*.zip"))
    assert archives
    for archive in archives:
        folder = tmp_path / archive.stem
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(folder)
        assert (
            template_versions.version_of(folder).rpartition("-")[2]
            == archive.stem.rpartition("-")[2]
        )


@pytest.mark.slow
def test_an_older_kit_does_not_take_a_repository_back(kit, tmp_path):
    place = tmp_path / "mine"
    edit(kit.folder / "healthcheck/__init__.py", '__version__ = "', '__version__ = "9.')
    assert (
        kit("new", place, "--defaults", "--data", "form=planned", "--data", f"kit={KIT}").returncode
        == 0
    )
    done = subprocess.run(
        [sys.executable, "-m", "healthcheck", "update", place],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "of the kit 9." in done.stderr


@pytest.mark.process
def test_an_update_runs_no_hook_and_no_monitor_of_the_repository(template, made, tmp_path, capsys):
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\n")
    program.chmod(0o755)
    for name in (
        "post-index-change",
        "post-checkout",
        "prepare-commit-msg",
        "reference-transaction",
    ):
        (made / ".git" / "hooks").mkdir(exist_ok=True)
        shutil.copy(program, made / ".git" / "hooks" / name)
    git(made, "config", "core.fsmonitor", str(program))
    edit(template / "deploy.sh", "exec vllm", "# new\nexec vllm")
    release(template, "2.0.0")
    assert cli.main(["update", str(made)]) == 0
    assert "# new" in (made / "deploy.sh").read_text()
    assert not ran.exists()
    git(made, "status")
    assert ran.exists(), "git itself would have run it"


@pytest.mark.process
@pytest.mark.parametrize(
    ("answers", "told"),
    [
        ("_src_path: http://127.0.0.1:1/t.git\n", "write its https address"),
        ("_src_path: git://127.0.0.1:1/t.git\n", "write its https address"),
        ("_src_path: x\n? [a]\n: b\n", "cannot be read: while constructing a mapping"),
        ("_src_path: x\n1: b\n", "has no answers in it"),
    ],
)
def test_answers_of_another_kind_are_wrong_usage(answers, told, tmp_path, capsys):
    (tmp_path / ".copier-answers.yml").write_text(answers)
    committed(tmp_path)
    assert cli.main(["update", str(tmp_path)]) == 2
    assert told in capsys.readouterr().err.replace("\n", " ")
