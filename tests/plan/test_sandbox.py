"""What a hostile deploy.sh can do: nothing outside, not for long, and with a finding."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import psutil
import pytest

from healthcheck.core.ledger import Ledger
from healthcheck.core.progress import Silent
from healthcheck.core.records import Level, Outcome
from healthcheck.engines.llama_cpp import LLAMA_CPP
from healthcheck.sandbox import box
from healthcheck.sandbox.job import EndedBy, Limits, Mode
from healthcheck.stages.plan import facts
from healthcheck.stages.plan.checks import CHECKS, SUMMARIES
from healthcheck.stages.plan.records import LaunchPlan
from healthcheck.stages.repo.facts import read_submission
from tests.plan.corpus import bash, case, sh
from tests.plan.corpus_right import KEPT, WRITTEN
from tests.plan.corpus_right_around import AROUND, ENGINES
from tests.plan.corpus_right_python import PYTHON
from tests.service.launching import alive, eventually
from tests.support.plans import write

pytestmark = pytest.mark.process

SHORT = Limits(wall_s=1.5, output_bytes=4 * 1024**2, disk_bytes=64 * 1024**2)
SET_CHILD_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER in linux/prctl.h
SANDBOXES = {
    "namespaces": partial(box.run, mode=Mode.ISOLATED),
    "confined": partial(box.run, mode=Mode.CONFINED),
    "unconfined": partial(box.run, mode=Mode.UNCONFINED),
}
OUTSIDE = ("confined", "unconfined")
HOSTILE = {
    "fork-bomb": (bash("f() { f | f & }; f; f"), {"processes", "time", "exit", "lost"}),
    "forks-and-hides": (
        sh("while :; do setsid sleep 1000000 & done"),
        {"processes", "time", "exit"},
    ),
    "sleeps": (sh("exec sleep infinity"), {"time"}),
    "spins": (sh("while :; do :; done"), {"time"}),
    "spins-with-a-trace": (bash("while :; do : a word; done"), {"time"}),
    "has-a-word-of-megabytes-traced": (
        bash('x=$(head -c 3000000 /dev/zero | tr "\\0" a)\nwhile :; do : "$x"; done'),
        {"time"},
    ),
    "floods-its-trace": (bash("head -c 3000000 /dev/zero | tr '\\0' + >&251\nexit 3"), {"exit"}),
    "ignores-signals": (sh("trap '' TERM INT HUP QUIT\nwhile :; do sleep 100000; done"), {"time"}),
    "talks": (
        sh("while :; do echo 0123456789012345678901234567890123456789; done"),
        {"output", "time"},
    ),
    "yes": (sh("yes"), {"output"}),
    "reads-for-ever": (sh("cat /dev/zero > /dev/null"), {"time"}),
    "hides-a-child": (
        sh("setsid sh -c 'setsid sleep infinity & sleep infinity' &\nexit 1"),
        {"exit"},
    ),
}


@pytest.fixture
def strays() -> Iterator[Callable[[], set[int]]]:
    """Living processes that began below this one, also after their own parents ended."""
    libc = ctypes.CDLL(None)
    this = psutil.Process()

    def below() -> dict[int, psutil.Process]:
        return {child.pid: child for child in this.children(recursive=True)}

    before = below().keys()
    assert libc.prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    try:
        yield lambda: {pid for pid in below().keys() - before if alive(pid)}
    finally:
        assert libc.prctl(SET_CHILD_SUBREAPER, 0, 0, 0, 0) == 0
        for pid in below().keys() - before:
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


def plan_of(
    tmp_path: Path, deploy: str, weights: Path, sandbox: str, limits: Limits = SHORT
) -> LaunchPlan:
    repo = write(case("hostile", deploy), tmp_path / "repo")
    return facts.gather(read_submission(repo), weights, limits=limits, sandbox=SANDBOXES[sandbox])


def outcome_of(plan: LaunchPlan, id_: str) -> Outcome:
    ledger = Ledger(Silent())
    ledger.judge(CHECKS, lambda: plan)
    ledger.judge(SUMMARIES, lambda: ledger.results)
    return next(result.outcome for result in ledger.results if result.id == id_)


QUICK = {
    "namespaces": {"fork-bomb", "sleeps", "ignores-signals", "yes", "hides-a-child"},
    "confined": {"fork-bomb"},
    "unconfined": {"hides-a-child"},
}
HOSTILE_RUNS = [
    pytest.param(name, sandbox, marks=() if name in QUICK[sandbox] else pytest.mark.slow)
    for name in HOSTILE
    for sandbox in SANDBOXES
]


@pytest.mark.parametrize(("name", "sandbox"), HOSTILE_RUNS)
def test_it_ends_with_a_finding_and_leaves_nothing_running(
    name: str, sandbox: str, tmp_path: Path, weights: Path, strays: Callable[[], set[int]]
) -> None:
    deploy, endings = HOSTILE[name]
    plan = plan_of(tmp_path, deploy, weights, sandbox)
    assert plan.run.ended_by.value in endings
    assert outcome_of(plan, "plan/starts-server") is Outcome.FAIL
    eventually(lambda: not strays())
    assert not strays()


def stop_the_dry_run(for_s: float) -> None:
    """Stop deploy.sh and the sandboxes around it as soon as it runs."""
    family: list[psutil.Process] = []
    end = time.monotonic() + 60
    while not family and time.monotonic() < end:
        with suppress(psutil.Error):
            below = psutil.Process().children(recursive=True)
            family = below if any(child.cmdline()[1:] == ["deploy.sh"] for child in below) else []
    for number in (signal.SIGSTOP, signal.SIGCONT):
        for process in family:
            with suppress(ProcessLookupError):
                os.kill(process.pid, number)
        time.sleep(for_s if number is signal.SIGSTOP else 0)


@pytest.mark.slow
def test_time_in_which_nothing_ran_does_not_count(tmp_path: Path, weights: Path) -> None:
    computes = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"
    stall = threading.Thread(target=stop_the_dry_run, args=(6,))
    stall.start()
    deploy = sh(f'{computes}\nexec vllm serve "$MODEL_PATH" --host 0.0.0.0')
    plan = plan_of(tmp_path, deploy, weights, "namespaces", replace(SHORT, wall_s=5))
    stall.join()
    assert plan.run.ended_by is EndedBy.SERVER


WAITS_AS_FOR_THE_DISK = """mkfifo opened never
(read -t 5 word <> never; : > opened) &
python3 -c 'import os
spawned = os.posix_spawn("/bin/sh", ["sh", "-c", ":"], {}, file_actions=[(os.POSIX_SPAWN_OPEN, 0, "opened", os.O_RDONLY, 0)])
os.waitpid(spawned, 0)'
exec vllm serve "$MODEL_PATH" --host 0.0.0.0
"""
"""Until the child of posix_spawn has opened the pipe, its parent is in the state D, as one that reads from a slow disk."""


def test_time_in_which_it_waited_for_the_disk_counts_less(tmp_path: Path, weights: Path) -> None:
    plan = plan_of(
        tmp_path, bash(WAITS_AS_FOR_THE_DISK), weights, "namespaces", replace(SHORT, wall_s=2.5)
    )
    assert plan.run.ended_by is EndedBy.SERVER


@pytest.mark.smoke
def test_killing_everything_in_reach_kills_only_the_sandbox(tmp_path: Path, weights: Path) -> None:
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        plan = plan_of(
            tmp_path, sh("kill -9 $PPID\nkill -9 -1\nkill -9 1\nsleep 1"), weights, "namespaces"
        )
        assert plan.run.ended_by in {EndedBy.EXIT, EndedBy.LOST}
        assert outcome_of(plan, "plan/starts-server") is Outcome.FAIL
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


@pytest.mark.smoke
def test_a_full_disk_is_the_sandbox_s_own(tmp_path: Path, weights: Path) -> None:
    plan = plan_of(
        tmp_path,
        sh("cat /dev/zero > a; cat /dev/zero > /tmp/b; cat /dev/zero > /dev/shm/c"),
        weights,
        "namespaces",
    )
    assert plan.run.ended_by in {EndedBy.DISK, EndedBy.EXIT}
    assert outcome_of(plan, "plan/starts-server") is Outcome.FAIL


@pytest.mark.parametrize("outside", OUTSIDE)
def test_a_full_disk_without_namespaces_has_an_end(
    outside: str, tmp_path: Path, weights: Path
) -> None:
    plan = plan_of(
        tmp_path,
        sh("n=0; while :; do head -c 8000000 /dev/zero > f$n; n=$((n+1)); done"),
        weights,
        outside,
    )
    assert plan.run.ended_by is EndedBy.DISK


@pytest.mark.parametrize("outside", OUTSIDE)
def test_an_unlinked_file_fills_the_disk_too(outside: str, tmp_path: Path, weights: Path) -> None:
    step = 'for n in 3 4 5 6; do eval "exec $n> f$n"; rm f$n; head -c 90000000 /dev/zero >& $n; done; while :; do :; done'
    plan = plan_of(tmp_path, bash(step), weights, outside)
    assert plan.run.ended_by is EndedBy.DISK


def test_many_small_files_fill_nothing(tmp_path: Path, weights: Path) -> None:
    plan = plan_of(
        tmp_path, sh("n=0; while :; do : > f$n; n=$((n+1)); done"), weights, "namespaces"
    )
    assert plan.run.ended_by in {EndedBy.DISK, EndedBy.TIME}


@pytest.mark.smoke
def test_the_home_folder_and_the_environment_stay_secret(
    tmp_path: Path, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "home" / ".token"
    secret.parent.mkdir()
    secret.write_text("s3cret-in-a-file")
    monkeypatch.setenv("HOME", str(secret.parent))
    monkeypatch.setenv("HF_TOKEN", "s3cret-in-the-environment")
    deploy = sh(
        f"env; cat {secret} ~/.token ~/.ssh/* /etc/shadow; cat /proc/*/environ; ls -A ~ /home {tmp_path}; exit 1"
    )
    plan = plan_of(tmp_path, deploy, weights, "namespaces")
    assert "s3cret" not in plan.run.stdout + plan.run.stderr
    assert f"MODEL_PATH={plan.model_path}" in plan.run.stdout


@pytest.mark.smoke
def test_nothing_outside_can_be_changed(tmp_path: Path, weights: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    outside.chmod(0o777)
    deploy = sh(
        f"""
        exec 2>/dev/null
        echo x > {outside}/a; echo x > /usr/x; echo x > "$MODEL_PATH/x"; rm -rf "$MODEL_PATH"/* /usr/bin/env /usr/lib
        echo x > deploy.sh; echo 1 > /proc/sys/kernel/core_pattern; mount -o remount,rw / ; rm -rf /
        exit 1
        """
    )
    before = {path.name: path.read_bytes() for path in weights.iterdir()}
    plan = plan_of(tmp_path, deploy, weights, "namespaces", Limits())
    assert plan.run.exit_status is not None
    assert list(outside.iterdir()) == []
    assert {path.name: path.read_bytes() for path in weights.iterdir()} == before
    assert "rm -rf" in (tmp_path / "repo/deploy.sh").read_text()
    assert Path("/usr/bin/env").exists()


@pytest.mark.smoke
def test_there_is_no_network(tmp_path: Path, weights: Path) -> None:
    deploy = bash(
        """
        python3 - <<'PY'
        import socket
        for address in (("192.0.2.1", 80), ("8.8.8.8", 53)):
            try:
                socket.create_connection(address, 1)
                print("reached")
            except OSError as error:
                print(type(error).__name__)
        PY
        (: < /dev/tcp/8.8.8.8/53) && echo reached
        exit 1
        """
    )
    plan = plan_of(tmp_path, deploy, weights, "namespaces")
    assert len(plan.run.stdout.split()) == 2
    assert "reached" not in plan.run.stdout


@pytest.mark.smoke
def test_set_user_id_programs_and_new_namespaces_give_nothing(
    tmp_path: Path, weights: Path
) -> None:
    deploy = sh("grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status; exit 1")
    plan = plan_of(tmp_path, deploy, weights, "namespaces")
    assert plan.run.stdout.split() == [
        "CapEff:", "0" * 16, "CapBnd:", "0" * 16, "NoNewPrivs:", "1",
    ]  # fmt: skip


REAL_PLACES = {
    "absolute-vllm",
    "absolute-python",
    "cann-under-u",
    "copy",
    "folders-of-the-machine",
    "shell-in-shell",
    "empty-environment",
    "mindie",
}
"""What these use at absolute paths, or without PATH, is the machine's own where nothing can stand in for it."""


def alternating(names: Iterable[str]):
    """Each name in each of the modes, one of which is left to the slow tests."""
    return [
        pytest.param(
            name, outside, marks=() if (number + at) % len(OUTSIDE) == 0 else pytest.mark.slow
        )
        for number, name in enumerate(names)
        for at, outside in enumerate(OUTSIDE)
    ]


SAMPLE = [
    pytest.param(each, marks=() if number % 24 == 0 else pytest.mark.slow, id=each.name)
    for number, each in enumerate([*PYTHON, *WRITTEN, *KEPT, *AROUND, *ENGINES])
    if each.name not in REAL_PLACES
]


@pytest.mark.slow
@pytest.mark.parametrize("outside", OUTSIDE)
@pytest.mark.parametrize("each", SAMPLE)
def test_without_namespaces_the_same_is_found(
    each: object, outside: str, tmp_path: Path, weights: Path
) -> None:
    repo = write(each, tmp_path / "repo")  # type: ignore[arg-type]
    plan = facts.gather(read_submission(repo), weights, limits=Limits(), sandbox=SANDBOXES[outside])
    assert plan.server is not None, plan.run.stderr
    assert (plan.server.port, plan.server.foreground) == (8000, True)
    assert plan.server.model == plan.model_path or plan.server.engine is LLAMA_CPP


@pytest.mark.parametrize(("name", "outside"), alternating(sorted(REAL_PLACES)))
def test_without_namespaces_a_program_of_the_image_is_no_failure(
    name: str, outside: str, tmp_path: Path, weights: Path
) -> None:
    each = next(each for each in (*WRITTEN, *KEPT, *AROUND, *ENGINES) if each.name == name)
    plan = facts.gather(
        read_submission(write(each, tmp_path / "repo")),
        weights,
        limits=SHORT,
        sandbox=SANDBOXES[outside],
    )
    assert outcome_of(plan, "plan/starts-server") is not Outcome.FAIL
    assert outcome_of(plan, "plan/self-contained") is not Outcome.FAIL


HELPER = {"setup.sh": "echo ready\n", "start.sh": 'exec vllm serve "$MODEL_PATH"\n'}
OWN_FAULTS = {
    "helper-and-server": (
        bash('./setup.sh\nnosuchprogram\nvllm serve "$MODEL_PATH"'),
        {"setup.sh", "nosuchprogram"},
    ),
    "helper": (sh('set -e\n./setup.sh\nvllm serve "$MODEL_PATH"'), {"setup.sh"}),
    "helper-by-its-whole-path": (
        sh('set -e\n"$PWD/setup.sh"\nvllm serve "$MODEL_PATH"'),
        {"setup.sh"},
    ),
    "server-behind-nohup": (sh("exec nohup ./start.sh"), {"start.sh"}),
    "folder-not-made": (
        sh('set -e\necho > "$PWD/logs/a"\nexec vllm serve "$MODEL_PATH"'),
        {"logs/a"},
    ),
    "beside-the-image": (
        sh("/usr/local/Ascend/set_env.sh\n. ./env.sh\nexec ./start.sh"),
        {"env.sh"},
    ),
    "beside-a-refusal": (
        sh("echo > /usr/a\nnosuchprogram\npython3 nosuch.py"),
        {"nosuchprogram", "nosuch.py"},
    ),
}


@pytest.mark.parametrize(("name", "outside"), alternating(OWN_FAULTS))
def test_without_namespaces_the_submission_s_own_faults_are_found(
    name: str, outside: str, tmp_path: Path, weights: Path
) -> None:
    deploy, named = OWN_FAULTS[name]
    repo = write(case(name, deploy, files=HELPER), tmp_path / "repo")
    plan = facts.gather(read_submission(repo), weights, limits=SHORT, sandbox=SANDBOXES[outside])
    ledger = Ledger(Silent())
    ledger.judge(CHECKS, lambda: plan)
    found = [
        finding
        for result in ledger.results
        for finding in result.findings
        if finding.level is Level.FAIL
    ]
    said = " / ".join(finding.seen for result in ledger.results for finding in result.findings)
    assert found, plan.run.stderr
    assert all(each in said for each in named), said


@pytest.mark.parametrize(
    "body",
    [
        "mkdir -p /data/cache\ncd /data\ncd /data/cache && . ./env.sh\n. /data/cache/env.sh",
        "echo > /usr/log\ncd /usr/local/Ascend/tools\n. ./env.sh",
    ],
)
@pytest.mark.parametrize("outside", OUTSIDE)
def test_without_namespaces_what_follows_from_a_refusal_is_no_failure(
    body: str, outside: str, tmp_path: Path, weights: Path
) -> None:
    plan = plan_of(tmp_path, bash(f'{body}\nexec vllm serve "$MODEL_PATH"'), weights, outside)
    assert outcome_of(plan, "plan/starts-server") is not Outcome.FAIL
    assert outcome_of(plan, "plan/self-contained") is not Outcome.FAIL


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user takes root")
def test_an_unprivileged_user_has_namespaces_too(tmp_path_factory: pytest.TempPathFactory) -> None:
    import tempfile

    import healthcheck

    python = next(
        (p for p in ("/usr/bin/python3", "/usr/local/bin/python3") if os.access(p, os.X_OK)), None
    )
    if python is None:
        pytest.skip("no Python that every user can run")
    with tempfile.TemporaryDirectory() as folder:
        script = f"""
import os, pathlib, shutil
os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
from healthcheck.stages.plan.dry_run.stubbed_machine import ENTRY
from healthcheck.sandbox import box
from healthcheck.sandbox.job import Limits, Mode
job, found = box.run(box.Setting(source=pathlib.Path({folder!r}, "repo"), script="deploy.sh", entry=ENTRY,
    shell=("/bin/sh",), weights=pathlib.Path({folder!r}, "w"), weights_name="w", limits=Limits()), Mode.ISOLATED)
print(found.ended_by.value, *filter(None, [found.trouble]), *(" ".join(record.argv) for record in found.records))
"""
        package = Path(folder) / "package"
        package.mkdir()
        subprocess.run(
            ["cp", "-r", str(Path(healthcheck.__file__).parent), str(package)], check=True
        )
        write(case("x", sh('exec vllm serve "$MODEL_PATH"')), Path(folder) / "repo")
        (Path(folder) / "w").mkdir()
        subprocess.run(["chmod", "-R", "a+rX", folder], check=True)
        environment = {
            "PYTHONPATH": str(package),
            "PATH": os.environ["PATH"],
            "HOME": "/nonexistent",
        }
        done = subprocess.run(
            [python, "-c", script],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    if done.stdout.startswith("setup"):
        pytest.skip(f"this system allows no namespaces to users: {done.stdout}")
    assert done.stdout.strip() == "server vllm serve /srv/weights/w", done.stderr
