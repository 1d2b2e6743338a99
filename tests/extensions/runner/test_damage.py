"""Whatever a machine answers, no check breaks."""

from __future__ import annotations

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from healthcheck.core.records import Outcome
from healthcheck.extensions.runner.asked import Depth
from healthcheck.extensions.runner.snapshot import Snapshot
from healthcheck.report import page
from tests.extensions.runner.answers import complete
from tests.extensions.runner.replaying import NAMES, plain, report

JUNK = st.one_of(
    st.text(max_size=30),
    st.sampled_from(["-1", "9" * 40, "0", "{}", "@npu-adapter {", "| 0 | OK | / |"]),
)


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=60)
@given(st.sampled_from(NAMES), st.data())
def test_no_recording_breaks_a_check(name, data):
    machine = plain(name)
    for _ in range(data.draw(st.integers(1, 4))):
        _damage(machine, data)
    try:
        found = report(machine)
    except Exception as error:
        raise AssertionError(json.dumps(machine)[:3000]) from error
    assert not [result for result in found.results if result.outcome is Outcome.ERROR]


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=60, deadline=None)
@given(st.data())
def test_no_answer_of_the_deeper_levels_breaks_a_check(data):
    machine = complete()
    for _ in range(data.draw(st.integers(1, 4))):
        _damage(machine, data)
    found = report(machine, depth=Depth.SOAK, earlier=Snapshot())
    assert not [result for result in found.results if result.outcome is Outcome.ERROR]
    page.render(found)


def _damage(machine, data):
    """Change, empty or drop one answer; the file stays a recording."""
    part = data.draw(
        st.sampled_from(["commands", "children", "files", "variables", "paths", "spaces"])
    )
    answers = machine[part]
    if not answers:
        return
    key = data.draw(st.sampled_from(sorted(answers)))
    value = answers[key]
    if part in {"commands", "children"} and data.draw(st.booleans()):
        lines = value["stdout"] or [""]
        at = data.draw(st.integers(0, len(lines) - 1))
        cut = data.draw(st.integers(0, len(lines[at])))
        value["stdout"] = [*lines[:at], lines[at][:cut] + data.draw(JUNK), *lines[at + 1 :]]
        value["status"] = data.draw(st.sampled_from([0, 1, -9, None]))
    elif part == "files":
        answers[key] = data.draw(st.one_of(st.none(), st.lists(JUNK, max_size=3)))
    elif part == "variables":
        answers[key] = data.draw(JUNK)
    else:
        del answers[key]
