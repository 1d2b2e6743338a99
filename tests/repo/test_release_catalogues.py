"""The scripts that read keys, notes and the support matrix of a release, on sources of both kinds."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from healthcheck.ascend import stacks
from healthcheck.system import yaml_text
from tests.support.template import ROOT

DECLARED = '''\
@config
class PartConfig:
    enabled: bool = False
    derived: int = field(default=0, init=False)
    LIMITS: ClassVar[int] = 3

@config
class AscendConfig:
    """Options.

    - Unknown keys are rejected (``extra="forbid"``); a typo fails fast.
    """
    one: bool = True
    part_config: PartConfig = field(default_factory=PartConfig)

    def check(self):
        raise ValueError("one needs a decode node.")

def init_ascend_config(vllm_config):
    _NON_USER_INPUT_KEYS = {"refresh", "_private"}
'''
LOOKED_UP = """\
class AscendConfig:
    def __init__(self, vllm_config):
        additional_config = vllm_config.additional_config
        self.one = additional_config.get("one", True)
        self.part_config = PartConfig(additional_config.get("part_config", {}))
        self.open_config = OpenConfig(additional_config.get("open_config", {}))

class PartConfig:
    _defaults = {"enabled": False}
    def __init__(self, user_config):
        for key in user_config:
            if key not in self._defaults:
                raise ValueError(f"Config has no attribute '{key}'")

class OpenConfig:
    def __init__(self, open_config):
        for key, value in open_config.items():
            setattr(self, key, value)
"""
ELSEWHERE = """\
def f(vllm_config):
    if "two" in vllm_config.additional_config: ...
    return vllm_config.additional_config["part_config"].get("more")
"""
NOTES = """\
# Release Notes

## v9.1.0rc2 - 2026.10.13

There is no code change in this release.

## v9.1.0rc1 - 2026.10.11

This is a model\u2011restricted version. Fully validated models include Kimi K9, GLM\u20119.2. See more.

### Known Issues

