"""The soak of a machine on the page: the speed of each device and the heat of each chip over the time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from healthcheck.core.records import JsonValue
from healthcheck.report import charts, words
from healthcheck.report.charts import Chart
from healthcheck.system import json_text
from healthcheck.text.messages import msg

MOST_SERIES = 64
NAME_CHARACTERS = 40
Series = Mapping[str, tuple[tuple[float, float], ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Soaked:
    """The soak in one sentence, and its drawings."""

    said: str
    charts: tuple[Chart, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Course:
    """The soak in a report's metrics, as `runner.inventory` writes it."""

    asked_s: float
    lasted_s: float
    tflops: Series
    celsius: Series


def soaked(metrics: JsonValue) -> Soaked | None:
    """What `report.metrics["soak"]` says; None if there was no soak, or too little of it to draw."""
    try:
        seen = json_text.convert(metrics, _Course)
    except ValueError:
        return None
    speeds, heat = _drawable(seen.tflops), _drawable(seen.celsius)
    drawn = []
    if speeds:
        slowest = min(speeds, key=lambda name: min(value for _, value in speeds[name][1:]))
        drawn.append(
            Chart(
                title=msg("Speed of each device"),
                drawing=charts.courses(speeds, slowest, msg("TFLOP/s of each device over the time"), "TFLOP/s"),
                caption=msg(
                    "One line a device; {slowest} was slowest and stands out. The time in which products were "
                    "compared with the CPU's counts too: the hardware itself is faster.",
                    slowest,
                ),
            )
        )
    if heat:
        hottest = max(heat, key=lambda name: max(value for _, value in heat[name]))
        drawn.append(
            Chart(
                title=msg("Temperature of each chip"),
                drawing=charts.courses(heat, hottest, msg("Temperature of each chip over the time"), "°C"),
                caption=msg("One line a chip, by npu-smi; {hottest} was hottest and stands out.", hottest),
            )
        )
    if not drawn:
        return None
    return Soaked(
        said=msg(
            "{speeds} devices computed for {duration} of {duration2}.",
            len(speeds),
            words.duration(seen.lasted_s),
            words.duration(seen.asked_s),
        ),
        charts=tuple(drawn),
    )


def _drawable(series: Series) -> Series:
    """By name the points that can be drawn; a line takes two."""
    named = {words.plain(name)[:NAME_CHARACTERS]: points for name, points in list(series.items())[:MOST_SERIES]}
    return {name: points for name, points in named.items() if len(points) > 1}
