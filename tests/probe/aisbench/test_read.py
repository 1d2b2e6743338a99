"""Reports that others downloaded: whole, damaged, hostile; and what is said about them."""

from __future__ import annotations

import json
import os
import stat
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthcheck.cli import main
from healthcheck.errors import UsageError
from healthcheck.probe.aisbench import archive
from healthcheck.probe.aisbench.archive import ReportFiles, open_reports
from healthcheck.probe.aisbench.layout import ClientReport, Failure, Prediction, files_of
from healthcheck.probe.aisbench.metrics import client_groups, client_results
from healthcheck.probe.aisbench.reading import Reading, read_task
from healthcheck.probe.aisbench.remarks import remarks
from healthcheck.probe.aisbench.task import tasks_of
from tests.support.shared import shared

RIGHT, WRONG = "The answer is {}", "The answer is 99999"
GOLDEN_TRUTH = {
    "v3.1-20260319_bimodal_n5": (50.0, 50.0, 50.0),
    "v3.1.20260630_bimodal_n5": (50.0, 50.0, 50.0),
    "v3.1.20260630_fail_then_resumed_n5": (100.0, 100.0, 100.0),
    "v3.1.20260630_halfright_120x5": (50.0, 50.0, 50.0),
    "v3.1.20260630_truncated_stream_n5": (87.5, 87.5, 87.5),
}


def made(
    texts: Sequence[Sequence[str | None]], *, golds: Sequence[str] | None = None, **changes: object
) -> dict[str, bytes]:
    """The files of a report over such texts; None is a request that failed. `{}` in a text is the right answer."""
    golds = golds or [f"so it is\n#### {10 + i}" for i in range(len(texts))]
    answers = [gold.rpartition("#### ")[2] for gold in golds]
    predictions = tuple(
        Prediction(
            id=i,
            uuid=f"{i:016x}{j:016x}",
            origin_prompt=f"Question: {i}",
            gold=golds[i],
            prediction=text.format(answers[i]),
        )
        for i, row in enumerate(texts)
        for j, text in enumerate(row)
        if text is not None
    )
    failures = tuple(
        Failure(id=i, origin_prompt="", error="Internal Server Error")
        for i, row in enumerate(texts)
        for t in row
        if t is None
    )
    matrix = [[int(text == RIGHT) for text in row] for row in texts]
    report = ClientReport(
        stamp="20260326_151326",
        pid=7,
        dataset="gsm8k",
        version="50861a",
        predictions=predictions,
        failures=failures,
        results=client_results(matrix) if predictions else None,
        config={},
    )
    return files_of(replace(report, **changes))  # type: ignore[arg-type]


def reading_of(files: dict[str, bytes]) -> Reading:
    (task,) = tasks_of(ReportFiles(root="", files=files))
    return read_task(task)


def said(reading: Reading) -> str:
    return "\n".join(remark.seen for remark in remarks(reading))


def zipped(path: Path, files: dict[str, bytes], root: str = "") -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in files.items():
            file.writestr(f"{root}{name}", data)
    return path


HALF = made([[RIGHT] * 5, [WRONG] * 5] * 4)


def test_a_zip_and_a_folder_say_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
    true = {entry["name"]: entry for entry in stored["true"] if entry["question"] == "problems like these"}
    assert stored["printed"]["pass@5"] == stored["recomputed_as_aisbench"]["pass@5"] == "100.00"
    assert true["pass@5"]["value"] == true["cons@5"]["value"] == 0.5
    assert true["pass@5"]["low"] < 0.5 < true["pass@5"]["high"]
    assert "pass@5 100.00 instead of 50.00" in " ".join(outputs[0][0].split())


def test_a_report_of_the_platform_has_its_job_as_the_top_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = zipped(tmp_path / "report.zip", HALF, root="ee9480acbbac4d4aa190a124d5ddf39c/")
    assert main(["read", str(path)]) == 0
    assert capsys.readouterr().out.startswith("ee9480acbbac4d4aa190a124d5ddf39c/vllm-api-stream-chat on gsm8k")


