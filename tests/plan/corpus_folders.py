"""deploy.sh repositories whose files are found, or not, from a working directory other than their root."""

from __future__ import annotations

from tests.plan.corpus import Case, bash, case, sh

SERVE = 'vllm serve "$MODEL_PATH" --port 8000'
FILES = {
    "chat.jinja": "{{ messages }}\n",
    "env.sh": "export OMP_NUM_THREADS=8\n",
    ".env": "export SERVER_PORT=8000\n",
    "requirements.txt": "einops\n",
    "conf/serve.yaml": "port: 8000\n",
    "options/__init__.py": "",
    "options/__main__.py": 'print("--port 8000")\n',
    "start.py": """
        import os
        os.execvp("vllm", ["vllm", "serve", os.environ["MODEL_PATH"], "--port", "8000"])
        """,
    "from_yaml.py": """
        import os, yaml
        port = yaml.safe_load(open("conf/serve.yaml"))["port"]
        os.execvp("vllm", ["vllm", "serve", os.environ["MODEL_PATH"], "--port", str(port)])
        """,
}
LOST = {
    "plan/no-missing-files": "fail",
    "plan/starts-server": "fail",
    "plan/self-contained": "fail",
}
DEPENDS = {"plan/working-directory": "warn"}
_DEPENDS: tuple[Case, ...] = tuple(
    case(
        f"folder-{name}",
        bash(body),
        DEPENDS,
        files=FILES,
        says=says,
        fix='insert below line 1 of deploy.sh: `cd "$(dirname "$0")"`',
    )
    for name, body, says in (
        (
            "template",
            f"exec {SERVE} --chat-template chat.jinja",
            "does not find --chat-template chat.jinja [",
        ),
        (
            "template-by-pwd",
            f'exec {SERVE} --chat-template "$PWD/chat.jinja"',
            "find --chat-template chat.jinja [",
        ),
        (
            "config",
            'exec vllm serve "$MODEL_PATH" --config conf/serve.yaml',
            "--config conf/serve.yaml",
        ),
        ("sourced", f". ./env.sh\nexec {SERVE}", "does not find ./env.sh [deploy.sh:2]"),
        (
            "optional-port",
            f"[ -f .env ] && . ./.env\nexec {SERVE[:-4]} ${{SERVER_PORT:-9000}}",
            "--port 9000",
        ),
        (
            "optional-variable",
            f"[ -f env.sh ] && . ./env.sh\nexec {SERVE}",
            "the variables OMP_NUM_THREADS",
        ),
        ("python", "exec python3 start.py", "does not find start.py"),
        ("opened-in-python", 'exec python3 "$(dirname "$0")/from_yaml.py"', "conf/serve.yaml"),
        ("module", 'exec vllm serve "$MODEL_PATH" $(python3 -m options)', "does not find options"),
        (
            "requirements",
            f"pip install -r requirements.txt\nexec {SERVE}",
            "does not find requirements.txt",
        ),
        (
            "all-at-once",
            f". ./env.sh\npip install -r requirements.txt\nexec {SERVE} --chat-template chat.jinja",
            "./env.sh, requirements.txt, --chat-template chat.jinja [deploy.sh:2]",
        ),
    )
)
WRONG_FOLDERS: tuple[Case, ...] = (
    *_DEPENDS,
    case("folder-ulimit-in-sh", sh(f"ulimit -n 1000\n. ./env.sh\nexec {SERVE}"), DEPENDS, files=FILES,
         says="does not find ./env.sh"),
    case("folder-changed-before-sourcing", bash(f"set -e\ncd /tmp\n. ./env.sh\nexec {SERVE}"), LOST, files=FILES,
         says="which is committed, but line 3 changes the working directory",
         fix='write "$HERE/env.sh" in place of ./env.sh; insert below line 1 of deploy.sh: `HERE=$('),
    case("folder-changed-before-python", bash("cd /tmp\nexec python3 start.py"), LOST, files=FILES,
         says="needs start.py, which is committed, but line 2 changes", fix='write "$HERE/start.py" in place of start.py'),
    case("folder-of-another-machine", bash(f"set -e\ncd /home/me/adapter/conf\nexec {SERVE}"), LOST, files=FILES,
         says="/home/me/adapter/conf, which is committed as conf", fix='write "$HERE/conf" in place of /home/me/adapter/conf'),
    case("folder-without-shebang", f". ./env.sh\nexec {SERVE}\n", DEPENDS, files=FILES, fix="insert above the first line of deploy.sh"),
)  # fmt: skip
RIGHT_FOLDERS: tuple[Case, ...] = tuple(
    case(f"folder-{name}", bash(body), files=FILES)
    for name, body in {
        "no-file": f"exec {SERVE}",
        "changed-first": f'cd "$(dirname "$0")"\n. ./env.sh\nexec {SERVE} --chat-template chat.jinja',
        "bash-source": f'cd "$(dirname "${{BASH_SOURCE[0]}}")"\npip install -r requirements.txt\nexec {SERVE}',
        "readlink": f'cd "$(dirname "$(readlink -f "$0")")"\n. ./env.sh\nexec {SERVE}',
        "by-variable": f'here=$(cd -- "$(dirname -- "$0")" && pwd)\n. "$here/env.sh"\nexec {SERVE}',
        "python-by-path": 'exec python3 "$(dirname "$0")/start.py"',
        "subshell": f'port=$(cd "$(dirname "$0")" && python3 -m options)\nexec {SERVE[:-12]} $port',
        "its-own-log": f"mkdir -p logs\nexec {SERVE} >logs/server.log 2>&1",
        "random": f"log=$(mktemp)\nexport RUN_ID=$RANDOM\nexec {SERVE} >$log 2>&1",
    }.items()
)
