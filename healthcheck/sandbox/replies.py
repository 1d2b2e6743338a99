"""What a recorded server says: all is well, but for a model that it does not have. Stubs import it from a copy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

REQUEST_BYTES = 1024**2
_HEAD = "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
_MESSAGE = {"role": "assistant", "content": "ok"}


def reply(names: Sequence[str], unknown: str) -> bytes:
    """The HTTP response: 404 for an unknown model, otherwise one body that suits every path."""
    if unknown:
        problem = {
            "message": f"The model `{unknown}` does not exist.",
            "type": "NotFoundError",
            "code": 404,
        }
        return _response("404 Not Found", {"error": problem})
    models = [{"id": name, "object": "model", "root": name} for name in names]
    choices = [{"index": 0, "message": _MESSAGE, "finish_reason": "stop"}]
    return _response(
        "200 OK", {"status": "ok", "object": "list", "data": models, "choices": choices}
    )


def _response(status: str, body: Mapping[str, object]) -> bytes:
    import json  # noqa: PLC0415 - most stubs need none

    data = json.dumps(body).encode() + b"\n"
    return (_HEAD % (status, len(data))).encode() + data


def model_wanted(request: bytes) -> str:
    """The model that a request names; "" for none."""
    import json  # noqa: PLC0415 - as above

    head, _, body = request.partition(b"\r\n\r\n")
    if not head.startswith(b"POST ") or b"/v1/" not in head.partition(b"\r\n")[0]:
        return ""
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    model = asked.get("model") if isinstance(asked, dict) else ""
    return model if isinstance(model, str) else ""


def is_whole(data: bytes) -> bool:
    """Whether these are all bytes of a request."""
    head, end, body = data.partition(b"\r\n\r\n")
    fields = (line.partition(b":") for line in head.split(b"\r\n")[1:])
    lengths = [value.strip() for name, _, value in fields if name.lower() == b"content-length"]
    length = int(lengths[0]) if lengths and lengths[0].isdigit() and len(lengths[0]) < 10 else 0
    return len(data) >= REQUEST_BYTES or (bool(end) and len(body) >= length)
