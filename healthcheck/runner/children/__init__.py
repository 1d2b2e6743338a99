"""Programs that the machine's own Python runs: standard library, `shared`, and what they try. Never imported.

Each prints lines that begin with MARK (`@npu-adapter `), one JSON object a step, so that a crash or a hang shows
how far it came.
"""
