"""Recordings: what is asked is kept, what is private is not, and what others wrote cannot break the reader."""

from __future__ import annotations

import json
import socket

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from healthcheck.core.progress import Silent
from healthcheck.core.records import Outcome
from healthcheck.errors import UsageError
from healthcheck.extensions.runner import children, facts
from healthcheck.extensions.runner.asked import Depth
from healthcheck.extensions.runner.real import RealWholeMachine
from healthcheck.extensions.runner.recording import RecordedMachine, Recorder, Recording, load
from healthcheck.extensions.runner.records import Wanted
from healthcheck.extensions.runner.redact import redactor
from healthcheck.extensions.runner.snapshot import Snapshot
from healthcheck.machine.interface import NOT_RECORDED, Entry, Output
from healthcheck.report import page
from healthcheck.system.processes import Listener, Process
from tests.extensions.runner.answers import complete
from tests.extensions.runner.replaying import MACHINES, NAMES, plain, report
from tests.support.rows import rows


@pytest.mark.process
def test_a_recorded_machine_is_the_machine(tmp_path):
    recorder = Recorder(RealWholeMachine())
    real = facts.gather(recorder, Wanted(allow_none=True), Silent())
    recorder.save(tmp_path / "machine.json")
    replayed = facts.gather(RecordedMachine(load(tmp_path / "machine.json")), Wanted(allow_none=True), Silent())
    assert replayed.software == real.software
    assert replayed.host.disk == real.host.disk
    assert replayed.host.open_files == real.host.open_files
    assert (replayed.nodes, replayed.smi.codes, replayed.present) == (real.nodes, real.smi.codes, real.present)


def test_what_was_not_asked_is_unknown():
    machine = RecordedMachine(Recording())
    assert machine.run("npu-smi", "info").trouble == NOT_RECORDED
    assert machine.python(children.TORCH).trouble == NOT_RECORDED
    assert machine.read("/etc/passwd") is None
    assert machine.paths("/dev/*") == ()
    assert machine.space("/") is machine.read_speed("/") is machine.variable("HOME") is None
    assert machine.port_holders(8000) == ()


@rows(
    ("private", "kept"),
    [
        ("vllm serve /m --api-key s3cr3tvalue --port 8000", "vllm serve /m --api-key removed --port 8000"),
        ("OPENAI_API_KEY=s3cr3tvalue x", "OPENAI_API_KEY=removed x"),
        ('{"password": "s3cr3tvalue", "a": 1}', '{"password": "removed", "a": 1}'),
        ("http://s3cr3tvalue:pw@proxy.corp.example:3128/x", "http://removed:3128/x"),
        ("token hf_AbCdEfGhIjKlMnOpQrStUvWx", "token removed"),
        ("Authorization: Bearer s3cr3tvalue", "Authorization: Bearer removed"),
        ("eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl", "removed"),
        ("mail s3cr3tvalue@example.org", "mail removed"),
        (
            "        Serial Number                  : 1025C9048791",
            "        Serial Number                  : removed",
        ),
        ("VDie ID    : 901421D4 02103514", "VDie ID    : removed"),
        ("/home/s3cr3tvalue/models", "/home/removed/models"),
        ("http://127.0.0.1:8000/v1 http://localhost:1", "http://127.0.0.1:8000/v1 http://localhost:1"),
        ("/models/tokenizer.json tokenizer: x", "/models/tokenizer.json tokenizer: x"),
        ("npu-smi 22.0.3.1 Version: 22.0.3.1", "npu-smi 22.0.3.1 Version: 22.0.3.1"),
    ],
)
def test_what_is_private_is_removed(private, kept):
    assert redactor()(private) == kept


def test_names_of_the_host_are_removed_wherever_they_stand(monkeypatch):
    monkeypatch.setattr(socket, "gethostname", lambda: "box7.corp.example")
    monkeypatch.setenv("HOSTNAME", "pod-abc")
    monkeypatch.setenv("LOGNAME", "wangxiaoming")
    redact = redactor()
    assert (
        redact("on box7.corp.example, box7: pod-abc of wangxiaoming") == "on removed, removed: removed of removed"
    )
    assert redact("box70 and sandbox7") == "box70 and sandbox7"


