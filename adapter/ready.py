"""`python3 -m adapter.ready` exits 0 once the server has streamed a whole completion: a container's healthcheck.

An open port or a list of models proves nothing: a broken start fails at the first completion.
"""

from __future__ import annotations

import json
import signal
import sys
import urllib.request
from http.client import HTTPException, HTTPResponse

SERVER = "http://127.0.0.1:8000"
DEADLINE_S = 60
"""For all requests together; less than the --timeout of the Dockerfile's HEALTHCHECK."""
MOST_BYTES = 2**20
"""The most that is read of an answer; an answer of one token is far smaller."""


def complete_once(server: str) -> str:
    """Stream one completion of one token; returns its finish reason.

    Raises:
        OSError, HTTPException: no connection, an HTTP error status, or an answer that breaks off.
        ValueError, LookupError, TypeError, AttributeError, RecursionError: an answer of another shape.
    """
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"{server}/v1/models", timeout=DEADLINE_S) as response:
        model = json.loads(response.read(MOST_BYTES))["data"][0]["id"]
    body = {
        "model": model,
        "messages": [{"role": "user", "content": "1+1="}],
        "max_tokens": 1,
        "stream": True,
    }
    request = urllib.request.Request(  # noqa: S310 - the address is the caller's
        f"{server}/v1/chat/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    with opener.open(request, timeout=DEADLINE_S) as response:
        return _finish_reason(response)


def _finish_reason(response: HTTPResponse) -> str:
    reason, left = None, MOST_BYTES
    while line := response.readline(left):
        left -= len(line)
        event = line.decode("utf-8").strip().removeprefix("data:").strip()
        if event == "[DONE]" and reason:
            return str(reason)
        if event.startswith("{"):
            choices = json.loads(event).get("choices") or [{}]
            reason = choices[0].get("finish_reason") or reason
    raise ValueError(
        "the stream has no finish reason and [DONE]" + ("" if left else f" in {MOST_BYTES} bytes")
    )


def _out_of_time(*_: object) -> None:
    raise TimeoutError(f"no whole completion within {DEADLINE_S} s")


def main() -> int:
    """Print the result on one line; returns 0 if the server is ready, else 1."""
    server = sys.argv[1] if len(sys.argv) > 1 else SERVER
    # A socket's time-out counts from the last byte, so only a signal stops a server that sends byte by byte.
    signal.signal(signal.SIGALRM, _out_of_time)
    signal.setitimer(signal.ITIMER_REAL, DEADLINE_S)
    try:
        reason = complete_once(server.rstrip("/"))
    except (
        OSError,
        HTTPException,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:
        print(f"not ready: {type(error).__name__}: {error}")
        return 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    print(f"ready: a completion ended with {reason!r}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
