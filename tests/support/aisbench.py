"""Runs the real evaluation client, in its own environment, against an endpoint and data of the tests."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from healthcheck.stages.probe.problems import Problem, instruction
from healthcheck.stages.probe.results.export import gold
from tests.support.template import ROOT

ENVIRONMENT = ROOT / ".venv-aisbench"
PATIENCE_S, ATTEMPTS = 200, 3
_MODEL = """\
from ais_bench.benchmark.models import VLLMCustomAPIChat
from ais_bench.benchmark.utils.postprocess.model_postprocessors import extract_non_reasoning_content

models = [
    dict(
        attr="service", type=VLLMCustomAPIChat, abbr="vllm-api-stream-chat", path="", model="", stream=True,
        request_rate=0, use_timestamp=False, retry=2, api_key="", host_ip="127.0.0.1", host_port={port}, url="",
        max_out_len=512, batch_size={concurrency}, trust_remote_code=False,
        generation_kwargs=dict(temperature=0.7, ignore_eos=False, num_return_sequences={n}),
        pred_postprocessor=dict(type=extract_non_reasoning_content),
    )
]
"""
_DATASET = """\
from ais_bench.benchmark.openicl.icl_prompt_template import PromptTemplate
from ais_bench.benchmark.openicl.icl_retriever import ZeroRetriever
from ais_bench.benchmark.openicl.icl_inferencer import GenInferencer
from ais_bench.benchmark.datasets import GSM8KDataset, gsm8k_postprocess, gsm8k_dataset_postprocess, Gsm8kEvaluator

kit_datasets = [
    dict(
        abbr="{abbr}", type=GSM8KDataset, path={path!r},
        reader_cfg=dict(input_columns=["question"], output_column="answer"),
        infer_cfg=dict(
            prompt_template=dict(
                type=PromptTemplate, template=dict(round=[dict(role="HUMAN", prompt={prompt!r})])),
            retriever=dict(type=ZeroRetriever),
            inferencer=dict(type=GenInferencer)),
        eval_cfg=dict(
            evaluator=dict(type=Gsm8kEvaluator),
            pred_postprocessor=dict(type=gsm8k_postprocess),
            dataset_postprocessor=dict(type=gsm8k_dataset_postprocess)))
]
"""


def _ended(command: list[str], path: dict[str, str], folder: Path) -> bool:
    """Run a command of the client; returns whether it ended in time.

    Raises:
        AssertionError: it ended with an error.
    """
    kept = {name: value for name, value in os.environ.items() if name in {"HOME", "LANG"}} | path
    process = subprocess.Popen(
        command, cwd=folder, env=kept, text=True, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        output, _ = process.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return False
    assert process.returncode == 0, output[-3000:]
    return True


class AISBench:
    """The client, configured for one list of problems in one working directory."""

    def __init__(
        self, folder: Path, problems: Sequence[Problem], *, samples: int, concurrency: int = 1
    ) -> None:
        assert (ENVIRONMENT / "ready").is_file(), (
            "there is no .venv-aisbench: run `make test-engines`, which makes it"
        )
        self.folder, self.samples, self.concurrency = folder, samples, concurrency
        data = folder / "data"
        data.mkdir(parents=True)
        lines = (
            json.dumps({"question": p.question, "answer": gold(p)}, ensure_ascii=False) + "\n"
            for p in problems
        )
        (data / "test.jsonl").write_text("".join(lines), "utf-8")
        (data / "train.jsonl").write_bytes((data / "test.jsonl").read_bytes())
        prompt = f"{{question}}\n{instruction(problems[0])}".rstrip()
        self._write(
            "datasets/kit_data.py",
            _DATASET.format(abbr="arithmetic", path=str(data), prompt=prompt),
        )

    def command(self, port: int, *arguments: str) -> tuple[list[str], dict[str, str]]:
        """The command line, and the PATH that it needs."""
        self._write(
            "models/kit_model.py",
            _MODEL.format(port=port, n=self.samples, concurrency=self.concurrency),
        )
        command = [
            str(ENVIRONMENT / "bin/ais_bench"), "--models", "kit_model", "--datasets", "kit_data",
            "--config-dir", str(self.folder / "configs"), "--work-dir", str(self.folder / "out"), "--num-warmups", "0",
            *arguments,
        ]  # fmt: skip
        return command, {"PATH": f"{ENVIRONMENT / 'bin'}:{os.environ['PATH']}"}

    def run(self, port: int, *arguments: str) -> Path:
        """Run the client; returns the folder of its report.

        On a busy machine its monitor sometimes misses the end of a task and waits for ever, although the answers
        are written. The client is then started again and reuses them.
        """
        command, path = self.command(port, *arguments)
        for _ in range(ATTEMPTS):
            if _ended(command, path, self.folder):
                return self._newest()
            command += [] if "--reuse" in command else ["--reuse", self._newest().name]
        raise AssertionError(f"AISBench did not end within {PATIENCE_S} s, {ATTEMPTS} times")

    def _newest(self) -> Path:
        return max(path for path in (self.folder / "out").iterdir() if path.is_dir())

    def _write(self, name: str, text: str) -> None:
        path = self.folder / "configs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
