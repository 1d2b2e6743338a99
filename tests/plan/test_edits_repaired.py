"""The exact edits of a finding are applied to the repository, and its check then passes."""

from __future__ import annotations

from pathlib import Path

import pytest

from healthcheck.core.records import Finding, Outcome
from healthcheck.verify.fix import Repair, propose
from tests.plan.corpus import Case, bash, case
from tests.support.plans import judged, write

pytestmark = pytest.mark.process
TEMPLATE = {"templates/chat.jinja": "{{ messages }}\n"}
DRAFT = {"draft/config.json": "{}\n", "draft/model.safetensors": "x\n"}
SERVE = 'exec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000'
FILES, MEMORY, FLAGS = "plan/no-missing-files", "plan/device-memory", "plan/flags"
MODEL, ENVIRONMENT = "plan/model-path", "plan/ascend-environment"
DOWNLOADS = "plan/no-downloads"
CASES: tuple[tuple[Case, str, str], ...] = (
    (
        case(
            "template-behind-cd",
            bash(f"""
                cd "$(dirname "$0")"
                WORK=${{WORK:-/tmp/work}}
                mkdir -p "$WORK"
                cd "$WORK"
                {SERVE} --chat-template templates/chat.jinja
                """),
            files=TEMPLATE,
        ),
        FILES,
        'the server starts in /tmp/work: line 5 changes the working directory (“cd "$WORK"”)',
    ),
    (
        case(
            "template-behind-cd-with-a-variable",
            bash(f"""
                here=$(cd "$(dirname "$0")" && pwd)
                cd /tmp
                {SERVE} --chat-template=./templates/chat.jinja
                """),
            files=TEMPLATE,
        ),
        FILES,
        "line 3 changes the working directory",
    ),
    (
        case(
            "template-of-a-checkout",
            bash(f"{SERVE} --chat-template /home/me/adapter/templates/chat.jinja"),
            files=TEMPLATE,
        ),
        FILES,
        "the repository has it as templates/chat.jinja",
    ),
    (
        case(
            "draft-behind-cd",
            bash(f"""
                cd /tmp
                {SERVE} --speculative-config '{{"model": "./draft", "num_speculative_tokens": 2}}'
                """),
            files=DRAFT,
        ),
        FILES,
        "draft is committed, but the path is relative",
    ),
    (
        case(
            "draft-in-another-folder",
            bash(f"""
                {SERVE} --speculative-config '{{"model": "org/draft", "num_speculative_tokens": 2}}'
                """),
            files={f"models/{path}": text for path, text in DRAFT.items()},
        ),
        DOWNLOADS,
        "the repository has this folder as models/draft",
    ),
    (
        case(
            "draft-in-a-here-document",
            bash(f"""
                cd /tmp
                read -r -d '' SPEC <<'JSON' || true
                {{"model": "draft",
                 "num_speculative_tokens": 2}}
                JSON
                {SERVE} --speculative-config "$SPEC"
                """),
            files=DRAFT,
        ),
        DOWNLOADS,
        "from the working directory of the server (/tmp)",
    ),
    (
        case(
            "quotes-in-a-text",
            bash(r"""
                EXTRA="--compilation-config '{\"cudagraph_mode\": \"FULL_DECODE_ONLY\"}' --seed 1"
                echo "vllm serve $MODEL_PATH $EXTRA"
                exec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000 $EXTRA
                """),
        ),
        FLAGS,
        "line 4 uses $EXTRA without quotes",
    ),
    (
        case(
            "quotes-in-a-text-without-blanks",
            bash("""
                MORE="--seed 1 --compilation-config '{\\"mode\\":3}'"
                exec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000 $MORE
                """),
        ),
        FLAGS,
        "so vLLM gets '{",
    ),
    (
        case(
            "json-in-a-text",
            bash("""
                EXTRA_ARGS='--additional-config {"enable_cpu_binding": true} --compilation-config={"mode": 3}'
                exec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000 ${EXTRA_ARGS}
                """),
        ),
        FLAGS,
        'so vLLM gets {"enable_cpu_binding":',
    ),
    (
        case(
            "quoted-here-document",
            bash("""
                CFG=/tmp/serve.yaml
                cat <<-"END" >$CFG
                model: ${MODEL_PATH}
                served-model-name: a$b\\`c`
                port: 8000
                END
                exec vllm serve --config $CFG
                """),
        ),
        MODEL,
        "so /tmp/serve.yaml has “model: ${MODEL_PATH}”",
    ),
    (
        case(
            "atb-behind-cann",
            bash("""
                set -eu
                source /usr/local/Ascend/ascend-toolkit/set_env.sh
                if true; then
                    [ -f /usr/local/Ascend/nnal/atb/set_env.sh ] && source /usr/local/Ascend/nnal/atb/set_env.sh
                fi
                exec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000
                """),
        ),
        ENVIRONMENT,
        "set_env.sh is sourced under set -u",
    ),
    *(
        (
            case(f"libraries-{name}", bash(f"{line}\n{SERVE}")),
            ENVIRONMENT,
            "replaces what LD_LIBRARY_PATH was",
        )
        for name, line in {
            "bare": "A=/opt/a\nexport LD_LIBRARY_PATH=$A:/opt/b",
            "quoted": 'export LD_LIBRARY_PATH="/opt/a b:/opt/c"',
            "single": "export LD_LIBRARY_PATH='/opt/a b'",
            "made": "LD_LIBRARY_PATH=$(echo /opt/a)",
        }.items()
    ),
    (
        case(
            "devices-in-a-loop",
            bash("""
                for at in 0 1; do
                    ASCEND_RT_VISIBLE_DEVICES=$at
                    echo "on $ASCEND_RT_VISIBLE_DEVICES"
                    vllm serve "$MODEL_PATH" --host 0.0.0.0 --port $((8000 + at)) &
                done
                wait
                """),
        ),
        MEMORY,
        "assigned in deploy.sh:3 and not exported",
    ),
)


def fixed(found: Finding, files: dict[str, str]) -> dict[str, str]:
    """The files after the edits of a finding."""
    data = {path: text.encode() for path, text in files.items()}
    repair = Repair(check="x", words=found.fix, edits=found.edits)
    return files | {each.path: each.after.decode() for each in propose([repair], data).changes}


@pytest.mark.parametrize(
    ("wrong", "id_", "says"), CASES, ids=lambda each: getattr(each, "name", "")
)
def test_the_edits_repair_what_the_check_found(
    wrong: Case, id_: str, says: str, tmp_path: Path, weights: Path
) -> None:
    root = write(wrong, tmp_path / "r")
    before = judged(root, weights)[1][id_]
    (found,) = before.findings
    assert says in found.seen
    assert found.edits
    for path, text in fixed(found, dict(wrong.files)).items():
        (root / path).write_text(text)
    after = judged(root, weights)[1][id_]
    assert after.outcome is Outcome.PASS, (found.fix, after.findings)