@pytest.mark.process
def test_a_recorder_removes_it_from_every_answer(tmp_path, monkeypatch):
    secret = "hf_AbCdEfGhIjKlMnOpQrStUvWx"
    (tmp_path / secret).write_text(secret)
    monkeypatch.setenv("MODEL_PATH", secret)
    machine = RealWholeMachine()
    monkeypatch.setattr(
        RealWholeMachine,
        "port_holders",
        lambda *_: (Listener(address="::", port=1, process=Process(pid=1, command=secret)),),
    )
    recorder = Recorder(machine)
    assert recorder.run("echo", secret).stdout == f"{secret}\n"
    assert recorder.read(str(tmp_path / secret)) == secret
    assert recorder.paths(f"{tmp_path}/*")[0].path.endswith(secret)
    assert recorder.variable("MODEL_PATH") == secret
    assert recorder.port_holders(1)[0].process.command == secret
    recorder.save(tmp_path / "saved.json")
    assert secret not in (tmp_path / "saved.json").read_text()


@pytest.mark.process
def test_only_the_variables_that_were_asked_for_are_kept(monkeypatch):
    monkeypatch.setenv("SOMETHING_PRIVATE", "s3cr3tvalue")
    recorder = Recorder(RealWholeMachine())
    facts.gather(recorder, Wanted(), Silent())
    assert "s3cr3tvalue" not in str(recorder.recording.variables)
    assert set(recorder.recording.variables) >= {"ASCEND_RT_VISIBLE_DEVICES", "ASCEND_HOME_PATH"}


def test_addresses_and_names_of_groups_and_containers_are_removed(tmp_path, monkeypatch):
    monkeypatch.setenv("no_proxy", "localhost, 127.0.0.1,.corp.example,10.1.2.3")
    monkeypatch.setenv("http_proxy", "proxy.corp.example:3128")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.1.2.3")
    monkeypatch.setenv("LOGNAME", "wangxiaoming")
    entry = Entry(path="/dev/davinci0", owner="root", group="wangxiaoming")
    holders = (Listener(address="10.1.2.3", port=8000), Listener(address="0.0.0.0", port=8000))
    group = "0::/kubepods/pod1234abcd_1234_abcd_5678_1234567890ab/cri-containerd-" + "0f" * 32
    monkeypatch.setattr(RealWholeMachine, "paths", lambda *_: (entry,))
    monkeypatch.setattr(RealWholeMachine, "port_holders", lambda *_: holders)
    monkeypatch.setattr(RealWholeMachine, "read", lambda *_: group)
    known = Output(status=0, stdout="uid=1000(wang) gid=7(corp team) groups=7(corp team),1000(HwHiAiUser)")
    monkeypatch.setattr(RealWholeMachine, "run", lambda *_, **__: known)
    recorder = Recorder(RealWholeMachine())
    assert recorder.run("id") == known
    for name in ("no_proxy", "http_proxy", "KUBERNETES_SERVICE_HOST"):
        recorder.variable(name)
    assert recorder.paths("/dev/*") == (entry,)
    assert recorder.port_holders(8000) == holders
    assert recorder.read("/proc/1/cgroup") == group
    recorder.save(tmp_path / "saved.json")
    text = (tmp_path / "saved.json").read_text()
    assert not [word for word in ("corp", "10.1.2.3", "wangxiaoming", "1234", "0f0f") if word in text]
    replayed = RecordedMachine(load(tmp_path / "saved.json"))
    assert replayed.variable("no_proxy") == "localhost, 127.0.0.1,removed,removed"
    assert (replayed.variable("http_proxy"), replayed.variable("KUBERNETES_SERVICE_HOST")) == ("removed", "removed")
    assert replayed.run("id").stdout == "uid=1000(removed) gid=7(removed) groups=7(removed),1000(HwHiAiUser)"
    assert "kubepods" in replayed.read("/proc/1/cgroup")
    assert [holder.address for holder in replayed.port_holders(8000)] == ["removed", "0.0.0.0"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not a recorded machine"),
        ("[]", "not a recorded machine"),
        ('{"commands": {"npu-smi info": {"status": "0"}}}', "Expected `int | null`"),
        ('{"files": {"/x": "text"}}', "files"),
        ('{"schema": 2}', "schema 2"),
        ('{"schema": 1', "not a recorded machine"),
        ('{"spaces": {".": {"total_bytes": 1e400, "free_bytes": 1}}}', "not a recorded machine"),
        ('{"spaces": {".": {"total_bytes": 99999999999999999999999, "free_bytes": 1}}}', "not a recorded machine"),
        ('{"paths": {"/dev/x": [null]}}', "not a recorded machine"),
        ('{"variables": {"HOME": "\\ud800"}}', "not a recorded machine"),
        ("\x00\x7fELF", "not a recorded machine"),
        ("[" * 100_000, "not a recorded machine"),
    ],
)
def test_what_is_no_recording_is_refused_in_words(tmp_path, text, words):
    (tmp_path / "machine.json").write_text(text)
    with pytest.raises(UsageError, match=words.replace("|", r"\|")):
        load(tmp_path / "machine.json")


