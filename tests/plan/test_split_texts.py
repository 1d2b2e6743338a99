"""A text that was split at the wrong blanks is repaired without losing an argument."""

from __future__ import annotations

import shlex

from healthcheck.stages.plan.script.split_texts import split_texts
from healthcheck.verify.fix import Repair, propose


def test_an_empty_argument_is_kept() -> None:
    value = "--port 8000 --served-model-name '' --compilation-config '{\\\"mode\\\":3}'"
    script = f'#!/bin/bash\nARGS="{value}"\nexec vllm serve "$MODEL_PATH" $ARGS\n'
    argv = value.replace("\\", "").split()
    (found,) = split_texts(script, argv)
    repair = Repair(check="x", words="", edits=found.edits)
    (change,) = propose([repair], {"deploy.sh": script.encode()}).changes
    assigned, server = change.after.decode().splitlines()[-2:]
    words = shlex.split(assigned.partition("=(")[2].rstrip(")"))
    meant = ["--port", "8000", "--served-model-name", "", "--compilation-config", '{"mode":3}']
    assert words == meant
    assert server == 'exec vllm serve "$MODEL_PATH" "${ARGS[@]}"'
