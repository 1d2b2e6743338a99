"""A lexer for shell text that runs nothing: words, operators, comments and here-documents with their places.

It is exact enough to decide for every word whether the shell reads it as code, and it never fails: a part that it
cannot parse is one opaque word. The plan stage judges what a script does, by running it.
"""

from __future__ import annotations

import bisect
import enum
import re
from dataclasses import dataclass

MAX_DEPTH = 40
MAX_LOOKAHEAD = 4096
"""How far an arithmetic or a [[ condition may reach; keeps hostile text from being read over and over."""
MAX_NAME = 80
META = " \t\n;&|<>()"
OPERATORS = ("&&", "||", ";;&", ";;", ";&", "<<<", "<<-", "<<", ">>", "<&", ">&", "<>", ">|", "&>>", "&>", "|&")
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
ARRAY = re.compile(r"[A-Za-z_]\w*(\[[^]]*\])?\+?=")
CONDITION_END = re.compile(r"\s\]\](?=[\s;&|)]|\Z)")
OPENERS = {"then", "do", "else", "elif", "if", "while", "until", "!", "{", "time"}


class Kind(enum.Enum):
    """The kind of a piece of shell text."""

    WORD = "word"
    PATTERN = "pattern of a case"
    OPERATOR = "operator"
    NEWLINE = "newline"
    COMMENT = "comment"
    HEREDOC = "here-document"
    CONDITION = "[["
    ARITHMETIC = "(("


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A piece of the text: `text[start:end]`. `depth` counts the command substitutions around it."""

    kind: Kind
    start: int
    end: int
    text: str
    depth: int

    @property
    def redirects(self) -> bool:
        return self.text[0] in "<>" or self.text in {"&>", "&>>"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """The words of one simple command, assignments and all, without its redirections."""

    words: tuple[Token, ...]

    @property
    def start(self) -> int:
        return self.words[0].start


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A shell text and its tokens, in order of their start."""

    text: str
    tokens: tuple[Token, ...]
    line_ends: tuple[int, ...]

    def commands(self) -> tuple[Command, ...]:
        """The simple commands outside of command substitutions, in the order of the text."""
        found: list[Command] = []
        words: list[Token] = []
        redirected = False
        for token in self.tokens:
            if token.depth or token.kind in {Kind.COMMENT, Kind.HEREDOC, Kind.PATTERN}:
                continue
            if token.kind is Kind.WORD and not (token.text in OPENERS and not words):
                if redirected:
                    redirected = False
                elif not (token.text.isdigit() and self.text[token.end : token.end + 1] in {"<", ">"}):
                    words.append(token)
            elif token.kind is Kind.OPERATOR and token.redirects:
                redirected = True
            else:
                found += [Command(words=tuple(words))] if words else []
                words, redirected = [], False
        return (*found, Command(words=tuple(words))) if words else tuple(found)

    def line(self, offset: int) -> int:
        """The number of the line, from 1, that holds the offset."""
        return bisect.bisect_left(self.line_ends, offset) + 1


def read(text: str) -> Script:
    """Split a shell text into tokens; never raises."""
    lexer = _Lexer(text)
    lexer.read()
    tokens = tuple(sorted(lexer.tokens, key=lambda token: (token.start, -token.end)))
    return Script(text=text, tokens=tokens, line_ends=tuple(at.start() for at in re.finditer("\n", text)))


