# ruff: noqa: INP001 - scripts are no package
"""Try the endpoint stage on real engines, and write docs/engines.md and docs/zh/engines.md.

    .venv/bin/python scripts/try_engines.py                      every row: an hour on two cores
    .venv/bin/python scripts/try_engines.py --only vllm-0.32-moe  one row; the others keep their results
    .venv/bin/python scripts/try_engines.py --page               the pages again, from docs/engines.json
    .venv/bin/python scripts/try_engines.py --check              write nothing; exit 1 if a page is out of date

The environments are made by `make engines`. A row that does not start says so and the rest goes on.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from engine_rows import CHINESE, MODELS, ROWS, Row, Served, untranslated  # noqa: E402 - it imports from the root

from healthcheck.endpoint.checks import CHECKS  # noqa: E402
from healthcheck.endpoint.facts import interview  # noqa: E402
from healthcheck.engine import Ledger  # noqa: E402
from healthcheck.errors import KitError  # noqa: E402
from healthcheck.language import Language, translation  # noqa: E402
from healthcheck.probe.facts import measure  # noqa: E402
from healthcheck.probe.records import ProbeSettings  # noqa: E402
from healthcheck.progress import Silent  # noqa: E402
from healthcheck.records import CheckResult, Outcome, verdict_of  # noqa: E402
from tests.support.engines import weights_of  # noqa: E402

RESULTS = ROOT / "docs" / "engines.json"
IN_FLIGHT = {1: 6, 16: 48, 64: 128}
"""Requests in flight → requests in all."""
ANSWERED = re.compile(r"(\d+) of (\d+) answered in ([\d.]+) s")
"""What came of them, as the results keep it."""
ENGLISH_HEAD = """\
<!-- Written by scripts/try_engines.py from docs/engines.json. -->

# Real engines

The endpoint stage on real engines, with small models that are made on the spot, on a machine without an NPU.
A healthy engine must come out *ready*; where one does not, its section says which check objects and why that is
right. The interview has up to 16 requests in flight; after it the probe sends its word problems with 1, 16 and 64
in flight. Rows are tried one by one, so their dates, and the commits of the kit, may differ.

The models are too small to stand for real ones, and two were changed because endpoint/degenerate objected to what
they said, rightly: the dense one looped on prompts that are no word problem until it was trained on some, and the
vision model said random bytes until its random parameters were made to favour printable text and the end. Their
rows tell about engines, not about how the check fares on models that nobody fitted to it.
"""
CHINESE_HEAD = """\
<!-- Written by scripts/try_engines.py from docs/engines.json. -->

# 真实引擎

本页是 endpoint 阶段在真实引擎上的结果。模型是当场生成的小模型，机器上没有 NPU。正常的引擎必须得到“就绪”；\
没有得到“就绪”的，后面各有一节说明哪些检查项报出了问题，以及为什么没有误报。endpoint 阶段最多有 16 个并发请求；\
之后由 probe 发送应用题，并发请求数依次为 1、16 和 64。各行逐个测试，日期和本工具的 commit 可能不同。

