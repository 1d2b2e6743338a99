"""Another service judges by its own figures, names those alone, and accepts its own repairs."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from healthcheck import contract
from healthcheck.cli import COMMANDS, main, parser_for
from healthcheck.contract import PUBLIC, Service
from healthcheck.sandbox.job import Record, RecordKind
from healthcheck.stages.plan.dry_run.answering import served
from healthcheck.stages.probe.records import ProbeSettings
from healthcheck.stages.service.catalogue import catalogue as failures
from healthcheck.stages.service.checks.starts import starts
from healthcheck.stages.service.failures import explain
from healthcheck.stages.service.records import Launch, LaunchOutcome
from healthcheck.stages.service.watch import Patience
from healthcheck.text.language import Language, translation
from healthcheck.verify import catalogue
from healthcheck.verify.service import from_file
from tests.support.catalogues import translations
from tests.support.daily import every
from tests.support.repositories import git, repository
from tests.support.rooms import ROOM
from tests.weights.folders import judge, model, plan, said
from tests.weights.peculiar import sparse

ROOT = Path(__file__).parents[2]
WEIGHTS = ROOT / "examples" / "simulated_engine" / "weights"
OLD_FIGURES = re.compile(
    r"(?<!\d)8000(?!\d)|(?<!\d)100\s?G|100,000,000,000|107,374|/v1/chat/completions"
    r"|(?i:(?<![\w.])(?:five|5) (?:times|samples)\b)|[五5]\s?(?:次|个样本)|@5|0\.23\.0(?!\.)"
)
OTHER_FIGURES = {
    "vLLM 8000": "the page of plan/port has the default of each engine",
    "{port} 8000": "a repair whose text is made with the port",
    "五次运行": "four of five runs are a power of 80 %",
    "五次中": "the same",
}
"""What happens to be the same figure, and why it is there."""
SEEN = re.compile(r'--port(?:</span>)? 8000|port(?:"|&#34;): 8000|^ +"8000",$')
"""The reference adapter's own port, in its command and in the evidence."""
FIGURES_OF_THE_CONTRACT = [
    *(
        "ENTRY_POINT",
        "PORT",
        "CHAT_PATH",
        "LAUNCH",
        "MAX_WEIGHT_GB",
        "MAX_WEIGHT",
        "MAX_WEIGHT_BYTES",
        "MAX_WEIGHT_GIB_BYTES",
    ),
    *("SAMPLES_PER_PROBLEM", "TASKS", "UNKNOWN"),
]
OTHERS = ('exec xinference-local --port 9001 "$MODEL_PATH"', "exec python3 -m http.server 9000")


@pytest.fixture
def in_the_room(room: Path) -> Iterator[Service]:
    service = from_file(room)
    with contract.judging_for(service):
        yield service


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    folder = tmp_path / "weights"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "qwen3"}')
    return folder


def verified(folder: Path, weights: Path, *options: str | Path) -> dict:
    file = folder.parent / "report.json"
    main(
        ["verify", str(folder), "--weights", str(weights), "--json", str(file), *map(str, options)]
    )
    return json.loads(file.read_bytes())


def with_script(folder: Path, line: str) -> Path:
    return repository(folder, {"deploy.sh": f"#!/bin/sh\n{line}\n", "requirements.txt": ""})


def outcome(report: dict, id: str) -> dict:
    return next(check for check in report["checks"] if check["id"] == id)


def repeated(text: str) -> list[str]:
    """The lines with a figure of the public page, but for what happens to be the same."""
    for words in OTHER_FIGURES:
        text = text.replace(words, "")
    return [
        line for line in text.splitlines() if OLD_FIGURES.search(line.replace(contract.PAGE, ""))
    ]


def pages() -> str:
    every_page = [
        catalogue.text(page, translation(language).look_up)
        for language in Language
        for page in catalogue.pages()
    ]
    return "\n".join(every_page)


def repairs() -> str:
    return "\n".join(failure.fix for failure in failures().failures)


