"""What both clients share of a request: the server's address and the headers."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from healthcheck.text.messages import msg
from healthcheck.wire.inflate import OFFERED


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server, as its root URL names it.

    Attributes:
        host, port: where to connect; `tls`: with TLS.
        name: the Host header.
        path: the prefix of each request's path.
    """

    host: str
    port: int
    tls: bool
    name: str
    path: str


def server_of(url: str) -> Server:
    """Parse a root URL.

    Raises:
        ValueError: it is not the URL of a server, or has a user or a password.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError(msg("{url} is not an http:// URL of a server", url=repr(url)))
    if "@" in parts.netloc:
        raise ValueError(msg("a user or password in the URL: the service sends none"))
    tls = parts.scheme == "https"
    name = (
        f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname.encode("idna").decode()
    )
    return Server(
        host=parts.hostname,
        port=(443 if tls else 80) if parts.port is None else parts.port,
        tls=tls,
        name=name if parts.port is None else f"{name}:{parts.port}",
        path=parts.path.rstrip("/"),
    )


def headers(body: bytes) -> dict[str, str]:
    """The headers of a request, without Host and Content-Length."""
    kind = {"content-type": "application/json"} if body else {}
    return {"accept": "*/*", "accept-encoding": OFFERED, "user-agent": "npu-adapter-kit"} | kind
