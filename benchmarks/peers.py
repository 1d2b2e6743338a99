"""The whole `npu-adapter probe` beside other evaluation tools: 600 answers of one fast server, start to finish.

Each tool is asked for 120 problems with 5 answers each, 64 requests in flight. lm-evaluation-harness does not
stream: it gets each answer in one piece. A tool that is not installed is left out (`make peers` installs them).
"""

from __future__ import annotations

import json
import statistics
import tempfile
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from measure import KIT, ROOT, Bound, Section, Usage, main, ratios, spread, timed
from sampling import SETTINGS, server

from healthcheck.stages.probe.problems import prompt
from healthcheck.stages.probe.run.bank import bank
from tests.support.aisbench import AISBench

ROUNDS = 2
TIMES_FASTER = 20
OFFLINE = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "OPENAI_API_KEY": "none"}
HARNESS_TASK = """\
task: kit_arithmetic
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
output_type: generate_until
doc_to_text: "{{{{query}}}}"
doc_to_target: "{{{{response}}}}"
repeats: 5
generation_kwargs: {{until: ["</s>"], do_sample: true, temperature: 0.7, max_gen_toks: 256}}
metric_list: [{{metric: exact_match}}]
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """Another tool: its distribution, its environment, and one run of it in a fresh folder against a port."""

    name: str
    distribution: str
    environment: Path
    run: Callable[[Path, int], Usage]

    def version(self) -> str:
        """The installed version, "" where it is not installed."""
        found = self.environment.glob(f"lib/python*/site-packages/{self.distribution}-*.dist-info")
        return next((path.name.split("-")[1].removesuffix(".dist") for path in found), "")


def kit(folder: Path, port: int) -> Usage:
    url = f"http://127.0.0.1:{port}"
    command = [*KIT, "probe", url, "--full", "--max-tokens", "256", "--out", folder / "run"]
    usage = timed(command, cwd=ROOT)
    assert usage.status in {0, 1, 3}, usage.output
    assert len((folder / "run/logs/samples.jsonl").read_text("utf-8").splitlines()) >= 600, (
        usage.output
    )
    return usage


def aisbench(folder: Path, port: int) -> Usage:
    client = AISBench(
        folder / "client",
        bank(SETTINGS),
        samples=SETTINGS.samples,
        concurrency=SETTINGS.concurrency,
    )
    command, path = client.command(port)
    return timed(command, env=path, cwd=client.folder)


def harness(folder: Path, port: int) -> Usage:
    (folder / "tasks").mkdir()
    (folder / "tasks/kit.yaml").write_text(HARNESS_TASK.format(data=questions(folder)), "utf-8")
    url = f"http://127.0.0.1:{port}/v1/chat/completions"
    command = [
        HARNESS.environment / "bin/lm_eval", "--model", "local-chat-completions", "--model_args",
        f"model=fast,base_url={url},num_concurrent={SETTINGS.concurrency},max_retries=1", "--apply_chat_template",
        "--include_path", folder / "tasks", "--tasks", "kit_arithmetic", "--output_path", folder / "out",
        "--log_samples",
    ]  # fmt: skip
    return timed(command, env={**OFFLINE, "HF_HOME": str(folder / "home")}, cwd=folder)


def evalscope(folder: Path, port: int) -> Usage:
    data = questions(folder)
    generation = {"temperature": 0.7, "max_tokens": 256, "stream": True}
    dataset = {"general_qa": {"local_path": str(data.parent), "subset_list": [data.stem]}}
    command = [
        EVALSCOPE.environment / "bin/evalscope", "eval", "--model", "fast", "--api-url", f"http://127.0.0.1:{port}/v1",
        "--api-key", "none", "--eval-type", "openai_api", "--datasets", "general_qa",
        "--dataset-args", json.dumps(dataset), "--repeats", str(SETTINGS.samples),
        "--eval-batch-size", str(SETTINGS.concurrency), "--generation-config", json.dumps(generation),
        "--work-dir", folder / "out",
    ]  # fmt: skip
    return timed(command, env={**OFFLINE, "HF_HOME": str(folder / "home")}, cwd=folder)


def questions(folder: Path) -> Path:
    path = folder / "data/arithmetic.jsonl"
    path.parent.mkdir()
    lines = (
        json.dumps({"query": prompt(p), "response": p.answer}, ensure_ascii=False)
        for p in bank(SETTINGS)
    )
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path


AIS = Tool(
    name="AISBench",
    distribution="ais_bench_benchmark",
    environment=ROOT / ".venv-aisbench",
    run=aisbench,
)
HARNESS = Tool(
    name="lm-evaluation-harness",
    distribution="lm_eval",
    environment=ROOT / ".venv-lm-eval",
    run=harness,
)
EVALSCOPE = Tool(
    name="evalscope", distribution="evalscope", environment=ROOT / ".venv-evalscope", run=evalscope
)


def peers() -> Section:
    rows, bounds, notes = [], [], []
    with server() as port:
        for tool in (AIS, HARNESS, EVALSCOPE):
            if not tool.version():
                rows.append([tool.name, *["not installed"] * 5])
                continue
            pairs = [(in_folder(tool.run, port), in_folder(kit, port)) for _ in range(ROUNDS)]
            theirs, ours = zip(*pairs, strict=True)
            if any(usage.status for usage in theirs):
                failed = next(usage for usage in theirs if usage.status)
                rows.append(
                    [f"{tool.name} {tool.version()}", *[f"ended with status {failed.status}"] * 5]
                )
                notes.append(f"{tool.name}: `{failed.output[-300:]!r}`")
                continue
            faster = ratios([u.seconds for u in theirs], [u.seconds for u in ours])
            rows.append([f"{tool.name} {tool.version()}", spread([u.seconds for u in theirs], ".1f"),
                         spread([u.seconds for u in ours], ".1f"), spread(faster, ".1f"),
                         spread(ratios([u.cpu_s for u in theirs], [u.cpu_s for u in ours]), ".1f"),
                         f"{max(u.peak_mb for u in theirs):.0f} / {max(u.peak_mb for u in ours):.0f}"])  # fmt: skip
            if tool is AIS:
                bounds.append(Bound(
                    promise=f"at least {TIMES_FASTER} times faster than AISBench from start to finish",
                    seen=f"{spread(faster, '.1f')} times", kept=statistics.median(faster) >= TIMES_FASTER,
                ))  # fmt: skip
    return Section(
        title="The whole probe, beside other evaluation tools",
        about=f"120 problems, 5 answers each, 64 in flight, one fast server, {ROUNDS} rounds each in turn with the "
        "kit: median (range). lm-evaluation-harness gets each answer in one piece; the others are streamed to.",
        header=("tool", "s", "npu-adapter probe, s", "times faster", "times less CPU", "peak MB"),
        rows=rows,
        bounds=bounds,
        notes=notes,
    )


def in_folder(run: Callable[[Path, int], Usage], port: int) -> Usage:
    """One run in a fresh folder; the server has to have given every answer that was to be asked for."""
    before = answered(port)
    with tempfile.TemporaryDirectory() as folder:
        usage = run(Path(folder), port)
    given = answered(port) - before
    assert usage.status or given >= 600, f"only {given} answers were asked for"
    return usage


def answered(port: int) -> int:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/answered", timeout=10) as response:
        return int(response.read())


if __name__ == "__main__":
    main(peers)
