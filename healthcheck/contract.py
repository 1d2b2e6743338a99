"""The evaluation service's requirements of a submission, and the only place that states them.

Every rule carries the sentence that it comes from. A finding that breaks a documented rule is a failure and
quotes it; one that rests on an inference is a warning. When the service changes, this file changes.

What differs between services is a profile: `Service`, whose defaults are the public page's. One profile is in force
at a time, set by `judging_for` alone. The names below that have a type and no value (PORT, LAUNCH …) are looked up
in it at each use, so they are read in functions only. What is declared when a module is imported (a title, a
reason, a rule, a page) has places instead, such as {port}, which `stated` and `filled` fill.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields

from healthcheck.text.messages import SCRIPT, Message, joined, msg, named, naming

READ_ON = "2026-11-21"
PAGE = msg("Model accuracy evaluation (the service's own documentation page)")

MODELS_PATH = "/v1/models"
REQUIREMENTS = "requirements.txt"
MODEL_PATH_VARIABLE = "MODEL_PATH"
WEIGHT_PATH = "$MODEL_PATH"

ENTRY_POINT: str
PORT: int
CHAT_PATH: str
LAUNCH: Message
"""A last line of deploy.sh that meets the service's rules."""
MAX_WEIGHT_GB: int
MAX_WEIGHT: str
"""The weight limit as the page writes it. The page does not say which unit that is."""
MAX_WEIGHT_BYTES: int
"""The limit read strictly, in powers of ten."""
MAX_WEIGHT_GIB_BYTES: int
SAMPLES_PER_PROBLEM: int
"""The service's default for num_return_sequences; n = k = this number."""
TASKS: tuple[str, ...]
"""The codes of the tasks that it evaluates."""
UNKNOWN: tuple[Message, ...]
"""What the service does not document. Reports list it, so that nobody reads too much into a pass."""


class Task(enum.Enum):
    """The task codes of the public page, all over the chat endpoint."""

    TEXT_GENERATION = "text-generation"
    IMAGE_TEXT_TO_TEXT = "image-text-to-text"
    ANY_TO_ANY = "any-to-any"


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A profile: what one service, which runs deploy.sh, demands and has. The defaults are the public page's.

    Attributes:
        file: the profile's file, "" for the public page; `sha256` of its bytes.
        source: where its sentences were read, and `read_on` when; "" if the profile does not say it.
        sentences: the profile's own words for a rule, by the name of the attribute that they are about.
        given: the attributes that the file has, the public page's figure or another.
        release: of vllm-ascend, in the image. This and what follows is None if it is unknown.
        served_name: the model that requests name; WEIGHT_PATH stands for the path of its weights.
        shell: that runs deploy.sh: "sh", "dash" or "bash".
    """

    name: str = ""
    file: str = ""
    sha256: str = ""
    source: str = PAGE
    read_on: str = READ_ON
    sentences: Mapping[str, str] = field(default_factory=dict)
    given: frozenset[str] = frozenset()
    entry_point: str = SCRIPT
    served_name: str = WEIGHT_PATH
    port: int = 8000
    chat_path: str = "/v1/chat/completions"
    weight_limit_gb: int = 100
    tasks: tuple[str, ...] = tuple(task.value for task in Task)
    samples: int = 5
    release: str | None = None
    npu: str | None = None
    npus: int | None = None
    start_up_seconds: int | None = None
    network: bool | None = None
    shell: str | None = None
    user: str | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    concurrency: int | None = None

    def says(self, name: str) -> bool:
        """Whether the profile itself says an attribute, or has words for it."""
        return name in self.given or getattr(self, name) != getattr(PUBLIC, name)

    @property
    def streams(self) -> int:
        """How many streams the endpoint stage tries at once: the client's, within the bounds of its prompts."""
        return min(64, max(8, self.concurrency or 16))

    def requested(self, weights: str) -> str:
        """The model name in its requests, for weights with this path."""
        return weights if self.served_name == WEIGHT_PATH else self.served_name