class _Lexer:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0
        self.tokens: list[Token] = []
        self._waiting: list[tuple[str, bool]] = []
        self._no_arithmetic_before = 0
        self._no_condition_before = 0

    def read(self) -> None:
        while self.at < len(self.text):
            self._list()
            self.at += 1  # a closing parenthesis that closes nothing

    def _list(self) -> None:
        """Commands up to the parenthesis that closes them, or to the end."""
        open_constructs: list[str] = []
        command_begins = True
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in " \t":
                self.at += 1
            elif self.text.startswith("\\\n", self.at):
                self.at += 2
            elif char == "\n":
                self._newline()
                command_begins = True
            elif char == "#":
                self._to(Kind.COMMENT, self._find("\n", self.at))
            elif char == ")" and not open_constructs and self.depth:
                return
            elif char in ";&|()<>" and not self._process_substitution():
                command_begins = self._operator(open_constructs, command_begins)
            else:
                command_begins = self._word(open_constructs, command_begins)

    def _operator(self, open_constructs: list[str], command_begins: bool) -> bool:
        if command_begins and self.text.startswith("((", self.at):
            end = self._arithmetic_end(self.at + 2)
            if end:
                self._to(Kind.ARITHMETIC, end)
                return False
        long = next((each for each in OPERATORS if self.text.startswith(each, self.at)), self.text[self.at])
        if long == "(" and open_constructs[-1:] != ["pattern"]:
            open_constructs.append("(")
        elif long == ")" and open_constructs and open_constructs[-1] == "(":
            open_constructs.pop()
        elif long == ")" and open_constructs:
            open_constructs[-1] = "body"
        elif long in {";;", ";&", ";;&"} and open_constructs and open_constructs[-1] == "body":
            open_constructs[-1] = "pattern"
        self._to(Kind.OPERATOR, self.at + len(long))
        if long in {"<<", "<<-"}:
            self._delimiter(strips_tabs=long == "<<-")
        return long[0] not in "<>" and long not in {"&>", "&>>"}

    def _word(self, open_constructs: list[str], command_begins: bool) -> bool:
        start = self.at
        self._pass_word()
        text = self.text[start : self.at]
        inside = open_constructs[-1] if open_constructs else ""
        kind = Kind.PATTERN if inside == "pattern" and text != "esac" else Kind.WORD
        self.tokens.append(Token(kind=kind, start=start, end=self.at, text=text, depth=self.depth))
        if inside == "case" and text == "in":
            open_constructs[-1] = "pattern"
        elif text == "esac" and (inside == "pattern" or (inside == "body" and command_begins)):
            open_constructs.pop()
        elif text == "case" and command_begins and kind is Kind.WORD:
            open_constructs.append("case")
        elif text == "[[" and command_begins:
            end = self._condition_end()
            if end:
                self._to(Kind.CONDITION, end)
        return command_begins and (text in OPENERS or bool(ASSIGNMENT.match(text)))

    def _pass_word(self) -> None:
        start = self.at
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == "\\":
                self.at += 2
            elif char == "'":
                self.at = self._find("'", self.at + 1) + 1
            elif char == '"':
                self._pass_double_quotes()
            elif char == "`":
                self._pass_backticks()
            elif char == "$":
                self._pass_dollar()
            elif char == "(" and ARRAY.fullmatch(self.text[max(start, self.at - MAX_NAME) : self.at]):
                self._pass_parentheses()
            elif char in "<>" and self.at == start:
                self.at += 1
                self._pass_parentheses()
            elif char in META:
                break
            else:
                self.at += 1
        self.at = min(self.at, len(self.text))

    def _pass_dollar(self) -> None:
        following = self.text[self.at + 1 : self.at + 2]
        if following == "(":
            end = self._arithmetic_end(self.at + 3) if self.text.startswith("$((", self.at) else 0
            self.at += 1
            if end:
                self.at = end
            else:
                self._pass_parentheses()
        elif following == "{":
            self.at += 2
            self._pass_braces()
        elif following == "'":
            self.at += 2
            while self.at < len(self.text) and self.text[self.at] != "'":
                self.at += 2 if self.text[self.at] == "\\" else 1
            self.at += 1
        else:
            self.at += 1

    def _pass_double_quotes(self) -> None:
        self.at += 1
        while self.at < len(self.text) and self.text[self.at] != '"':
            self._pass_quoted_char()
        self.at += 1

    def _pass_quoted_char(self) -> None:
        char = self.text[self.at]
        if char == "\\":
            self.at += 2
        elif char == "`":
            self._pass_backticks()
        elif char == "$" and self.text[self.at + 1 : self.at + 2] in {"(", "{"}:
            self._pass_dollar()
        else:
            self.at += 1

    def _pass_braces(self) -> None:
        if self.depth >= MAX_DEPTH:
            self.at = len(self.text)
            return
        self.depth += 1
        while self.at < len(self.text) and self.text[self.at] != "}":
            if self.text[self.at] == '"':
                self._pass_double_quotes()
            elif self.text[self.at] == "'":
                self.at = self._find("'", self.at + 1) + 1
            else:
                self._pass_quoted_char()
        self.depth -= 1
        self.at += 1

    def _pass_backticks(self) -> None:
        self.at += 1
        while self.at < len(self.text) and self.text[self.at] != "`":
            self.at += 2 if self.text[self.at] == "\\" else 1
        self.at += 1

    def _pass_parentheses(self) -> None:
        """From an opening parenthesis past the closing one; the tokens between are one level deeper."""
        if self.depth >= MAX_DEPTH:
            self.at = len(self.text)
            return
        self.at += 1
        self.depth += 1
        self._list()
        self.depth -= 1
        self.at += 1

    def _newline(self) -> None:
        self._to(Kind.NEWLINE, self.at + 1)
        waiting, self._waiting = self._waiting, []
        for delimiter, strips_tabs in waiting:
            start = self.at
            while self.at < len(self.text):
                end = self._find("\n", self.at)
                line = self.text[self.at : end]
                self.at = min(end + 1, len(self.text))
                if (line.lstrip("\t") if strips_tabs else line) == delimiter:
                    break
            self.at, end = start, self.at
            self._to(Kind.HEREDOC, end)

    def _delimiter(self, *, strips_tabs: bool) -> None:
        while self.text[self.at : self.at + 1] in {" ", "\t"}:
            self.at += 1
        start = self.at
        self._pass_word()
        if self.at > start:
            raw = self.text[start : self.at]
            self.tokens.append(Token(kind=Kind.WORD, start=start, end=self.at, text=raw, depth=self.depth))
            self._waiting.append((re.sub(r"""['"\\]""", "", raw), strips_tabs))

    def _process_substitution(self) -> bool:
        return self.text[self.at] in "<>" and self.text[self.at + 1 : self.at + 2] == "("

    def _condition_end(self) -> int:
        limit = min(len(self.text), self.at + MAX_LOOKAHEAD)
        if self.at < self._no_condition_before:
            return 0
        found = CONDITION_END.search(self.text, self.at, limit)
        self._no_condition_before = 0 if found else limit
        return found.end() if found else 0

    def _arithmetic_end(self, start: int) -> int:
        """The end of the arithmetic that begins at `start`, 0 if there is none; a failed search is not repeated."""
        limit = min(len(self.text), start + MAX_LOOKAHEAD)
        if start < self._no_arithmetic_before:
            return 0
        level = 0
        for at in range(start, limit):
            if self.text[at] == "(":
                level += 1
            elif self.text[at] == ")" and level:
                level -= 1
            elif self.text[at] == ")":
                return at + 2 if self.text.startswith("))", at) else 0
        self._no_arithmetic_before = limit
        return 0

    def _find(self, what: str, start: int) -> int:
        found = self.text.find(what, start)
        return len(self.text) if found < 0 else found

    def _to(self, kind: Kind, end: int) -> None:
        end = min(end, len(self.text))
        if end > self.at:
            text = self.text[self.at : end]
            self.tokens.append(Token(kind=kind, start=self.at, end=end, text=text, depth=self.depth))
        self.at = end
