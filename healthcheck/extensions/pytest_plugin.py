"""`pytest --npu-adapter .`: one item a check, and fixtures for tests that talk to the launched adapter.

Thin, and for comfort: it runs inside a pytest that the submission's own conftest.py can change. The verdict of
record is that of `npu-adapter verify`, which runs from outside. Unused, it imports nothing of the kit.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from healthcheck.core.extensions import Extra
    from healthcheck.core.records import CheckResult
    from healthcheck.stages.service.facts import Service
    from healthcheck.stages.service.records import Launch

STATIC = ("repo", "plan", "weights")
RESULTS: pytest.StashKey[dict[str, CheckResult]] = pytest.StashKey()
EXTRA: pytest.StashKey[Extra] = pytest.StashKey()


class CheckFailed(Exception):  # noqa: N818 - it is shown as a failure
    """The check failed; the text is the report's."""


class CheckBroke(Exception):  # noqa: N818 - it is shown as an error
    """The kit itself failed in this check."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("npu-adapter")
    group.addoption(
        "--npu-adapter",
        metavar="DIR",
        help="add one item for each check of this adapter repository",
    )
    group.addoption(
        "--npu-adapter-weights", metavar="DIR", help="the weights; they become MODEL_PATH"
    )
    group.addoption("--npu-adapter-strict", action="store_true", help="warnings count as failures")
    group.addoption(
        "--npu-adapter-until",
        choices=STATIC,
        metavar="STAGE",
        help="the last stage: repo, plan or weights (default: weights if they are given, else plan)",
    )


def pytest_report_header(config: pytest.Config) -> str | None:
    """Whose rules judge, if the repository names another service than the public page's."""
    if not config.getoption("--npu-adapter"):
        return None
    from healthcheck.stages.repo.settings import read_settings  # noqa: PLC0415

    settings = read_settings(_folder(config, "--npu-adapter") or Path())
    return f"npu-adapter: for the service of {settings.service}" if settings.service else None


def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    if config.getoption("--npu-adapter"):
        from healthcheck.core.extensions import extra_checks, own_checks  # noqa: PLC0415
        from healthcheck.verify import catalogue  # noqa: PLC0415

        for option in ("--npu-adapter", "--npu-adapter-weights"):
            _folder(config, option)
        stages = STATIC[: STATIC.index(_until(config)) + 1]
        optional = {check.id for check in own_checks()}
        config.stash[EXTRA] = extra = extra_checks(_folder(config, "--npu-adapter"))
        names = [
            page.id
            for page in catalogue.pages(extra)
            if page.stage.name in stages and page.id not in optional
        ]
        items += [
            CheckItem.from_parent(session, name=name, nodeid=f"npu-adapter::{name}")
            for name in names
        ]


class CheckItem(pytest.Item):
    """One check as a pytest item: an error is the kit's own, a check without an answer is a skip."""

    def setup(self) -> None:
        if self.config.stash.get(RESULTS, None) is None:
            self.config.stash[RESULTS] = _verified(self.config)
        result = self._result()
        if result.outcome.value == "error":
            raise CheckBroke(_shown(result.because))

    def runtest(self) -> None:
        result = self._result()
        if result.outcome.value == "fail":
            raise CheckFailed(_text(result))
        if result.outcome.value == "skip" or not result.settled:
            pytest.skip(_text(result))
        if result.findings:
            self.add_report_section("call", "npu-adapter", _text(result))

    def repr_failure(  # type: ignore[override]
        self, excinfo: pytest.ExceptionInfo[BaseException], style: None = None
    ) -> str:
        del style  # it is for tracebacks
        return str(excinfo.value)

    def reportinfo(self) -> tuple[Path, None, str]:
        return Path(str(self.config.getoption("--npu-adapter"))), None, f"npu-adapter {self.name}"

    def _result(self) -> CheckResult:
        found = self.config.stash[RESULTS].get(self.name)
        if found is None:
            pytest.skip("it was not reached")
        return found


