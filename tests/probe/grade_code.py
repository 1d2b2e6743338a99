"""Grade answers in the sandbox of this system: `python grade_code.py < JSON`; prints the mode and the grades."""

from __future__ import annotations

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.environ["LACKING_PACKAGE"])

from healthcheck.stages.probe.data_sets import code_rows
from healthcheck.stages.probe.grading import code, grade


def main() -> None:
    asked = json.load(sys.stdin)
    problem = code_rows.problem("row", asked["row"])
    assert problem
    with ThreadPoolExecutor(code.AT_ONCE) as pool:
        grades = pool.map(lambda text: grade(problem, text), asked["answers"].values())
        seen = {
            name: (one.score, one.extracted)
            for name, one in zip(asked["answers"], grades, strict=True)
        }
    print(json.dumps({"mode": code.mode().value, "grades": seen}))


main()
