"""What AISBench is to ask, and the configuration that makes it do so.

The model's configuration is AISBench's stock one for streaming chat, and the problems have the prompt of its demo
set, as the version in the service's sample report is of this prompt. What else the service sets is unknown, but
for n.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from healthcheck import contract
from healthcheck.errors import UsageError
from healthcheck.stages.probe.options.record import ProbeOptions, given
from healthcheck.stages.probe.problems import Problem
from healthcheck.stages.probe.records import ProbeRun, ProbeSettings
from healthcheck.stages.probe.results.export import emulated, gold
from healthcheck.stages.probe.run.bank import bank
from healthcheck.stages.probe.run.folder import load
from healthcheck.stages.probe.settings import settings_of
from healthcheck.system import json_text
from healthcheck.text.messages import msg

NAME = "npu_adapter_task"
"""Of both configuration files; AISBench searches them by name among several hundred of its own."""
_CONFIGS = "ais_bench.benchmark.configs"
_MODEL = f"""\
from mmengine import read_base

with read_base():
    from {_CONFIGS}.models.vllm_api.vllm_api_stream_chat import models

models[0].update({{}})
models[0]["generation_kwargs"].update({{}})
"""
_DATASET = f"""\
from mmengine import read_base

with read_base():
    from {_CONFIGS}.datasets.demo.demo_gsm8k_gen_4_shot_cot_chat_prompt import gsm8k_datasets

gsm8k_datasets[0].update({{}})
gsm8k_datasets[0]["reader_cfg"].update({{}})
"""
_SETTINGS = {"samples", "temperature", "max_tokens", "concurrency", "model"}
_PROBLEMS = {"dataset", "datasets", "columns", "family", "problems", "seed"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientTask:
    """What AISBench is to ask. None for what AISBench's stock configuration decides.

    Attributes:
        bank: the problems; empty for those of AISBench's demo set.
        problems: the most of the demo set.
        model: "" for the first that /v1/models lists.
        probe: the run that asked the same problems; None if there is none.
    """

    samples: int
    temperature: float | None = None
    max_tokens: int | None = None
    concurrency: int | None = None
    model: str = ""
    problems: int | None = None
    bank: tuple[Problem, ...] = ()
    probe: ProbeRun | None = None


def of_options(asked: ProbeOptions) -> ClientTask:
    """The task that the options describe.

    Raises:
        UsageError: AISBench has no such option, or its grader cannot judge the problems.
    """
    allowed = _SETTINGS | ({"reference"} if asked.reference else _PROBLEMS)
    if foreign := sorted(given(asked).keys() - allowed):
        raise UsageError(
            msg("--client takes no {names} here: leave it out", names=", ".join(foreign))
        )
    if asked.reference:
        base = like(load(Path(asked.reference)))
    else:
        known, samples = contract.service(), contract.SAMPLES_PER_PROBLEM
        base = ClientTask(
            samples=samples,
            temperature=known.temperature,
            max_tokens=known.max_tokens,
            concurrency=known.concurrency,
            problems=asked.problems,
            bank=_own_problems(asked),
        )
    return replace(
        base, **{name: value for name, value in given(asked).items() if name in _SETTINGS}
    )


def like(run: ProbeRun) -> ClientTask:
    """The task that asks the problems of a probe's run, as often and with its sampling.

    Raises:
        UsageError: AISBench's grader cannot judge them.
    """
    same = {
        each.name: getattr(run.settings, each.name)
        for each in fields(ClientTask)
        if each.name in _SETTINGS
    }
    return ClientTask(**same, bank=_gradable(run.problems), probe=run)


def _own_problems(asked: ProbeOptions) -> tuple[Problem, ...]:
    if not (asked.dataset or asked.datasets or asked.family):
        return ()
    return _gradable(bank(settings_of(asked, ProbeSettings(url=""))))


def _gradable(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    for problem in problems:
        if problem.images or not emulated(problem):
            raise UsageError(
                msg(
                    "AISBench grades GSM8K rows here, questions in words with a number as the answer, and {id} "
                    "with "
                    "the answer {answer} is none: name other problems, such as --family arithmetic",
                    id=problem.id,
                    answer=repr(problem.answer[:40]),
                )
            )
    return tuple(problems)


def configure(asked: ClientTask, url: str, scratch: Path, data: Path) -> None:
    """Write the configuration files to `scratch`, and the problems, if AISBench lacks them, to `data`."""
    model = {
        "url": url,
        "model": asked.model,
        "max_out_len": asked.max_tokens,
        "batch_size": asked.concurrency,
    }
    sampling = {"num_return_sequences": asked.samples, "temperature": asked.temperature}
    dataset: dict[str, object] = {}
    if asked.bank:
        rows = [
            json_text.dump_line({"question": each.question, "answer": gold(each)})
            for each in asked.bank
        ]
        data.mkdir(parents=True)
        for split in ("train", "test"):
            (data / f"{split}.jsonl").write_bytes(b"".join(rows))
        family = re.sub(r"\W", "_", asked.bank[0].family, flags=re.ASCII)[:40]
        dataset = {"path": str(data.absolute()), "abbr": family}
    most = len(asked.bank) or asked.problems
    limit = {"test_range": f"[0:{most}]"} if most else {}
    for folder, text, changes in (
        ("models", _MODEL, (model, sampling)),
        ("datasets", _DATASET, (dataset, limit)),
    ):
        (scratch / folder).mkdir()
        said = (
            ascii({name: value for name, value in each.items() if value is not None})
            for each in changes
        )
        (scratch / folder / f"{NAME}.py").write_text(text.format(*said), "utf-8")
