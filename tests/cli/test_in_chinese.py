"""What a command says by itself, beside a report, in Chinese: refusals and closing lines; quoted text stays."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from healthcheck.cli import main
from healthcheck.cli.output import paragraph
from healthcheck.text.language import VARIABLE
from healthcheck.text.messages import msg
from tests.support.template import ROOT

WEIGHTS = str(ROOT / "examples/simulated_engine/weights")
ENGLISH = re.compile(
    r"\b(the|is|are|not|no|expected|give|name|write|cannot|must|did you mean|see|of|with|a|for)\b(?!-)"
)


@pytest.fixture(autouse=True)
def chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "zh")


def said(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[object, str]:
    try:
        status: object = main(words)
    except SystemExit as stop:
        status = stop.code
    shown = capsys.readouterr()
    return status, shown.out + shown.err


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["verfy"], "是否想写 verify？"),
        (["verify", "--wieghts", "x"], "无法识别的参数：--wieghts"),
        (["verify", "--weights"], "参数 --weights：需要一个值"),
        (["verify", "--npus", "0"], "参数 --npus：0 小于 1"),
        (["verify", "--deadline", "soon"], "参数 --deadline：'soon' 不是数字"),
        (["verify", ".", "--until", "weights"], "--until weights 需要权重"),
        (["verify", ".", "--weights", "/nowhere"], "--weights /nowhere 不是目录"),
        (["verify", "/nowhere"], "没有目录 /nowhere"),
        (["verify", "--quiet", "--verbose"], "不能与"),
        (["verify", ".", "--weights", WEIGHTS, "--out", "/proc/x"], "无法写入 /proc/x："),
        (["probe", "http://h", "--problems", "many"], '应为整数，不小于 1，而不是 "many"'),
        (["probe", "nowhere"], "不是服务器地址"),
        (["probe", "http://127.0.0.1:9", "--set", "a"], "--set 'a' 缺少 '='"),
        (["probe", "http://127.0.0.1:9", "--set", "temprature=1"], "是否想写 temperature？"),
        (["new", "x", "--task", "text", "--defaults"], "是否想写 text-generation？"),
        (["new"], "请给出要创建的目录"),
        (["explain", "plan/prot"], "没有检查项 'plan/prot'；是否想写 plan/port"),
        (["diagnose", "/nowhere"], "无法读取 /nowhere：没有这个文件或目录"),
        (["update", "/tmp"], "不是 `npu-adapter new` 生成的"),
        (["verify", "--quiet=3"], "参数 --quiet：不接受值 '3'"),
        (
            ["verify", "--wei", "x"],
            "选项有歧义：--wei 可能是 --weights, --weights-config, --weight-limit",
        ),
        (["verify", "--until", "x"], "参数 --until：'x' 不是以下之一：repo, plan"),
        (["simulate", "--port", "9" * 9], "不在 0 到 65535 之间"),
        (["simulate", "--fault", "no-dne"], "没有这个故障或方言：'no-dne'"),
    ],
)
def test_a_refusal(words: list[str], meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, shown = said(words, capsys)
    assert status == 2
    assert meant in shown
    assert not ENGLISH.search(re.sub(r"`[^`]*`|'[^']*'|\"[^\"]*\"", "", shown)), shown


def test_where_a_known_failure_is_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "deploy.log"
    log.write_text("ModuleNotFoundError: No module named 'dlinfer'\n")
    status, shown = said(["diagnose", str(log)], capsys)
    assert status == 0
    assert "来源：Python 的标准报错文本" in shown


def test_a_long_line_is_translated_before_it_is_broken() -> None:
    text = msg(
        "A is right in {first:.1f} %, so that losing everything would be within the margin of "
        "{margin}; compare with a sound run, or give a smaller --margin",
        first=12.5,
        margin=msg("{margin:.1f} points", margin=5.0),
    )
    lines = list(paragraph(text, 80, "  "))
    assert len(lines) > 1
    assert all(line.startswith("  ") for line in lines[1:])
    assert not ENGLISH.search("".join(lines)), lines


@pytest.mark.parametrize(
    "words", [["verify", "--nonsense", "--lang", "en"], ["--lang=en", "verify", "--nonsense"]]
)
def test_the_option_wins_wherever_it_stands(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert "unrecognized arguments: --nonsense" in said(words, capsys)[1]


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["--help"], 0),
        ([], 2),
        *(
            ([command, option], 0)
            for command in ("verify", "probe")
            for option in ("--help", "--help-all")
        ),
        (["doctor", "--help"], 0),
    ],
)
def test_the_help(words: list[str], status: int, capsys: pytest.CaptureFixture[str]) -> None:
    ended, shown = said(words, capsys)
    assert ended == status
    assert not ENGLISH.search(re.sub(r"`[^`]*`|（not ready）|\[--?[^]]*\]|--[\w-]+", "", shown)), (
        shown
    )


@pytest.mark.process
def test_what_a_new_repository_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, shown = said(["new", str(tmp_path / "my-adapter"), "--defaults"], capsys)
    assert status == 0
    assert "已建成 git 仓库" in shown
    assert "# 评测服务会发现的问题" in shown
