"""Makes exact edits of a submission's files, and says in words what they do.

edit = replaced("deploy.sh", text, start, end, "--port 8000")
in_words([edit])    # in deploy.sh:3 replace `--port 8001` by `--port 8000`
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import AnyStr

from healthcheck.core.records import Edit
from healthcheck.text.messages import joined, msg

MOST_IN_WORDS = 6
_BLANKS_BEHIND = re.compile(r".*\\[ \t]+")
_WORD_BEFORE = re.compile(r"\S*\s*\Z")
_WORD_AFTER = re.compile(r"\s*\S*")


def occurs_once(old: AnyStr, text: AnyStr) -> bool:
    """Whether a text occurs exactly once in another one; "aa" occurs twice in "aaa"."""
    first = text.find(old)
    return first >= 0 and text.find(old, first + 1) < 0


def replaced(file: str, text: str, start: int, end: int, new: str) -> Edit:
    """Replace a part of the text of a file.

    The edit takes in neighbouring words of the same lines until its old text occurs there only once.
    """
    first, last = text.rfind("\n", 0, start) + 1, text.find("\n", max(end - 1, start))
    last = len(text) if last < 0 else max(last, end)
    before, after = text[first:start], text[end:last]
    old = text[start:end]
    while (not old or not occurs_once(old, text[first:last])) and (before or after):
        pattern, source = (_WORD_BEFORE, before) if before else (_WORD_AFTER, after)
        found = pattern.search(source)
        part = found[0] if found and found[0] else source
        if before:
            before, old, new = before[: len(before) - len(part)], part + old, part + new
        else:
            after, old, new = after[len(part) :], old + part, new + part
    return Edit(file=file, line=text.count("\n", 0, first + len(before)) + 1, old=old, new=new)


def without_lines(file: str, text: str, first: int, last: int) -> Edit:
    """Remove the lines from `first` to `last`, with their ends."""
    lines = text.split("\n")
    old = "\n".join(lines[first - 1 : last]) + ("\n" if last < len(lines) else "")
    return Edit(file=file, line=first, old=old)


def inserted_below(file: str, line: int, new: str) -> Edit:
    """Insert a line, or several, below a line; 0 is above the first one."""
    return Edit(file=file, line=line, new=new)


def in_words(edits: Sequence[Edit]) -> str:
    """What the edits do, as an order; "" for none."""
    if not edits:
        return ""
    if kind := _kind_in_words(edits):
        return kind
    removed = [edit for edit in edits if edit.old.endswith("\n") and not edit.new]
    if len(edits) > 1 and len(removed) == len(edits) and len({edit.file for edit in edits}) == 1:
        listed = joined(", ", [f"`{_on_one_line(edit.old)}`" for edit in edits[:MOST_IN_WORDS]])
        more = (
            msg(" and {count} more", count=len(edits) - MOST_IN_WORDS)
            if len(edits) > MOST_IN_WORDS
            else ""
        )
        return msg(
            "remove these lines from {file}: {lines}{more}",
            file=edits[0].file,
            lines=listed,
            more=more,
        )
    words = joined("; ", [_in_words(edit) for edit in edits[:MOST_IN_WORDS]])
    if len(edits) > MOST_IN_WORDS:
        return msg(
            "{edits}; and {count} more of this kind", edits=words, count=len(edits) - MOST_IN_WORDS
        )
    return _in_words(edits[0]) if len(edits) == 1 else words


def _kind_in_words(edits: Sequence[Edit]) -> str:
    """Words for edits of characters that do not show; "" for others."""
    file, removed = edits[0].file, {edit.old for edit in edits if not edit.new}
    if len(edits) == 1 and removed == {"\ufeff"}:
        return msg("remove the byte order mark from {file}", file=file)
    if removed == {"\r"}:
        return msg("end the lines of {file} in LF", file=file)
    if all(_BLANKS_BEHIND.fullmatch(edit.old) and edit.new == edit.old.rstrip() for edit in edits):
        lines = ", ".join(str(edit.line) for edit in edits[:MOST_IN_WORDS])
        return msg(
            "remove the spaces after the last backslash of these lines of {file}: {lines}",
            file=file,
            lines=lines,
        )
    return ""


def _in_words(edit: Edit) -> str:
    place, old, new = (
        f"{edit.file}:{line_of_first_word(edit)}",
        _on_one_line(edit.old),
        _on_one_line(edit.new),
    )
    if edit.executable:
        return msg("make {file} executable", file=edit.file)
    if not edit.old and edit.line == 0:
        return msg("insert above the first line of {file}: `{new}`", file=edit.file, new=new)
    if not edit.old:
        return msg(
            "insert below line {line} of {file}: `{new}`", line=edit.line, file=edit.file, new=new
        )
    if not edit.new:
        whole = edit.old.endswith("\n")
        return (
            msg("in {place} remove the line `{old}`", place=place, old=old)
            if whole
            else msg("in {place} remove `{old}`", place=place, old=old)
        )
    return msg("in {place} replace `{old}` by `{new}`", place=place, old=old, new=new)


def line_of_first_word(edit: Edit) -> int:
    """The line in which the first word of the old text is: a continuation before it is not one."""
    blank = re.match(r"(?:[ \t]|\\?\n)*", edit.old)
    return edit.line + (blank[0].count("\n") if blank else 0)


def _on_one_line(text: str) -> str:
    """The words of a text with several lines, without the ends of the lines."""
    if "\n" not in text:
        return text.strip()
    return re.sub(r"[ \t]*\\?\n[ \t]*", " ", text.strip()).strip().removesuffix("\\").rstrip()
