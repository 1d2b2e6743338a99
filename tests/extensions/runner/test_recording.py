"""Recordings: queries and answers are kept, private data is not, and no file can break a replay."""

from __future__ import annotations

import copy
import json
import socket
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from healthcheck.cli import main
from healthcheck.core.progress import Silent
from healthcheck.core.records import Outcome
from healthcheck.extensions.runner import children, examining, facts
from healthcheck.extensions.runner.asked import Depth
from healthcheck.extensions.runner.private import redactor
from healthcheck.extensions.runner.real import RealWholeMachine
from healthcheck.extensions.runner.recorder import CUT, MAX_CHARACTERS, Recorder
from healthcheck.extensions.runner.recording import (
    MAX_FILE_BYTES,
    NOT_RECORDED,
    RecordedMachine,
    Recording,
    load,
)
from healthcheck.extensions.runner.records import Wanted
from healthcheck.machine.interface import OUTPUT_BYTES, Entry, Output
from healthcheck.system import json_text
from healthcheck.system.processes import Listener, Process
from tests.extensions.runner.answers import SOAK, complete, counters
from tests.extensions.runner.replaying import MACHINES, NAMES, plain, recorded, report

SECRET = "hf_AbCdEfGhIjKlMnOpQrStUvWx"


@pytest.fixture
def replay(tmp_path, capsys):
    """Replays a machine by the command; returns its status, its report, and the printed text."""

    def run(machine, *options):
        file = tmp_path / "machine.json"
        file.write_text(json.dumps(machine))
        out = tmp_path / "out"
        status = main(["runner", "--replay", str(file), "--out", str(out), *options])
        return status, json.loads((out / "report.json").read_text()), capsys.readouterr().out

    return run


def outcomes(found):
    return {check["id"].removeprefix("runner/"): check["outcome"] for check in found["checks"]}


