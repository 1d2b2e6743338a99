"""Log text without its decoration: terminal escapes, and the prefixes of vLLM, its workers and CANN."""

from __future__ import annotations

import re

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]{0,200}(?:\x07|\x1b\\)|[@-Z\\-_])"
)
_CONTROL = dict.fromkeys(code for code in range(32) if chr(code) not in "\t\n\r")
_COLLECTOR = (
    r"(?:[A-Z][a-z]{2}[ ]{1,2}\d{1,2}[ ][\d:]{8}[ ]\S{1,80}[ ]\S{1,80}:[ ]"  # journald
    r"|\d{4}-\d\d-\d\dT[\d:.,]{8,20}(?:Z|[+-]\d\d:\d\d)[ ](?:std(?:out|err)[ ][FP][ ])?"  # container runtimes
    r"|[\w.-]{1,60}[ ]{1,20}\|[ ])?"  # docker compose
)
_PROCESS = r"(?:\([\w ./:=-]{1,80}[ ]pid=\d+[^)\n]{0,40}\)[ ]?|\[rank\d+\]:?[ ]?)"
_STAMP = r"[ ]\d\d-\d\d[ ][\d:.]{8,12}[ ]"
_PREFIX = re.compile(
    rf"(?m)^{_COLLECTOR}(?:{_PROCESS}"
    rf"|(?:DEBUG|INFO|WARNING|ERROR|CRITICAL){_STAMP}(?:\[?[^\[\]\n ]{{1,80}}\](?:[ ]|$))?"
    r"|\d{4}-\d\d-\d\d[ T][\d:.,]{8,15}Z?[ ]+(?=[A-Z\[(]))*"
)
_LOUD = (
    r"(?:Available (?:KV cache )?memory: (?:-|0(?:,|$))|\[shutdown\] EngineCore: trigger received)"
)
"""vLLM writes at the level INFO that there is no memory left for its cache, and that it was told to stop."""
_QUIET = re.compile(
    rf"(?m)^(?![^\n]{{0,300}}{_LOUD}){_COLLECTOR}{_PROCESS}{{0,3}}"
    r"(?:(?:INFO|DEBUG)(?:[ ]\d\d-\d\d[ ]|:|[ ]+)|\[(?:INFO|DEBUG)\]"
    r"|\d{4}-\d\d-\d\d[ T][\d:.,]{8,15}[ -]+(?:INFO|DEBUG)\b)"
    r"[^\n]*"
)
_ERRORS = re.compile(
    rf"{_COLLECTOR}{_PROCESS}{{0,3}}((?:ERROR|CRITICAL){_STAMP}(?:\[[^\[\]\n ]{{1,80}}\])?)"
)
_SAYS_WHO = re.compile(rf"{_COLLECTOR}({_PROCESS}{{1,3}})")
_SERVES = re.compile(
    rf"(?m)^{_COLLECTOR}{_PROCESS}{{0,3}}(?:INFO[:\d ][^\n]{{0,80}})?"
    r"(?:Application startup complete\.|Uvicorn running on \S"
    r'|[\d.]{7,15}:\d{1,5} - "POST /v1/(?:chat/)?completions HTTP/1\.1" 200 OK)'
)
"""Lines of a server whose processes have all started, or that answers."""
_WARNINGS = re.compile(rf"(?m)^{_COLLECTOR}{_PROCESS}{{0,3}}WARNING{_STAMP}[^\n]*")


def plain(text: str) -> str:
    """The text without terminal escapes; every state of an overwritten progress bar stays."""
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    return text.translate(_CONTROL).replace("\r\n", "\n").replace("\n\r", "\n").replace("\r", " ")


def without_prefixes(text: str) -> str:
    """Remove the process and level prefix of each line; line numbers are unchanged."""
    return _PREFIX.sub("", text)


def without_quiet_lines(text: str) -> str:
    """Empty the INFO and DEBUG lines; line numbers are unchanged."""
    return _QUIET.sub("", text)


def without_warnings(text: str) -> str:
    """Empty vLLM's WARNING lines; line numbers are unchanged."""
    return _WARNINGS.sub("", text)


def process(line: str) -> str:
    """The process names that vLLM, Ray or torchrun put before a line; "" if there are none."""
    named = _SAYS_WHO.match(line)
    return named[1].strip() if named else ""


def record(line: str) -> str:
    """The level, time and place before each line of a record of the level ERROR or above; for other lines ""."""
    found = _ERRORS.match(line)
    return found[1] if found else ""


def last_success(text: str) -> int:
    """The last line, counted from 0, that shows a started or answering server; -1 if there is none."""
    found = [match.end() for match in _SERVES.finditer(text)]
    return text.count("\n", 0, found[-1]) if found else -1
