"""The recording of a dry run: commands, servers, and how each run of deploy.sh ended."""

from __future__ import annotations

import enum
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from healthcheck.engines.base import Api, Engine
from healthcheck.sandbox.job import EndedBy, Mode

SETTINGS = "adapter.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCommand:
    """A command that deploy.sh, or a program of it, ran against a stub.

    Attributes:
        program: the base name of the called program.
        argv: the whole argument vector, program first.
        cwd: the working directory in the sandbox.
        where: the line ("deploy.sh:7"), "" if not found.
        alive: the command still ran when the dry run ended.
        serves: the command is a server.
        texts: configuration and requirements files among the arguments, by their names there.
    """

    program: str
    argv: tuple[str, ...]
    cwd: str
    where: str = ""
    alive: bool = False
    serves: bool = False
    texts: Mapping[str, str] = field(default_factory=dict)


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
        text: the source in a finding: "--port 80", "PORT=80", "c.yaml:1".
        where: the line of the configuration file ("c.yaml:1"); "" if unknown or without a file.
    """

    kind: Origin
    text: str
    where: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """An address to which a front passes chats.

    Attributes:
        port: None if unknown.
        path: the path of a chat there.
        name: the requested model names that it gets, with `*` as a wildcard; "" for all.
        model: the model's name there; "" if it is that of the request.
        tls: the front expects TLS there.
        keyed: the front sends a key of its own.
        unknown: why the kit does not follow it; "" if it does.
        where: the line of the configuration ("nginx.conf:7").
    """

    host: str
    port: int | None
    path: str
    name: str = ""
    model: str = ""
    tls: bool = False
    keyed: bool = False
    unknown: str = ""
    where: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Front:
    """Where a server passes chats to, by its configuration.

    Attributes:
        kind: "nginx", "litellm" or the name of another front.
        targets: the addresses, each of which gets a part of the requests.
        problem: why it does not start or passes no chat, with `fix`; "" for none.
        unknown: why its targets are unknown; "" if they are known.
        doubt: why it may refuse to start, in some releases; "" for no reason.
        elsewhere: it does not listen on the service's port, which plan/port reports.
        where: the line of the configuration.
    """

    kind: str
    targets: tuple[Target, ...] = ()
    problem: str = ""
    fix: str = ""
    unknown: str = ""
    doubt: str = ""
    elsewhere: bool = False
    where: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerCommand:
    """One recorded launch of a model server.

    Attributes:
        engine: what the kit knows of the engine.
        argv: the arguments of the engine, after `vllm serve` or `python -m module`.
        command: the command as a person would type it.
        foreground: deploy.sh keeps running while the server runs.
        config_problem: why the engine cannot read its --config file, "" if it can or has none.
        unread_config: its --config file, if too long or deep to be read whole; its options are unknown.
        ignored_config: the file of a --config that the engine does not read, as in --config=FILE; "" for none.
        limit_s: the time limit of the server (`timeout 600 vllm serve …`); None without a limit.
        carriage_returns: arguments that end in a carriage return, each as the option ("" for none) and the value
            without it. All other attributes have the arguments without these carriage returns.
        slept_s: how long the script and its programs meant to sleep before the server started.
        model: the weights to serve, as a resolved path or a name; None if unknown.
        port: None if unknown, or if `port_source` has no number.
        served_names: the served model names, including the engine's default; empty if unknown.
        adapters: the names of LoRA adapters that are served as models besides it.
        api_key: the source of a required key ("--api-key", "VLLM_API_KEY"), never the key.
        missing_files: options with a missing file ("--config conf/c.yaml").
        missing_variables: environment variables ("NAME=value") with a missing file.
        missing_code: options with a Python module that is not on the server's search path; `beside_code` has those
            with a module in its working directory only, `left_out_code` those that pip does not install, with the
            file and line of the setup.py.
        hub_names: options with a model of a hub, besides the weights ("--tokenizer org/name").
        front: where the server passes chats to; None if it answers them itself, or if that is unknown.
        options: all options of the command line and the configuration file, by long name without leading dashes
            and with dashes for underscores; "" for a bare switch, the last value of a repeated option.
    """

    engine: Engine
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
    adapters: tuple[str, ...] = ()
    api_key: str | None = None
    foreground: bool = True
    where: str = ""
    missing_files: tuple[str, ...] = ()
    missing_variables: tuple[str, ...] = ()
    hub_names: tuple[str, ...] = ()
    missing_code: tuple[str, ...] = ()
    beside_code: tuple[str, ...] = ()
    left_out_code: tuple[tuple[str, str], ...] = ()
    config_problem: str = ""
    unread_config: str = ""
    ignored_config: str = ""
    limit_s: float | None = None
    front: Front | None = None
    slept_s: float = 0.0
    carriage_returns: tuple[tuple[str, str], ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def place(self) -> str:
        """The line of deploy.sh that starts the server, else its command."""
        return self.where or self.command

    def option(self, name: str) -> str | None:
        """The value of an option by its long name; "" for a bare switch, None if absent."""
        return self.options.get(name.lstrip("-").replace("_", "-"))


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedCommand:
    """A command in the shell's trace, with values in place of variables; `line` is 0 outside deploy.sh."""

    text: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellRun:
    """A run of deploy.sh under one shell.

    Attributes:
        exit_status: None if the script still ran at the end of the dry run, as a script with a server should.
        stderr, stdout: the first and last parts, decoded; `stderr_after` is the output after the server's end.
        traced: the last commands of a run that ended with an error, at the time limit, or because its server did
            not become ready; empty if unknown.
        slept_s: how long the script meant to sleep in total. `polled`: it polled a server.
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


class Mark(enum.Enum):
    """What a stub noted: how a set_env.sh was sourced that fails so, or what the sandbox does not have."""

    ATB_UNDER_U = "atb-under-u"
    CANN_WITHOUT_BASH = "cann-without-bash"
    NETWORK = "network"


@dataclass(frozen=True, slots=True, kw_only=True)
class Observations:
    """Observations of the dry run other than commands, and the mode of its sandbox.

    Attributes:
        stricter: why no stricter mode was used; "" if none was tried.
        trouble: why the dry run failed, if it ended by COPY.
        refused_ports: ports that were polled repeatedly while no recorded server listened there.
        unknown_models: models requested from recorded servers that do not serve them.
    """

    mode: Mode = Mode.ISOLATED
    stricter: str = ""
    trouble: str = ""
    marks: tuple[Mark, ...] = ()
    refused_ports: tuple[int, ...] = ()
    unknown_models: tuple[str, ...] = ()

    @property
    def isolated(self) -> bool:
        """Whether the script saw a machine of its own."""
        return self.mode is Mode.ISOLATED


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """The format of a model's answers: model_type of config.json and the chat template; "" if unknown."""

    model_type: str = ""
    template: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnshippedFile:
    """A small settings file of the working copy that is not committed.

    Attributes:
        sets: the variables that it assigns, with their values.
        has_secret: one of its lines has a likely secret.
    """

    path: str
    sets: Mapping[str, str]
    has_secret: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcedFile:
    """A committed file that deploy.sh sources; `read_at` is the line of deploy.sh that does it."""

    path: str
    text: str
    read_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchPlan:
    """What deploy.sh would launch.

    Attributes:
        server: the server that the service most likely reaches, even with a wrong port or API or in the background;
            None only if no server was started.
        servers: all servers in the order of their start.
        commands: all recorded commands.
        spaced: the server of a second run, whose MODEL_PATH has spaces and non-ASCII characters.
        model_path: MODEL_PATH of the first run, `spaced_model_path` of the second run.
        given_path: the author's folder of the weights, outside the sandbox; `form` is their format of answers.
        root: the folder of the submission's copy; recorded paths below it belong to the submission.
        run: the run that determines the verdict; `others` are those under other shells.
        loading_run: a run in which no server becomes ready; None if deploy.sh does not wait for its server.
        elsewhere_run: a run with another working directory; None if deploy.sh starts no server or is the only file.
        script: the text of deploy.sh. `settings`: the text of adapter.toml, "" without one.
        sourced: the committed files that deploy.sh sources.
        observed: observations of `run`.
        required: the packages, URLs and folders in requirements.txt.
        committed: the paths of the committed files. `given_root`: the author's folder of the repository
            (not the copy in the sandbox).
        unshipped: files of the author's working copy that are not committed; `unshipped_files` are those of
            settings, read.
        weight_files: the names at the top of the weights folder.
        line_ends: small committed files whose lines end in CR LF and contain an argument or variable of the server
            that ends in a carriage return; all small files with such lines if none contains it.
        stack: the chosen row of the version matrix; "" for the default.
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
    elsewhere_run: ShellRun | None = None
    script: str = ""
    settings: str = ""
    sourced: tuple[SourcedFile, ...] = ()
    observed: Observations = field(default_factory=Observations)
    committed: frozenset[str] = frozenset()
    given_root: str = ""
    unshipped: tuple[str, ...] = ()
    unshipped_files: tuple[UnshippedFile, ...] = ()
    weight_files: frozenset[str] = frozenset()
    line_ends: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    stack: str = ""
    given_path: str = ""
    form: Format = field(default_factory=Format)

    def in_repository(self, path: str) -> str:
        """The path from the repository's root, if it leads there; another path as it is."""
        return path.removeprefix(f"{self.root}/").removeprefix("./")

    def settings_line(self, pattern: str) -> str:
        """The place of the first line of adapter.toml that begins with a pattern; "" if none does."""
        lines = enumerate(self.settings.splitlines(), 1)
        return next((f"{SETTINGS}:{at}" for at, line in lines if re.match(pattern, line)), "")

    @property
    def served_below(self) -> str:
        """The served path relative to MODEL_PATH; "" for MODEL_PATH itself."""
        model = os.path.normpath(self.server.model or "") if self.server else ""
        inside = f"{self.model_path.rstrip('/')}/"
        return model.removeprefix(inside) if model.startswith(inside) else ""
