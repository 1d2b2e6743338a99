"""Requirements files with what each is to be told; pip's own reader is asked what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthcheck.ascend import stacks
from healthcheck.core.records import Level, Outcome
from healthcheck.stages.repo import requirements
from healthcheck.stages.repo.facts import read_submission
from healthcheck.stages.repo.specifiers import satisfiable
from tests.support.repositories import GOOD_SCRIPT, folder, judged, repository, seen

PARSE, PROVIDED, STACK = (
    "repo/requirements-parse",
    "repo/requirements-provided",
    "repo/requirements-stack",
)
P, W, F, S = Outcome.PASS, Outcome.WARN, Outcome.FAIL, Outcome.SKIP
HASH = "sha256:" + "0123456789abcdef" * 4


@dataclass(frozen=True)
class Case:
    """A requirements.txt, the outcomes of parse, provided and stack, and words that must be told."""

    text: str | bytes
    outcomes: tuple[Outcome, Outcome, Outcome]
    told: tuple[str, ...] = ()
    others: dict[str, str] = field(default_factory=dict)
    pip_refuses: bool | None = None


CASES = {
    "empty": Case("", (P, P, P)),
    "comments only": Case("# nothing\n\n   # more\n", (P, P, P)),
    "pinned": Case("openai==2.1.0\npillow==11.0.0  # images\n", (P, P, P), pip_refuses=False),
    "ranges": Case("httpx~=0.28\nrequests>=2.31,<3\n", (P, P, P), pip_refuses=False),
    "as the row has it": Case("transformers==5.5.4\nfastapi==0.120.0\n", (P, P, P)),
    "an older transformers": Case("transformers==4.37.0\n", (P, P, W), ("requirements.txt:1", "==5.5.4", "4.37.0")),
    "unpinned": Case("numpy\nhttpx>=0.27\nrequests==2.32.0\n", (P, P, W), ("numpy, httpx>=0.27",)),
    "torch-npu": Case("torch-npu==2.10.0\n", (P, F, P), ("torch-npu",)),
    "torch_npu in another spelling": Case("Torch_NPU\n", (P, F, P), ("Torch_NPU",)),
    "a wheel of torch-npu": Case(
        "https://example.org/torch_npu-2.5.1-cp310-cp310-manylinux_2_28_aarch64.whl\n", (W, F, P), ("fetched",)
    ),
    "cann": Case("te\nhccl==0.1.0\nascend-cann-toolkit\n", (P, F, P), ("te", "hccl")),
    "python": Case("python>=3.10\n", (P, F, P), ("python",)),
    "torch and vllm": Case("torch==2.10.0\nvllm==0.23.0\ntriton==3.2.0\n", (P, W, P), ("torch", "vllm", "triton")),
    "torch on a mac": Case("torch==2.1.0 ; sys_platform == 'darwin'\n", (P, P, P), pip_refuses=False),
    "torch on arm": Case("torch==2.1.0 ; platform_machine == 'aarch64'\n", (P, W, P), ("torch",)),
    "one equals sign": Case("numpy=1.26.4\n", (F, P, P), ("single =",), pip_refuses=True),
    "a command": Case("pip install numpy\n", (F, P, P), ("it is a command",), pip_refuses=True),
    "an unknown option": Case("--no-cache-dir\nnumpy==2.0.0\n", (F, P, P), ("--no-cache-dir",), pip_refuses=True),
    "upgrade": Case("-U numpy==2.0.0\n", (F, P, P), ("-U",), pip_refuses=True),
    "merge marks": Case("<<<<<<< HEAD\nnumpy==2.0.0\n", (F, P, P), ("unresolved merge",), pip_refuses=True),
    "two words": Case("numpy scipy\n", (F, P, P), ("numpy scipy",), pip_refuses=True),
    "no version": Case("numpy==\n", (F, P, P), ("numpy==",)),
    "continued": Case("numpy\\\n==2.2.0 \\\n  # c\n", (P, P, P)),
    "a byte order mark": Case(b"\xef\xbb\xbfpillow==11.0.0\n", (P, P, P), pip_refuses=False),
    "utf-16": Case("pillow==11.0.0\n".encode("utf-16"), (W, P, P), ("UTF-16",), pip_refuses=False),
    "utf-16 without mark": Case("pillow==11.0.0\n".encode("utf-16-le"), (F, P, P), ("NUL",)),
    "gbk": Case("# 依赖\npillow==11.0.0\n".encode("gbk"), (F, P, P), ("not UTF-8",)),
    "gbk as it says": Case(
        b"# -*- coding: gbk -*-\n" + "# 依赖\npillow==11.0.0\n".encode("gbk"), (P, P, P), pip_refuses=False
    ),
    "binary": Case(bytes(range(256)) * 20, (F, P, P), ("binary",)),
    "crlf": Case("pillow==11.0.0\r\nhttpx==0.28.0\r\n", (P, P, P), pip_refuses=False),
    "hashes": Case(f"a==1 --hash={HASH}\nb==2 \\\n    --hash={HASH}\n", (P, P, P), pip_refuses=False),
    "one without hash": Case(f"a==1 --hash={HASH}\nb==2\n", (F, P, P), ("“b==2” has none",)),
    "a hash without version": Case(f"a --hash={HASH}\n", (F, P, W), ("no exact version",)),
    "a short hash": Case("a==1 --hash=sha256:abc\n", (F, P, P), ("hexadecimal",)),
    "an index": Case("-i https://example.org/simple\n--extra-index-url=https://x.org\npillow==11.0.0\n", (P, P, P)),
    "options behind a name": Case("pillow==11.0.0 -i https://example.org/simple\n", (W, P, P), ("ignores",)),
    "git": Case("git+https://example.org/x.git@v1#egg=x\n", (W, P, P), ("fetched from another host",), pip_refuses=False),
    "a direct address": Case("x @ https://example.org/x-1.0.tar.gz\n", (W, P, P), ("another host",), pip_refuses=False),
    "from conda": Case("x @ file:///home/conda/x\n", (F, P, P), ("author's machine",)),
    "an absolute wheel": Case("/opt/wheels/x-1.0-py3-none-any.whl\n", (F, P, P), ("author's machine",)),
    "a shipped wheel": Case(
        "./wheels/x-1.0-py3-none-any.whl\n", (P, P, P), others={"wheels/x-1.0-py3-none-any.whl": "z"}
    ),
    "a missing wheel": Case("wheels/x-1.0-py3-none-any.whl\n", (F, P, P), ("wheels/x-1.0",)),
    "itself": Case("-e .\n", (P, P, P), others={"pyproject.toml": ""}),
    "itself without project": Case("-e .\n", (F, P, P), ("-e .",)),
    "a neighbour": Case("-e ../other\n", (F, P, P), ("author's machine",)),
    "includes": Case("-r more/a.txt\n", (P, F, P), ("more/a.txt:2", "torch-npu"),
                     {"more/a.txt": "-r b.txt\ntorch-npu\n", "more/b.txt": "pillow==11.0.0\n"}),
    "constraints install nothing": Case("-c c.txt\npillow==11.0.0\n", (P, P, P), others={"c.txt": "torch-npu==2.1\n"}),
    "includes itself": Case("-r requirements.txt\npillow==11.0.0\n", (F, P, P), ("includes requirements.txt",)),
    "a circle": Case("-r a.txt\n", (F, P, P), ("a.txt includes",), {"a.txt": "-r b.txt\n", "b.txt": "-r a.txt\n"}),
    "a password file": Case("-r /etc/passwd\n-r ../../etc/passwd\n", (F, P, P), ("leads out", "/etc/passwd")),
    "a missing include": Case("-r none.txt\n", (F, P, P), ("no readable file none.txt",)),
    "an include on the web": Case("-r https://example.org/r.txt\n", (W, P, P), ("another host",)),
    "two versions": Case("a==1.0\na==2.0\n", (F, P, P), ("excludes",)),
    "the same twice": Case("a==1.0\na>=0.5\n", (P, P, W), ()),
    "two versions on two systems": Case(
        "a==1.0; python_version < '3.11'\na==2.0; python_version >= '3.11'\n", (P, P, P)
    ),
    "its own row": Case("vllm-ascend==0.18.0\ntransformers==4.57.6\n", (P, W, P), ("vllm-ascend",)),
    "against its own row": Case(
        "vllm-ascend==0.23.0\ntransformers==4.57.6\n", (P, W, F), ("no installation has both",)
    ),
    "against its own vllm": Case("vllm==0.23.0\nopenai==1.0.0\n", (P, W, F), ("no installation has both",)),
    "cuda": Case("flash-attn==2.5.0\nnvidia-cublas-cu12==12.1.3\n", (P, P, W), ("needs CUDA",)),
    "one endless line": Case("x" * 10_000_000, (F, P, P), ("1 MiB",)),
    "many blanks": Case((" " * 19_000 + "#\n") * 40, (P, P, P)),
    "many parentheses": Case("a; " + "(" * 15_000 + "\n", (F, P, P)),
}  # fmt: skip


@pytest.mark.process
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_every_file_is_told_what_is_wrong_with_it(tmp_path: Path, case: Case):
    root = folder(
        tmp_path, {"deploy.sh": GOOD_SCRIPT, "requirements.txt": case.text, **case.others}
    )
    submission = read_submission(root)
    results = [judged(submission, each) for each in (PARSE, PROVIDED, STACK)]
    told = " | ".join(
        one
        for result in results
        for level in (Level.FAIL, Level.WARN)
        for one in seen(result, level)
    )
    told += " | ".join(found.expected for result in results for found in result.findings)
    assert tuple(result.outcome for result in results) == case.outcomes, told
    for words in case.told:
        assert words in told
    for result in results:
        assert all(found.fix for found in result.findings if found.level is not Level.NOTE)


PIP_READS = """
import json, sys
from pip._internal.network.session import PipSession
from pip._internal.req.constructors import install_req_from_parsed_requirement
from pip._internal.req.req_file import parse_requirements
answers = {}
for path in sys.argv[1:]:
    try:
        for line in parse_requirements(path, session=PipSession()):
            install_req_from_parsed_requirement(line)
        answers[path] = False
    except BaseException as error:
        answers[path] = True
