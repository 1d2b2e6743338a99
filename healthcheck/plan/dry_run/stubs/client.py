"""Stub for curl, wget and nc: a recorded server answers, everything else is a download of nothing."""

from __future__ import annotations

import os
import re
import socket
import sys
import time

sys.path.insert(0, f"{sys.argv[1]}/lib")

from healthcheck.plan.dry_run.stubs import http_request, note

_START_S = 1.0
_PATIENCE_S = 20.0
_ERROR = 400
_STATUS = re.compile(rb"HTTP/1\.\d (\d{3})")
_SECONDS_OF_NC = re.compile(r"-[a-zA-Z]*[wiqG]")
_FAILS = re.compile(r"--fail|--fail-with-body|-[a-zA-Z]*f[a-zA-Z]*")
_LOCAL = re.compile(r"(?:https?://)?(?:[^@/]*@)?(localhost|127\.[\d.]+|0\.0\.0\.0|\[::1?\]|::1)(?::(\d+))?(/\S*)?$")


def main() -> int:
    name, arguments = os.path.basename(sys.argv[2]), sys.argv[3:]
    if name == "nc":
        behind = zip(arguments, ["", *arguments], strict=False)
        numbers = [word for word, option in behind if word.isdigit() and not _SECONDS_OF_NC.fullmatch(option)]
        return 0 if numbers and _exchange(int(numbers[-1]), "/", http_request.parse([]))[0] else 1
    request = http_request.parse(arguments)
    url = next((word for word in request.words if "://" in word or _LOCAL.match(word)), "")
    local = _LOCAL.match(url)
    if not local:
        note.record("exec", name, *arguments)
        _save(name, arguments, url, b"")
        return 0
    _let_start()
    port, path = int(local[2] or 80), local[3] or "/"
    status, body = _exchange(port, path, request)
    for delay_s in _pauses_s(arguments):
        if status:
            break
        note.sleep(delay_s)
        status, body = _exchange(port, path, request)
    if not status:
        _write_out(arguments, "000")
        _complain(arguments, f"{name}: (7) Failed to connect to {url}: Connection refused")
        return 7 if name == "curl" else 4
    fails = status >= _ERROR and (name == "wget" or any(map(_FAILS.fullmatch, arguments)))
    if not fails or "--fail-with-body" in arguments:
        _save(name, arguments, url, body)
    _write_out(arguments, str(status))
    if fails:
        _complain(arguments, f"{name}: (22) The requested URL returned error: {status}")
        return 22 if name == "curl" else 8
    return 0


def _write_out(arguments: list[str], status: str) -> None:
    if "%{http_code}" in " ".join(arguments):
        sys.stdout.write(status)


def _complain(arguments: list[str], text: str) -> None:
    if not any(re.match(r"-\w*s|--silent|-q", argument) for argument in arguments):
        print(text, file=sys.stderr)


def _exchange(port: int, path: str, request: http_request.HttpRequest) -> tuple[int, bytes]:
    """The status and the body of an answer; 0 where nobody listens."""
    head = f"{request.method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(request.body)}\r\n\r\n"
    try:
        with socket.create_connection(("127.0.0.1", note.real_port(port)), timeout=_PATIENCE_S) as connection:
            connection.sendall(head.encode("utf-8", "surrogateescape") + request.body)
            data = b"".join(iter(lambda: connection.recv(65536), b""))
    except ConnectionRefusedError:
        note.refused(port)
        return 0, b""
    except OSError:
        return 0, b""
    status = _STATUS.match(data)
    return int(status[1]) if status else 0, data.partition(b"\r\n\r\n")[2]


def _let_start() -> None:
    """Give what runs in the background the time to become a server, which a sleep cut short did not give it."""
    until = time.monotonic() + _START_S
    while note.has_patience() and not note.is_serving() and _others_run():
        if time.monotonic() >= until:
            note.waited_in_vain()
            return
        time.sleep(0.01)


def _others_run() -> bool:
    """Whether the program has started something beside what led to this and the pipe that this is in."""
    found = (_process(int(name)) for name in os.listdir("/proc") if name.isdigit())
    family = {each[0]: each[1:] for each in found if each}
    pid = os.getpid()
    while pid in family:
        pid = family.pop(pid)[0]
    return any(not source.startswith("pipe:") for _, source in family.values())


def _process(pid: int) -> tuple[int, int, str] | None:
    """A living process of this session: its id, its parent's, and what it reads from."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            state, parent, _, session = file.read().rsplit(b")", 1)[1].split()[:4]
        ours = int(session) == os.getsid(0) and state != b"Z"
        return (pid, int(parent), os.readlink(f"/proc/{pid}/fd/0")) if ours else None
    except (OSError, ValueError, IndexError):
        return None


def _pauses_s(arguments: list[str]) -> list[float]:
    """The pauses between the attempts that curl and wget make at a server which refuses the connection."""
    spread = [part for word in arguments for part in (word.split("=", 1) if word.startswith("--") else [word])]
    options = dict(zip(spread, [*spread[1:], ""], strict=True))
    if not {"--retry-connrefused", "--retry-all-errors"} & options.keys():
        return []
    retries, delay, most = (options.get(name, "") for name in ("--retry", "--retry-delay", "--retry-max-time"))
    if not retries:  # wget's names, and its own defaults
        tries, longest = (
            options.get(name, default) for name, default in (("--tries", "20"), ("--waitretry", "10"))
        )
        counts = tries.isdigit() and longest.isdigit()
        return [min(n + 1.0, float(longest)) for n in range(min(int(tries), 1000) - 1)] if counts else []
    count = min(int(retries), 1000) if retries.isdigit() else 0
    pauses = [float(delay) if delay.isdigit() and int(delay) else min(2.0**n, 600.0) for n in range(count)]
    while most.isdigit() and int(most) and sum(pauses) > int(most):
        pauses.pop()
    return pauses


def _save(name: str, arguments: list[str], url: str, body: bytes) -> None:
    """Write the body where the tool would write it."""
    target = ""
    for index, argument in enumerate(arguments):
        if (
            argument in {"-o", "--output", "--output-document"}
            or re.fullmatch(r"-[a-zA-Z]*o", argument)
            or (name == "wget" and re.fullmatch(r"-[a-zA-Z]*O", argument))
        ):
            target = arguments[index + 1] if index + 1 < len(arguments) else ""
        elif name == "wget" and re.match(r"-[a-zA-Z]*O.", argument):
            target = argument.partition("O")[2]
        elif name == "curl" and re.fullmatch(r"-[a-zA-Z]*O|--remote-name", argument):
            target = url.rpartition("/")[2]
    if name == "wget" and not target and "--spider" not in arguments:
        target = url.rpartition("/")[2] or "index.html"
    if target in {"", "-"}:
        sys.stdout.write(body.decode())
    elif target != "/dev/null":
        with open(target, "wb") as file:
            file.write(body)


if __name__ == "__main__":
    sys.exit(main())
