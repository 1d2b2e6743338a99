"""Repairs change what they name and not a byte more; where anything is in doubt, nothing is proposed."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthcheck.core.check import fail
from healthcheck.core.records import CheckResult, Outcome, Stage
from healthcheck.errors import UsageError
from healthcheck.sandbox.job import EndedBy
from healthcheck.stages.plan.records import Api, LaunchPlan, Origin, PortSource, ServerCommand, ShellRun
from healthcheck.stages.repo.checks import CHECKS
from healthcheck.stages.repo.facts import read_submission
from healthcheck.verify.fix import Repair, already_made, apply, diff, left_alone, proposals
from healthcheck.verify.fix.edits import Edit, repaired
from tests.support.repositories import folder, repository

ALL = ("plan/model-path", "plan/port", "plan/host", "plan/served-name", "plan/no-api-key")


def result(check_id: str, outcome: Outcome = Outcome.FAIL) -> CheckResult:
    return CheckResult(id=check_id, stage=Stage.PLAN, title="", outcome=outcome, why="")


def recorded(
    where: str = "", engine: str = "vllm", names: tuple[str, ...] = (), port: int | None = None
) -> LaunchPlan:
    server = ServerCommand(
        engine=engine, api=Api.OPENAI_CHAT, argv=(), command="", env={}, cwd="", foreground=True, model=None, port=port,
        port_source=PortSource(kind=Origin.UNKNOWN, text=""), host=None, where=where, served_names=names,
    )  # fmt: skip
    run = ShellRun(
        shell="sh", exit_status=None, ended_by=EndedBy.SERVER, stdout="", stderr="", commands=(), servers=(server,)
    )
    return LaunchPlan(
        server=server,
        servers=(server,),
        commands=(),
        spaced=None,
        model_path="",
        spaced_model_path="",
        root="",
        run=run,
    )


def fix(root: Path, plan: LaunchPlan | None, *wrong: str) -> tuple[Repair, ...]:
    submission = read_submission(root)
    results = [check.judge(submission) for check in CHECKS] + [result(each) for each in wrong]
    return proposals(submission, plan, results)


def fixed(tmp_path: Path, script: str | bytes, *wrong: str, where: str = "") -> bytes:
    root = folder(tmp_path / "r", {"deploy.sh": script})
    apply(root, fix(root, recorded(where), *wrong))
    return (root / "deploy.sh").read_bytes()


LAUNCHES = (
    ("vllm serve $MODEL_PATH --port 8001", 'vllm serve "$MODEL_PATH" --port 8000'),
    ("exec vllm serve ${MODEL_PATH} --port=9000", 'exec vllm serve "${MODEL_PATH}" --port=8000'),
    (
        'vllm serve "$MODEL_PATH" --port "8001" --host \'127.0.0.1\'',
        'vllm serve "$MODEL_PATH" --port "8000" --host \'0.0.0.0\'',
    ),
    ("vllm serve --host localhost --model=$MODEL_PATH", 'vllm serve --host 0.0.0.0 --model="$MODEL_PATH"'),
    ('vllm serve "$MODEL_PATH" --served-model-name other --port 8000', 'vllm serve "$MODEL_PATH" --port 8000'),
    ('vllm serve "$MODEL_PATH" --served_model_name=other', 'vllm serve "$MODEL_PATH"'),
    ('vllm serve "$MODEL_PATH" --served-model-name a "b c" $N --port 8000', 'vllm serve "$MODEL_PATH" --port 8000'),
    ('vllm serve "$MODEL_PATH" --port 8001 > log 2>&1 &', 'vllm serve "$MODEL_PATH" --port 8000 > log 2>&1 &'),
    ("A=1 nohup vllm serve $MODEL_PATH", 'A=1 nohup vllm serve "$MODEL_PATH"'),
    (
        "python3 -m vllm.entrypoints.openai.api_server --model $MODEL_PATH --port 8080",
        'python3 -m vllm.entrypoints.openai.api_server --model "$MODEL_PATH" --port 8000',
    ),
    ("CKPT=$MODEL_PATH\nvllm serve $CKPT/ --port 8000", 'CKPT=$MODEL_PATH\nvllm serve "$CKPT/" --port 8000'),
    ('vllm serve "$MODEL_PATH" --api-key secret --port 8000', 'vllm serve "$MODEL_PATH" --port 8000'),
    ('vllm serve "$MODEL_PATH" --api-key=$KEY', 'vllm serve "$MODEL_PATH"'),
    (
        'vllm serve "$MODEL_PATH" \\\n  --served-model-name x \\\n  --port 8001 \\\n  --host 0.0.0.0',
        'vllm serve "$MODEL_PATH" \\\n  --port 8000 \\\n  --host 0.0.0.0',
    ),
    (
        'vllm serve "$MODEL_PATH" \\\n  --port 8001 \\\n  --served-model-name x',
        'vllm serve "$MODEL_PATH" \\\n  --port 8000',
    ),
)


@pytest.mark.process
@pytest.mark.parametrize(("before", "after"), LAUNCHES)
def test_the_launch_command_is_repaired(tmp_path: Path, before: str, after: str):
    rest = "#!/bin/sh\n# vllm serve $MODEL_PATH --port 8001 --host 127.0.0.1\necho --port 8001 $MODEL_PATH\n"
    end = "\ncat <<E\nvllm serve $MODEL_PATH --port 8001\nE\n"
    assert fixed(tmp_path, rest + before + end, *ALL).decode() == rest + after + end


UNSURE = (
    "vllm serve $(cat path) --port $PORT --host $HOST",
    'vllm serve "$MODEL_PATH" --port 8001 --port 8002',
    'vllm serve "$MODEL_PATH" --served-model-name $(cat name)',
    'vllm serve "$MODEL_PATH" --served-model-name "${NAMES[@]}" --x',
    'vllm serve "$MODEL_PATH" "--port 8001"',
    'vllm serve --api-key a "$MODEL_PATH"',
    'vllm serve "$MODEL_PATH" --port ${PORT:-9000}',
    "OTHER=/data\nvllm serve $OTHER",
    'bash -c "vllm serve $MODEL_PATH --port 8001"',
    'ARGS="--port 8001"\nvllm serve "$MODEL_PATH" $ARGS',
    "vllm serve /data/model",
    "# vllm serve $MODEL_PATH --port 8001",
    "echo vllm serve $MODEL_PATH --port 8001",
    "vllm serve $MODEL_PATH --port 8001\nvllm serve $MODEL_PATH --port 8002",
)


@pytest.mark.process
@pytest.mark.parametrize("script", UNSURE)
def test_in_doubt_nothing_changes(tmp_path: Path, script: str):
    text = f"#!/bin/bash\n{script}\n"
    assert fixed(tmp_path, text, *ALL) == text.encode()


@pytest.mark.process
@pytest.mark.timeout(60)
@pytest.mark.parametrize("part", ["$aa", "${aa}"])
def test_a_word_of_many_variables_is_read_once(tmp_path: Path, part: str):
    path = f"$MODEL_PATH{part * 1000}"
    for word, repaired_ in ((path, f'"{path}"'), (f"{path}!", f"{path}!")):
        root = folder(tmp_path / "r", {"deploy.sh": f"#!/bin/bash\nvllm serve {word} --port 8000\n"})
        apply(root, fix(root, recorded(), "plan/model-path"))
        assert f"vllm serve {repaired_} --port" in (root / "deploy.sh").read_text()


@pytest.mark.process
def test_the_recorded_line_decides_between_two_launches(tmp_path: Path):
    text = "#!/bin/sh\nif false; then\nvllm serve a --port 1\nelse\nvllm serve a --port 2\nfi\n"
    assert fixed(tmp_path, text, "plan/port", where="deploy.sh:5").decode() == text.replace(
        "--port 2", "--port 8000"
    )


@pytest.mark.process
@pytest.mark.parametrize("where", ["launch.py:3", "start.sh:2", "deploy.sh:4"])
def test_a_launch_that_was_recorded_elsewhere_is_left_alone(tmp_path: Path, where: str):
    text = "#!/bin/sh\nvllm serve $MODEL_PATH --port 8001\n"
    assert fixed(tmp_path, text, *ALL, where=where) == text.encode()


@pytest.mark.process
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("--port ${VLLM_PORT:-9000} --x", "--port ${VLLM_PORT:-8000} --x"),
        ('--port="${P-9000}"', '--port="${P-8000}"'),
        ("--port ${VLLM_PORT:-9001}", "--port ${VLLM_PORT:-9001}"),
        ('--served-model-name $(basename "$MODEL_PATH") --x', "--x"),
        ('--served-model-name "$(basename "$MODEL_PATH")"', ""),
        ('--served-model-name a $(basename "$MODEL_PATH")', '--served-model-name a $(basename "$MODEL_PATH")'),
    ],
)
def test_what_a_run_recorded_decides_over_words_that_are_not_plain(before: str, after: str, tmp_path: Path):
    text = '#!/bin/bash\nvllm serve "$MODEL_PATH" '
    root = folder(tmp_path / "r", {"deploy.sh": f"{text}{before}\n"})
    apply(root, fix(root, recorded(names=("w",), port=9000), "plan/port", "plan/served-name"))
    assert (root / "deploy.sh").read_text().rstrip() == f"{text}{after}".rstrip()


@pytest.mark.process
@pytest.mark.parametrize("rest", ['"$@"', "$@", '"${MORE[@]}"', '"$@" --port 8000'])
def test_names_end_where_the_run_saw_them_end(tmp_path: Path, rest: str):
    root = folder(
        tmp_path / "r", {"deploy.sh": f'#!/bin/bash\nvllm serve "$MODEL_PATH" --served-model-name a b {rest}\n'}
    )
    apply(root, fix(root, recorded(names=("a", "b")), "plan/served-name"))
    assert (root / "deploy.sh").read_text() == f'#!/bin/bash\nvllm serve "$MODEL_PATH" {rest}\n'
    assert fix(root, recorded(names=("a", "b", "c")), "plan/served-name") == ()


def test_what_is_left_alone_is_said() -> None:
    wrong = [result("plan/port"), result("plan/served-name", Outcome.WARN)]
    said = left_alone([*wrong, result("plan/flags"), result("plan/host", Outcome.PASS)])
    assert said == tuple(
        f"not repaired for {id_}: npu-adapter explain {id_} says how" for id_ in ("plan/port", "plan/served-name")
    )


def test_a_repair_by_hand_is_given_without_a_reason_that_is_not_its_own() -> None:
    wrong = replace(result("plan/port"), findings=(fail(expected="", seen="", fix="write --port 8000"),))
    assert left_alone([wrong]) == ("not repaired for plan/port; by hand: write --port 8000",)


def test_uncommitted_changes_are_the_reason_where_there_are_any() -> None:
    (said,) = left_alone([result("plan/port")], ("deploy.sh",))
    assert said.endswith(": deploy.sh has uncommitted changes: commit or stash them first")
    (said,) = left_alone([result("plan/port")], ("requirements.txt",))
    assert "uncommitted" not in said


def test_a_repair_counts_as_made_only_where_the_copy_passes() -> None:
    wrong = [
        result("plan/port"),
        result("plan/host"),
        result("plan/served-name", Outcome.WARN),
        result("plan/no-api-key"),
    ]
    copy = [
        result("plan/port", Outcome.PASS),
        result("plan/host", Outcome.SKIP),
        result("plan/served-name", Outcome.PASS),
        result("plan/no-api-key", Outcome.PASS),
    ]
    assert already_made(wrong, copy) == ("plan/port", "plan/served-name", "plan/no-api-key")


@pytest.mark.process
def test_only_what_is_wrong_is_repaired(tmp_path: Path):
    text = "#!/bin/sh\nvllm serve $MODEL_PATH --port 8001 --host localhost\n"
    root = folder(tmp_path / "r", {"deploy.sh": text})
    assert fix(root, recorded()) == ()
    assert [repair.check for repair in fix(root, recorded(), "plan/port")] == ["plan/port"]
    assert fix(root, None, *ALL) == ()
    assert fix(root, recorded(engine="sglang"), *ALL) == ()


@pytest.mark.process
def test_line_ends_mark_and_launch_together(tmp_path: Path):
    text = "#!/bin/sh\nvllm serve $MODEL_PATH \\\n  --served-model-name x \\\n  --port 8001\n# é\n"
    wrong = b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()
    right = (
        text.replace("$MODEL_PATH", '"$MODEL_PATH"')
        .replace("8001", "8000")
        .replace(" \\\n  --served-model-name x", "")
    )
    assert fixed(tmp_path, wrong, *ALL) == right.encode()


@pytest.mark.process
def test_line_ends_are_counted_and_the_diff_has_the_rest(tmp_path: Path):
    text = "#!/bin/sh\n# one\nset -e\n\nvllm serve $MODEL_PATH\n"
    root = folder(tmp_path / "r", {"deploy.sh": text.replace("\n", "\r\n")})
    whole = diff(fix(root, recorded(), "repo/deploy-sh-syntax", "plan/model-path")).splitlines()
    assert whole[0] == "deploy.sh: 5 line ends CRLF → LF"
    assert [line for line in whole if line[0] in "+-"][2:] == [
        "-vllm serve $MODEL_PATH",
        '+vllm serve "$MODEL_PATH"',
    ]
    assert "␍" not in "".join(whole)
    assert diff(fix(root, recorded(), "repo/deploy-sh-syntax")) == "deploy.sh: 5 line ends CRLF → LF\n"


@pytest.mark.process
def test_crlf_stays_where_it_is_no_fault_of_the_commit(tmp_path: Path):
    text = '#!/bin/sh\nvllm serve "$MODEL_PATH" --port 8001\n'
    root = repository(tmp_path / "r", {"deploy.sh": text})
    (root / "deploy.sh").write_bytes(text.replace("\n", "\r\n").encode())
    apply(root, fix(root, recorded(), "plan/port"))
    assert (root / "deploy.sh").read_bytes() == text.replace("8001", "8000").replace("\n", "\r\n").encode()


@pytest.mark.process
def test_bytes_that_are_no_utf8_stay(tmp_path: Path):
    text = b"#!/bin/sh\n# \xc6\xf4\xff\nvllm serve $MODEL_PATH --port 8001"
    assert fixed(tmp_path, text, *ALL) == text.replace(b"8001", b"8000").replace(b"$MODEL_PATH", b'"$MODEL_PATH"')


@pytest.mark.process
def test_the_executable_bit(tmp_path: Path):
    root = folder(tmp_path / "r", {"deploy.sh": '#!/bin/sh\nexec vllm serve "$MODEL_PATH"\n'})
    (root / "deploy.sh").chmod(0o640)
    repairs = fix(root, None)
    assert "new mode 100755" in diff(repairs)
    apply(root, repairs)
    assert (root / "deploy.sh").stat().st_mode & 0o777 == 0o751
    assert fix(root, None) == ()


@pytest.mark.process
def test_the_mode_of_a_repaired_file_stays(tmp_path: Path):
    root = folder(tmp_path / "r", {"deploy.sh": "#!/bin/sh\nvllm serve a --port 1\n"})
    (root / "deploy.sh").chmod(0o711)
    apply(root, fix(root, recorded(), "plan/port"))
    assert (root / "deploy.sh").stat().st_mode & 0o777 == 0o711


@pytest.mark.process
def test_provided_packages_are_taken_out(tmp_path: Path):
    text = (
        "# the adapter\r\ntorch-npu==2.10.0 \\\r\n    --hash=sha256:" + "0" * 64 + "\r\npillow==11.0.0 \\\r\n"
        "  --hash=sha256:" + "1" * 64 + "\r\n-r more.txt\r\ntorch==2.1\r\nte"
    )
    root = folder(
        tmp_path / "r", {"deploy.sh": "#!/bin/sh\nx\n", "requirements.txt": text, "more.txt": "Python\n#x\n"}
    )
    apply(root, fix(root, None))
    lines = text.split("\r\n")
    kept = [lines[0], *lines[3:7], ""]
    assert (root / "requirements.txt").read_bytes() == "\r\n".join(kept).encode()
    assert (root / "more.txt").read_bytes() == b"#x\n"


@pytest.mark.process
def test_links_are_left_alone(tmp_path: Path):
    root = folder(tmp_path / "r", {"start.sh": "#!/bin/sh\r\nvllm serve $MODEL_PATH\r\n"})
    (root / "deploy.sh").symlink_to("start.sh")
    assert fix(root, recorded(), *ALL) == ()


@pytest.mark.process
def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: Path):
    root = folder(tmp_path / "r", {"deploy.sh": "#!/bin/sh\nvllm serve a --port 1\n"})
    repairs = fix(root, recorded(), "plan/port")
    (root / "deploy.sh").write_text("changed")
    with pytest.raises(UsageError, match="changed while"):
        apply(root, repairs)
    assert (root / "deploy.sh").read_text() == "changed"


@pytest.mark.process
def test_a_working_copy_that_differs_from_the_commit_keeps_its_launch(tmp_path: Path):
    root = repository(tmp_path / "r", {"deploy.sh": "#!/bin/sh\nvllm serve a --port 1\n"})
    (root / "deploy.sh").write_text("#!/bin/sh\n# new\nvllm serve a --port 1\n")
    assert fix(root, recorded("deploy.sh:2"), "plan/port") == ()


@pytest.mark.process
def test_the_diff_is_one_that_git_applies(tmp_path: Path):
    text = "#!/bin/sh\nset -e\n\nvllm serve $MODEL_PATH --port 8001"
    root = repository(tmp_path / "r", {"deploy.sh": text, "requirements.txt": "torch_npu\npillow==11.0.0\n"})
    (root / "deploy.sh").chmod(0o644)
    subprocess.run(
        ("git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qam", "x"), check=True
    )
    repairs = fix(root, recorded(), "plan/port", "plan/model-path")
    subprocess.run(("git", "-C", str(root), "apply"), input=diff(repairs).encode(), check=True)
    by_git = [(root / name).read_bytes() for name in ("deploy.sh", "requirements.txt")]
    subprocess.run(("git", "-C", str(root), "checkout", "-q", "."), check=True)
    assert apply(root, repairs) == ("requirements.txt", "deploy.sh")
    assert [(root / name).read_bytes() for name in ("deploy.sh", "requirements.txt")] == by_git
    pending = read_submission(root, pending=True)
    assert pending.deploy_sh == by_git[0]
    assert pending.deploy_sh_mode is not None
    assert pending.deploy_sh_mode & 0o111


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(
    "inner", [Edit(start=4, end=6, new=b"x"), Edit(start=4, end=4, new=b"y"), Edit(start=7, end=9, new=b"")]
)
def test_a_repair_takes_along_what_lies_within_it(inner: Edit, swapped: bool):
    outer = Edit(start=4, end=9, new=b"new")
    edits = (inner, outer) if swapped else (outer, inner)
    repairs = [Repair(path="x", check="", title="", before=b"say old!! end", edits=(each,)) for each in edits]
    assert repaired(tuple(repairs)) == b"say new end"


@given(
    st.binary(max_size=60),
    st.lists(st.tuples(st.integers(0, 59), st.integers(0, 9), st.binary(max_size=3)), max_size=6),
)
def test_bytes_outside_of_edits_stay(data: bytes, changes: list[tuple[int, int, bytes]]):
    edits = tuple(Edit(start=min(a, len(data)), end=min(a + n, len(data)), new=new) for a, n, new in changes)
    after = repaired((Repair(path="x", check="", title="", before=data, edits=edits),))
    first, last = min((e.start for e in edits), default=0), max((e.end for e in edits), default=0)
    assert after.startswith(data[:first])
    assert after.endswith(data[last:])
