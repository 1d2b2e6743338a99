"""lm-evaluation-harness's own extraction, on labelled answers: run by its Python, JSON in, JSON out.

Numbers as gsm8k's flexible-extract, expressions as hendrycks_math, words as triviaqa's exact_match, letters as
mmlu_flan_cot_zeroshot's flexible-extract.
"""

from __future__ import annotations

import json
import re
import sys

from lm_eval.api.metrics import exact_match_hf_evaluate
from lm_eval.filters.extraction import MultiChoiceRegexFilter, RegexFilter
from lm_eval.tasks.hendrycks_math.utils import process_results

NUMBERS = RegexFilter("(-?[$0-9.,]{2,})|(-?[0-9]+)", group_select=-1)
LETTERS = MultiChoiceRegexFilter(
    r"(\([A-Z]\))", group_select=-1, ignore_case=True, ignore_punctuation=True
)


STOPS = {"number": "Question:|</s>", "words": "\n|\\.|,", "choice": "</s>|Q:"}
"""Where those tasks end the generation; here the answer is there already."""


def right(answer: dict[str, object]) -> bool:
    gold, kind = str(answer["gold"]), str(answer["kind"])
    text = str(answer["text"]).rpartition("</think>")[2].strip()
    text = re.split(STOPS[kind], text)[0] if kind in STOPS else text
    if kind == "number":
        found = NUMBERS.apply([[text]], [{}])[0][0]
        ignored = [",", "\\$", "(?s).*#### ", "\\.$"]
        return matches(found, gold, ignore_case=True, regexes_to_ignore=ignored)
    if kind == "expression":
        return bool(process_results({"solution": rf"\boxed{{{gold}}}"}, [text])["exact_match"])
    if kind == "choice":
        options = answer["options"]
        assert isinstance(options, dict)
        found = LETTERS.apply([[text]], [{"choices": [*options.values()]}])[0][0]
        return matches(found, f"({gold})", ignore_case=True, ignore_punctuation=True)
    return matches(text.strip(), gold, ignore_case=True, ignore_punctuation=True)


def matches(found: str, gold: str, **options: object) -> bool:
    return bool(exact_match_hf_evaluate([found], [gold], **options)["exact_match"])


if __name__ == "__main__":
    json.dump([right(answer) for answer in json.load(sys.stdin)], sys.stdout)
