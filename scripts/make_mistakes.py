# ruff: noqa: INP001 - scripts are no package
"""Writes docs/mistakes.md and its Chinese twin from real runs: mistakes, and what the kit says of each.

    .venv/bin/python scripts/make_mistakes.py

Each mistake is a command of the shell in a repository that `npu-adapter new` has just made.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WEIGHTS = ROOT / "examples/simulated_engine/weights"
MACHINE = ("--npu", "910B4", "--npus", "1")
PAGES = {"en": "docs/mistakes.md", "zh": "docs/zh/mistakes.md"}
BEGINS = "<!-- scripts/make_mistakes.py writes what follows -->\n"
BEFORE_THE_LAUNCH = "sed -i '/^exec/i {}' deploy.sh"
LAUNCH = "sed -i 's|--port 8000|& {}|' deploy.sh"
MISTAKES = (
    "sed -i 's/--port 8000/--port 8001/' deploy.sh",
    "sed -i 's/0.0.0.0/127.0.0.1/' deploy.sh",
    """sed -i 's|serve "$MODEL_PATH"|serve /home/me/Qwen3-8B|' deploy.sh""",
    """sed -i 's|serve "$MODEL_PATH"|serve $MODEL_PATH|' deploy.sh""",
    """sed -i 's|serve "$MODEL_PATH"|serve Qwen/Qwen3-8B|' deploy.sh""",
    r"sed -i 's/$/\r/' deploy.sh",
    "chmod -x deploy.sh",
    "mkdir scripts && mv deploy.sh scripts/",
    r"sed -i 's/--port 8000 \\/& /' deploy.sh",
    "sed -i '$s/}/} /; $s/.$//' deploy.sh",
    r"sed -i 's/^exec //; $s/$/ \&/' deploy.sh",
    "sed -i 's/^exec /while true; do /; $s/$/; sleep 5; done/' deploy.sh",
    "sed -i 's/--max-num-seqs/--max-num-sequences/' deploy.sh",
    "sed -i 's/--gpu-memory-utilization 0.9/--gpu-memory-utilization 95/' deploy.sh",
    "sed -i 's/--dtype bfloat16/--dtype fp16/' deploy.sh",
    "sed -i 's/--tensor-parallel-size 1/--tensor-parallel-size 16/' deploy.sh",
    "sed -i 's/--max-model-len 2048/--max-model-len 131072/' deploy.sh",
    LAUNCH.format("--api-key sk-abc123"),
    LAUNCH.format("--device npu"),
    LAUNCH.format("--enable-auto-tool-choice"),
    LAUNCH.format("--chat-template chat.jinja"),
    BEFORE_THE_LAUNCH.format("modelscope download Qwen/Qwen3-8B"),
    BEFORE_THE_LAUNCH.format("pip install vllm==0.6.3"),
    BEFORE_THE_LAUNCH.format("docker run --rm vllm-ascend"),
    BEFORE_THE_LAUNCH.format("sudo sysctl -w vm.swappiness=0"),
    BEFORE_THE_LAUNCH.format("conda activate serve"),
    BEFORE_THE_LAUNCH.format("export ASCEND_RT_VISIBLE_DEVICES=0,1,2,3"),
    BEFORE_THE_LAUNCH.format(
        "export HF_HUB_OFFLINE=0 HF_TOKEN=hf_" + "abcdefghijklmnopqrstuvwxyz01234567"
    ),
    BEFORE_THE_LAUNCH.format('touch "$MODEL_PATH/started"'),
    BEFORE_THE_LAUNCH.format("cd /workspace/server"),
    "sed -i 's/^exec vllm serve/exec python3.8 -m vllm.entrypoints.openai.api_server --model/' deploy.sh",
    "echo torch==2.1.0 >> requirements.txt",
    "echo my-wheel-that-is-nowhere >> requirements.txt",
    "truncate -s 120M model.safetensors",
)
_CHECK = re.compile(r"[a-z]+/[a-z-]+")


@dataclass(frozen=True)
class Adapter:
    """A fresh repository below a folder of its own, and the kit in it."""

    folder: Path

    @property
    def repository(self) -> Path:
        return self.folder / "my-adapter"

    def begin(self) -> None:
        """A fresh repository, with nothing wrong."""
        fresh = self.folder / "fresh"
        if not fresh.exists():
            self.kit(
                "en", "new", "fresh", "--defaults", "--weights", str(WEIGHTS), "--npu", "910B4"
            )
        shutil.rmtree(self.repository, ignore_errors=True)
        shutil.copytree(fresh, self.repository, symlinks=True)

    def run(self, command: str) -> None:
        """Run a command of the shell in the repository, and commit what it changed."""
        identity = {
            f"GIT_{who}_{what}": "me@example.org"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        }
        commit = "git add --all && git commit --quiet --allow-empty --message change"
        script = f"{command}\n{commit}"
        subprocess.run(
            ["sh", "-ec", script], cwd=self.repository, check=True, env={**os.environ, **identity}
        )

    def said(self, language: str) -> str:
        """What `verify --quiet` prints of the last commit."""
        words = ("--weights", str(WEIGHTS), "--until", "weights", *MACHINE, "--quiet")
        return self.kit(language, "verify", self.repository.name, *words)

    def kit(self, language: str, *words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "healthcheck", *words, "--lang", language], cwd=self.folder, check=False,
            stdout=subprocess.PIPE, encoding="utf-8", env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        return done.stdout


def sections() -> dict[str, str]:
    """The part of each page that is generated.

    Raises:
        AssertionError: the kit says nothing of a mistake.
    """
    parts: dict[str, list[str]] = {language: [] for language in PAGES}
    with tempfile.TemporaryDirectory() as folder:
        adapter = Adapter(Path(folder))
        for number, mistake in enumerate(MISTAKES, 1):
            print(f"{number} of {len(MISTAKES)}: {mistake}", file=sys.stderr)
            adapter.begin()
            adapter.run(mistake)
            for language in PAGES:
                *lines, _ = adapter.said(language).splitlines()
                assert lines, f"the kit says nothing of: {mistake}"
                parts[language].append(_section(number, mistake, lines))
    return {language: "".join(written) for language, written in parts.items()}


def _section(number: int, mistake: str, lines: list[str]) -> str:
    name = _CHECK.findall(lines[-1])[0]
    return (
        f"\n## {number}. {name}\n\n```bash\n{mistake}\n```\n\n```console\n"
        + "\n".join(lines)
        + "\n```\n"
    )


def main() -> None:
    for language, text in sections().items():
        page = ROOT / PAGES[language]
        head, begins, _ = page.read_text("utf-8").partition(BEGINS)
        page.write_text(f"{head}{begins}{text}", "utf-8")


if __name__ == "__main__":
    main()
