"""Determines the ports and model names with which the stub of a recorded server answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from healthcheck.engines.base import Api, by_variable
from healthcheck.engines.known import LAUNCHES, find
from healthcheck.sandbox import safely
from healthcheck.sandbox.answers import Served
from healthcheck.sandbox.job import Job, Record
from healthcheck.stages.plan.servers.options import CommandLine, command_line
from healthcheck.stages.repo import pip_words

_PORT = re.compile(
    r"(?i)(?:port|bind|listen|address)[\w.-]{0,20}[\"']?[\s=:,\"]{0,9}(?:[\w.\[\]-]{0,64}:)?(\d{2,5})\b|:(\d{4,5})\b"
)
_USUAL_PORTS = (8000, 8080, 30000, 23333, 1025, 11434)
_OWN_CONFIGURATION: Mapping[str, tuple[str, ...]] = {
    program: places
    for launch in LAUNCHES
    if (file := launch.engine.settings_file)
    for program, places in file.places.items()
} | {"nginx": ("/etc/nginx/nginx.conf",)}
"""Configuration files that a server reads by default, by its program."""
_INCLUDED_BY_NGINX = ("/etc/nginx/conf.d", "/etc/nginx/sites-enabled")
"""Folders whose files the usual nginx.conf includes."""
_MOST_INCLUDED = 20


def reads(argv: Sequence[str]) -> Iterator[str]:
    """The requirements files of a command, and the configuration of a server at a fixed path."""
    yield from pip_words.lists(argv)
    if argv[0] == "nginx":
        for folder in _INCLUDED_BY_NGINX:
            yield from (f"{folder}/{name}" for name in sorted(safely.names(folder, _MOST_INCLUDED)))
    yield from _OWN_CONFIGURATION.get(argv[0], ())


def served(record: Record, job: Job) -> Served:
    """The names and port that a recorded server would serve; if its port is unknown, every possible port."""
    launch, words = find(record.argv)
    line = command_line(words, launch)
    told = (
        launch.engine.options.decide_port
        and launch.api is Api.OPENAI_CHAT
        and not {"config", launch.overriding_option} & line.options.keys()
    )
    own = _own_port(line, launch.port_options, launch.port) if told else None
    if by_variable(launch.port_variables, record.env) or "uds" in line.options:
        own = None
    names = next((line.lists[name] for name in launch.name_options if line.lists.get(name)), ())
    by_option = next(
        (line.options[name] for name in launch.model_options if line.options.get(name)), ""
    )
    model = line.positional[0] if launch.positional_model and line.positional else by_option
    strict = (
        told
        and launch.engine.serving.refuses_other_names
        and bool(names or model)
        and "lora-modules" not in line.options
    )
    ports = frozenset({own}) if own else _possible_ports(record, job)
    return Served(
        ports=ports, names=names or ((model,) if strict else (job.model_path,)), strict=strict
    )


def _own_port(line: CommandLine, options: tuple[str, ...], default: int | None) -> int | None:
    text = next((line.options[name] for name in options if name in line.options), str(default))
    return int(text) if re.fullmatch(r"[1-9]\d{1,4}", text) else None


def _possible_ports(record: Record, job: Job) -> frozenset[int]:
    said = _PORT.findall(" ".join([*record.argv, *record.texts.values()]))
    wanted = {int(number) for pair in said for number in pair if number}
    usual = {*_USUAL_PORTS, job.shown.get("port", 8000)}
    return frozenset(sorted({port for port in wanted if 80 <= port < 65536} | usual)[:20])
