"""deploy.sh repositories with a front: nginx, LiteLLM and others that pass chats on to servers of the launch."""

from __future__ import annotations

from tests.plan.corpus import Case, bash, case

TWO = """
ASCEND_RT_VISIBLE_DEVICES=0 vllm serve "$MODEL_PATH" --port 8001 &
ASCEND_RT_VISIBLE_DEVICES=1 vllm serve "$MODEL_PATH" --port 8002 &
"""
INSTALL = 'apt-get update && apt-get install -y nginx\ncd "$(dirname "$0")"\n'
START = 'exec nginx -c "$PWD/nginx.conf" -g "daemon off;"'
FRONT = {"plan/front": "fail"}
OPEN = {"plan/front": "unsettled"}


def conf(
    *,
    upstream: str = "server 127.0.0.1:8001; server 127.0.0.1:8002;",
    location: str = "",
    listen: str = "8000",
) -> str:
    """A configuration of nginx with one server block."""
    location = location or "location / { proxy_pass http://models; proxy_buffering off; }"
    return (
        f"events {{}}\nhttp {{\n    upstream models {{ {upstream} }}\n"
        f"    server {{\n        listen {listen};\n        {location}\n    }}\n}}\n"
    )


def nginx(name: str, text: str, expected: dict[str, str] | None = None, *, says: str = "", fix: str = "",
          deploy: str = INSTALL + TWO + START) -> Case:  # fmt: skip
    return case(
        f"front-{name}", bash(deploy), expected, files={"nginx.conf": text}, says=says, fix=fix
    )


def litellm_beside(
    name: str, model_name: str, expected: dict[str, str] | None = None, *, says: str = ""
) -> Case:
    """LiteLLM in a virtual environment of its own, so that it cannot touch the packages of vLLM."""
    routes = f"""
        model_list:
          - model_name: {model_name}
            litellm_params: {{model: hosted_vllm/m, api_base: "http://127.0.0.1:8001/v1", api_key: none}}
        """
    deploy = """
        set -e
        export LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY=true
        cd "$(dirname "$0")"
        python3 -m venv /tmp/front
        /tmp/front/bin/pip install -q 'litellm[proxy]>=1.60,<2'
        vllm serve "$MODEL_PATH" --served-model-name m --host 127.0.0.1 --port 8001 &
        /tmp/front/bin/litellm --config litellm.yaml --host 0.0.0.0 --port 8000 &
        wait -n
        """
    return case(
        f"front-litellm-beside-{name}",
        bash(deploy),
        expected,
        files={"litellm.yaml": routes},
        says=says,
    )


def litellm(name: str, expected: dict[str, str] | None = None, *, model_name: str = '"$MODEL_PATH"',
            model: str = "hosted_vllm/$MODEL_PATH", base: str = "http://127.0.0.1:8001/v1", more: str = "",
            permission: str = "true", says: str = "", fix: str = "") -> Case:  # fmt: skip
    lines = (
        "pip install 'litellm[proxy]'",
        f"export LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY={permission}",
        TWO.strip(),
        "cat > /tmp/front.yaml <<END",
        "model_list:",
        f"  - model_name: {model_name}",
        f'    litellm_params: {{model: "{model}", api_base: "{base}", api_key: none}}',
        more,
        "END",
        "exec litellm --config /tmp/front.yaml --port 8000",
    )
    return case(f"front-litellm-{name}", bash("\n".join(lines)), expected, says=says, fix=fix)


