"""Finds why a value does not name the weights although deploy.sh or a configuration file writes MODEL_PATH."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from healthcheck import contract
from healthcheck.core.commands import file_words
from healthcheck.core.edits import replaced
from healthcheck.core.records import Edit
from healthcheck.stages.plan.records import LaunchPlan
from healthcheck.stages.plan.script import deploy_sh
from healthcheck.stages.repo import shell
from healthcheck.stages.repo.shell import Node
from healthcheck.text.messages import Message, msg

_NAME = contract.MODEL_PATH_VARIABLE
_LITERAL = re.compile(rf"\$(?:{_NAME}\b|\{{{_NAME}\}})")
_QUOTED_LITERAL = re.compile(rf"\"?{_LITERAL.pattern}\"?")
_WORD = re.compile(r"[^\s|&;<>()]*")
_OF_SUPERVISOR = re.compile(r"command\s*=")
"""A program's command in a configuration of supervisord."""
_MODEL_KEYS = {"model", "model-tag", "model_tag"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Misnamed:
    """Why the value is wrong, its repair, perhaps also as exact edits, and the place of the cause."""

    seen: Message
    fix: Message
    where: str
    edits: tuple[Edit, ...] = ()


def misnamed(plan: LaunchPlan, value: str) -> Misnamed | None:
    """The cause of a value with an unexpanded MODEL_PATH, or with something before its path; None for others."""
    if _LITERAL.search(value):
        causes = (*_in_files(plan), *_in_quotes(plan), *_escaped(plan))
        return next(iter(causes), None)
    before, path, rest = value.partition(plan.model_path)
    if not path or not before or (rest and not rest.startswith("/")):
        return None
    return _prefixed(plan, value, before, rest)


def _in_files(plan: LaunchPlan) -> Iterator[Misnamed]:
    """A line of a configuration file, which no shell expands, or of a here-document with quotes around its end."""
    for command in reversed(plan.commands):
        for name, text in command.texts.items():
            shown = plan.in_repository(name)
            for number, line in enumerate(text.splitlines(), 1):
                if found := _LITERAL.search(line):
                    yield from _here_documents(plan, shown, line.strip())
                    yield _in_file(shown, number, line.strip()[:200], found[0])


def _in_file(name: str, number: int, line: str, literal: str) -> Misnamed:
    if _OF_SUPERVISOR.match(line):
        seen = msg(
            "supervisord starts its commands without a shell, and nothing expands {literal}: {line}",
            literal=literal,
            line=line,
        )
        fix = msg(
            "write {meant} in place of {literal}",
            meant=f"%(ENV_{contract.MODEL_PATH_VARIABLE})s",
            literal=literal,
        )
        return Misnamed(seen=seen, fix=fix, where=f"{name}:{number}")
    key, _, value = (part.strip() for part in line.partition(":"))
    fix = msg(
        'remove that line, and write: vllm serve "$MODEL_PATH" --config {file}',
        file=file_words(name),
    )
    if key not in _MODEL_KEYS:
        option = f"--{key.lstrip('- ').replace('_', '-')}"
        given = value.strip("\"'")
        fix = msg(
            'remove that line, and add {option} "{value}" to the command in deploy.sh',
            option=option,
            value=given,
        )
    seen = msg(
        "“{line}”: a configuration file is read as it is, and nothing expands {literal} there",
        line=line,
        literal=literal,
    )
    return Misnamed(seen=seen, fix=fix, where=f"{name}:{number}")


def _here_documents(plan: LaunchPlan, file: str, line: str) -> Iterator[Misnamed]:
    """The here-document with quotes around its end that has a line of a file."""
    script = shell.read(plan.script)
    for node in script.of("heredoc_redirect"):
        start = next(node.below("heredoc_start"), None)
        body = next(node.below("heredoc_body"), None)
        word = start.text.strip("'\"\\") if start else ""
        lines = [each.strip() for each in body.text.splitlines()] if body else []
        if start and body and start.text != word and line in lines:
            seen = msg(
                "the quotes in <<{quoted} keep the shell from expanding $MODEL_PATH, so {file} has “{line}”",
                quoted=start.text,
                file=file,
                line=line[:200],
            )
            fix = msg("write <<{word} in place of <<{quoted}", word=word, quoted=start.text)
            yield Misnamed(
                seen=seen,
                fix=fix,
                where=deploy_sh.place(script.line(start.start)),
                edits=_unquoted(plan.script, node, start, body),
            )


def _unquoted(text: str, node: Node, start: Node, body: Node) -> tuple[Edit, ...]:
    """Have the shell expand MODEL_PATH in a here-document, and nothing else in it."""
    if "\r" in text:
        return ()
    file = contract.ENTRY_POINT
    sign, word = text[node.start : start.start], start.text.strip("'\"\\")
    edits = [replaced(file, text, node.start, start.end, f"{sign}{word}")]
    at = body.start
    for line in body.text.splitlines(keepends=True):
        parts = _LITERAL.split(line)
        kept = "".join(_escaped_part(part) for part in parts)
        if kept != "".join(parts):
            literals = [*_LITERAL.findall(line), ""]
            new = "".join(
                f"{_escaped_part(part)}{literal}"
                for part, literal in zip(parts, literals, strict=True)
            )
            whole = len(line.rstrip("\n"))
            edits.append(replaced(file, text, at, at + whole, new.rstrip("\n")))
        at += len(line)
    return tuple(edits)


def _escaped_part(text: str) -> str:
    return re.sub(r"[$`\\]", lambda found: f"\\{found[0]}", text)


def _in_quotes(plan: LaunchPlan) -> Iterator[Misnamed]:
    script = shell.read(plan.script)
    for node in script.of("raw_string"):
        if _LITERAL.search(node.text):
            word = _LITERAL.search(node.text)
            seen = msg(
                "single quotes keep the shell from expanding {literal}: {text}",
                literal=word and word[0],
                text=node.text[:200],
            )
            inner = node.text[1:-1]
            fix = _QUOTED_LITERAL.sub(lambda found: found[0].strip('"'), inner)
            right = f'"{fix}"'
            if '"' in fix or "\\" in fix or "`" in fix:  # JSON, which keeps its quotes
                right = _LITERAL.sub(lambda found: f"'\"{found[0]}\"'", node.text)
            where = deploy_sh.place(script.line(node.start))
            yield Misnamed(
                seen=seen,
                fix=msg("write {right} in place of {wrong}", right=right, wrong=node.text[:200]),
                where=where,
            )


def _escaped(plan: LaunchPlan) -> Iterator[Misnamed]:
    for number, line in deploy_sh.code_lines(plan.script):
        if f"\\${_NAME}" in line or f"\\${{{_NAME}}}" in line:
            seen = msg(
                "the backslash keeps the shell from expanding $MODEL_PATH: “{line}”",
                line=line.strip()[:200],
            )
            yield Misnamed(
                seen=seen,
                fix=msg("remove the backslash before $MODEL_PATH"),
                where=deploy_sh.place(number),
            )


def _prefixed(plan: LaunchPlan, value: str, before: str, rest: str) -> Misnamed:
    number, word = _word(plan)
    seen = msg(
        "$MODEL_PATH is an absolute path already, and “{before}” stands before it: {value}",
        before=before,
        value=value,
    )
    right = f'"$MODEL_PATH{rest}"'
    fix = (
        msg("write {right} in place of {wrong}", right=right, wrong=word)
        if word
        else msg("write {right}", right=right)
    )
    return Misnamed(seen=seen, fix=fix, where=deploy_sh.place(number))


def _word(plan: LaunchPlan) -> tuple[int, str]:
    """The first word of deploy.sh with something before its MODEL_PATH, and its line; (0, "") if there is none."""
    for number, line in deploy_sh.code_lines(plan.script):
        for found in _LITERAL.finditer(line):
            start = max(line.rfind(sign, 0, found.start()) for sign in " \t=(") + 1
            before = line[start : found.start()].strip("\"'")
            if before and "$" not in before[-1:]:
                return number, line[start : found.start()] + (
                    _WORD.match(line, found.start()) or found
                )[0]
    return 0, ""
