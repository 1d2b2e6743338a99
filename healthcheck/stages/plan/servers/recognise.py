"""Determines what a recorded command would serve: engine, model, port, host, names, key."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from healthcheck import contract
from healthcheck.core.records import JsonValue
from healthcheck.engines.base import EVERYWHERE, Api, FrontKind, Launch, by_variable
from healthcheck.engines.known import find
from healthcheck.errors import KitError
from healthcheck.sandbox.job import Record
from healthcheck.stages.plan import adapter_names, calls
from healthcheck.stages.plan.commands import NAME_CHARACTERS, command_text
from healthcheck.stages.plan.records import Front, Origin, PortSource, ServerCommand
from healthcheck.stages.plan.servers import named_files, settings_file
from healthcheck.stages.plan.servers.fronts import litellm, nginx
from healthcheck.stages.plan.servers.options import (
    UNRESOLVED,
    CommandLine,
    command_line,
    grammar_of,
    opposite,
    parse,
)
from healthcheck.stages.plan.servers.python_path import BESIDE
from healthcheck.system import json_text, yaml_text
from healthcheck.system.processes import shortened
from healthcheck.system.yaml_text import YamlBoundError
from healthcheck.text.messages import Message, msg

_LISTEN = re.compile(r"(?:listen|bind)\s+(?:\S*:)?(\d{2,5})\b")
_POOLING_TASKS = {
    "embed",
    "embedding",
    "classify",
    "score",
    "reward",
    "pooling",
    "encode",
    "token_classify",
}
_OPEN_ENDED = re.compile(r":path|<path:|\{tail|\.\*|\.\+|<unresolved:")
"""A route that matches any path, or an unknown route."""
_ENGINE_MODULES = re.compile(
    r"^(LLM|AsyncLLM|AsyncLLMEngine|LLMEngine|AsyncEngineArgs|EngineArgs|Llama|Engine)$"
)


def server_of(record: Record, loaded: Sequence[str]) -> ServerCommand:
    """The server of a record; `loaded` are models that the same Python process loads."""
    launch, argv = find(record.argv)
    if record.argv[0].startswith(calls.CALL):
        return _app(record, launch, loaded)
    if launch.engine.settings_file and record.texts:
        return settings_file.server_of(record, launch, launch.engine.settings_file, argv)
    server = _overridden(_by_options(record, launch, argv, loaded), launch)
    return _as_front(server, record)


def _overridden(server: ServerCommand, launch: Launch) -> ServerCommand:
    """The server without what a file that counts more than its command line may change."""
    file = server.options.get(launch.overriding_option, "") if launch.overriding_option else ""
    if not file:
        return server
    unknown = f"{UNRESOLVED} {file} may set it>"
    return replace(
        server,
        model=unknown,
        port=None,
        port_source=PortSource(kind=Origin.UNKNOWN, text=unknown),
        served_names=(),
    )


def _as_front(server: ServerCommand, record: Record) -> ServerCommand:
    """The server with its route, if it passes chats on to others."""
    program = record.argv[0].rpartition("/")[2]
    if server.engine.front is FrontKind.LITELLM:
        key = litellm.key(server.options, record.texts, record.env)
        doubt = "" if key else litellm.doubt(server.options, record.texts, record.env)
        front = replace(litellm.read(server.options, record.texts, record.env), doubt=doubt)
        return replace(server, front=front, api_key=key or None)
    if server.engine.front is FrontKind.NGINX:
        reading = nginx.read(server.argv, record.cwd, record.texts)
        if reading.listener is None:
            text = msg("{name} reads it from its own configuration", name=program)
            unknown = PortSource(kind=Origin.UNKNOWN, text=text)
            return replace(server, front=reading.front, port=None, port_source=unknown)
        listener = reading.listener
        source = PortSource(kind=Origin.FILE, text=f"listen {listener.port}", where=listener.place)
        return replace(
            server, front=reading.front, host=listener.host, port=listener.port, port_source=source
        )
    if server.engine.front is FrontKind.UNREAD:
        reason = msg("the kit does not read the configuration of {program}", program=program)
        return replace(server, front=Front(kind=program, unknown=reason))
    return server


def _by_options(
    record: Record, launch: Launch, argv: tuple[str, ...], loaded: Sequence[str]
) -> ServerCommand:
    """The server that its command line, its --config file and its environment describe."""
    routes = tuple(word.removeprefix("#route ") for word in argv if word.startswith("#route "))
    written = tuple(word for word in argv if not word.startswith("#route "))
    argv = tuple(word.rstrip("\r") for word in written)
    line = command_line(argv, launch)
    config = _config(launch, line, record)
    from_file = {
        name: value for name, value in config.values.items() if opposite(name) not in line.options
    }
    options = {**from_file, **line.options}
    model = _model(launch, line, options, record)
    port, port_source = _port(launch, line, config, record)
    return ServerCommand(
        engine=launch.engine,
        api=_api(launch, options, routes),
        argv=argv,
        command=command_text(record.argv),
        env=record.env,
        cwd=record.cwd,
        model=_resolved(model, record) if model else next(iter(loaded), model),
        port=port,
        port_source=port_source,
        host=_host(launch, options, line, record.env, unread=config.unread),
        served_names=_names(launch, line, options, record.env, None if config.unread else model),
        adapters=_adapters(launch, line, options),
        api_key=_key(launch, options, record.env),
        missing_files=tuple(named_files.missing(line, options, record)),
        missing_variables=tuple(named_files.missing_by_variable(record)),
        missing_code=tuple(named_files.code(launch.engine, line, options, record, "")),
        beside_code=tuple(named_files.code(launch.engine, line, options, record, BESIDE)),
        left_out_code=tuple(named_files.left_out(launch.engine, line, options, record)),
        hub_names=tuple(named_files.on_the_hub(line, options, record)),
        config_problem=config.problem,
        unread_config=config.unread,
        ignored_config=_ignored_config(launch, argv, line),
        carriage_returns=tuple(_carriage_returns(parse(written, grammar_of(launch)))),
        options=options,
    )


def _carriage_returns(line: CommandLine) -> Iterator[tuple[str, str]]:
    """The arguments that end in a carriage return, as in `ServerCommand`."""
    words = [("", value) for value in line.positional]
    words += [("", f"--{name}") for name in line.lists]
    words += [(f"--{name}", value) for name, values in line.lists.items() for value in values]
    for option, word in words:
        if word.endswith("\r"):
            yield option, word.rstrip("\r")


def _app(record: Record, launch: Launch, loaded: Sequence[str]) -> ServerCommand:
    """The server of a web application that the submission's own Python code runs."""
    call = json_text.load(record.argv[1]) if len(record.argv) > 1 else {}
    found = call if isinstance(call, dict) else {}
    routes, given = found.get("routes"), found.get("options")
    written = (
        {str(k).replace("_", "-"): str(v) for k, v in given.items()}
        if isinstance(given, dict)
        else {}
    )
    options = {name: value.rstrip("\r") for name, value in written.items()}
    text = options.get("port")
    by_call = PortSource(kind=Origin.OPTION, text=f"port={text}")
    port, source = _number(text, by_call) if text else (launch.port, _default(launch))
    shown = ", ".join(f"{name}={options[name]}" for name in ("host", "port") if name in options)[
        :NAME_CHARACTERS
    ]
    call_text = (
        f"{launch.engine.name if launch.programs else record.argv[0].partition(':')[2]}({shown})"
    )
    return ServerCommand(
        engine=launch.engine,
        api=_api(launch, {}, tuple(map(str, routes)) if isinstance(routes, list) else ()),
        argv=record.argv,
        command=f"{call_text} in Python",
        env=record.env,
        cwd=record.cwd,
        model=next(iter(loaded), None),
        port=port,
        port_source=source,
        host=options.get("host") or launch.host,
        carriage_returns=tuple(
            (name, options[name]) for name, value in written.items() if value.endswith("\r")
        ),
        options=options,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Config:
    """The contents of a --config file.

    Attributes:
        values: its settings by their long names; `places` has the line of each.
        problem: why vLLM cannot read the file, "" if it can or there is none.
        unread: the file's name if only its beginning was recorded; its contents are then unknown.
    """

    values: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""
    unread: str = ""


def _config(launch: Launch, line: CommandLine, record: Record) -> _Config:
    """Source of the problems: FlexibleArgumentParser.load_config_file of vLLM, which requires a YAML mapping."""
    name = line.options.get("config") or ""
    unread = name if name in record.cut else ""
    text = record.texts.get(name)
    if text is None or not launch.engine.options.config_file:
        return _Config(unread=unread)
    try:
        data = {} if unread else _document(name, text)
    except YamlBoundError:  # the kit's bounds are not vLLM's
        return _Config(unread=name)
    values, places = dict[str, str](), dict[str, str]()
    for key, value in data.items() if isinstance(data, dict) else ():
        if value is not False and value is not None:
            plain = grammar_of(launch).full_name(str(key).replace("_", "-"))
            values[plain], places[plain] = _plain(value), f"{name}:{_line_of(text, str(key))}"
    problem, suffixes = "", launch.engine.options.config_suffixes
    if suffixes and not name.endswith(suffixes):
        problem = msg("{name} is not a .yaml file", name=name)
    elif suffixes and isinstance(data, Message):
        problem = msg("{name} {problem}", name=name, problem=data)
    elif suffixes and not isinstance(data, dict):
        problem = msg("{name} holds no names with values", name=name)
    return _Config(values=values, places=places, problem=problem, unread=unread)


def _ignored_config(launch: Launch, argv: tuple[str, ...], line: CommandLine) -> str:
    """The --config file that the engine ignores, by the arguments and by the options that hold; "" for none."""
    given = parse(argv, grammar_of(launch)).options.get("config", "")
    return given if given != line.options.get("config", "") else ""


def _document(name: str, text: str) -> JsonValue:
    try:
        return json_text.load(text) if name.endswith(".json") else yaml_text.load(text)
    except YamlBoundError:
        raise
    except KitError as error:
        return msg("cannot be read: {error}", error=error)


def _plain(value: JsonValue) -> str:
    if value is True:
        return ""
    if isinstance(value, list):
        return " ".join(map(str, value))
    return json_text.dump_line(value).decode().strip() if isinstance(value, dict) else str(value)


def _line_of(text: str, key: str) -> int:
    return next(
        (
            n
            for n, line in enumerate(text.splitlines(), 1)
            if line.strip(" \t\"'{,").startswith(key)
        ),
        1,
    )


def _model(
    launch: Launch, line: CommandLine, options: Mapping[str, str], record: Record
) -> str | None:
    """The model as written in the command, the file or the environment."""
    if launch.positional_model and line.positional:
        return line.positional[0]
    if by_option := next(filter(None, map(options.get, launch.model_options)), None):
        return by_option
    if variable := by_variable(launch.model_variables, record.env):
        return variable[1]
    swallowed = (value for value in line.options.values() if value in record.paths and "/" in value)
    if launch.positional_model and (stray := next(swallowed, None)):  # by an unknown switch
        return stray
    if any(name in options for name in launch.model_options):
        return ""
    return launch.default_model if launch.api is Api.OPENAI_CHAT else None


def _resolved(model: str, record: Record) -> str:
    if model in record.paths:
        return record.paths[model]
    if model.startswith(("/", "./", "../")):
        return os.path.normpath(os.path.join(record.cwd, model))
    return model


def _port(
    launch: Launch, line: CommandLine, config: _Config, record: Record
) -> tuple[int | None, PortSource]:
    socket = launch.engine.options.socket
    if socket and (socket in line.options or socket in config.values):
        return None, PortSource(kind=Origin.OPTION, text=line.spelled.get(socket, f"--{socket}"))
    given = _given_port(launch, line, config, record)
    if given is not None:
        return _number(*given)
    if config.unread:
        text = f"{UNRESOLVED} {config.unread} is too long to be read here>"
        return None, PortSource(kind=Origin.UNKNOWN, text=text)
    if launch.port is None:
        text = msg("{name} reads it from its own configuration", name=launch.engine.name)
        return None, PortSource(kind=Origin.UNKNOWN, text=text)
    return launch.port, _default(launch)


def _default(launch: Launch) -> PortSource:
    kind = Origin.UNKNOWN if launch.port is None else Origin.DEFAULT
    return PortSource(kind=kind, text=msg("{name}'s own default", name=launch.engine.name))


def _given_port(
    launch: Launch, line: CommandLine, config: _Config, record: Record
) -> tuple[str, PortSource] | None:
    for name in (*launch.port_options, *launch.bind_options):
        if name in line.options:
            source = PortSource(kind=Origin.OPTION, text=line.spelled[name])
            return line.options[name].rpartition(":")[2], source
        if place := config.places.get(name):
            return config.values[name], PortSource(kind=Origin.FILE, text=place, where=place)
    if launch.positional_port and any(line.positional[:1]):
        text = line.positional[0]
        return text, PortSource(kind=Origin.OPTION, text=text)
    listening = launch.listens_by_file and next(map(_LISTEN.search, record.texts.values()), None)
    if listening:
        return listening[1], PortSource(kind=Origin.FILE, text=listening[0])
    variable = by_variable(launch.port_variables, record.env)
    return variable and (variable[1], PortSource(kind=Origin.VARIABLE, text="=".join(variable)))


def _number(value: str, source: PortSource) -> tuple[int | None, PortSource]:
    value = value.strip()
    text = shortened(source.text, NAME_CHARACTERS)
    if re.fullmatch(r"\+?\d{1,5}", value):
        return int(value), replace(source, text=text)
    if UNRESOLVED in f"{value} {source.text}":
        return None, replace(source, kind=Origin.UNKNOWN, text=text)
    quoted = f"“{shortened(value, NAME_CHARACTERS)}” ({text})" if source.where else text
    return None, replace(source, text=quoted)


def _host(
    launch: Launch,
    options: Mapping[str, str],
    line: CommandLine,
    env: Mapping[str, str],
    *,
    unread: str,
) -> str | None:
    if given := next(filter(None, map(options.get, launch.host_options)), None):
        return given
    for name in launch.bind_options:
        if name in line.options:
            return line.options[name].rpartition(":")[0] or EVERYWHERE
    if unread:
        return None
    variable = by_variable(launch.host_variables, env)
    return variable[1] if variable else launch.host


def _names(
    launch: Launch,
    line: CommandLine,
    options: Mapping[str, str],
    env: Mapping[str, str],
    model: str | None,
) -> tuple[str, ...]:
    """The served model names, including the engine's default; empty if unknown."""
    for name in launch.name_options:
        if name in line.options:
            return tuple(line.lists[name]) or ("",)
        if name in options:
            return tuple(options[name].split())
    if variable := by_variable(launch.name_variables, env):
        return (variable[1],)
    if launch.name_is == "?" or model is None:
        return ()
    if launch.name_is == "model":
        return (model,)
    return (
        (os.path.basename(model.rstrip("/")),)
        if launch.name_is == "basename"
        else (launch.name_is,)
    )


def _adapters(launch: Launch, line: CommandLine, options: Mapping[str, str]) -> tuple[str, ...]:
    option = launch.engine.options.adapters
    return adapter_names.names(line.lists.get(option) or options.get(option, "").split())


def _key(launch: Launch, options: Mapping[str, str], environment: Mapping[str, str]) -> str | None:
    """The source of the key that the server demands; the variable counts only without the option."""
    option = next((name for name in launch.key_options if name in options), None)
    if option is not None:
        demanded = launch.engine.options.empty_key_counts or options[option].strip()
        return f"--{option}" if demanded else None
    variable = by_variable(launch.key_variables, environment)
    return variable[0] if variable else None


def _api(launch: Launch, options: Mapping[str, str], routes: tuple[str, ...]) -> Api:
    if {"headless", "grpc"} & options.keys() or options.get("api-server-count", "1").lstrip(
        "-0"
    ) == "":
        return Api.HEADLESS
    task = options.get("task", "").lower()
    if task in _POOLING_TASKS or options.get("runner") == "pooling" or "convert" in options:
        return (
            Api.EMBEDDING if options.get("convert", "embed") not in {"none", "auto"} else launch.api
        )
    if "is-embedding" in options or "embedding" in options or "embeddings" in options:
        return Api.EMBEDDING
    if routes and launch.api is Api.UNKNOWN:
        chat = contract.CHAT_PATH in routes
        open_ended = any(_OPEN_ENDED.search(route) for route in routes)
        return Api.OPENAI_CHAT if chat else Api.UNKNOWN if open_ended else Api.OPENAI_OTHER
    return launch.api


def loaded_models(records: Sequence[Record]) -> dict[int, tuple[str, ...]]:
    """The models that the Python code of each process loads."""
    found: dict[int, tuple[str, ...]] = {}
    for record in records:
        if record.argv[0] == calls.LOADS_MODEL and len(record.argv) > 2:
            resolved = _resolved(record.argv[2], record)
            first = _ENGINE_MODULES.match(record.argv[1]) is not None
            known = found.get(record.pid, ())
            found[record.pid] = (resolved, *known) if first else (*known, resolved)
    return found
