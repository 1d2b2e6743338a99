"""Derives the settings of a run from its options."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

from healthcheck.errors import UsageError
from healthcheck.stages.probe.options.record import ProbeOptions, given
from healthcheck.stages.probe.records import ProbeSettings, RequestOptions
from healthcheck.text.messages import msg

_PATIENCE_FIELDS = {
    "connect_timeout_s": "connect_s",
    "silence_timeout_s": "silence_s",
    "answer_timeout_s": "limit_s",
    "attempts": "attempts",
    "retry_wait_s": "first_wait_s",
    "strikes": "strikes",
}
"""The fields of Patience that options set, by the name of the option."""
_REQUEST_FIELDS = {field.name for field in fields(RequestOptions)}
_SETTINGS_FIELDS = {field.name for field in fields(ProbeSettings)}


def settings_of(asked: ProbeOptions, base: ProbeSettings) -> ProbeSettings:
    """The base settings with the given options.

    Raises:
        UsageError: the reference is neither a number nor a suitable run, there is a margin without it, or two
            options contradict each other.
    """
    options = given(asked)
    unchanged = {name: value for name, value in options.items() if name in _SETTINGS_FIELDS}
    derived = {**_margin_or_gate(asked), **_data_sets(asked, base), **_reference(asked)}
    request = {name: value for name, value in options.items() if name in _REQUEST_FIELDS}
    patience = {
        field: options[option] for option, field in _PATIENCE_FIELDS.items() if option in options
    }
    settings = replace(
        base,
        **(unchanged | derived),
        request=replace(base.request, **request),
        patience=replace(base.patience, **patience),
    )
    _require_usable_margin(settings)
    return settings


def _margin_or_gate(asked: ProbeOptions) -> dict[str, object]:
    """The margin as a share without a gate, or the gate without a margin; {} if neither is given."""
    if asked.margin is not None and asked.gate is not None:
        raise UsageError(msg("margin and gate both say which loss matters: give one of them"))
    if asked.margin is not None:
        return {"margin": asked.margin / 100, "gate": None}
    if asked.gate is not None:
        return {"gate": asked.gate, "margin": None}
    return {}


def _data_sets(asked: ProbeOptions, base: ProbeSettings) -> dict[str, object]:
    """The file or files of problems; a file has the columns for all of them unless it gives its own."""
    if asked.dataset is not None and asked.datasets is not None:
        raise UsageError(msg("dataset and datasets both name files: give one of them"))
    if asked.dataset is not None:
        return {"dataset": asked.dataset, "datasets": ()}
    if asked.datasets is None:
        return {}
    columns = asked.columns or base.columns
    return {
        "dataset": ", ".join(each.file for each in asked.datasets),
        "datasets": tuple(
            replace(each, columns={**columns, **each.columns}) for each in asked.datasets
        ),
    }


def _reference(asked: ProbeOptions) -> dict[str, object]:
    """The reference accuracies: a number for the whole bank, or those of a run folder by tier, and that run."""
    if asked.reference is None:
        return {}
    try:
        accuracy = float(asked.reference)
    except ValueError:
        return _reference_from_run(Path(asked.reference))
    if not 0 < accuracy < 1:
        raise UsageError(
            msg("a reference accuracy lies between 0 and 1, not at {text}", text=asked.reference)
        )
    return {"references": {"all": accuracy}, "reference_run": None}


def _reference_from_run(folder: Path) -> dict[str, object]:
    from healthcheck.stages.probe.reference_run import reference_of  # noqa: PLC0415
    from healthcheck.stages.probe.results.figures import accuracies  # noqa: PLC0415 - help needs no statistics
    from healthcheck.stages.probe.run.folder import load  # noqa: PLC0415

    run = load(folder)
    return {"references": accuracies(run), "reference_run": reference_of(run)}


def _require_usable_margin(settings: ProbeSettings) -> None:
    """Raise UsageError for a margin without a reference, or one that no loss can exceed."""
    if settings.margin is None:
        return
    if not settings.references:
        raise UsageError(msg("--margin is the loss against a reference: give --reference too"))
    known = settings.references.get("all")
    if known is not None and settings.margin >= known:
        raise UsageError(
            msg(
                "a margin of {margin:g} points calls no server worse, as the reference is right in "
                "{known:.1f} %: give a smaller one",
                margin=100 * settings.margin,
                known=100 * known,
            )
        )
