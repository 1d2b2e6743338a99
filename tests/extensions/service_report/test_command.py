"""`npu-adapter read` as a command: its exit statuses, its outputs, hostile files."""

from __future__ import annotations

import contextlib
import json
import re
import tempfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given

from healthcheck.errors import UsageError
from healthcheck.extensions.service_report.archive import open_reports
from healthcheck.report import machine
from tests.extensions.service_report.made_reports import HALF, zipped
from tests.security.test_fuzz import MANY, ZIPS, damaged
from tests.security.test_hostile_input import claims
from tests.support import reports
from tests.support.commands import ran, started
from tests.support.limited import limited


@pytest.fixture
def right(tmp_path: Path) -> str:
    return str(zipped(tmp_path / "whole.zip", HALF))


@pytest.mark.process
def test_the_help_names_every_status_and_no_other(log: Path, right: str, tmp_path: Path) -> None:
    own, dashes = (
        tmp_path / "report.json",
        tmp_path / "report" / "summary" / "summary_20260101_000000.csv",
    )
    own.write_bytes(machine.render(reports.report()))
    dashes.parent.mkdir(parents=True)
    dashes.write_text("dataset,version,metric,mode,vllm-api-stream-chat\narithmetic,-,-,-,-\n")
    tried = {
        0: (right,), 1: (str(own),), 2: (str(log),), 3: (str(dashes.parents[1]),), 4: (right, "--json", "/dev/full"),
    }  # fmt: skip
    assert {status: ran("read", *words).returncode for status, words in tried.items()} == {
        each: each for each in tried
    }
    table = ran("read", "--help").stdout.partition("exit status:\n")[2]
    assert set(map(int, re.findall(r"^  (\d)  \S", table, re.MULTILINE))) == {*tried}


@pytest.mark.smoke
@pytest.mark.process
def test_as_a_process_it_reads_a_report(right: str) -> None:
    done = started("read", right)
    assert (done.returncode, done.stderr) == (0, "")
    assert "AISBench printed" in done.stdout


@pytest.mark.process
def test_json_is_the_same_everywhere(right: str, tmp_path: Path) -> None:
    assert (
        "there is no folder nope; make it first"
        in ran("read", right, "--json", "nope/x.json", cwd=tmp_path).stderr
    )
    assert ran("read", right, "--json", "x.json", cwd=tmp_path).returncode == 0
    assert json.loads(ran("read", right, "--json", "-").stdout) == json.loads(
        (tmp_path / "x.json").read_text()
    )


def test_a_path_that_is_none_is_named() -> None:
    long = "x" * 300
    assert f"argument REPORT: {long}: File name too long" in ran("read", long).stderr
    assert "the path is empty; is a variable unset?" in ran("read", "").stderr


@pytest.mark.process
def test_a_zip_of_a_later_version_is_refused_in_words(tmp_path: Path) -> None:
    place = tmp_path / "report.zip"
    with zipfile.ZipFile(place, "w") as archive:
        archive.writestr("predictions/a.json", "{}")
    data = bytearray(place.read_bytes())
    for head, at in ((b"PK\x03\x04", 4), (b"PK\x01\x02", 6)):
        begin = data.index(head) + at
        data[begin : begin + 2] = (99).to_bytes(2, "little")
    place.write_bytes(data)
    done = ran("read", str(place))
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.process
@pytest.mark.parametrize("long", [True, False])
def test_a_zip_is_not_believed_how_long_its_directory_is(long: bool, tmp_path: Path) -> None:
    done = limited("-m", "healthcheck", "read", str(claims(tmp_path / "report.zip", long=long)))
    assert done.returncode == 2, done.stderr


@MANY
@given(*ZIPS)
def test_zips(entries: list, changes: list, comment: bytes, cut: int, more: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.zip")
        report.write_bytes(damaged(entries, changes, comment, cut, more))
        with contextlib.suppress(UsageError):
            for found in open_reports(report):
                assert all(".." not in name for name in found.files)
