"""What the kit can know of an inference server, and of the commands that start it."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from healthcheck.text.messages import msg

EVERYWHERE = "0.0.0.0"  # noqa: S104 - compared with, never bound
LOOPBACK = "127.0.0.1"


class Api(enum.Enum):
    """The API of a server. HEADLESS has no HTTP server; OPENAI_OTHER has other routes than chat."""

    OPENAI_CHAT = "openai-chat"
    OPENAI_OTHER = "openai-other"
    DEMO = "demo"
    EMBEDDING = "embedding"
    HEADLESS = "headless"
    UNKNOWN = "unknown"


class FrontKind(enum.Enum):
    """The configuration of a server that passes chats on to others. The kit does not read an UNREAD one."""

    LITELLM = enum.auto()
    NGINX = enum.auto()
    UNREAD = enum.auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """The known options of an engine: long names without dashes; `short` maps "-m" to a long name."""

    switches: frozenset[str] = frozenset()
    many: frozenset[str] = frozenset()
    valued: frozenset[str] = frozenset()
    short: Mapping[str, str] = field(default_factory=dict)

    def full_name(self, name: str) -> str:
        """The long name that `name` abbreviates; `name` itself if unknown or ambiguous."""
        known = self.switches | self.many | self.valued
        head, dot, rest = name.partition(".")
        if head in known:
            return name
        found = {candidate for candidate in known if candidate.startswith(head)}
        return f"{found.pop()}{dot}{rest}" if len(found) == 1 else name


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the kit knows of an engine's options and environment variables.

    Attributes:
        catalogue: the files of the kit's data that list the options and variables of each release, as a pattern;
            "" if there are none.
        rewritten: short options that its parser rewrites, so that no catalogue lists them, with their long names.
        port, host, name: the options that a repair passes; "" if the setting is elsewhere.
        decide_port: the command line alone determines the only port.
        name_the_model: an option or the first argument is the model, and a repair may write $MODEL_PATH there.
        config_file: --config is a file of options, which is read only if --config is a word of its own.
        config_suffixes: the suffixes that such a file must have, if its other rules are known as well.
        adapters: the option with LoRA adapters, each of which is a model with a name of its own.
        socket: the option that replaces the port by a Unix socket.
        remote_code: it loads code that comes with the weights only with --trust-remote-code.
        empty_key_counts: an empty API key is demanded as well.
        code: options with Python classes and modules that the engine imports.
        packages: the packages that values of an option need and the image lacks, by option and value.
        opened: environment variables with a file without which the engine does not start.
    """

    catalogue: str = ""
    rewritten: Mapping[str, str] = field(default_factory=dict)
    port: str = "--port"
    host: str = "--host"
    name: str = "--served-model-name"
    decide_port: bool = False
    name_the_model: bool = False
    config_file: bool = False
    config_suffixes: tuple[str, ...] = ()
    adapters: str = ""
    socket: str = ""
    remote_code: bool = False
    empty_key_counts: bool = True
    code: frozenset[str] = frozenset()
    packages: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    opened: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """What the kit knows of an engine's answers.

    Attributes:
        chat_at_one_path: chats are answered at the path of OpenAI's API only.
        has_a_name: the model has a name there, whatever the options.
        refuses_other_names: requests for another model are refused.
        named_by_path: without an option for the name, the model has the path that the command gives.
        binds_host_as_given: the host goes to the socket unchanged.
        needs_interfaces: it does not start if a variable names a network interface that is missing.
        owner: the owner of its models in the list that it serves; "" if unknown.
    """

    chat_at_one_path: bool = False
    has_a_name: bool = False
    refuses_other_names: bool = False
    named_by_path: bool = False
    binds_host_as_given: bool = False
    needs_interfaces: bool = False
    owner: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loading:
    """What the kit knows of the way in which an engine reads weights.

    Attributes:
        as_vllm: the rules of vLLM apply, or may apply because the engine is unknown.
        by_vllm_ascend: it certainly runs on NPUs by vllm-ascend, with its kernels and schemes.
        generation_config: it samples by the generation_config.json of the weights.
        by_architecture: `architectures` in config.json and the processor's files decide which classes load.
        own_templates: it has chat templates of its own for many models.
        gguf_alone: a GGUF file needs no configuration beside it.
        one_gguf_file: the model is one GGUF file, never a folder.
        load_format_of_gguf: with this value of --load-format, the model is one GGUF file.
    """

    as_vllm: bool = False
    by_vllm_ascend: bool = False
    generation_config: bool = False
    by_architecture: bool = True
    own_templates: bool = False
    gguf_alone: bool = False
    one_gguf_file: bool = False
    load_format_of_gguf: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What the kit knows of an engine's use of a device's memory.

    Attributes:
        share_options: the options with the share of a device that a server reserves; () if unknown.
    """

    share_options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsFile:
    """A JSON file that has all settings of an engine, which takes none on its command line.

    Attributes:
        places: where the engine looks for it, by program.
        port, host, model, name, tls: the path of each setting in the file.
    """

    places: Mapping[str, tuple[str, ...]]
    port: tuple[str | int, ...]
    host: tuple[str | int, ...]
    model: tuple[str | int, ...]
    name: tuple[str | int, ...]
    tls: tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Engine:
    """An inference server, or a web server that may be in front of one.

    Two values are equal if they are the same one. What a field does not say is unknown.

    Attributes:
        name: its name in messages and reports; several values may share one.
        package: the package that installs it, if the vllm-ascend image lacks it: "" if none does; None if the image
            has it, or if the program tells (see `of_many_programs`).
        module: its Python module, if it is not named like the package.
        of_many_programs: several programs have this value, so the program is looked up in place of it.
        web_server: it serves a program of the author, or passes requests on.
        front: how the kit learns where it passes chats; None if it answers them itself.
        settings_file: the file with all its settings; None if it takes options.
        memory: None if its use of memory is unknown.
    """

    name: str
    package: str | None = None
    module: str = ""
    of_many_programs: bool = False
    web_server: bool = False
    front: FrontKind | None = None
    settings_file: SettingsFile | None = None
    options: Options = field(default_factory=Options)
    serving: Serving = field(default_factory=Serving)
    loading: Loading = field(default_factory=Loading)
    memory: Memory | None = None

    @property
    def is_catalogued(self) -> bool:
        """Whether its options and variables can be judged."""
        return bool(self.options.catalogue)

    def wants_gguf_file(self, options: Mapping[str, str]) -> bool:
        """Whether the model of a server with these options has to be one GGUF file."""
        by_format = self.loading.load_format_of_gguf
        return self.loading.one_gguf_file or (
            bool(by_format) and options.get("load-format") == by_format
        )

    def port_repair(self, port: int) -> str:
        """How to make it listen on a port."""
        return msg("pass {option} {port}", option=self.options.port, port=port)

    def host_repair(self, port: int) -> str:
        """How to make it listen on every interface, at this port."""
        del port
        return msg("pass {option} {address}", option=self.options.host, address=EVERYWHERE)

    def name_repair(self, option: str, name: str) -> str:
        """How to serve the model under a name, with the option of the name."""
        return msg("pass {option} {name}", option=option, name=name)

    def path_as_name_repair(self, option: str) -> str:
        """How to serve the model under the value of MODEL_PATH, with the option of the name."""
        return msg('pass {spelled} "$MODEL_PATH"', spelled=option)

    def no_tls_repair(self) -> str:
        """How to make it answer plain HTTP."""
        return msg("remove --ssl-certfile and --ssl-keyfile")


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One way to start an engine.

    Attributes:
        programs: command words that start the engine ("vllm serve"); a module as "-m name". The longest match wins.
        port, host: the engine's defaults; None if unknown.
        port_options, …: long option names, in order of precedence.
        port_variables, …: environment variables that apply without such an option.
        positional_model: the first positional argument is the model. `positional_port`: it is the port.
        overriding_option: the option with a file whose settings count more than the command line; the kit does not
            read that file.
        listens_by_file: a directive of its configuration file may name the port.
        name_is: the default model name: "model" (the path as given), "basename", a fixed name, or "?" (unknown).
        grammar: the options that the kit knows without a catalogue.
    """

    engine: Engine
    programs: tuple[str, ...]
    api: Api = Api.OPENAI_CHAT
    port: int | None = 8000
    host: str | None = EVERYWHERE
    port_options: tuple[str, ...] = ("port",)
    host_options: tuple[str, ...] = ("host",)
    bind_options: tuple[str, ...] = ()
    model_options: tuple[str, ...] = ("model",)
    name_options: tuple[str, ...] = ("served-model-name",)
    key_options: tuple[str, ...] = ("api-key",)
    port_variables: tuple[str, ...] = ()
    host_variables: tuple[str, ...] = ()
    model_variables: tuple[str, ...] = ()
    key_variables: tuple[str, ...] = ()
    name_variables: tuple[str, ...] = ()
    positional_model: bool = False
    positional_port: bool = False
    overriding_option: str = ""
    listens_by_file: bool = False
    default_model: str | None = None
    name_is: str = "model"
    grammar: Grammar = field(default_factory=Grammar)


def by_variable(names: tuple[str, ...], environment: Mapping[str, str]) -> tuple[str, str] | None:
    """The first environment variable that is set, with its value."""
    return next(((name, environment[name]) for name in names if environment.get(name)), None)
