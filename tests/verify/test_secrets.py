"""A launch that fails while it says secrets: none of them is in anything that the kit writes or prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.verify.test_interruption import slow_engine

pytestmark = pytest.mark.process

PLANTED = {
    "a token by its shape": "hf_AbCdEfGhIjKlMnOpQrStUvWxYzabcdefgh",
    "an option": "letmein-4711",
    "an address": "hunter2hunter2",
    "a header": "c2VjcmV0OnNlY3JldA==",
    "a variable of the log": "wJalrXUtnFEMI",
    "a variable of --env, said without its name": "correct horse battery",
}
SAYS = (
    "echo 'INFO: downloading with hf_AbCdEfGhIjKlMnOpQrStUvWxYzabcdefgh'; "
    "echo 'non-default args: --api-key letmein-4711 --port 8000'; "
    "echo 'Error: pip cannot reach http://user:hunter2hunter2@127.0.0.1:9/simple'; "
    "echo 'Error: refused, authorization: Basic c2VjcmV0OnNlY3JldA=='; "
    "echo 'Error: UPLOAD_TOKEN=wJalrXUtnFEMI is invalid'; "
    'echo "Error: cannot connect as $DB_PASSWORD"; exit 1'
)


def test_no_secret_of_the_log_or_of_the_command_is_passed_on(
    adapter, weights, tmp_path: Path, port, verify
) -> None:
    path = slow_engine(tmp_path, SAYS)
    junit = tmp_path / "junit.xml"
    asked = (adapter, "--weights", weights, "--until", "service", "--env", path, "--junit", junit)
    done = verify(
        *asked, "--env", f"DB_PASSWORD={PLANTED['a variable of --env, said without its name']}"
    )
    starts = done.check("service/starts")
    assert starts["outcome"] == "fail"
    assert "cannot connect as removed" in str(starts)
    assert "UPLOAD_TOKEN=removed is invalid" in str(starts)
    shown = {"terminal": done.output, "junit": junit.read_text("utf-8")}
    shown |= {
        file.name: file.read_text("utf-8")
        for file in (tmp_path / "out").iterdir()
        if file.is_file()
    }
    assert {"report.json", "report.html", "summary.md"} <= shown.keys()
    for what, secret in PLANTED.items():
        assert [name for name, text in shown.items() if secret in text] == [], what
    log = (tmp_path / "out" / "logs" / "deploy.log").read_text("utf-8")
    assert all(secret in log for secret in PLANTED.values()), (
        "the author's own log is left as it is"
    )
