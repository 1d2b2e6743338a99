"""The configuration that AISBench writes beside its figures, complete enough to evaluate a report again:

    ais_bench RUN/configs/STAMP_PID.py --mode eval --reuse RUN --work-dir .

Types have the names of releases from April 2026. The data set is beside the configuration, in `data`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from healthcheck.core.records import JsonValue

_ROOT = "ais_bench.benchmark"
_HERE = "{{fileDirname}}"
"""AISBench replaces this by the folder of the configuration, so that a run folder may be moved.

Without blanks, since a long line would be broken there.
"""

_INFERENCER = f"{_ROOT}.openicl.icl_inferencer.icl_gen_inferencer.GenInferencer"
_TEMPLATE = f"{_ROOT}.openicl.icl_prompt_template.icl_prompt_template.PromptTemplate"
_RETRIEVER = f"{_ROOT}.openicl.icl_retriever.icl_zero_retriever.ZeroRetriever"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientDataSet:
    """How AISBench reads and grades a data set.

    Attributes:
        config: keys of its entry in the section `datasets`, without `abbr` and `infer_cfg`.
        files: the data, texts by path from the report folder.
    """

    config: Mapping[str, JsonValue] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)


def gsm8k(abbreviation: str, rows: Sequence[tuple[str, str]]) -> ClientDataSet:
    """Rows of (question, gold), with golds in GSM8K's format, graded by the last number."""
    lines = "".join(_line({"question": question, "answer": gold}) for question, gold in rows)
    folder, module = f"data/{abbreviation}", f"{_ROOT}.datasets.gsm8k"
    return ClientDataSet(
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


def infer_config(rounds: Sequence[tuple[str, str]]) -> dict[str, JsonValue]:
    """AISBench's `infer_cfg` for a chat prompt of (role, text) rounds, with its duplicate template."""

    def template() -> dict[str, JsonValue]:
        turns: list[JsonValue] = [{"prompt": text, "role": role} for role, text in rounds]
        return {"template": {"round": turns}, "type": _TEMPLATE}

    return {
        "inferencer": {"type": _INFERENCER},
        "prompt_template": template(),
        "retriever": {"prompt_template": template(), "type": _RETRIEVER},
    }


def version_of(infer_cfg: Mapping[str, JsonValue]) -> str:
    """The six hex digits of the version column: a digest of the prompt's construction only.

    It covers neither the size of the data nor any sampling parameter. For an unchanged prompt it changes with
    AISBench's release, because the names of the types are part of it.
    """
    return hashlib.sha256(json.dumps(infer_cfg, sort_keys=True).encode()).hexdigest()[:6]


def sections(
    *, dataset: Mapping[str, JsonValue], model: Mapping[str, JsonValue], work_dir: str
) -> dict[str, JsonValue]:
    """The sections that AISBench requires; it derives the others from its command line.

    The model's entry has the requested parameters, plus AISBench's defaults.
    """
    return {
        "datasets": [{**dataset}],
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


def _line(record: JsonValue) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"
