"""Stub for curl, wget and nc: a recorded server answers; any other URL is an empty download."""

from __future__ import annotations

import os
import re
import socket
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple

sys.path.insert(0, f"{sys.argv[1]}/lib")

from healthcheck.stages.plan.dry_run.stubs import naps, note, recorded_servers

_START_S = 1.0
_PATIENCE_S = 20.0
_ERROR = 400
_TRIES = 1000
_BODY_BYTES = 1024**2
_STATUS = re.compile(rb"HTTP/1\.\d (\d{3})")
_LOCAL = re.compile(
    r"(?:https?://)?(?:[^@/]*@)?(localhost|127\.[\d.]+|0\.0\.0\.0|\[::1?\]|::1)(?::(\d+))?(/\S*)?$"
)
_SHORT = {
    "curl": {
        "d": "data", "H": "header", "X": "request", "o": "output", "w": "write-out", "x": "proxy", "e": "referer",
        "A": "user-agent", "u": "user", "U": "proxy-user", "m": "max-time", "b": "cookie", "c": "cookie-jar",
        "F": "form", "T": "upload-file", "K": "config", "r": "range", "D": "dump-header", "E": "cert",
    },
    "wget": {
        "O": "output-document", "o": "output-file", "t": "tries", "T": "timeout", "w": "wait", "U": "user-agent",
        "P": "directory-prefix", "a": "append-output", "e": "execute",
    },
    "nc": {"w": "wait", "i": "interval", "q": "quit", "G": "connect-timeout"},
}  # fmt: skip
"""Short options with a value, and their long names."""
_DATA = {"data", "data-ascii", "data-binary", "data-urlencode", "json"}
_RAW = {"data-raw", "post-data"}
_VALUED = {
    *(name for table in _SHORT.values() for name in table.values()), *_DATA, *_RAW, "url", "noproxy", "preproxy",
    "resolve", "connect-to", "interface", "bind-address", "retry", "retry-delay", "retry-max-time", "waitretry",
}  # fmt: skip
"""Long options with a value: those that matter here, and those whose value may look like a URL."""


class Call(NamedTuple):
    """A command line: options by long name with their values, in order, and the positional arguments."""

    tool: str
    options: list[tuple[str, str]]
    words: list[str]

    def last(self, *names: str) -> str | None:
        """The value of the last of these options; "" if it takes no value, None if it is absent."""
        return next((value for name, value in reversed(self.options) if name in names), None)

    def url(self) -> str:
        candidates = [value for name, value in self.options if name == "url"] + self.words
        return next((word for word in candidates if "://" in word or _LOCAL.match(word)), "")


def read(tool: str, arguments: Sequence[str]) -> Call:
    call, rest = Call(tool, [], []), list(arguments)
    while rest:
        word = rest.pop(0)
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            call.options.append(
                (name, value if equals or name not in _VALUED or not rest else rest.pop(0))
            )
        elif len(word) > 1 and word.startswith("-"):
            letters = word[1:]
            while letters:
                letter, letters = letters[0], letters[1:]
                if name := _SHORT[tool].get(letter, ""):
                    call.options.append((name, letters or (rest.pop(0) if rest else "")))
                    break
                call.options.append((letter, ""))
        else:
            call.words.append(word)
    return call


def main() -> int:
    name, arguments = os.path.basename(sys.argv[2]), sys.argv[3:]
    call = read(name, arguments)
    if name == "nc":
        numbers = [word for word in call.words if word.isdigit()]
        return 0 if numbers and _exchange(int(numbers[-1]), "/")[0] else 1
    url = call.url()
    local = _LOCAL.match(url)
    if not local:
        note.record("exec", name, *arguments)
        _save(call, url, b"")
        return 0
    _let_start()
    asked = (int(local[2] or 80), local[3] or "/", *_sent(call))
    status, body = _exchange(*asked)
    for delay_s in _pauses_s(call):
        if status:
            break
        naps.sleep(delay_s)
        status, body = _exchange(*asked)
    fails = status >= _ERROR and (
        name == "wget" or call.last("f", "fail", "fail-with-body") is not None
    )
    if status and not fails:
        _save(call, url, body)
    if "%{http_code}" in (call.last("write-out") or ""):
        sys.stdout.write(f"{status:03}")
    if status and not fails:
        return 0
    if call.last("s", "silent", "q", "quiet") is None:
        refusal = f"(22) The requested URL returned error: {status}"
        print(
            f"{name}: {refusal if status else f'(7) Failed to connect to {url}: Connection refused'}",
            file=sys.stderr,
        )
    return {"curl": (7, 22), "wget": (4, 8)}[name][fails]


def _sent(call: Call) -> tuple[str, bytes]:
    """The method and the body of the request."""
    body = []
    for name, value in call.options:
        if name in _DATA and value.startswith("@"):
            body.append(_content(value[1:]))
        elif name in _DATA | _RAW:
            body.append(value.encode("utf-8", "surrogateescape"))
    return call.last("request") or ("POST" if body else "GET"), b"&".join(body)


def _content(name: str) -> bytes:
    try:
        if name == "-":
            return sys.stdin.buffer.read(_BODY_BYTES)
        with open(name, "rb") as file:
            return file.read(_BODY_BYTES)
    except OSError:
        return b""


def _exchange(port: int, path: str, method: str = "GET", body: bytes = b"") -> tuple[int, bytes]:
    """The status and the body of a response; status 0 without a response."""
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    request = head.encode("utf-8", "surrogateescape") + body
    data = (
        recorded_servers.server_reply(port, request)
        if note.is_offline()
        else _sent_over_tcp(port, request)
    )
    status = _STATUS.match(data)
    return int(status[1]) if status else 0, data.partition(b"\r\n\r\n")[2]


def _sent_over_tcp(port: int, request: bytes) -> bytes:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=_PATIENCE_S) as connection:
            connection.sendall(request)
            return b"".join(iter(lambda: connection.recv(65536), b""))
    except ConnectionRefusedError:
        note.refused_port(port)
    except OSError:
        pass
    return b""


def _let_start() -> None:
    """Wait for a background process to become a server, since sleeps before were cut short."""
    until = time.monotonic() + _START_S
    while note.has_patience() and not note.is_serving() and note.has_other_processes():
        if time.monotonic() >= until:
            note.vain_wait()
            return
        time.sleep(0.01)


def _pauses_s(call: Call) -> list[float]:
    """The pauses between the retries of curl and wget after a refused connection."""
    if call.last("retry-connrefused", "retry-all-errors") is None:
        return []
    if call.tool == "wget":
        tries, longest = _number(call.last("tries"), 20), _number(call.last("waitretry"), 10)
        return [min(n + 1.0, float(longest)) for n in range(min(tries, _TRIES) - 1)]
    delay = float(_number(call.last("retry-delay"), 0))
    return [delay or min(2.0**n, 600.0) for n in range(min(_number(call.last("retry"), 0), _TRIES))]


def _number(text: str | None, default: int) -> int:
    return int(text[:9]) if text and text.isdigit() else default


def _save(call: Call, url: str, body: bytes) -> None:
    """Write the body to the tool's output file."""
    target, remote = call.last("output", "output-document") or "", url.rpartition("/")[2]
    if call.tool == "curl" and not target and call.last("O", "remote-name") is not None:
        target = remote
    elif call.tool == "wget" and not target and call.last("spider") is None:
        target = remote or "index.html"
    if target in {"", "-"}:
        sys.stdout.write(body.decode())
    elif target != "/dev/null":
        with open(target, "wb") as file:
            file.write(body)


if __name__ == "__main__":
    sys.exit(main())
