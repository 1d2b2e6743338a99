"""deploy.sh repositories in which a value is lost: the finding names the cause, and the consequences are skipped."""

from __future__ import annotations

from tests.plan.corpus import Case, bash, case

SERVE = 'exec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port'
FAILED = {"plan/self-contained": "fail"}
PROGRAM = {"plan/no-missing-programs": "fail", **FAILED}
VARIABLE = {"plan/no-other-variables": "fail", **FAILED}
ARGUMENT = {"plan/no-arguments": "fail", **FAILED}
FILE = {"plan/no-missing-files": "fail", **FAILED}
NO_SERVER = {"plan/starts-server": "fail"}
COUNT = "$(ls /dev/davinci[0-9]* | wc -l)"
SETTINGS = {".gitignore": ".env\n"}

LOST: tuple[Case, ...] = (
    case("npus-by-nvidia", bash(f"NPUS=$(nvidia-smi -L | wc -l)\n{SERVE} 8000 --tensor-parallel-size $NPUS"), PROGRAM,
         says="nvidia-smi prints nothing on an Ascend machine, so NPUS is 0 and --tensor-parallel-size is 0", fix=f"write NPUS={COUNT}"),
    case("npus-by-nvidia-in-an-array", bash(
        f'N=$(nvidia-smi --query-gpu=name --format=csv,noheader | wc -l)\nARGS=(-tp "$N")\n{SERVE} 8000 "${{ARGS[@]}}"'),
        PROGRAM, says="so N is 0 and -tp is 0", fix=f"write N={COUNT}"),
    case("npus-by-nvidia-in-place", bash(f"{SERVE} 8000 \\\n  --tensor-parallel-size $(nvidia-smi -L | wc -l)"), PROGRAM,
         says="so --tensor-parallel-size is 0", fix=f"write {COUNT} in place of $(nvidia-smi -L | wc -l)"),
    case("npus-by-a-copy", bash(f"A=$(rocm-smi --showid | grep -c GPU)\nB=$A\n{SERVE} 8000 --tensor-parallel-size=$B"), PROGRAM,
         says="rocm-smi is not there", fix=f"write A={COUNT}"),
    case("npus-by-cuda", bash(
        f"""N=$(python3 -c 'print(0)')\n{SERVE} 8000 --tensor-parallel-size "$N\""""),
        {"plan/flags": "fail"}, says="so N is 0 and --tensor-parallel-size is 0", fix=f"write N={COUNT}"),
    case("argument-for-a-port", bash(f"{SERVE} $1 --max-num-seqs 16"), ARGUMENT, says="so $1 is empty and --port has no value",
         fix="write 8000 in place of $1"),
    case("argument-that-becomes-0", bash(f"TP=$(($1 + 0))\n{SERVE} 8000 --tensor-parallel-size $TP"), ARGUMENT,
         says="so $1 is empty and --tensor-parallel-size is 0", fix="in place of $1"),
    case("variable-for-a-port", bash(f"{SERVE} $PORT"), VARIABLE, says="the service does not set PORT, so --port has no value",
         fix="${PORT:-8000}"),
    case("variable-for-a-size", bash(f"{SERVE} 8000 --tensor-parallel-size $TP"), VARIABLE, fix="${TP:-1}"),
    case("variable-assigned-later", bash('vllm serve "$MODEL_PATH" --host 0.0.0.0 --port $PORT &\nPORT=8000\nwait'), VARIABLE,
         says="line 2 uses PORT, and line 3 assigns it", fix="move line 3 above line 2: PORT=8000"),
    case("settings-that-git-ignores", bash(f"[ -f .env ] && source .env\n{SERVE} $PORT --tensor-parallel-size $TP"), FILE,
         files=SETTINGS, untracked={".env": "PORT=8000\nexport TP=1\n"},
         says="line 2 reads .env, which sets PORT and is in your folder but not in the commit", fix="git add -f .env && git commit -m 'Add .env'"),
)  # fmt: skip
STOPPED: tuple[Case, ...] = (
    case("settings-that-git-ignores-under-u", bash(f"set -u\n[ -f .env ] && . ./.env\n{SERVE} $PORT"), {**NO_SERVER, **FILE},
         files=SETTINGS, untracked={".env": "PORT=8000\n"},
         says="line 3 reads .env, which sets PORT", fix="git add -f .env"),
    case("settings-with-a-key", bash(f"set -u\n[ -f .env ] && . ./.env\n{SERVE} $PORT"), {**NO_SERVER, **FILE},
         files=SETTINGS, untracked={".env": "PORT=8000\nHF_TOKEN=hf_aZ3kQ9wLxP7rT2vB8nM4cJ6yD1sF5gH0\n"},
         fix="write PORT=8000 above line 3; do not commit .env, which has a secret"),
    case("settings-by-xargs", bash(f"set -u\nexport $(cat .env 2>/dev/null | xargs)\n{SERVE} $PORT"), {**NO_SERVER, **FILE},
         files=SETTINGS, untracked={".env": "PORT=8000\n"}, says="line 3 reads .env", fix="git add -f .env"),
    case("settings-that-git-ignores-and-bash-misses", bash(f"set -e\nsource prod.env\n{SERVE} 8000"), {**NO_SERVER, **FILE},
         files={".gitignore": "*.env\n"}, untracked={"prod.env": "X=1\n"},
         says="prod.env is in your folder but not in the commit", fix="git add -f prod.env && git commit -m 'Add prod.env'"),
    case("folder-assigned-later", bash(f'set -eu\nmkdir -p "$OUT/logs"\nOUT=/tmp/out\n{SERVE} 8000'), {**NO_SERVER, **VARIABLE},
         says="line 3 uses OUT, and line 4 assigns it", fix="move line 4 above line 3: OUT=/tmp/out"),
    case("folder-never-assigned", bash(f'set -eu\nmkdir -p "$OUT/logs"\n{SERVE} 8000'), {**NO_SERVER, **VARIABLE},
         fix="give it a default: ${OUT:-./out}"),
    case("cause-is-told-first", bash(f'set -eu\nmkdir -p "$OUT/logs"\nOUT=/tmp/out\n{SERVE} 8000 # again'), {**NO_SERVER, **VARIABLE},
         says="plan/starts-server: run under bash, it ended with status 1: line 3 uses OUT"),
)  # fmt: skip
MODEL = {"plan/model-path": "fail"}
UNEXPANDED: tuple[Case, ...] = (
    case("weights-in-single-quotes", bash("exec vllm serve '\"$MODEL_PATH\"' --host 0.0.0.0 --port 8000"), MODEL,
         says="single quotes keep the shell from expanding $MODEL_PATH", fix="""write "$MODEL_PATH" in place of '"$MODEL_PATH"'"""),
    case("weights-behind-a-backslash", bash('exec vllm serve "\\$MODEL_PATH" --host 0.0.0.0 --port 8000'), MODEL,
         says="the backslash keeps the shell from expanding", fix="remove the backslash"),
    case("weights-in-yaml", bash("exec vllm serve --config serve.yaml"), MODEL,
         files={"serve.yaml": "port: 8000\nmodel: ${MODEL_PATH}\n"}, says="[serve.yaml:2]",
         fix='remove that line, and write: vllm serve "$MODEL_PATH" --config serve.yaml'),
    case("weights-in-a-here-document", bash("cat > c.yaml <<'EOF'\nmodel: $MODEL_PATH\nport: 8000\nEOF\nexec vllm serve --config c.yaml"), MODEL,
         says="the quotes in <<'EOF'", fix="in deploy.sh:2 replace `<<'EOF'` by `<<EOF`"),
    case("name-in-yaml", bash('exec vllm serve "$MODEL_PATH" --config serve.yaml'), {"plan/served-name": "fail"},
         files={"serve.yaml": "port: 8000\nserved-model-name: $MODEL_PATH\n"}, says="[serve.yaml:2]",
         fix='add --served-model-name "$MODEL_PATH" to the command in deploy.sh'),
    case("weights-behind-a-folder", bash('exec vllm serve "/models/$MODEL_PATH" --host 0.0.0.0 --port 8000'), MODEL,
         says="“/models/” stands before it", fix='write "$MODEL_PATH" in place of "/models/$MODEL_PATH"'),
    case("weights-behind-a-folder-of-the-image", bash(f"{SERVE} 8000 --generation-config /workspace/$MODEL_PATH"), FILE,
         says="“/workspace/” stands before it", fix='write "$MODEL_PATH" in place of /workspace/$MODEL_PATH'),
    case("file-of-the-weights-behind-a-folder", bash(f"{SERVE} 8000 --chat-template /workspace/$MODEL_PATH/config.json"), FILE,
         fix='write "$MODEL_PATH/config.json" in place of /workspace/$MODEL_PATH/config.json'),
    case("template-that-git-ignores", bash(f"{SERVE} 8000 --chat-template chat.jinja"), FILE,
         files={".gitignore": "*.jinja\n"}, untracked={"chat.jinja": "{{ messages }}"},
         says="is in your folder but not in the commit", fix="git add -f chat.jinja && git commit -m 'Add chat.jinja'"),
    case("file-of-a-folder-that-is-not-committed", bash(f"{SERVE} 8000 --chat-template lib/chat.jinja"), FILE,
         untracked={"lib/chat.jinja": "{{ messages }}", "lib/.env": "TOKEN=1"},
         fix="git add -f lib/chat.jinja && git commit -m 'Add lib/chat.jinja'"),
)  # fmt: skip
WRONG_CAUSES: tuple[Case, ...] = (*LOST, *STOPPED, *UNEXPANDED)
RIGHT_CAUSES: tuple[Case, ...] = (
    case("npus-by-their-files", bash(f"NPUS={COUNT}\n{SERVE} 8000 --tensor-parallel-size $NPUS")),
    case("npus-with-a-default", bash(f"TP=${{TP:-1}}\n{SERVE} ${{PORT:-8000}} --tensor-parallel-size $TP")),
    case("settings-that-are-spare", bash(f"[ -f .env ] && source .env\n{SERVE} ${{PORT:-8000}}"),
         files=SETTINGS, untracked={".env": "PORT=8000\n"}),
)  # fmt: skip
