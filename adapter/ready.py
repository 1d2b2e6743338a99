"""`python3 -m adapter.ready` exits 0 once the server has streamed a whole completion: a container's healthcheck.

An open port or a list of models is no proof: the first completion is what a broken start-up fails on.
"""

from __future__ import annotations

import json
import sys
import urllib.request
from http.client import HTTPException

SERVER = "http://127.0.0.1:8000"
DEADLINE_S = 60


def complete_once(server: str) -> str:
    """The end of one streamed completion of one token: why it finished.

    Raises:
        OSError, HTTPException: no connection, an HTTP error status, or none in time.
        ValueError, LookupError, TypeError: an answer of another shape.
    """
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"{server}/v1/models", timeout=DEADLINE_S) as response:
        model = json.load(response)["data"][0]["id"]
    body = {"model": model, "messages": [{"role": "user", "content": "1+1="}], "max_tokens": 1, "stream": True}
    request = urllib.request.Request(  # noqa: S310 - the address is the caller's
        f"{server}/v1/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    reason = None
    with opener.open(request, timeout=DEADLINE_S) as response:
        for line in response:
            event = line.decode("utf-8").strip().removeprefix("data:").strip()
            if event == "[DONE]" and reason:
                return str(reason)
            if event.startswith("{"):
                choices = json.loads(event).get("choices") or [{}]
                reason = choices[0].get("finish_reason") or reason
    raise ValueError("the stream ended without a finish reason and [DONE]")


def main() -> int:
    """Say in one line what came of it; 0 if the server is ready, else 1."""
    server = sys.argv[1] if len(sys.argv) > 1 else SERVER
    try:
        reason = complete_once(server.rstrip("/"))
    except (OSError, HTTPException, ValueError, LookupError, TypeError, AttributeError) as error:
        print(f"not ready: {type(error).__name__}: {error}")
        return 1
    print(f"ready: a completion ended with {reason!r}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