def test_nothing_is_written_where_the_report_lies(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", HALF)
    before = sorted(tmp_path.rglob("*"))
    assert main(["read", str(path)]) == 0
    assert sorted(tmp_path.rglob("*")) == before


def test_hidden_failures_are_counted_named_and_taken_out() -> None:
    reading = reading_of(made([[RIGHT] * 5] * 7 + [[RIGHT, None, None, RIGHT, RIGHT]]))
    assert reading.unanswered == 2
    assert reading.truth is not None
    assert reading.answered is not None
    whole, answered = reading.truth.estimate("avg@5"), reading.answered.estimate("avg@3")
    assert whole is not None
    assert answered is not None
    assert (whole.value, answered.value) == (0.95, 1.0)
    assert "2 are missing, of problems 7" in said(reading)
    assert "2 × Internal Server Error" in said(reading)


def test_problems_without_any_prediction_are_found_from_the_printed_figures() -> None:
    files = made([[RIGHT] * 5] * 6 + [[None] * 5] * 2)
    files = {name: data for name, data in files.items() if not name.endswith("_failed.jsonl")}
    reading = reading_of(files)
    assert (len(reading.grid), reading.problems_implied, reading.unanswered) == (8, 2, 10)
    assert "2 more problem(s) at the end" in said(reading)


def test_figures_that_do_not_follow_from_the_predictions_are_called_out() -> None:
    files = made([[RIGHT] * 5, [WRONG] * 5] * 4)
    stale = made([[RIGHT] * 5, [RIGHT, WRONG, WRONG, WRONG, WRONG]] * 4)
    files["results/vllm-api-stream-chat/gsm8k.json"] = stale["results/vllm-api-stream-chat/gsm8k.json"]
    assert "but its predictions give" in said(reading_of(files))
    assert "differ between the newest summary and results" in said(reading_of(files))


def test_impossible_figures_are_called_out_even_without_predictions() -> None:
    files = {
        "summary/summary_1.md": b"| dataset | version | metric | mode | m |\n|----- | ----- | ----- | ----- | -----|\n"
        b"| d | 0ba9da | avg@5 | gen | 80.00 |\n| d | 0ba9da | pass@5 | gen | 90.00 |\n| d | 0ba9da | cons@5 | gen | 30.00 |\n"
    }
    reading = reading_of(files)
    assert reading.task.printed == {"avg@5": "80.00", "pass@5": "90.00", "cons@5": "30.00"}
    assert "printed avg@5 80.00" in said(reading)


def test_the_published_sample_needs_25_problems() -> None:
    rows = [("accuracy (5 runs average)", "5.60"), ("avg@5", "5.60"), ("pass@5", "24.00"), ("cons@5", "0.00")]
    lines = "".join(f"demo_gsm8k,0ba9da,{name},gen,{value}\n" for name, value in rows)
    reading = reading_of(
        {"summary/summary_20260326_151326.csv": b"dataset,version,metric,mode,m\n" + lines.encode()}
    )
    assert "at least 25 problems" in said(reading)
    assert "the stock 4-shot GSM8K chat prompt" in said(reading)


def test_a_summary_of_dashes_is_a_run_in_which_everything_failed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    files = {n: d for n, d in made([[None] * 5] * 3).items() if n.startswith("summary/")}
    assert "every request failed" in said(reading_of(files))
    assert main(["read", str(zipped(tmp_path / "a.zip", files))]) == 3


def test_cut_off_reasoning_is_seen_with_and_without_tags() -> None:
    cut = "<think>first 3, then {}"
    assert "1 of 10 answers are reasoning that was cut off" in said(
        reading_of(made([[RIGHT] * 5, [RIGHT] * 4 + [cut]]))
    )
    tagged, bare = "so</think>The answer is {}", "so it may be {} or"
    assert "probably 2 of 10" in said(reading_of(made([[tagged] * 5, [tagged] * 3 + [bare] * 2])))


def test_misread_thousands_are_given_back() -> None:
    golds = ["a\n#### 70,000", "b\n#### 5"]
    texts = [["The answer is $70,000."] * 5, ["The answer is 5"] * 5]
    reading = reading_of(made(texts, golds=golds, results=client_results([[0] * 5, [1] * 5])))
    assert reading.truth is not None
    assert reading.regraded is not None
    client, kit = reading.truth.estimate("avg@5"), reading.regraded.estimate("avg@5")
    assert client is not None
    assert kit is not None
    assert (client.value, kit.value) == (0.5, 1.0)
    assert "5 right answers were graded wrong" in said(reading)
    assert "it read 000" in said(reading)


@pytest.mark.parametrize(
    ("texts", "seen"),
    [
        ([["", "", RIGHT, RIGHT, RIGHT]] * 2, "4 of 10 predictions are empty"),
        ([["The answer is The answer is {}", *[RIGHT] * 4]] * 2, "2 predictions begin twice"),
        ([["!" * 200, *[RIGHT] * 4]] * 2, "one character again and again"),
        ([[RIGHT] * 5] * 4, "the same text in all samples on 4 of 4 problems"),
    ],
)
def test_signs_in_the_texts(texts: list[list[str]], seen: str) -> None:
    assert seen in said(reading_of(made(texts)))


def test_a_sound_report_has_next_to_nothing_said_about_it() -> None:
    texts = [[f"First {i} and {j}. The answer is {{}}" for j in range(5)] for i in range(6)]
    reading = reading_of(made(texts, results=client_results([[1] * 5] * 6)))
    assert said(reading) == "reliable: nothing to repair"


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


def test_dumped_groups_give_the_truth_of_data_that_cannot_be_regraded() -> None:
    matrix = [[1] * 5, [0] * 5] * 4
    details = [
        {"example_abbr": f"d_{i}", "correct": [bool(x) for x in row]}
        for i, row in enumerate(client_groups(matrix).rows)
    ]
    results = json.dumps({**client_results(matrix), "details": details}).encode()
    files = made([["a yellow bus"] * 5] * 8, golds=["bus"] * 8, results=client_results(matrix))
    files["results/vllm-api-stream-chat/gsm8k.json"] = results
    reading = reading_of(files)
    assert reading.emulated is None
    assert reading.truth is not None
    passed = reading.truth.estimate("pass@5")
    assert passed is not None
    assert passed.value == 0.5


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


def test_a_bomb_is_refused_by_what_it_unpacks_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_TOTAL_BYTES", 10_000_000)
    path = zipped(tmp_path / "a.zip", {"predictions/m/d.jsonl": b"0" * 10_000_001})
    assert path.stat().st_size < 20_000
    with pytest.raises(UsageError, match="unpacks to more"):
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


@pytest.mark.parametrize("what", ["nothing", "a file", "an empty folder"])
def test_what_is_no_report_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str) -> None:
    path = tmp_path / "x"
    if what == "a file":
        path.write_text("hello")
    if what == "an empty folder":
        path.mkdir()
    assert main(["read", str(path)]) == 2
    assert str(path) in capsys.readouterr().err