STREAM = """
events {}
stream {
    upstream models { server 127.0.0.1:8001; server 127.0.0.1:8002; }
    server { listen 8000; proxy_pass models; }
}
"""
SITE = "upstream models { server localhost:8001; } server { listen 8000; location / { proxy_pass http://models; } }"
RIGHT_CONFIGURATIONS = {
    "two-servers": conf(),
    "one-server": conf(upstream="server localhost:8001 max_fails=3;"),
    "without-upstream": conf(location="location / { proxy_pass http://127.0.0.1:8002; }"),
    "path-kept": conf(location="location /v1/ { proxy_pass http://models/v1/; }"),
    "exact-path": conf(location="location / { return 404; } location = /v1/chat/completions { proxy_pass http://models; }"),
    "pattern": conf(location="location / { root /tmp; } location ~ ^/v1/(chat|models) { proxy_pass http://models; }"),
    "stream": STREAM,
}  # fmt: skip
UNRESOLVED = {
    "host-of-compose": (conf(location="location / { proxy_pass http://backend:8000; }"), "host not found in upstream 'backend'"),
    "misspelt-upstream": (conf(location="location / { proxy_pass http://model; }"), "host not found in upstream 'model'"),
    "host-in-upstream": (conf(upstream="server vllm-server:8001;"), "host not found in upstream 'vllm-server'"),
}  # fmt: skip
"""Configurations with which nginx does not start."""
RIGHT_FRONTS: tuple[Case, ...] = (
    *(nginx(name, text) for name, text in RIGHT_CONFIGURATIONS.items()),
    nginx("into-the-background", conf(), deploy=f'{INSTALL}{TWO}nginx -c "$PWD/nginx.conf"\nwait'),
    nginx("background-first", conf(), deploy=f'{INSTALL}nginx -c "$PWD/nginx.conf"\n{TWO}wait'),
    nginx("background-by-configuration", f"daemon off;\n{conf()}", deploy=f'{INSTALL}{TWO}exec nginx -c "$PWD/nginx.conf"'),
    nginx("keys", conf(location='location / { proxy_pass http://models; proxy_set_header Authorization "Bearer x"; }'),
          deploy=INSTALL + TWO.replace(" &", " --api-key x &") + START),
    case("front-written", bash(f"{INSTALL}{TWO}cat > /etc/nginx/nginx.conf <<'END'\n{conf()}END\nnginx -t\nnginx -g 'daemon off;'")),
    case("front-in-conf.d", bash(f"{INSTALL}{TWO}echo '{SITE}' > /etc/nginx/conf.d/v.conf\nnginx -g 'daemon off;'")),
    case("front-beside-the-server", bash(f'{INSTALL}nginx -c "$PWD/nginx.conf"\nexec vllm serve "$MODEL_PATH" --port 8000'),
         files={"nginx.conf": conf(listen="9000", upstream="server 127.0.0.1:8000;")}),
    litellm("path"),
    litellm("variable", model_name="os.environ/MODEL_PATH"),
    litellm("any-name", model_name='"*"', model="openai/*"),
    litellm_beside("right", "os.environ/MODEL_PATH"),
    litellm("alias", model_name="m", more='router_settings: {model_group_alias: {"$MODEL_PATH": m}}'),
)  # fmt: skip
WRONG_FRONTS: tuple[Case, ...] = (
    *(nginx(name, text, FRONT, says=says, fix="write 127.0.0.1:8001") for name, (text, says) in UNRESOLVED.items()),
    nginx("other-port", conf(upstream="server 127.0.0.1:9001;"), FRONT, says="listens on 127.0.0.1:9001 [nginx.conf:3]"),
    nginx("other-machine", conf(upstream="server 10.0.0.5:8001;"), FRONT, says="listens on 10.0.0.5:8001"),
    nginx("one-of-three", conf(upstream="server 127.0.0.1:8001; server 127.0.0.1:8002; server 127.0.0.1:8003;"),
          {"plan/front": "warn"}, says="listens on 127.0.0.1:8003"),
    nginx("path-lost", conf(location="location /v1/ { proxy_pass http://models/; }"), FRONT, says="as /chat/completions"),
    nginx("no-route", conf(location="location /api/ { proxy_pass http://models; }"), FRONT, says="to no server"),
    nginx("tls", conf(listen="8000 ssl"), FRONT, says="listen 8000 ssl"),
    nginx("relative", conf(), FRONT, deploy=f"{INSTALL}{TWO}exec nginx -c nginx.conf -g 'daemon off;'",
          says="below the prefix", fix='nginx -c "$PWD/nginx.conf"'),
    nginx("port", conf(listen="80"), {"plan/port": "fail"}, says="port 80 (listen 80)"),
    nginx("variable", conf(location="set $to models; location / { proxy_pass http://$to; }"), OPEN, says="at each request"),
    nginx("rewrite", conf(location="rewrite ^/v1/(.*)$ /$1 break; location / { proxy_pass http://models; }"), OPEN,
          says="“rewrite”"),
    nginx("unread", "events {}\nhttp { include /opt/site.conf; }\n", {**OPEN, "plan/port": "warn"}, says="not recorded"),
    nginx("broken", conf()[:-3], {**OPEN, "plan/port": "warn"}, says="no } ends the block of"),
    nginx("hosts-file", conf(upstream="server models.local:8001;"), OPEN,
          deploy=f"{INSTALL}echo 127.0.0.1 models.local >> /etc/hosts\n{TWO}{START}"),
    nginx("key-behind", conf(), {"plan/no-api-key": "fail"}, deploy=INSTALL + TWO.replace("8002", "8002 --api-key x") + START),
    nginx("name-behind", conf(), {"plan/served-name": "fail"},
          deploy=INSTALL + TWO.replace("8002", "8002 --served-model-name x") + START),
    nginx("option-behind", conf(), {"plan/flags": "fail"}, deploy=INSTALL + TWO.replace("8002", "8002 --frobnicate") + START,
          says="--frobnicate"),
    nginx("weights-behind", conf(), {"plan/model-path": "fail"},
          deploy=INSTALL + TWO.replace('"$MODEL_PATH" --port 8002', "/opt/model --port 8002") + START),
    case("front-haproxy", bash(f"apt-get install -y haproxy\n{TWO}exec haproxy -f /tmp/h.cfg"), {**OPEN, "plan/port": "warn"},
         says="configuration of haproxy"),
    case("front-of-its-own", bash(f'{TWO}exec python3 "$(dirname "$0")/front.py"'), {"plan/chat-api": "unsettled"},
         files={"front.py": """
            import uvicorn
            from fastapi import FastAPI
            app = FastAPI()
            @app.api_route("/{path:path}", methods=["GET", "POST"])
            async def pass_on(path): ...
            uvicorn.run(app, host="0.0.0.0", port=8000)
            """}, says="which routes uvicorn offers"),
    case("front-own-program", bash("""
        cd "$(dirname "$0")"
        vllm serve "$MODEL_PATH" --host 127.0.0.1 --port 8001 &
        exec python3 front.py
        """), {"plan/chat-api": "unsettled", "plan/served-name": "warn"}, files={"front.py": """
            import requests, uvicorn
            from fastapi import FastAPI, Request
            app = FastAPI()

            @app.post("/v1/chat/completions")
            async def chat(request: Request):
                return requests.post("http://127.0.0.1:8001/v1/chat/completions", json=await request.json()).json()

            uvicorn.run(app, host="0.0.0.0", port=8000)
            """}, says="whether it passes on streams is unknown"),
    litellm_beside("name", "qwen", FRONT, says="'qwen'"),
    litellm("name", FRONT, model_name="qwen", says="'qwen'", fix="os.environ/MODEL_PATH"),
    litellm("no-v1", FRONT, base="http://127.0.0.1:8001", says="as /chat/completions", fix="api_base: http://127.0.0.1:8001/v1"),
    litellm("model", FRONT, model="openai/qwen", says="it requests 'qwen' at 127.0.0.1:8001"),
    litellm("host", FRONT, base="http://vllm:8001/v1", says="nothing defines the host 'vllm'"),
    litellm("port", FRONT, base="http://127.0.0.1:8010/v1", says="listens on 127.0.0.1:8010"),
    litellm("provider", OPEN, model="bedrock/qwen", says="another provider"),
    litellm("key", {"plan/no-api-key": "fail"}, more="general_settings: {master_key: sk-1}", says="master_key"),
    litellm("without-key", {"plan/front": "warn"}, permission="false", says="refuses to start"),
)  # fmt: skip
