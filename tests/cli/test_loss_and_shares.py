"""Losses and shares as the command line takes them: one unit, or a refusal that gives the form that works."""

from __future__ import annotations

import re

import pytest

from healthcheck.cli import main
from healthcheck.stages.probe.options.reading import with_settings
from healthcheck.stages.probe.options.record import ProbeOptions


@pytest.mark.parametrize("text", ["5", "5%", " 5 % "])
def test_a_probe_takes_points_with_or_without_their_sign(text: str) -> None:
    assert with_settings(ProbeOptions(), [f"margin={text}"]).margin == 5


@pytest.mark.parametrize("text", ["0.05", "0.5", "0.5%", "100", "5%%"])
def test_a_probe_refuses_what_could_be_a_share(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["probe", "http://127.0.0.1:9", "--reference", ".8", "--margin", text])
    assert stop.value.code == 2
    assert "points of accuracy from 1 to 99, such as 5 or 5%" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "suggested"),
    [
        ("0.8", "easy=0.8,medium=0.8,hard=0.8"),
        (".75", "easy=.75,medium=.75,hard=.75"),
        ("1", "easy=1,medium=1,hard=1"),
        ("80%", "easy=.9,medium=.7,hard=.5"),
        ("all=.8", "easy=.9,medium=.7,hard=.5"),
    ],
)
def test_a_simulated_accuracy_without_a_tier_is_refused_with_the_form(
    given: str, suggested: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", "--port", "0", "--accuracy", given]) == 2
    assert capsys.readouterr().err.rstrip().endswith(f"such as {suggested}")


@pytest.mark.process
def test_doctor_says_who_judges_expressions(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"^yes +math-verify +\d+\.\d+", said, re.MULTILINE)
    assert "the extra [math]" in said


@pytest.mark.process
def test_doctor_gives_the_line_that_installs_math_verify(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from importlib import metadata

    real = metadata.version

    def without(name: str) -> str:
        if name == "math-verify":
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(metadata, "version", without)
    assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    assert re.search(
        r"^no +math-verify +only numbers.*pip install .*math-verify", said, re.MULTILINE
    )
