"""Writes the options and variables that a vLLM release accepts, for plan/flags and plan/engine-variables.

    PYTHON scripts/make_flag_catalogue.py healthcheck/data/

PYTHON must be able to import that vLLM; nothing is started. A build without kernels is enough.
"""
# ruff: noqa: INP001 - a script, no package

from __future__ import annotations

import argparse
import dataclasses
import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from datetime import date
from operator import attrgetter
from pathlib import Path

import make_field_catalogue as fields
import make_variable_catalogue as variables

os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
PARSERS = (
    "vllm.entrypoints.openai.cli_args",
    "vllm.entrypoints.launchers.api_server.cli_args",
    "vllm.entrypoints.launchers.cli_args",
    "vllm.entrypoints.common.cli_args",
)
KINDS = {
    "int": "int", "float": "float", "loads": "json", "parse_dataclass": "json",
    "union_dict_and_str": "json-or-text", "human_readable_int": "count",
    "human_readable_int_or_auto": "count-or-auto",
}  # fmt: skip
MADE_LATER = {"--speculative-config": "SpeculativeConfig"}
"""Objects that the parser leaves as they are, and the class that vLLM makes of them."""
Option = dict[str, object]


def main() -> None:
    folder = Path(sys.argv[1])
    parser = _parser()
    version = importlib.import_module("vllm").__version__.partition("+")[0]
    ranges = dict(_ranges())
    options = [
        _option(parser, action, ranges)
        for action in parser._actions  # noqa: SLF001
        if action.option_strings
    ]
    head = {
        "vllm": version,
        "origin": f"the argument parser of vLLM {version}, asked by scripts/make_flag_catalogue.py",
        "made_on": date.today().isoformat(),  # noqa: DTZ011 - a day is enough
        "known": dict(_known()),
    }
    found = variables.variables(importlib.import_module("vllm.envs").environment_variables)
    text = variables.text({**head, "variables": found, "options": options})
    path = folder / f"vllm-{version}.json"
    path.write_text(text, encoding="utf-8")
    print(
        f"{path}: {len(options)} options, {len(found)} variables, {len(ranges)} ranges, {sorted(head['known'])}"
    )  # type: ignore[call-overload]


def _parser() -> argparse.ArgumentParser:
    platforms = importlib.import_module("vllm.platforms")
    if platforms.current_platform.is_unspecified():
        platforms.current_platform = importlib.import_module("vllm.platforms.cpu").CpuPlatform()
    flexible = importlib.import_module("vllm.utils.argparse_utils").FlexibleArgumentParser
    failures = []
    for name in PARSERS:
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:  # noqa: PERF203 - three names
            failures.append(f"{name}: {error}")
        else:
            parser: argparse.ArgumentParser = module.make_arg_parser(flexible(prog="vllm serve"))
            return parser
    raise SystemExit("no parser in this vLLM:\n" + "\n".join(failures))


def _option(
    parser: argparse.ArgumentParser, action: argparse.Action, ranges: dict[str, list[float | None]]
) -> Option:
    option: Option = {"flags": [*action.option_strings, *_hidden(parser, action)]}
    inner = _inner_type(action.type)
    if action.nargs == 0:
        option["kind"] = "switch"
    else:
        option["kind"] = KINDS.get(getattr(inner, "__name__", ""), "text")
        if action.nargs is not None:
            option["nargs"] = action.nargs
        if inner is not action.type:
            option["optional"] = True
        if action.choices:
            option["choices"] = [str(choice) for choice in action.choices if choice is not None]
        option |= _fields(action.option_strings, inner)
        if action.dest in ranges and option["kind"] in {"int", "float", "count"}:
            option["range"] = ranges[action.dest]
        if type(action).__name__ == "_AppendAction":
            option["repeats"] = True
    if getattr(action, "deprecated", False) or "deprecated" in (action.help or "").lower()[:80]:
        option["deprecated"] = True
    return option


def _hidden(parser: argparse.ArgumentParser, action: argparse.Action) -> list[str]:
    """Spellings that the parser accepts and its help omits, such as 0.33's --no-enable-x for --disable-x."""
    taken = parser._option_string_actions.items()  # noqa: SLF001
    return [flag for flag, each in taken if each is action and flag not in action.option_strings]


def _inner_type(of: object) -> object:
    """The type inside vLLM's wrappers for optional values, which keep it in a closure."""
    while getattr(of, "__name__", "") in {"_optional_type", "_parse_type"}:
        cells = [cell.cell_contents for cell in getattr(of, "__closure__", None) or ()]
        of = next((cell for cell in cells if callable(cell)), str)
    return of


def _fields(flags: Sequence[str], inner: object) -> Option:
    """The fields that an option accepts whose value is a configuration object."""
    defaults = getattr(inner, "__defaults__", None) or ()
    record = next((each for each in defaults if dataclasses.is_dataclass(each)), None)
    for flag, name in MADE_LATER.items():
        record = getattr(importlib.import_module("vllm.config"), name) if flag in flags else record
    return {"fields": fields.fields(record)} if record else {}  # type: ignore[arg-type]


def _ranges() -> Iterator[tuple[str, list[float | None]]]:
    """The limits of each configuration field: at least, more than, at most, less than."""
    config = importlib.import_module("vllm.config")
    records = [
        each
        for each in vars(config).values()
        if isinstance(each, type) and dataclasses.is_dataclass(each)
    ]
    for record in records:
        for name, field in getattr(record, "__pydantic_fields__", {}).items():
            if limits := fields.limits(field.metadata):
                yield name, limits


def _known() -> Iterator[tuple[str, list[str]]]:
    """Names that vLLM looks up only after it has parsed its arguments."""
    for flag, (module, names) in REGISTRIES.items():
        try:
            found = attrgetter(names)(importlib.import_module(module))
        except (ImportError, AttributeError) as error:  # noqa: PERF203 - five names
            print(f"no names for {flag}: {error}", file=sys.stderr)
        else:
            yield flag, sorted(found() if callable(found) else found)


REGISTRIES = {
    "--quantization": ("vllm.model_executor.layers.quantization", "QUANTIZATION_METHODS"),
    "--load-format": ("vllm.model_executor.model_loader", "_LOAD_FORMAT_TO_MODEL_LOADER"),
    "--tool-call-parser": ("vllm.tool_parsers", "ToolParserManager.list_registered"),
    "--reasoning-parser": ("vllm.reasoning", "ReasoningParserManager.list_registered"),
    "--attention-backend": (
        "vllm.v1.attention.backends.registry",
        "AttentionBackendEnum.__members__",
    ),
}

if __name__ == "__main__":
    main()
