"""The configuration that AISBench writes beside its figures, whole enough for it to evaluate a report again:

    ais_bench RUN/configs/STAMP_PID.py --mode eval --reuse RUN --work-dir .

Types are named as releases from April 2026 name them. The data set lies beside the configuration, in `data`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from healthcheck.records import JsonValue

_ROOT = "ais_bench.benchmark"
_HERE = "{{ fileDirname }}"
"""AISBench puts the folder of the configuration here when it reads it, so that a run folder may be moved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """How AISBench reads and grades a data set.

    Attributes:
        config: keys of its entry in the section `datasets`, without `abbr` and `infer_cfg`.
        files: the data, as texts by path from the report folder.
    """

    config: Mapping[str, JsonValue] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)


def gsm8k(abbreviation: str, rows: Sequence[tuple[str, str]]) -> DataSet:
    """Rows of (question, gold), each gold in GSM8K's manner, graded by the last number."""
    lines = "".join(_line({"question": question, "answer": gold}) for question, gold in rows)
    folder, module = f"data/{abbreviation}", f"{_ROOT}.datasets.gsm8k"
    return DataSet(
        config={
            "type": f"{module}.GSM8KDataset",
            "path": f"{_HERE}/{folder}",
            "reader_cfg": {"input_columns": ["question"], "output_column": "answer"},
            "eval_cfg": {
                "dataset_postprocessor": {"type": f"{module}.gsm8k_dataset_postprocess"},
                "evaluator": {"type": f"{module}.Gsm8kEvaluator"},
                "pred_postprocessor": {"type": f"{module}.gsm8k_postprocess"},
            },
        },
        files={f"configs/{folder}/{split}.jsonl": lines for split in ("test", "train")},
    )


def textvqa(abbreviation: str, rows: Sequence[tuple[str, Sequence[Mapping[str, JsonValue]]]]) -> DataSet:
    """Rows of (question, several persons' answers). Pictures are left out: evaluation does not look at them."""
    lines = "".join(
        _line({"question_id": place, "question": question, "image": ""}) for place, (question, _) in enumerate(rows)
    )
    answers: list[JsonValue] = [
        {"question_id": place, "answers": [{**one} for one in said]} for place, (_, said) in enumerate(rows)
    ]
    folder, module = f"data/{abbreviation}", f"{_ROOT}.datasets.textvqa"
    return DataSet(
        config={
            "type": f"{module}.TEXTVQADataset",
            "path": f"{_HERE}/{folder}/{abbreviation}.jsonl",
            "image_type": "image_path",
            "reader_cfg": {"input_columns": ["question", "image"], "output_column": "answer"},
            "eval_cfg": {"evaluator": {"type": f"{module}.TEXTEvaluator"}},
        },
        files={
            f"configs/{folder}/{abbreviation}.jsonl": lines,
            f"configs/{folder}/{abbreviation}_annotations.json": _line({"annotations": answers}),
        },
    )


def sections(
    *, dataset: Mapping[str, JsonValue], model: Mapping[str, JsonValue], stamp: str, work_dir: str
) -> dict[str, JsonValue]:
    """All sections; the model's entry has what its client was asked for, and gets what AISBench fills in."""
    return {
        "cli_args": _arguments(stamp),
        "datasets": [{**dataset}],
        "eval": _stage(
            f"{work_dir}/results/", "openicl_eval.OpenICLEvalTask", cal_extract_rate=False, dump_details=False
        ),
        "infer": _stage(f"{work_dir}/predictions/", "openicl_api_infer.OpenICLApiInferTask"),
        "models": [{**_CLIENT, **model}],
        "summarizer": {
            "attr": "accuracy",
            "summary_groups": [],
            "type": f"{_ROOT}.summarizers.default.DefaultSummarizer",
        },
        "work_dir": work_dir,
    }


_CLIENT: dict[str, JsonValue] = {
    "api_key": "",
    "attr": "service",
    "path": "",
    "pred_postprocessor": {"type": f"{_ROOT}.utils.postprocess.model_postprocessors.extract_non_reasoning_content"},
    "request_rate": 0,
    "retry": 2,
    "stream": True,
    "trust_remote_code": False,
    "type": f"{_ROOT}.models.api_models.vllm_custom_api_chat.VLLMCustomAPIChat",
    "use_timestamp": False,
}


def _arguments(stamp: str) -> dict[str, JsonValue]:
    return {
        "cfg_time_str": stamp,
        "config": None,
        "config_dir": "configs",
        "custom_dataset_data_type": None,
        "custom_dataset_infer_method": None,
        "custom_dataset_meta_path": None,
        "custom_dataset_path": None,
        "datasets": None,
        "debug": False,
        "dir_time_str": stamp,
        "dry_run": False,
        "dump_eval_details": False,
        "dump_extract_rate": False,
        "max_num_workers": 1,
        "max_workers_per_gpu": 1,
        "merge_ds": False,
        "mode": "all",
        "models": None,
        "num_prompts": None,
        "num_warmups": 1,
        "pressure": False,
        "pressure_time": 15,
        "reuse": None,
        "search": False,
        "summarizer": None,
        "work_dir": None,
    }


def _stage(out_dir: str, task: str, **options: JsonValue) -> dict[str, JsonValue]:
    return {
        "partitioner": {"out_dir": out_dir, "type": f"{_ROOT}.partitioners.naive.NaivePartitioner"},
        "runner": {
            "debug": False,
            "max_num_workers": 1,
            "max_workers_per_gpu": 1,
            "task": {**options, "type": f"{_ROOT}.tasks.{task}"},
            "type": f"{_ROOT}.runners.local.LocalRunner",
        },
    }


def _line(record: JsonValue) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"