这些模型太小，代表不了真实的模型。其中两个还改动过，因为 endpoint/degenerate 对它们的输出报出了问题，而且并非误报：\
稠密模型遇到应用题以外的提示词会不断重复，用一些这样的提示词训练之后才正常；视觉模型输出随机字节，\
把随机参数改得偏向可打印文本和结束符之后才正常。所以这两个模型的各行只能说明引擎的情况，\
说明不了这个检查项遇到未经调整的模型时表现如何。
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What one page says, and where it is.

    Attributes:
        objecting: the heading of the second part.
        answered: how the requests of ANSWERED are told.
        rows: texts of the rows and of their results → what the page has in their place; others are the kit's.
    """

    page: Path
    language: Language
    head: str
    columns: tuple[str, ...]
    objecting: str
    answered: str
    rows: Mapping[str, str]

    def say(self, text: str) -> str:
        return self.rows.get(text) or translation(self.language).look_up(text)

    def in_flight(self, text: str) -> str:
        """What came of the requests; an error is quoted."""
        told, answered = ANSWERED.subn(self.answered, text)
        return told if answered else quoted(self.say(text))

    def objection(self, reason: str) -> str:
        """An outcome and why."""
        outcome, _, why = reason.partition(": ")
        return translation(self.language).labelled(self.say(outcome), self.say(why))


PAGES = (
    Words(
        page=ROOT / "docs" / "engines.md",
        language=Language.ENGLISH,
        head=ENGLISH_HEAD,
        columns=(
            "row", "engine", "version", "model", "front or option", "verdict", "with 1 / 16 / 64 in flight", "date",
        ),
        objecting="What objects, and why",
        answered=r"\g<0>",
        rows={},
    ),
    Words(
        page=ROOT / "docs" / "zh" / "engines.md",
        language=Language.CHINESE,
        head=CHINESE_HEAD,
        columns=("行", "引擎", "版本", "模型", "前端或选项", "结论", "1 / 16 / 64 个并发请求时", "日期"),
        objecting="哪些检查项报出问题，为什么",
        answered=r"应答 \1/\2，\3 s",
        rows={
            **CHINESE, "not-ready": "未就绪", "does not start": "无法启动", "not installed": "未安装",
            Outcome.FAIL.value: "不通过", Outcome.WARN.value: "警告",
        },
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of one row; what is kept in the JSON file.

    Attributes:
        objections: check → its outcome and the reason, of all that neither passed nor was out of place.
        in_flight: requests in flight → what came of the probe's.
    """

    version: str
    verdict: str
    objections: dict[str, str]
    skipped: dict[str, str]
    in_flight: dict[str, str]
    interview_s: float
    date: str


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=ROWS, metavar="ROW", help=f"one of {', '.join(ROWS)}")
    parser.add_argument("--page", action="store_true", help="write the pages from what is known, and try nothing")
    parser.add_argument(
        "--check", action="store_true", help="compare the pages with what is known, and try nothing"
    )
    parser.add_argument("--logs", type=Path, help="keep the servers' logs here")
    options = parser.parse_args()
    if options.check:
        return check()
    for name in [] if options.page else options.only or ROWS:
        print(f"{name} ...", flush=True)
        result = tried(ROWS[name], options.logs)
        print(f"  {result.verdict} {result.objections} {result.in_flight}", flush=True)
        keep(name, result)
        write()
    write()
    return 0


def write() -> None:
    """Both pages, of what is known."""
    results = kept()
    for words in PAGES:
        words.page.write_text(page(results, words), "utf-8")


def check() -> int:
    """Say which page is out of date, and which text of the rows is not in Chinese yet; the exit status."""
    results = kept()
    wrong = [
        f"out of date: {words.page.relative_to(ROOT)}"
        for words in PAGES
        if not words.page.is_file() or words.page.read_text("utf-8") != page(results, words)
    ]
    wrong += [f"not in CHINESE of scripts/engine_rows.py: {text}" for text in untranslated()]
    for line in wrong:
        print(line, file=sys.stderr)
    return int(bool(wrong))


def kept() -> dict[str, Result]:
    """The results so far, in the order of the rows."""
    known = json.loads(RESULTS.read_text("utf-8")) if RESULTS.is_file() else {}
    return {name: Result(**known[name]) for name in ROWS if name in known}


def keep(name: str, result: Result) -> None:
    """Put one result beside the others, which another run of this script may have added to."""
    results = {**kept(), name: result}
    rows = {name: asdict(results[name]) for name in ROWS if name in results}
    RESULTS.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", "utf-8")


