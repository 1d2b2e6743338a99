"""`npu-adapter update` with real repositories: a tagged template, a plain folder, and none."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from healthcheck import cli
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
    assert "deploy.sh" in capsys.readouterr().out


def test_what_is_up_to_date_stays_as_it_is(template, tmp_path, capsys):
    place = tmp_path / "mine"
    cli.main(["new", str(place), "--template", str(template), "--defaults"])
    assert cli.main(["update", str(place)]) == 0
    assert "already up to date" in capsys.readouterr().out


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
    assert "--template GIT-ADDRESS" in capsys.readouterr().err


def test_what_was_not_made_from_a_template_is_refused(tmp_path, capsys):
    assert cli.main(["update", str(tmp_path)]) == 2
    assert "npu-adapter new" in capsys.readouterr().err