def helps() -> str:
    (commands,) = parser_for(COMMANDS, {})._subparsers._group_actions
    return "\n".join(
        str(action.help) for parser in commands.choices.values() for action in parser._actions
    )


@pytest.mark.parametrize(
    ("text", "new"),
    [
        (pages, {"9000", "120 GB", "128,849,018,880", "120,000,000,000", "pass@7", "/v1/talk"}),
        (repairs, {"9000"}),
        (helps, {"9000", "default: 120"}),
    ],
)
def test_no_page_no_repair_of_a_failure_and_no_option_names_a_figure_of_the_public_page(
    text, new: set[str], in_the_room: Service
) -> None:
    assert {figure for figure in new if figure not in text()} == set()
    assert [line for line in repeated(text()) if "0.23.0" not in line] == []


@pytest.mark.parametrize("language", set(Language) - {Language.ENGLISH})
def test_no_message_has_a_figure_of_the_contract_in_its_words(language: Language) -> None:
    texts = [text for pair in translations(language) for text in pair]
    assert len(texts) > 5000
    assert [line for line in repeated("\n".join(texts)) if "0.23.0" not in line] == []


def test_figures_are_read_where_they_are_used_and_never_while_a_module_is_imported() -> None:
    """One that is read at import would be the public page's, whoever judges."""

    def found(node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.ImportFrom) and node.module == "healthcheck.contract":
            yield from (each.name for each in node.names)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "contract":
            yield node.attr
        inner = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            body = node.body if isinstance(node.body, list) else [node.body]
            inner = [each for each in inner if each not in body]
        for each in inner:
            yield from found(each)

    early = {
        str(path): names
        for path in (ROOT / "healthcheck").rglob("*.py")
        if (names := set(found(ast.parse(path.read_text("utf-8")))) & set(FIGURES_OF_THE_CONTRACT))
    }
    assert early == {}
    assert all(
        hasattr(contract, name) and name not in vars(contract) for name in FIGURES_OF_THE_CONTRACT
    )


def test_weights_are_judged_by_the_limit_of_the_service(
    tmp_path: Path, in_the_room: Service
) -> None:
    def judged(gigabytes: int) -> tuple[str, str]:
        result = judge(
            sparse(tmp_path / f"{gigabytes}", gigabytes * 10**9), only="weights/size-limit"
        )
        return result["weights/size-limit"].outcome.value, said(result, "weights/size-limit")

    assert judged(110)[0] == "pass"
    outcome_, too_large = judged(121)
    assert (outcome_, too_large[:52]) == (
        "fail",
        "at most 120,000,000,000 bytes (120.00 GB) | 121,000,",
    )
    assert "below 120 GiB (128,849,018,880 bytes)" in too_large
    assert repeated(too_large) == []


def findings(report: dict) -> list[dict]:
    """The findings, none of which expects or proposes an old figure, under titles and rules that do not name it."""
    found = [finding for check in report["checks"] for finding in check["evidence"]]
    words = [f"{check['title']} {check['why']} {check['rule']}" for check in report["checks"]]
    words += [f"{finding['expected']} {finding['fix']}" for finding in found]
    assert repeated("\n".join(words)) == []
    return found


@pytest.mark.process
@pytest.mark.parametrize("line", every(2, OTHERS))
def test_no_finding_about_a_bad_script_names_an_old_figure_by_itself(
    line: str, room: Path, weights: Path, tmp_path: Path
) -> None:
    assert findings(
        verified(
            with_script(tmp_path / "repo", line), weights, "--until", "plan", "--service", room
        )
    )


@pytest.mark.process
def test_the_launch_line_that_it_proposes_is_accepted(
    room: Path, weights: Path, tmp_path: Path
) -> None:
    folder, options = (
        with_script(tmp_path / "repo", "echo ready"),
        ("--until", "plan", "--service", room),
    )
    fixes = [
        finding["fix"].partition("with: ")[2]
        for finding in findings(verified(folder, weights, *options))
    ]
    (line,) = {fix for fix in fixes if fix.startswith("exec")}
    assert "--port 9000" in line
    (folder / "deploy.sh").write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
    git(folder, "commit", "-q", "-a", "-m", "repaired")
    assert verified(folder, weights, *options)["verdict"] == "ready"
    assert verified(folder, weights, "--until", "plan")["verdict"] == "not-ready"