@pytest.fixture(scope="session")
def adapter_server(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    """The adapter, launched once a session by its deploy.sh from a clean export, as `verify` launches it.

    If something outside the adapter prevents the launch (a taken port, no vllm), its tests are skipped.
    """
    from healthcheck.core.progress import Silent  # noqa: PLC0415
    from healthcheck.errors import KitError  # noqa: PLC0415
    from healthcheck.stages.repo.export import export  # noqa: PLC0415
    from healthcheck.stages.repo.facts import read_submission  # noqa: PLC0415
    from healthcheck.stages.service.facts import Service  # noqa: PLC0415

    weights = _folder(pytestconfig, "--npu-adapter-weights")
    if weights is None:
        pytest.skip("--npu-adapter-weights=DIR names the weights to launch with")
    # pytest's own rootdir may be the folder above both the tests and the weights.
    root = _folder(pytestconfig, "--npu-adapter") or pytestconfig.invocation_params.dir
    log = tmp_path_factory.mktemp("npu-adapter") / "deploy.log"
    try:
        submission = read_submission(root)
    except KitError as error:
        pytest.fail(_shown(str(error)), pytrace=False)
    with (
        _judging_for_its_service(root),
        export(submission) as copy,
        Service(copy, weights, log=log, progress=Silent()) as service,
    ):
        _need_ready(service.launch)
        yield service


@pytest.fixture(scope="session")
def chat(adapter_server: Service) -> Callable[..., str]:
    """`chat(prompt, *, max_tokens=64, temperature=0.0)`: the text of its streamed completion."""
    from healthcheck.wire.chat import request_body, user  # noqa: PLC0415
    from healthcheck.wire.client import Client  # noqa: PLC0415

    client = Client(adapter_server.url)

    def ask(prompt: str, *, max_tokens: int = 64, temperature: float = 0.0) -> str:
        body = request_body(
            [user(prompt)],
            model=adapter_server.launch.model,
            max_tokens=max_tokens,
            temperature=temperature,
        )
        exchange = client.chat(body)
        if exchange.completion is None or exchange.error:
            said = (
                exchange.error
                or f"HTTP {exchange.status} {exchange.reason}: {exchange.body[:300]!r}"
            )
            pytest.fail(f"no whole completion: {_shown(said)}", pytrace=False)
        return exchange.completion.text

    return ask


def _judging_for_its_service(root: Path) -> AbstractContextManager[None]:
    """By the profile that the repository names, as `npu-adapter verify` judges it."""
    from healthcheck import contract  # noqa: PLC0415
    from healthcheck.stages.repo.settings import read_settings  # noqa: PLC0415
    from healthcheck.verify import service  # noqa: PLC0415

    return contract.judging_for(service.of_repository(root, read_settings(root)))


def _need_ready(launch: Launch) -> None:
    """Fail, or skip if it is not a fault of the adapter, with the message of service/starts."""
    from healthcheck.core.records import Level  # noqa: PLC0415
    from healthcheck.report import words  # noqa: PLC0415
    from healthcheck.stages.service.failures import explain  # noqa: PLC0415
    from healthcheck.stages.service.records import LaunchOutcome  # noqa: PLC0415

    if launch.outcome is LaunchOutcome.READY:
        return
    finding = explain(launch)
    text = _shown(
        f"{finding.seen}\n  expected: {finding.expected}\n  fix: {words.repair(finding)}\n  output: {launch.log}"
    )
    if finding.level is Level.UNSETTLED:
        pytest.skip(text)
    pytest.fail(text, pytrace=False)


def _shown(text: str) -> str:
    """The text without secrets, and on GitHub without commands: pytest's output ends up in the logs of a CI."""
    from healthcheck.cli.outlets import without_commands  # noqa: PLC0415
    from healthcheck.text.redact import redactor  # noqa: PLC0415

    text = redactor(os.environ)(text)
    return without_commands(text) if os.environ.get("GITHUB_ACTIONS") == "true" else text


def _folder(config: pytest.Config, option: str) -> Path | None:
    """The folder that an option names; None if it is not given."""
    given = config.getoption(option)
    if not given:
        return None
    folder = Path(str(given)).expanduser().absolute()
    if not folder.is_dir():
        raise pytest.UsageError(f"{option}={given}: no such folder")
    return folder


def _until(config: pytest.Config) -> str:
    given = config.getoption("--npu-adapter-until")
    return str(given or ("weights" if config.getoption("--npu-adapter-weights") else "plan"))


def _verified(config: pytest.Config) -> dict[str, CheckResult]:
    """The results of the checks by their ids; without weights, an empty folder takes their place."""
    from tempfile import TemporaryDirectory  # noqa: PLC0415

    from healthcheck.core.progress import Silent  # noqa: PLC0415
    from healthcheck.core.records import strict  # noqa: PLC0415
    from healthcheck.core.stages import stage_named  # noqa: PLC0415
    from healthcheck.stages.repo.settings import read_settings  # noqa: PLC0415
    from healthcheck.verify import service  # noqa: PLC0415
    from healthcheck.verify.run import STAND_IN, Request  # noqa: PLC0415
    from healthcheck.verify.verification import Verification  # noqa: PLC0415

    root = _folder(config, "--npu-adapter") or Path()
    settings = read_settings(root)
    with TemporaryDirectory() as folder, _judging_for_its_service(root):
        weights, instead = _folder(config, "--npu-adapter-weights"), Path(folder, STAND_IN)
        instead.mkdir()
        known = service.completed(settings)
        request = Request(
            root=root,
            task=settings.task,
            stack=known.stack,
            npu=known.npu,
            npus=known.npus,
            waived={check: f"{settings.file}: {reason}" for check, reason in settings.skip.items()},
            extra=config.stash[EXTRA],
            settings=settings.file,
            weights=weights or instead,
            stands_in=weights is None,
            out=Path(folder, "report"),
            until=stage_named(_until(config)),
        )
        report = Verification(request, Silent()).run()
        if settings.strict or config.getoption("--npu-adapter-strict"):
            report = strict(report)
        return {result.id: result for result in report.results}


def _text(result: CheckResult) -> str:
    from healthcheck.report import words  # noqa: PLC0415

    fix = words.fix(result)
    parts = (result.title, words.detail(result), f"fix: {fix}" if fix else "")
    return _shown("\n".join(part for part in parts if part))
