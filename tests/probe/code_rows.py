"""Rows of code in the forms of HumanEval, MBPP and APPS, and answers to the first, by what is to be seen of them."""

from __future__ import annotations

import json

PROMPT = '''from typing import List


def close_pair(numbers: List[float], threshold: float) -> bool:
    """ Whether two of the numbers are closer to each other than the threshold.
    >>> close_pair([1.0, 2.0, 3.0], 0.5)
    False
    """
'''
BODY = """    for i, a in enumerate(numbers):
        for j, b in enumerate(numbers):
            if i != j and abs(a - b) < threshold:
                return True
    return False
"""
TEST = """def check(candidate):
    assert candidate([1.0, 2.0, 3.9, 4.0, 5.0, 2.2], 0.3) == True
    assert candidate([1.0, 2.0, 3.9, 4.0, 5.0, 2.2], 0.05) == False
    assert all(candidate([1.0, 2.0], t) is (t > 1) for t in (0.5, 1.5))
"""
HUMAN_EVAL: dict[str, object] = {
    "task_id": "HumanEval/0", "prompt": PROMPT, "entry_point": "close_pair", "canonical_solution": BODY, "test": TEST,
}  # fmt: skip
MBPP: dict[str, object] = {
    "task_id": 126, "text": "Write a function that adds two numbers.", "code": "def sum(a, b):\n    return a + b",
    "test_list": ["assert sum(2, 3) == 5", "assert sum(-1, 1) == 0"], "test_setup_code": "",
}  # fmt: skip
APPS: dict[str, object] = {
    "question": "Print the sum of the numbers on each line.",
    "input_output": json.dumps({"inputs": ["1 2\n3 4\n", "5\n"], "outputs": ["3\n7\n", "5\n"]}),
    "solutions": json.dumps(["import sys\nfor line in sys.stdin:\n    print(sum(map(int, line.split())))"]),
}  # fmt: skip


def fenced(code: str) -> str:
    return f"Here it is:\n\n```python\n{code}\n```\nIt compares each pair."


def of_body(body: str, *, before: str = "") -> str:
    """A block of code that defines the function."""
    return fenced(f"{before}\ndef close_pair(numbers, threshold):\n    {body}")


RIGHT = {
    "whole": fenced(PROMPT + BODY),
    "without the imports of the prompt": fenced(PROMPT.partition("\n\n\n")[2] + BODY),
    "body": BODY,
    "body whose first line lost its indentation": BODY.lstrip(),
    "body in a block": fenced(BODY),
    "text without a block": f"The function is:\n{PROMPT}{BODY}",
    "a block that is not closed": f"```python\n{PROMPT}{BODY}",
    "a later block corrects the first": f"{of_body('return True')}\nNo:\n{fenced(PROMPT + BODY)}",
    "an example follows": f"{fenced(PROMPT + BODY)}\n```python\nprint(close_pair([1, 2], 3))\n```",
    "after reasoning": f"<think>{of_body('return None')}</think>{fenced(PROMPT + BODY)}",
    "in a list": "1. It is\n\n   ```py\n"
    + "".join(f"   {line}\n" for line in (PROMPT + BODY).splitlines())
    + "   ```",
    "a future import": fenced(f"from __future__ import annotations\n{PROMPT}{BODY}"),
    "a large output": fenced(f"print('x' * 10**7)\n{PROMPT}{BODY}"),
}
WRONG = {
    "prints without end": of_body("while True: print('x' * 9999)"),
    "constant": of_body("return True"),
    "other function": fenced("def far_pair(numbers, threshold):\n    return True"),
    "syntax": of_body("return ("),
    "words": "I cannot write this function.",
    "crashes": of_body("import ctypes; ctypes.string_at(0)"),
    "recurses": of_body("return close_pair(numbers, threshold)"),
    "os._exit": of_body("import os; os._exit(0)"),
    "os._exit at once": of_body("return True", before="import os\nos._exit(0)"),
    "sys.exit": of_body("import sys; sys.exit(0)"),
    "sys.exit at once": of_body("return True", before="import sys\nsys.exit(0)"),
    "another program": of_body("import os; os.execv('/bin/echo', ['echo', 'passed'])"),
    "prints a mark": of_body("print('passed'); return True"),
    "writes everywhere": of_body(
        "import os\n    for handle in range(64):\n        try: os.write(handle, b'passed')\n        except OSError: pass"
    ),
    "at exit": of_body("return True", before="import atexit\natexit.register(print, 'passed')"),
    "a hook for errors": of_body("return True", before="import sys\nsys.excepthook = lambda *_: print('passed')"),
    "its own check": of_body("return True", before="def check(candidate): pass"),
    "patches exec": of_body("return True", before="import builtins\nbuiltins.exec = builtins.compile = print"),
    "patches assert": of_body(
        "return True", before="import builtins\nclass AssertionError(Exception): pass\nbuiltins.AssertionError = int"
    ),
    "patches what tests call": of_body(
        "import builtins; builtins.all = builtins.abs = lambda *_: 1; return threshold == 0.3"
    ),
    "hides what tests call": of_body("return threshold == 0.3", before="def all(_): return True"),
    "looks for the tests": of_body(
        "import os; return eval(open('job.json').read()) or os.listdir('/srv/weights')"
    ),
    "kills its parents": of_body("import os, signal; os.kill(os.getppid(), 9); os.kill(1, 9); os.kill(-1, 9)"),
    "forks": of_body("import os\n    while True: os.fork()"),
    "leaves a process": of_body(
        "import subprocess; subprocess.Popen(['sleep', '77.25'], start_new_session=True); return True"
    ),
    "writes files": of_body("open('/tmp/left-by-an-answer', 'w').write('x'); return True"),
    "fills memory": of_body("kept = []\n    while True: kept.append(bytearray(10**8))"),
    "fills the disk": of_body("file = open('x', 'wb')\n    while True: file.write(bytes(10**7))"),
    "reaches the network": of_body("import socket; socket.create_connection(('127.0.0.1', 9)); return True"),
    "waits": of_body("import time; time.sleep(99)"),
}  # fmt: skip
