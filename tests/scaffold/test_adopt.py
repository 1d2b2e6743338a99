"""`npu-adapter new --here`: what a repository lacks is added, what it has stays."""

from __future__ import annotations

import subprocess

import pytest

from healthcheck import cli
from tests.support.template import KIT, template_in

DEPLOY = "#!/bin/sh\nexec vllm serve $MODEL_PATH --port 8000\n"


def git(place, *arguments):
    return subprocess.run(
        ["git", *arguments], cwd=place, capture_output=True, text=True, check=True
    ).stdout


@pytest.fixture
def mine(tmp_path):
    place = tmp_path / "mine"
    place.mkdir()
    git(place, "init", "-q")
    (place / "deploy.sh").write_text(DEPLOY)
    (place / "notes.md").write_text("notes\n")
    return place


@pytest.fixture
def adopt(tmp_path, capsys):
    template = template_in(tmp_path / "template")

    def run(*words):
        given = (
            "--template",
            str(template),
            "--defaults",
            "--data",
            "form=planned",
            "--data",
            f"kit={KIT}",
        )
        return cli.main(["new", "--here", *map(str, words), *given]), capsys.readouterr()

    return run


@pytest.mark.process
def test_it_adds_what_is_missing_and_shows_what_differs(mine, adopt):
    status, said = adopt(mine)
    assert status == 0, said.err
    assert (mine / "deploy.sh").read_text() == DEPLOY
    assert "-exec vllm serve $MODEL_PATH --port 8000\n" in said.out
    assert "added: adapter/plan.py\n" in said.out
    assert "added: deploy.sh\n" not in said.out
    assert (mine / ".github/workflows/adapter.yml").is_file()
    assert "# mine\n" in (mine / "README.md").read_text()
    assert git(mine, "rev-list", "--all", "--count").strip() == "0"


@pytest.mark.process
def test_this_folder_is_the_default(mine, adopt, monkeypatch):
    monkeypatch.chdir(mine)
    assert adopt()[0] == 0
    assert (mine / "adapter.toml").is_file()


@pytest.mark.process
def test_an_adopted_repository_can_be_updated(mine, adopt, tmp_path, capsys):
    template = tmp_path / "template"
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "one"), ("tag", "1.0.0")):
        git(template, "-c", "user.name=T", "-c", "user.email=t@example.org", *words)
    assert adopt(mine)[0] == 0
    git(mine, "add", "-A")
    git(mine, "-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "-qm", "adopted")
    (template / "requirements.txt").write_text("# new\n")
    git(template, "-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "-qam", "two")
    git(template, "tag", "1.1.0")
    assert cli.main(["update", str(mine)]) == 0, capsys.readouterr()
    assert (mine / "requirements.txt").read_text() == "# new\n"
    assert (mine / "deploy.sh").read_text() == DEPLOY


@pytest.mark.process
def test_nothing_is_written_through_a_link_or_in_the_place_of_something_else(mine, adopt, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (mine / "adapter").symlink_to(outside)
    (mine / "tests").write_text("a file\n")
    status, said = adopt(mine)
    assert status == 0
    assert list(outside.iterdir()) == []
    assert (mine / "tests").read_text() == "a file\n"
    assert "not added, something else has its place: adapter/plan.py\n" in said.out


@pytest.mark.process
def test_a_folder_without_git_is_refused(tmp_path, adopt):
    place = tmp_path / "plain"
    place.mkdir()
    status, said = adopt(place)
    assert status == 2
    assert "git init" in said.err
    assert list(place.iterdir()) == []


@pytest.mark.process
def test_what_new_made_is_not_adopted_again(mine, adopt):
    assert adopt(mine)[0] == 0
    status, said = adopt(mine)
    assert status == 2
    assert "npu-adapter update" in said.err


def test_new_without_a_folder_says_what_to_name(capsys):
    assert cli.main(["new", "--defaults"]) == 2
    assert "--here" in capsys.readouterr().err


@pytest.mark.process
def test_the_diff_shows_no_key_of_the_author(mine, adopt):
    key = "hf_aZ3kQ9wLxP7rT2vB8nM4cJ6yD1sF5gH0"
    script = (
        f"#!/bin/sh\nexport HF_TOKEN={key}\nexec vllm serve $MODEL_PATH --api-key s3cretWord99\n"
    )
    (mine / "deploy.sh").write_text(script)
    status, said = adopt(mine)
    assert status == 0, said.err
    assert "-export HF_TOKEN=removed\n" in said.out
    assert key not in said.out
    assert "s3cretWord99" not in said.out
    assert (mine / "deploy.sh").read_text() == script
