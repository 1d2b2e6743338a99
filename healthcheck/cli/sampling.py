"""The options of a probe, which `verify` and `probe` share."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection
from urllib.parse import urlsplit

from healthcheck import contract
from healthcheck.cli.places import place
from healthcheck.errors import UsageError
from healthcheck.stages.probe.options.record import Group, Option, ProbeOptions, given, options
from healthcheck.text.messages import msg

_FILE = msg(
    "the options in a TOML file (docs/probe-options.md has all of them); what is given beside it counts more"
)


def server_root(text: str) -> str:
    """The root of a server; accepts a client's address, which often ends in /v1 or the whole path.

    Raises:
        UsageError: the text is not the address of a server.
    """
    if not text.lower().startswith(("http://", "https://")) or not urlsplit(text).hostname:
        raise UsageError(
            msg("{text} is not the address of a server: write http://HOST:PORT", text=repr(text))
        )
    if "@" in urlsplit(text).netloc:
        raise UsageError(
            msg(
                "the address has a user or a password, which the service does not send: write http://HOST:PORT"
            )
        )
    return text.rstrip("/").removesuffix(contract.CHAT_PATH).removesuffix("/v1")


def arguments(parser: argparse.ArgumentParser, without: Collection[str] = ()) -> None:
    """Declare the options that have a flag; None if it is not given, since a resumed run has its own values.

    Args:
        parser: of the command.
        without: the flags that the command does not have.
    """
    for group in Group:
        part = parser.add_argument_group(group.value)
        for option in options():
            if option.group is group and option.flag and option.flag not in without:
                _declare(part, option)


def files(parser: argparse.ArgumentParser) -> None:
    """Declare `--config` and `--set`."""
    part = parser.add_argument_group(msg("all options"))
    part.add_argument("--config", type=place, metavar="FILE", help=_FILE)
    part.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help=msg(
            "an option as in the file, such as top_k=20 or chat_template_kwargs.enable_thinking=false"
        ),
    )


def service_file(parser: argparse.ArgumentParser) -> None:
    """Declare `--probe-config`, for a command that judges by what the service does."""
    parser.add_argument_group(msg("all options of the probe")).add_argument(
        "--probe-config",
        dest="config",
        type=place,
        metavar="FILE",
        help=msg(
            "a TOML file of options, as for `npu-adapter probe --config`; only those that the service could have"
        ),
    )
    parser.set_defaults(set=[])


def refuse_what_the_service_lacks(asked: ProbeOptions) -> None:
    """Refuse options with which a server could pass here and fail at the service.

    Raises:
        UsageError: there is such an option.
    """
    said = given(asked)
    lacking = [option.name for option in options() if option.name in said and not option.service]
    if lacking:
        raise UsageError(
            msg(
                "the evaluation client sends no {lacking}, and verify judges what the service would get: use "
                "`npu-adapter probe --config` to measure with it",
                lacking=", ".join(lacking),
            )
        )


def asked(options_: argparse.Namespace) -> ProbeOptions:
    """The options from the file, `--set` and the flags, each of which overrides the one before.

    Raises:
        UsageError: one of them is unusable, or a flag and `--set` name the same option.
    """
    from healthcheck.stages.probe.options import reading  # noqa: PLC0415 - --help reads no value

    flags = {
        option.name: getattr(options_, option.name, None) for option in options() if option.flag
    }
    said = {name: value for name, value in flags.items() if value is not None}
    for setting in options_.set:
        name = setting.partition("=")[0].strip()
        if name in said:
            reason = msg(
                "--{replace} and --set {name} are the same option: give one of them",
                replace=name.replace("_", "-"),
                name=name,
            )
            raise UsageError(reason)
    base = reading.from_file(options_.config) if options_.config else ProbeOptions()
    return ProbeOptions(**{**given(reading.with_settings(base, options_.set)), **said})


def _declare(part: argparse._ArgumentGroup, option: Option) -> None:
    known = getattr(contract.service(), option.name, None)
    default = option.default if known is None else str(known)
    text = (
        option.help
        if default in {"none", "false"}
        else msg("{help} (default: {default})", help=option.help, default=default)
    )
    if not option.metavar:
        part.add_argument(option.flag, action="store_true", default=None, help=text)
    else:
        part.add_argument(option.flag, type=_reader(option), metavar=option.metavar, help=text)


def _reader(option: Option) -> Callable[[str], object]:
    def read(text: str) -> object:
        from healthcheck.stages.probe.options import reading  # noqa: PLC0415 - as above

        try:
            return reading.read(option.name, text)
        except ValueError as error:
            seen = reading.quoted(text)
            raise argparse.ArgumentTypeError(
                msg("expected {error}, not {text}", error=error, text=seen)
            ) from error

    return read
