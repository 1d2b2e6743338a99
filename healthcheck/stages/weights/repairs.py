"""Exact repairs of the server's options and variables, in the files that set them.

    repair = without_option(facts, "enable-expert-parallel")
    yield fail(expected=…, seen=…, fix=repair.order, where=repair.where, edits=repair.edits)

An option is in deploy.sh, in a script that deploy.sh runs or sources, in vLLM's --config file, or in adapter.toml.
Where the place is not certain, there are no edits, and the order names the option.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from healthcheck import contract
from healthcheck.core.edits import in_words, line_of_first_word, replaced, without_lines
from healthcheck.core.records import JsonValue
from healthcheck.stages.plan import calls
from healthcheck.stages.plan.records import ServerCommand
from healthcheck.stages.plan.repairs import config_edits
from healthcheck.stages.plan.script import arguments, deploy_sh
from healthcheck.stages.plan.script.arguments import Arguments, Edits
from healthcheck.stages.plan.servers.options import option_name, vllm_grammar
from healthcheck.stages.weights import adapter_toml
from healthcheck.stages.weights.documents import DocumentError, JsonObject, parse_object
from healthcheck.stages.weights.launcher import Launcher, launcher, revalued
from healthcheck.stages.weights.records import WeightsFacts
from healthcheck.text.messages import joined, msg

_TENSOR = "tensor-parallel-size"
_SHELL_FILES = (".sh", ".env", ".bash")
_COMPLETE = re.compile(r"""(?P<value>"[^"\\]*"|'[^']*'|[\w.+/-]+)?[ \t]*(?:[ \t]#.*)?""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """A repair as an order that can be pasted, its place, and its edits; no edits if the place is not certain."""

    order: str
    where: str
    edits: Edits = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Script:
    """deploy.sh, or a script that it runs or sources; `file` is "" for deploy.sh."""

    file: str
    text: str

    @property
    def name(self) -> str:
        return self.file or contract.ENTRY_POINT


def without_option(facts: WeightsFacts, option: str) -> Repair:
    """Remove an option with its value."""
    plan, order = facts.plan, msg("remove {option}", option=f"--{option}")
    if plan is not None and adapter_toml.decides(plan, option):
        return _in_settings(adapter_toml.without(plan, option))
    edits = _in_scripts(facts, lambda each: _removed(each, facts.server, option))
    edits = edits or _in_config(facts, option, None)
    return _repair(facts, edits, order, option)


def with_option(facts: WeightsFacts, option: str, value: str = "") -> Repair:
    """Give an option this value, or add it."""
    plan, words = facts.plan, f"--{option} {_quoted(value)}".rstrip()
    if plan is not None and adapter_toml.decides(plan, option):
        return _in_settings(adapter_toml.passed(plan, option, value))
    edits = _with_ignored_config(facts, option, value)
    edits = edits or _in_scripts(facts, lambda each: _revalued(each, facts.server, option, value))
    edits = edits or _of_variable(facts, option, value) or _in_config(facts, option, value)
    if not edits and (program := launcher(facts, option)):
        return _in_program(facts, program, option, value)
    if not edits and facts.engine.is_catalogued and facts.option(option) is None:
        edits = _in_scripts(facts, lambda each: each.appended(words))
    return _repair(facts, edits, msg("pass {wanted}", wanted=words), option)


def _in_program(facts: WeightsFacts, program: Launcher, option: str, value: str) -> Repair:
    """Give an option a value in the Python program that starts the server; its own arguments may be ignored."""
    words = f"--{option} {_quoted(value)}".rstrip()
    if not program.line:
        order = msg(
            "have {program} pass {wanted} to the server", program=program.file, wanted=words
        )
        return Repair(order=order, where=facts.place)
    edits = revalued(program, option, value)
    order = msg("in {place} pass {wanted}", place=program.where, wanted=words)
    return Repair(order=in_words(edits) or order, where=program.where, edits=edits)


def without_variable(facts: WeightsFacts, variable: str) -> Repair:
    """Remove every assignment of an environment variable."""
    setting = [each for each in _scripts(facts) if arguments.is_assigned(each.text, variable)]
    made = [arguments.without_assignments(each.name, each.text, variable) for each in setting]
    edits = tuple(edit for part in made for edit in part) if all(made) else ()
    order = msg(
        "insert above the command that starts the server in deploy.sh: unset {name}", name=variable
    )
    if setting:
        value = facts.server.env.get(variable, "") if facts.server else ""
        order = msg(
            "remove {name} from {place}",
            name=f"{variable}={value}",
            place=place_of(facts, variable),
        )
    return _repair(facts, edits, order, variable)


def with_variable(facts: WeightsFacts, variable: str, value: str) -> Repair:
    """Set an environment variable to this value."""
    old = facts.server.env.get(variable, "") if facts.server else ""
    edits = _reassigned(facts, variable, old, value)
    order = msg("write {variable}={value}", variable=variable, value=value)
    return _repair(facts, edits, order, variable)


def without_key(facts: WeightsFacts, option: str, path: str) -> Repair:
    """Remove a key from the object of an option; the last key goes with the option."""
    dotted = _dotted(option, path)
    if facts.server is not None and dotted in facts.server.options:
        repair = without_option(facts, dotted)
        as_written = msg("remove {option}", option=f"--{option}.{path}")
        return repair if repair.edits else replace(repair, order=as_written)
    given = _object(facts, option)
    if given is None or not _take(given, path):
        order = msg("remove {name} from {place}", name=path, place=f"--{option}")
        return _repair(facts, (), order, option)
    if not given:
        return without_option(facts, option)
    return with_option(facts, option, json.dumps(given, ensure_ascii=False))


def renamed_key(facts: WeightsFacts, option: str, path: str, name: str) -> Repair:
    """Rename a key in the object of an option, and keep its value."""
    given = _object(facts, option)
    above, _, key = path.rpartition(".")
    holder = _below(given, above) if given is not None else None
    if given is None or holder is None or key not in holder:
        order = msg("write {good} in place of {key}", good=name, key=key)
        return _repair(facts, (), order, option)
    renamed = {name if each == key else each: value for each, value in holder.items()}
    holder.clear()
    holder.update(renamed)
    return with_option(facts, option, json.dumps(given, ensure_ascii=False))


def together(*repairs: Repair) -> Repair:
    """Several repairs as one: with the edits of all, or with none if one has none."""
    if len(repairs) == 1:
        return repairs[0]
    edits = tuple(edit for each in repairs for edit in each.edits)
    whole = edits if all(each.edits for each in repairs) else ()
    order = in_words(whole) or joined("; ", dict.fromkeys(each.order for each in repairs))
    return Repair(order=order, where=repairs[0].where, edits=whole)


def _repair(facts: WeightsFacts, edits: Edits, order: str, name: str) -> Repair:
    """The repair; without edits, the place is that of the option or the variable, else that of the command."""
    where = (
        f"{edits[0].file}:{line_of_first_word(edits[0])}"
        if edits
        else place_of(facts, name) or facts.place
    )
    return Repair(order=in_words(edits) or order, where=where, edits=edits)


def place_of(facts: WeightsFacts, name: str) -> str:
    """The line that writes an option or a variable; "" without one.

    It is in a script, the --config file, or a Python program that starts the server.
    """
    spelled = re.escape(name).replace(r"\-", "[-_]")
    written = re.compile(rf"(?<![\w-])(?:--{spelled}(?![\w-])|{spelled}=)")
    for script in _scripts(facts):
        for number, line in deploy_sh.code_lines(script.text):
            if written.search(line):
                return f"{script.name}:{number}"
    config = _config(facts)
    found = _setting(config[1], name) if config else None
    if config and found:
        return f"{config[0]}:{_line(config[1], found.start())}"
    program = launcher(facts, name)
    return program.where if program and program.line else ""


def _in_settings(setting: adapter_toml.Setting) -> Repair:
    return Repair(order=setting.order, where=setting.where, edits=setting.edits)


def _scripts(facts: WeightsFacts) -> Iterator[_Script]:
    """deploy.sh, and the committed scripts whose names it has."""
    plan = facts.plan
    if plan is None:
        return
    yield _Script(file="", text=plan.script)
    code = "\n".join(line for _, line in deploy_sh.code_lines(plan.script))
    for text in facts.submission.written if facts.submission else ():
        name = text.path.rpartition("/")[2]
        shell = name.endswith(_SHELL_FILES) and text.path != contract.ENTRY_POINT
        if shell and not text.truncated and name in code:
            yield _Script(file=text.path, text=text.data.decode("utf-8", "replace"))


def _in_scripts(facts: WeightsFacts, change: Callable[[Arguments], Edits]) -> Edits:
    """The edits of the one script in which a change is possible; deploy.sh goes first."""
    server = facts.server
    if server is None or calls.is_python_call(server.argv):
        return ()
    made = [change(Arguments.of(each.text, server, each.file)) for each in _scripts(facts)]
    if made and made[0]:
        return made[0]
    others = [edits for edits in made if edits]
    return others[0] if len(others) == 1 else ()


def _index(given: Arguments, server: ServerCommand | None, option: str) -> int | None:
    """The index of the only argument that gives an option, by any of its names."""
    if server is not None and server.engine.is_catalogued:
        grammar = vllm_grammar()
        named = [at for at, word in enumerate(given.argv) if option_name(word, grammar) == option]
        return named[0] if len(named) == 1 else None
    return given.option(option)


def _is_glued(word: str) -> bool:
    """Whether a short option has its number in the same word ("-tp4")."""
    return not word.startswith("--") and "=" not in word and word[-1:].isdigit()


def _removed(given: Arguments, server: ServerCommand | None, option: str) -> Edits:
    at = _index(given, server, option)
    if at is None or server is None:
        return ()
    glued = _is_glued(given.argv[at]) or not server.option(option)
    return given.removed(at, 0 if glued else min(given.values_after(at), 1))


def _revalued(given: Arguments, server: ServerCommand | None, option: str, value: str) -> Edits:
    opposite = option.removeprefix("no-") if option.startswith("no-") else f"no-{option}"
    if not value and (at := _index(given, server, opposite)) is not None:
        return given.rewritten(at, f"--{option}")
    at = _index(given, server, option)
    if at is None or server is None or not value:
        return ()
    if _is_glued(given.argv[at]):
        return given.rewritten(at, f"--{option} {_quoted(value)}")
    return given.revalued(at, server.option(option) or "", _quoted(value))


def _of_variable(facts: WeightsFacts, option: str, value: str) -> Edits:
    """Replace the value of the variable that holds the value of an option, in another script."""
    server = facts.server
    old = server.option(option) if server else None
    for script in _scripts(facts):
        given = Arguments.of(script.text, server, script.file)
        at = _index(given, server, option)
        name = given.variable(at) if at is not None else ""
        if name and old and shlex.quote(value) == value:
            return _reassigned(facts, name, old, value)
    return ()


def _reassigned(facts: WeightsFacts, variable: str, old: str, new: str) -> Edits:
    """Replace the value of a variable that only one script assigns."""
    setting = [each for each in _scripts(facts) if arguments.is_assigned(each.text, variable)]
    if len(setting) != 1:
        return ()
    return arguments.reassigned(setting[0].name, setting[0].text, variable, old, new)


def _config(facts: WeightsFacts) -> tuple[str, str] | None:
    """The committed --config file of the server, with its text."""
    return _committed(facts, facts.server.option("config") if facts.server else None)


def _with_ignored_config(facts: WeightsFacts, option: str, value: str) -> Edits:
    """Have the engine read the --config file that it ignores, if that alone gives the option what it needs."""
    server = facts.server
    file = _committed(facts, server.ignored_config) if server else None
    found = _setting(file[1], option) if file else None
    if server is None or file is None or found is None or facts.plan is None:
        return ()
    if server.option(option) is not None:  # the command line counts more than the file
        return ()
    whole = _COMPLETE.fullmatch(file[1][found.end() :].partition("\n")[0])
    given = ((whole and whole["value"]) or "").strip("\"'")
    enough = option == _TENSOR and given.isdigit() and int(given) >= int(value)
    if given != value and not enough:
        return ()
    return config_edits(facts.plan.script, server)


def _committed(facts: WeightsFacts, name: str | None) -> tuple[str, str] | None:
    """A committed file by its name in the server's working folder, with its text."""
    plan, server = facts.plan, facts.server
    if plan is None or server is None or not name or facts.submission is None:
        return None
    path = os.path.relpath(os.path.normpath(os.path.join(server.cwd, name)), plan.root)
    texts = (each for each in facts.submission.written if each.path == path)
    text = next((each for each in texts if not each.truncated), None)
    return (path, text.data.decode("utf-8", "replace")) if text else None


