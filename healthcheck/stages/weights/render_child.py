"""Child process of `render`: renders a chat template as transformers does, under limits.

The environment is that of transformers' chat_template_utils: an immutable sandbox, trim_blocks, lstrip_blocks,
loop controls, the generation tag, raise_exception, strftime_now, and a tojson that does not escape HTML.
"""

from __future__ import annotations

import json
import resource
import sys
import traceback
from datetime import datetime

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.parser
import jinja2.sandbox

from healthcheck.core.records import JsonValue
from healthcheck.stages.weights.content_format import ContentFormat, detected

MEMORY_BYTES = 512 * 1024**2
MAX_TEXT = 50_000


class Generation(jinja2.ext.Extension):
    """The tag that marks the assistant's text; it has no effect on the rendering."""

    tags = {"generation"}  # noqa: RUF012 - as jinja2 declares it

    def parse(self, parser: jinja2.parser.Parser) -> list[jinja2.nodes.Node]:
        """Parse the statements between the tags."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def main() -> None:
    """Read a request from standard input and write the renderings to standard output."""
    request = json.load(sys.stdin)
    resource.setrlimit(resource.RLIMIT_CPU, (request["cpu_s"], request["cpu_s"]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    _limit_memory()
    template, variables = request["template"], request["variables"]
    rows = [_row(template, messages, variables) for messages in request["conversations"]]
    formats = {
        str(by_name): _content_format(template, by_name=by_name).value for by_name in (False, True)
    }
    sys.stdout.write(json.dumps({"rows": rows, "formats": formats}))


def _limit_memory() -> None:
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    limit = MEMORY_BYTES if hard == resource.RLIM_INFINITY else min(hard, MEMORY_BYTES)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _row(
    template: str, messages: list[JsonValue], variables: dict[str, JsonValue]
) -> dict[str, JsonValue]:
    try:
        parts: list[str] = []
        length = 0
        for part in _compiled(template).generate(
            messages=messages, tools=None, documents=None, add_generation_prompt=True, **variables
        ):
            length += len(part)
            if length > 64 * MAX_TEXT:
                return {
                    "error": f"writes more than {length:,} characters for a short conversation",
                    "ended": False,
                }
            parts.append(part)
    except MemoryError:
        return {"error": f"needs more than {MEMORY_BYTES // 1024**2} MiB of memory", "ended": False}
    except Exception as error:  # noqa: BLE001 - a template can raise any exception
        return {"error": f"{type(error).__name__}: {error}"[:1000], "line": _line(error)}
    return {"text": "".join(parts)[:MAX_TEXT]}


def _line(error: Exception) -> int:
    """The line of the template that raised an error; 0 if unknown."""
    if isinstance(error, jinja2.TemplateSyntaxError):
        return error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    return next(
        (frame.lineno or 0 for frame in reversed(frames) if frame.filename == "<template>"), 0
    )


def _content_format(template: str, *, by_name: bool) -> ContentFormat:
    try:
        return detected(_compiled(template).environment.parse(template), by_name=by_name)
    except (jinja2.TemplateError, RecursionError, MemoryError):
        return ContentFormat.TEXT


def _compiled(template: str) -> jinja2.Template:
    def raise_exception(message: str) -> None:
        raise jinja2.exceptions.TemplateError(message)

    def tojson(value: JsonValue, ensure_ascii: bool = False, **layout: int | bool | None) -> str:
        return json.dumps(value, ensure_ascii=ensure_ascii, **layout)  # type: ignore[arg-type]

    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )
    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = lambda layout: (
        datetime.now().astimezone().strftime(layout)
    )
    return environment.from_string(template)