def test_a_recording_too_long_or_absent(tmp_path):
    (tmp_path / "long.json").write_bytes(b" " * (16 * 2**20 + 1))
    for name in ("long.json", "absent.json", "."):
        with pytest.raises(UsageError):
            load(tmp_path / name)


def test_the_machines_of_these_tests_name_nobody():
    for path in MACHINES.glob("*.json"):
        text = path.read_text("utf-8")
        assert "/home/" not in text
        assert redactor()(text) == text


JUNK = st.one_of(
    st.text(max_size=30), st.sampled_from(["-1", "9" * 40, "0", "{}", "@npu-adapter {", "| 0 | OK | / |"])
)


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=60)
@given(st.sampled_from(NAMES), st.data())
def test_no_recording_breaks_a_check(name, data):
    machine = plain(name)
    for _ in range(data.draw(st.integers(1, 4))):
        _damage(machine, data)
    try:
        found = report(machine)
    except Exception as error:
        raise AssertionError(json.dumps(machine)[:3000]) from error
    assert not [result for result in found.results if result.outcome is Outcome.ERROR]


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=60, deadline=None)
@given(st.data())
def test_no_answer_of_the_deeper_levels_breaks_a_check(data):
    machine = complete()
    for _ in range(data.draw(st.integers(1, 4))):
        _damage(machine, data)
    found = report(machine, depth=Depth.SOAK, earlier=Snapshot())
    assert not [result for result in found.results if result.outcome is Outcome.ERROR]
    page.render(found)


def _damage(machine, data):
    """Change, empty or drop one answer; the file stays a recording."""
    part = data.draw(st.sampled_from(["commands", "children", "files", "variables", "paths", "spaces"]))
    answers = machine[part]
    if not answers:
        return
    key = data.draw(st.sampled_from(sorted(answers)))
    value = answers[key]
    if part in {"commands", "children"} and data.draw(st.booleans()):
        lines = value["stdout"] or [""]
        at = data.draw(st.integers(0, len(lines) - 1))
        cut = data.draw(st.integers(0, len(lines[at])))
        value["stdout"] = [*lines[:at], lines[at][:cut] + data.draw(JUNK), *lines[at + 1 :]]
        value["status"] = data.draw(st.sampled_from([0, 1, -9, None]))
    elif part == "files":
        answers[key] = data.draw(st.one_of(st.none(), st.lists(JUNK, max_size=3)))
    elif part == "variables":
        answers[key] = data.draw(JUNK)
    else:
        del answers[key]
