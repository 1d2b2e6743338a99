"""A launch that fails while it says secrets: none of them is in anything that the kit writes or prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from healthcheck.cli import output
from healthcheck.core.check import Findings, check, fail
from healthcheck.core.ledger import Ledger
from healthcheck.core.progress import Silent
from healthcheck.core.records import Edit, Report
from healthcheck.core.stages import Stage
from healthcheck.text.redact import HIDDEN, redacted, redactor
from healthcheck.verify.run import Request, Run
from healthcheck.verify.working_copy import with_remarks
from tests.support.commands import ran
from tests.support.repositories import git, repository
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


SECRET = "correct-horse-battery"
SCRIPT = f"#!/bin/sh\n. ./{SECRET}.sh\n"
SERVES = (
    f'exec vllm serve "$MODEL_PATH" --served-model-name {SECRET} --enable-reasoning --port 8000\n'
)


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> list[Report]:
    """The reports that reach publish."""
    reports: list[Report] = []
    publish = output.publish

    def keep(options, report, *more):
        reports.append(report)
        return publish(options, report, *more)

    monkeypatch.setattr(output, "publish", keep)
    return reports


@pytest.mark.parametrize("option", [(), ("--staged",), ("--fix",)])
@pytest.mark.parametrize("is_of_option", [True, False])
def test_nothing_is_left_to_redact_in_a_published_report(
    tmp_path: Path, published: list[Report], option: tuple[str, ...], is_of_option: bool
) -> None:
    files = {"deploy.sh": SCRIPT, f"{SECRET}.sh": SERVES}
    root = repository(tmp_path / f"r-{SECRET}", files)
    (root / f"{SECRET}.sh").write_text(SERVES.replace("--enable-reasoning ", ""))
    if option == ("--fix",):
        git(root, "checkout", ".")
    weights = tmp_path / f"w-{SECRET}"
    weights.mkdir()
    (weights / "config.json").write_text("{}")
    given = ("--env", f"A_PASSWORD={SECRET}") if is_of_option else ()
    variables = {} if is_of_option else {"A_PASSWORD": SECRET}
    asked = ("--weights", str(weights), "--until", "weights", *given, *option)
    done = ran("verify", str(root), *asked, **variables)
    redact = redactor({"A_PASSWORD": SECRET})
    assert SECRET not in done.stdout + done.stderr
    (report,) = published
    assert redacted(report, redact) == report
    assert "cd removed" not in done.stdout


def test_a_folder_with_a_secret_in_its_path_is_hidden(tmp_path: Path) -> None:
    root, weights = tmp_path / SECRET, tmp_path / f"w-{SECRET}"
    asked = Request(root=root, weights=weights, out=tmp_path, environment={"A_PASSWORD": SECRET})
    run = Run(asked, Silent())
    assert (run.folder(), run.weights_folder()) == (HIDDEN, HIDDEN)


def test_the_remark_about_a_working_copy_hides_the_name_of_its_file(tmp_path: Path) -> None:
    name = f"{SECRET}.sh"
    (tmp_path / name).write_text("new\n")
    edit = Edit(file=name, line=1, old="old", new="new")
    redact = redactor({"A_PASSWORD": SECRET})

    @check("a/b", "a", stage=Stage.REPO, why="b")
    def wrong(_: object) -> Findings:
        """A page."""
        yield fail(expected="a", seen="b", fix="write new", command="sed a", edits=(edit,))

    ledger = Ledger(Silent(), redact=redact)
    ledger.judge([wrong], lambda: None)
    report = with_remarks(ledger.report("repo", {}, {}), ledger, tmp_path, [name], redact)
    remark = report.results[0].findings[0].fix
    assert SECRET not in remark
    assert remark.endswith("; if this finding remains, write new")
