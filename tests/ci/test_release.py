"""The release: what a package index would show, and a workflow that is valid and publishes nothing yet."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager
from packaging.specifiers import SpecifierSet

from healthcheck.system.yaml_text import load
from tests.ci.test_workflows import assert_valid
from tests.support.template import ROOT

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")


def metadata() -> ProjectMetadata:
    return ProjectMetadata(str(ROOT), PluginManager())


@pytest.fixture
def at_an_address(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("NPU_ADAPTER_ADDRESS", "https://user:secret@example.org:8443/us/kit.git")
    monkeypatch.setenv("GITHUB_REF_NAME", "v1.2.3")
    return "https://example.org:8443/us/kit"


def test_every_link_of_the_packaged_readme_is_an_address(at_an_address: str) -> None:
    targets = LINK.findall(metadata().core.readme)
    assert targets
    for target in targets:
        assert target.startswith(("https://", "#")), target
        inside = re.fullmatch(
            rf"{re.escape(at_an_address)}/(blob|raw)/v1\.2\.3/(?P<path>[^#]+)(#.*)?", target
        )
        assert not inside or (ROOT / inside["path"]).exists(), target
    assert f"{at_an_address}/raw/v1.2.3/docs/pictures/verify.svg" in targets


def test_the_project_has_addresses_without_credentials(at_an_address: str) -> None:
    urls = metadata().core.urls
    assert urls["Source"] == at_an_address
    assert all(url.startswith(at_an_address) for url in urls.values())


def test_without_an_address_the_readme_is_that_of_the_repository(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NPU_ADAPTER_ADDRESS", "git@example.org:us/kit.git")
    core = metadata().core
    assert core.readme == (ROOT / "README.md").read_text("utf-8")
    assert core.urls == {}


@pytest.mark.process
@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_the_workflow_keeps_to_the_schema_of_github(path: Path) -> None:
    assert_valid("github-workflows", path)


def test_nothing_is_published_until_the_variable_is_set() -> None:
    jobs = load((ROOT / ".github/workflows/release.yml").read_bytes())["jobs"]
    may_publish = {name for name, job in jobs.items() if "id-token" in job.get("permissions", {})}
    assert may_publish == {"publish"}
    assert "vars.PUBLISH == 'true'" in jobs["publish"]["if"]


@pytest.mark.process
def test_the_release_tries_every_python_that_the_kit_says_it_runs_on() -> None:
    jobs = load((ROOT / ".github/workflows/release.yml").read_bytes())["jobs"]
    tried = set(jobs["try"]["strategy"]["matrix"]["python"])
    wanted = SpecifierSet(metadata().core.requires_python)
    assert tried == {f"3.{minor}" for minor in range(30) if f"3.{minor}" in wanted}
    assert f"{sys.version_info[0]}.{sys.version_info[1]}" in tried
