"""deploy.sh repositories whose servers supervisord starts."""

from __future__ import annotations

from tests.plan.corpus import Case, bash, case
from tests.plan.corpus_fronts import conf

INSTALL = 'pip install supervisor\ncd "$(dirname "$0")"\n'
START = f"{INSTALL}exec supervisord -n -c supervisord.conf"
SERVE = 'vllm serve "%(ENV_MODEL_PATH)s" --port 8000'
QUOTES = {"plan/model-path": "warn"}


def supervised(name: str, command: str = SERVE, expected: dict[str, str] | None = None, *, more: str = "",
               head: str = "nodaemon=true", deploy: str = START, says: str = "", fix: str = "") -> Case:  # fmt: skip
    text = f"[supervisord]\n{head}\n\n[program:model]\ncommand={command}\n{more}\n"
    files = {"supervisord.conf": text, "nginx.conf": conf()}
    return case(f"supervisord-{name}", bash(deploy), expected, files=files, says=says, fix=fix)


BEHIND_NGINX = """
[program:second]
command=vllm serve "%(ENV_MODEL_PATH)s" --port 8002
environment=ASCEND_RT_VISIBLE_DEVICES="1"

[program:nginx]
command=nginx -c %(here)s/nginx.conf -g "daemon off;"
"""
RIGHT_SUPERVISED: tuple[Case, ...] = (
    supervised("plain", f"{SERVE} ; the model"),
    supervised("by-a-shell", """bash -c 'exec vllm serve "$MODEL_PATH" --port 8000'"""),
    supervised("default-place", deploy=f"{INSTALL}exec supervisord"),
    supervised("into-the-background-and-sleeps", deploy=f"{INSTALL}supervisord -c supervisord.conf\nsleep infinity", head=""),
    supervised("own-environment", 'vllm serve "%(ENV_W)s" --port 8000', more='environment=W="%(ENV_MODEL_PATH)s"'),
    supervised("in-a-folder", f"{SERVE} --chat-template chat.jinja", more="directory=/tmp",
               deploy=f"echo x > /tmp/chat.jinja\n{START}"),
    supervised("behind-nginx", SERVE.replace("8000", "8001"), more=BEHIND_NGINX,
               deploy=f"apt-get install -y nginx\n{START}"),
    case("supervisord-by-apt", bash('apt-get install -y supervisor\ncd "$(dirname "$0")"\nexec supervisord -n -c supervisord.conf'),
         files={"supervisord.conf": f"[supervisord]\n[program:model]\ncommand={SERVE}\n"}),
)  # fmt: skip
WRONG_SUPERVISED: tuple[Case, ...] = (
    supervised("no-shell", "vllm serve $MODEL_PATH --port 8000", {"plan/model-path": "fail"},
               says="without a shell", fix="write %(ENV_MODEL_PATH)s in place of $MODEL_PATH"),
    supervised("without-quotes", "vllm serve %(ENV_MODEL_PATH)s --port 8000", QUOTES),
    supervised("port", SERVE.replace("8000", "9000"), {"plan/port": "fail"}, says="--port 9000"),
    supervised("option", f"{SERVE} --frobnicate", {"plan/flags": "fail"}, says="--frobnicate"),
    supervised("not-started", expected={"plan/starts-server": "fail"}, more="autostart=false"),
    supervised("unknown-variable", "vllm serve %(ENV_WEIGHTS)s", {"plan/starts-server": "fail"},
               says="contains names ('ENV_WEIGHTS')"),
    supervised("other-file", expected={"plan/starts-server": "fail"}, deploy=f"{INSTALL}exec supervisord -n -c s.conf",
               says="could not find config file s.conf"),
    supervised("into-the-background", expected={"plan/foreground": "unsettled"}, head="",
               deploy=f"{INSTALL}supervisord -c supervisord.conf"),
    supervised("not-installed", expected={"plan/starts-server": "fail", "plan/self-contained": "fail"},
               deploy='cd "$(dirname "$0")"\nexec supervisord -n -c supervisord.conf', says="supervisord: not found"),
)  # fmt: skip
