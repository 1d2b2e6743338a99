"""deploy.sh repositories that wait until their server is ready, for long enough or not."""

from __future__ import annotations

from tests.plan.corpus import bash, case, sh

SERVE = 'vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000'
HEALTH = "http://127.0.0.1:8000/health"
IMPATIENT = {"plan/readiness-poll": "warn"}
LOOP = """
{serve} > vllm.log 2>&1 &
pid=$!
for i in $(seq 1 {count}); do
    if {test}; then ready=1; break; fi
    sleep {pause}
done
if [ -z "${{ready:-}}" ]; then echo "not ready" >&2; kill $pid; exit 1; fi
wait $pid
"""
POLL = f"""
import os, subprocess, sys, time, urllib.request
server = subprocess.Popen(["vllm", "serve", os.environ["MODEL_PATH"], "--port", "8000"])
for _ in range(COUNT):
    try:
        urllib.request.urlopen("{HEALTH}", timeout=2)
        break
    except OSError:
        time.sleep(5)
else:
    server.terminate()
    sys.exit("the server did not start")
server.wait()
"""
CURL = f"curl -sf -o /dev/null {HEALTH}"

CLOCK = """
{serve} &
pid=$!
begin={now}
until {test}; do
    [ $(({now} - begin)) -lt {limit} ] || {{ echo "too late"; kill $pid; exit 1; }}
    sleep 4
done
wait $pid
"""
PYTHON_CLOCK = POLL.replace(
    "for _ in range(COUNT):",
    "deadline = time.monotonic() + COUNT\nwhile time.monotonic() < deadline:",
)
PYTHON_ASYNC = """
import asyncio, os, sys, urllib.request
async def main():
    server = await asyncio.create_subprocess_exec("vllm", "serve", os.environ["MODEL_PATH"], "--port", "8000")
    for _ in range(30):
        try:
            urllib.request.urlopen("http://127.0.0.1:8000/health")
            return await server.wait()
        except OSError:
            await asyncio.sleep(4)
    server.kill()
    return 1
sys.exit(asyncio.run(main()))
"""


def clock(now: str, limit: int) -> str:
    return bash(CLOCK.format(serve=SERVE, now=now, limit=limit, test=CURL))


def loop(count: int, pause: str, test: str = CURL) -> str:
    return bash(LOOP.format(serve=SERVE, count=count, pause=pause, test=test))


RIGHT_WAITING = (
    case("waits-for-long", loop(360, "5")),
    case("waits-in-minutes", loop(30, "1m")),
    case("waits-for-ever", sh(f"{SERVE} &\nuntil {CURL}; do sleep 5; done\necho ready\nwait")),
    case("waits-while-it-lives", bash(
        f"{SERVE} &\npid=$!\nwhile ! {CURL}; do kill -0 $pid || exit 1; sleep 3; done\nwait $pid")),
    case("waits-and-goes-on", bash(LOOP.format(serve=SERVE, count=3, pause=1, test=CURL).replace("kill $pid; exit 1", ":"))),
    case("waits-beside", sh(f"(sleep 30; {CURL} && echo ready) &\nexec {SERVE}")),
    case("waits-for-its-model", bash(f"""
        {SERVE} &
        until curl -s localhost:8000/v1/models | grep -qF "\\"$MODEL_PATH\\""; do sleep 5; done
        curl -s localhost:8000/v1/models | python3 -c 'import json, os, sys; [m] = json.load(sys.stdin)["data"]; assert m["id"] == os.environ["MODEL_PATH"]' || exit 1
        wait
        """)),
    case("waits-for-a-name", bash(f"""
        {SERVE} --served-model-name "$MODEL_PATH" chat --max-num-seqs 4 &
        sleep 1
        curl -s localhost:8000/v1/models | grep '"chat"' | grep -v '"4"' || tail -f /dev/null
        wait
        """)),
    case("waits-for-a-line", bash(f"""
        {SERVE} > vllm.log 2>&1 &
        pid=$!
        timeout 45m tail -f vllm.log | grep -q "startup complete" || exit 1
        wait $pid
        """)),
    case("waits-and-does-without", bash(f"{SERVE} > v.log &\npid=$!\ntimeout 30 tail -f v.log\necho on\nwait $pid")),
    case("waits-with-a-limit", bash(f"{SERVE} &\ntimeout 1800 bash -c 'until {CURL}; do sleep 5; done' || exit 1\nwait")),
    case("waits-by-curl", sh(f"{SERVE} &\ncurl -s --retry 400 --retry-delay 5 --retry-connrefused {HEALTH} || exit 1\nwait")),
    case("waits-by-the-clock", clock("$(date +%s)", 1800)),
    case("waits-by-seconds", clock("$SECONDS", 1800)),
    case("waits-by-pythons-clock", sh("exec python3 run.py"), files={"run.py": PYTHON_CLOCK.replace("COUNT", "3600")}),
    case("waits-in-python", sh("exec python3 run.py"), files={"run.py": POLL.replace("COUNT", "720")}),
)  # fmt: skip

