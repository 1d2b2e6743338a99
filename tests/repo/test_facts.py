"""A submission is what a fresh clone of its commit shows, whatever its configuration wants to run."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from healthcheck.errors import UsageError
from healthcheck.stages.repo import git as git_module
from healthcheck.stages.repo.export import export
from healthcheck.stages.repo.facts import read_submission
from healthcheck.stages.repo.model_card import MAX_FRONT_MATTER_CHARS
from healthcheck.stages.repo.records import Kind, Uncommitted
from tests.support.repositories import GOOD_SCRIPT, folder, git, repository


def test_a_folder_that_is_none_is_wrong_usage(tmp_path: Path):
    with pytest.raises(UsageError, match="not a folder"):
        read_submission(tmp_path / "absent")
    with pytest.raises(UsageError, match=r"'nine' is not a release"):
        read_submission(tmp_path, stack="nine")


@pytest.mark.process
def test_the_commit_counts_and_not_the_working_copy(tmp_path: Path):
    root = repository(
        tmp_path / "r ä", {"deploy.sh": GOOD_SCRIPT, "ü.txt": "old\n", ".gitignore": "*.bin\n"}
    )
    (root / "ü.txt").write_text("new\n")
    (root / "more.py").write_text("")
    (root / "w.bin").write_text("")
    found = read_submission(root)
    assert found.commit == git(root, "rev-parse", "HEAD").strip()
    assert (found.changed, found.untracked, found.ignored) == (("ü.txt",), ("more.py",), ("w.bin",))
    with export(found) as copy:
        assert sorted(path.name for path in copy.iterdir()) == [
            ".git",
            ".gitignore",
            "deploy.sh",
            "ü.txt",
        ]
        assert (copy / "ü.txt").read_text() == "old\n"
        assert stat.S_IMODE((copy / "deploy.sh").stat().st_mode) & 0o111
        assert git(copy, "status", "--short") == ""
        (copy / "scratch").write_text("a script may write here")
    assert not copy.exists()


@pytest.mark.process
@pytest.mark.parametrize("name", ["a\nb", 'q"u\\\no\te', "\n", "-n", "a:b", "#", '"quoted"'])
def test_a_repository_may_be_called_anything(tmp_path: Path, name: str):
    root = repository(tmp_path / name / "r", {"deploy.sh": GOOD_SCRIPT})
    with export(read_submission(root)) as copy:
        assert (copy / "deploy.sh").read_text() == GOOD_SCRIPT


@pytest.mark.process
def test_pending_changes_are_those_of_commit_a(tmp_path: Path):
    root = repository(
        tmp_path / "r", {"deploy.sh": "#!/bin/sh\nexit 1\n", "gone.txt": "", "kept.txt": ""}
    )
    (root / "deploy.sh").write_text(GOOD_SCRIPT)
    (root / "gone.txt").unlink()
    (root / "untracked.txt").write_text("")
    pending = read_submission(root, pending=True)
    assert pending.deploy_sh == GOOD_SCRIPT.encode()
    assert set(pending.changed) == {"deploy.sh", "gone.txt"}
    with export(pending) as copy:
        assert {path.name for path in copy.iterdir()} == {".git", "deploy.sh", "kept.txt"}
        assert (copy / "deploy.sh").read_text() == GOOD_SCRIPT
    assert git(root, "diff", "--cached", "--name-only") == "", (
        "the author's own index is left alone"
    )


@pytest.mark.process
def test_line_ends_are_those_of_a_fresh_clone(tmp_path: Path):
    files = {
        "deploy.sh": GOOD_SCRIPT,
        ".gitattributes": "*.bat eol=crlf\nsecret export-ignore\n",
        "secret": "s",
    }
    root = repository(tmp_path / "r", {**files, "a.bat": "one\ntwo\n"})
    with export(read_submission(root)) as copy:
        assert (copy / "a.bat").read_bytes() == b"one\r\ntwo\r\n"
        assert (copy / "secret").exists(), "git archive leaves it out, a clone does not"


@pytest.mark.process
def test_a_checkout_with_crlf_of_a_file_stored_with_lf_is_no_change(tmp_path: Path):
    root = repository(tmp_path / "r", {"deploy.sh": GOOD_SCRIPT})
    (root / "deploy.sh").write_bytes(GOOD_SCRIPT.replace("\n", "\r\n").encode())
    found = read_submission(root)
    assert found.changed == ()
    assert found.deploy_sh == GOOD_SCRIPT.encode()


@pytest.mark.process
def test_nothing_that_the_repository_configures_runs(tmp_path: Path):
    bait = tmp_path / "ran"
    root = repository(
        tmp_path / "r", {"deploy.sh": GOOD_SCRIPT, ".gitattributes": "* filter=evil diff=evil\n"}
    )
    command = f"touch {bait}; cat"
    for key in (
        "core.fsmonitor",
        "filter.evil.clean",
        "filter.evil.smudge",
        "diff.evil.textconv",
        "core.sshCommand",
    ):
        git(root, "config", key, command)
    hooks = folder(tmp_path / "hooks", {"post-checkout.sh": ""})
    for name in ("post-checkout", "post-index-change", "reference-transaction"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {bait}\n")
        (hooks / name).chmod(0o755)
    git(root, "config", "core.hooksPath", str(hooks))
    bait.unlink(missing_ok=True)
    (root / "deploy.sh").write_text(GOOD_SCRIPT + "# changed\n")
    with export(read_submission(root)):
        pass
    with export(read_submission(root, pending=True)):
        pass
    assert not bait.exists()


@pytest.mark.process
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give a folder away")
def test_a_repository_of_another_owner_is_read(tmp_path: Path):
    root = repository(tmp_path / "r", {"deploy.sh": GOOD_SCRIPT})
    for path in (root, *root.rglob("*")):
        os.chown(path, 12345, 12345, follow_symlinks=False)
    assert read_submission(root).deploy_sh == GOOD_SCRIPT.encode()


@pytest.mark.process
def test_a_worktree_a_detached_head_and_a_shallow_clone(tmp_path: Path):
    root = repository(tmp_path / "r", {"deploy.sh": "#!/bin/sh\nexit 1\n"})
    git(root, "worktree", "add", "-q", "--detach", str(tmp_path / "w"))
    (root / "deploy.sh").write_text(GOOD_SCRIPT)
    git(root, "commit", "-qam", "Second")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{root}", "shallow")
    assert read_submission(tmp_path / "w").deploy_sh == b"#!/bin/sh\nexit 1\n"
    assert read_submission(tmp_path / "shallow").deploy_sh == GOOD_SCRIPT.encode()
    with export(read_submission(tmp_path / "shallow")) as copy:
        assert git(copy, "log", "--oneline").count("\n") == 1


@pytest.mark.process
def test_a_subfolder_of_another_repository_is_a_plain_folder(tmp_path: Path):
    root = repository(tmp_path / "r", {"inner/deploy.sh": GOOD_SCRIPT})
    found = read_submission(root / "inner")
    assert (found.commit, found.deploy_sh) == ("", GOOD_SCRIPT.encode())
    assert found.uncommitted is Uncommitted.NO_REPOSITORY


@pytest.mark.process
def test_a_plain_folder_is_copied_without_what_is_never_committed(tmp_path: Path):
    files = {
        "deploy.sh": GOOD_SCRIPT,
        ".venv/pyvenv.cfg": "",
        ".venv/big": "x",
        "a/__pycache__/x.pyc": "",
        "a/b.py": "",
    }
    root = folder(tmp_path / "r", files)
    os.symlink("/etc/passwd", root / "link")
    os.symlink("a", root / "folder-link")
    os.mkfifo(root / "pipe")
    found = read_submission(root)
    assert found.paths == ("a/b.py", "deploy.sh", "folder-link", "link")
    with export(found) as copy:
        assert (copy / "link").is_symlink()
        assert not (copy / "pipe").exists()
        assert os.access(copy / "deploy.sh", os.X_OK)
    assert not copy.exists()


@pytest.mark.process
def test_a_large_file_keeps_its_size_and_takes_no_room(tmp_path: Path):
    root = folder(tmp_path / "r", {"deploy.sh": GOOD_SCRIPT})
    with (root / "weights.bin").open("wb") as file:
        file.truncate(10 * git_module.MAX_FILE_BYTES)
    with export(read_submission(root)) as copy:
        facts = (copy / "weights.bin").stat()
        assert facts.st_size == 10 * git_module.MAX_FILE_BYTES
        assert facts.st_blocks * 512 < 1024**2


@pytest.mark.process
def test_large_files_of_the_working_copy_are_not_read(tmp_path: Path):
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 900000000000\n"
    root = repository(
        tmp_path / "r", {"deploy.sh": GOOD_SCRIPT, "model.safetensors": pointer, "b.txt": "old"}
    )
    with (root / "model.safetensors").open("r+b") as file:
        file.truncate(900 * 10**9)
    (root / "b.txt").write_text("new")
    found = read_submission(root)
    assert found.changed == ("b.txt",)
    with export(found) as copy:
        assert (copy / "model.safetensors").read_text() == pointer


@pytest.mark.process
def test_a_copy_is_removed_even_if_a_script_took_its_permissions(tmp_path: Path):
    root = folder(tmp_path / "r", {"deploy.sh": GOOD_SCRIPT, "a/b/c": ""})
    with export(read_submission(root)) as copy:
        (copy / "a" / "b").chmod(0)
        (copy / "a").chmod(0)
    assert not copy.parent.exists()


@pytest.mark.process
def test_a_damaged_repository_is_named_and_no_traceback(tmp_path: Path):
    root = repository(tmp_path / "r", {"deploy.sh": GOOD_SCRIPT})
    for path in (root / ".git" / "objects").rglob("*"):
        if path.is_file():
            path.chmod(0o644)
            path.write_bytes(b"damaged")
    with pytest.raises(UsageError, match="git cannot read"):
        read_submission(root)
    (root / ".git" / "HEAD").write_text("nonsense")
    with pytest.raises(UsageError, match="git cannot read the repository"):
        read_submission(root)


@pytest.mark.process
@pytest.mark.parametrize(
    ("files", "link", "kind"),
    [
        ({}, None, Kind.MISSING),
        ({"deploy.sh/x": ""}, None, Kind.FOLDER),
        ({"start.sh": GOOD_SCRIPT}, "start.sh", Kind.FILE),
        ({"a/start.sh": GOOD_SCRIPT}, "./a/start.sh", Kind.FILE),
        ({}, "/bin/sh", Kind.LINK_OUT),
        ({}, "../outside.sh", Kind.LINK_OUT),
        ({}, "deploy.sh", Kind.LINK_OUT),
    ],
)
def test_what_stands_at_deploy_sh(
    tmp_path: Path, files: dict[str, str], link: str | None, kind: Kind
):
    folder(tmp_path, {"outside.sh": GOOD_SCRIPT})
    root = folder(tmp_path / "r", files)
    if link:
        os.symlink(link, root / "deploy.sh")
    plain = read_submission(root)
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-q", "--allow-empty", "-m", "First")
    committed = read_submission(root)
    assert committed.commit
    for found in (plain, committed):
        assert found.deploy_sh_kind is kind
        assert found.deploy_sh == (GOOD_SCRIPT.encode() if kind is Kind.FILE else None)


def test_the_model_card(tmp_path: Path):
    card = "---\npipeline_tag: text-generation\nlicense: apache-2.0\nbase_model:\n- a/b\n---\n# x\n"
    found = read_submission(folder(tmp_path / "a", {"README.md": card})).card
    assert (found.present, found.task, found.task_key, found.error) == (
        True,
        "text-generation",
        "pipeline_tag",
        "",
    )
    other = read_submission(
        folder(tmp_path / "e", {"README.md": "---\ntask: any-to-any\n---\n"})
    ).card
    assert (other.task, other.task_key) == ("any-to-any", "task")
    long = f"---\n# {'x' * MAX_FRONT_MATTER_CHARS}\ntask: any-to-any\n---\n"
    assert "longer than" in read_submission(folder(tmp_path / "f", {"README.md": long})).card.error
    broken = read_submission(folder(tmp_path / "b", {"README.md": "---\na: [\n---\n"})).card
    assert broken.present
    assert broken.error
    assert not read_submission(folder(tmp_path / "c", {"README.md": "# no card\n"})).card.present
    bomb = "---\na: &a [x, x]\n" + "".join(f"b{n}: &b{n} [*a, *a]\n" for n in range(3)) + "---\n"
    assert read_submission(folder(tmp_path / "d", {"README.md": bomb})).card.present
