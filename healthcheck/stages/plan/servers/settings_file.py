"""Recognises a server that takes all its settings from a JSON file."""

from __future__ import annotations

from healthcheck.core.records import JsonValue
from healthcheck.engines.base import Launch, SettingsFile
from healthcheck.sandbox.job import Record
from healthcheck.stages.plan.commands import command_text
from healthcheck.stages.plan.records import Origin, PortSource, ServerCommand
from healthcheck.stages.plan.servers import named_files
from healthcheck.system import json_text
from healthcheck.system.json_text import JsonError


def server_of(
    record: Record, launch: Launch, file: SettingsFile, argv: tuple[str, ...]
) -> ServerCommand:
    """The server described by the file at the start of the server."""
    place, text = next(iter(record.texts.items()))
    try:
        data: JsonValue = json_text.load(text)
    except JsonError:
        data = None
    model, port, host, name = (
        _at(data, path) for path in (file.model, file.port, file.host, file.name)
    )
    tls = {"ssl-certfile": str(file.tls[-1])} if _at(data, file.tls) is True else {}
    kind = Origin.FILE if isinstance(port, int) else Origin.UNKNOWN
    return ServerCommand(
        engine=launch.engine,
        api=launch.api,
        argv=argv,
        command=command_text(record.argv),
        env=record.env,
        cwd=record.cwd,
        model=record.paths.get(model, model) if isinstance(model, str) else None,
        port=port if isinstance(port, int) else None,
        port_source=PortSource(kind=kind, text=f'"{file.port[-1]}" in {place.rpartition("/")[2]}'),
        host=host if isinstance(host, str) else None,
        served_names=(name,) if isinstance(name, str) else (),
        missing_variables=tuple(named_files.missing_by_variable(record)),
        options=tls,
    )


def _at(value: JsonValue, path: tuple[str | int, ...]) -> JsonValue:
    """The setting at a path; None if there is none."""
    for part in path:
        if isinstance(part, str) and isinstance(value, dict):
            value = value.get(part)
        elif isinstance(part, int) and isinstance(value, list) and part < len(value):
            value = value[part]
        else:
            return None
    return value