def _setting(text: str, option: str) -> re.Match[str] | None:
    """The only line of a YAML mapping that has an option, up to its value."""
    spelled = re.escape(option).replace(r"\-", "[-_]")
    found = list(re.finditer(rf"^([\"']?){spelled}\1[ \t]*:(?=\s)[ \t]*", text, re.MULTILINE))
    return found[0] if len(found) == 1 else None


def _in_config(facts: WeightsFacts, option: str, value: str | None) -> Edits:
    """Replace the value of an option in the --config file, or remove its line (None)."""
    config = _config(facts)
    found = _setting(config[1], option) if config else None
    if config is None or found is None or (facts.server and _is_in_command(facts.server, option)):
        return ()
    file, text = config
    line, _, rest = text[found.end() :].partition("\n")
    whole = _COMPLETE.fullmatch(line)
    if whole is None or whole["value"] is None or rest[:1] in {" ", "\t"} or "\r" in text:
        return ()
    number = _line(text, found.start())
    if value is None:
        others = text.replace(text.split("\n")[number - 1], "")
        has_more = re.search(r"^[^\s#-]", others, re.MULTILINE)
        return (without_lines(file, text, number, number),) if has_more else ()
    if not re.fullmatch(r"[\w.+-]+", value):
        return ()
    end = found.end() + whole.end("value")
    return (replaced(file, text, found.start(), end, f"{found[0]}{value}"),)


def _is_in_command(server: ServerCommand, option: str) -> bool:
    grammar = vllm_grammar()
    return any(option_name(word, grammar) == option for word in server.argv)


def _line(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def _quoted(value: str) -> str:
    return shlex.quote(value) if value else ""


def _dotted(option: str, path: str) -> str:
    return f"{option}.{path}".replace("_", "-")


def _object(facts: WeightsFacts, option: str) -> JsonObject | None:
    """A copy of the object of an option; None if it is unreadable, or has keys of its own on the command line."""
    text = facts.option(option)
    options = facts.server.options if facts.server else {}
    if not text or any(name.startswith(f"{option}.") for name in options):
        return None
    try:
        return parse_object(text.encode("utf-8", "surrogateescape"))
    except DocumentError:
        return None


def _below(given: JsonObject, path: str) -> JsonObject | None:
    at: JsonValue = given
    for part in filter(None, path.split(".")):
        at = at.get(part) if isinstance(at, dict) else None
    return at if isinstance(at, dict) else None


def _take(given: JsonObject, path: str) -> bool:
    above, _, key = path.rpartition(".")
    holder = _below(given, above)
    if holder is None or key not in holder:
        return False
    del holder[key]
    return True
