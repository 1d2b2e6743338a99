"""Reports whose files are torn, missing or nonsense: read as far as they go."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthcheck.cli import main
from healthcheck.extensions.service_report.archive import ReportFiles
from healthcheck.extensions.service_report.reading import read_task
from healthcheck.extensions.service_report.remarks import remarks
from healthcheck.extensions.service_report.task import tasks_of
from tests.extensions.service_report.made_reports import HALF, RIGHT, made, reading_of, said, zipped

PREDICTIONS = "predictions/vllm-api-stream-chat/gsm8k.jsonl"
LINES = [json.loads(line) for line in HALF[PREDICTIONS].splitlines()]
CONFIG = {
    "configs/20260326_151326_7.py": b"datasets=[dict(abbr='gsm8k', eval_cfg=dict(evaluator=dict(type='x.Gsm8kEvaluator')))]\n"
}


def put(*lines: dict[str, object]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def test_lines_that_are_torn_doubled_or_nonsense_are_passed_over() -> None:
    name = "predictions/vllm-api-stream-chat/gsm8k.jsonl"
    torn = (
        HALF[name]
        + HALF[name].splitlines(keepends=True)[0]
        + b'{"id": "x"}\n[]\n{"id": 10000000000}\n\xff\n'
        + b'{"data_abbr": "gs'
    )
    reading = reading_of({**HALF, name: torn})
    assert (len(reading.samples), reading.task.damaged_lines) == (40, 5)
    assert "5 lines of predictions are damaged" in said(reading)


def test_lines_that_are_there_twice_or_too_often_are_told() -> None:
    assert "40 lines of predictions are there twice" in said(
        reading_of({**HALF, PREDICTIONS: HALF[PREDICTIONS] * 2})
    )
    more = b"".join(json.dumps(line | {"uuid": None}).encode() + b"\n" for line in LINES * 2)
    assert "40 predictions are more than 5 of a problem" in said(
        reading_of({**HALF, PREDICTIONS: more})
    )


def test_what_is_missing_from_a_damaged_file_is_not_laid_at_the_servers_door() -> None:
    torn = HALF[PREDICTIONS].replace(b'"id": 0,', b'"id": "",', 2)
    reading = reading_of({**HALF, PREDICTIONS: torn})
    assert reading.unanswered == 2
    assert "2 lines of the file cannot be read" in said(reading)
    assert "AISBench counted them" not in said(reading)
    lost = b"".join(HALF[PREDICTIONS].splitlines(keepends=True)[1:])
    assert "made with other predictions" in said(reading_of({**HALF, PREDICTIONS: lost}))


def test_predictions_without_their_right_answers_give_no_figures() -> None:
    bare = put(*({name: value for name, value in line.items() if name != "gold"} for line in LINES))
    for files in (HALF, {**HALF, **CONFIG}):
        reading = reading_of({**files, PREDICTIONS: bare})
        assert (reading.truth, reading.regraded, reading.emulated) == (None, None, None)
        assert "no prediction has one (gold)" in said(reading)


def test_a_right_answer_is_known_from_the_other_samples_of_its_problem() -> None:
    some = put(*(line if place % 5 else line | {"gold": None} for place, line in enumerate(LINES)))
    reading = reading_of({**HALF, PREDICTIONS: some})
    assert (reading.emulated, said(reading)) == (reading_of(HALF).emulated, said(reading_of(HALF)))
    none = put(*(line if line["id"] else line | {"gold": ""} for line in LINES))
    assert "5 predictions have none (gold), and count as wrong" in said(
        reading_of({**HALF, PREDICTIONS: none})
    )


@pytest.mark.parametrize("text", [b'{"avg@5": NaN}', b'{"avg@5": 50.0', b"[]"])
def test_a_results_file_that_cannot_be_read_is_told(text: bytes) -> None:
    assert "no whole JSON object" in said(
        reading_of({**HALF, "results/vllm-api-stream-chat/gsm8k.json": text})
    )


def test_predictions_that_were_lost_after_the_figures_were_made_are_no_fault_of_the_server() -> (
    None
):
    assert "figures were made from some" in said(reading_of({**HALF, PREDICTIONS: b""}))


@pytest.mark.parametrize(
    "change", [lambda d: b"\xef\xbb\xbf" + d, lambda d: d.replace(b"\n", b"\r\n")]
)
def test_what_an_editor_does_to_files_does_not_matter(
    tmp_path: Path, change: Callable[[bytes], bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    printed = []
    for name, files in (
        ("a.zip", HALF),
        ("b.zip", {name: change(data) for name, data in HALF.items()}),
    ):
        assert main(["read", str(zipped(tmp_path / name, files))]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]


def test_a_column_says_printed_only_where_something_was_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bare = {name: data for name, data in HALF.items() if name == PREDICTIONS}
    for name, files, title in (
        ("a.zip", HALF, "AISBench printed"),
        ("b.zip", bare, "AISBench would print"),
    ):
        assert main(["read", str(zipped(tmp_path / name, files))]) == 0
        assert capsys.readouterr().out.splitlines()[3].strip().startswith(title)


def test_averages_of_the_answered_requests_stand_in_the_row_of_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = zipped(
        tmp_path / "r.zip", made([[RIGHT] * 5] * 19 + [[RIGHT, None, None, RIGHT, RIGHT]])
    )
    assert main(["read", str(report)]) == 0
    rows = {line.split("  ")[0]: line for line in capsys.readouterr().out.splitlines()}
    assert rows["avg@5"].count("[") == rows["accuracy (5 runs average)"].count("[") == 3
    assert "avg@3" not in rows
    assert rows["pass@3"].count("[") == 1


@pytest.mark.parametrize("folder", ["predictions", "results", "summary"])
def test_a_missing_folder_is_said_and_the_rest_read(folder: str) -> None:
    reading = reading_of({name: data for name, data in HALF.items() if not name.startswith(folder)})
    assert f"missing or empty: {folder}" in said(reading)
    assert bool(reading.grid) == (folder != "predictions")


@given(st.dictionaries(st.sampled_from(sorted(HALF)), st.binary(max_size=200), min_size=1))
def test_no_content_breaks_the_reader(files: dict[str, bytes]) -> None:
    for task in tasks_of(ReportFiles(root="", files={**HALF, **files})):
        remarks(read_task(task))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 7) | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "id",
                    "correct",
                    "details",
                    "prediction",
                    "gold",
                    "answer",
                    "uuid",
                    "avg@5",
                    "success",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)


@given(
    st.dictionaries(
        st.sampled_from(sorted(n for n in HALF if "json" in n)),
        st.lists(json_values, max_size=4),
        min_size=1,
    )
)
def test_no_json_breaks_the_reader(files: dict[str, list[object]]) -> None:
    written = {name: "\n".join(map(json.dumps, values)).encode() for name, values in files.items()}
    for task in tasks_of(ReportFiles(root="", files={**HALF, **written})):
        remarks(read_task(task))


def test_absurd_numbers_of_samples_are_not_believed() -> None:
    name = "results/vllm-api-stream-chat/gsm8k.json"
    summaries = {n: d for n, d in HALF.items() if not n.startswith("summary")}
    for absurd in (b'{"avg@0": 50.0}', b'{"avg@9999": 50.0}'):
        assert reading_of({**summaries, name: absurd}).repeats == 5


@pytest.mark.parametrize("value", ["abc", "nan", "inf", "-", "1e400", "", "12.345"])
def test_what_is_no_printed_figure_is_ignored(value: str) -> None:
    rows = f"dataset,version,metric,mode,vllm-api-stream-chat\ngsm8k,50861a,avg@5,gen,{value}\n"
    files = {n: d for n, d in HALF.items() if not n.startswith(("results", "summary"))}
    assert reading_of({**files, "summary/summary_1.csv": rows.encode()}).problems_implied == 0


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e400", "120.00", "-5.00"])
def test_a_summary_alone_may_hold_anything(value: str) -> None:
    rows = "".join(f"d,v,{name}@5,gen,{value}\n" for name in ("avg", "pass", "cons"))
    reading = reading_of(
        {"summary/summary_1.csv": b"dataset,version,metric,mode,m\n" + rows.encode()}
    )
    assert "there are none" in said(reading)
