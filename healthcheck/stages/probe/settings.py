"""Derives the settings of a run from its options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path

from healthcheck.errors import UsageError
from healthcheck.stages.probe.options.record import ProbeOptions, given
from healthcheck.stages.probe.records import ProbeSettings, ReferenceRun, RequestOptions
from healthcheck.text.messages import msg

_PATIENCE = {
    "connect_timeout_s": "connect_s",
    "silence_timeout_s": "silence_s",
    "answer_timeout_s": "limit_s",
    "attempts": "attempts",
    "retry_wait_s": "first_wait_s",
    "strikes": "strikes",
}
_REQUEST = {field.name for field in fields(RequestOptions)}


def settings_of(asked: ProbeOptions, base: ProbeSettings) -> ProbeSettings:
    """The base settings with the given options.

    Raises:
        UsageError: the reference is neither a number nor a suitable run, or there is a margin without it.
    """
    said = given(asked) | _distance(asked)
    request = {name: said.pop(name) for name in [*said] if name in _REQUEST}
    patience = {_PATIENCE[name]: said.pop(name) for name in [*said] if name in _PATIENCE}
    if asked.dataset is not None and asked.datasets is not None:
        raise UsageError(msg("dataset and datasets both name files: give one of them"))
    if asked.dataset is not None:
        said["datasets"] = ()
    if asked.datasets is not None:
        default = asked.columns or base.columns
        said["datasets"] = tuple(
            replace(each, columns={**default, **each.columns}) for each in asked.datasets
        )
        said["dataset"] = ", ".join(each.file for each in asked.datasets)
    if "reference" in said:
        said |= _reference(said.pop("reference"))
    chosen = replace(
        base,
        **said,
        request=replace(base.request, **request),
        patience=replace(base.patience, **patience),
    )
    if chosen.margin is not None and not chosen.references:
        raise UsageError(msg("--margin is the loss against a reference: give --reference too"))
    known = chosen.references.get("all")
    if chosen.margin is not None and known is not None and chosen.margin >= known:
        raise UsageError(
            msg(
                "a margin of {margin:g} points calls no server worse, as the reference is right in "
                "{known:.1f} %: give a smaller one",
                margin=100 * chosen.margin,
                known=100 * known,
            )
        )
    return chosen


def _distance(asked: ProbeOptions) -> dict[str, float | tuple[float, float, float] | None]:
    """A margin that replaces a gate, or a gate that replaces a margin."""
    if asked.margin is not None and asked.gate is not None:
        raise UsageError(msg("margin and gate both say which loss matters: give one of them"))
    if asked.margin is not None:
        return {"margin": asked.margin / 100, "gate": None}
    return {"gate": asked.gate, "margin": None} if asked.gate is not None else {}


def _reference(text: str) -> dict[str, Mapping[str, float] | ReferenceRun | None]:
    """The reference accuracies: a number for the whole bank, or those of a run folder by tier, and that run."""
    try:
        value = float(text)
    except ValueError:
        return _run_of(Path(text))
    if not 0 < value < 1:
        raise UsageError(msg("a reference accuracy lies between 0 and 1, not at {text}", text=text))
    return {"references": {"all": value}, "reference_run": None}


def _run_of(folder: Path) -> dict[str, Mapping[str, float] | ReferenceRun | None]:
    from healthcheck.stages.probe.reference_run import reference_of  # noqa: PLC0415
    from healthcheck.stages.probe.results.figures import accuracies  # noqa: PLC0415 - help needs no statistics
    from healthcheck.stages.probe.run.folder import load  # noqa: PLC0415

    run = load(folder)
    return {"references": accuracies(run), "reference_run": reference_of(run)}
