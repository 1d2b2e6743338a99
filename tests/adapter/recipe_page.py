"""`python -m tests.adapter.recipe_page` writes docs/recipes.md and docs/zh/recipes.md."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.adapter.recipe_words import CHINESE, ENGLISH, Words
from tests.adapter.recipes import DATA, Compared, Difference, compare, differences


def page(pairs: Iterable[Compared], words: Words) -> str:
    """The text of the page, in the language of the words.

    Raises:
        KeyError: the language has no words for a reason.
    """
    pairs = tuple(pairs)
    releases = sorted({release for pair in pairs for release in pair.recipe["releases"]})
    models = {pair.recipe["model"] for pair in pairs}
    counts = {"recipes": len(pairs), "models": len(models), "releases": words.comma.join(releases)}
    left_out = (words.item.format(*map(words.say, each)) for each in DATA["not_compared"].items())
    return "\n".join(
        (
            words.top.format(**counts),
            words.copies,
            words.layouts + "\n".join(_layouts(pairs, words)) + "\n",
            words.others + "\n".join(_remaining(pairs, words)) + "\n",
            words.left_out + "\n".join(left_out) + "\n",
        )
    )


def _layouts(pairs: tuple[Compared, ...], words: Words) -> Iterator[str]:
    newest: dict[tuple[str, str, int], Compared] = {}
    for pair in pairs:
        machine = (*pair.model_and_chip, pair.recipe["devices"])
        if machine not in newest or _release(pair) > _release(newest[machine]):
            newest[machine] = pair
    for (model, chip, devices), pair in newest.items():
        asked, planned = (
            f"{get('tensor-parallel-size')} × {get('data-parallel-size')}{words.comma}"
            f"{get('max-model-len') or words.unnamed}"
            for get in (pair.asked, pair.planned)
        )
        yield f"| {model} | {devices} × {chip} | {asked} | {planned} |"


def _release(pair: Compared) -> str:
    return max(pair.recipe["releases"])


def _remaining(pairs: tuple[Compared, ...], words: Words) -> Iterator[str]:
    grouped: dict[str, list[Difference]] = defaultdict(list)
    for pair in pairs:
        for option in {difference.option for difference in differences(pair)}:
            grouped[option] += [
                next(found for found in differences(pair) if found.option == option)
            ]
    for option, found in sorted(grouped.items(), key=lambda item: (-len(item[1]), item[0])):
        reasons = sorted({_without_figures(difference.reason) for difference in found})
        name = words.options.get(option, f"`{option}`")
        yield f"| {name} | {len(found)} | {words.either.join(map(words.say, reasons))} |"


def _without_figures(reason: str) -> str:
    """The reason without the figures of one model, so that a row has each kind of reason once."""
    return re.sub(r"\b\d+(\.\d+)?(?= GiB| of| sequences| tokens| device|$)", "N", reason)


def main() -> None:
    """Write both pages."""
    found = []
    for recipe in DATA["recipes"]:
        with TemporaryDirectory() as folder:
            found.append(compare(recipe, Path(folder)))
    for words in (ENGLISH, CHINESE):
        words.page.write_text(page(found, words), encoding="utf-8")


if __name__ == "__main__":
    main()
