"""Weights as a reference: a program in the place of the other environment's Python computes the toy's own weights."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import pytest

from healthcheck.cli import main
from healthcheck.core.progress import Silent
from healthcheck.core.records import CheckResult, Outcome
from healthcheck.errors import UsageError
from healthcheck.extensions.numerics import facts, local
from healthcheck.extensions.numerics.checks.reference import reference
from healthcheck.extensions.numerics.figures import metrics
from healthcheck.extensions.numerics.records import NumericsRun, NumericsSettings, Weights
from healthcheck.extensions.numerics.shift import shift_of
from tests.extensions.numerics.toy import Toy, serving

ROOT = Path(__file__).parents[3]
FEW = NumericsSettings(url="", pairs=4, max_batch=8, longest_tokens=320)
COMPUTES = """\
#!{python}
import json, math, random, sys
sys.path.insert(0, {root!r})
from tests.extensions.numerics.toy import Toy, tokens_of
asked = json.load(open(sys.argv[2]))
toy, draw = Toy(), random.Random(3)
def reading(context, noise):
    found = []
    for end in range(context["begin"], len(context["ids"])):
        logits = toy.logits(context["ids"][:end])
        total = math.log(sum(map(math.exp, logits)))
        values = [each - total + draw.gauss(0, noise) for each in logits]
        best = sorted(range(len(values)), key=values.__getitem__, reverse=True)[: asked["top"]]
        names = ["token_id:%d" % each for each in best]
        found.append({{"token": names[0], "top": dict(zip(names, [values[each] for each in best]))}})
    return found
print("@npu-adapter 1 2", flush=True)
answer = {{"transformers": "5.0", "number_format": "float32", "trial": tokens_of(toy, asked["trial"]),
          "readings": [reading(each, 0) for each in asked["contexts"]],
          "rounded": [reading(each, {rounding}) for each in asked["contexts"][:: asked["rounded"]]]}}
json.dump(answer, open(sys.argv[3], "w"))
"""


@pytest.fixture
def weights(tmp_path: Path) -> Callable[..., Weights]:
    """Weights, and the Python that reads them; the program takes what it may say from the arguments."""

    def make(program: str = COMPUTES, rounding: float = 0.02) -> Weights:
        folder = tmp_path / "weights"
        folder.mkdir()
        (folder / "config.json").write_text("{}")
        (folder / "model.safetensors").write_bytes(b"")
        python = tmp_path / "python"
        python.write_text(program.format(python=sys.executable, root=str(ROOT), rounding=rounding))
        python.chmod(0o755)
        return Weights(folder=str(folder), python=str(python))

    return make


@lru_cache(maxsize=8)
def measured(noise: float = 0.0, scale: float = 1.0, token_ids: bool = True) -> NumericsRun:
    """A run without a reference: comparing with weights asks the server nothing more."""
    with serving(Toy(noise=noise, scale=scale, token_ids=token_ids)) as url:
        return facts.measure(replace(FEW, url=url), Silent())


def compared(run: NumericsRun, against: Weights) -> NumericsRun:
    return local.compared(run, against, lambda done, total: None)


def judged(run: NumericsRun) -> CheckResult:
    return reference.judge(run)


@pytest.mark.process
def test_a_server_that_rounds_as_its_weights_do_passes(weights: Callable[..., Weights]) -> None:
    run = compared(measured(noise=0.02), weights())
    result = judged(run)
    assert result.outcome is Outcome.PASS
    assert "transformers 5.0, float32" in str(facts.provenance(run))
    shift = shift_of(run.steps, 0)
    assert shift.times_rounding is not None
    assert 0.5 < shift.times_rounding < 1.5
    assert shift.mean_kl_interval.low <= shift.mean_kl <= shift.mean_kl_interval.high


@pytest.mark.process
@pytest.mark.parametrize(("scale", "outcome"), [(0.8, Outcome.WARN), (-1.0, Outcome.FAIL)])
def test_other_weights_are_named(
    weights: Callable[..., Weights], scale: float, outcome: Outcome
) -> None:
    run = compared(measured(scale=scale), weights())
    assert judged(run).outcome is outcome
    assert "KL, 99th percentile" in str(metrics(run)["numerics_reference"])


@pytest.mark.process
def test_a_server_that_rounds_more_roughly_than_bfloat16_is_warned_of(
    weights: Callable[..., Weights],
) -> None:
    result = judged(compared(measured(noise=0.02), weights(rounding=0.004)))
    assert result.outcome is Outcome.WARN
    assert "what bfloat16 does to these weights" in result.findings[0].expected


@pytest.mark.process
@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("#!{python}\nraise SystemExit('ModuleNotFoundError: No module named torch')\n", "--reference-python"),
        ("#!{python}\nraise SystemExit('pass trust_remote_code=True')\n", "--trust-remote-code"),
        ("#!{python}\nraise SystemExit('MemoryError: 16.0 GB are needed')\n", "16.0 GB are needed"),
        ("#!{python}\n", "no answer"),
        (COMPUTES.replace('asked["trial"])', "asked[\"trial\"] + ' more')"), "tokenizer"),
    ],
    ids=["no-torch", "remote-code", "memory", "silent", "tokenizer"],
)  # fmt: skip
def test_weights_that_cannot_be_computed_settle_nothing(
    weights: Callable[..., Weights], program: str, said: str
) -> None:
    result = judged(compared(measured(), weights(program)))
    assert result.outcome is Outcome.SKIP
    assert not result.settled
    assert said in result.findings[0].seen


@pytest.mark.process
def test_a_server_that_takes_text_alone_is_not_compared(weights: Callable[..., Weights]) -> None:
    result = judged(compared(measured(token_ids=False), weights()))
    assert not result.settled


def test_a_python_that_is_not_there_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no Python"):
        local.find_python(str(tmp_path))


@pytest.mark.process
def test_the_command_takes_weights_where_a_run_is_named(
    weights: Callable[..., Weights], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = weights()
    with serving(Toy()) as url:
        words = [
            "numerics",
            url,
            "--reference",
            made.folder,
            "--reference-python",
            made.python,
            "--pairs",
            "4",
        ]
        assert main([*words, "--longest", "320", "--out", str(tmp_path / "run")]) == 0
        assert "mean divergence" in capsys.readouterr().out
        assert (
            main(
                [
                    "numerics",
                    url,
                    "--reference-python",
                    made.python,
                    "--out",
                    str(tmp_path / "other"),
                ]
            )
            == 2
        )
    assert "for --reference with a folder of weights" in capsys.readouterr().err