@pytest.mark.process
def test_the_repair_that_it_makes_is_accepted(room: Path, weights: Path, tmp_path: Path) -> None:
    folder = with_script(
        tmp_path / "repo", 'exec vllm serve "$MODEL_PATH" --port 8000 --host 0.0.0.0'
    )
    options = ("--until", "plan", "--service", room)
    findings(verified(folder, weights, "--fix", *options))
    assert "--port 9000" in (folder / "deploy.sh").read_text(encoding="utf-8")
    git(folder, "commit", "-q", "-a", "-m", "repaired")
    assert verified(folder, weights, *options)["verdict"] == "ready"


@pytest.mark.process
@pytest.mark.smoke
def test_the_reference_adapter_is_judged_for_the_room(
    room: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its deploy.sh has port 8000: every other figure, in the terminal, the page and the report, is the room's."""
    out = tmp_path / "out"
    report = verified(
        ROOT, WEIGHTS, "--until", "weights", "--service", room, "--out", out, "--verbose"
    )
    port, fits = outcome(report, "plan/port"), outcome(report, "plan/fits-hardware")
    assert (report["verdict"], port["outcome"], fits["outcome"]) == ("not-ready", "fail", "pass")
    assert "9000" in port["title"]
    assert "9000" in port["rule"]
    assert "handbook (the figure, not the wording), documented, read 2026-11-20" in port["rule"]
    assert "910B4" in fits["detail"]
    assert "for the service “Machine room 3” of" in report["headline"]
    assert report["provenance"]["service"]["name"] == "Machine room 3"
    assert "the number and kind of NPUs" not in report["unknown_about_the_service"]
    texts = (
        capsys.readouterr().out,
        (out / "report.html").read_text("utf-8"),
        (out / "report.json").read_text("utf-8"),
    )
    for text in texts:
        assert "9000" in text
        assert [line for line in repeated(text) if not SEEN.search(line)] == []


@pytest.mark.process
def test_a_repository_that_makes_its_own_rules_says_so(tmp_path: Path, weights: Path) -> None:
    settings = '[npu-adapter]\nservice = "room.toml"\n'
    line = 'exec vllm serve "$MODEL_PATH" --port 9000'
    folder = repository(
        tmp_path / "repo",
        {"deploy.sh": f"#!/bin/sh\n{line}\n", "adapter.toml": settings, "room.toml": ROOM},
    )
    own = verified(folder, weights, "--until", "plan")
    assert own["verdict"] == "ready"
    assert own["headline"].endswith("; for the service “Machine room 3” of room.toml")
    assert own["provenance"]["service"]["file"] == "room.toml"
    assert len(own["provenance"]["service"]["sha256"]) == 64
    page = verified(folder, weights, "--until", "plan", "--no-settings")
    assert (page["verdict"], "service" in page["provenance"]) == ("not-ready", False)
    other = tmp_path / "other.toml"
    other.write_text("port = 9001", encoding="utf-8")
    assert (
        verified(folder, weights, "--until", "plan", "--service", other)["verdict"] == "not-ready"
    )
    assert contract.service() is PUBLIC


FETCHES = 'git clone https://example.org/tools\nexec vllm serve "$MODEL_PATH" --host 0.0.0.0'
ARRAY = 'options=(--host 0.0.0.0)\nexec vllm serve "$MODEL_PATH" "${options[@]}"'
SHORT = 'exec vllm serve "$MODEL_PATH" --host 0.0.0.0 --max-model-len 2048'
KNOWN_RULES = [
    ("plan/no-downloads", FETCHES, "network = false", "warn", "The machine has no network."),
    ("plan/no-downloads", FETCHES, "network = true", "warn", None),
    ("repo/deploy-sh-syntax", ARRAY, 'shell = "sh"', "warn", "deploy.sh is run by sh."),
    ("repo/deploy-sh-syntax", ARRAY, 'shell = "bash"', "warn", None),
    (
        "plan/chat-api",
        SHORT,
        "max-tokens = 4096",
        "pass",
        "Each request asks for up to 4096 tokens.",
    ),
]


@pytest.mark.process
@pytest.mark.parametrize("case", every(2, KNOWN_RULES), ids=lambda case: f"{case[0]}: {case[2]}")
def test_what_is_known_is_a_rule_and_what_is_not_stays_a_warning(
    case: tuple[str, str, str, str, str | None], tmp_path: Path, weights: Path
) -> None:
    check, script, known, unknown, rule = case
    folder = repository(tmp_path / "repo", {"deploy.sh": f"#!/bin/bash\n{script}\n"})
    room = tmp_path / "room.toml"
    room.write_text(f"[known]\n{known}\n", encoding="utf-8")
    assert outcome(verified(folder, weights, "--until", "plan"), check)["outcome"] == unknown
    judged = outcome(verified(folder, weights, "--until", "plan", "--service", room), check)
    assert judged["outcome"] == ("fail" if rule else "pass")
    if rule:
        assert judged["rule"] == f"“{rule}” — {room} (the figure, not the wording), documented"


def test_a_server_whose_port_cannot_be_read_may_be_on_that_of_the_service() -> None:
    server = Record(kind=RecordKind.SERVER, pid=1, cwd="/", argv=("python3", "serve.py"))
    job = SimpleNamespace(model_path="/weights", shown={"port": 9123})
    assert 9123 in served(server, job).ports


def test_known_devices_are_judged_and_quoted(tmp_path: Path, in_the_room: Service) -> None:
    launch = plan(tensor_parallel_size="4")
    results = judge(model(tmp_path / "w"), "plan/fits-hardware", plan=launch, npu="910B4", npus=2)
    result = results["plan/fits-hardware"]
    assert result.outcome.value == "fail"
    assert result.rule == contract.NPUS
    assert result.rule.sentence == "Each job gets two NPUs."


READY = Launch(
    outcome=LaunchOutcome.READY, command=("sh", "deploy.sh"), log=Path("deploy.log"), port=8000, deadline_s=60,
    seconds=61, model="/weights",
)  # fmt: skip


def test_a_start_has_to_be_as_fast_as_the_service_demands() -> None:
    with contract.judging_for(Service(start_up_seconds=60)):
        assert Patience().deadline_s == 60
        late, timely = (starts.judge(replace(READY, ready_s=seconds)) for seconds in (61.0, 59.0))
        ended = explain(
            replace(READY, outcome=LaunchOutcome.TIMED_OUT, ready_s=None, deadline_s=60)
        )
    assert (late.outcome.value, timely.outcome.value) == ("fail", "pass")
    assert late.rule is ended.rule is contract.START_UP
    assert "the service's deadline" in ended.seen
    assert Patience().deadline_s == 1800


def test_the_probe_asks_as_the_service_does() -> None:
    with contract.judging_for(Service(samples=7, max_tokens=900, temperature=0.0, concurrency=3)):
        asked = ProbeSettings(url="")
    assert (asked.samples, asked.max_tokens, asked.temperature, asked.concurrency) == (
        7,
        900,
        0.0,
        3,
    )
    assert (ProbeSettings(url="").samples, ProbeSettings(url="").concurrency) == (5, 64)


@pytest.mark.parametrize(
    "name",
    ["deploy.sh", "adapter/ready.py", "adapter/script.py", "templates/planned/README.md.jinja",
     "templates/planned/tests/test_smoke.py.jinja"],
)  # fmt: skip
def test_the_adapter_which_travels_alone_has_the_port_of_the_public_page(name: str) -> None:
    assert str(PUBLIC.port) in (ROOT / name).read_text(encoding="utf-8")
