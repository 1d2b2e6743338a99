"""The soak of a machine on the page: the speed of each device and the heat of each chip over the time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from healthcheck.messages import msg
from healthcheck.records import JsonValue
from healthcheck.report import charts, words
from healthcheck.report.charts import Chart

MOST_SERIES = 64
NAME_CHARACTERS = 40
Series = Mapping[str, tuple[tuple[float, float], ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Soaked:
    """The soak in one sentence, and its drawings."""

    said: str
    charts: tuple[Chart, ...]


def soaked(metrics: Mapping[str, JsonValue]) -> Soaked | None:
    """What `report.metrics["soak"]` says; None if there was no soak, or too little of it to draw."""
    speeds, heat = _series(metrics.get("tflops")), _series(metrics.get("celsius"))
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
    lasted = metrics.get("lasted_s")
    asked = metrics.get("asked_s")
    if not drawn or not isinstance(lasted, int | float) or not isinstance(asked, int | float):
        return None
    return Soaked(
        said=msg(
            "{speeds} devices computed for {duration} of {duration2}.",
            len(speeds),
            words.duration(lasted),
            words.duration(asked),
        ),
        charts=tuple(drawn),
    )


def _series(value: JsonValue) -> Series:
    """By name the points that can be drawn; a line takes two."""
    named = list(value.items())[:MOST_SERIES] if isinstance(value, dict) else []
    found = {words.plain(name)[:NAME_CHARACTERS]: _points(points) for name, points in named}
    return {name: points for name, points in found.items() if len(points) > 1}


def _points(value: JsonValue) -> tuple[tuple[float, float], ...]:
    return tuple(
        (float(point[0]), float(point[1]))
        for point in (value if isinstance(value, list) else [])
        if isinstance(point, list)
        and len(point) == 2
        and isinstance(point[0], int | float)
        and isinstance(point[1], int | float)
    )