FIGURES = ("entry_point", "served_name", "port", "chat_path", "weight_limit_gb", "tasks", "samples")
"""The attributes for which the public page has a figure."""
UNDOCUMENTED = tuple(each.name for each in fields(Service) if each.default is None)
"""The attributes that the public page leaves unknown."""
PUBLIC = Service()
_in_force = PUBLIC


@contextmanager
def judging_for(service: Service) -> Iterator[None]:
    """Everything in the block is judged for this service; the one place that changes which profile is in force."""
    global _in_force  # noqa: PLW0603 - see the module's docstring
    before, _in_force = _in_force, service
    try:
        with naming(service.entry_point):
            yield
    finally:
        _in_force = before


def service() -> Service:
    """The profile in force."""
    return _in_force


def __getattr__(name: str) -> object:
    """A figure of the profile in force."""
    now = _in_force
    if name == "LAUNCH":
        line = msg(
            'exec vllm serve "${model_path_variable}" --host 0.0.0.0 --port {port}',
            model_path_variable=MODEL_PATH_VARIABLE,
            port=now.port,
        )
        own = now.requested("")
        return line + f" --served-model-name {own}" if own else line
    if name == "UNKNOWN":
        return tuple(_unknown(now))
    figures = {
        "ENTRY_POINT": now.entry_point,
        "PORT": now.port,
        "CHAT_PATH": now.chat_path,
        "MAX_WEIGHT_GB": now.weight_limit_gb,
        "MAX_WEIGHT": f"{now.weight_limit_gb} GB",
        "MAX_WEIGHT_BYTES": now.weight_limit_gb * 10**9,
        "MAX_WEIGHT_GIB_BYTES": now.weight_limit_gb * 2**30,
        "SAMPLES_PER_PROBLEM": now.samples,
        "TASKS": now.tasks,
    }
    if name not in figures:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return figures[name]


def places() -> Mapping[str, str]:
    """The values of the placeholders in pages, titles, reasons and rules."""
    now = _in_force
    return {
        **{name: str(getattr(now, name)) for name in (*FIGURES, *UNDOCUMENTED)},
        "launch": str(__getattr__("LAUNCH")),
        "streams": str(now.streams),
        "served_name": msg("the name {name}", name=own)
        if (own := now.requested(""))
        else msg("the weight path"),
        "tasks": ", ".join(now.tasks),
        "repeats": str(now.samples),
        "limit": f"{now.weight_limit_gb} GB",
        "limit_gb": str(now.weight_limit_gb),
        "limit_bytes": f"{now.weight_limit_gb * 10**9:,}",
        "limit_gib_bytes": f"{now.weight_limit_gb * 2**30:,}",
    }


def filled(page: str) -> str:
    """A page, in whatever language it is, with the figures of the profile in force."""
    for name, value in places().items():
        page = page.replace(f"{{{name}}}", value)
    return named(page)


def stated(text: str) -> str:
    """A message that was declared with places, with the figures of the profile in force; any other as it is."""
    if not isinstance(text, Message) or text.values:
        return text
    said = {name: value for name, value in places().items() if f"{{{name}}}" in text.template}
    return msg(text.template, **said)


class Status(enum.Enum):
    """How certain a fact about the service is.

    DOCUMENTED is a sentence of the service. OBSERVED was seen in public material, which is not the evaluation.
    INFERRED follows from evidence. UNKNOWN is a fact that no source has; a rule of this status is one of a profile
    only.
    """

    DOCUMENTED = msg("documented")
    OBSERVED = msg("observed")
    INFERRED = msg("inferred")
    UNKNOWN = msg("unknown")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """What is known of one attribute of `Service`.

    Attributes:
        value: None if it is unknown. An observed value is in `observed`, since nothing is judged by it.
        source: the document or the file of a profile, "" for none; `read_on` is when it was read.
        observed: values that were seen in public material, "" for none.
    """

    name: str
    value: object
    status: Status
    source: str = ""
    read_on: str = ""
    observed: str = ""


