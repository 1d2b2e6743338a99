"""Reports of the evaluation client over texts that a test chooses."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from healthcheck.extensions.service_report.archive import ReportFiles
from healthcheck.extensions.service_report.reading import Reading, read_task
from healthcheck.extensions.service_report.remarks import remarks
from healthcheck.extensions.service_report.task import tasks_of
from healthcheck.stages.probe.aisbench.client_results import client_results
from tests.support.aisbench_files import ClientReport, Failure, Prediction, files_of

RIGHT, WRONG = "The answer is {}", "The answer is 99999"


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
        Failure(id=i, input="", error_info="Internal Server Error")
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
