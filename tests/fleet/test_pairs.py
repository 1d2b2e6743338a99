"""Machines tried with each other: real programs on stubs of torch, and what their results say of each machine."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

import healthcheck
from healthcheck.errors import ExitStatus
from healthcheck.fleet.looks import Looked, tables
from healthcheck.fleet.pair_records import HCCL, Outcome, Pair, Tried
from healthcheck.fleet.pairs import LIMIT_S, Meeting, chosen, judged, rounds, tried
from healthcheck.fleet.tones import Tone
from healthcheck.language import Language, translation
from healthcheck.messages import msg
from healthcheck.runner.machine import Child, Output
from healthcheck.runner.records import Software
from tests.runner import torch_stubs
from tests.support.rows import rows

PROGRAM = str(Path(healthcheck.__file__).parent / "runner" / "children" / f"{Child.NODES.value}.py")
HAS = {"torch": "2.9.0", "torch_npu": "2.9.0"}


class RoomOfStubs:
    """The real programs on this machine, with a torch of stubs that behaves as is told for each machine."""

    def __init__(self, folder: Path, told: Mapping[str, Mapping[str, object]]) -> None:
        self._site = torch_stubs.write(folder / "site")
        self._told = {name: json.dumps({"meeting": str(folder), **how}) for name, how in told.items()}
        self.packages = {name: Software(packages=HAS) for name in told}

    def meet(self, meetings: Sequence[Meeting]) -> Mapping[Meeting, tuple[Output, Output]]:
        return {meeting: self._held(meeting) for meeting in meetings}

    def close(self) -> None:
        pass

    def _held(self, meeting: Meeting) -> tuple[Output, Output]:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        sides = [self._start(name, meeting, rank, port) for rank, name in enumerate((meeting.left, meeting.right))]
        while None in [side.poll() for side in sides]:
            if any(side.returncode for side in sides):
                for side in sides:
                    side.kill()
            time.sleep(0.01)
        left, right = (self._output(side) for side in sides)
        return left, right

    def _start(self, name: str, meeting: Meeting, rank: int, port: int) -> subprocess.Popen[str]:
        words = (meeting.over, str(rank), "127.0.0.1", str(port), "127.0.0.1", str(LIMIT_S))
        return subprocess.Popen(
            [sys.executable, PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": str(self._site), "TORCH_STUBS": self._told[name]},
        )  # fmt: skip

    @staticmethod
    def _output(side: subprocess.Popen[str]) -> Output:
        stdout, stderr = side.communicate()
        killed = side.returncode == -9
        return Output(
            status=None if killed else side.returncode,
            stdout=stdout,
            stderr=stderr,
            trouble="ended, as the other side had failed" if killed else "",
        )


def found(room: RoomOfStubs, *, npus: int = 8) -> Tried:
    return tried(room, dict.fromkeys(room.packages, npus), lambda pair: None)


@pytest.mark.process
def test_machines_that_work_with_each_other(tmp_path: Path) -> None:
    heard: list[Pair] = []
    room = RoomOfStubs(tmp_path, {"a": {}, "b": {}, "c": {}})
    done = tried(room, {"a": 8, "b": 8, "c": 2}, heard.append)
    assert {(pair.left, pair.right, pair.over, pair.outcome) for pair in done.pairs} == {
        ("a", "b", HCCL, Outcome.WORKS), ("a", "c", HCCL, Outcome.WORKS), ("b", "c", HCCL, Outcome.WORKS),
    }  # fmt: skip
    assert all(pair.bytes_per_s for pair in done.pairs)
    assert sorted(heard, key=str) == sorted(done.pairs, key=str)
    assert done.exit_status is ExitStatus.READY


@pytest.mark.process
def test_a_machine_that_reaches_no_other_is_named(tmp_path: Path) -> None:
    done = found(RoomOfStubs(tmp_path, {"a": {}, "bad": {"lost_rank": "any"}, "c": {}}))
    assert {(pair.left, pair.right) for pair in done.pairs if pair.outcome is Outcome.WORKS} == {("a", "c")}
    assert set(done.at_fault) == {"bad"}
    (remark,) = done.remarks
    assert remark.tone is Tone.FAIL
    assert remark.said == ("bad: hccl fails with each of a, c: bad: RuntimeError: EI0006: getting socket times out")
    assert done.exit_status is ExitStatus.NOT_READY


@pytest.mark.process
def test_a_machine_that_adds_wrong_is_named(tmp_path: Path) -> None:
    done = found(RoomOfStubs(tmp_path, {"a": {}, "b": {}, "bad": {"wrong_rank": "any"}}))
    assert set(done.at_fault) == {"bad"}
    assert "bad: 8 of 16777216 values of the sum are wrong" in done.remarks[0].said


@pytest.mark.process
def test_a_machine_without_torch_npu_or_without_a_free_npu_is_not_tried(tmp_path: Path) -> None:
    room = RoomOfStubs(tmp_path, {"a": {}, "b": {}, "bare": {}, "busy": {}})
    room.packages["bare"] = Software(packages={"torch": "2.9.0"})
    room.packages["busy"] = Software(packages={}, trouble="no answer within 180 s")
    done = found(room)
    assert [(pair.left, pair.right) for pair in done.pairs] == [("a", "b")]
    assert [(remark.tone, remark.said) for remark in done.remarks] == [
        (Tone.OPEN, "bare was not tried with others: its Python has no torch_npu"),
        (Tone.OPEN, "busy was not tried with others: no answer within 180 s"),
    ]
    assert done.exit_status is ExitStatus.INCONCLUSIVE


def test_a_cpu_node_without_torch_is_nobodys_concern(tmp_path: Path) -> None:
    room = RoomOfStubs(tmp_path, {"a": {}, "b": {}})
    room.packages.update({name: Software(packages={}) for name in "ab"})
    done = found(room, npus=0)
    assert (done.pairs, done.exit_status) == ((), ExitStatus.READY)
    assert {remark.tone for remark in done.remarks} == {Tone.SKIP}


BEGUN = '@npu-adapter {"step": "begin", "rank": 0}\n'


@pytest.mark.parametrize(
    ("left", "outcome", "said"),
    [
        (Output(status=-14, stdout=BEGUN), Outcome.FAILS, "a: no end within 300 s"),
        (Output(status=-14), Outcome.OPEN, "a: no end within 300 s; it was still importing"),
        (Output(status=-11, stdout=BEGUN, stderr="Segfault\n"), Outcome.FAILS, "a: ended with status -11: Segfault"),
        (Output(status=None, trouble="its worker is gone"), Outcome.OPEN, "a: its worker is gone"),
        (Output(status=0), Outcome.OPEN, "a: it ended without a result"),
        (Output(status=0, stdout='@npu-adapter {"step": "reduced", "wrong": 0, "bytes": -1, "seconds": ["x"]}'),
         Outcome.OPEN, "a: it ended without a result"),
    ],
)  # fmt: skip
def test_what_ends_without_a_result(left: Output, outcome: Outcome, said: str) -> None:
    right = Output(status=0, stdout='@npu-adapter {"step": "reduced", "wrong": 0, "bytes": 8, "seconds": [1.0]}')
    pair = judged(Meeting(left="a", right="b", over=HCCL), (left, right))
    assert (pair.outcome, pair.said, pair.bytes_per_s) == (outcome, said, None)


def pairs(**outcomes: str) -> Tried:
    """`ab="works"`: the machines a and b."""
    each = (Pair(left=k[0], right=k[1], over=HCCL, outcome=Outcome(v), said="so") for k, v in outcomes.items())
    return Tried(pairs=tuple(each))


@pytest.mark.parametrize(
    ("done", "at_fault", "remark"),
    [
        (pairs(ab="fails"), set(), "hccl works between no two of a, b"),
        (pairs(ab="fails", ac="fails", bc="fails"), set(), "hccl works between no two of a, b, c"),
        (pairs(ab="works", ac="works", bc="fails"), set(), "b and c: so; look at the link"),
        (pairs(ab="works", ac="fails", bc="open"), set(), "a and c: so; look at the link"),
        (pairs(ab="works", ac="fails", bc="fails"), {"c"}, "c: hccl fails with each of a, b"),
        (pairs(ab="works", ac="fails", bc="fails", ad="fails", bd="fails", cd="fails"), {"c", "d"}, "c: hccl"),
    ],
)
def test_a_bad_machine_is_told_from_a_bad_link_and_a_bad_network(
    done: Tried, at_fault: set[str], remark: str
) -> None:
    assert set(done.at_fault) == at_fault
    assert done.remarks[0].said.startswith(remark)
    assert done.exit_status is ExitStatus.NOT_READY


def test_a_slow_pair_is_remarked_and_stops_nobody() -> None:
    speeds = {"ab": 10e9, "ac": 11e9, "bc": 4e9}
    each = (Pair(left=k[0], right=k[1], over=HCCL, outcome=Outcome.WORKS, bytes_per_s=v) for k, v in speeds.items())
    done = Tried(pairs=tuple(each))
    (remark,) = done.remarks
    assert remark.tone is Tone.WARN
    assert remark.said == "b and c: 4 GB/s, below half of the median, 10 GB/s"
    assert (done.exit_status, done.at_fault) == (ExitStatus.READY, {})


@rows("count", [0, 1, 2, 3, 4, 5, 6, 7, 30])
def test_who_meets_whom(count: int) -> None:
    names = [f"node-{number}" for number in range(count)]
    found = [Meeting(left=left, right=right, over=HCCL) for left, right in chosen(names)]
    partners = Counter(name for meeting in found for name in {meeting.left, meeting.right})
    assert all(partners[name] == min(4, count - 1) for name in names)
    assert len({frozenset((meeting.left, meeting.right)) for meeting in found}) == len(found)
    in_rounds = rounds(found)
    assert sorted(map(str, (meeting for each in in_rounds for meeting in each))) == sorted(map(str, found))
    for each in in_rounds:
        busy = [name for meeting in each for name in (meeting.left, meeting.right)]
        assert len(busy) == len(set(busy))
    assert len(in_rounds) <= 7


def test_tables_and_remarks_are_in_chinese() -> None:
    speeds = {"ab": 10e9, "ac": 11e9, "bc": 4e9}
    works = [
        Pair(left=k[0], right=k[1], over=HCCL, outcome=Outcome.WORKS, bytes_per_s=v) for k, v in speeds.items()
    ]
    fails = [
        Pair(
            left=k[0],
            right=k[1],
            over=HCCL,
            outcome=Outcome.FAILS,
            said=msg("{name}: no end within {limit_s} s", "b", 300),
        )
        for k in ("ad", "bd", "ae")
    ]
    opened = [Pair(left="c", right="e", over=HCCL, outcome=Outcome.OPEN, said=msg("it ended without a result"))]
    gloo = [
        Pair(
            left="f",
            right="g",
            over="gloo",
            outcome=Outcome.FAILS,
            said=msg("{name}: {wrong} of {of} values of the sum are wrong", "f", 3, 16),
        )
    ]
    skipped = {"h": msg("its Python has no {needs}", "torch_npu")}
    done = Tried(pairs=(*works, *fails, *opened, *gloo), skipped=skipped, unready=frozenset("h"))
    lines = tables(Looked(looks=(), tried=done), translation(Language.CHINESE))
    english = {
        "NPU",
        "MiB",
        "all",
        "reduce",
        "GB",
        "hccl",
        "gloo",
        "HCCL_IF_IP",
        "HCCL_SOCKET_IFNAME",
        "Python",
        "torch_npu",
    }
    assert {word for line in lines for word in re.findall(r"[A-Za-z_]{2,}", line)} <= english
    assert len(done.remarks) == 6
