"""The options of a probe: a TOML file, `--set`, flags; what they send, and what they refuse."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from healthcheck.cli import main
from healthcheck.extensions.simulator.server import Simulator
from healthcheck.stages.probe.options.reading import from_file, takes
from healthcheck.stages.probe.options.record import options
from tests.support.probes import behaviour, even

KEY = "correct-horse-battery-staple"
SMALL = ["--problems", "6", "--samples", "2"]
FILE = """\
system = "You are terse."
prompt = "Solve: {question} {instruction} Think in {braces}."
temperature = 0.3
top_p = 0.9
top_k = 20
stop = ["\\n\\n", "END"]
max_tokens = 300
request_seed = 7

[chat_template_kwargs]
enable_thinking = false

[extra_body]
min_p = 0.05

[headers]
X-Team = "npu"
"""


def probed(url: str, folder: Path, *words: str) -> int:
    return main(["probe", url, *SMALL, "--out", str(folder), "--quiet", *words])


def sent(server: Simulator) -> list[Mapping[str, object]]:
    return [
        request.body
        for request in server.requests
        if request.path.endswith("completions") and request.body
    ]


def written(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text, "utf-8")
    return str(folder / name)


@pytest.mark.process
def test_a_file_says_what_is_sent(tmp_path: Path) -> None:
    with Simulator(behaviour(accuracy=even(1.0))) as server:
        assert (
            probed(server.url, tmp_path / "run", "--config", written(tmp_path, "p.toml", FILE)) == 0
        )
        bodies, headers = sent(server), [request.headers for request in server.requests]
    assert len(bodies) == 12
    for body in bodies:
        system, user = body["messages"]
        assert system == {"content": "You are terse.", "role": "system"}
        assert user["content"].startswith("Solve: ")
        assert user["content"].endswith(" End with: The answer is N. Think in {braces}.")
        rest = {
            name: value for name, value in body.items() if name not in {"messages", "model", "seed"}
        }
        assert rest == {
            "stream": True, "stream_options": {"include_usage": True}, "ignore_eos": False,
            "num_return_sequences": 2, "temperature": 0.3, "max_tokens": 300, "top_p": 0.9, "top_k": 20,
            "stop": ["\n\n", "END"], "chat_template_kwargs": {"enable_thinking": False}, "min_p": 0.05,
        }  # fmt: skip
    assert sorted(body["seed"] for body in bodies) == [7] * 6 + [8] * 6
    assert all(each["x-team"] == "npu" for each in headers)


@pytest.mark.process
def test_what_is_nearer_to_the_user_counts_more(tmp_path: Path) -> None:
    path = written(tmp_path, "p.toml", FILE)
    words = [
        "--config", path, "--temperature", "0.6", "--set", "top_k=5", "--set", "top_p=0.5",
        "--set", "chat_template_kwargs.enable_thinking=true", "--set", "chat_template_kwargs.effort=low",
        "--set", 'stop=["a = b"]', "--set", r'prompt="Q:\n{question}"', "--set", "system=No = sign is special.",
    ]  # fmt: skip
    with Simulator(behaviour()) as server:
        probed(server.url, tmp_path / "run", *words)
        body = sent(server)[0]
    assert (body["temperature"], body["top_k"], body["top_p"]) == (0.6, 5, 0.5)
    assert body["chat_template_kwargs"] == {"enable_thinking": True, "effort": "low"}
    assert body["stop"] == ["a = b"]
    assert body["messages"][0]["content"] == "No = sign is special."
    assert body["messages"][1]["content"].startswith("Q:\n")
    assert body["min_p"] == 0.05


@pytest.mark.process
def test_without_options_the_request_is_the_evaluation_clients(tmp_path: Path) -> None:
    with Simulator(behaviour()) as server:
        probed(server.url, tmp_path / "run", "--config", written(tmp_path, "p.toml", ""))
        body = sent(server)[0]
    assert list(body) == [
        "stream", "messages", "stream_options", "ignore_eos", "num_return_sequences", "temperature", "max_tokens",
        "model",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('temperature = "hot"', [":1: temperature: expected a number from 0 to 2", '"hot"']),
        ("temperature = 3", ["temperature: expected a number from 0 to 2, not 3"]),
        ("temperature = -1", ["temperature: expected a number from 0 to 2, not -1"]),
        ("samples = 0", ["samples: expected a whole number, at least 1, not 0"]),
        ("concurrency = 0", ["concurrency: expected a whole number, at least 1, not 0"]),
        ("max_tokens = 0", ["max_tokens: expected a whole number, at least 1, not 0"]),
        ("problems = 0", ["problems: expected a whole number, at least 1, not 0"]),
        ("threshold = 1.5", ["threshold: expected a number from 0 to 1, not 1.5"]),
        ("temperature = nan", ["temperature: expected a number from 0 to 2"]),
        ("\n\ntop_k = 1.5", [":3: top_k: expected a whole number, at least -1, not 1.5"]),
        ("top_p = 0", ["top_p: expected a number above 0"]),
        ("problems = true", ["problems: expected a whole number"]),
        ("stop = []", ["stop: expected a text or a list of texts"]),
        ("logprobs = 1", ["logprobs: expected true or false, not 1"]),
        ("temprature = 1", [":1: temprature: there is no option 'temprature'; did you mean temperature?"]),
        ("top-k = 1", ["did you mean top_k"]),
        ("prompt = 'no place'", ["prompt: expected a text with {question} in it"]),
        ("chat_template_kwargs = 1", ["chat_template_kwargs: expected a table"]),
        ("[chat_template_kwargs]\nday = 2026-01-01", ["values that JSON and TOML both have"]),
        ("[extra_body]\nmessages = []", ["extra_body", "messages", "prompt or system"]),
        ("[extra_body]\nn = 4", ["use the option samples"]),
        ("[headers]\nHost = 'a'", ["headers that the HTTP client does not set itself, and Host"]),
        ("[headers]\n'a b' = 'c'", ["names of headers"]),
        ('[headers]\nA = "b\\r\\nC: d"', ["without line ends, and A"]),
        (f"[headers]\nAuthorization = 'Bearer {KEY}'", ["Authorization looks like a secret", "headers_env"]),
        ("[headers]\nX-Tenant-Token = 'tttttttt'", ["X-Tenant-Token looks like a secret"]),
        (f"api_key = '{KEY}'", [":1: api_key is refused: a key does not belong into a file or a command line"]),
        (f"api_key_env = '{KEY}'", ["api_key_env names an environment variable that is not set"]),
        ("api_key_env = 'NOT_SET_ANYWHERE'", ["NOT_SET_ANYWHERE", "not set"]),
        ("gate = [0.05, 0.30, 0.01]", ["gate: expected three numbers"]),
        ("attempts = 0", ["attempts: expected a whole number from 1 to 100"]),
        ("temperature = 1 2", ["is not TOML", "line 1"]),
        ("a = " + "[" * 3000, ["is not TOML"]),
    ],
)  # fmt: skip
def test_a_wrong_file_is_refused_by_key_and_value(
    line: str, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, "probe.toml", line)
    assert (
        main(["probe", "http://127.0.0.1:9", "--config", path, "--out", str(tmp_path / "run")]) == 2
    )
    told = capsys.readouterr().err
    for word in ("probe.toml" if "api_key_env =" not in line else "api_key_env", *words):
        assert word in told
    assert "Traceback" not in told
    assert KEY not in told
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("temperature", "has no '='"),
        ("=1", "has no '='"),
        ("temperature=hot", '--set temperature: expected a number from 0 to 2, not "hot"'),
        ("tempratur=1", "did you mean temperature?"),
        ("temperature.x=1", "without names in it"),
        ("headers.=1", "without names in it"),
        ("chat_template_kwargs=thinking", "--set chat_template_kwargs: expected a table"),
        ('extra_body={"a": null}', "values that JSON and TOML both have"),
        ("extra_body.seed=1", "use the option request_seed"),
        ("system=", "--set system: expected a text"),
        ("extra_body.x=\udcff", "--set extra_body.x: expected values that JSON and TOML both have"),
        ('datasets=[{"file": "a", "problems": 0}]', "maybe problems (a whole number, at least 1)"),
        (
            f"headers.Authorization=Bearer {KEY}",
            "is refused: Authorization looks like a secret, and the run folder",
        ),
        (
            f"extra_body.api_key={KEY}",
            "is refused: 'api_key' looks like a secret, and the run folder keeps further",
        ),
        ('datasets=[{"file": "a", "problem": 3}]', "did you mean problems?\n"),
    ],
)
def test_a_wrong_setting_is_refused(
    setting: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(["probe", "http://127.0.0.1:9", "--set", setting, "--out", str(tmp_path / "run")]) == 2
    )
    told = capsys.readouterr().err
    assert words in told
    assert KEY not in told


def test_a_margin_and_a_gate_exclude_each_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--reference", "0.9", "--margin", "5", "--set", "gate=0.3,0.05,0.01"]
    assert probed("http://127.0.0.1:9", tmp_path / "run", *words) == 2
    assert "margin and gate both say" in capsys.readouterr().err


@pytest.mark.process
def test_a_long_system_prompt_leaves_fewer_tokens_for_the_answer(tmp_path: Path) -> None:
    with Simulator(behaviour(accuracy=even(1.0), context_tokens=8192)) as server:
        assert probed(server.url, tmp_path / "run", "--set", f"system={'word ' * 5000}") == 0
        assert 0 < sent(server)[-1]["max_tokens"] < 8192 - 5000


def test_one_option_is_not_given_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert probed("http://127.0.0.1:9", tmp_path / "run", "--set", "samples=3") == 2
    assert "--samples and --set samples are the same option" in capsys.readouterr().err


@pytest.mark.process
def test_a_run_goes_on_with_its_own_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    with Simulator(behaviour()) as server:
        assert probed(server.url, folder, "--set", "top_k=20", "--set", "system=Be brief.") == 0
        journal = folder / "logs" / "samples.jsonl"
        journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:5]))
        before = len(sent(server))
        assert main(["probe", server.url, "--resume", str(folder), "--quiet"]) == 0
        again = sent(server)[before:]
        assert [(body["top_k"], body["messages"][0]["content"]) for body in again] == [
            (20, "Be brief.")
        ] * 7
        capsys.readouterr()
        words = ["--set", "top_k=5", "--set", "top_p=0.5"]
        assert main(["probe", server.url, "--resume", str(folder), *words]) == 2
        assert "top_p (not sent, now 0.5); top_k (20, now 5) changed" in capsys.readouterr().err
        words = [
            *SMALL,
            "--reference",
            str(folder),
            "--set",
            "top_k=5",
            "--out",
            str(tmp_path / "other"),
        ]
        assert main(["probe", server.url, *words]) == 2
        assert "top_k was 20 and is 5" in capsys.readouterr().err


@pytest.mark.process
def test_a_run_can_be_repeated_from_its_folder(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    with Simulator(behaviour()) as server:
        probed(
            server.url, first, "--set", "top_k=20", "--set", "extra_body.min_p=0.1", "--seed", "3"
        )
        words = ["--config", str(first / "configs" / "probe.toml"), "--out", str(second), "--quiet"]
        main(["probe", server.url, *words])
        bodies = sent(server)
    assert sorted(map(json.dumps, bodies[:12])) == sorted(map(json.dumps, bodies[12:]))
    assert from_file(first / "configs" / "probe.toml") == from_file(
        second / "configs" / "probe.toml"
    )


@pytest.mark.process
def test_the_report_says_what_was_sent_and_what_the_server_is(tmp_path: Path) -> None:
    weights = tmp_path / "weights"
    weights.mkdir()
    written(
        weights,
        "generation_config.json",
        '{"top_k": 20, "top_p": 0.9, "temperature": 0.6, "eos_token_id": 2}',
    )
    with a_server_that_repeats_what_it_hears(root=str(weights)) as url:
        probed(url, tmp_path / "run", "--set", "top_p=0.5", "--set", "attempts=1")
    report = json.loads((tmp_path / "run" / "report.json").read_text())["provenance"]["probe"]
    assert report["request"] == {"top_p": 0.5}
    assert report["server"]["version"] == "0.99.1"
    assert report["server"]["models"] == {"m": {"root": str(weights), "max_model_len": 9000}}
    assert report["server"]["generation_config"] == {"top_k": 20}


@pytest.mark.process
def test_a_server_need_not_tell_its_version(tmp_path: Path) -> None:
    with a_server_that_repeats_what_it_hears(tells_version=False) as url:
        probed(url, tmp_path / "run", "--set", "connect_timeout_s=0.5", "--set", "attempts=1")
    server = json.loads((tmp_path / "run" / "report.json").read_text())["provenance"]["probe"][
        "server"
    ]
    assert (server["model"], server["version"]) == ("m", "")


@contextmanager
def a_server_that_repeats_what_it_hears(
    root: str = "", *, tells_version: bool = True
) -> Iterator[str]:
    """An endpoint that puts the key which it was sent into everything that it says."""

    ended = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        calls = 0

        def do_GET(self) -> None:
            said = {
                "object": "list",
                "data": [{"id": "m", "max_model_len": 9000, "root": root or self._heard()}],
            }
            version = {"version": "0.99.1"}
            if self.path == "/version" and not tells_version:
                ended.wait()
            self._send(200, json.dumps(version if self.path == "/version" else said).encode())

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            Handler.calls += 1
            if Handler.calls % 3 == 0:
                self._send(401, f"wrong key {self._heard()} {'x' * 440}{self._heard()}".encode())
                return
            chunk = {
                "id": "c", "object": "chat.completion.chunk", "model": "m",
                "choices": [{"index": 0, "delta": {"role": "assistant", "content": f"I heard {self._heard()}.",
                             "reasoning_content": self._heard()}, "finish_reason": "stop"}],
            }  # fmt: skip
            self._send(
                200, f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode(), "text/event-stream"
            )

        def _heard(self) -> str:
            return f"{self.headers['authorization']} {str(self.headers['x-gateway']).removeprefix('Token ')}"

        def _send(self, status: int, body: bytes, kind: str = "application/json") -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("x-heard", self._heard())
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def version_string(self) -> str:
            return f"server {self._heard()}"

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            ended.set()
            server.shutdown()
            thread.join()


@pytest.mark.process
def test_a_key_stays_in_its_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In no outlet, though the server repeats it everywhere; the names of the variables say nothing of a secret."""
    other = "another-horse-and-cart"
    monkeypatch.setenv("ENTRANCE", KEY)
    monkeypatch.setenv("GATE", f"Token {other}")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", written(tmp_path, "steps.md", ""))
    config = written(
        tmp_path,
        "p.toml",
        'api_key_env = "ENTRANCE"\nattempts = 1\n[headers_env]\nX-Gateway = "GATE"\n',
    )
    words = [
        "--config",
        config,
        "--json",
        str(tmp_path / "r.json"),
        "--junit",
        str(tmp_path / "j.xml"),
        "--verbose",
    ]
    with a_server_that_repeats_what_it_hears() as url:
        main(["probe", url, *SMALL, "--out", str(tmp_path / "run"), *words])
    told = capsys.readouterr()
    files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert b"I heard Bearer removed removed." in files[tmp_path / "run" / "logs" / "samples.jsonl"]
    assert b"wrong key Bearer removed removed" in files[tmp_path / "run" / "logs" / "samples.jsonl"]
    for secret in (KEY, other):
        assert secret[:8] not in told.out + told.err
        assert not [path for path, data in files.items() if secret[:8].encode() in data]


