"""Shell commands that repeat the requests of a comparison and print what must agree.

The first command requests the prompt alone, the second in the other situation. Each run of them has its own cache
salts, so that the prefix cache holds no earlier requests.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from healthcheck.core.records import CheckResult, JsonValue, Stage
from healthcheck.extensions.numerics.dialect import Dialect
from healthcheck.extensions.numerics.records import Api, Prompt, Relation
from healthcheck.system import files, json_text

_SALT = "@salt@"
_BEGINS_S = 0.5
FOLDER, EVIDENCE = "reproduce", "reproduce"


@dataclass(frozen=True, slots=True)
class Shell:
    """Writes commands for one server."""

    url: str
    dialect: Dialect

    def alone(self, prompt: Prompt, *, tokens: int) -> str:
        """The prompt by itself."""
        return f"{self._curl([prompt], tokens)}{self._shown}"

    def streamed(self, prompt: Prompt, *, tokens: int) -> str:
        """The same as a stream."""
        return f"{self._curl([prompt], tokens, {'stream': True})}{self._shown}"

    def by_chat(self, prompt: Prompt, *, tokens: int) -> str:
        """The text of the prompt as a message."""
        return replace(self, dialect=replace(self.dialect, api=Api.CHAT)).alone(prompt, tokens=tokens)

    def batch(self, prompts: Sequence[Prompt], place: int, *, tokens: int) -> str:
        """Several prompts at once; shows the result of the one at `place`."""
        if self.dialect.api is Api.CHAT:
            others = [each for number, each in enumerate(prompts) if number != place]
            return self._beside(others, prompts[place], tokens, tokens)
        lines = 2 if self.dialect.logprobs else 1
        return f"{self._curl(prompts, tokens)}{self._shown} | sed -n {lines * place + 1},{lines * (place + 1)}p"

    def while_decoding(self, near: Sequence[Prompt], prompt: Prompt, *, long: int, tokens: int) -> str:
        """The prompt while others decode `long` tokens."""
        return self._beside(near, prompt, long, tokens, f"sleep {_BEGINS_S:g}; ")

    def after(self, first: Prompt, prompt: Prompt, *, tokens: int) -> str:
        """The prompt after another one with the same salt, whose prefix is then in the cache."""
        return f"{self._curl([first], 1)} > /dev/null; {self._curl([prompt], tokens)}{self._shown}"

    def after_abort(self, left: Prompt, prompt: Prompt, *, long: int, tokens: int) -> str:
        """The prompt after a request that its client cancels."""
        given_up = f"timeout {_BEGINS_S:g} {self._curl([left], long, salt='left')} > /dev/null"
        return f"{given_up}; {self._curl([prompt], tokens, salt='after')}{self._shown}"

    def _beside(self, others: Sequence[Prompt], prompt: Prompt, long: int, tokens: int, begun: str = "") -> str:
        near = "".join(
            f"{self._curl([each], long, salt=f'beside{number}')} > /dev/null & "
            for number, each in enumerate(others)
        )
        return f"{near}{begun}{self._curl([prompt], tokens, salt='then')}{self._shown}; wait"

    def _curl(
        self,
        prompts: Sequence[Prompt],
        tokens: int,
        more: Mapping[str, JsonValue] | None = None,
        *,
        salt: str = "",
    ) -> str:
        body = self.dialect.body(prompts, tokens=tokens, salt=_SALT + salt) | {**(more or {})}
        text = shlex.quote(json_text.dump_line(body).decode().strip()).replace(_SALT, "'\"$salt\"'")
        return f"curl -s {self.url}{self.dialect.path} -H 'content-type: application/json' -d {text}"

    @property
    def _shown(self) -> str:
        chat = self.dialect.api is Api.CHAT
        if not self.dialect.logprobs:
            pattern = r'"content": *"[^"]*"' if chat else r'"text": *"[^"]*"'
        else:
            pattern = r'"top_logprobs": *\[[^]]*\]' if chat else r'"(tokens|token_logprobs)": *\[[^]]*\]'
        return f" | grep -oE {shlex.quote(pattern)}"


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
        for finding in result.findings if result.stage is Stage.NUMERICS else ():
            commands = finding.evidence.get(EVIDENCE)
            if isinstance(commands, str) and finding.where.startswith(FOLDER):
                (folder / FOLDER).mkdir(parents=True, exist_ok=True)
                files.write_atomically(folder / finding.where, commands.encode())
