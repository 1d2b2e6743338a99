"""Every command of the documents: parsed by the program that it names, and run where it can be run here."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from healthcheck import contract
from healthcheck.cli import main
from healthcheck.core.extensions import extra_checks
from healthcheck.extensions.simulator import Behaviour, Simulator
from healthcheck.extensions.simulator.bank import known
from healthcheck.stages.probe.aisbench.client_results import client_results
from healthcheck.verify import catalogue
from tests.docs.blocks import ROOT, blocks, commands, documents
from tests.support.aisbench_files import ClientReport, Prediction, files_of
from tests.support.commands import whole_parser
from tests.support.extensions import installed

pytestmark = pytest.mark.process

CHINESE = [ROOT / "README.zh-CN.md", *(ROOT / "docs/zh").glob("*.md")]
RUN = [
    path for path in documents() if path not in CHINESE
]  # they have the commands of the English ones
DOCUMENTS = pytest.mark.parametrize("document", RUN, ids=lambda path: str(path.relative_to(ROOT)))
AISBENCH = ROOT / ".venv-aisbench"
NOT_HERE = {
    r"make (demo|test|lint|bench)\b": "the tests would start themselves, or a download of gigabytes",
    r"python3 -m pip install": "needs a package registry",
    r"npu-adapter (licence|explain own/)": "tests/extensions runs them with the example of an extension",
    r"python3 -m venv |\. ": "an environment of one's own; tests/ci makes some",
    r"npu-adapter verify \S+ --weights \S+ --out": "launches a server on port 8000; tests/engine does",
    r"npu-adapter verify .*--service ": "launches a server; tests/verify/test_service.py judges by profiles",
    r"npu-adapter simulate": "serves until a signal comes; tests/simulator does",
    r"npu-adapter fleet ": "tests/extensions/fleet runs them, on this machine and on a cluster",
    r"npu-adapter features ": "tests/extensions/features has servers for it, with and without faults",
    r"npu-adapter numerics ": "takes a server with log-probabilities of token ids; tests/extensions/numerics has one",
    r"ais_bench ": "in an environment of its own; tests/extensions/service_report/test_peer.py runs it",
    r"make messages|([A-Z_]+=\S+ )?\.venv/bin/": "run by test_adding_a_check, or only looked for",
}
ON_A_SERVER = re.compile(r"npu-adapter (probe|compare|verify --url)")
VERDICTS = {"runner": {0, 1}, "compare": {0, 1, 3}, "margin": {0, 3}, "diagnose": {0, 3}}


def parsed(command: str) -> argparse.Namespace:
    words = [word for word in shlex.split(command) if not re.match(r"[A-Z_]+=", word)]
    profile = (
        contract.Service(file=words[words.index("--service") + 1])
        if "--service" in words
        else contract.PUBLIC
    )
    with contract.judging_for(profile):
        return whole_parser().parse_args(words[1:])


@pytest.fixture(scope="module")
def extension(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    place = str(installed(tmp_path_factory.mktemp("site")))
    sys.path.insert(0, place)
    yield
    sys.path.remove(place)


@pytest.mark.usefixtures("extension")
@pytest.mark.parametrize("document", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_each_command_exists(document: Path) -> None:
    for command in commands(document):
        words = [word for word in shlex.split(command) if not re.match(r"[A-Z_]+=", word)]
        program = words[0]
        if program == "npu-adapter":
            options = parsed(command)
            for check in [getattr(options, "id", None), *getattr(options, "skip", ())]:
                assert check is None or catalogue.page(check, extra_checks())
        elif program == "make":
            targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
            assert words[1] in targets, command
        elif program.startswith(".venv/bin/"):
            assert shutil.which(Path(program).name, path=str(Path(sys.executable).parent)), command
        elif words[:3] == ["python3", "-m", "adapter"]:
            done = subprocess.run(
                [sys.executable, "-m", "adapter", "--help"],
                cwd=ROOT,
                capture_output=True,
                text=True,
                check=False,
            )
            assert all(word in done.stdout for word in words if word.startswith("--")), command
        else:
            assert program in {"cd", ".", "python3", "ais_bench"}, (
                f"{command}: say here how it is tried"
            )


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    bank = known(seed=0, count=200)
    behaviour = Behaviour(
        answers={question: answer for question, (answer, _) in bank.items()},
        labels={question: tier for question, (_, tier) in bank.items()},
    )
    with Simulator(behaviour) as simulator:
        yield simulator.url


@pytest.fixture(scope="module")
def furniture(server: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the documents take for granted: an adapter, weights, a report, a log, a run."""
    folder = tmp_path_factory.mktemp("documents")
    weights = ROOT / "examples" / "simulated_engine" / "weights"
    for name in ("Qwen3-8B", "Qwen2.5-VL-7B", "Qwen3-8B-W8A8"):
        shutil.copytree(weights, folder / "data" / name)
    shutil.copytree(weights, folder / weights.relative_to(ROOT))
    (folder / "data/Qwen3-8B-W8A8/quant_model_description.json").write_text(
        json.dumps({"model_quant_type": "W8A8"})
    )
    assert main(["new", str(folder / "my-adapter"), "--defaults"]) == 0
    assert main(["probe", server, "--problems", "20", "--out", str(folder / "run"), "--quiet"]) == 0
    with zipfile.ZipFile(folder / "report.zip", "w") as archive:
        for name, data in report_of_the_client().items():
            archive.writestr(name, data)
    (folder / "room.toml").write_text("weight-limit-gb = 120\n")
    if AISBENCH.exists():
        (folder / "aisbench").symlink_to(AISBENCH)
    (folder / "deploy.log").write_text(
        "INFO starting\r\nModuleNotFoundError: No module named 'torch_npu'\r\n"
    )
    return folder


