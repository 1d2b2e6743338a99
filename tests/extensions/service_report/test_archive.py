"""Reports as they are downloaded: zip or folder, damaged, hostile, or no report at all."""

from __future__ import annotations

import json
import os
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from healthcheck.cli import main
from healthcheck.errors import UsageError
from healthcheck.extensions.service_report import archive
from healthcheck.extensions.service_report.archive import open_reports
from tests.extensions.service_report.made_reports import HALF, zipped


def test_a_zip_and_a_folder_say_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, data in HALF.items():
        (tmp_path / "folder" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "folder" / name).write_bytes(data)
    zipped(tmp_path / "a.zip", HALF)
    outputs = []
    for report in ("folder", "a.zip"):
        assert main(["read", str(tmp_path / report), "--json", str(tmp_path / "r.json")]) == 0
        outputs.append((capsys.readouterr().out, (tmp_path / "r.json").read_text()))
    assert outputs[0] == outputs[1]
    stored = json.loads(outputs[0][1])["tasks"][0]
    true = {
        entry["name"]: entry
        for entry in stored["true"]
        if entry["question"] == "problems like these"
    }
    assert stored["printed"]["pass@5"] == stored["recomputed_as_aisbench"]["pass@5"] == "100.00"
    assert true["pass@5"]["value"] == true["cons@5"]["value"] == 0.5
    assert true["pass@5"]["low"] < 0.5 < true["pass@5"]["high"]
    assert "pass@5 100.00 instead of 50.00" in " ".join(outputs[0][0].split())


def test_a_report_of_the_platform_has_its_job_as_the_top_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = zipped(tmp_path / "report.zip", HALF, root="ee9480acbbac4d4aa190a124d5ddf39c/")
    assert main(["read", str(path)]) == 0
    assert capsys.readouterr().out.startswith(
        "ee9480acbbac4d4aa190a124d5ddf39c/vllm-api-stream-chat on gsm8k"
    )


def test_nothing_is_written_where_the_report_lies(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", HALF)
    before = sorted(tmp_path.rglob("*"))
    assert main(["read", str(path)]) == 0
    assert sorted(tmp_path.rglob("*")) == before


Sabotage = Callable[[zipfile.ZipFile], None]


def _link(file: zipfile.ZipFile) -> None:
    entry = zipfile.ZipInfo("predictions/m/leak.jsonl")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    file.writestr(entry, "/etc/passwd")


@pytest.mark.parametrize(
    ("sabotage", "reason"),
    [
        (lambda file: file.writestr("../predictions/m/d.jsonl", "x"), "climbs out"),
        (lambda file: file.writestr("a/../../predictions/m/d.jsonl", "x"), "climbs out"),
        (lambda file: file.writestr("/predictions/m/d.jsonl", "x"), "absolute"),
        (lambda file: file.writestr("C:/predictions/m/d.jsonl", "x"), "absolute"),
        (_link, "a link"),
    ],
)
def test_hostile_names_are_passed_over(tmp_path: Path, sabotage: Sabotage, reason: str) -> None:
    path = zipped(tmp_path / "a.zip", HALF)
    with zipfile.ZipFile(path, "a") as file:
        sabotage(file)
    (report,) = open_reports(path)
    assert reason in report.passed_over[0]
    assert {name for name in report.files if name.startswith("predictions")} == {
        "predictions/vllm-api-stream-chat/gsm8k.jsonl"
    }


def test_a_bomb_is_refused_by_what_it_unpacks_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MAX_TOTAL_BYTES", 10_000_000)
    path = zipped(tmp_path / "a.zip", {"predictions/m/d.jsonl": b"0" * 10_000_001})
    assert path.stat().st_size < 20_000
    with pytest.raises(UsageError, match="holds more than"):
        open_reports(path)


def test_links_in_a_folder_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "r/predictions/m").mkdir(parents=True)
    (tmp_path / "secret.jsonl").write_text("{}")
    (tmp_path / "r/predictions/m/d.jsonl").symlink_to(tmp_path / "secret.jsonl")
    (tmp_path / "r/results").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "r/predictions/m/pipe.jsonl")
    with pytest.raises(UsageError, match=r"passed over.*a link"):
        open_reports(tmp_path / "r")


@pytest.mark.parametrize("cut", [0, 1, 100, -1, -22, -300])
def test_a_truncated_download_is_a_usage_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], cut: int
) -> None:
    data = zipped(tmp_path / "a.zip", HALF).read_bytes()
    (tmp_path / "b.zip").write_bytes(data[:cut])
    assert main(["read", str(tmp_path / "b.zip")]) == 2
    assert "download it again" in capsys.readouterr().err


def test_a_damaged_entry_costs_only_itself(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", HALF)
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as file:
        start = file.getinfo("predictions/vllm-api-stream-chat/gsm8k.jsonl").header_offset
    data[start + 120 : start + 140] = bytes(20)
    path.write_bytes(bytes(data))
    (report,) = open_reports(path)
    assert "damaged" in report.passed_over[0]
    assert any(name.startswith("summary") for name in report.files)


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("nothing", None, "nothing of that name"),
        ("notes.txt", b"hello", "is not a zip file; expected is the zip file"),
        ("text.zip", b"hello", "is not a zip file; expected is the zip file"),
        ("none.zip", b"", "is an empty file: download it again"),
        ("empty.zip", b"PK\x05\x06" + bytes(18), "none of a report's folders"),
    ],
)
def test_what_is_no_report_is_named_with_what_was_expected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, data: bytes | None, said: str
) -> None:
    if data is not None:
        (tmp_path / name).write_bytes(data)
    assert main(["read", str(tmp_path / name)]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert str(tmp_path / name) in error


@pytest.mark.parametrize("inside", [(), ("readme.md",), ("configs/a.py",)])
def test_a_folder_without_a_report_is_named_with_what_was_expected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], inside: tuple[str, ...]
) -> None:
    for name in inside:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    assert main(["read", str(tmp_path)]) == 2
    assert "with predictions/ in it" in capsys.readouterr().err
