"""Stubs for requests and httpx: only recorded servers are reachable."""

from __future__ import annotations

import functools
import json
from typing import Any

from healthcheck.stages.plan.dry_run.stubs.permissive import Base

_ERROR = 400
_PATIENCE_S = 20.0


class Response(Base):
    def __init__(self, url: str, body: bytes, status: int = 200) -> None:
        well = status < _ERROR
        flags = {"ok": well, "is_success": well, "is_error": not well}
        super().__init__(url=url, content=body, text=body.decode(), status_code=status, **flags)

    def __bool__(self) -> bool:
        return bool(self.ok)

    def json(self, **_: Any) -> Any:
        return json.loads(self.content)

    def raise_for_status(self) -> Any:
        if not self.ok:
            raise HTTPError(f"{self.status_code} Client Error for url: {self.url}")
        return self


class RequestException(OSError):  # noqa: N818 - its name in requests
    """The base of the exceptions in both libraries."""


class HTTPError(RequestException):
    """The response has the status of an error."""


class ConnectError(RequestException):
    """The connection failed."""


def request(
    method: str,
    url: Any,
    *_: Any,
    json: Any = None,
    data: Any = None,
    content: Any = None,
    **__: Any,
) -> Response:
    """Send a request.

    Raises:
        ConnectError: no recorded server listens there.
    """
    import urllib.error  # noqa: PLC0415 - a slow import that few programs need
    import urllib.request  # noqa: PLC0415

    body = _encoded(data if data is not None else content) if json is None else _dumped(json)
    sent = urllib.request.Request(str(url), data=body, method=str(method).upper())  # noqa: S310 - as below
    try:
        with urllib.request.urlopen(sent, timeout=_PATIENCE_S) as answer:  # noqa: S310 - nothing else is reachable
            return Response(str(url), answer.read())
    except urllib.error.HTTPError as answer:
        return Response(str(url), answer.read(), answer.code)
    except (OSError, ValueError) as error:
        raise ConnectError(str(error)) from error


def _dumped(value: Any) -> bytes:
    try:
        return json.dumps(value).encode()
    except (TypeError, ValueError):  # a placeholder
        return b"{}"


def _encoded(body: Any) -> bytes | None:
    if isinstance(body, dict):
        import urllib.parse  # noqa: PLC0415 - as above

        return urllib.parse.urlencode(body, doseq=True).encode()
    return body.encode() if isinstance(body, str) else body if isinstance(body, bytes) else None


def _post(url: Any, data: Any = None, json: Any = None, **kwargs: Any) -> Response:
    return request("POST", url, data=data, json=json, **kwargs)


_get = functools.partial(request, "GET")


class Session(Base):
    """requests.Session and httpx.Client."""

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *problem: object) -> None:
        return None

    request = staticmethod(request)
    get = head = staticmethod(_get)
    post = put = staticmethod(_post)


def parts(name: str) -> dict[str, Any]:
    """The stubbed attributes of an HTTP client library, by module name."""
    unanswered = (
        "ConnectionError",
        "ConnectError",
        "ConnectTimeout",
        "Timeout",
        "TimeoutException",
        "ReadTimeout",
    )
    errors = {
        **dict.fromkeys(unanswered, ConnectError), **dict.fromkeys(("HTTPError", "HTTPStatusError"), HTTPError),
        **dict.fromkeys(("RequestException", "RequestError"), RequestException),
    }  # fmt: skip
    calls = {
        "get": _get,
        "post": _post,
        "head": _get,
        "request": request,
        "Session": Session,
        "Client": Session,
    }
    below = {"exceptions": type("exceptions", (), errors), "codes": type("codes", (), {"ok": 200})}
    if name in {"requests", "httpx"}:
        return {**calls, **errors, **below}
    return errors if name in {"requests.exceptions", "httpx.exceptions"} else {}
