# ruff: noqa: INP001 - scripts are no package
"""The messages of the command line beside reports: refusals, other errors, and what commands print by themselves.

They are read from the sources as those of a report are (report_messages.py): the first argument of an error of the
kit, of argparse, and of `say`, which a command prints. What argparse and the system say is listed here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from package_index import ROOT
from report_messages import Reader

from healthcheck.records import Stage
from healthcheck.scaffold import template
from healthcheck.service.catalogue import catalogue
from healthcheck.service.repairs import message_of
from healthcheck.simulator import FAULTS
from healthcheck.simulator.catalogue import NUMBERED
from healthcheck.simulator.manners import TEXTS
from healthcheck.verify import UNCOMMITTED

ERRORS = (
    *("UsageError", "Blocked", "KitFailure", "KitError"),
    *(
        "JsonError",
        "TomlError",
        "TomlBoundError",
        "YamlError",
        "SmiError",
        "UnreadableError",
        "Unreadable",
        "WeightsUnread",
        "SecretError",
    ),
    "ArgumentTypeError",
)
VALUE_ERRORS = ("probe/options", "fleet/options.py")
"""Where a ValueError or TypeError becomes part of a refusal."""
PRINTED = ("say", "_say", "labelled", "error")
PRINTING = ("cli", "fleet")
WHOLE = (
    "fix/repairs.py",
    "fleet/looks.py",
    "fleet/show.py",
    "probe/options/kinds.py",
    "fleet/options.py",
    "probe/figures.py",
)
"""Modules of which every string of prose is printed."""
NOT_SAID = (
    *("endpoint/prompts.py", "service/readiness.py", "plan/dry_run/stubs", "runner/links.py"),
    *("fleet/manifests.py", "plan/engine_config/inside"),
)
"""Prompts, programs and what other programs print."""
OF_ARGPARSE = (
    "ambiguous option: {} could match {}",
    "argument {}: {}",
    "expected at least one argument",
    "expected at most one argument",
    "expected one argument",
    "expected {} argument{s}",
    "ignored explicit argument {}",
    "invalid {} value: {}",
    "not allowed with argument {}",
    "one of the arguments {} is required",
    "the following arguments are required: {}",
    "{} is not one of {}{}",
)
OF_THE_SYSTEM = (
    "Connection refused",
    "File name too long",
    "Is a directory",
    "No space left on device",
    "No such file or directory",
    "Not a directory",
    "Permission denied",
    "Read-only file system",
)


class Arguments(Reader):
    """Follows the first arguments of calls back to the literals that they come from."""

    def of_calls(self, functions: Collection[str], below: Collection[str] = ("",)) -> dict[str, list[str]]:
        """The messages given to these functions in modules whose paths begin so, with those found before."""
        for name in functions:
            for path, call in self._index.calls[name]:
                if call.args and path.relative_to(ROOT).as_posix().startswith(tuple(below)):
                    self._read(path, call.args[0])
        return self._found

    def of_keyword(self, function: str, keyword: str) -> None:
        """The messages given to a function by this keyword."""
        for path, call in self._index.calls[function]:
            for word in call.keywords:
                if word.arg == keyword:
                    self._read(path, word.value)


def messages() -> dict[str, list[str]]:
    """Every message, with the modules that say it, as paths below the package."""
    reader = Arguments(apart=("locale",))
    reader.of_calls(ERRORS)
    reader.of_calls(PRINTED, below=PRINTING)
    reader.of_keyword("Report", "asked")
    found = reader.of_calls(("ValueError", "TypeError"), below=VALUE_ERRORS)
    for name in WHOLE:
        for text in reader.all_of(ROOT / name):
            found.setdefault(text, []).append(name)
    found = {text: places for text, places in found.items() if not all(p.startswith(NOT_SAID) for p in places)}
    listed = {text: ["cli/simulate.py"] for text in _simulated()} | {text: ["copier.yml"] for text in _asked()}
    listed |= {text: ["argparse"] for text in OF_ARGPARSE}
    listed |= {text: ["run.py"] for text in _ranges()} | {UNCOMMITTED: ["verify.py"]}
    listed |= {text: ["the system"] for text in OF_THE_SYSTEM}
    listed |= {message_of(text): ["data/failures.yaml"] for text in _of_failures()}
    return {text: sorted(set(places)) for text, places in (listed | found).items()}


def _simulated() -> Iterator[str]:
    """What `npu-adapter simulate --list` says of each name."""
    yield from (*TEXTS.values(), *(fault.text for fault in FAULTS.values()), *NUMBERED.values())


def _asked() -> Iterator[str]:
    """What `npu-adapter new` asks on a terminal."""
    for question in template.questions():
        yield question.help
        yield from question.labels


def _of_failures() -> Iterator[str]:
    """The causes and the repairs of the known failures."""
    for failure in catalogue().failures:
        yield from (failure.cause, failure.fix)


def _ranges() -> Iterator[str]:
    """The stages that a run was asked for: a bare "{} to {}" would be found in too many sentences."""
    stages = [stage.value for stage in Stage]
    for place, first in enumerate(stages):
        yield f"{first} only"
        yield from (f"{first} to {last}" for last in stages[place + 1 :])
