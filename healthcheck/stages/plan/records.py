"""What a dry run recorded: the commands, the servers among them, and how each run of deploy.sh ended."""

from __future__ import annotations

import enum
import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from healthcheck.sandbox.job import EndedBy, Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCommand:
    """One command that deploy.sh, or a program that it started, ran against a stub.

    Attributes:
        program: the base name that it was called by.
        argv: the whole argument vector, program first.
        cwd: the working directory, as the sandbox names it.
        where: "deploy.sh:7" where the line was found, else empty.
        alive: it still ran when the dry run ended.
        texts: the text of configuration files and lists of packages among its arguments, by the name given.
    """

    program: str
    argv: tuple[str, ...]
    cwd: str
    where: str = ""
    alive: bool = False
    texts: Mapping[str, str] = field(default_factory=dict)


class Api(enum.Enum):
    """What a server offers. HEADLESS has no HTTP server; OPENAI_OTHER has other routes than chat."""

    OPENAI_CHAT = "openai-chat"
    OPENAI_OTHER = "openai-other"
    DEMO = "demo"
    EMBEDDING = "embedding"
    HEADLESS = "headless"
    UNKNOWN = "unknown"


class Origin(enum.Enum):
    """Where a server's port comes from; OPTION is the command line or a call in Python."""

    OPTION = "option"
    FILE = "file"
    VARIABLE = "variable"
    DEFAULT = "default"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class PortSource:
    """Where a server's port comes from, or why it is unknown.

    Attributes:
        text: as findings quote it: "--port 80", "PORT=80", "c.yaml:1".
        where: the line of the configuration file ("c.yaml:1"); "" where it is unknown or there is none.
    """

    kind: Origin
    text: str
    where: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerCommand:
    """One recorded launch of a model server.

    Attributes:
        engine: the name of a row of `servers.engines`, or "unknown".
        argv: as the engine receives it, without `vllm serve` or `python -m module` in front.
        command: the command as a person would type it.
        foreground: deploy.sh stays for as long as the server does.
        config_problem: why the engine cannot read its --config file, "" where it can or there is none.
        unread_config: its --config file where that is too long to be recorded whole: its options are unknown.
        limit_s: after how long what started the server ends it (`timeout 600 vllm serve …`); None without a limit.
        model: the weights that it would serve, resolved as a path where it is one; None is unknown.
        port: None is unknown, or what `port_source` has is not a number.
        served_names: under which the model is served, the engine's default included; empty where it is unknown.
        api_key: where a key is demanded ("--api-key", "VLLM_API_KEY"), never the key.
        missing_files: options with the files that they name and that were not there ("--config conf/c.yaml").
        missing_variables: environment variables ("NAME=value") that name files which were not there either.
        missing_code: options with the Python modules that they name and that are in no folder of the server's
            search path; those that only its working directory has are in beside_code.
        hub_names: options with the models beside the weights that they name as a hub does ("--tokenizer org/name").
        options: every option of the command line and of its configuration file by long name without dashes in
            front, underscores as dashes; "" for a bare switch, the last one where it is given repeatedly.
    """

    engine: str
    api: Api
    argv: tuple[str, ...]
    command: str
    env: Mapping[str, str]
    cwd: str
    model: str | None
    port: int | None
    port_source: PortSource
    host: str | None
    served_names: tuple[str, ...] = ()
    api_key: str | None = None
    foreground: bool = True
    where: str = ""
    missing_files: tuple[str, ...] = ()
    missing_variables: tuple[str, ...] = ()
    hub_names: tuple[str, ...] = ()
    missing_code: tuple[str, ...] = ()
    beside_code: tuple[str, ...] = ()
    config_problem: str = ""
    unread_config: str = ""
    limit_s: float | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def quoted(self) -> str:
        """The command as a message quotes it."""
        return self.command

    @property
    def place(self) -> str:
        """The line of deploy.sh that starts it, else its command."""
        return self.where or self.command

    def option(self, name: str) -> str | None:
        """The value of an option by its long name; "" for a bare switch, None where it is absent."""
        return self.options.get(name.lstrip("-").replace("_", "-"))


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedCommand:
    """A command that the shell ran, with values in place of variables; `line` is 0 outside deploy.sh."""

    text: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellRun:
    """How deploy.sh went under one shell.

    Attributes:
        exit_status: None if it was still running when the dry run ended, as a script with a server should.
        stderr, stdout: the first and last parts, decoded; `stderr_after` what was said once the server was ended.
        traced: the last commands of a run that ended by itself with an error, or because its server did not get
            ready, or at the time limit; empty where they are unknown.
        slept_s: how long it meant to sleep in total. `polled`: it asked a server whether it is ready.
    """

    shell: str
    exit_status: int | None
    ended_by: EndedBy
    stdout: str
    stderr: str
    commands: tuple[RecordedCommand, ...]
    servers: tuple[ServerCommand, ...]
    stderr_after: str = ""
    traced: tuple[TracedCommand, ...] = ()
    slept_s: float = 0.0
    polled: bool = False


