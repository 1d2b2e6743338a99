"""report.html: one file that needs no network, opens from a zip, prints, and runs only its own script.

Answers, prompts, names and logs are untrusted. In the page they are escaped text, or JSON in an element that is not
a script, and the page's policy allows only its own scripts, styles and pictures, by their digests.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from types import MappingProxyType

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template, select_autoescape
from markupsafe import Markup, escape

from healthcheck import __version__
from healthcheck.core.records import JsonValue, Report
from healthcheck.report import view, words
from healthcheck.report.excerpts import script_json
from healthcheck.stages.probe.records import ProbeRun
from healthcheck.text.language import ENGLISH, Translation
from healthcheck.text.messages import Message, joined, msg

SAID_BY_SCRIPTS = re.compile(r"\bsay\(\"([^\"]+)\"")
_OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][A-Za-z0-9]{0,20}(?:-[A-Za-z0-9]{1,20}){0,4}(?![\w-])")
"""A longer one has to break on a phone."""
MARKS = {"ready": "✓", "not-ready": "✗", "inconclusive": "?"}
CLIENT_NOTE = msg(
    "Struck out: the printed figure is wrong. The client groups samples of different problems for pass@n "
    "and cons@n, and of an answer to a number problem it reads the last number; it counts failed requests as wrong "
    "without saying so."
)
TONES = {
    "pass": "✓",
    "warn": "!",
    "skip": "–",
    "fail": "✗",
    "error": "E",
    "open": "?",
    "stopped": "…",
    "note": "·",
}


def render(
    report: Report,
    run: ProbeRun | None = None,
    translation: Translation = ENGLISH,
    pages: Mapping[str, str] = MappingProxyType({}),
) -> bytes:
    """The page as UTF-8 HTML.

    `run` is the measurement that belongs to the report. `pages` is the documentation of checks by their
    ids, as text; that of the checks with findings is shown.
    """
    shown = None
    if run and run.samples:
        from healthcheck.report.measured import measured  # noqa: PLC0415 - it imports every grader

        shown = measured(run)
    style, script = part("page.css"), part("page.js")
    wrong = [result.id for result in report.results if words.is_wrong(result)]
    text = template("page.html.j2", translation).render(
        **view.page(report),
        pages={check: pages[check] for check in wrong if check in pages},
        anchor=anchor,
        measured=shown,
        style=Markup(style),  # noqa: S704 - the kit's own file
        script=Markup(script),  # noqa: S704 - the kit's own file
        data=Markup(script_json(_data(shown.data, translation))) if shown else None,  # noqa: S704 - escaped there
        policy=_policy(style, script),
        marks=MARKS,
        tones=TONES,
        words={**words.BY_TONE, "stopped": msg("ended early")},
        client_note=CLIENT_NOTE,
        version=__version__,
    )
    return text.encode()


def anchor(check: str) -> str:
    """The fragment of the address of a check's documentation in the page."""
    return "page-" + check.replace("/", "-")


def unbroken(text: str) -> Markup:
    """The text as HTML in which no line breaks within an option, such as --port."""
    return Markup(_OPTION.sub(r'<span class="option">\g<0></span>', str(escape(text))))  # noqa: S704 - escaped here


def _data(data: Mapping[str, JsonValue], translation: Translation) -> dict[str, JsonValue]:
    """The samples, and the messages of the page's script."""
    said: dict[str, JsonValue] = {text: translation.look_up(text) for text in said_by_script()}
    return {name: _said(value, translation) for name, value in data.items()} | {"words": said}


def _said(value: JsonValue, translation: Translation) -> JsonValue:
    """JSON with its messages in the language of the page."""
    if isinstance(value, dict):
        return {name: _said(inner, translation) for name, inner in value.items()}
    if isinstance(value, list):
        return [_said(inner, translation) for inner in value]
    return translation.say(value) if isinstance(value, Message) else value


def said_by_script() -> list[str]:
    """The messages of the page's script, with `{}` for each value."""
    return SAID_BY_SCRIPTS.findall(part("page.js"))


@lru_cache
def template(name: str, translation: Translation) -> Template:
    """A template of this package."""
    return environment(translation).get_template(name)


def environment(translation: Translation) -> Environment:
    """An environment whose templates translate each message; those of HTML escape every text."""

    def said(value: object) -> object:
        return translation.say(value) if isinstance(value, Message) else value

    def options(value: object) -> Markup:
        return unbroken(str(said(value)))

    made = Environment(
        autoescape=select_autoescape(["html.j2"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=said,
        loader=FunctionLoader(part),
    )
    made.filters["options"] = options
    made.globals |= {"msg": msg, "joined": joined, "tag": translation.tag}
    return made


def part(name: str, package: str = "healthcheck.report") -> str:
    """A file of a package that has pages."""
    return (resources.files(package) / name).read_text(encoding="utf-8")


def policy() -> str:
    """The content security policy of this kit's pages, stated in the first line of each."""
    return _policy(part("page.css"), part("page.js"))


def _policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; script-src '{digest(script)}'; style-src '{digest(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def digest(text: str) -> str:
    """The digest of a style or script for a content security policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
