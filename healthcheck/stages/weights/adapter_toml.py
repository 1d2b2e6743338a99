"""Exact repairs of options in adapter.toml, for a repository that plans its launch with it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from healthcheck.core.edits import inserted_below, replaced, without_lines
from healthcheck.core.records import Edit
from healthcheck.stages.plan.records import SETTINGS, LaunchPlan
from healthcheck.text.messages import msg

_PLANNED = re.compile(r"\badapter\b")
_TABLE = re.compile(r"[ \t]*\[")
_SIMPLE = r"""(?P<value>"[^"\\]*"|'[^']*'|[\w.+-]+|\[[^\[\]#]*\])"""
_WORD = re.compile(r'"([^"\\]*)"|\'([^\']*)\'')
KEYS = frozenset(
    {
        "additional_config", "compilation_config", "data_parallel_size", "dtype", "enable_expert_parallel",
        "enforce_eager", "gpu_memory_utilization", "limit_mm_per_prompt", "load_format",
        "mamba_ssm_cache_dtype", "max_model_len", "max_num_batched_tokens", "max_num_seqs",
        "mm_processor_cache_gb", "no_enable_prefix_caching", "quantization", "speculative_config",
        "tensor_parallel_size", "tokenizer_mode", "trust_remote_code",
    }
)  # fmt: skip
"""The keys of the reference adapter that are options of `vllm serve`."""
_MANY_LINES = re.compile(r"'''|\"{3}")
"""The quotes of a text of several lines."""
EXTRA = "extra_args"
DEFAULT = "default"
"""The value that leaves an option to vLLM."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The repair of an option in adapter.toml, as an order, with its place and its edits."""

    order: str
    where: str
    edits: tuple[Edit, ...] = ()


def decides(plan: LaunchPlan | None, option: str) -> bool:
    """Whether adapter.toml, not deploy.sh, decides about an option."""
    if plan is None or not plan.settings.strip():
        return False
    if plan.script and not _PLANNED.search(plan.script):
        return False
    return not any(f"--{name}" in plan.script for name in (option, option.replace("-", "_")))


def passed(plan: LaunchPlan, option: str, value: str) -> Setting:
    """Set the key of an option, or pass the option in extra_args if it has no key."""
    return _exact(plan, _passed(plan, option, value))


def _passed(plan: LaunchPlan, option: str, value: str) -> Setting:
    key = option.replace("-", "_")
    line, old = _value(plan, key)
    if not line and not _commented(plan, key) and key not in KEYS:
        return _added_to_extra(plan, option, value)
    new = f"{key} = {_toml(value)}"
    at = _commented(plan, key)
    order = msg("write {line} in {file}", line=new, file=_place(line or at))
    if old is None and not line:
        return Setting(order=order, where=_place(at), edits=(inserted_below(SETTINGS, at, new),))
    edits = (_replaced(plan, line, old, _toml(value)),) if old is not None else ()
    return Setting(order=order, where=_place(line), edits=edits)


def without(plan: LaunchPlan, option: str) -> Setting:
    """Remove the key of an option, or the option from extra_args."""
    return _exact(plan, _without(plan, option))


def _without(plan: LaunchPlan, option: str) -> Setting:
    key = option.replace("-", "_")
    line, old = _value(plan, key)
    if not line and (extra := _without_extra(plan, option)):
        return extra
    if not line and key in KEYS:  # the planner chose it
        return _passed(plan, option, DEFAULT)
    order = msg("remove {name} from {place}", name=key, place=_place(line))
    edits = (without_lines(SETTINGS, plan.settings, line, line),) if old is not None else ()
    return Setting(order=order, where=_place(line), edits=edits)


def _exact(plan: LaunchPlan, setting: Setting) -> Setting:
    """The repair without edits if a text of several lines may contain what looks like a key."""
    return replace(setting, edits=()) if _MANY_LINES.search(plan.settings) else setting


