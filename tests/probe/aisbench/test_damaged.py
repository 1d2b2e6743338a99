"""Reports whose files are torn, missing or nonsense: read as far as they go."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthcheck.probe.aisbench.archive import ReportFiles
from healthcheck.probe.aisbench.reading import read_task
from healthcheck.probe.aisbench.remarks import remarks
from healthcheck.probe.aisbench.task import tasks_of
from tests.probe.aisbench.made_reports import HALF, reading_of, said


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


def test_old_reports_with_one_json_document_are_read() -> None:
    name = "predictions/vllm-api-stream-chat/gsm8k.jsonl"
    records = [json.loads(line) for line in HALF[name].splitlines()]
    for document in (records, {str(i): record for i, record in enumerate(records)}):
        files = {n: d for n, d in HALF.items() if n != name}
        files[name.removesuffix("l")] = json.dumps(document, indent=1).encode()
        assert len(reading_of(files).samples) == 40


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
                ["id", "correct", "details", "prediction", "gold", "answer", "uuid", "avg@5", "success"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)


@given(
    st.dictionaries(
        st.sampled_from(sorted(n for n in HALF if "json" in n)), st.lists(json_values, max_size=4), min_size=1
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
    reading = reading_of({"summary/summary_1.csv": b"dataset,version,metric,mode,m\n" + rows.encode()})
    assert "there are none" in said(reading)
