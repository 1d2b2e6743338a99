"""The names of LoRA adapters that a server has besides its model, and their repair."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from healthcheck import contract
from healthcheck.errors import KitError
from healthcheck.stages.plan.records import LaunchPlan, ServerCommand
from healthcheck.stages.plan.script.arguments import Arguments, Edits
from healthcheck.system import json_text
from healthcheck.text.messages import msg

OTHER_NAME = "base-model"
"""The name that a repair gives the base model."""
_NAMES = "--served-model-name"


def names(values: Sequence[str]) -> tuple[str, ...]:
    """The names in the values of --lora-modules. Source: LoRAParserAction of vLLM."""
    return tuple(filter(None, map(_name, values)))


def _name(value: str) -> str:
    if "=" in value and "," not in value:
        return value.partition("=")[0]
    try:
        given = json_text.load(value)
    except KitError:
        return ""
    name = given.get("name") if isinstance(given, dict) else None
    return name if isinstance(name, str) else ""


def edits(plan: LaunchPlan, server: ServerCommand, wanted: str) -> Edits:
    """Serve the only adapter under the requested name, and the base model under another one."""
    arguments = Arguments.of(plan.script, server)
    at = arguments.option(server.engine.options.adapters)
    own = contract.service().requested("")
    given = server.env.get(contract.MODEL_PATH_VARIABLE)
    if at is None or len(server.adapters) != 1 or (not own and given not in {None, wanted}):
        return ()
    quoted = shlex.quote(own) if own else f'"${contract.MODEL_PATH_VARIABLE}"'
    old = server.adapters[0]
    if wanted not in server.served_names:
        return arguments.renamed_value(at, old, quoted)
    if server.option(_NAMES) is not None:
        of_the_model = _other_name(arguments, server)
        if old == wanted or not of_the_model:
            return of_the_model
        of_the_adapter = arguments.renamed_value(at, old, quoted)
        return (*of_the_model, *of_the_adapter) if of_the_adapter else ()
    before = f"{_NAMES} {OTHER_NAME} "
    if old == wanted:
        return arguments.preceded(at, before)
    return arguments.renamed_value(at, old, quoted, before)


def _other_name(arguments: Arguments, server: ServerCommand) -> Edits:
    """Replace the only name of --served-model-name."""
    at = arguments.option(_NAMES)
    if at is None or len(server.served_names) != 1:
        return ()
    values = 0 if "=" in arguments.argv[at] else 1
    return arguments.rewritten(at, f"{_NAMES} {OTHER_NAME}", values)


def order(server: ServerCommand, wanted: str) -> str:
    """The repair in words, if the arguments are not found in deploy.sh for certain."""
    own = contract.service().requested("")
    name = shlex.quote(own) if own else f'"${contract.MODEL_PATH_VARIABLE}"'
    option = f"--{server.engine.options.adapters}"
    of_the_model = msg("pass {option} {name}", option=_NAMES, name=OTHER_NAME)
    if wanted in server.adapters:
        return of_the_model
    of_the_adapter = msg(
        "write {name} in {option} as the name of the adapter to measure", name=name, option=option
    )
    if wanted not in server.served_names:
        return of_the_adapter
    return msg("{first}, and {second}", first=of_the_model, second=of_the_adapter)