- Do not set `enable_warp` with logprobs. [#77](https://github.com/vllm-project/vllm-ascend/issues/77)
- The documents have a typo.

### Other

- `not_known` is fine.

## v9.0.0 - 2026.08.16

All models.
"""
MATRIX = """\
| Model | Support | Note | Supported Hardware | LoRA |
|-------|---------|------|--------------------|------|
| Warp-1<br>Warp-2 | ❌ | [12](https://github.com/vllm-project/vllm-ascend/issues/12) | | |
| Weft | ✅ | | A2/A3 | ❌ |
| Woof | 🟡 | Need test | | |
"""
TAKEN = "def f(self, alibi_slopes, logits_soft_cap: float):\n    self.alibi_slopes = alibi_slopes\n"


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    yield ROOT / "scripts"
    for name in [
        name for name in sys.modules if name.startswith(("make_", "release_", "check_hand"))
    ]:
        sys.modules.pop(name)


def written(root: Path, **texts: str) -> Path:
    for name, text in texts.items():
        path = root / name.replace("__", "/")
        path = path.with_suffix(".md" if name.startswith("docs") else ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def script(name: str) -> ModuleType:
    return importlib.import_module(name)


@pytest.mark.usefixtures("scripts")
def test_keys_that_a_release_declares(tmp_path: Path) -> None:
    row = script("make_config_catalogue").row(
        "9.1.0", written(tmp_path, vllm_ascend__ascend_config=DECLARED)
    )
    assert row["groups"] == {"": ["one", "part_config", "refresh"], "part_config": ["enabled"]}
    assert row["refusals"] == {"": 'Unknown keys are rejected (extra="forbid"); a typo fails fast.'}
    assert row["endings"] == ["one needs a decode node."]


@pytest.mark.usefixtures("scripts")
def test_keys_that_a_release_looks_up(tmp_path: Path) -> None:
    tree = written(tmp_path, vllm_ascend__ascend_config=LOOKED_UP, vllm_ascend__utils=ELSEWHERE)
    row = script("make_config_catalogue").row("9.0.0", tree)
    assert row["groups"] == {
        "": ["one", "open_config", "part_config", "two"],
        "part_config": ["enabled", "more"],
    }
    assert row["refusals"] == {"part_config": "Config has no attribute '…'"}


@pytest.mark.usefixtures("scripts")
def test_a_rule_gets_the_releases_that_have_its_sentence() -> None:
    rule = {"key": "one", "needs": "experts", "sentence": "No.", "releases": ["9.0.0", "8.0.0"]}
    rows = [
        {"vllm_ascend": release, "groups": {}, "refusals": {}, "endings": endings}
        for release, endings in (("9.1.0", ["No."]), ("9.0.0", []))
    ]
    made = script("make_config_catalogue").catalogue({"rules": [rule], "releases": []}, rows)
    assert made["rules"][0]["releases"] == ["9.1.0", "8.0.0"]
    assert [row["vllm_ascend"] for row in made["releases"]] == ["9.1.0", "9.0.0"]
    assert "endings" not in made["releases"][0]


@pytest.mark.usefixtures("scripts")
def test_notes_have_dates_restrictions_and_known_issues(tmp_path: Path) -> None:
    found = script("make_notes_catalogue").notes(
        written(tmp_path, docs__source__user_guide__release_notes=NOTES)
    )
    assert [(each["vllm_ascend"], each["released"], each["restricted_to"]) for each in found] == [
        ("9.1.0rc2", "2026-10-13", ["Kimi K9", "GLM-9.2"]),
        ("9.1.0rc1", "2026-10-11", ["Kimi K9", "GLM-9.2"]),
        ("9.0.0", "2026-08-16", []),
    ]
    assert found[1]["known_issues"] == [
        {
            "said": "Do not set `enable_warp` with logprobs.",
            "issues": [77],
            "names": ["enable_warp"],
        }
    ]


@pytest.mark.usefixtures("scripts")
def test_the_support_matrix_of_a_release(tmp_path: Path) -> None:
    page = {"docs__source__user_guide__support_matrix__supported_models": MATRIX}
    tree = written(tmp_path, vllm_ascend__attention__attention_v1=TAKEN, **page)
    row = script("make_notes_catalogue").matrix_row("9.1.0", tree)
    assert row == {
        "vllm_ascend": "9.1.0",
        "unsupported": {"Warp-1/Warp-2": 12},
        "untested": ["Woof"],
        "without": [{"model": "Weft", "hardware": "A2/A3", "features": ["LoRA"]}],
        "not_computed": ["alibi", "soft-cap"],
    }
    used = TAKEN + "    attend(self.alibi_slopes, logits_soft_cap)\n"
    written(tmp_path, vllm_ascend__attention__attention_v1=used)
    assert script("make_notes_catalogue").matrix_row("9.1.0", tree)["not_computed"] == []


@pytest.mark.usefixtures("scripts")
def test_the_template_offers_the_final_releases_of_the_matrix(tmp_path: Path) -> None:
    for name in ("copier.yml", "templates/planned/README.md.jinja"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    matrix = json.loads((ROOT / "healthcheck" / "data" / "stacks.json").read_bytes())
    template = script("release_template")
    assert [*template.bring_up_to_date(matrix, tmp_path)] == []
    matrix["rows"].insert(0, {**matrix["rows"][-1], "vllm_ascend": "9.1.0"})
    assert len([*template.bring_up_to_date(matrix, tmp_path)]) == 2
    stack = yaml_text.load((tmp_path / "copier.yml").read_text())["stack"]  # type: ignore[call-overload, index]
    assert stack["default"] == "9.1.0"  # type: ignore[call-overload, index]
    assert stack["choices"][1] == stacks.DEFAULT  # type: ignore[call-overload, index]


@pytest.mark.usefixtures("scripts")
def test_the_changelog_names_the_releases(tmp_path: Path) -> None:
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n\n### Other\n\n- x\n")
    changelog = script("release_changelog")
    for release in ("9.1.0", "9.2.0"):
        assert len([*changelog.add([release], tmp_path)]) == 1
    assert [*changelog.add([], tmp_path)] == []
    head = (tmp_path / "CHANGELOG.md").read_text().partition("### Other")[0]
    assert head.index("vllm-ascend 9.2.0: row") < head.index("vllm-ascend 9.1.0: row")
    assert head.count(changelog.HEADING) == 1


@pytest.mark.usefixtures("scripts")
def test_what_a_release_contradicts_in_the_files_written_by_hand(tmp_path: Path) -> None:
    check = script("check_hand_written")
    tree = written(
        tmp_path,
        vllm_ascend__ascend_config=DECLARED,
        docs__source__tutorials__models__Warp="# Warp",
    )
    said = "\n".join(check.contradictions("0.23.0", tree))
    assert (
        ">=0.19.1rc1 has 0.23.0 in its range: on a 310P the state of linear attention is float16 alone"
        in said
    )
    assert "0.23.0 has no more “Expert Parallel is not supported on 310P”" in said
    assert "its repair sets VLLM_ASCEND_ENABLE_NZ, which is not read" in said
    assert "tutorials without a recipe: Warp.md" in said
    noted = json.loads(check.NOTED.read_bytes())
    assert all(
        f"{name} (looked through for {each['release']}" in said for name, each in noted.items()
    )