OBSERVED: Mapping[str, Fact] = {
    fact.name: fact
    for fact in (
        Fact(
            name="release",
            value=None,
            status=Status.OBSERVED,
            source=msg("3 public adapter repositories that name a release"),
            read_on="2026-09",
            observed="0.18.0, 0.18.0rc1",
        ),
        Fact(
            name="npu",
            value=None,
            status=Status.OBSERVED,
            source=msg("notebooks of the platform, which are not the evaluation"),
            read_on="2026-09",
            observed="910B4",
        ),
    )
}
"""Facts that no document has, and that public material shows. Nothing is judged by them."""


def fact(name: str) -> Fact:
    """What is known of an attribute of the profile in force."""
    now = _in_force
    value = getattr(now, name)
    if now.says(name):
        return Fact(
            name=name,
            value=value,
            status=Status.DOCUMENTED,
            source=now.file,
            read_on=now.read_on,
        )
    if name in FIGURES:
        status = Status.DOCUMENTED
        return Fact(name=name, value=value, status=status, source=PAGE, read_on=READ_ON)
    return OBSERVED.get(name) or Fact(name=name, value=None, status=Status.UNKNOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule of the service, with the sentence that states it.

    Attributes:
        words: the sentence of the page, with places for its figures.
        status: how certain it is that the public service has this rule.
        page: where the sentence was read; "" for a rule that only a profile can have.
        about: the attributes of `Service` that it is about.
        otherwise: the sentence for a profile that says another value; "" for `words` with that value.
    """

    words: str
    status: Status
    page: str
    about: tuple[str, ...] = ()
    otherwise: str = ""

    @property
    def certainty(self) -> Status:
        """How certain it is that the service in force has this rule: a profile documents its own."""
        return Status.DOCUMENTED if self.is_own else self.status

    @property
    def is_own(self) -> bool:
        """Whether the rule is the profile's in force, and not the public page's."""
        return any(map(_in_force.says, self.about))

    @property
    def sentence(self) -> str:
        """The sentence; the profile's own, if it has one."""
        words = self.otherwise if self.otherwise and self.is_own else self.words
        return next(
            (_in_force.sentences[name] for name in self.about if name in _in_force.sentences),
            stated(words),
        )

    @property
    def source(self) -> str:
        """Where it was read; without words of its own, a profile has the figure alone."""
        if not self.is_own:
            return self.page
        quoted = any(name in _in_force.sentences for name in self.about)
        return (
            _in_force.source
            if quoted
            else msg("{source} (the figure, not the wording)", source=_in_force.source)
        )

    @property
    def read_on(self) -> str:
        """When it was read; "" if the profile does not say it."""
        return _in_force.read_on if self.is_own else READ_ON

    def cited(self) -> str:
        """Where and when it was read, and how sure it is."""
        if not self.read_on:
            return msg("{source}, {value}", source=self.source, value=self.certainty.value)
        return msg(
            "{source}, {value}, read {read_on}",
            source=self.source,
            value=self.certainty.value,
            read_on=self.read_on,
        )

    def quote(self) -> str:
        """The rule as a report prints it."""
        return msg("“{sentence}” — {source}", sentence=self.sentence, source=self.cited())


def _documented(words: str, *about: str, otherwise: str = "") -> Rule:
    """A sentence of the public page."""
    return Rule(words=words, status=Status.DOCUMENTED, page=PAGE, about=about, otherwise=otherwise)


def _of_a_profile(words: str, about: str) -> Rule:
    """A rule that the public page does not have; it holds only if the profile in force has its attribute."""
    return Rule(words=words, status=Status.UNKNOWN, page="", about=(about,))


ROOT_FILES = _documented(
    msg("requirements.txt and deploy.sh must be at the repository root."), "entry_point"
)
STARTS_THE_SERVICE = _documented(
    msg(
        "deploy.sh: The evaluation service uses this script to install dependencies and start the adapter "
        "project (required)."
    ),
    "entry_point",
)
PROVIDED = _documented(
    msg(
        "Torch NPU, CANN, and Python are provided by the environment for the selected framework version—do not "
        "duplicate them in requirements.txt (that can cause install conflicts)."
    )
)
WEIGHTS_FROM_MODEL_PATH = _documented(
    msg(
        "To pass the weight path in the shell script, use the environment variable $MODEL_PATH (path to the "
        "weight files)."
    )
)
LISTENS_ON_PORT = _documented(
    msg(
        "Inference must expose a standard OpenAPI-compatible inference API, and the HTTP server must "
        "listen on port {port}."
    ),
    "port",
)
CHAT_STREAMING = _documented(
    msg("The model inference service must be reachable via the streaming API at {chat_path}."),
    "chat_path",
)
CHAT_REQUIRED = _documented(
    msg(
        "Accuracy evaluation relies on {chat_path}. If that endpoint is missing, the accuracy job fails."
    ),
    "chat_path",
)
SERVED_NAME = _documented(
    msg(
        "you do not need --served-model-name; the evaluation service uses the weight path as the served model "
        "name automatically."
    ),
    "served_name",
    otherwise=msg("Requests ask for the model by {served_name}."),
)
WEIGHT_LIMIT = _documented(
    msg("Maximum size: {limit}. If exceeded: Weight download fails and the accuracy job fails."),
    "weight_limit_gb",
)
TASK_TYPES = _documented(
    msg(
        "The evaluation service calls the matching inference API for the selected weights’ task type. Supported "
        "task types: {tasks}."
    ),
    "tasks",
)
REPEATS = _documented(
    msg("The accuracy service defaults num_return_sequences to {repeats}."), "samples"
)
CLIENT_IS_AISBENCH = Rule(
    words=msg(
        "The evaluation client is AISBench: its report layout and version hash are those of the service's sample."
    ),
    status=Status.INFERRED,
    page=msg("the service's sample report, compared with AISBench's source"),
)

RELEASE = _of_a_profile(msg("The image has vllm-ascend {release}."), "release")
NPU = _of_a_profile(msg("The NPUs of the machine are of the kind {npu}."), "npu")
NPUS = _of_a_profile(msg("The number of NPUs is {npus}."), "npus")
START_UP = _of_a_profile(
    msg("The server has to answer within {start_up_seconds} s of the start of deploy.sh."),
    "start_up_seconds",
)
NO_NETWORK = _of_a_profile(msg("The machine has no network."), "network")
SHELL = _of_a_profile(msg("deploy.sh is run by {shell}."), "shell")
USER = _of_a_profile(msg("deploy.sh is run by the user {user}."), "user")
CONCURRENCY = _of_a_profile(
    msg("The client sends up to {concurrency} requests at once."), "concurrency"
)
MAX_TOKENS = _of_a_profile(msg("Each request asks for up to {max_tokens} tokens."), "max_tokens")
"""These are rules only where the profile in force says so: see `is_own`."""


def _unknown(now: Service) -> Iterator[Message]:
    if now.start_up_seconds is None:
        yield msg("the start-up time-out")
    if now.npu is None or now.npus is None:
        yield msg("the number and kind of NPUs")
    if now.release is None:
        yield msg("the image and its framework versions")
    if now.shell is None:
        yield msg("the shell and working directory of deploy.sh, and who installs requirements.txt")
    else:
        yield msg("the working directory of deploy.sh, and who installs requirements.txt")
    if now.user is None:
        yield msg("the user that runs deploy.sh")
    if now.network is None:
        yield msg("whether the network is there during installation")
    yield msg("whether the client runs on the same host")
    asked = [
        name for name in ("max_tokens", "temperature", "concurrency") if getattr(now, name) is None
    ]
    if len(asked) == 3:
        yield msg("the data set, max_tokens, temperature and concurrency of a task")
    else:
        yield msg("{listed} of a task", listed=joined(", ", (msg("the data set"), *asked)))