class Sourced(enum.Enum):
    """How deploy.sh sourced a set_env.sh that the real one does not take; by the mark that its stub leaves."""

    ATB_UNDER_U = "atb-under-u"
    CANN_WITHOUT_BASH = "cann-without-bash"


@dataclass(frozen=True, slots=True, kw_only=True)
class Observations:
    """What the dry run showed beside commands, and how the script was kept from this machine.

    Attributes:
        stricter: why there was no sandbox of a stricter mode; "" where none was tried.
        network: the script could reach the network.
        trouble: why there was no dry run, of one that ended by COPY.
        sourced: the environment scripts that were sourced in a way that the real ones do not take.
        refused_ports: polled again and again, while no recorded server listened on them.
        unknown_models: asked of recorded servers that do not serve them.
    """

    mode: Mode = Mode.ISOLATED
    stricter: str = ""
    network: bool = False
    trouble: str = ""
    sourced: tuple[Sourced, ...] = ()
    refused_ports: tuple[int, ...] = ()
    unknown_models: tuple[str, ...] = ()

    @property
    def isolated(self) -> bool:
        """Whether the script saw a machine of its own, and not this one."""
        return self.mode is Mode.ISOLATED


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchPlan:
    """What deploy.sh would launch.

    Attributes:
        server: the server nearest to what the service reaches, although its port, its API or its end may be wrong;
            None only if none was started.
        servers: all of them in the order in which they were started.
        commands: everything that was recorded.
        spaced: the server of a second run, in which MODEL_PATH has spaces and characters beyond ASCII.
        model_path: what MODEL_PATH was, `spaced_model_path` what it was in the second run.
        given_path: the folder of the weights as it was given, outside the sandbox.
        root: where the copy of the submission was; recorded paths below it are the submission's own.
        run: the run that the verdict rests on; `others` are those under other shells.
        loading_run: one in which no server ever gets ready; None where deploy.sh does not wait for one.
        script: the text of deploy.sh. `settings`: that of adapter.toml, "" where there is none.
        observed: what the run that the verdict rests on showed beside its commands.
        required: the packages, addresses and folders that requirements.txt asks for.
        unshipped: files that the author's working tree has and the committed tree has not.
        stack: the chosen row of the version matrix; "" is the default one.
    """

    server: ServerCommand | None
    servers: tuple[ServerCommand, ...]
    commands: tuple[RecordedCommand, ...]
    spaced: ServerCommand | None
    model_path: str
    spaced_model_path: str
    root: str
    run: ShellRun
    others: tuple[ShellRun, ...] = ()
    spaced_run: ShellRun | None = None
    loading_run: ShellRun | None = None
    script: str = ""
    settings: str = ""
    observed: Observations = field(default_factory=Observations)
    unshipped: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    stack: str = ""
    given_path: str = ""

    @property
    def served_below(self) -> str:
        """What of the weights is served, relative to MODEL_PATH; "" where it is MODEL_PATH itself."""
        model = os.path.normpath(self.server.model or "") if self.server else ""
        inside = f"{self.model_path.rstrip('/')}/"
        return model.removeprefix(inside) if model.startswith(inside) else ""