@pytest.mark.process
def test_a_server_that_wants_a_key_gets_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SERVICE_KEY", KEY)
    with Simulator(behaviour(faults=("api-key",))) as server:
        assert probed(server.url, tmp_path / "without") == 3
        assert "api_key_env" in "".join(capsys.readouterr())
        assert probed(server.url, tmp_path / "with", "--set", "api_key_env=SERVICE_KEY") == 0
        assert server.requests[-1].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.process
def test_a_run_does_not_go_on_with_another_engine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head = tmp_path / "run" / "configs" / "probe.json"
    with a_server_that_repeats_what_it_hears("/data/m") as url:
        main(["probe", url, *SMALL, "--out", str(tmp_path / "run")])
        for before, told in (
            ("0.99.1", "'0.98.0', now '0.99.1'"),
            ("/data/m", "'/data/other', now '/data/m'"),
        ):
            kept = head.read_text()
            head.write_text(kept.replace(before, told.split("'")[1]))
            assert main(["probe", url, "--resume", str(tmp_path / "run")]) == 2
            assert told in capsys.readouterr().err
            head.write_text(kept)


@pytest.mark.process
def test_verify_takes_what_the_service_could_have(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = written(tmp_path, "p.toml", FILE)
    assert main(["verify", "--url", "http://127.0.0.1:9", "--probe-config", refused]) == 2
    assert (
        "the evaluation client sends no system, stop, chat_template_kwargs"
        in capsys.readouterr().err
    )
    taken = written(tmp_path, "q.toml", "top_p = 0.9\nproblems = 6\nsamples = 2\nconcurrency = 4\n")
    with Simulator(behaviour(accuracy=even(1.0))) as server:
        words = [
            "--url",
            server.url,
            "--probe-config",
            taken,
            "--out",
            str(tmp_path / "out"),
            "--quiet",
        ]
        main(["verify", *words])
        bodies = [body for body in sent(server) if "top_p" in body]
    assert [body["top_p"] for body in bodies] == [0.9] * 12


def test_every_option_says_what_it_is() -> None:
    for option in options():
        assert option.help
        assert takes()[option.name].words
        assert option.default
