"""Only the value of an assignment is replaced, not its name."""

from __future__ import annotations

import pytest

from healthcheck.stages.plan.script.arguments import reassigned
from healthcheck.verify.fix import Repair, propose


@pytest.mark.parametrize(
    ("name", "assignment", "after"),
    [("TP2", "TP2=2", "TP2=4"), ("TP2", 'export TP2="2"', "export TP2=4"), ("TP", "TP=2", "TP=4")],
)
def test_the_name_of_a_variable_stays(name: str, assignment: str, after: str) -> None:
    script = f"{assignment}\nexec vllm serve -tp ${name}\n"
    edits = reassigned("deploy.sh", script, name, "2", "4")
    repair = Repair(check="x", words="", edits=edits)
    (change,) = propose([repair], {"deploy.sh": script.encode()}).changes
    assert change.after.decode() == script.replace(assignment, after)
