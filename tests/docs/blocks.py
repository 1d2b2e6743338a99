"""The commands that the documents show: fenced `sh` blocks, as lists of commands."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>\w*)\n(?P<body>.*?)^(?P=indent)```", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True)
class Block:
    """One fenced block, without the indentation of the list that it stands in."""

    document: str
    language: str
    body: str

    def commands(self) -> list[str]:
        """Its commands: comments taken off, continued lines joined."""
        lines = self.body.replace("\\\n", " ").splitlines()
        return [command for line in lines if (command := re.sub(r"(^|\s+)# .*", "", line).strip())]


def documents() -> list[Path]:
    """What a person reads, without the pages that are written by a script."""
    patterns = ("*.md", "docs/*.md", "docs/zh/*.md", "healthcheck/extensions/*/README.md")
    return [path for pattern in patterns for path in sorted(ROOT.glob(pattern))]


def blocks(document: Path) -> list[Block]:
    """The fenced blocks of a document."""
    found = []
    for match in _FENCE.finditer(document.read_text("utf-8")):
        body = re.sub(f"^{match['indent']}", "", match["body"], flags=re.MULTILINE)
        found.append(
            Block(document=str(document.relative_to(ROOT)), language=match["language"], body=body)
        )
    return found


def commands(document: Path) -> list[str]:
    """All shell commands of a document, in order."""
    return [
        command
        for block in blocks(document)
        if block.language == "sh"
        for command in block.commands()
    ]
