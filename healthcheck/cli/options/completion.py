"""The options of `npu-adapter completion`."""

from __future__ import annotations

import argparse

from healthcheck.cli.parsing import begin_help, exit_statuses
from healthcheck.text.messages import joined, msg

SHELLS = ("bash", "zsh", "fish")
INSTALL = msg("""\
to use it now:   bash   eval "$(npu-adapter completion bash)"
                 zsh    eval "$(npu-adapter completion zsh)"
                 fish   npu-adapter completion fish | source
for every shell: write its output to
                 bash   ~/.local/share/bash-completion/completions/npu-adapter
                 zsh    _npu-adapter, in a folder of $fpath
                 fish   ~/.config/fish/completions/npu-adapter.fish""")


def arguments(parser: argparse.ArgumentParser) -> None:
    begin_help(parser, "bash", "fish")
    parser.add_argument("shell", choices=SHELLS)
    parser.epilog = joined("\n\n", [INSTALL, exit_statuses({0: msg("printed"), 2: msg("wrong usage")})])
