"""Charts as inline SVG: functions from numbers to drawings.

Colours are classes of page.css, so that they follow the reader's light or dark scheme; there are no style
attributes, which the page's policy would refuse. Widths are those of a phone: a wide screen shows charts side by
side, and a narrow one never shrinks them.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from markupsafe import Markup

from healthcheck.report.words import duration
from healthcheck.text.messages import msg

T = TypeVar("T")
WIDTH = 340
LEFT = 58
RIGHT = 12
TOP = 10
ROW = 34
MOST_DOTS = 2000
CHARACTER = 6.6
"""The approximate width of a character in a label."""
LABEL_CHARACTERS = 9
PHASE_CHARACTERS = 34


@dataclass(frozen=True, slots=True)
class Written:
    """Markup with a place for a text, which is translated and escaped."""

    frame: Markup
    text: str


Part = Markup | Written


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture whose texts are messages until it is put on a page."""

    height: int
    title: str
    parts: tuple[Part, ...]

    def said(self, say: Callable[[str], str]) -> Markup:
        """The markup in the reader's language."""
        head = Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}">')
        inner = (part.frame.format(say(part.text)) if isinstance(part, Written) else part for part in self.parts)
        return head.format(WIDTH, self.height, say(self.title)) + Markup("").join(inner) + Markup("</svg>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A chart, its subject, and how to read it."""

    title: str
    drawing: Drawing
    caption: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """One row of `intervals`: a fraction with its narrower and its wider interval."""

    label: str
    value: float
    inner: tuple[float, float]
    outer: tuple[float, float]
    reference: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ByK:
    """One k of `by_k`: pass@k with its interval, and the value for independent samples."""

    k: int
    value: float
    low: float
    high: float
    bound: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One row of `waterfall`: its begin and end in seconds."""

    label: str
    begin_s: float
    end_s: float


def intervals(rows: Sequence[Interval], title: str, *, threshold: float | None = None) -> Drawing:
    """Fractions on a common scale from 0 to 100 %, each a dot with a thick and a thin interval."""
    height = TOP + ROW * len(rows) + 24
    across = _Scale(low=0, high=1, begin=LEFT, end=WIDTH - RIGHT - 46)
    parts: list[Part] = [
        _tick(across.at(share), TOP, height - 24, msg("{share:.0f} %", 100 * share))
        for share in (0, 0.25, 0.5, 0.75, 1)
    ]
    if threshold is not None:
        parts.append(_line(across.at(threshold), TOP, across.at(threshold), height - 24, "threshold"))
    for place, row in enumerate(rows):
        y = TOP + ROW * (place + 0.5)
        parts += [
            _text(LEFT - 8, y + 4, _cut(row.label, LABEL_CHARACTERS), "label", anchor="end"),
            _line(across.at(row.outer[0]), y, across.at(row.outer[1]), y, "outer"),
            _line(across.at(row.inner[0]), y, across.at(row.inner[1]), y, "inner"),
            _circle(across.at(row.value), y, 4.5, "dot"),
            _text(WIDTH - 2, y + 4, msg("{share:.1f} %", 100 * row.value), "value", anchor="end"),
        ]
        if row.reference is not None:
            parts.append(_line(across.at(row.reference), y - 11, across.at(row.reference), y + 11, "reference"))
    return Drawing(height, title, tuple(parts))


def by_k(points: Sequence[ByK], title: str) -> Drawing:
    """pass@k over k with its interval as a band, and the bound for independent samples, dashed."""
    height = 210
    across = _Scale(
        low=points[0].k, high=max(points[-1].k, points[0].k + 1), begin=LEFT - 14, end=WIDTH - RIGHT - 8
    )
    floor = math.floor(10 * min(min(p.low, p.bound) for p in points)) / 10
    up = _Scale(low=min(floor, 0.9), high=1, begin=height - 26, end=TOP + 4)
    parts: list[Part] = [_level(up.at(y), msg("{share:.0f} %", 100 * y), LEFT - 14) for y in _fractions(up.low)]
    parts += [_text(across.at(p.k), height - 8, str(p.k), "tick", anchor="middle") for p in _spread(points, 12)]
    band = [(p.k, p.high) for p in points] + [(p.k, p.low) for p in reversed(points)]
    parts += [
        Markup('<polygon class="band" points="{}"/>').format(_points(band, across, up)),
        Markup('<polyline class="bound" points="{}"/>').format(
            _points([(p.k, p.bound) for p in points], across, up)
        ),
        Markup('<polyline class="curve" points="{}"/>').format(
            _points([(p.k, p.value) for p in points], across, up)
        ),
        *(_circle(across.at(p.k), up.at(p.value), 3.5, "dot") for p in points),
    ]
    return Drawing(height, title, tuple(parts))


def over_run(values: Sequence[tuple[int, float]], title: str, unit: str) -> Drawing:
    """One dot per sample in dispatch order, and the running median over a tenth of the run."""
    height = 190
    most = _nice(_upper(tuple(value for _, value in values)))
    last = max(values[-1][0], 1)
    across = _Scale(low=0, high=last, begin=LEFT - 14, end=WIDTH - RIGHT)
    up = _Scale(low=0, high=most, begin=height - 26, end=TOP + 4)
    parts: list[Part] = [_level(up.at(most * share), _number(most * share), LEFT - 14) for share in (0, 0.5, 1)]
    parts += [
        _text(across.at(at), height - 8, str(round(at)), "tick", anchor="middle") for at in (0, last / 2, last)
    ]
    dots = "".join(
        f"M{across.at(order):.1f} {up.at(min(value, most)):.1f}h0" for order, value in _spread(values, MOST_DOTS)
    )
    parts += [
        Markup('<path class="cloud" d="{}"/>').format(dots),
        Markup('<polyline class="curve" points="{}"/>').format(_points(_running(values, most), across, up)),
        _text(LEFT - 10, TOP + 2, unit, "tick", anchor="start"),
    ]
    return Drawing(height, title, tuple(parts))


def waterfall(spans: Sequence[Span], title: str) -> Drawing:
    """Phases as bars over time, one below the other; a phase without duration is a moment."""
    row = 30
    height = 6 + row * len(spans)
    across = _Scale(low=0, high=max(spans[-1].end_s, 1e-9), begin=2, end=WIDTH - 2)
    parts: list[Part] = []
    for place, span in enumerate(spans):
        y = 6 + row * place
        begin, end = across.at(span.begin_s), across.at(span.end_s)
        parts.append(
            Markup('<rect class="span" x="{}" y="{}" width="{}" height="9" rx="2"/>').format(
                f"{begin:.1f}", y + 15, f"{max(end - begin, 2):.1f}"
            )
        )
        lasted = (
            duration(span.end_s - span.begin_s)
            if span.end_s > span.begin_s
            else msg("at {duration}", duration(span.end_s))
        )
        text = msg("{cut} · {lasted}", _cut(span.label, PHASE_CHARACTERS), lasted)
        late = begin > WIDTH / 2
        x = max(end, CHARACTER * len(text)) if late else begin
        parts.append(_text(x, y + 10, text, "label", anchor="end" if late else "start"))
    return Drawing(height, title, tuple(parts))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scale:
    """Maps values to places in the drawing."""

    low: float
    high: float
    begin: float
    end: float

    def at(self, value: float) -> float:
        return self.begin + (self.end - self.begin) * (value - self.low) / (self.high - self.low)


def _text(x: float, y: float, text: str, name: str, *, anchor: str) -> Written:
    begin = Markup('<text class="{}" x="{}" y="{}" text-anchor="{}">').format(name, f"{x:.1f}", f"{y:.1f}", anchor)
    return Written(begin + Markup("{}</text>"), text)


def _beside(ground: Markup, written: Written) -> Written:
    """A text after other markup, which has no braces."""
    return Written(ground + written.frame, written.text)


def _line(x1: float, y1: float, x2: float, y2: float, name: str) -> Markup:
    places = (f"{place:.1f}" for place in (x1, y1, x2, y2))
    return Markup('<line class="{}" x1="{}" y1="{}" x2="{}" y2="{}"/>').format(name, *places)


def _circle(x: float, y: float, radius: float, name: str) -> Markup:
    return Markup('<circle class="{}" cx="{}" cy="{}" r="{}"/>').format(name, f"{x:.1f}", f"{y:.1f}", radius)


def _tick(x: float, top: float, bottom: float, text: str) -> Written:
    return _beside(_line(x, top, x, bottom, "rule"), _text(x, bottom + 16, text, "tick", anchor="middle"))


def _level(y: float, text: str, left: float) -> Written:
    return _beside(_line(left, y, WIDTH - RIGHT, y, "rule"), _text(left - 6, y + 4, text, "tick", anchor="end"))


def _points(values: Sequence[tuple[float, float]], across: _Scale, up: _Scale) -> str:
    return " ".join(f"{across.at(x):.1f},{up.at(y):.1f}" for x, y in values)


def _running(values: Sequence[tuple[int, float]], most: float) -> list[tuple[float, float]]:
    width = max(len(values) // 10, 1)
    steps = [*range(0, len(values), max(width // 4, 1)), len(values) - 1]
    windows = [values[max(at - width // 2, 0) : at + width // 2 + 1] for at in steps]
    return [
        (statistics.fmean(order for order, _ in part), min(statistics.median(value for _, value in part), most))
        for part in windows
    ]


def _spread(things: Sequence[T], most: int) -> Sequence[T]:
    return things[:: math.ceil(len(things) / most)]


def _upper(values: Sequence[float]) -> float:
    """The top of an axis: a few outliers may exceed it, and are drawn at its edge."""
    ranked = sorted(values)
    return max(ranked[min(math.ceil(0.99 * len(ranked)), len(ranked) - 1)], ranked[len(ranked) // 2] * 1.2)


def _nice(value: float) -> float:
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 4, 5, 10) if step * power >= value * 0.999)


def _fractions(low: float) -> tuple[float, ...]:
    step = 0.25 if low <= 0.4 else 0.1 if low < 0.85 else 0.05
    count = math.floor((1 - low) / step + 1e-9)
    return tuple(1 - step * place for place in range(count + 1))


def _number(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}".replace(",", " ")


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
