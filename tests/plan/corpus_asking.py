"""deploy.sh repositories that start a server and then ask it something."""

from __future__ import annotations

from tests.plan.corpus import Case, bash, case, sh

SERVE = 'vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000'
READY = f"{SERVE} &\nuntil curl -sf -o /dev/null http://127.0.0.1:8000/health; do sleep 5; done\n"
CHAT = "http://127.0.0.1:8000/v1/chat/completions"
NAMED = (
    '{"model": "warm-up", "messages": [{"role": "user", "content": "see http://example.org/x"}]}'
)
OWN = '"{\\"model\\": \\"$MODEL_PATH\\", \\"messages\\": []}"'
ENDS = {"plan/foreground": "fail", "plan/readiness-poll": "warn"}
WARNED = {"plan/readiness-poll": "warn"}


def python(body: str) -> dict[str, str]:
    return {"warm.py": body}


WRONG_ASKING: tuple[Case, ...] = (
    case("asks-another-model", bash(f"set -e\n{READY}curl -sf -d '{NAMED}' -H 'Content-Type: application/json' {CHAT}\nwait"), ENDS,
         says="'warm-up', and the server returns status 404 [deploy.sh:5]", fix="correct the request for the model 'warm-up'"),
    case("asks-another-model-of-a-file", sh(f"{READY}curl --fail -s {CHAT} --data-binary @ask.json || exit 1\nwait"), ENDS,
         files={"ask.json": NAMED}),
    case("asks-another-model-by-its-input", sh(f"{READY}echo '{NAMED}' | curl -sS -f --json @- {CHAT} || exit 1\nwait"), ENDS),
    case("asks-another-model-by-wget", sh(f"set -e\n{READY}wget -q -O - --post-data='{NAMED}' {CHAT}\nwait"), ENDS),
    case("asks-for-the-status", bash(f"""
        {READY}
        code=$(curl -s -o /dev/null -w '%{{http_code}}' -X POST {CHAT} -d '{NAMED}')
        [ "$code" = 200 ] || exit 1
        wait
        """), ENDS),
    case("asks-another-model-in-python", sh(f"{READY}python3 warm.py || exit 1\nwait"), ENDS, files=python(f"""
        import requests
        requests.post("{CHAT}", json={{"model": "warm-up", "messages": []}}, timeout=9).raise_for_status()
        """)),
    case("asks-another-model-by-urllib", sh(f"{READY}python3 warm.py || exit 1\nwait"), ENDS, files=python(f"""
        import urllib.request
        asked = urllib.request.Request("{CHAT}", data=b'{{"model": "warm-up"}}', headers={{"Content-Type": "application/json"}})
        urllib.request.urlopen(asked, timeout=9)
        """)),
    case("asks-another-model-and-goes-on", sh(f"{READY}curl -s {CHAT} -d '{NAMED}'\nwait"), WARNED),
    case("asks-another-port", bash(f"""
        {SERVE} &
        for i in $(seq 900); do curl -sf localhost:8080/health && break; sleep 2; done
        wait
        """), {"plan/readiness-poll": "warn"}, says="it polls port 8080, where nothing listens [deploy.sh:3]", fix="poll port 8000"),
    case("asks-another-port-in-python", sh(f"{SERVE} &\npython3 warm.py\nwait"), {"plan/readiness-poll": "warn"}, files=python("""
        import time, urllib.request
        for _ in range(900):
            try:
                urllib.request.urlopen("http://127.0.0.1:8001/health", timeout=9)
                break
            except OSError:
                time.sleep(2)
        """), says="port 8001"),
    case("asks-another-port-and-ends", sh(f"""
        {SERVE} &
        for i in 1 2 3 4 5 6; do curl -sf localhost:9000/health && exec sleep infinity; sleep 300; done
        exit 1
        """), {"plan/readiness-poll": "warn", "plan/foreground": "fail"}, fix="correct the request for port 9000"),
)  # fmt: skip
RIGHT_ASKING: tuple[Case, ...] = (
    case("asks-a-second-name-of-an-abbreviated-option", bash(f"set -e\n{READY}curl -sf {CHAT} -d '{NAMED}'\nwait".replace(
        " &\n", ' --served-model-n "$MODEL_PATH" warm-up &\n', 1))),
    case("asks-its-model", bash(f"set -e\n{READY}curl -sf -d {OWN} -H 'Content-Type: application/json' {CHAT}\nwait")),
    case("asks-a-second-name", bash(f"set -e\n{READY}curl -sf {CHAT} -d '{NAMED}'\nwait".replace(
        " &\n", ' --served-model-name "$MODEL_PATH" warm-up &\n', 1))),
    case("asks-for-no-model", sh(f"set -e\n{READY}curl -sf {CHAT} -d '{{\"messages\": []}}'\nwait")),
    case("asks-an-adapter", sh(f"set -e\n{READY}curl -sf {CHAT} -d '{NAMED}'\nwait".replace(
        " &\n", ' --enable-lora --lora-modules warm-up="$MODEL_PATH" &\n', 1)), {"plan/served-name": "warn"}),
    case("asks-its-model-in-python", sh(f"{READY}python3 warm.py || exit 1\nwait"), files=python(f"""
        import os, requests
        answer = requests.post("{CHAT}", json={{"model": os.environ["MODEL_PATH"], "messages": []}}, timeout=9)
        assert answer.ok and answer.json()["choices"]
        """)),
    case("looks-whether-a-port-is-free", sh(f"for p in 8000 9000; do nc -z localhost $p && exit 1; done\n{READY}nc -z localhost 9000\nwait")),
    case("asks-past-a-proxy", bash(f"""
        set -e
        {SERVE} &
        for i in $(seq 900); do curl --noproxy localhost,127.0.0.1 -sf http://localhost:8000/health && break; sleep 2; done
        curl --noproxy 127.0.0.1 -A localhost -sf http://localhost:8000/health || exit 1
        nc -z localhost 8000 -w 2
        wait
        """)),
    case("asks-many-ports-first", bash(f"""
        tail -F /tmp/x.log 2>/dev/null &
        for p in $(seq 8000 8020); do curl -s localhost:$p >/dev/null && echo used $p; done
        exec {SERVE}
        """)),
    case("asks-both-servers", bash(f"""
        vllm serve "$MODEL_PATH" --gpu-memory-utilization 0.4 --port 8011 &
        {SERVE} --gpu-memory-utilization 0.4 &
        for p in 8011 8000; do until curl -sf localhost:$p/health; do sleep 5; done; done
        wait
        """)),
)  # fmt: skip
