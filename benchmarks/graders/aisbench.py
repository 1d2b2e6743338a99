"""AISBench's own graders, on labelled answers: run by its Python, JSON in, JSON out.

Numbers as its GSM8K, expressions as its MATH (version 2), words and letters as its custom data sets.
"""

from __future__ import annotations

import json
import sys

from ais_bench.benchmark.datasets.custom import OptionSimAccEvaluator
from ais_bench.benchmark.datasets.gsm8k import Gsm8kEvaluator, gsm8k_postprocess
from ais_bench.benchmark.datasets.math import MATHEvaluator, math_postprocess_v2
from ais_bench.benchmark.utils.postprocess.model_postprocessors import extract_non_reasoning_content


def right(answer: dict[str, object]) -> bool:
    text, gold = extract_non_reasoning_content(str(answer["text"])), str(answer["gold"])
    if answer["kind"] == "number":
        return bool(Gsm8kEvaluator().is_equal(gsm8k_postprocess(text), gold.replace(",", "")))
    if answer["kind"] == "expression":
        return bool(MATHEvaluator(version="v2").is_equiv(math_postprocess_v2(text), gold))
    if answer["kind"] == "choice":
        options = answer["options"]
        assert isinstance(options, dict)
        return bool(OptionSimAccEvaluator([*options]).match_any_label(text, options) == gold)
    return text == gold


if __name__ == "__main__":
    json.dump([right(answer) for answer in json.load(sys.stdin)], sys.stdout)
