"""Repairs that make the server listen, answer and name the model as the service asks.

A function `*_repair` returns the repair in words, a function `*_edits` as exact edits of the scripts: without them
(), the words say it. `stages/weights/repairs.py` has the repairs for options that the weights and the NPUs decide.
"""

from __future__ import annotations

from healthcheck import contract
from healthcheck.engines.base import EVERYWHERE
from healthcheck.stages.plan import calls
from healthcheck.stages.plan.records import LaunchPlan, Origin, ServerCommand
from healthcheck.stages.plan.script.arguments import Arguments, Edits, reassigned
from healthcheck.stages.plan.script.sourced import Overwriting, without_variable
from healthcheck.stages.plan.servers.options import vllm_grammar
from healthcheck.text.messages import msg


def port_repair(server: ServerCommand) -> str:
    """How to make this engine listen on the required port."""
    if server.engine.settings_file is None and server.option("uds") is not None:
        return msg("remove --uds")
    if _in_python(server):
        return msg("write port={port} where the Python program starts it", port=contract.PORT)
    return server.engine.port_repair(contract.PORT)


def host_repair(server: ServerCommand) -> str:
    """How to make this engine listen on every interface."""
    if _in_python(server):
        return msg(
            'write host="{everywhere}" where the Python program starts it', everywhere=EVERYWHERE
        )
    return server.engine.host_repair(server.port or contract.PORT)


def name_repair(server: ServerCommand, option: str, model_path: str) -> str:
    """How to serve the model under the name that is asked for; `option` is the option that sets another name."""
    engine = server.engine
    own_option = engine.options.name.lstrip("-").replace("_", "-")
    spelled = f"--{option}" if option not in {"", own_option} else engine.options.name
    if own := contract.service().requested(""):
        return engine.name_repair(spelled, own)
    if option and engine.serving.named_by_path and model_path in server.argv:
        return msg("remove --{option} and its value", option=option)
    given = engine.path_as_name_repair(spelled)
    serves_path = engine.options.name_the_model and engine.serving.named_by_path
    if option or not serves_path:
        return given
    return msg('serve "$MODEL_PATH" itself, or {given}', given=given)


def port_edits(plan: LaunchPlan, server: ServerCommand) -> Edits:
    """Have the option or the variable of the port name the service's port; append the option without one."""
    source = server.port_source
    if source.kind is Origin.VARIABLE and not server.engine.options.port:
        name, _, old = source.text.partition("=")
        return reassigned(contract.ENTRY_POINT, plan.script, name, old, str(contract.PORT))
    return _option_edits(
        plan,
        server,
        server.engine.options.port,
        str(contract.PORT),
        source.kind is Origin.DEFAULT,
    )


def host_edits(plan: LaunchPlan, server: ServerCommand) -> Edits:
    """Have the server listen on every address."""
    option = server.engine.options.host
    return _option_edits(plan, server, option, EVERYWHERE, append=server.option(option) is None)


def config_edits(script: str, server: ServerCommand) -> Edits:
    """Write --config=FILE as two words, so that the engine reads the file."""
    arguments = Arguments.of(script, server)
    at = arguments.option("--config")
    return arguments.separated(at) if at is not None else ()


def _option_edits(
    plan: LaunchPlan, server: ServerCommand, option: str, value: str, append: bool
) -> Edits:
    arguments = Arguments.of(plan.script, server)
    set_elsewhere = not server.engine.options.port
    if _in_python(server) or set_elsewhere or server.option("uds") is not None:
        return ()
    at, given = arguments.option(option), server.option(option)
    if at is not None and given:
        return arguments.revalued(at, given, value)
    return (
        arguments.appended(f"{option} {value}")
        if append and given is None and server.option("config") is None
        else ()
    )


def name_edits(plan: LaunchPlan, server: ServerCommand, option: str) -> Edits:
    """Remove the option of another name, if the engine then serves the model under its path."""
    by_path = server.engine.serving.named_by_path and plan.model_path in server.argv
    if contract.service().requested("") or not option or not by_path:
        return ()
    return without_option(plan, server, option)


def key_edits(plan: LaunchPlan, server: ServerCommand, key: str) -> Edits:
    """Remove the option or the variable that demands a key."""
    return without_option(plan, server, key) if key.startswith("-") else without_variable(plan, key)


def model_edits(plan: LaunchPlan, server: ServerCommand, overwritten: Overwriting | None) -> Edits:
    """Serve $MODEL_PATH itself, or keep its value if a line overwrites it."""
    if overwritten:
        edits = without_variable(plan, contract.MODEL_PATH_VARIABLE)
        places = [(edit.file, edit.line) for edit in edits]
        return edits if places == [(overwritten.file, overwritten.line)] else ()
    given = server.env.get(contract.MODEL_PATH_VARIABLE)
    if not server.engine.options.name_the_model or given not in {None, plan.model_path}:
        return ()
    arguments, quoted = Arguments.of(plan.script, server), f'"${contract.MODEL_PATH_VARIABLE}"'
    for option in ("--model", "--model-path"):
        at, value = arguments.option(option), server.option(option)
        if at is not None and value:
            return arguments.revalued(at, value, quoted)
    if server.argv and server.argv[0] and not server.argv[0].startswith("-"):
        return arguments.rewritten(0, quoted)
    return ()


def without_option(plan: LaunchPlan, server: ServerCommand, option: str) -> Edits:
    """Remove an option of the server with its value."""
    arguments = Arguments.of(plan.script, server)
    at, name = arguments.option(option), option.lstrip("-").replace("_", "-")
    if at is None:
        return ()
    grammar, values = vllm_grammar(), arguments.values_after(at)
    many = server.engine.is_catalogued and name in grammar.many
    if many and values > 1 and name != "served-model-name":
        return ()  # the weights may be among its values
    return arguments.removed(at, values if many else min(values, 1), many=many)


def no_tls_repair(server: ServerCommand) -> str:
    """How to make this engine answer plain HTTP."""
    return server.engine.no_tls_repair()


def overwriting_repair(place: Overwriting) -> str:
    """How to repair a line that overwrites MODEL_PATH."""
    return msg(
        "remove line {line} of {file}: it overwrites the MODEL_PATH that the service sets",
        line=place.line,
        file=place.file,
    )


def _in_python(server: ServerCommand) -> bool:
    return calls.is_python_call(server.argv)
