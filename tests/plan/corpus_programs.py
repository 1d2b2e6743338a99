"""What a program of deploy.sh does: API keys, pip, programs of the image, installed programs, killed processes."""

from __future__ import annotations

from tests.plan.corpus import Case, bash, case, sh

NEVER = {"plan/starts-server": "fail"}
SERVE = 'exec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000'

RIGHT_PROGRAMS: tuple[Case, ...] = (
    case("key-empty", sh(f'{SERVE} --api-key "${{API_KEY:-}}"')),
    case("key-empty-variable", sh(f'export VLLM_API_KEY=""\n{SERVE}')),
    case("key-empty-option-wins", sh(f'export VLLM_API_KEY=token\n{SERVE} --api-key ""')),
    case("sleeps-a-little", sh(f"sleep 10; sleep 4m\n{SERVE}")),
    case("sleeps-beside", sh(f"(sleep 3600; date) &\nsleep 600 && date &\n{SERVE}")),
    case("sleeps-afterwards", sh('vllm serve "$MODEL_PATH" --port 8000 &\nsleep 15m\nwait')),
)  # fmt: skip

LATE = {"plan/readiness-poll": "warn"}
WRONG_PROGRAMS: tuple[Case, ...] = (
    case("key-of-several", sh(f'{SERVE} --api-key "" token'), {"plan/no-api-key": "fail"}, says="--api-key"),
    case("sleeps-first", sh(f"sleep 10m\n{SERVE}"), LATE, says="600 s", fix="line 2: sleep 10m"),
    case("sleeps-a-variable", bash(f'WAIT="${{WAIT:-300}}"\nsleep "$WAIT"\n{SERVE}'), LATE, says="deploy.sh:3"),
    case("sleeps-in-a-loop", sh(f"for i in 1 2 3 4 5 6; do sleep 60; done\n{SERVE}"), LATE, says="360 s"),
    case("sleeps-in-python", sh("python3 run.py"), LATE, says="400 s", files={"run.py": """
        import os, time
        time.sleep(400)
        os.execvp("vllm", ["vllm", "serve", os.environ["MODEL_PATH"], "--host", "0.0.0.0", "--port", "8000"])
        """}),
)  # fmt: skip