WRONG_WAITING = (
    case("sleeps-then-asks", sh(f"{SERVE} &\nsleep 60\ncurl -f {HEALTH} || exit 1\nwait"), IMPATIENT,
         says="after waiting 60 s if the server is not ready by then: “curl -f"),
    case("asks-at-once", sh(f"set -e\n{SERVE} &\nsleep 0\n{CURL}\nwait"), IMPATIENT, says="it ends at once"),
    case("gives-up", loop(30, "2"), IMPATIENT, says="after waiting 60 s", fix="at least 600 s"),
    case("gives-up-on-the-log", loop(60, "5", 'grep -q "startup complete" vllm.log'), IMPATIENT, says="after waiting 300 s"),
    case("gives-up-by-nc", loop(10, "0.5m", "nc -z localhost 8000"), IMPATIENT, says="after waiting 300 s"),
    case("gives-up-by-code", loop(20, "3", f'[ "$(curl -s -o /dev/null -w "%{{http_code}}" {HEALTH})" = 200 ]'), IMPATIENT,
         says="after waiting 60 s"),
    case("gives-up-by-limit", bash(f"{SERVE} &\ntimeout 5m bash -c 'until {CURL}; do sleep 2; done' || exit 1\nwait"),
         IMPATIENT, says="bash -c"),
    case("gives-up-on-a-line", bash(f"""
        : > vllm.log
        {SERVE} > vllm.log 2>&1 &
        timeout 300 tail -f vllm.log | grep -m1 "startup complete" || {{ kill $!; exit 1; }}
        wait
        """), IMPATIENT, says="after waiting 300 s"),
    case("gives-up-by-curl", sh(f"{SERVE} &\ncurl -s --retry 10 --retry-delay 5 --retry-connrefused {HEALTH} || exit 1\nwait"),
         IMPATIENT, says="after waiting 50 s"),
    case("gives-up-by-the-clock", clock("$(date +%s)", 240), IMPATIENT, says="[ $(($(date +%s) - begin)) -lt 240 ]"),
    case("gives-up-by-seconds", clock("$SECONDS", 240), IMPATIENT, says="if the server is not ready by then: “[ $(("),
    case("gives-up-by-pythons-clock", sh("exec python3 run.py"), IMPATIENT, says="run.py",
         files={"run.py": PYTHON_CLOCK.replace("COUNT", "240")}),
    case("gives-up-between-tasks", sh("exec python3 run.py"), IMPATIENT, says="after waiting 120 s",
         files={"run.py": PYTHON_ASYNC}),
    case("gives-up-by-wget", sh(f"{SERVE} &\nwget --retry-connrefused --tries=30 --waitretry=1 -qO- {HEALTH} || exit 1\nwait"),
         IMPATIENT, says="after waiting 29 s if the server is not ready by then: “wget"),
    case("gives-up-in-python", sh("exec python3 run.py"), IMPATIENT, files={"run.py": POLL.replace("COUNT", "24")},
         says="after waiting 120 s"),
)  # fmt: skip
