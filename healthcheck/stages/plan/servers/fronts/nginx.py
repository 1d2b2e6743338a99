"""Determines where nginx passes the service's chats, from its recorded configuration.

Source: nginx's documentation of ngx_http_core_module (location), ngx_http_proxy_module (proxy_pass) and
ngx_http_upstream_module; its messages were observed with nginx 1.22.1.
"""

from __future__ import annotations

import itertools
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from healthcheck import contract
from healthcheck.stages.plan.records import Front, Target
from healthcheck.stages.plan.servers.fronts.nginx_text import Directive, NginxError, parse
from healthcheck.text.messages import msg

DEFAULT_CONFIGURATION = "/etc/nginx/nginx.conf"
_DEFAULT_PORT = 80
_DECIDES = {
    "rewrite", "return", "if", "try_files", "auth_basic", "auth_request", "deny", "fastcgi_pass", "uwsgi_pass",
    "grpc_pass", "js_content", "content_by_lua_block", "content_by_lua_file", "access_by_lua_block", "mirror",
}  # fmt: skip
"""Directives that answer, refuse or change a request in ways that are not followed here."""
_INSIDE_HTTP = {"server", "location", "upstream", "proxy_pass", "listen"}
"""Directives that nginx refuses outside of http and stream, of those that decide a route."""
_PLAIN_PATTERN = re.compile(r"\^?(?:[\w/-]|\\[./-]|\.\*?|\((?:[\w/-]|\\[./-]|\|)*\))*\$?")
"""Regular expressions that Python's engine matches like nginx's, in little time."""
_PLAIN_CHARACTERS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """An address that a server block listens on."""

    host: str
    port: int | None
    place: str
    is_default: bool = False
    tls: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What the configuration says: the address of the service's requests, and where they are passed."""

    listener: Listener | None
    front: Front


def read(argv: Sequence[str], cwd: str, texts: Mapping[str, str]) -> Reading:
    """Read the configuration of a recorded nginx.

    Args:
        argv: the arguments of nginx.
        cwd: its working directory.
        texts: the recorded files, by their paths or by their names in the command.
    """
    named, prefix = _option(argv, "-c"), _option(argv, "-p")
    reading = _read_file(named, prefix, cwd, texts)
    if not named or named.startswith("/") or prefix:
        return reading
    problem = msg(
        "nginx looks for {name} below the prefix that it was built with, such as /usr/share/nginx or /etc/nginx, "
        "and not in the working directory",
        name=named,
    )
    fix = msg('name the file by its absolute path: nginx -c "$PWD/{name}"', name=named)
    return replace(reading, front=Front(kind="nginx", problem=problem, fix=fix))


def _read_file(
    named: str | None, prefix: str | None, cwd: str, texts: Mapping[str, str]
) -> Reading:
    path = posixpath.normpath(posixpath.join(cwd, prefix or "", named or DEFAULT_CONFIGURATION))
    files = {posixpath.normpath(posixpath.join(cwd, name)): text for name, text in texts.items()}
    if path not in files:
        unknown = msg("its configuration {path} was not recorded", path=path)
        return Reading(listener=None, front=Front(kind="nginx", unknown=unknown))
    try:
        whole = parse(path, files)
    except NginxError as error:
        return Reading(
            listener=None,
            front=Front(kind="nginx", unknown=msg("of its configuration: {error}", error=error)),
        )
    return _route(whole)


def _option(argv: Sequence[str], name: str) -> str | None:
    for word, following in itertools.pairwise([*argv, ""]):
        if word == name:
            return following
        if word.startswith(name) and len(word) > len(name):
            return word[len(name) :]
    return None


