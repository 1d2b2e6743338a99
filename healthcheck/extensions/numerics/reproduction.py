"""Shell commands that repeat the requests of a comparison and print what must agree.

The first command requests the prompt alone, the second in the other situation. Each run of them has its own cache
salts, so that the prefix cache holds no earlier requests.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from healthcheck import contract
from healthcheck.core.records import CheckResult, JsonValue
from healthcheck.extensions.numerics.dialect import COMPLETIONS_PATH, Dialect
from healthcheck.extensions.numerics.records import Prompt, Relation
from healthcheck.extensions.numerics.stage import NUMERICS
from healthcheck.system import files, json_text

_SALT = "@salt@"
_BEGINS_S = 0.5
_SHOWN = r""" | grep -oE '"(tokens|token_logprobs)": *\[[^]]*\]'"""
_SHOWN_OF_CHAT = r""" | grep -oE '"top_logprobs": *\[[^]]*\]'"""
FOLDER, EVIDENCE = "reproduce", "reproduce"


@dataclass(frozen=True, slots=True)
class Shell:
    """Writes commands for one server."""

    url: str
    dialect: Dialect

    def alone(self, prompt: Prompt, *, tokens: int) -> str:
        """The prompt by itself."""
        return f"{self._curl([prompt], tokens)}{_SHOWN}"

    def streamed(self, prompt: Prompt, *, tokens: int) -> str:
        """The same as a stream."""
        return f"{self._curl([prompt], tokens, {'stream': True})}{_SHOWN}"

    def by_chat(self, prompt: Prompt, *, tokens: int) -> str:
        """The text of the prompt as a message."""
        body = self.dialect.chat_body(prompt, tokens=tokens, salt=_SALT)
        return f"{self._posted(contract.CHAT_PATH, body)}{_SHOWN_OF_CHAT}"

    def batch(self, prompts: Sequence[Prompt], place: int, *, tokens: int) -> str:
        """Several prompts at once; shows the result of the one at `place`."""
        return f"{self._curl(prompts, tokens)}{_SHOWN} | sed -n {2 * place + 1},{2 * place + 2}p"

    def while_decoding(
        self, near: Sequence[Prompt], prompt: Prompt, *, long: int, tokens: int
    ) -> str:
        """The prompt while others decode `long` tokens."""
        others = (
            self._curl([each], long, salt=f"beside{number}") for number, each in enumerate(near)
        )
        beside = "".join(f"{command} > /dev/null & " for command in others)
        return f"{beside}sleep {_BEGINS_S:g}; {self._curl([prompt], tokens, salt='then')}{_SHOWN}; wait"

    def after(self, first: Prompt, prompt: Prompt, *, tokens: int) -> str:
        """The prompt after another one with the same salt, whose prefix is then in the cache."""
        return f"{self._curl([first], 1)} > /dev/null; {self._curl([prompt], tokens)}{_SHOWN}"

    def after_abort(self, left: Prompt, prompt: Prompt, *, long: int, tokens: int) -> str:
        """The prompt after a request that its client cancels."""
        given_up = f"timeout {_BEGINS_S:g} {self._curl([left], long, salt='left')} > /dev/null"
        return f"{given_up}; {self._curl([prompt], tokens, salt='after')}{_SHOWN}"

    def _curl(
        self,
        prompts: Sequence[Prompt],
        tokens: int,
        more: Mapping[str, JsonValue] | None = None,
        *,
        salt: str = "",
    ) -> str:
        body = self.dialect.body(prompts, tokens=tokens, salt=_SALT + salt) | {**(more or {})}
        return self._posted(COMPLETIONS_PATH, body)

    def _posted(self, path: str, body: Mapping[str, JsonValue]) -> str:
        text = shlex.quote(json_text.dump_line(body).decode().strip()).replace(_SALT, "'\"$salt\"'")
        return f"curl -s {self.url}{path} -H 'content-type: application/json' -d {text}"


def script(first: str, second: str, then: str) -> str:
    """Both commands for a shell; `then` describes the second."""
    fresh = "salt=$RANDOM-$(date +%s)"
    return f"{fresh}-1; echo '# alone'\n{first}\n{fresh}-2; echo '# {then}'\n{second}\n"


def place(relation: Relation, size: int) -> str:
    """The path of a finding's commands in the run folder."""
    name = relation.name.lower().replace("_", "-")
    return f"{FOLDER}/{name}-{size}.sh" if size else f"{FOLDER}/{name}.sh"


def keep(folder: Path, results: Iterable[CheckResult]) -> None:
    """Write the commands of all findings into the run folder.

    Raises:
        OSError: the folder cannot be written to.
    """
    for result in results:
        for finding in result.findings if result.stage == NUMERICS else ():
            commands = finding.evidence.get(EVIDENCE)
            if isinstance(commands, str) and finding.where.startswith(FOLDER):
                (folder / FOLDER).mkdir(parents=True, exist_ok=True)
                files.write_atomically(folder / finding.where, commands.encode())
