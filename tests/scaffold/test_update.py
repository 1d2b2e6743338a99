"""`npu-adapter update` with real repositories: a tagged template, a plain folder, and none."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess

import pytest

from healthcheck import cli, scaffold
from tests.support.template import template_in

IDENTITY = ("-c", "user.name=T", "-c", "user.email=t@example.org")


def git(place, *arguments):
    return subprocess.run(
        ["git", *IDENTITY, *arguments], cwd=place, capture_output=True, text=True, check=True
    ).stdout


@pytest.fixture
def template(tmp_path):
    """A git repository with the template, tagged 1.0.0."""
    folder = template_in(tmp_path / "template")
    (folder / ".gitignore").write_text("__pycache__/\n")
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "one")
    git(folder, "tag", "1.0.0")
    return folder


def test_an_update_brings_the_templates_change_and_keeps_the_authors(template, tmp_path, capsys):
    place = tmp_path / "mine"
    assert cli.main(["new", str(place), "--template", str(template), "--defaults"]) == 0
    (place / "deploy.sh").write_text((place / "deploy.sh").read_text().replace("set -eu\n", "set -eu\n# mine\n"))
    git(place, "commit", "-qam", "mine")
    assert git(place, "ls-files", "--stage", "deploy.sh").startswith("100755")
    (template / "deploy.sh").write_text(
        (template / "deploy.sh").read_text().replace("exec vllm", "# new\nexec vllm")
    )
    git(template, "commit", "-qam", "two")
    git(template, "tag", "1.1.0")
    assert cli.main(["update", str(place)]) == 0
    text = (place / "deploy.sh").read_text()
    assert "# mine\n" in text
    assert "# new\nexec vllm" in text
    said = capsys.readouterr().out
    assert "from 1.0.0 to 1.1.0 of the template at" in said
    assert " M deploy.sh\n" in said


def test_what_is_up_to_date_stays_as_it_is(template, tmp_path, capsys):
    place = tmp_path / "mine"
    cli.main(["new", str(place), "--template", str(template), "--defaults"])
    assert cli.main(["update", str(place)]) == 0
    said = capsys.readouterr().out
    assert "already up to date" in said
    assert "at 1.0.0" in said


def test_uncommitted_changes_are_not_touched(template, tmp_path, capsys):
    place = tmp_path / "mine"
    cli.main(["new", str(place), "--template", str(template), "--defaults"])
    (place / "README.md").write_text("mine")
    assert cli.main(["update", str(place)]) == 2
    assert "dirty" in capsys.readouterr().err
    assert (place / "README.md").read_text() == "mine"


def test_a_plain_folder_has_no_versions(template, tmp_path, capsys):
    shutil.rmtree(template / ".git")
    place = tmp_path / "mine"
    assert cli.main(["new", str(place), "--template", str(template), "--defaults"]) == 0
    assert cli.main(["update", str(place)]) == 2
    said = capsys.readouterr().err
    assert "--template GIT-ADDRESS" in said
    assert "plain folder" in said


def test_a_template_without_tags_is_followed_by_its_commits(template, tmp_path, capsys):
    git(template, "tag", "-d", "1.0.0")
    place = tmp_path / "mine"
    assert cli.main(["new", str(place), "--template", str(template), "--defaults"]) == 0
    before = git(template, "rev-parse", "--short", "HEAD").strip()
    (template / "requirements.txt").write_text("# nothing\n")
    git(template, "commit", "-qam", "two")
    after = git(template, "rev-parse", "--short", "HEAD").strip()
    capsys.readouterr()
    assert cli.main(["update", str(place)]) == 0
    assert f"from {before} to {after}" in capsys.readouterr().out


def test_a_template_with_uncommitted_changes_leaves_no_version_to_compare_with(template, tmp_path, capsys):
    place, fresh = tmp_path / "mine", tmp_path / "fresh"
    scaffold.create(place, {"licence": "mit"}, template=str(template), ask=False)
    answers = place / ".copier-answers.yml"
    text = re.sub(r"(?m)^_commit: .*$", "_commit: 0123abc", answers.read_text())
    answers.write_text(re.sub(r"(?m)^_src_path: .*$", f"_src_path: {template}", text))
    git(place, "commit", "-qam", "as a checkout with changes made it")
    capsys.readouterr()
    assert cli.main(["update", str(place)]) == 2
    said = capsys.readouterr().err
    assert "at 0123abc, which is not in its history" in said
    (command,) = [
        line.split("npu-adapter ")[1] for line in said.splitlines() if line.startswith("  npu-adapter new")
    ]
    assert cli.main(shlex.split(command.replace("FRESH", str(fresh)))) == 0
    assert "licence: mit" in (fresh / ".copier-answers.yml").read_text()


def test_what_was_not_made_from_a_template_is_refused(tmp_path, capsys):
    assert cli.main(["update", str(tmp_path)]) == 2
    assert "npu-adapter new" in capsys.readouterr().err
