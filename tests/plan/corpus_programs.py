"""What a program of deploy.sh does: API keys, pip, programs of the image, installed programs, killed processes."""

from __future__ import annotations

from tests.plan.corpus import Case, bash, case, sh

NEVER = {"plan/starts-server": "fail"}
SERVE = 'exec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000'

RIGHT_PROGRAMS: tuple[Case, ...] = (
    case("key-empty", sh(f'{SERVE} --api-key "${{API_KEY:-}}"')),
    case("key-empty-variable", sh(f'export VLLM_API_KEY=""\n{SERVE}')),
    case("key-empty-option-wins", sh(f'export VLLM_API_KEY=token\n{SERVE} --api-key ""')),
)  # fmt: skip

WRONG_PROGRAMS: tuple[Case, ...] = (
    case("key-of-several", sh(f'{SERVE} --api-key "" token'), {"plan/no-api-key": "fail"}, says="--api-key"),
)  # fmt: skip
