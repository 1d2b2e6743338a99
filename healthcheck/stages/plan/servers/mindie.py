"""Recognises MindIE's server, which takes all its settings from a configuration file."""

from __future__ import annotations

from collections.abc import Mapping

from healthcheck.core.records import JsonValue
from healthcheck.sandbox.job import Record
from healthcheck.stages.plan.commands import command_text
from healthcheck.stages.plan.records import Api, Origin, PortSource, ServerCommand
from healthcheck.stages.plan.servers import named_files
from healthcheck.system import json_text
from healthcheck.system.json_text import JsonError


def server_of(record: Record, argv: tuple[str, ...]) -> ServerCommand:
    """The server described by MindIE's config.json at the start of the server."""
    name, text = next(iter(record.texts.items()))
    try:
        data: JsonValue = json_text.load(text)
    except JsonError:
        data = None
    server = _part(data, "ServerConfig")
    models = _part(_part(data, "BackendConfig"), "ModelDeployConfig").get("ModelConfig")
    model = models[0] if isinstance(models, list) and models and isinstance(models[0], dict) else {}
    path, port, host, served = (
        model.get("modelWeightPath"), server.get("port"), server.get("ipAddress"), model.get("modelName"),
    )  # fmt: skip
    tls = {"ssl-certfile": "httpsEnabled"} if server.get("httpsEnabled") is True else {}
    kind = Origin.FILE if isinstance(port, int) else Origin.UNKNOWN
    return ServerCommand(
        engine="mindie",
        api=Api.OPENAI_CHAT,
        argv=argv,
        command=command_text(record.argv),
        env=record.env,
        cwd=record.cwd,
        model=record.paths.get(path, path) if isinstance(path, str) else None,
        port=port if isinstance(port, int) else None,
        port_source=PortSource(kind=kind, text=f'"port" in {name.rpartition("/")[2]}'),
        host=host if isinstance(host, str) else None,
        served_names=(served,) if isinstance(served, str) else (),
        missing_variables=tuple(named_files.missing_by_variable(record)),
        options=tls,
    )


def _part(value: JsonValue | Mapping[str, JsonValue], name: str) -> Mapping[str, JsonValue]:
    found = value.get(name) if isinstance(value, Mapping) else None
    return found if isinstance(found, dict) else {}
