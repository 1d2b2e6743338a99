"""One model on one data set in a report: predictions, failed requests, results, printed figures.

Read defensively: damaged lines are counted and skipped; a missing folder becomes None.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from healthcheck.core.records import JsonValue
from healthcheck.errors import UsageError
from healthcheck.extensions.service_report import lines
from healthcheck.extensions.service_report.archive import ReportFiles
from healthcheck.extensions.service_report.config_text import parse
from healthcheck.extensions.service_report.lines import Record
from healthcheck.stages.probe.aisbench.textvqa import Reference
from healthcheck.system import json_text
from healthcheck.system.json_text import JsonError
from healthcheck.text.messages import msg

MAX_REPEATS = 128
"""The service uses 5."""
MAX_REFERENCES = 100
MAX_GOLDS_BYTES = 16 * 2**20
"""The golds of TextVQA, with the answers of ten persons to each of 5,000 questions, take a fifth of it."""
MAX_RESULTS_BYTES = 16 * 2**20
MAX_SUMMARY_BYTES = 2**20
MAX_TASKS = 500
_RUNS = re.compile(r"(?:(?:avg|pass|cons)@|.* \()(\d{1,4})(?: runs average\))?")
_SUMMARY = re.compile(r"summary/summary_.*\.csv")
_FAILED = "_failed"
_UNFINISHED = "tmp"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A prediction: the problem's index, the text, the raw answer column.

    Attributes:
        gold: "" if there is none or it is not text.
        references: the answer column of TextVQA, several persons' answers; empty for other data sets.
    """

    id: int
    utf8: bytes
    gold: str
    references: tuple[Reference, ...] = ()

    @property
    def text(self) -> str:
        """The text, decoded on demand: as a str, one rare character may make it four times as long."""
        return self.utf8.decode("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientTask:
    """The content of a report about one model on one data set.

    Attributes:
        failed: the requests that the report itself marks as failed.
        answered: in the order of the file; only the first answer to a request. A missing gold answer is taken from
            the problem's other samples.
        results: the figures of the `results` file, percent; None without the file.
        details: AISBench's dumped groups of correctness, None if they were not dumped.
        printed: metric to text of the newest summary; "-" means that every request failed.
        version: the version column of the newest summary.
        summaries: the number of summaries; more than one after a resumed run.
        config: sections of the newest configuration.
        damaged_lines: lines of predictions that could not be read.
        doubled_lines: repeated lines of predictions.
        passed_over: files that were not read, and why.
    """

    root: str
    model: str
    dataset: str
    answered: tuple[Answered, ...]
    failed: tuple[Record, ...]
    results: Mapping[str, float] | None
    details: tuple[tuple[int, ...], ...] | None
    printed: Mapping[str, str]
    version: str
    summaries: int = 0
    config: Mapping[str, JsonValue] = field(default_factory=dict)
    damaged_lines: int = 0
    doubled_lines: int = 0
    missing_folders: tuple[str, ...] = ()
    passed_over: tuple[str, ...] = ()

    @property
    def repeats(self) -> int | None:
        """The n in the names of figures, or of the configuration; None if neither has it."""
        for names in (self.results or {}, self.printed):
            found = [int(match[1]) for name in names if (match := _RUNS.fullmatch(name))]
            if found and 0 < max(found) <= MAX_REPEATS:
                return max(found)
            if "accuracy" in names:
                return 1
        configured = self.setting("generation_kwargs", "num_return_sequences")
        return configured if isinstance(configured, int) and 0 < configured <= MAX_REPEATS else None

    @property
    def evaluator(self) -> str:
        """The evaluator type of this data set, "" without a configuration."""
        listed = self.config.get("datasets")
        for entry in listed if isinstance(listed, list) else ():
            evaluator = _inside(entry, "eval_cfg", "evaluator", "type")
            if _inside(entry, "abbr") == self.dataset and isinstance(evaluator, str):
                return evaluator
        return ""

    @property
    def without_gold(self) -> int:
        """The number of predictions without a gold answer in any sample of their problem."""
        return sum(not (answer.gold or answer.references) for answer in self.answered)

    def setting(self, *path: str) -> JsonValue:
        """A value from the model's configuration."""
        models = self.config.get("models")
        return _inside(models[0], *path) if isinstance(models, list) and models else None


def _inside(value: JsonValue, *path: str) -> JsonValue:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def tasks_of(report: ReportFiles) -> tuple[ClientTask, ...]:
    """The tasks of a report, from the folders that exist."""
    paths = (
        PurePosixPath(name).parts
        for name in report.files
        if name.startswith(("predictions/", "results/"))
    )
    below = {parts[1:3] for parts in paths if len(parts) > 2 and parts[2] != _UNFINISHED}
    pairs = {(model, PurePosixPath(name).stem.removesuffix(_FAILED)) for model, name in below}
    newest, summaries = _newest_summary(report)
    printed = _printed(newest)
    pairs |= {key for key in printed if key[1] not in {dataset for _, dataset in pairs}}
    if len(pairs) > MAX_TASKS:
        raise UsageError(
            msg(
                "{pairs} data sets and models in one report; it has at most {max_tasks}",
                pairs=len(pairs),
                max_tasks=MAX_TASKS,
            )
        )
    attempted = {model: _attempted(report, model) for model in {model for model, _ in pairs}}
    config = _newest_config(report)
    tasks = (
        _task(report, *pair, attempted[pair[0]], printed.get(pair, ("", {})))
        for pair in sorted(pairs)
    )
    return tuple(replace(task, summaries=summaries, config=config) for task in tasks)


def _task(
    report: ReportFiles,
    model: str,
    dataset: str,
    of_model: list[Record],
    printed: tuple[str, dict[str, str]],
) -> ClientTask:
    base = f"{model}/{dataset}"
    written = report.files.get(f"predictions/{base}.jsonl", b"")
    records, damaged = lines.read(written)
    failed, _ = lines.read(report.files.get(f"predictions/{base}{_FAILED}.jsonl", b""))
    attempted = [record for record in of_model if record.dataset in (None, dataset)]
    if not written:
        records = [record for record in attempted if record.success]
    graded = report.files.get(f"results/{base}.json", b"")
    results, details = _results(graded[: MAX_RESULTS_BYTES + 1])
    torn = (
        ()
        if results is not None or not graded
        else (msg("'results/{base}.json': no whole JSON object", base=base),)
    )
    version, figures = printed
    unanswered = [record for record in attempted if record.success is False]
    successes = [record for record in records if record.success is not False]
    once = _once(successes)
    below = {name.partition("/")[0] for name in report.files}
    missing = tuple(
        folder for folder in ("predictions", "results", "summary") if folder not in below
    )
    return ClientTask(
        root=report.root,
        model=model,
        dataset=dataset,
        answered=_answered(once),
        failed=tuple(failed or unanswered),
        results=results,
        details=details,
        printed=figures,
        version=version,
        damaged_lines=damaged,
        doubled_lines=len(successes) - len(once),
        missing_folders=missing,
        passed_over=(*report.passed_over, *torn),
    )


def _attempted(report: ReportFiles, model: str) -> list[Record]:
    """AISBench's temporary records of every request, including failed ones; they remain if any failed."""
    folder = f"predictions/{model}/{_UNFINISHED}/"
    files = (data for name, data in report.files.items() if name.startswith(folder))
    return [record for data in files for record in lines.read(data)[0]]


def _once(records: list[Record]) -> list[Record]:
    """The records without repeated ones."""
    seen, kept = set[str](), list[Record]()
    for record in records:
        if record.uuid is None or record.uuid not in seen:
            kept.append(record)
            seen.add(record.uuid or "")
    return kept


def _answered(records: list[Record]) -> tuple[Answered, ...]:
    of_problem = {record.id: record.gold for record in records if record.gold}
    given = [record.gold or of_problem.get(record.id, b"") for record in records]
    golds = _golds(set(given))
    return tuple(
        Answered(id=record.id, utf8=record.utf8, gold=golds[gold][0], references=golds[gold][1])
        for record, gold in zip(records, given, strict=True)
    )


def _golds(written: set[bytes]) -> dict[bytes, tuple[str, tuple[Reference, ...]]]:
    """Golds by their JSON text: the text, or several persons' answers; parsed once for all samples."""
    if sum(map(len, written)) > MAX_GOLDS_BYTES:
        raise UsageError(
            msg(
                "the right answers (gold) of the predictions have more than {max_golds_bytes} bytes",
                max_golds_bytes=MAX_GOLDS_BYTES,
            )
        )
    values = {gold: json_text.load(gold) if gold else "" for gold in written}
    return {
        gold: (value if isinstance(value, str) else "", tuple(_references(value)))
        for gold, value in values.items()
    }


def _references(gold: JsonValue) -> Iterator[Reference]:
    for entry in (gold if isinstance(gold, list) else [])[:MAX_REFERENCES]:
        if isinstance(entry, dict) and isinstance(answer := entry.get("answer"), str):
            others = {name: entry[name] for name in sorted(entry) if name != "answer"}
            yield Reference(identity=json_text.dump_line(others).decode(), answer=answer)


def _results(data: bytes) -> tuple[dict[str, float] | None, tuple[tuple[int, ...], ...] | None]:
    try:
        value = json_text.load_few(data, object, lines.MAX_VALUES)
    except JsonError:
        return None, None
    if not isinstance(value, dict):
        return None, None
    figures = {
        n: float(v)
        for n, v in value.items()
        if isinstance(v, (int, float)) and not isinstance(v, bool)
    }
    return figures, _groups(value.get("details"))


def _groups(details: JsonValue) -> tuple[tuple[int, ...], ...] | None:
    entries = (
        details
        if isinstance(details, list)
        else list(details.values())
        if isinstance(details, dict)
        else []
    )
    rows = [
        tuple(int(right is True) for right in correct)
        for entry in entries
        if isinstance(entry, dict) and isinstance(correct := entry.get("correct"), list)
    ]
    whole = (
        rows
        and len(rows) == len(entries)
        and len({len(row) for row in rows}) == 1
        and len(rows[0]) > 0
    )
    return tuple(rows) if whole else None


def _newest_summary(report: ReportFiles) -> tuple[str, int]:
    """The newest summary as comma-separated lines, and the number of runs with one."""
    names = sorted(name for name in report.files if _SUMMARY.fullmatch(name))
    return report.files[names[-1]][:MAX_SUMMARY_BYTES].decode(
        "utf-8", "replace"
    ) if names else "", len(names)


def _printed(summary: str) -> dict[tuple[str, str], tuple[str, dict[str, str]]]:
    """Version and figures by (model, data set)."""
    figures: dict[tuple[str, str], tuple[str, dict[str, str]]] = {}
    models: list[str] = []
    for line in summary.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if cells[:4] == ["dataset", "version", "metric", "mode"]:
            models = cells[4:]
        elif models and len(cells) == 4 + len(models):
            for model, value in zip(models, cells[4:], strict=True):
                figures.setdefault((model, cells[0]), (cells[1], {}))[1][cells[2]] = value
    return figures


def _newest_config(report: ReportFiles) -> dict[str, JsonValue]:
    names = sorted(
        name for name in report.files if name.startswith("configs/") and name.endswith(".py")
    )
    return parse(report.files[names[-1]].decode("utf-8", "replace")) if names else {}
