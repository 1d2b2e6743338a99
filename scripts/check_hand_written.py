# ruff: noqa: INP001 - a folder of programs, no package
"""Says what a release contradicts in the files that are written by hand.

    .venv/bin/python scripts/check_hand_written.py 0.30.0rc2
    .venv/bin/python scripts/check_hand_written.py 0.30.0rc2 --looked-through

scripts/hand-written.json has each file with its source, and the release and day that somebody looked through it
for; the second command sets both to this release and today. scripts/add_release.py puts the lines into its summary.
Exit status: 0 done, 1 the release is not available.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import make_config_catalogue
import release_row
from released import ReleaseError, unpacked

from healthcheck.ascend.stacks import in_range
from healthcheck.system import files, yaml_text

ROOT = Path(__file__).parent.parent
DATA = ROOT / "healthcheck" / "data"
NOTED = Path(__file__).with_name("hand-written.json")
RECIPES = Path(__file__).parent / "data" / "recipes.json"
TUTORIALS = "docs/source/tutorials/models"
_SENTENCE = re.compile(r"“([^”]{12,})”")
_SOURCE_FILE = re.compile(r"(vllm_ascend/[\w/]+\.py)")


def contradictions(version: str, tree: Path) -> Iterator[str]:
    """What the unpacked release says against the files, one line each."""
    noted = json.loads(NOTED.read_text("utf-8"))
    for name, check in _CHECKS.items():
        yield f"{name} (looked through for {noted[name]['release']} on {noted[name]['read_on']}):"
        yield from (f"  {line}" for line in [*check(version, tree)] or ["nothing contradicts it"])


def _launch_rules(version: str, tree: Path) -> Iterator[str]:
    """Rules with a sentence that the release lost or has again, and rules that hold for it by their range alone."""
    text = "\n".join(
        path.read_text("utf-8") for path in sorted((tree / "vllm_ascend").rglob("*.py"))
    )
    for rule in json.loads((DATA / "launch-rules.json").read_bytes())["rules"]:
        meant, quoted = in_range(version, rule["releases"]), _SENTENCE.findall(rule["because"])
        if meant and not quoted:
            yield f"{rule['releases']} has {version} in its range: {rule['because']}"
        for sentence in quoted:
            there = sentence in text
            if meant != there:
                says = "has no more" if meant else "has, outside its range,"
                yield f"{rule['releases']}: {version} {says} “{sentence}”"


def _failures(_: str, tree: Path) -> Iterator[str]:
    """Failures whose repair sets a variable that the release does not read, or whose source file is gone."""
    read = set(release_row.variables(tree / "vllm_ascend"))
    failures = yaml_text.load((DATA / "failures.yaml").read_text("utf-8"))
    for failure in failures["failures"]:  # type: ignore[call-overload, index]
        said = f"{failure['fix']} {failure.get('variables', '')}"  # type: ignore[index, union-attr, call-overload]
        unread = sorted(set(release_row.OWN_VARIABLE.findall(said)) - read)
        named = _SOURCE_FILE.findall(" ".join(map(str, failure.get("sources", ()))))  # type: ignore[union-attr]
        gone = sorted({path for path in named if not (tree / path).is_file()})
        yield from (
            f"{failure['id']}: its repair sets {name}, which is not read" for name in unread
        )  # type: ignore[index, call-overload]
        yield from (f"{failure['id']}: its source {path} is gone" for path in gone)  # type: ignore[index, call-overload]


def _recipes(version: str, tree: Path) -> Iterator[str]:
    """Tutorials without a recipe, and recipes with keys that the release refuses."""
    recipes = json.loads((RECIPES).read_bytes())["recipes"]
    keys = make_config_catalogue.row(version, tree)
    top: set[str] = set(keys["groups"].get("", ()))  # type: ignore[attr-defined]
    refused = dict[str, None]()
    for recipe in recipes if keys["refusals"].get("") else ():  # type: ignore[attr-defined]
        unknown = sorted(set(recipe["arguments"].get("additional-config", {})) - top)
        if unknown and (tree / recipe["source"]).is_file():
            refused[
                f"{recipe['model']} on {recipe['chip']}: it refuses the key {', '.join(unknown)}"
            ] = None
    yield from refused
    known = {Path(recipe["source"]).name for recipe in recipes}
    tutorials = sorted(
        path.name for path in (tree / TUTORIALS).glob("*.md") if path.name != "index.md"
    )
    new = [name for name in tutorials if name not in known]
    if new:
        yield f"tutorials without a recipe: {', '.join(new)}"


def _mixtures(_: str, tree: Path) -> Iterator[str]:
    """Architectures in the planner's tables that no tutorial's recipe bears out."""
    data = json.loads((RECIPES).read_bytes())
    of_model = {name: model["config"]["architectures"][0] for name, model in data["models"].items()}
    options: dict[str, set[str]] = {}
    for recipe in data["recipes"]:
        if (tree / recipe["source"]).is_file():
            options.setdefault(of_model[recipe["model"]], set()).update(recipe["arguments"])
    tables = _constants(ROOT / "adapter" / "parallel.py")
    for name in tables["COPIED_MIXTURES"]:
        if name in options and "data-parallel-size" not in options[name]:
            yield f"COPIED_MIXTURES: no recipe serves {name} in copies"
    for name in tables["WITHOUT_EXPERT_PARALLEL"]:
        if "enable-expert-parallel" in options.get(name, ()):
            yield f"WITHOUT_EXPERT_PARALLEL: a recipe serves {name} with --enable-expert-parallel"


def _constants(path: Path) -> Mapping[str, Any]:
    """The tables of a module, by name; nothing is imported."""
    found = {}
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            value = (
                node.value.args[0]
                if isinstance(node.value, ast.Call) and node.value.args
                else node.value
            )
            if isinstance(value, (ast.Dict, ast.Set)):
                found[node.targets[0].id] = ast.literal_eval(value)
    return found


_CHECKS = {
    "launch-rules.json": _launch_rules,
    "failures.yaml": _failures,
    "recipes.json": _recipes,
    "adapter/parallel.py": _mixtures,
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("release", metavar="VERSION", help="of vllm-ascend")
    parser.add_argument(
        "--looked-through", action="store_true", help="note that somebody did, today"
    )
    wanted = parser.parse_args()
    try:
        with unpacked("vllm-ascend", wanted.release) as tree:
            print("\n".join(contradictions(wanted.release, tree)))
    except ReleaseError as error:
        print(f"check_hand_written: {error}", file=sys.stderr)
        return 1
    if wanted.looked_through:
        noted = json.loads(NOTED.read_text("utf-8"))
        for each in noted.values():
            each |= {"release": wanted.release, "read_on": date.today().isoformat()}  # noqa: DTZ011 - a day is enough
        files.write_atomically(
            NOTED, (json.dumps(noted, indent=1, ensure_ascii=False) + "\n").encode()
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
