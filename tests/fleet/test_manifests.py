"""Manifests: valid by the published schemas, each pod a row of the job file, and one run made of what they leave."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from healthcheck import yaml_text
from healthcheck.cli import main
from healthcheck.cli.fleet import grammar
from healthcheck.fleet import jobs, manifests
from tests.fleet.conftest import ROOT, Place
from tests.support.repositories import git

COMMIT = "0123456789abcdef0123456789abcdef01234567"
ADDRESS = f"https://git.example.org/team/adapter.git@{COMMIT}"
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
ROWS = [
    {"name": "one", "repository": ADDRESS, "weights": "/data/a", "npus": 8, "npu": "910B4", "env": ["A=1", "B=2"]},
    {"name": "two", "repository": ADDRESS, "weights": "/data/b", "npus": 8, "npu": "910B4", "numerics": True},
    {"name": "small", "repository": ADDRESS, "weights": "/data/c", "npus": 1, "npu": "910B4"},
    {"name": "static", "repository": ADDRESS, "until": "repo"},
]
CLUSTER = ("--image", "registry.example.org/vllm-ascend:v0.23.0", "--resource", "huawei.com/Ascend910B4",
           "--node-selector", "npu={npu}", "--node-selector", "zone=a")  # fmt: skip


def written(folder: Path, *rows: dict[str, object]) -> Path:
    path = folder / "jobs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def manifest(folder: Path, kind: str, *more: str, rows: list[dict[str, object]] = ROWS) -> str:
    out = folder / "manifest.yaml"
    assert main(["fleet", "manifests", str(written(folder, *rows)), "--kind", kind, "--out", str(out), *more]) == 0
    return out.read_text("utf-8")


def documents(text: str) -> list[dict]:
    return [yaml_text.load(part) for part in text.split("---\n")]


def test_each_pod_has_its_row_and_the_npus_that_it_needs(tmp_path: Path) -> None:
    objects = documents(manifest(tmp_path, "kubernetes", *CLUSTER, "--retries", "2"))
    maps = [each for each in objects if each["kind"] == "ConfigMap"]
    indexed = [each for each in objects if each["kind"] == "Job"]
    assert [list(each["data"]) for each in maps] == [["0.jsonl", "1.jsonl"], ["0.jsonl"], ["0.jsonl"]]
    asked = jobs.read(tmp_path / "jobs.jsonl", grammar())
    for found, job in zip([row for each in maps for row in each["data"].values()], asked, strict=True):
        (tmp_path / "row.jsonl").write_text(found)
        (again,) = jobs.read(tmp_path / "row.jsonl", grammar())
        assert (again.name, again.digest, set(again.words)) == (job.name, job.digest, set(job.words))
    for job, npus, completions in zip(indexed, ("8", "1", None), (2, 1, 1), strict=True):
        spec = job["spec"]
        assert (spec["completions"], spec["completionMode"], spec["backoffLimitPerIndex"]) == (
            completions,
            "Indexed",
            2,
        )
        (container,) = spec["template"]["spec"]["containers"]
        assert container["resources"].get("limits", {}).get("huawei.com/Ascend910B4") == npus
    selectors = [job["spec"]["template"]["spec"]["nodeSelector"] for job in indexed]
    assert selectors == [{"npu": "910B4", "zone": "a"}] * 2 + [{"zone": "a"}]


@pytest.mark.peer
def test_kubernetes_takes_them(tmp_path: Path) -> None:
    (tmp_path / "objects.json").write_text(json.dumps(documents(manifest(tmp_path, "kubernetes", *CLUSTER))))
    code = (
        "import json, sys, kubernetes_validate as k\n"
        "for each in json.load(open(sys.argv[1])): k.validate(each, sys.argv[2], strict=True)\n"
        "wrong = each | {'spec': each['spec'] | {'completion': 1}}\n"
        "try: k.validate(wrong, sys.argv[2], strict=True)\n"
        "except k.ValidationError: print('refused')\n"
    )
    for version in ("1.33", "1.37"):
        done = subprocess.run(
            [ROOT / ".venv-fleet/bin/python", "-c", code, tmp_path / "objects.json", version],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (0, "refused\n"), done.stderr


@pytest.mark.process
def test_github_takes_the_workflow(tmp_path: Path) -> None:
    text = manifest(tmp_path, "github")
    found = yaml_text.load(text)["jobs"]
    matrix = found["verify"]["strategy"]["matrix"]["include"]
    assert [json.loads(each["row"])["name"] for each in matrix] == ["one", "two", "small", "static"]
    assert found["collect"]["steps"][1]["env"]["ROWS"].splitlines() == [each["row"] for each in matrix]
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows"]
    done = subprocess.run([*command, tmp_path / "manifest.yaml"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"repository": "folder"}, "another machine cannot see the folder"),
        ({"repository": f"https://x:{TOKEN}@git.example.org/a.git@{COMMIT}"}, "a user, a password or a query"),
        ({"env": [f"HF_TOKEN={TOKEN}"]}, "`env` holds a secret"),
        ({"env": ["A=${{ secrets.X }}"]}, "`env` holds a secret or an expression"),
    ],
)
def test_what_a_manifest_must_not_hold(tmp_path: Path, capsys, change: dict[str, object], said: str) -> None:
    (tmp_path / "folder").mkdir()
    path = written(tmp_path, {"repository": ADDRESS, "until": "repo", **change})
    assert main(["fleet", "manifests", str(path), "--kind", "github"]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert TOKEN not in error


def test_more_than_a_matrix_has_room_for(tmp_path: Path) -> None:
    rows = [{"name": f"job-{number}", "repository": ADDRESS, "until": "repo"} for number in range(257)]
    asked = jobs.read(written(tmp_path, *rows), grammar())
    with pytest.raises(manifests.UsageError, match="at most 256"):
        manifests.github(asked, ["npu"], manifests.Terms(limit_s=60, retries=0))


@pytest.mark.process
def test_what_pods_leave_becomes_one_run(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    rows = []
    for name, files in (("good", {}), ("bad", {"deploy.sh": "exit 1\r\n"}), ("unrun", {})):
        place.adapter(name, files)
        commit = git(place.folder / name, "rev-parse", "HEAD").strip()
        rows.append({"name": name, "repository": f"file://{place.folder / name}@{commit}", "until": "repo"})
    reports = place.folder / "reports"
    for pod, row in enumerate(rows[:2]):
        path = place.jobs(row)
        assert main(["fleet", "verify", str(path), "--out", str(reports / f"pod-{pod}"), "--quiet"]) == pod
    path = place.jobs(*rows)
    assert main(["fleet", "collect", str(path), "--from", str(reports), "--out", str(place.out)]) == 1
    found = json.loads((place.out / "fleet.json").read_text("utf-8"))["jobs"]
    assert {job["name"]: job["verdict"] for job in found} == {"good": "ready", "bad": "not-ready", "unrun": None}
    assert (place.out / "jobs/bad/attempt-1/report/report.html").is_file()
    assert "3 jobs: 1 ready, 1 not ready, 1 without a result" in capsys.readouterr().out
    assert (
        main(
            ["fleet", "collect", str(path), "--from", str(place.folder / "good"), "--out", str(place.folder / "x")]
        )
        == 2
    )
