"""openai-python's view of a server's answers: reads a URL and bodies by name as JSON, prints what the client holds.

Runs in the environment of vLLM, which has the client.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from openai import OpenAI

OWN = {"chat_template_kwargs", "structured_outputs", "guided_json"}


def main() -> None:
    asked = json.load(sys.stdin)
    client = OpenAI(base_url=f"{asked['url']}/v1", api_key="none")
    print(json.dumps({name: view(client, body) for name, body in asked["bodies"].items()}))


def view(client: OpenAI, body: dict[str, Any]) -> dict[str, Any]:
    own = {name: body[name] for name in OWN & body.keys()}
    theirs = {name: value for name, value in body.items() if name not in OWN}
    if theirs.pop("stream", False):
        theirs.pop("stream_options")
        with client.chat.completions.stream(**theirs, extra_body=own) as stream:
            choice = stream.get_final_completion().choices[0]
    else:
        choice = client.chat.completions.create(**theirs, extra_body=own).choices[0]
    calls = [
        (call.function.name, call.function.arguments) for call in choice.message.tool_calls or ()
    ]
    return {"text": choice.message.content or "", "calls": calls, "finish": choice.finish_reason}


if __name__ == "__main__":
    main()
