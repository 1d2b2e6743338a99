"""Stand-ins for requests and httpx: a recorded server answers, nothing else is reachable."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

from healthcheck.plan.standins.permissive import Base


class Response(Base):
    def __init__(self, url: str, body: bytes) -> None:
        super().__init__(url=url, content=body, status_code=200, ok=True, is_success=True, text=body.decode())

    def json(self, **_: Any) -> Any:
        return json.loads(self.content)

    def raise_for_status(self) -> Any:
        return self

    def iter_lines(self, *_: Any, **__: Any) -> Any:
        return iter(self.content.splitlines())


class RequestException(OSError):  # noqa: N818 - its name in requests
    """As both libraries have it at the root of their errors."""


class ConnectError(RequestException):
    """Nobody answers."""


def request(method: str, url: Any, *_: Any, **__: Any) -> Response:
    """One exchange; the method does not matter.

    Raises:
        ConnectError: there is no recorded server there.
    """
    try:
        with urllib.request.urlopen(str(url), timeout=1) as answer:  # noqa: S310 - nothing else is reachable
            return Response(str(url), answer.read())
    except (OSError, ValueError) as error:
        raise ConnectError(str(error)) from error


def _get(url: Any, *args: Any, **kwargs: Any) -> Response:
    return request("GET", url, *args, **kwargs)


class Session(Base):
    """requests.Session and httpx.Client."""

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *problem: object) -> None:
        return None

    request = staticmethod(request)
    get = post = head = put = staticmethod(_get)


def parts(name: str) -> dict[str, Any]:
    """What matters of an HTTP client library by module name."""
    errors = {
        "RequestException": RequestException, "ConnectionError": ConnectError, "ConnectError": ConnectError,
        "Timeout": ConnectError, "TimeoutException": ConnectError, "ReadTimeout": ConnectError,
        "HTTPError": RequestException, "RequestError": RequestException, "ConnectTimeout": ConnectError,
    }  # fmt: skip
    calls = {"get": _get, "post": _get, "head": _get, "request": request, "Session": Session, "Client": Session}
    if name in {"requests", "httpx"}:
        return {
            **calls,
            **errors,
            "exceptions": type("exceptions", (), errors),
            "codes": type("codes", (), {"ok": 200}),
        }
    return errors if name in {"requests.exceptions", "httpx.exceptions"} else {}
