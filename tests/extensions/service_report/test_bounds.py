"""Reports made to take all of a machine: refused in a sentence, or read within the bounds of memory and time."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from healthcheck.errors import UsageError
from healthcheck.extensions.service_report import lines
from healthcheck.extensions.service_report.archive import MAX_LINES, open_reports
from healthcheck.extensions.service_report.reading import read_tasks
from healthcheck.extensions.service_report.task import MAX_TASKS, tasks_of
from tests.extensions.service_report.made_reports import HALF, reading_of, said
from tests.support.daily import these
from tests.support.limited import limited

PREDICTIONS = "predictions/m/gsm8k.jsonl"
WITH_GOLD = b'{"id": %d, "gold": "#### 18", "prediction": "%s"}\n'


def unpacking_to(path: Path, method: int, piece: bytes, times: int) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive, archive.open(PREDICTIONS, "w") as file:
        for _ in range(times):
            file.write(piece)
    return path


@pytest.mark.process
@pytest.mark.parametrize(
    ("method", "piece", "times", "told"),
    [
        (zipfile.ZIP_BZIP2, bytes(2**20), 100, "not packed with deflate"),
        pytest.param(
            zipfile.ZIP_BZIP2,
            b'{"id":1}\n' * 100_000,
            30,
            "not packed with deflate",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            zipfile.ZIP_LZMA, bytes(2**20), 200, "not packed with deflate", marks=pytest.mark.slow
        ),
        (zipfile.ZIP_DEFLATED, b'{"id":1}\n' * 100_000, 200, "holds more than"),
        (zipfile.ZIP_DEFLATED, b'{"id":1}\n' * 100_000, 7, f"holds more than {MAX_LINES} lines"),
        (zipfile.ZIP_DEFLATED, b"\n" * 2**20, 60, f"holds more than {MAX_LINES} lines"),
    ],
)
def test_a_small_zip_of_many_lines_is_refused(
    method: int, piece: bytes, times: int, told: str, tmp_path: Path
) -> None:
    path = unpacking_to(tmp_path / "report.zip", method, piece, times)
    done = limited("-m", "healthcheck", "read", str(path))
    assert (done.returncode, told in done.stderr) == (2, True), done.stderr[-500:]


FILES = {
    "records": (PREDICTIONS, b'{"id":1}\n' * (MAX_LINES - 1)),
    "a record of lists": (PREDICTIONS, b'{"id":1,"gold":[' + b"[]," * 1_300_000 + b"[]]}\n"),
    "records of lists": (PREDICTIONS, (b'{"id":1,"gold":[' + b"[]," * 99_000 + b"[]]}\n") * 200),
    "astral texts": (
        PREDICTIONS,
        WITH_GOLD % (1, "\U0001f389".encode() + b"</think>" + b"a" * 600_000) * 100,
    ),
    "astral errors": (
        PREDICTIONS,
        (b'{"id":1,"success":false,"error_info":"\xf0\x9f\x8e\x89' + b"a" * 500 + b'"}\n')
        * 100_000,
    ),
    "a line of objects": (PREDICTIONS, b"[" + b"{}," * 5_000_000 + b"{}]"),
    "details": ("results/m/gsm8k.json", b'{"details":[' + b'"a",' * 4_000_000 + b"1]}"),
    "a configuration": ("configs/a.py", b"a=[" + b"1," * 1_999_000 + b"]"),
    "data sets": (
        "summary/summary_1.csv",
        b"dataset,version,metric,mode,m\n" + b"d,v,a,g,1\n" * 100_000,
    ),
    "models": (
        "summary/summary_1.csv",
        b"dataset,version,metric,mode" + b",m" * 10**6 + b"\nd,v,a,g" + b",1" * 10**6,
    ),
}


@pytest.mark.process
@pytest.mark.parametrize("name", these(set(FILES) - {"astral texts", "records of lists"}, FILES))
def test_a_report_at_its_bounds_is_read_in_little_memory(name: str, tmp_path: Path) -> None:
    place, data = FILES[name]
    for below, content in ((place, data), ("predictions/n/gsm8k.jsonl", WITH_GOLD % (0, b"18"))):
        (tmp_path / below).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / below).write_bytes(content)
    done = limited("-m", "healthcheck", "read", str(tmp_path))
    assert done.returncode in {0, 2}, done.stderr[-500:]
    assert "n on gsm8k" in done.stdout


def report(tmp_path: Path, results: dict[str, float], text: bytes = b"18") -> Path:
    for place, data in (
        (PREDICTIONS, WITH_GOLD % (99_999, text)),
        ("results/m/gsm8k.json", json.dumps(results).encode()),
    ):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_bytes(data)
    return tmp_path


def test_one_prediction_does_not_make_a_million_samples(tmp_path: Path) -> None:
    (found,) = open_reports(report(tmp_path, {"avg@128": 0.0}))
    with pytest.raises(UsageError, match="make 12800000 samples"):
        read_tasks(tasks_of(found))


@pytest.mark.process
def test_figures_that_nothing_explains_are_not_tried_for_ever(tmp_path: Path) -> None:
    place = report(tmp_path, {"avg@3": 0.0, "pass@3": 50.02, "cons@3": 0.0})
    done = limited("-m", "healthcheck", "read", str(place), cpu_s=90)
    assert done.returncode == 0, done.stderr[-500:]
    assert "evaluate again" in done.stdout


def test_a_line_beyond_the_bound_is_damaged_and_the_others_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 1000)
    name = "predictions/vllm-api-stream-chat/gsm8k.jsonl"
    reading = reading_of(
        {**HALF, name: HALF[name] + WITH_GOLD % (3, b"x" * 1000) + WITH_GOLD % (3, b"x" * 900)}
    )
    assert (len(reading.task.answered), reading.task.damaged_lines) == (41, 1)
    assert "1 lines of predictions are damaged" in said(reading)
    assert f"in {name}" in said(reading)


def test_more_tasks_than_any_report_has_are_refused() -> None:
    rows = "".join(f"d{number},v,accuracy,gen,1\n" for number in range(MAX_TASKS + 1))
    with pytest.raises(UsageError, match=f"{MAX_TASKS + 2} data sets and models"):
        reading_of(
            {**HALF, "summary/summary_9.csv": f"dataset,version,metric,mode,m\n{rows}".encode()}
        )
