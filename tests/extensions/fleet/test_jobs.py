"""The job file: three formats, every option of verify, and what a wrong row is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from healthcheck.core.stages import Stage
from healthcheck.errors import UsageError
from healthcheck.extensions.fleet import jobs
from healthcheck.extensions.fleet.records import Job
from healthcheck.extensions.fleet.subcommands import grammar
from healthcheck.system.toml_text import MAX_KEY_PARTS

COMMIT = "0123456789abcdef0123456789abcdef01234567"
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    return tmp_path


def read(folder: Path, text: str, name: str = "jobs.toml") -> tuple[Job, ...]:
    (folder / name).write_text(text, encoding="utf-8")
    return jobs.read(folder / name, grammar())


def refused(folder: Path, text: str, name: str = "jobs.toml") -> str:
    with pytest.raises(UsageError) as caught:
        read(folder, text, name)
    return str(caught.value)


def test_jobs_are_judged_for_another_service(folder: Path) -> None:
    """Each for its own, or all for one; a profile that cannot be used is refused before the first job."""
    (folder / "room.toml").write_text("[known]\nnpus = 2\n", encoding="utf-8")
    job = '[[job]]\nrepository = "one"\nuntil = "repo"\nservice = "room.toml"\n'
    assert f"--service={folder / 'room.toml'}" in read(folder, job)[0].words
    (folder / "room.toml").write_text("prot = 9000\n", encoding="utf-8")
    assert "prot is not known" in refused(folder, job)


def test_the_three_formats_say_the_same(folder: Path) -> None:
    toml = read(
        folder,
        '[defaults]\nuntil = "weights"\nweights = "w"\n[[job]]\nrepository = "one"\nnpus = 8\nnpu = "910B4"\n'
        'env = ["A=1", "B=2"]\nstrict = true\n[[job]]\nname = "second"\nrepository = "two"\nproblems = 12\n',
    )
    jsonl = read(
        folder,
        '{"repository": "one", "until": "weights", "weights": "w", "npus": 8, "npu": "910B4", "env": ["A=1", "B=2"], '
        '"strict": true}\n\n{"name": "second", "repository": "two", "until": "weights", "weights": "w", "problems": 12}\n',
        "jobs.jsonl",
    )
    table = read(
        folder,
        "name,repository,until,weights,npus,npu,env,strict,problems\n"
        ',one,weights,w,8,910B4,"[""A=1"", ""B=2""]",true,\nsecond,two,weights,w,,,,,12\n',
        "jobs.csv",
    )
    for found in (toml, jsonl, table):
        assert [job.name for job in found] == ["one", "second"]
        first, second = found
        assert (first.until, first.npus, first.npu) == (Stage.WEIGHTS, 8, "910B4")
        assert first.weights == str(folder / "w")
        assert set(first.words) == {
            "--until=weights", f"--weights={folder / 'w'}", "--npus=8", "--npu=910B4", "--env=A=1", "--env=B=2", "--strict"
        }  # fmt: skip
        assert "--problems=12" in second.words
    assert toml[0].digest == jsonl[0].digest == table[0].digest != toml[1].digest


def test_an_environment_may_be_a_table(folder: Path) -> None:
    (job,) = read(folder, '[[job]]\nrepository = "one"\nuntil = "repo"\nenv = {A = "1", B = 2}\n')
    assert {"--env=A=1", "--env=B=2"} <= set(job.words)


def test_every_option_of_verify_is_a_key_but_those_that_the_fleet_sets(folder: Path) -> None:
    keys = grammar().options.keys()
    assert {
        "weights",
        "task",
        "until",
        "skip",
        "stack",
        "env",
        "unconfined",
        "deadline",
        "problems",
        "numerics",
    } <= keys
    for key in jobs.NOT_FOR_JOBS:
        said = refused(folder, f'[[job]]\nrepository = "one"\nuntil = "repo"\n{key} = "x"\n')
        assert f"jobs.toml:1: `{key}` is not for a job" in said


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ('wieghts = "x"', "called `wieghts`; did you mean weights?"),
        ("npus = 0", "argument --npus: 0 is less than 1"),
        ('until = "weigths"', "did you mean weights?"),
        ('npu = "910Z"', "no NPU of the kind '910Z' is known"),
        ('task = "text-gen"', "did you mean text-generation?"),
        ('skip = ["plan/prot"]', "did you mean plan/port"),
        ("strict = 3", "strict is true or false, not 3"),
        ("weights = [1]", "weights is a text or a number"),
        ('name = "../up"', "cannot be the name of a job"),
        ("name = 3", "`name` is missing or not a text"),
    ],
)
def test_a_wrong_row_is_told_with_its_line(folder: Path, row: str, said: str) -> None:
    base = "" if row.startswith("weights") else 'weights = "w"\n'
    until = "" if row.startswith("until") else 'until = "plan"\n'
    text = f'[[job]]\nrepository = "one"\nuntil = "repo"\n\n[[job]]\n{base}{until}repository = "two"\n{row}\n'
    told = refused(folder, text)
    assert said in told
    assert told.startswith(f"{folder / 'jobs.toml'}:5: ")
    assert "\n" not in told


def test_all_wrong_rows_are_told_at_once(folder: Path) -> None:
    told = refused(
        folder, '{"repository": "one", "unti": 1}\n{"repository": "none"}\n', "jobs.jsonl"
    )
    first, second = told.split("\n")
    assert f"{folder / 'jobs.jsonl'}:1: " in first
    assert f"{folder / 'jobs.jsonl'}:2: there is no folder {folder / 'none'}" in second


def test_a_key_of_many_parts_is_refused(folder: Path) -> None:
    """tests/core/test_toml_text.py has the other forms."""
    told = refused(folder, f"# one\n\n{'a.' * 2000}a = 1\n")
    assert f"jobs.toml has a key of more than {MAX_KEY_PARTS} " in told
    assert "in line 3, and is not read" in told


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("jobs.yaml", "", "ends in .toml, .jsonl or .csv"),
        ("jobs.toml", "", "has no job: write a [[job]] for each"),
        ("jobs.toml", "[[jobs]]\n", "no table is called 'jobs'; did you mean job?"),
        ("jobs.toml", "[[job]\n", "is not TOML"),
        ("jobs.toml", "job = 3\n", "write [[job]] for each job"),
        ("jobs.jsonl", "{\n", "jobs.jsonl:1: not JSON"),
        ("jobs.jsonl", "3\n", "jobs.jsonl:1: a job is an object"),
        ("jobs.csv", "repository\none,two\n", "jobs.csv:2: 2 cells under 1 names"),
        ("jobs.csv", "repository,skip\none,[3\n", "jobs.csv:2: a cell that begins with ["),
        ("jobs.csv", 'repository\n"one\n', "is not CSV"),
    ],
)
def test_what_is_not_a_job_file(folder: Path, name: str, text: str, said: str) -> None:
    assert said in refused(folder, text, name)


def test_two_jobs_of_one_name(folder: Path) -> None:
    row = '[[job]]\nrepository = "one"\nuntil = "repo"\n'
    assert f"jobs.toml:4: the name one is that of {folder / 'jobs.toml'}:1 too" in refused(
        folder, row * 2
    )


def test_an_address_has_a_commit(folder: Path) -> None:
    address = f"https://host.example/team/adapter.git@{COMMIT}"
    (job,) = read(folder, f'[[job]]\nrepository = "{address}"\nuntil = "repo"\n')
    assert (job.name, job.source.commit, job.source.is_address) == ("adapter", COMMIT, True)
    for wrong in (
        "https://host.example/a.git",
        "https://host.example/a.git@main",
        f"ext::sh://x@{COMMIT}",
    ):
        assert "jobs.toml:1" in refused(
            folder, f'[[job]]\nrepository = "{wrong}"\nuntil = "repo"\n'
        )


def test_a_token_of_an_address_is_shown_nowhere(folder: Path) -> None:
    address = f"https://oauth2:{TOKEN}@host.example/team/adapter.git"
    row = {"repository": f"{address}@{COMMIT}", "until": "repo", "env": [f"HF_TOKEN={TOKEN}"]}
    (job,) = read(folder, json.dumps(row) + "\n", "jobs.jsonl")
    assert job.source.shown == "https://host.example/team/adapter.git"
    assert TOKEN in job.source.place
    assert TOKEN not in repr(job)
    assert TOKEN not in refused(
        folder, json.dumps({"repository": address, "until": "repo"}) + "\n", "jobs.jsonl"
    )
    assert TOKEN not in refused(
        folder, json.dumps(row | {"unti": f"--token {TOKEN}"}) + "\n", "jobs.jsonl"
    )


def test_a_new_token_is_not_another_job(folder: Path) -> None:
    def digest(token: str) -> str:
        (job,) = read(
            folder, f'[[job]]\nrepository = "one"\nuntil = "repo"\nenv = ["HF_TOKEN={token}"]\n'
        )
        return job.digest

    assert digest("hf_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa") == digest(
        "hf_bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
    )


def test_settings_where_the_fleet_is_driven_from_are_nobodys(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "adapter.toml").write_text("[npu-adapter]\nskip = 7\n")
    monkeypatch.chdir(folder)
    (job,) = read(folder, '[[job]]\nrepository = "one"\nuntil = "repo"\n')
    assert job.name == "one"


def test_what_every_job_has_is_part_of_each(folder: Path) -> None:
    text = '[[job]]\nrepository = "one"\nuntil = "repo"\n[[job]]\nrepository = "two"\nno_settings = false\nuntil = "repo"\n'
    before = read(folder, text)
    after = jobs.read(folder / "jobs.toml", grammar(), {"no_settings": True})
    assert not any("--no-settings" in job.words for job in before)
    assert all("--no-settings" in job.words for job in after)
    assert not {job.digest for job in before} & {job.digest for job in after}
