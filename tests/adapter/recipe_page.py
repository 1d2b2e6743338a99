"""`python -m tests.adapter.recipe_page` writes docs/recipes.md."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.adapter.recipes import DATA, Compared, Difference, compare, differences

PAGE = Path(__file__).parents[2] / "docs" / "recipes.md"
TOP = """\
# The plan beside vllm-ascend's recipes

<!-- Written by `python -m tests.adapter.recipe_page` from healthcheck/data/recipes.json and the adapter. -->

vllm-ascend documents how it launches its models. `healthcheck/data/recipes.json` records {recipes} of these launches,
for {models} models, from the tutorials in the released packages of {releases}:
those on one machine that serve chat completions, of weights whose shape is published. `tests/adapter/test_recipes.py`
plans each model on the machine of its recipe. It fails where the plan would not start by what is known of vllm-ascend,
or differs without a reason.

This compares words with words: recorded launches with planned ones. **Nothing was served, and no NPU was used.** The
sizes of quantised weights are approximate.
"""
COPIES = """\
## Copies of a model

Where one copy leaves devices idle, the plan adds `--data-parallel-size`: copies in one `vllm serve`, on one port. A
dense model gets as many as there are devices for. A mixture of experts gets copies that share its experts, and only if
a recipe has copies of its architecture and its weights are in 16 bits or by ModelSlim. On an A3 a large mixture is
4 × 4 or 8 × 2 where recipes have it so; on an A2 it is one copy, as there. `ADAPTER_DATA_PARALLEL_SIZE=1` asks for one.

By the source of vLLM 0.23.0: each copy is an engine process, to which vLLM shows its own devices alone; there are as
many API servers as copies, which share the port, and one process that balances them. Engines and API servers talk over
local sockets; copies of a mixture meet at a port that vLLM finds free. Every copy reserves its devices as one copy
would, and each process takes some gigabytes of the host's memory. If one copy fails, the server stops.
"""
LAYOUTS = """\
## Devices and context

TP is the number of devices of one copy, DP the number of copies. The recipe is that of the newest release; where one
has several launches for a machine, the first.

| model | machine | recipe: TP × DP, context | plan: TP × DP, context |
|---|---|---|---|
"""
OTHERS = """\
## Differences that remain

How many of the recipes have the option in another way, and why the plan has not. Where the plan has more of the same
(a longer context, more requests), it is not counted.

| option | recipes | reason |
|---|---|---|
"""
LEFT_OUT = """\
## Not compared

"""


def page(pairs: Iterable[Compared]) -> str:
    """The text of the page."""
    pairs = tuple(pairs)
    releases = sorted({release for pair in pairs for release in pair.recipe["releases"]})
    models = {pair.recipe["model"] for pair in pairs}
    counts = {"recipes": len(pairs), "models": len(models), "releases": ", ".join(releases)}
    left_out = (f"- {what}: {why}." for what, why in DATA["not_compared"].items())
    return "\n".join(
        (
            TOP.format(**counts),
            COPIES,
            LAYOUTS + "\n".join(_layouts(pairs)) + "\n",
            OTHERS + "\n".join(_remaining(pairs)) + "\n",
            LEFT_OUT + "\n".join(left_out) + "\n",
        )
    )


def _layouts(pairs: tuple[Compared, ...]) -> Iterator[str]:
    newest: dict[tuple[str, str, int], Compared] = {}
    for pair in pairs:
        machine = (*pair.model_and_chip, pair.recipe["devices"])
        if machine not in newest or _release(pair) > _release(newest[machine]):
            newest[machine] = pair
    for (model, chip, devices), pair in newest.items():
        asked, planned = (
            f"{get('tensor-parallel-size')} × {get('data-parallel-size')}, {get('max-model-len') or 'not named'}"
            for get in (pair.asked, pair.planned)
        )
        yield f"| {model} | {devices} × {chip} | {asked} | {planned} |"


def _release(pair: Compared) -> str:
    return max(pair.recipe["releases"])


def _remaining(pairs: tuple[Compared, ...]) -> Iterator[str]:
    grouped: dict[str, list[Difference]] = defaultdict(list)
    for pair in pairs:
        for option in {difference.option for difference in differences(pair)}:
            grouped[option] += [next(found for found in differences(pair) if found.option == option)]
    for option, found in sorted(grouped.items(), key=lambda item: (-len(item[1]), item[0])):
        reasons = sorted({_without_figures(difference.reason) for difference in found})
        yield f"| `{option}` | {len(found)} | {'; or '.join(reasons)} |"


def _without_figures(reason: str) -> str:
    """The reason without the figures of one model, so that a row has each kind of reason once."""
    return re.sub(r"\b\d+(\.\d+)?(?= GiB| of| tokens| device|$)", "N", reason)


def main() -> None:
    """Write the page."""
    found = []
    for recipe in DATA["recipes"]:
        with TemporaryDirectory() as folder:
            found.append(compare(recipe, Path(folder)))
    PAGE.write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main()
