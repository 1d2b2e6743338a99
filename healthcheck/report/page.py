"""report.html: one file that needs no network, opens from a zip, prints, and runs nothing but its own script.

Answers, prompts, names and logs come from others. They are in the page as escaped text or as JSON in an element
that is not a script, and the page's policy allows no script, style or picture but those in it, by their digests.
"""

from __future__ import annotations

import base64
import hashlib
import re
from importlib import resources

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from healthcheck import __version__
from healthcheck.phrases import ENGLISH, Phrases
from healthcheck.probe.records import ProbeRun
from healthcheck.records import JsonValue, Report
from healthcheck.report import charts, view, words
from healthcheck.report.excerpts import script_json
from healthcheck.report.in_language import page_in_language
from healthcheck.report.measured import OUTCOMES, Measured, measured

_BEGIN, _END = "<!-- choices -->", "<!-- end of choices -->"
"""Of choices.html.j2. The page escapes whatever comes from others, so that no answer can have them."""
_SAID = re.compile(r"\bsay\(\"([^\"]+)\"")
MARKS = {"ready": "✓", "not-ready": "✗", "inconclusive": "?"}
CLIENT_NOTE = (
    "Struck out: the printed figure is wrong. The client groups samples of different problems for pass@n "
    "and cons@n, and of an answer to a number problem it reads the last number; it counts failed requests as wrong "
    "without saying so."
)
TONES = {"pass": "✓", "warn": "!", "skip": "–", "fail": "✗", "error": "?", "open": "?", "stopped": "?", "note": "·"}


def render(report: Report, run: ProbeRun | None = None, phrases: Phrases = ENGLISH) -> bytes:
    """The page as UTF-8 HTML; `run` is the measurement that belongs to the report."""
    page = view.page(report, run)
    style, script = part("page.css"), part("page.js")
    text = template("page.html.j2").render(
        page=page,
        choices=Markup(_choices(page.measured)) if page.measured else None,  # noqa: S704 - a template of the kit
        style=Markup(style),  # noqa: S704 - the kit's own file
        script=Markup(script),  # noqa: S704 - the kit's own file
        data=Markup(script_json(_data(page.measured, phrases))) if page.measured else None,  # noqa: S704 - escaped there
        policy=_policy(style, script),
        waterfall=charts.waterfall,
        marks=MARKS,
        tones=TONES,
        words={
            **{outcome.value: said for outcome, said in words.SAID.items()},
            "open": "could not be settled",
            "stopped": "ended early",
        },
        client_note=CLIENT_NOTE,
        version=__version__,
    )
    return page_in_language(text, phrases.beside(words.quotes(report))).encode()


def _data(of: Measured, phrases: Phrases) -> dict[str, JsonValue]:
    """The samples, and the words that the page's script says about them."""
    said: dict[str, JsonValue] = {text: phrases.message(text) for text in said_by_script()}
    outcomes: dict[str, JsonValue] = {name: phrases.say(text) for name, text in OUTCOMES.items()}
    return {**of.data, "outcomes": outcomes, "words": said}


def said_by_script() -> list[str]:
    """The messages of the page's script, with `{}` for each value."""
    return _SAID.findall(part("page.js"))


def with_choices(text: str, run: ProbeRun, phrases: Phrases = ENGLISH) -> str:
    """A page with the choices of a run in place of those that it has; unchanged where it has no place for them."""
    if text.count(_BEGIN) != 1 or text.count(_END) != 1 or text.index(_END) < text.index(_BEGIN):
        return text
    before, _, rest = text.partition(_BEGIN)
    return before + page_in_language(_choices(measured(run)), phrases) + rest.partition(_END)[2]


def _choices(of: Measured) -> str:
    return template("choices.html.j2").render(rows=of.choices)


def template(name: str) -> Template:
    """A template of this package, in which every text is escaped."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(part(name))


def part(name: str) -> str:
    """A file of this package."""
    return (resources.files("healthcheck.report") / name).read_text(encoding="utf-8")


def policy() -> str:
    """What a page of this kit may load and run, as the first line of each says."""
    return _policy(part("page.css"), part("page.js"))


def _policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; script-src '{digest(script)}'; style-src '{digest(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def digest(text: str) -> str:
    """A style or script as a content security policy names it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
