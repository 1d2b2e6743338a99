"""deploy.sh repositories about another engine that is asked for, packages without an index, and shadowed modules."""

from __future__ import annotations

from tests.plan.corpus import UNKNOWN, Case, bash, case, sh

SERVE = 'exec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000'
LMDEPLOY = 'exec lmdeploy serve api_server "$MODEL_PATH" --server-port 8000'
SGLANG = 'exec python3 -m sglang.launch_server --model-path "$MODEL_PATH" --host 0.0.0.0 --port 8000'
NEVER = {"plan/starts-server": "fail"}
NO_PROGRAM = {**UNKNOWN, "plan/self-contained": "unsettled"}
_ASKED = "lmdeploy is unknown: the official vllm-ascend image does not have it"

_WRONG_ENGINES: tuple[Case, ...] = (
    *(
        case(f"asks-for-an-engine-{name}", shell(body), expected, says=says, fix="install it in deploy.sh")
        for name, shell, body, expected, says in (
            (
                "and-ends",
                bash,
                f'command -v lmdeploy >/dev/null || {{ echo "lmdeploy is not in this image" >&2; exit 1; }}\n{LMDEPLOY}',
                UNKNOWN,
                _ASKED,
            ),
            ("under-sh", sh, f"if ! which lmdeploy > /dev/null; then\n  exit 1\nfi\n{LMDEPLOY}", UNKNOWN, _ASKED),
            (
                "by-variable",
                bash,
                f'LM=$(command -v lmdeploy || true)\n[ -n "$LM" ] || exit 3\n{LMDEPLOY}',
                UNKNOWN,
                _ASKED,
            ),
            ("and-starts-its-module", bash, f"set -e\ncommand -v sglang\n{SGLANG}", UNKNOWN, "sglang is unknown"),
            ("without-an-error", sh, f"if command -v lmdeploy; then\n  {LMDEPLOY}\nfi", UNKNOWN, _ASKED),
            (
                "of-two",
                bash,
                f"if command -v sglang; then {SGLANG}\nelif command -v lmdeploy; then {LMDEPLOY}\n"
                "else echo no engine; exit 1; fi",
                UNKNOWN,
                "lmdeploy, sglang is unknown",
            ),
            ("and-goes-on", sh, f"command -v lmdeploy || echo trying anyway\n{LMDEPLOY}", NO_PROGRAM, _ASKED),
        )
    ),
    case(
        "asks-for-an-engine-and-for-a-token",
        bash(f'command -v sglang || pip install sglang\ntest "$SEAT" = 4 || exit 1\n{SGLANG}'),
        NEVER,
    ),
    case(
        "asks-for-an-engine-and-starts-nothing", sh("command -v sglang && echo sglang is there\necho done"), NEVER
    ),
)

RIGHT_KINDS: tuple[Case, ...] = (
    case(
        "asks-for-an-engine-or-installs-it", bash(f"command -v sglang >/dev/null || pip install sglang\n{SGLANG}")
    ),
    case(
        "asks-for-an-engine-or-has-another",
        bash(f"if command -v lmdeploy; then {LMDEPLOY}\nelse {SERVE}\nfi"),
    ),
)
WRONG_KINDS: tuple[Case, ...] = _WRONG_ENGINES