def report_of_the_client() -> dict[str, bytes]:
    """The files of a report over 20 problems with 5 samples, of which the second is wrong."""
    told = [
        [f"The answer is {99 if sample == 1 else problem}" for sample in range(5)]
        for problem in range(20)
    ]
    predictions = tuple(
        Prediction(
            id=problem, uuid=f"{problem:016x}{sample:016x}", origin_prompt=f"Question: {problem}",
            gold=f"so it is\n#### {problem}", prediction=text,
        )
        for problem, texts in enumerate(told)
        for sample, text in enumerate(texts)
    )  # fmt: skip
    report = ClientReport(
        stamp="20260326_151326", pid=7, dataset="gsm8k", version="50861a", predictions=predictions, config={},
        results=client_results([[1, 0, 1, 1, 1]] * 20),
    )  # fmt: skip
    return files_of(report)


def runs_here(command: str, *, on_a_server: bool) -> bool:
    """Whether a command is for these tests, and for the one with a server or the one without."""
    elsewhere = any(re.match(pattern, command) for pattern in NOT_HERE)
    elsewhere = elsewhere or ("--client aisbench" in command and not AISBENCH.exists())
    return not elsewhere and bool(ON_A_SERVER.match(command)) == on_a_server


def run_blocks(document: Path, folder: Path, server: str, *, on_a_server: bool) -> int:
    """Run the commands of a document, each block from the folder; how many ran."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {"PATH": path, "HOME": str(folder), "LANG": "C.UTF-8"}
    ran = 0
    for block in (block for block in blocks(document) if block.language == "sh"):
        place = folder
        for command in block.commands():
            words = shlex.split(command)
            if words[0] == "cd":
                place = folder / words[1]
            elif runs_here(command, on_a_server=on_a_server):
                _try(command.replace("/data/", f"{folder}/data/").replace("http://127.0.0.1:8000", server),
                     place, environment)  # fmt: skip
                ran += 1
    return ran


def _try(command: str, place: Path, environment: dict[str, str]) -> None:
    if " new my-adapter" in command:
        shutil.rmtree(place / "my-adapter")
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=place,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    name = command.split()[1]
    verify_of_others = name == "verify" and (
        "VL" in command or "W8A8" in command or "--url" in command
    )
    allowed = (
        {0, 1}
        if verify_of_others
        else VERDICTS.get("margin" if "--margin" in command else name, {0})
    )
    assert done.returncode in allowed, f"{command}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    assert "Traceback" not in done.stderr, command


@pytest.mark.slow
@DOCUMENTS
def test_what_needs_no_server_runs(
    document: Path, furniture: Path, server: str, tmp_path: Path
) -> None:
    folder = shutil.copytree(furniture, tmp_path / "here", symlinks=True)
    run_blocks(document, folder, server, on_a_server=False)


@pytest.mark.slow
@DOCUMENTS
def test_what_needs_a_server_runs(
    document: Path, furniture: Path, server: str, tmp_path: Path
) -> None:
    folder = shutil.copytree(furniture, tmp_path / "here", symlinks=True)
    if document == ROOT / "README.md":
        shutil.copytree(folder / "run", folder / "gpu-run")
        assert (
            main(["probe", server, "--problems", "120", "--out", str(folder / "gpu"), "--quiet"])
            == 0
        )
        shutil.rmtree(folder / "gpu-run")
        (folder / "gpu").rename(folder / "gpu-run")
    ran = run_blocks(document, folder, server, on_a_server=True)
    assert ran == sum(runs_here(command, on_a_server=True) for command in commands(document))
