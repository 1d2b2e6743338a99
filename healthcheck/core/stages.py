"""The stages of a verification: the one table of their names, titles and order.

A run, the command line's choices, the report and `npu-adapter explain` take their order from `Stage.place`.
An extension declares its own stage with a place between these.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from healthcheck.text.messages import msg


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a report is about, with the sentences of a report without a failure that differ by it.

    Attributes:
        whole: the extent of a complete run, as `Report.asked` has it.
        ready: the headline of a complete run that found no failure.
        use: what the reader does then.
        after_a_part: what the reader does first if the run was not complete; "" for nothing else.
    """

    whole: str
    ready: str
    use: str
    after_a_part: str = ""


SUBMISSION = Subject(
    whole=msg("{first} to {last}", first="repo", last="probe"),
    ready=msg("ready"),
    use=msg("submit"),
    after_a_part=msg(
        "before you submit, verify the repository with its weights through every stage"
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A part of a verification that gathers its facts once.

    Attributes:
        name: the stage's name on the command line and in reports, and the first word of most of its check ids.
        title: what a run announces when the stage begins.
        place: its position among the stages, ascending.
        counts: whether the verdict depends on its checks. The service does not ask for the others.
        subject: what a report with this stage alone is about.
    """

    REPO: ClassVar[Stage]
    PLAN: ClassVar[Stage]
    WEIGHTS: ClassVar[Stage]
    SERVICE: ClassVar[Stage]
    ENDPOINT: ClassVar[Stage]
    PROBE: ClassVar[Stage]

    name: str
    title: str = field(compare=False)
    place: int
    counts: bool = True
    subject: Subject = field(default=SUBMISSION, compare=False, repr=False)

    def reaches(self, other: Stage) -> bool:
        """Whether a run that ends with this stage includes the other one."""
        return self.place >= other.place


Stage.REPO = Stage(name="repo", title=msg("the committed files"), place=10)
Stage.PLAN = Stage(
    name="plan",
    title=msg("what deploy.sh would launch (it runs in a sandbox, against stubs)"),
    place=20,
)
Stage.WEIGHTS = Stage(name="weights", title=msg("the weights and the task"), place=30)
Stage.SERVICE = Stage(name="service", title=msg("launching deploy.sh"), place=40)
Stage.ENDPOINT = Stage(name="endpoint", title=msg("the chat endpoint"), place=50)
Stage.PROBE = Stage(name="probe", title=msg("a short accuracy measurement"), place=70)

STAGES = (
    Stage.REPO,
    Stage.PLAN,
    Stage.WEIGHTS,
    Stage.SERVICE,
    Stage.ENDPOINT,
    Stage.PROBE,
)
"""The stages of every verification, in order. Those of extensions run on request."""


def stage_named(name: str) -> Stage:
    """The stage of every verification with this name.

    Raises:
        KeyError: there is none.
    """
    return {stage.name: stage for stage in STAGES}[name]