def _value(plan: LaunchPlan, key: str) -> tuple[int, re.Match[str] | None]:
    """The line of a key, 0 for none, and its value if that is simple and ends in the line."""
    setting = re.compile(rf"[ \t]*{key}[ \t]*=[ \t]*(?:{_SIMPLE}[ \t]*(?:#.*)?$)?")
    for number, line in _top(plan):
        if found := setting.match(line):
            return number, found if found["value"] is not None else None
    return 0, None


def _commented(plan: LaunchPlan, key: str) -> int:
    """The line in which the key is commented out, 0 for none."""
    setting = re.compile(rf"[ \t]*#[ \t]*{key}[ \t]*=")
    return next((number for number, line in _top(plan) if setting.match(line)), 0)


def _top(plan: LaunchPlan) -> Iterator[tuple[int, str]]:
    """The lines above the first table that do not begin inside a text of several lines."""
    closing = ""
    for number, line in enumerate(plan.settings.split("\n"), 1):
        if not closing and _TABLE.match(line):
            return
        if not closing:
            yield number, line
        for quotes in _MANY_LINES.findall(line):
            closing = "" if quotes == closing else closing or quotes


def _replaced(plan: LaunchPlan, number: int, found: re.Match[str], new: str) -> Edit:
    start = sum(len(line) + 1 for line in plan.settings.split("\n")[: number - 1])
    return replaced(
        SETTINGS, plan.settings, start + found.start("value"), start + found.end("value"), new
    )


def _added_to_extra(plan: LaunchPlan, option: str, value: str) -> Setting:
    line, old = _value(plan, EXTRA)
    words = [*_words(old), f"--{option}", *([value] if value else [])]
    new = f"{EXTRA} = {json.dumps(words, ensure_ascii=False)}"
    at = line or _commented(plan, EXTRA)
    order = msg("write {line} in {file}", line=new, file=_place(at))
    if old is not None:
        edits = (_replaced(plan, line, old, new.partition(" = ")[2]),)
        return Setting(order=order, where=_place(at), edits=edits)
    if line:  # an array of several lines
        order = msg("add {option} to {key} in {file}", option=f"--{option} {value}".rstrip(),
                    key=EXTRA, file=_place(line))  # fmt: skip
        return Setting(order=order, where=_place(line))
    return Setting(order=order, where=_place(at), edits=(inserted_below(SETTINGS, at, new),))


def _without_extra(plan: LaunchPlan, option: str) -> Setting | None:
    line, old = _value(plan, EXTRA)
    words = _words(old)
    named = [at for at, word in enumerate(words) if _spelled(word) == option]
    if len(named) != 1 or old is None:
        place = plan.settings_line(rf"(?!\s*#).*--{option}")
        order = msg("remove {name} from {place}", name=f"--{option}", place=place)
        return Setting(order=order, where=place) if place else None
    at = named[0]
    follows = words[at + 1 : at + 2]
    valued = "=" not in words[at] and bool(follows) and not follows[0].startswith("-")
    left = words[:at] + words[at + (2 if valued else 1) :]
    new = json.dumps(left, ensure_ascii=False)
    order = msg("write {line} in {file}", line=f"{EXTRA} = {new}", file=_place(line))
    return Setting(order=order, where=_place(line), edits=(_replaced(plan, line, old, new),))


def _words(found: re.Match[str] | None) -> list[str]:
    text = found["value"] if found else ""
    return [one or two for one, two in _WORD.findall(text)] if text.startswith("[") else []


def _spelled(word: str) -> str:
    return word.partition("=")[0].removeprefix("--").replace("_", "-") if word[:2] == "--" else ""


def _place(line: int) -> str:
    return f"{SETTINGS}:{line}" if line else SETTINGS


def _toml(value: str) -> str:
    """A value of the command line as TOML: a number, a switch, or a text."""
    if not value:
        return "true"
    if re.fullmatch(r"\d+(?:\.\d+)?", value):
        return value
    if '"' in value and "'" not in value:
        return f"'{value}'"
    return json.dumps(value, ensure_ascii=False)