print(json.dumps(answers))
"""


@pytest.mark.process
def test_pip_itself_refuses_what_is_refused(tmp_path: Path):
    pytest.importorskip("pip")
    asked = {name: case for name, case in CASES.items() if case.pip_refuses is not None}
    paths = {}
    for name, case in asked.items():
        path = tmp_path / name / "requirements.txt"
        path.parent.mkdir()
        path.write_bytes(case.text.encode() if isinstance(case.text, str) else case.text)
        paths[str(path)] = name
    done = subprocess.run(
        (sys.executable, "-c", PIP_READS, *paths), capture_output=True, check=True, cwd=tmp_path
    )
    answers = {paths[path]: refused for path, refused in json.loads(done.stdout).items()}
    assert answers == {name: case.pip_refuses for name, case in asked.items()}


@pytest.mark.process
def test_no_file_is_right_and_a_near_name_is_not(tmp_path: Path):
    none = read_submission(folder(tmp_path / "a", {"deploy.sh": GOOD_SCRIPT}))
    assert [judged(none, each).outcome for each in (PARSE, PROVIDED, STACK)] == [P, S, S]
    near = read_submission(
        folder(tmp_path / "b", {"deploy.sh": GOOD_SCRIPT, "requirement.txt": "numpy==2.0\n"})
    )
    assert "requirement.txt" in seen(judged(near, PARSE), Level.WARN)[0]
    used = {"deploy.sh": "#!/bin/sh\npip install -r requirement.txt\n", "requirement.txt": ""}
    assert judged(read_submission(folder(tmp_path / "c", used)), PARSE).outcome is P


@pytest.mark.process
def test_a_folder_and_a_link_out(tmp_path: Path):
    assert (
        judged(read_submission(folder(tmp_path / "a", {"requirements.txt/x": ""})), PARSE).outcome
        is F
    )
    root = folder(tmp_path / "b", {"deploy.sh": GOOD_SCRIPT})
    (root / "requirements.txt").symlink_to("/etc/passwd")
    submission = read_submission(root)
    assert judged(submission, PARSE).outcome is F
    assert submission.requirements is None


@pytest.mark.process
def test_an_include_that_is_a_link_out_is_not_read(tmp_path: Path):
    root = repository(tmp_path / "r", {"deploy.sh": GOOD_SCRIPT, "requirements.txt": "-r a.txt\n"})
    (root / "a.txt").symlink_to("/etc/passwd")
    submission = read_submission(root)
    assert [text.path for text in submission.texts] == ["requirements.txt"]


@pytest.mark.process
@pytest.mark.parametrize(
    ("line", "package"),
    [
        ("pip install torch==2.1 numpy==2.0", "torch==2.1"), ("python3 -m pip install -q 'vllm>=0.9'", "vllm>=0.9"),
        ("pip3 install torch_npu && echo", "torch_npu"), ("uv pip install triton", "triton"), ("# pip install torch", ""),
        ("echo pip installs torch", ""), ("apt-get install python3", ""), ("pip install numpy==2.0", ""),
    ],
)  # fmt: skip
def test_what_deploy_sh_installs_itself(tmp_path: Path, line: str, package: str):
    result = judged(
        read_submission(folder(tmp_path, {"deploy.sh": f"#!/bin/sh\n{line}\nexec vllm\n"})),
        PROVIDED,
    )
    assert result.outcome is (W if package else S)
    assert not package or result.findings[0].seen == f"pip install {package}"


@pytest.mark.process
def test_the_repair_of_a_package_without_a_version_is_an_order(tmp_path: Path):
    text = "numpy\nhttpx>=0.27\nmy_package\n"
    root = folder(tmp_path, {"deploy.sh": GOOD_SCRIPT, "requirements.txt": text})
    found = judged(read_submission(root), STACK).findings[0]
    version = stacks.installed(stacks.row(stacks.DEFAULT))["numpy"]
    assert [(edit.old, edit.new) for edit in found.edits] == [("numpy", f"numpy=={version}")]
    assert "run `pip freeze | grep -iE '^(httpx|my[-_.]package)(==| @ )'`" in found.fix


@pytest.mark.process
def test_another_row_of_the_matrix(tmp_path: Path):
    root = folder(
        tmp_path, {"deploy.sh": GOOD_SCRIPT, "requirements.txt": "transformers==4.57.6\n"}
    )
    assert judged(read_submission(root), STACK).outcome is W
    assert judged(read_submission(root, stack="0.18.0"), STACK).outcome is P
    folder(root, {".copier-answers.yml": "stack: 0.18.0\n"})
    assert read_submission(root).stack == "0.18.0"
    assert judged(read_submission(root), STACK).outcome is P
    assert read_submission(root, stack="0.23.0").stack == "0.23.0"
    for nonsense in ("stack: [", "- a", "stack: 9.9", "", "stack: {a: b}"):
        folder(root, {".copier-answers.yml": nonsense})
        assert read_submission(root).stack == stacks.DEFAULT


@given(st.binary(max_size=400))
def test_any_bytes_are_read(data: bytes):
    for entry in requirements.read("requirements.txt", data).entries:
        assert entry.line >= 1
        entry.applies()


LINES = (
    "numpy==1.0",
    "-r a.txt",
    "--hash=x",
    "\\\n",
    "\n",
    "#",
    " ",
    ";",
    "@",
    "https://",
    "-e",
    "[a]",
    "==",
    "é",
)


@given(st.lists(st.sampled_from(LINES), max_size=25).map("".join))
def test_any_text_is_read_and_lines_grow(text: str):
    lines = [entry.line for entry in requirements.read("requirements.txt", text.encode()).entries]
    assert lines == sorted(set(lines))


@pytest.mark.parametrize(
    ("specifiers", "some"),
    [
        (["==1.0", ">=1.0"], True), (["==1.0", ">1.0"], False), (["<2", ">=2"], False), (["<2", ">1.9.9"], True),
        ([">=4.53.2", "<4.54.0"], True), (["==5.5.4", "!=5.5.0,>=4.56"], True), (["==4.37.0", ">=4.51.1"], False),
        (["~=1.4", "<1.5"], True), (["~=1.4.2", ">=1.5"], False), (["==1.*", "==1.5"], True), (["", "==3"], True),
        (["<0.124.0", ">=0.133.0"], False), (["!=1.0", "==1.0"], False), ([">1.0", "<1.0.1"], True),
    ],
    ids=str,
)  # fmt: skip
def test_whether_a_version_satisfies_all(specifiers: list[str], some: bool):
    assert satisfiable(specifiers) is some
    assert satisfiable(specifiers[::-1]) is some
