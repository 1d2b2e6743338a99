"""The format of a profile: what it may say, how it is written, and where a repository keeps its own."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from healthcheck import contract
from healthcheck.cli import main
from healthcheck.contract import FIGURES, PUBLIC, UNDOCUMENTED
from healthcheck.errors import UsageError
from healthcheck.stages.repo.settings import read_settings
from healthcheck.verify.service import of_repository, parsed


def test_the_public_page_is_the_reference_case_of_the_format() -> None:
    names = ("source", "read_on", *FIGURES, *UNDOCUMENTED)
    empty = parsed(b"", "page.toml")
    assert [getattr(empty, name) for name in names[2:]] == [
        getattr(PUBLIC, name) for name in names[2:]
    ]


def test_the_command_says_where_each_value_is_from(
    room: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["service", "--json", "-", "--service", str(room)]) == 0
    shown = json.loads(capsys.readouterr().out)
    port = shown["values"]["port"]
    assert (port["value"], port["source"], port["status"]) == (9000, str(room), "documented")
    assert shown["values"]["tasks"]["source"] == contract.PAGE
    network = shown["values"]["network"]
    assert (network["value"], network["source"], network["status"]) == (None, "", "unknown")
    assert {"sentence": "Each job gets two NPUs.", "source": "handbook"} in [
        {name: rule[name] for name in ("sentence", "source")} for rule in shown["rules"]
    ]
    assert "whether the network is there during installation" in shown["unknown"]
    assert main(["service", "--service", str(room)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.split()[:2] == ["port", "9000"] and line.endswith(str(room)) for line in lines)
    assert any(line.split() == ["network", "unknown"] for line in lines)
    assert contract.service() is PUBLIC, "it is the public page's again"


def test_what_is_not_a_profile_is_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = {
        "port = 0": "port is 0, not a port from 1 to 65535",
        "port = true": "port is True, not a port",
        'port = "9000"': "port is '9000', not a port",
        "prot = 9000": "prot is not known; .*did you mean port",
        "npus = 2": "npus is not known; .*",
        "[known]\nport = 1": r"\[known\] port is not known",
        "known = 1": "known is 1, not a table",
        'entry-point = "bin/start.sh"': "entry-point is 'bin/start.sh', not a plain name of a file at the repo",
        'entry-point = ".."': "not a plain name",
        "entry-point = 1": "not a plain name",
        'served-name = "two words"': r"not \$MODEL_PATH, or a name without blanks",
        'served-name = "--port"': "or a name without blanks",
        '[known]\nuser = "a b"': "not the name of a user",
        "[known]\nuser = 0": "not the name of a user",
        'chat-path = "chat"': "not a path that begins with /",
        "weight-limit-gb = 1.5": "not a whole number of gigabytes",
        'tasks = ["chat"]': "not a list of some of text-generation",
        "tasks = []": "not a list of some of",
        "[known]\nrelease = 1": "not a release",
        '[known]\nrelease = "new"': "is not a release of vllm-ascend",
        '[known]\nnpu = "H100"': "not a kind of NPU",
        "[known]\nnetwork = 0": "not true or false",
        '[known]\nshell = "fish"': "not one of sh, dash, bash",
        "[known]\ntemperature = 3": "not a number from 0 to 2",
        "[sentences]\nport = 3": "port is 3, not a line of text",
        '[sentences]\nport = "a\\u001b[2J"': "not a line of text",
        'name = """\na\n"""': "name is .*, not a line of text",
        f'source = "{"a" * 600}"': "not a line of text",
        "[sentences]\nprot = 3": "prot.* is not known",
        "port =": "is not TOML",
    }
    for text, reason in cases.items():
        file = tmp_path / "wrong.toml"
        file.write_text(text, encoding="utf-8")
        assert main(["service", "--service", str(file)]) == 2, text
        assert re.search(reason, capsys.readouterr().err), (text, reason)
    assert main(["service", "--service", str(tmp_path / "none.toml")]) == 2


def test_the_profile_of_a_repository_is_a_file_in_it(tmp_path: Path, room: Path) -> None:
    root = tmp_path / "repo"
    root.mkdir()
    (root / "link.toml").symlink_to(room)
    for name in ("../room.toml", str(room), "link.toml", "none.toml"):
        (root / "adapter.toml").write_text(f'[npu-adapter]\nservice = "{name}"\n', encoding="utf-8")
        with pytest.raises(UsageError, match="the repository does not have the file"):
            of_repository(root, read_settings(root))
