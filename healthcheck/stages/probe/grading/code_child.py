"""Runs one answer with its tests or inputs, in the sandbox, for `code`; imports nothing of the kit.

Reads job.json and removes it. Its own output is the token of the job once every test has passed, or the outputs of
a program as a JSON list. What the answer prints goes nowhere, so only code that looks for the token can write it.
"""

from __future__ import annotations

import builtins
import json
import os
import subprocess
import sys
from pathlib import Path
from types import CodeType
from typing import Any

_MOST_OUTPUT_BYTES = 4 * 2**20


def main() -> None:
    """Run the job in the working directory."""
    job = json.loads(Path("job.json").read_text("ascii"))
    os.unlink("job.json")
    os.environ["OMP_NUM_THREADS"] = "1"  # numpy would start a thread for each processor
    answer, complaint, null = os.dup(1), os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    write, leave = os.write, os._exit
    try:
        said = passed(job) if job["tests"] else outputs(job)
    except BaseException as error:  # noqa: BLE001 - the answer's, whatever it was; SystemExit too
        write(complaint, f"{type(error).__name__}: {error}".encode("utf-8", "replace")[:200])
        leave(1)
    while said:
        said = said[write(answer, said) :]
    leave(0)


def compiled(sources: list[str]) -> tuple[str, CodeType]:
    """The first reading of an answer that is Python."""
    first, *others = sources
    try:
        return first, compile(first, "answer", "exec", dont_inherit=True)
    except SyntaxError:
        if not others:
            raise
    return compiled(others)


def passed(job: dict[str, Any]) -> bytes:
    """Run the tests as the field does, in the names of the answer; but none of these hides a built-in function.

    The tests have built-in functions of their own, which the answer cannot replace in the module `builtins`.
    """
    run, own, name = exec, dict(vars(builtins)), job["name"]
    tests = compile(job["tests"], "tests", "exec", dont_inherit=True)
    names: dict[str, Any] = {}
    run(compile(job["before"], "before", "exec", dont_inherit=True), names)
    run(compiled(job["sources"])[1], names)
    kept = {key: value for key, value in names.items() if key == name or key not in own}
    run(tests, {**kept, name: names[name], "__builtins__": own})
    token: str = job["token"]
    return token.encode("ascii")


def outputs(job: dict[str, Any]) -> bytes:
    """Run the program once for each input; its outputs are compared outside."""
    Path("answer.py").write_text(compiled(job["sources"])[0], "utf-8", "surrogatepass")
    said = []
    for place, given in enumerate(job["inputs"], 1):
        with open("output", "w+b") as output:
            done = subprocess.run(
                [sys.executable, "-I", "answer.py"], input=given.encode("utf-8", "surrogatepass"), stdout=output,
                stderr=subprocess.DEVNULL, check=False,
            )  # fmt: skip
            if done.returncode:
                raise RuntimeError(f"exit status {done.returncode} for input {place}")
            output.seek(0)
            said.append(output.read(_MOST_OUTPUT_BYTES).decode("utf-8", "replace"))
    return json.dumps(said).encode("ascii")


if __name__ == "__main__":
    main()
