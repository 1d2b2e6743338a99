"""repo/deploy-sh-present and repo/deploy-sh-syntax, with real shells; where a fix is a command, it is run."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from healthcheck.core.records import Finding, Level, Outcome
from healthcheck.stages.repo.facts import read_submission
from healthcheck.verify import fix
from tests.support.repositories import GOOD_SCRIPT, folder, git, judged, repository, seen

pytestmark = pytest.mark.process

PRESENT, SYNTAX, COMMITTED = "repo/deploy-sh-present", "repo/deploy-sh-syntax", "repo/committed"
LAUNCH = 'exec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000\n'
needs_dash = pytest.mark.skipif(shutil.which("dash") is None, reason="needs dash")


def verdict(root: Path, check_id: str):
    return judged(read_submission(root), check_id)


def apply_fix(root: Path, command: str) -> None:
    """Run a fix as an author would, and commit what it changed."""
    git(root, "config", "user.name", "Author")
    git(root, "config", "user.email", "author@example.org")
    subprocess.run(
        ("bash", "-c", command.replace("git commit", "git commit -q -m fix")), cwd=root, check=True
    )
    git(root, "commit", "-qam", "fixed", "--allow-empty")


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"scripts/deploy.sh": GOOD_SCRIPT, "x": ""}, "scripts/deploy.sh"),
        ({"Deploy.sh": GOOD_SCRIPT}, "Deploy.sh"),
        ({"DEPLOY.SH": GOOD_SCRIPT}, "DEPLOY.SH"),
        ({"a/b/deploy.sh": GOOD_SCRIPT, "a/deploy.sh": GOOD_SCRIPT}, "a/deploy.sh"),
    ],
)
def test_elsewhere_is_found_and_the_fix_moves_it(tmp_path: Path, files: dict[str, str], words: str):
    root = repository(tmp_path / "r", files)
    result = verdict(root, PRESENT)
    assert result.outcome is Outcome.FAIL
    assert words in result.findings[0].seen
    assert "root" in (result.rule.sentence if result.rule else "")
    apply_fix(root, result.findings[0].command)
    assert verdict(root, PRESENT).outcome is Outcome.PASS


def test_missing_altogether(tmp_path: Path):
    result = verdict(repository(tmp_path / "r", {"x": ""}), PRESENT)
    assert result.outcome is Outcome.FAIL
    assert "npu-adapter new" in result.findings[0].fix


def test_not_committed_and_ignored(tmp_path: Path):
    root = repository(tmp_path / "r", {"x": "", ".gitignore": "*.sh\n"})
    folder(root, {"deploy.sh": GOOD_SCRIPT})
    result = verdict(root, PRESENT)
    assert "not in commit" in result.findings[0].seen
    assert ".gitignore names it" in result.findings[0].seen
    apply_fix(root, result.findings[0].command)
    assert verdict(root, PRESENT).outcome is Outcome.PASS


def test_a_folder_and_an_empty_file(tmp_path: Path):
    root = repository(tmp_path / "a", {"deploy.sh/run.sh": GOOD_SCRIPT})
    result = verdict(root, PRESENT)
    assert result.findings[0].seen == "deploy.sh is a folder"
    apply_fix(root, result.findings[0].command)
    assert verdict(root, PRESENT).outcome is Outcome.PASS
    assert (
        verdict(folder(tmp_path / "b", {"deploy.sh": "\n"}), PRESENT).findings[0].seen
        == "deploy.sh is empty"
    )


def test_a_git_lfs_pointer_is_no_script(tmp_path: Path):
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "a" * 64 + "\nsize 812\n"
    result = verdict(repository(tmp_path / "r", {"deploy.sh": pointer}), PRESENT)
    assert result.outcome is Outcome.FAIL
    assert "Git LFS pointer" in result.findings[0].seen


def test_the_file_behind_a_link_is_the_one_that_gets_the_executable_bit(tmp_path: Path):
    root = repository(tmp_path / "r", {"scripts/run.sh": GOOD_SCRIPT})
    (root / "scripts/run.sh").chmod(0o644)
    (root / "deploy.sh").symlink_to("scripts/run.sh")
    git(root, "config", "user.name", "Author")
    git(root, "config", "user.email", "author@example.org")
    git(root, "add", ".")
    git(root, "commit", "-qm", "a link")
    (finding,) = verdict(root, SYNTAX).findings
    subprocess.run(("bash", "-c", finding.command), cwd=root, check=True, capture_output=True)
    assert verdict(root, SYNTAX).outcome is Outcome.PASS


def test_a_link_within_the_repository_is_right(tmp_path: Path):
    root = folder(tmp_path / "r", {"scripts/run.sh": GOOD_SCRIPT})
    (root / "deploy.sh").symlink_to("scripts/run.sh")
    assert verdict(root, PRESENT).outcome is Outcome.PASS
    assert verdict(root, SYNTAX).outcome is Outcome.PASS


def test_uncommitted_changes_warn(tmp_path: Path):
    root = repository(
        tmp_path / "r", {"deploy.sh": "#!/bin/sh\nexec python3 launch.py\n", "b.py": ""}
    )
    assert verdict(root, COMMITTED).outcome is Outcome.PASS
    folder(root, {"launch.py": "", "unrelated.txt": ""})
    (root / "b.py").write_text("changed")
    result = verdict(root, COMMITTED)
    assert result.outcome is Outcome.WARN
    told = " ".join(seen(result, Level.WARN))
    assert "b.py" in told
    assert "launch.py" in told
    assert "unrelated.txt" not in told
    new = folder(tmp_path / "new", {"deploy.sh": GOOD_SCRIPT})
    git(new, "init", "-q")
    assert "nothing is committed" in seen(verdict(new, COMMITTED), Level.WARN)[0]


def test_a_copy_with_windows_line_ends_warns_where_git_hides_them(tmp_path: Path):
    root = repository(
        tmp_path / "r", {"deploy.sh": GOOD_SCRIPT, ".gitattributes": "*.sh text eol=lf\n"}
    )
    assert verdict(root, SYNTAX).outcome is Outcome.PASS
    (root / "deploy.sh").write_bytes(GOOD_SCRIPT.replace("\n", "\r\n").encode())
    result = verdict(root, SYNTAX)
    assert result.outcome is Outcome.WARN
    assert "CRLF" in seen(result, Level.WARN)[0]
    assert verdict(root, COMMITTED).outcome is Outcome.PASS


RIGHT = {
    "posix": GOOD_SCRIPT,
    "a dot sources": "#!/bin/sh\n. ./env.sh\n" + LAUNCH,
    "options in a case": '#!/bin/sh\ncase "${1:-}" in\n--port|-p) echo;;\n(-h) echo;;\nesac\n'
    + LAUNCH,
    "a backslash in a comment": "#!/bin/sh\n# a \\ \n" + LAUNCH,
    "blanks after a backslash in a here-document": "#!/bin/sh\ncat <<E >x\na \\ \n--b\nE\n"
    + LAUNCH,
    "options in a here-document": "#!/bin/sh\ncat >c <<E\n--port 1\nE\n" + LAUNCH,
    "runs itself in bash": '#!/bin/sh\n[ -n "${BASH_VERSION:-}" ] || exec bash "$0" "$@"\na=(1 2)\n[[ x ]]\n'
    + LAUNCH,
    "chinese comments": "#!/bin/sh\n# 启动服务\n" + LAUNCH,
    "comments that are not utf-8": b"#!/bin/sh\n# \xc6\xf4\xb6\xaf\n" + LAUNCH.encode(),
    "quoted operators": "#!/bin/sh\necho '[[ a ]] && source x; {1..3}'\n" + LAUNCH,
    "env names the shell": "#!/usr/bin/env sh\n" + LAUNCH,
    "blank in the first line": "#! /bin/sh\n" + LAUNCH,
    "no line feed at the end": GOOD_SCRIPT.rstrip("\n"),
    "continued lines": '#!/bin/sh\nexec vllm serve "$MODEL_PATH" \\\n  --host 0.0.0.0 \\\n  --port 8000\n',
    "python in quotes": "#!/bin/sh\npython3 -c '\nimport os\nif [[1]]: pass\n'\n" + LAUNCH,
}


@pytest.mark.parametrize("script", RIGHT.values(), ids=RIGHT.keys())
def test_right_scripts_pass(tmp_path: Path, script: str | bytes):
    result = verdict(folder(tmp_path, {"deploy.sh": script}), SYNTAX)
    assert result.outcome is Outcome.PASS, result.findings


WARNED = {
    "no first line": (LAUNCH, "first line"),
    "first line too late": ("\n#!/bin/bash\n" + LAUNCH, "the first line is “”"),
    "bash constructs under bash": (
        "#!/bin/bash\nset -o pipefail\na=(1)\n[[ $a ]]\n" + LAUNCH,
        "an array",
    ),
    "source under sh": ("#!/bin/sh\nsource ./env.sh\n" + LAUNCH, "source"),
    "conditions under sh": ("#!/bin/sh\nif [[ -z $X ]]; then X=1; fi\n" + LAUNCH, "[["),
    "another shell": ("#!/bin/zsh\n" + LAUNCH, "zsh"),
    "env with options": ("#!/usr/bin/env bash -e\n" + LAUNCH, "env"),
    "a here-document without end": ("#!/bin/sh\ncat <<E >x\na\n E\n" + LAUNCH, "here-document"),
    "curly quotes": ("#!/bin/sh\nexec vllm serve “$MODEL_PATH” --port 8000\n", "U+201C"),
    "a blank that is none": ("#!/bin/sh\nexec vllm\u00a0serve x --port 8000\n", "U+00A0"),
    "crlf in a comment": ("#!/bin/sh\n# a\r\n" + LAUNCH, "comment"),
    "a blank after a backslash in what is printed": (
        "#!/bin/sh\necho a \\ \n" + LAUNCH,
        "blank after it",
    ),
    "a comment in a command": (
        "#!/bin/sh\nvllm serve x \\\n# c\n  --port 8000\n",
        "separate command",
    ),
    "a forgotten backslash": ("#!/bin/sh\nvllm serve x\n  --port 8000\n", "separate command"),
    "an endless script": ("#!/bin/sh\n" + "# x\n" * 100_000 + LAUNCH, "longer"),
}


@pytest.mark.parametrize(("script", "words"), WARNED.values(), ids=WARNED.keys())
def test_scripts_that_may_be_misread_warn(tmp_path: Path, script: str, words: str):
    result = verdict(folder(tmp_path, {"deploy.sh": script}), SYNTAX)
    assert result.outcome is Outcome.WARN, result.findings
    assert any(words in told for told in seen(result, Level.WARN))


WRONG = {
    "crlf": (GOOD_SCRIPT.replace("\n", "\r\n"), 1, "CRLF"),
    "crlf in one command": ("#!/bin/sh\nset -e\r\n" + LAUNCH, 2, "CRLF"),
    "carriage returns alone": (GOOD_SCRIPT.replace("\n", "\r"), 1, "single carriage return"),
    "a byte order mark": (b"\xef\xbb\xbf" + GOOD_SCRIPT.encode(), 1, "byte order mark"),
    "utf-16": (GOOD_SCRIPT.encode("utf-16"), 1, "UTF-16"),
    "utf-16 without mark": (GOOD_SCRIPT.encode("utf-16-le"), 1, "UTF-16"),
    "binary": (b"#!/bin/sh\n\x7fELF\0" + LAUNCH.encode(), 2, "NUL"),
    "if without fi": ("#!/bin/bash\nif true; then\n" + LAUNCH, 4, "syntax error"),
    "a quote without end": ("#!/bin/bash\necho 'a\n" + LAUNCH, 2, "unexpected"),
    "a stray brace": ("#!/bin/bash\n}\n" + LAUNCH, 2, "}"),
    "a blank after a backslash": (
        "#!/bin/sh\nvllm serve x \\ \n  --port 8000\n",
        2,
        "blank after it",
    ),
    "a tab after a backslash": (
        "#!/bin/sh\nvllm serve x \\\t\n  --port 8000\n",
        2,
        "blank after it",
    ),
    "lost options of another command": (
        "#!/bin/sh\npip install \\\n# c\n -r a.txt\n" + LAUNCH,
        4,
        "separate command",
    ),
    "python": ("#!/usr/bin/env python3\nimport os\n", 1, "python3"),
}


@pytest.mark.parametrize(("script", "line", "words"), WRONG.values(), ids=WRONG.keys())
def test_wrong_scripts_fail_with_their_line(
    tmp_path: Path, script: str | bytes, line: int, words: str
):
    result = verdict(folder(tmp_path, {"deploy.sh": script}), SYNTAX)
    assert result.outcome is Outcome.FAIL, result.findings
    told = seen(result, Level.FAIL)
    assert any(one.startswith(f"deploy.sh:{line} ") and words in one for one in told), told


def test_what_ends_too_soon_is_closed_and_nothing_is_quoted(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", {"deploy.sh": f"#!/bin/bash\nif true; then\n{LAUNCH}"})
    (finding,) = verdict(root, SYNTAX).findings
    assert "still open" in finding.fix
    assert "“" not in finding.seen


@pytest.mark.parametrize("first", ["#!/bin/bash/", "#! /usr/bin/bash.", "#!/bin/sh,"])
def test_a_misspelt_shell_is_repaired_by_its_first_line(tmp_path: Path, first: str):
    result = verdict(folder(tmp_path, {"deploy.sh": f"{first}\n{LAUNCH}"}), SYNTAX)
    assert result.outcome is Outcome.FAIL
    assert result.findings[0].fix == f"in deploy.sh:1 replace `{first}` by `#!/bin/bash`"


@needs_dash
@pytest.mark.parametrize(
    "line", ["a=(1)", "f() { x; }; cat <(f)", "cat <<< x", "function f() { x; }"]
)
def test_what_dash_refuses_fails_under_sh_and_warns_under_bash(tmp_path: Path, line: str):
    under_sh = verdict(
        folder(tmp_path / "a", {"deploy.sh": f"#!/bin/sh\n{line}\n{LAUNCH}"}), SYNTAX
    )
    under_bash = verdict(
        folder(tmp_path / "b", {"deploy.sh": f"#!/bin/bash\n{line}\n{LAUNCH}"}), SYNTAX
    )
    assert (under_sh.outcome, under_bash.outcome) == (Outcome.FAIL, Outcome.WARN)
    assert "#!/bin/bash" in under_sh.findings[0].fix


def edited(script: str, finding: Finding) -> str:
    """The script after the edits of a finding."""
    repair = fix.Repair(check=SYNTAX, words="", edits=finding.edits)
    (change,) = fix.propose([repair], {"deploy.sh": script.encode()}).changes
    return change.after.decode()


@needs_dash
def test_the_fix_for_bash_makes_it_pass(tmp_path: Path):
    script = "#!/bin/bash\nset -euo pipefail\na=(1)\n" + LAUNCH
    (finding,) = verdict(folder(tmp_path, {"deploy.sh": script}), SYNTAX).findings
    repaired = edited(script, finding)
    assert verdict(folder(tmp_path, {"deploy.sh": repaired}), SYNTAX).outcome is Outcome.PASS
    ran = subprocess.run(
        ("dash", "-c", f"{finding.edits[0].new}\nexit 3"), check=False, capture_output=True
    )
    assert ran.returncode != 0


@needs_dash
@pytest.mark.parametrize("line", ["a=(1)", "source ./env.sh"])
def test_the_fix_for_bash_under_sh_leaves_nothing_to_repair(tmp_path: Path, line: str):
    script = f"#!/bin/sh\n{line}\n{LAUNCH}"
    finding = verdict(folder(tmp_path, {"deploy.sh": script}), SYNTAX).findings[0]
    repaired = folder(tmp_path, {"deploy.sh": edited(script, finding)})
    assert verdict(repaired, SYNTAX).outcome is Outcome.PASS


@pytest.mark.parametrize("name", ["crlf", "a byte order mark", "a blank after a backslash"])
def test_the_fix_is_a_command_that_works(tmp_path: Path, name: str):
    root = folder(tmp_path / name.replace(" ", "-"), {"deploy.sh": WRONG[name][0]})
    subprocess.run(("bash", "-c", verdict(root, SYNTAX).findings[0].command), cwd=root, check=True)
    assert verdict(root, SYNTAX).outcome is Outcome.PASS


def test_no_executable_bit(tmp_path: Path):
    root = folder(tmp_path / "r", {"deploy.sh": GOOD_SCRIPT})
    (root / "deploy.sh").chmod(0o644)
    assert "mode 644" in seen(verdict(root, SYNTAX), Level.WARN)[0]


@pytest.mark.parametrize("broken", ["the executable bit", "the ends of lines"])
def test_the_fix_of_a_commit_is_committed_and_leaves_nothing_to_commit(tmp_path: Path, broken: str):
    of_the_bit = broken == "the executable bit"
    root = repository(
        tmp_path / "r", {"deploy.sh": GOOD_SCRIPT if of_the_bit else WRONG["crlf"][0]}
    )
    (root / "deploy.sh").chmod(0o644 if of_the_bit else 0o755)
    git(root, "config", "user.name", "Author")
    git(root, "config", "user.email", "author@example.org")
    git(root, "commit", "-qam", "broken", "--allow-empty")
    (finding,) = verdict(root, SYNTAX).findings
    subprocess.run(("bash", "-c", finding.command), cwd=root, check=True, capture_output=True)
    assert verdict(root, SYNTAX).outcome is Outcome.PASS
    assert verdict(root, COMMITTED).outcome is Outcome.PASS


def test_the_reference_adapter_passes():
    root = Path(__file__).parents[2]
    assert verdict(root, SYNTAX).outcome is Outcome.PASS
    assert verdict(root, PRESENT).outcome is Outcome.PASS


def test_nothing_is_run(tmp_path: Path):
    bait = tmp_path / "ran"
    folder(tmp_path / "r", {"deploy.sh": f"#!/bin/sh\ntouch {bait}\n$(touch {bait})\n" + LAUNCH})
    verdict(tmp_path / "r", SYNTAX)
    assert not bait.exists()


@pytest.mark.parametrize("ignored", [False, True])
def test_a_requirements_file_that_is_not_committed_is_missed(tmp_path: Path, ignored: bool) -> None:
    files = {"deploy.sh": GOOD_SCRIPT, ".gitignore": "requirements.txt\n" if ignored else ""}
    root = repository(tmp_path / "r", files)
    assert verdict(root, COMMITTED).outcome is Outcome.PASS
    (root / "requirements.txt").write_text("sympy==1.13\n")
    (found,) = verdict(root, COMMITTED).findings
    assert found.level is Level.WARN
    assert "requirements.txt is in your folder but not in the commit" in found.seen
    apply_fix(root, found.command)
    assert verdict(root, COMMITTED).outcome is Outcome.PASS