def _route(whole: Directive) -> Reading:
    """Find the server block of the service's port, and its route."""
    if (refused := _refused(whole)) is not None:
        return Reading(listener=None, front=refused)
    contexts = [(part, kind) for kind in ("http", "stream") for part in whole.all(kind)]
    heard = [
        (listener, block, part)
        for part, _ in contexts
        for block in part.all("server")
        for listener in _listeners(block)
    ]
    if not heard:
        problem = msg("no server block of its configuration listens anywhere")
        fix = msg(
            "write a server block with {line} in the block http", line=f"listen {contract.PORT};"
        )
        return Reading(listener=None, front=Front(kind="nginx", problem=problem, fix=fix))
    ours = [each for each in heard if each[0].port == contract.PORT]
    if not ours:
        return Reading(listener=heard[0][0], front=Front(kind="nginx", elsewhere=True))
    listener, block, part = next((each for each in ours if each[0].is_default), ours[0])
    if listener.tls:
        problem = msg("it answers no plain HTTP request: listen {port} ssl", port=contract.PORT)
        front = Front(
            kind="nginx",
            problem=problem,
            fix=msg("remove ssl from that line"),
            where=listener.place,
        )
    elif part.name == "stream":
        front = _stream_route(part, block)
    else:
        front = _http_route(part, block)
    return Reading(listener=listener, front=front)


def _refused(whole: Directive) -> Front | None:
    """What nginx refuses to start with; None if nothing of that kind is found."""
    misplaced = next((each for each in whole.block if each.name in _INSIDE_HTTP), None)
    if misplaced is not None:
        problem = msg(
            'nginx does not start: “"{directive}" directive is not allowed here”',
            directive=misplaced.name,
        )
        fix = msg("write {line} around it", line="events { } http { … }")
        return Front(kind="nginx", problem=problem, fix=fix, where=misplaced.place)
    if not whole.all("events"):
        problem = msg('nginx does not start: “no "events" section in configuration”')
        return Front(
            kind="nginx",
            problem=problem,
            fix=msg("write above the block http: {line}", line="events { }"),
        )
    return None


def _listeners(block: Directive) -> Iterator[Listener]:
    for listen in block.all("listen"):
        if not listen.words or listen.words[0].startswith("unix:"):
            continue
        host, _, port = listen.words[0].rpartition(":")
        if not port.isdigit():
            host, port = listen.words[0], str(_DEFAULT_PORT)
        options = listen.words[1:]
        yield Listener(
            host="0.0.0.0" if host in {"", "*", "[::]"} else host,  # noqa: S104 - compared with, never bound
            port=int(port),
            place=listen.place,
            is_default="default_server" in options,
            tls="ssl" in options,
        )
    if not block.all("listen"):
        yield Listener(host="0.0.0.0", port=_DEFAULT_PORT, place=block.place)  # noqa: S104


def _stream_route(part: Directive, block: Directive) -> Front:
    passes = block.all("proxy_pass")
    if not passes or not passes[0].words or "$" in passes[0].words[0]:
        return Front(
            kind="nginx", unknown=msg("its stream has no fixed proxy_pass"), where=block.place
        )
    goal = Target(
        host=passes[0].words[0], port=None, path=contract.CHAT_PATH, where=passes[0].place
    )
    return _with_upstream(part, goal)


def _http_route(part: Directive, block: Directive) -> Front:
    location = _location(block, contract.CHAT_PATH)
    if isinstance(location, Front):
        return location
    surroundings = (part, block, location) if location is not None else (part, block)
    passes = location.all("proxy_pass") if location is not None else ()
    deciding = next(
        (each for where in surroundings for each in where.block if each.name in _DECIDES), None
    )
    if deciding is not None:
        unknown = msg(
            "{place} has “{directive}”, which the kit does not follow",
            place=deciding.place,
            directive=deciding.name,
        )
        return Front(kind="nginx", unknown=unknown, where=deciding.place)
    if not passes or location is None:
        place = location.place if location is not None else block.place
        problem = msg("{place} passes {path} to no server", place=place, path=contract.CHAT_PATH)
        fix = msg("write in its location /: {line}", line="proxy_pass http://127.0.0.1:8001;")
        return Front(kind="nginx", problem=problem, fix=fix, where=place)
    keyed = any(
        each.words[:1] and each.words[0].lower() == "authorization"
        for where in surroundings
        for each in where.all("proxy_set_header")
    )
    return _passed(part, location, passes[0], keyed=keyed)