@given(st.dictionaries(st.sampled_from(sorted(HALF)), st.binary(max_size=200), min_size=1))
def test_no_content_breaks_the_reader(files: dict[str, bytes]) -> None:
    for task in tasks_of(ReportFiles(root="", files={**HALF, **files})):
        remarks(read_task(task))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 7) | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "correct", "details", "prediction", "gold", "uuid", "avg@5", "success"]),
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


@pytest.mark.parametrize("run", GOLDEN_TRUTH)
def test_golden_reports_are_read_and_put_right(
    run: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["read", str(shared(f"data/aisbench-golden/{run}")), "--json", str(tmp_path / "r.json")]) == 0
    (task,) = json.loads((tmp_path / "r.json").read_text())["tasks"]
    true = {entry["name"]: 100 * entry["value"] for entry in task["true"]}
    assert tuple(true[f"{name}@5"] for name in ("avg", "pass", "cons")) == pytest.approx(GOLDEN_TRUTH[run])
    assert task["printed"] == task["recomputed_as_aisbench"]
    assert task["problems_implied_by_printed_figures"] == 0
    assert "AISBench printed" in capsys.readouterr().out


def test_the_golden_run_of_failures_only_is_inconclusive(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["read", str(shared("data/aisbench-golden/v3.1.20260630_failall"))]) == 3
    assert "every request failed" in " ".join(capsys.readouterr().out.split())


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