@pytest.mark.process
def test_a_recorded_machine_is_the_machine(tmp_path):
    wanted = Wanted(allow_none=True)
    recorder = Recorder(RealWholeMachine(), wanted)
    real = facts.gather(recorder, wanted, Silent())
    recorder.save(tmp_path / "machine.json")
    replayed = facts.gather(RecordedMachine(load(tmp_path / "machine.json")), wanted, Silent())
    assert replayed.software == real.software
    assert replayed.host.disk == real.host.disk
    assert replayed.host.processors == real.host.processors
    assert (replayed.nodes, replayed.smi.codes, replayed.present) == (
        real.nodes,
        real.smi.codes,
        real.present,
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_replay_gives_the_verdict_of_the_machine(replay, name):
    _, found, _ = replay(plain(name))
    machine = report(plain(name))
    assert found["verdict"] == machine.verdict.value
    expected = {
        result.id.removeprefix("runner/"): result.outcome.value for result in machine.results
    }
    assert outcomes(found) == expected


def test_every_page_says_that_it_is_a_replay(replay, tmp_path):
    label = "REPLAY of machine.json, not of this machine"
    status, found, printed = replay(
        plain("healthy-910b3-x8"), "--junit", str(tmp_path / "junit.xml")
    )
    assert status == 0
    assert found["headline"].startswith(label)
    assert "replay of a recording" in found["asked"]
    assert label in printed
    for page in ("out/report.html", "out/summary.md", "junit.xml"):
        assert label in (tmp_path / page).read_text().replace("\\", ""), page
    assert found["provenance"]["recording"]["file"] == "machine.json"
    assert (
        not {"system", "cores", "memory_gib", "npu_devices", "machine"} & found["provenance"].keys()
    )


def test_the_source_of_a_recording_has_no_secret(replay, monkeypatch):
    monkeypatch.setenv("DB_PASSWORD", "machine.json")
    monkeypatch.setenv("CI_TOKEN", "correct horse battery")
    machine = plain("healthy-910b3-x8") | {
        "at": "correct horse battery",
        "kit": "hf_AbCdEfGhIjKlMnOpQrStUvWxYzabcdefgh",
    }
    _, found, _ = replay(machine)
    assert found["provenance"]["recording"] == dict.fromkeys(("file", "at", "kit"), "removed")


def test_a_trial_that_was_not_recorded_is_skipped_and_leaves_the_verdict_open(replay):
    machine = complete()
    del machine["children"]["torch_probe"]
    status, found, printed = replay(machine, "--verbose")
    assert (status, found["verdict"]) == (3, "inconclusive")
    assert "this is a replay: no device is tried" in found["headline"]
    skipped = {name for name, outcome in outcomes(found).items() if outcome == "skip"}
    assert {"torch-npu", "compute", "hccl", "hccl-pairs", "soak"} <= skipped
    assert "the recording does not have this trial" in printed
    assert "Next: record that machine again npu-adapter runner --save machine.json" in " ".join(
        printed.split()
    )


@pytest.mark.parametrize(
    ("child", "lost"),
    [
        ("hccl_probe 8", {"hccl", "hccl-pairs", "soak"}),
        ("pairs_probe 8", {"hccl-pairs", "soak"}),
        (SOAK, {"soak"}),
    ],
)
def test_each_trial_can_be_missing(replay, child, lost):
    machine = complete()
    del machine["children"][child]
    _, found, _ = replay(machine, "--level", "3")
    assert found["verdict"] == "inconclusive"
    by_name = outcomes(found)
    assert {by_name[name] for name in lost} == {"skip"}
    assert by_name["compute"] == "pass"


def test_a_replay_is_at_the_level_of_the_recording(replay):
    machine = complete()
    machine["asked"] = {"level": 1, "npus": 8}
    status, found, printed = replay(machine, "--verbose")
    assert status == 0
    assert found["asked"] == "runner, replay of a recording, level 1"
    assert outcomes(found)["compute"] == "skip"
    assert "this is a replay: no device is tried" in printed
    machine["asked"] = {"level": 3, "soak_s": 1200.0, "npus": 16}
    _, found, _ = replay(machine)
    assert outcomes(found)["npu-smi"] == "fail"
    _, found, _ = replay(machine, "--npus", "8")
    assert set(outcomes(found).values()) == {"pass", "skip"}
    assert outcomes(found)["soak"] == "pass"


@pytest.mark.process
def test_a_replay_runs_nothing_and_reads_nothing_of_this_machine(replay, tmp_path, monkeypatch):
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("npu-smi", "hccn_tool", "python3", "id", "uname", "bash"):
        (folder / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    machine = complete()
    monkeypatch.setenv("MODEL_PATH", "/elsewhere")
    status, found, _ = replay(machine, "--level", "3")
    assert (status, found["verdict"]) == (0, "ready")
    assert not (tmp_path / "ran").exists()
    assert "/elsewhere" not in json.dumps(found["checks"])


def test_what_was_not_recorded_is_unknown():
    machine = RecordedMachine(Recording())
    assert machine.run("npu-smi", "info").trouble == NOT_RECORDED
    assert machine.python(children.TORCH).trouble == NOT_RECORDED
    assert machine.read("/etc/passwd") is None
    assert machine.paths("/dev/*") == ()
    assert machine.space("/") is machine.read_speed("/") is machine.variable("HOME") is None
    assert machine.port_holders(8000) == ()


@pytest.mark.parametrize(
    ("private", "kept"),
    [
        ("vllm serve /m --api-key s3cr3tvalue --port 8000", "vllm serve /m --api-key removed --port 8000"),
        ("OPENAI_API_KEY=s3cr3tvalue x", "OPENAI_API_KEY=removed x"),
        ('{"password": "s3cr3tvalue", "a": 1}', '{"password": "removed", "a": 1}'),
        ("http://s3cr3tvalue:pw@proxy.corp.example:3128/x", "http://removed:3128/x"),
        (f"token {SECRET}", "token removed"),
        ("Authorization: Bearer s3cr3tvalue", "Authorization: Bearer removed"),
        ("eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl", "removed"),
        ("mail s3cr3tvalue@example.org", "mail removed"),
        ("        Serial Number                  : 1025C9048791",
         "        Serial Number                  : removed"),
        ("VDie ID    : 901421D4 02103514", "VDie ID    : removed"),
        ("UserName=alice\nUserGroup=HwHiAiUser", "UserName=removed\nUserGroup=HwHiAiUser"),
        ("/home/s3cr3tvalue/models", "/home/removed/models"),
        ('"executable": "/home/alice/bin/python"', '"executable": "/home/removed/bin/python"'),
        ("EI0006: connect 10.1.2.3:60000 failed", "EI0006: connect removed:60000 failed"),
        ("peer 203.0.113.77, 8.8.8.8.", "peer removed, removed."),
        ("Version mismatch with 192.168.7.9", "Version mismatch with removed"),
        ("on [fe80::1ff:fe23:4567:890a] and 2001:db8::7", "on [removed] and removed"),
        ("::ffff:10.1.2.3", "::ffff:removed"),
        ("ether 02:42:ac:11:00:02 txqueuelen", "ether removed txqueuelen"),
        ("http://127.0.0.1:8000/v1 http://localhost:1", "http://127.0.0.1:8000/v1 http://localhost:1"),
        ("bind 0.0.0.0 and ::1 and 127.0.0.1", "bind 0.0.0.0 and ::1 and 127.0.0.1"),
        ("/models/tokenizer.json tokenizer: x", "/models/tokenizer.json tokenizer: x"),
        ("npu-smi 22.0.3.1 Version: 22.0.3.1", "npu-smi 22.0.3.1 Version: 22.0.3.1"),
        ("Firmware Version : 7.8.0.6.201", "Firmware Version : 7.8.0.6.201"),
        ("torch 2.9.0.post1+gitabc at 12:34:56", "torch 2.9.0.post1+gitabc at 12:34:56"),
        ("PCIe Bus Info : 0000:C1:00.0", "PCIe Bus Info : 0000:C1:00.0"),
        ("c10::Error in at::native::add", "c10::Error in at::native::add"),
    ],
)  # fmt: skip
def test_what_is_private_is_removed(private, kept):
    assert redactor()(private) == kept


def test_names_of_the_host_and_its_user_are_removed_wherever_they_stand(monkeypatch):
    monkeypatch.setattr(socket, "gethostname", lambda: "box7.corp.example")
    monkeypatch.setenv("HOSTNAME", "pod-abc")
    monkeypatch.setenv("LOGNAME", "wangxiaoming")
    monkeypatch.setenv("SUDO_USER", "lihua")
    redact = redactor()
    assert redact("on box7.corp.example, box7: pod-abc of wangxiaoming, /data/lihua") == (
        "on removed, removed: removed of removed, /data/removed"
    )
    assert redact("box70 and sandbox7") == "box70 and sandbox7"


@pytest.mark.process
def test_a_recorder_removes_it_from_every_answer(tmp_path, monkeypatch):
    (tmp_path / SECRET).write_text(SECRET)
    monkeypatch.setenv("MODEL_PATH", SECRET)
    holder = Listener(address="::", port=1, process=Process(pid=1, command=SECRET))
    monkeypatch.setattr(RealWholeMachine, "port_holders", lambda *_: (holder,))
    recorder = Recorder(RealWholeMachine(), Wanted())
    assert recorder.run("echo", SECRET).stdout == f"{SECRET}\n"
    assert recorder.read(str(tmp_path / SECRET)) == SECRET
    assert recorder.paths(f"{tmp_path}/*")[0].path.endswith(SECRET)
    assert recorder.variable("MODEL_PATH") == SECRET
    assert recorder.port_holders(1)[0].process.command == SECRET
    recorder.save(tmp_path / "saved.json")
    assert SECRET not in (tmp_path / "saved.json").read_text()


@pytest.mark.process
def test_only_the_variables_that_a_check_reads_are_kept(monkeypatch):
    monkeypatch.setenv("SOMETHING_PRIVATE", "s3cr3tvalue")
    recorder = Recorder(RealWholeMachine(), Wanted())
    facts.gather(recorder, Wanted(), Silent())
    assert "s3cr3tvalue" not in json_text.dump(recorder.recording).decode()
    assert set(recorder.recording.variables) >= {"ASCEND_RT_VISIBLE_DEVICES", "ASCEND_HOME_PATH"}


def test_addresses_accounts_and_containers_are_removed(tmp_path, monkeypatch):
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "kubernetes.corp.example")
    entry = Entry(path="/dev/davinci0", owner="alice", group="corp-team")
    holders = (Listener(address="10.1.2.3", port=8000), Listener(address="0.0.0.0", port=8000))
    group = "0::/kubepods/pod1234abcd_1234_abcd_5678_1234567890ab/cri-containerd-" + "0f" * 32
    user = Output(
        status=0, stdout="uid=1000(alice) gid=7(corp team) groups=7(corp team),1000(HwHiAiUser)"
    )
    monkeypatch.setattr(RealWholeMachine, "paths", lambda *_: (entry,))
    monkeypatch.setattr(RealWholeMachine, "port_holders", lambda *_: holders)
    monkeypatch.setattr(RealWholeMachine, "read", lambda *_: group)
    monkeypatch.setattr(RealWholeMachine, "run", lambda *_, **__: user)
    recorder = Recorder(RealWholeMachine(), Wanted())
    assert recorder.run("id") == user
    assert recorder.variable("KUBERNETES_SERVICE_HOST") == "kubernetes.corp.example"
    assert recorder.paths("/dev/*") == (entry,)
    assert recorder.port_holders(8000) == holders
    assert recorder.read("/proc/1/cgroup") == group
    recorder.save(tmp_path / "saved.json")
    text = (tmp_path / "saved.json").read_text()
    assert not [word for word in ("corp", "10.1.2.3", "alice", "1234", "0f0f") if word in text]
    replayed = RecordedMachine(json_text.load_as(text, Recording))
    assert replayed.variable("KUBERNETES_SERVICE_HOST") == "removed"
    kept_user = "uid=1000(removed) gid=7(removed) groups=7(removed),1000(HwHiAiUser)"
    assert replayed.run("id").stdout == kept_user
    assert "kubepods" in replayed.read("/proc/1/cgroup")
    assert [holder.address for holder in replayed.port_holders(8000)] == ["removed", "0.0.0.0"]


def test_an_answer_that_changes_is_kept_each_time(tmp_path):
    machine = complete()
    ecc = "npu-smi info -t ecc -i 3"
    machine["commands"][ecc] = [counters(3), counters(3, HBM_Single_Bit_Error_Count=9)]
    wanted = Wanted(depth=Depth.SOAK)
    recorder = Recorder(recorded(copy.deepcopy(machine)), wanted)
    first = examining.judge(recorder, wanted, Silent())
    recorder.save(tmp_path / "machine.json")
    again = examining.judge(RecordedMachine(load(tmp_path / "machine.json")), wanted, Silent())
    for found in (first, again):
        (soak,) = [result for result in found.results if result.id == "runner/soak"]
        assert soak.outcome is Outcome.WARN
        assert "NPU 3 chip 0: 9" in str(soak.findings)


def test_a_recording_keeps_to_a_size(tmp_path):
    class Talkative:
        def run(self, *command, timeout_s=20.0):
            return Output(status=0, stdout="x" * OUTPUT_BYTES, stderr="y" * OUTPUT_BYTES)

    recorder = Recorder(Talkative(), Wanted())
    for number in range(40):
        assert len(recorder.run("npu-smi", str(number)).stdout) == OUTPUT_BYTES
    recorder.save(tmp_path / "machine.json")
    size = (tmp_path / "machine.json").stat().st_size
    assert MAX_CHARACTERS < size < 1.1 * MAX_CHARACTERS < MAX_FILE_BYTES
    assert "the recording is full" in (tmp_path / "machine.json").read_text()


def test_a_full_recording_keeps_one_mark_of_each_further_text(monkeypatch):
    monkeypatch.setattr("healthcheck.extensions.runner.recorder.MAX_CHARACTERS", 100)

    class Talkative:
        def run(self, *command, timeout_s=20.0):
            return Output(status=0, stdout="x" * 60, stderr="")

    recorder = Recorder(Talkative(), Wanted())
    for number in range(4):
        recorder.run("npu-smi", str(number))
    outputs = list(recorder.recording.commands.values())
    assert [output.stdout for output in outputs] == [("x" * 60,), ("x" * 40, CUT), (CUT,), (CUT,)]
    assert [output.stderr for output in outputs] == [()] * 4


def test_each_answer_to_a_repeated_query_is_kept():
    class Counting:
        def __init__(self):
            self.times = 0

        def run(self, *command, timeout_s=20.0):
            self.times += 1
            return Output(status=0, stdout=str(self.times))

    recorder = Recorder(Counting(), Wanted())
    recorder.run("npu-smi")
    assert recorder.recording.commands["npu-smi"].stdout == ("1",)
    recorder.run("npu-smi")
    recorder.run("npu-smi")
    answers = recorder.recording.commands["npu-smi"]
    assert [answer.stdout for answer in answers] == [("1",), ("2",), ("3",)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is not a recording of runner --save"),
        ("[]", "is not a recording of runner --save"),
        ("{}", "it lacks /dev/davinci[0-9]*"),
        ('{"paths": {"/dev/davinci[0-9]*": []}}', "it lacks npu-smi info"),
        ('{"commands": {"npu-smi info": {"status": "0"}}}', "Expected"),
        ('{"files": {"/x": "text"}}', "files"),
        ('{"schema": 2}', "has schema 2; this kit reads schema 1"),
        ('{"schema": 1', "is not a recording of runner --save"),
        ('{"asked": {"level": 9}}', "Invalid enum value 9"),
        ('{"spaces": {".": {"total_bytes": 1e400, "free_bytes": 1}}}', "is not a recording"),
        (
            '{"spaces": {".": {"total_bytes": 99999999999999999999, "free_bytes": 1}}}',
            "is not a recording",
        ),
        ('{"paths": {"/dev/x": [null]}}', "is not a recording"),
        ('{"variables": {"HOME": "\\ud800"}}', "is not a recording"),
        ("\x00\x7fELF", "is not a recording"),
        ("[" * 100_000, "is not a recording"),
        ('{"files": {"/x": [' + '"",' * 500_000 + '""]}}', "more than 400000 values"),
    ],
)
def test_what_is_no_recording_is_refused_in_words(text, words, tmp_path, capsys):
    (tmp_path / "machine.json").write_text(text)
    assert main(["runner", "--replay", str(tmp_path / "machine.json")]) == 2
    shown = " ".join(capsys.readouterr().err.split())
    assert words in shown
    assert "Traceback" not in shown


