"""Stub for envsubst of GNU gettext: replaces `$NAME` and `${NAME}` by the values of environment variables."""

from __future__ import annotations

import os
import re
import sys

_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})", re.ASCII)


def main() -> None:
    arguments = sys.argv[1:]
    if arguments[:1] in (["-V"], ["--version"]):
        print("envsubst (GNU gettext-runtime) 0.21")
        return
    listed = [first or second for words in arguments for first, second in _VARIABLE.findall(words)]
    if arguments[:1] in (["-v"], ["--variables"]):
        print("\n".join(dict.fromkeys(listed)))
        return
    replaced = set(listed) if arguments else None
    text = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")

    def value(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        return os.environ.get(name, "") if replaced is None or name in replaced else found[0]

    sys.stdout.buffer.write(_VARIABLE.sub(value, text).encode("utf-8", "surrogateescape"))


if __name__ == "__main__":
    main()
