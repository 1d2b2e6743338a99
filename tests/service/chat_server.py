"""A chat server of the standard library for the launch tests: chat_server.py PORT [MODE] [ADDRESS].

MODE: answers | hangs | mute (accepts, and reads nothing) | slow (silent and busy for a while, then answers) |
refuses (HTTP 400) | once (answers the first chat, then HTTP 400 with a password in it) | breaks (HTTP 500) |
plain (no stream) | dies (at the first chat) | stubborn (ignores SIGTERM) |
loading (HTTP 503 for a second, then answers) | thoughts (nothing but reasoning, after an empty first delta) |
gateway (HTTP 500 until the file `loaded` is there) | registry (the same with HTTP 400, and no model listed till then)
"""

import json
import os
import signal
import socket
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT = int(sys.argv[1])
MODE = sys.argv[2] if len(sys.argv) > 2 else "answers"
ADDRESS = sys.argv[3] if len(sys.argv) > 3 else "0.0.0.0"
BEGAN = time.monotonic()
ANSWERED = []


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *words):
        pass

    def say(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        if MODE == "registry" and not os.path.exists("loaded"):
            self.say(200, {"object": "list", "data": []})
            return
        self.say(200, {"object": "list", "data": [{"id": os.environ.get("MODEL_PATH", "m")}]})

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        if MODE == "hangs":
            time.sleep(600)
        elif MODE == "refuses":
            self.say(400, {"error": {"message": "you must provide a chat template"}})
        elif MODE == "breaks":
            self.say(500, {"error": {"message": "something broke"}})
        elif MODE == "once" and ANSWERED:
            self.say(400, {"error": {"message": "not with password=hunter2345"}})
        elif MODE == "plain":
            self.say(200, {"choices": [{"message": {"content": "hello"}}]})
        elif MODE == "dies":
            sys.stderr.write("RuntimeError: the first request was too much\n")
            os._exit(7)
        elif MODE in {"gateway", "registry"} and not os.path.exists("loaded"):
            self.say(
                500 if MODE == "gateway" else 400, {"error": {"message": "no worker is there"}}
            )
        elif MODE == "loading" and time.monotonic() - BEGAN < 1:
            self.say(503, {"error": "loading"})
        else:
            self.stream()

    def stream(self):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        kind = "reasoning_content" if MODE == "thoughts" else "content"
        self.event(
            {
                "choices": [
                    {
                        "index": 0,
                        "delta": {"role": "assistant", "content": ""},
                        "finish_reason": None,
                    }
                ]
            }
        )
        for text in ("hel", "lo"):
            self.event({"choices": [{"index": 0, "delta": {kind: text}, "finish_reason": None}]})
        finish = "length" if MODE == "thoughts" else "stop"
        self.event({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
        self.wfile.write(b"data: [DONE]\n\n")
        ANSWERED.append(self.client_address)

    def event(self, body):
        self.wfile.write(b"data: " + json.dumps(body).encode() + b"\n\n")


def accept_and_say_nothing(seconds):
    """A listener that nobody serves, as that of a server whose workers still load."""
    listener = socket.create_server((ADDRESS, PORT))
    if MODE == "mute":
        time.sleep(600)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(10_000))
    listener.close()


class Server(ThreadingHTTPServer):
    address_family = socket.AF_INET6 if ":" in ADDRESS else socket.AF_INET
    daemon_threads = True


if MODE == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if MODE in {"mute", "slow"}:
    accept_and_say_nothing(float(sys.argv[4]) if len(sys.argv) > 4 else 4)
Server((ADDRESS, PORT), Handler).serve_forever()