def test_a_recording_that_is_too_long_or_absent(tmp_path, capsys):
    (tmp_path / "long.json").write_bytes(b" " * (MAX_FILE_BYTES + 1))
    for name, words in (
        ("long.json", "is longer than"),
        ("absent.json", "is not a file"),
        (".", "is not a file"),
    ):
        assert main(["runner", "--replay", str(tmp_path / name)]) == 2
        assert words in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("option", [("--save", "again.json"), ("--soak", "1")])
def test_a_replay_saves_nothing_and_tries_nothing(option, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("machine.json").write_text(json.dumps(plain("no-npu")))
    assert main(["runner", "--replay", "machine.json", *option]) == 2
    assert f"{option[0]} needs a machine" in capsys.readouterr().err
    assert not Path("again.json").exists()


def test_a_folder_that_does_not_exist_is_refused_before_the_run(tmp_path, capsys):
    missing = tmp_path / "nope"
    assert main(["runner", "--allow-none", "--save", str(missing / "x.json")]) == 2
    assert f"there is no folder {missing}" in capsys.readouterr().err


def test_no_recorded_text_controls_the_terminal_or_a_runner(replay):
    machine = plain("healthy-910b3-x8")
    hostile = "\x1b]0;owned\x07\u202e::error::x ##[error]y"
    machine["about"] = machine["kit"] = machine["at"] = hostile
    machine["children"]["torch_probe"]["stdout"] = [
        "@npu-adapter "
        + json.dumps({"step": "error", "at": hostile, "during": "import", "text": hostile})
    ]
    _, _, printed = replay(machine, "--verbose")
    assert "::error::x" in printed
    assert not {"\x1b", "\x07", "\u202e"} & set(printed)


def test_the_machines_of_these_tests_name_nobody():
    for path in MACHINES.glob("*.json"):
        text = path.read_text("utf-8")
        assert "/home/" not in text
        assert redactor()(text) == text


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=30),
    st.sampled_from(["-1", "9" * 40, "@npu-adapter {", "| 0 | OK | / |"]),
    st.just([]),
    st.just({}),
)


@settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    max_examples=60,
    deadline=None,
)
@given(data=st.data())
def test_no_file_breaks_a_replay(data, tmp_path, capsys):
    """Values anywhere in a recording are replaced; it is refused in words, or judged without an error of the kit."""
    machine = complete() if data.draw(st.booleans()) else plain(data.draw(st.sampled_from(NAMES)))
    for _ in range(data.draw(st.integers(1, 4))):
        _replace_somewhere(machine, data)
    file = tmp_path / "machine.json"
    file.write_text(json.dumps(machine))
    status = main(
        ["runner", "--replay", str(file), "--level", "3", "--json", str(tmp_path / "report.json")]
    )
    capsys.readouterr()
    assert status in {0, 1, 2, 3}, file.read_text()[:3000]
    if status != 2:
        found = json.loads((tmp_path / "report.json").read_text())
        assert "error" not in outcomes(found).values(), file.read_text()[:3000]


def _replace_somewhere(value, data):
    """Walk down to a value at random and put junk in its place."""
    while True:
        keys = sorted(value) if isinstance(value, dict) else range(len(value))
        if not keys:
            return
        key = data.draw(st.sampled_from(keys))
        if not isinstance(value[key], dict | list) or not data.draw(st.integers(0, 9)):
            value[key] = data.draw(JUNK)
            return
        value = value[key]