def tried(row: Row, logs: Path | None) -> Result:
    """Start the row's server, interview it, probe it."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = logs / row.name if logs else Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        try:
            weights = weights_of(row.model)
            with row.serve(weights, folder) as served:
                return judged(row, served, weights)
        except (AssertionError, OSError, subprocess.CalledProcessError) as error:
            last = str(error).strip().splitlines()[-1:] or [type(error).__name__]
            print(f"{error}"[-4000:], file=sys.stderr)
            return Result(
                version=version(row), verdict="does not start", objections={"": last[0]}, skipped={},
                in_flight={}, interview_s=0.0, date=today(),
            )  # fmt: skip


def judged(row: Row, served: Served, weights: Path) -> Result:
    talk = interview(served.url, weights=served.name, task=row.task)
    ledger = Ledger(Silent())
    ledger.judge(CHECKS, lambda: talk)
    objections = {r.id: reason(r, weights) for r in ledger.results if r.outcome in {Outcome.FAIL, Outcome.WARN}}
    skipped = {r.id: reason(r, weights) for r in ledger.results if r.outcome in {Outcome.SKIP, Outcome.ERROR}}
    verdict = verdict_of(ledger.results)
    return Result(
        version=version(row), verdict=verdict.value, objections=objections, skipped=skipped,
        in_flight=dict(probed(served)), interview_s=round(talk.seconds, 1), date=today(),
    )  # fmt: skip


def reason(result: CheckResult, weights: Path) -> str:
    """The outcome and, in a line, why; the weights' folder is this machine's own."""
    why = result.because or "; ".join(finding.seen for finding in result.findings)
    return f"{result.outcome.value}: {' '.join(why.replace(str(weights), 'WEIGHTS').split())[:300]}"


def probed(served: Served) -> Iterator[tuple[str, str]]:
    """Some of the probe's problems at each number of requests in flight."""
    for in_flight, requests in IN_FLIGHT.items():
        settings = ProbeSettings(
            url=served.url, model=served.name, problems=requests // 2, samples=2, concurrency=in_flight,
            max_tokens=128, full=True,
        )  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            try:
                run = measure(settings, Silent(), Path(folder) / "run")
            except KitError as error:
                yield str(in_flight), str(error)[:200]
                return
        answered = len(run.samples) - len(run.failed)
        yield str(in_flight), f"{answered} of {requests} answered in {run.seconds:.1f} s"


def version(row: Row) -> str:
    """The version of the engine in its environment."""
    command = f"import importlib.metadata as m; print(m.version({row.package!r}))"
    done = subprocess.run(
        [ROOT / row.environment / "bin" / "python", "-c", command], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "not installed"


def today() -> str:
    return time.strftime("%Y-%m-%d")


def page(results: Mapping[str, Result], words: Words) -> str:
    lines = [words.head, f"| {' | '.join(words.columns)} |", "|---" * len(words.columns) + "|"]
    for name, result in results.items():
        row = ROWS[name]
        cells = [
            name, words.say(row.engine), words.say(result.version), words.say(MODELS[row.model]),
            words.say(row.front or "none"), f"**{words.say(result.verdict)}**",
            " / ".join(map(words.in_flight, result.in_flight.values())), result.date,
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", f"## {words.objecting}", ""]
    lines += [line for name, result in results.items() for line in objections(name, result, words)]
    return "\n".join(lines).rstrip() + "\n"


def objections(name: str, result: Result, words: Words) -> Iterator[str]:
    """The part of one row that is not simply ready."""
    if not result.objections:
        return
    yield f"### {name}"
    yield ""
    if ROWS[name].remark:
        yield words.say(ROWS[name].remark)
        yield ""
    for check_id, reason_kept in result.objections.items():
        said = words.objection(reason_kept) if check_id else words.say(reason_kept)
        yield f"- {f'`{check_id}` ' if check_id else ''}{quoted(said)}"
    yield ""


def quoted(text: str) -> str:
    """Text that nobody here wrote, as code."""
    return "`" + text.replace("|", "\\|").replace("`", "'") + "`"


if __name__ == "__main__":
    sys.exit(main())
