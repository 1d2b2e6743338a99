"""A report in Chinese: its words, and nothing of what it quotes."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from healthcheck.check import fail, warn
from healthcheck.contract import LAUNCH
from healthcheck.language import Language, phrases
from healthcheck.plan.checks.port import port
from healthcheck.records import Outcome, Report, Verdict
from healthcheck.report import lines, page, summary, terminal
from healthcheck.report.in_language import page_in_language

CHINESE = phrases(Language.CHINESE)
ENGLISH_WORDS = re.compile(r"\b(expected|seen|saw|failed|the|for)\b")
HOSTILE = '<script>alert(1)</script> & "x" &lt;b&gt;'


def report(seen: str) -> Report:
    found = (
        fail(
            expected="port 8000",
            seen=f"port 8001 (--port 8001): {seen}",
            fix="write --port 8000",
            where="deploy.sh:7",
        ),
        warn(expected="a server", seen=seen, fix=""),
    )
    result = port.result(Outcome.FAIL, findings=found)
    return Report(verdict=Verdict.NOT_READY, results=(result,), asked="repo to plan")


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)


def test_the_terminal_speaks_chinese(capsys):
    terminal.show(report("vllm serve"), CHINESE)
    shown = capsys.readouterr().out
    assert "结论：未就绪：plan/port 不通过" in shown
    assert "服务器监听 8000 端口" in shown
    assert re.search(r"实际 +端口 8001（--port 8001）：vllm serve \(deploy.sh:7\)", shown)
    assert not ENGLISH_WORDS.search(re.sub(r"(?m)^(> | *规则 ).*(\n {8,}.*)*", "", shown))


@pytest.mark.parametrize(
    "said", [lambda it: "\n".join(lines.brief(it, CHINESE)), lambda it: summary.render(it, CHINESE)]
)
def test_brief_and_summary_speak_chinese(said):
    shown = said(report("vllm serve"))
    assert "端口 8001" in shown
    assert not ENGLISH_WORDS.search(re.sub(r"(?m)^(> | *规则 ).*(\n {8,}.*)*", "", shown))


def test_the_page_speaks_chinese_and_stays_as_it_is_built():
    english = page.render(report(HOSTILE)).decode()
    chinese = page.render(report(HOSTILE), phrases=CHINESE).decode()
    assert '<html lang="zh-CN">' in chinese
    assert '<h2 id="findings-title">发现</h2>' in chinese
    assert Tags(english).tags == Tags(chinese).tags
    assert "端口 8001" in chinese
    assert "alert(1)" in chinese
    assert "<script>alert" not in chinese


def test_what_is_quoted_stays():
    english = '<p>nothing</p><pre>nothing</pre><code>nothing</code><dd translate="no">nothing<b>nothing</b></dd><p title="nothing">'
    said = CHINESE.say("nothing")
    assert said != "nothing"
    assert page_in_language(english, CHINESE) == (
        f'<p>{said}</p><pre>nothing</pre><code>nothing</code><dd translate="no">nothing<b>nothing</b></dd><p title="{said}">'
    )


def test_the_labels_of_what_ran_are_chinese_and_data_stays():
    about = {
        "at": "2026-11-23",
        "server_command": {"environment": {"HCCL_BUFFSIZE": "512"}},
        "probe": {
            "seed": 0,
            "max_tokens": 4096,
            "request": {"system": "Look."},
            "server": {"models": {"my_model": {"owned_by": "me"}}},
            "datasets": [{"file": "a.csv"}, {"file": "b.csv"}],
        },
    }
    chinese = page.render(replace(report("x"), provenance=about), phrases=CHINESE).decode()
    labels = re.findall(r"<dt>([^<]*)</dt>", chinese.split('id="provenance"')[1])
    assert labels == [
        "开始时间",
        "环境变量 · HCCL_BUFFSIZE",
        "随机种子",
        "max_tokens",
        "每个请求 · 系统消息",
        "服务器的应答信息 · 列出的模型 · my_model · owned_by",
        "数据集 · 1 · file",
        "数据集 · 2 · file",
    ]


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        (
            "run under bash, it ended with status 3; its last lines: no licence for the model",
            "在 bash 下运行时，它以退出码 3 结束；最后几行：no licence for the model",
        ),
        (
            "run under sh, it was still running without a server at the time limit; the last command was: cat never",
            "在 sh 下运行时，到时限时它仍在运行，但没有启动服务器；最后一条命令是：cat never",
        ),
        (
            f"correct the step that says “no licence”, so that the script reaches: {LAUNCH}",
            f"改正输出“no licence”的步骤，使脚本能执行到：{LAUNCH}",
        ),
    ],
)
def test_how_a_script_ended_is_chinese_and_its_own_words_stay(english: str, chinese: str):
    assert CHINESE.say(english) == chinese
