"""report.html: one file that needs no network, opens from a zip, prints, and runs nothing but its own script.

Answers, prompts, names and logs come from others. They are in the page as escaped text or as JSON in an element
that is not a script, and the page's policy allows no script, style or picture but those in it, by their digests.
"""

from __future__ import annotations

import base64
import hashlib
from importlib import resources

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from healthcheck import __version__
from healthcheck.probe.records import ProbeRun
from healthcheck.records import Report
from healthcheck.report import charts, view
from healthcheck.report.excerpts import script_json
from healthcheck.report.words import SAID

MARKS = {"ready": "✓", "not-ready": "✗", "inconclusive": "?"}
CLIENT_NOTE = (
    "Struck out: the printed figure is wrong. The client groups samples of different problems for pass@n "
    "and cons@n, and of an answer to a number problem it reads the last number; it counts failed requests as wrong "
    "without saying so."
)
TONES = {"pass": "✓", "warn": "!", "skip": "–", "fail": "✗", "error": "?", "open": "?", "stopped": "?", "note": "·"}


def render(report: Report, run: ProbeRun | None = None) -> bytes:
    """The page as UTF-8 HTML; `run` is the measurement that belongs to the report."""
    page = view.page(report, run)
    style, script = _part("page.css"), _part("page.js")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    text = environment.from_string(_part("page.html.j2")).render(
        page=page,
        style=Markup(style),  # noqa: S704 - the kit's own file
        script=Markup(script),  # noqa: S704 - the kit's own file
        data=Markup(script_json(page.measured.data)) if page.measured else None,  # noqa: S704 - escaped there
        policy=_policy(style, script),
        waterfall=charts.waterfall,
        marks=MARKS,
        tones=TONES,
        words={
            **{outcome.value: said for outcome, said in SAID.items()},
            "open": "could not be settled",
            "stopped": "ended early",
        },
        client_note=CLIENT_NOTE,
        version=__version__,
    )
    return text.encode()


def _part(name: str) -> str:
    return (resources.files("healthcheck.report") / name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
