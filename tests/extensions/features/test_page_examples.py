"""The page of a check shows an answer that it objects to, and the right one: both are judged in place of a sound one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from healthcheck.core.progress import Silent
from healthcheck.core.records import Outcome
from healthcheck.extensions.features import facts
from healthcheck.extensions.features.checks import CHECKS
from healthcheck.extensions.features.reading import read
from healthcheck.extensions.features.records import FeaturesRun
from healthcheck.verify import catalogue
from healthcheck.wire.client import Exchange
from tests.extensions.features.fake_server import Fake, serving
from tests.support.page_examples import example, pages

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def sound() -> FeaturesRun:
    with serving(Fake()) as url:
        return facts.gather(url, "", facts.read_trials(facts.TRIALS, None), Silent())


def with_answer(run: FeaturesRun, name: str, text: str) -> FeaturesRun:
    answer = read(Exchange(status=200, body=text.encode()))
    if name == "each request":
        return replace(run, trials=tuple(trial._replace(answer=answer) for trial in run.trials))
    alike = {name, f"{name}, again", f"{name}, streamed"} & run.answers.keys()
    assert name in alike
    return replace(run, answers={**run.answers, **dict.fromkeys(alike, answer)})


@pytest.mark.parametrize(
    "page", pages("features"), ids=lambda page: page.id.removeprefix("features/")
)
def test_a_check_objects_to_its_example_and_not_to_the_repaired_one(
    page: catalogue.Page, sound: FeaturesRun
) -> None:
    check = next(each for each in CHECKS if each.id == page.id)
    shown = example(page)
    for texts, outcomes in (
        (shown.wrong, {Outcome.FAIL}),
        (shown.right, {Outcome.PASS, Outcome.WARN}),
    ):
        ((name, text),) = texts.items()
        result = check.judge(with_answer(sound, name, text))
        assert result.outcome in outcomes, (text, result.because, result.findings)
        assert outcomes == {Outcome.FAIL} or all(
            "fit" not in each.expected for each in result.findings
        )
