"""Lone surrogates, which JSON may hold and UTF-8 may not: reported wherever they occur, and no report breaks."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

from tests.support.repositories import GOOD_SCRIPT, repository

pytestmark = pytest.mark.process

WEIGHTS = Path(__file__).parents[2] / "examples/simulated_engine/weights"
EACH = "{% for m in messages %}{{ m.content }}%s{% endfor %}"
TEMPLATES = {
    "in the text": (EACH.replace("%s", "\ud800"), 1),
    "an escape of the template": (EACH.replace("%s", r"{{ '\udfff' }}"), 1),
    "in an error": ("{{ raise_exception('a\udfffb') }}", 1),
    "in a name": ("{{ messages['\udc00'].x }}", 1),
    "in a comment": (EACH.replace("%s", "{# \ud83d #}"), 0),
    "a whole character": (EACH.replace("%s", "\U0001f600"), 0),
}


def verified(weights: Path, place: Path) -> tuple[int, dict[str, dict[str, object]]]:
    """The exit status and the checks, with every output enabled."""
    root = repository(place / "r", {"deploy.sh": GOOD_SCRIPT})
    (place / "steps.md").touch()
    outlets = (
        "--json",
        str(place / "a.json"),
        "--junit",
        str(place / "j.xml"),
        "--out",
        str(place / "out"),
    )
    done = subprocess.run(
        (sys.executable, "-I", "-m", "healthcheck", "verify", str(root), "--weights", str(weights), "--until", "weights", *outlets),
        env={**os.environ, "GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(place / "steps.md")},
        cwd="/", capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    assert (place / "out/report.html").is_file()
    return done.returncode, {
        check["id"]: check for check in json.loads((place / "a.json").read_text())["checks"]
    }


@pytest.mark.parametrize(
    "where",
    [
        "in the text",
        "in an error",
        *(
            pytest.param(each, marks=pytest.mark.slow)
            for each in [*TEMPLATES][1:]
            if each != "in an error"
        ),
    ],
)
def test_a_chat_template_with_half_a_character(where: str, tmp_path: Path) -> None:
    template, status = TEMPLATES[where]
    weights = Path(shutil.copytree(WEIGHTS, tmp_path / "w"))
    tokenizer = json.loads((weights / "tokenizer_config.json").read_text())
    (weights / "tokenizer_config.json").write_text(
        json.dumps({**tokenizer, "chat_template": template})
    )
    found, checks = verified(weights, tmp_path)
    assert found == status
    assert checks["weights/tokenizer"]["outcome"] == ("fail" if status else "pass")


def test_names_in_the_weights_with_half_a_character(tmp_path: Path) -> None:
    weights = Path(shutil.copytree(WEIGHTS, tmp_path / "w"))
    config = json.loads((weights / "config.json").read_text())
    config |= {
        "architectures": ["A\ud800"],
        "model_type": "\udfff",
        "dtype": "\ud83d",
        "hidden_size": "\ud800",
    }
    (weights / "config.json").write_text(json.dumps(config))
    (weights / "model.safetensors.index.json").write_text(
        json.dumps({"weight_map": {"\ud800": "a\udfff.safetensors"}})
    )
    found, checks = verified(weights, tmp_path)
    assert found == 1
    assert "hidden_size" in str(checks["weights/config"]["detail"])
    assert not [check for check in checks.values() if check["outcome"] == "error"]


def test_what_a_server_says_with_half_a_character(tmp_path: Path) -> None:
    """Its model's name, an error and an answer, all as JSON."""
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    models = json.dumps({"object": "list", "data": [{"id": "m\ud800", "object": "model"}]})
    answers = [
        json.dumps({"error": {"message": "a\udfffb"}}),
        json.dumps({"id": "1", "object": "chat.completion", "model": "m\ud800", "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "42 \ud83d"}}]}),
    ]  # fmt: skip

    class Halves(BaseHTTPRequestHandler):
        count = 0

        def do_GET(self) -> None:
            self.answer(models, 200)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            Halves.count += 1
            self.answer(answers[Halves.count % 2], 400 if Halves.count % 2 == 0 else 200)

        def answer(self, text: str, status: int) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Halves)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        for number, command in enumerate((("verify", "--url"), ("probe",))):
            done = subprocess.run(
                (sys.executable, "-I", "-m", "healthcheck", *command, f"http://127.0.0.1:{server.server_port}", "--problems", "3",
                 "--out", str(tmp_path / f"out{number}")),
                cwd="/", capture_output=True, text=True, timeout=200, check=False,
            )  # fmt: skip
            assert done.returncode in {1, 3}, done.stderr
            assert "Traceback" not in done.stderr
            checks = json.loads((tmp_path / f"out{number}/report.json").read_text())["checks"]
            assert not [check for check in checks if check["outcome"] == "error"]
    finally:
        server.shutdown()
        server.server_close()