def _passed(part: Directive, location: Directive, proxy_pass: Directive, *, keyed: bool) -> Front:
    """The route of a location with proxy_pass."""
    url = proxy_pass.words[0] if proxy_pass.words else ""
    if "$" in url or not url.startswith(("http://", "https://")):
        unknown = msg(
            "{place} passes to {url}, which is found out at each request",
            place=proxy_pass.place,
            url=url,
        )
        return Front(kind="nginx", unknown=unknown, where=proxy_pass.place)
    parts = urlsplit(url)
    host_and_port, path = parts.netloc, contract.CHAT_PATH
    own_path = url.partition("://")[2][len(parts.netloc) :]
    if own_path:
        path = own_path + contract.CHAT_PATH[len(location.words[-1]) :]
    if host_and_port.startswith("unix:"):
        unknown = msg("{place} passes to a socket file", place=proxy_pass.place)
        return Front(kind="nginx", unknown=unknown, where=proxy_pass.place)
    goal = Target(
        host=host_and_port,
        port=None,
        path=path,
        tls=parts.scheme == "https",
        keyed=keyed,
        where=proxy_pass.place,
    )
    return _with_upstream(part, goal)


def _with_upstream(part: Directive, goal: Target) -> Front:
    """The targets: the servers of the upstream with this name, else the one address."""
    upstream = next((each for each in part.all("upstream") if each.words[:1] == (goal.host,)), None)
    default = None if part.name == "stream" else 443 if goal.tls else _DEFAULT_PORT
    if upstream is None:
        return Front(
            kind="nginx", targets=(_addressed(goal, goal.host, default),), where=goal.where
        )
    targets = []
    for server in upstream.all("server"):
        address, options = server.words[0] if server.words else "", server.words[1:]
        if address.startswith("unix:") or "resolve" in options:
            unknown = msg(
                "{place} has a server that the kit does not follow: {address}",
                place=server.place,
                address=address,
            )
            return Front(kind="nginx", unknown=unknown, where=server.place)
        if "down" not in options:
            targets.append(_addressed(replace(goal, where=server.place), address, _DEFAULT_PORT))
    if not targets:
        problem = msg("the upstream {name} has no server", name=goal.host)
        fix = msg("write in the upstream: {line}", line="server 127.0.0.1:8001;")
        return Front(kind="nginx", problem=problem, fix=fix, where=upstream.place)
    return Front(kind="nginx", targets=tuple(targets), where=goal.where)


def _addressed(goal: Target, address: str, default: int | None) -> Target:
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit():
        host, port = address, ""
    return replace(goal, host=host, port=int(port) if port else default)


def _location(block: Directive, path: str) -> Directive | Front | None:
    """The location of a path, by nginx's order; a front if the order depends on a pattern that is not followed."""
    longest: Directive | None = None
    patterns: list[Directive] = []
    for location in block.all("location"):
        modifier = location.words[0] if len(location.words) > 1 else ""
        name = location.words[-1] if location.words else ""
        if modifier == "=" and name == path:
            return location
        if modifier in {"~", "~*"}:
            patterns.append(location)
        is_prefix = modifier in {"", "^~"} and path.startswith(name)
        if is_prefix and (longest is None or len(name) > len(longest.words[-1])):
            longest = location
    final = longest is not None and len(longest.words) > 1
    for location in patterns if not final else []:
        matches = _matches(location, path)
        if matches is None:
            unknown = msg(
                "{place} has a pattern that the kit does not follow", place=location.place
            )
            return Front(kind="nginx", unknown=unknown, where=location.place)
        if matches:
            return location
    if longest is not None and longest.all("location"):
        return _location(longest, path) or longest
    return longest


def _matches(location: Directive, path: str) -> bool | None:
    pattern = location.words[-1]
    if (
        len(pattern) > _PLAIN_CHARACTERS
        or not _PLAIN_PATTERN.fullmatch(pattern)
        or pattern.count(".*") > 2
    ):
        return None
    flags = re.IGNORECASE if location.words[0] == "~*" else 0
    return re.search(pattern, path, flags) is not None
