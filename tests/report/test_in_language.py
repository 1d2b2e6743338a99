"""A report in Chinese: its words, and nothing of what it quotes."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from markupsafe import Markup, escape

from healthcheck.core.check import fail, warn
from healthcheck.core.records import Outcome, Report, Verdict
from healthcheck.report import lines, page, summary, terminal
from healthcheck.report.measured import OUTCOMES
from healthcheck.stages.plan.checks.port import port
from healthcheck.text.language import Language, translation
from healthcheck.text.messages import joined, msg
from tests.support import reports

CHINESE = translation(Language.CHINESE)
ENGLISH_WORDS = re.compile(r"\b(expected|seen|saw|failed|the|for)\b")
HOSTILE = '<script>alert(1)</script> & "x" &lt;b&gt;'


def report(seen: str) -> Report:
    found = (
        fail(
            expected=msg("port {port}", port=8000),
            seen=msg(
                "{seen}: {quoted}",
                seen=msg("port {port} ({text})", port=8001, text="--port 8001"),
                quoted=seen,
            ),
            fix=msg("write {flag}", flag="--port 8000"),
            where="deploy.sh:7",
        ),
        warn(expected=msg("a model server is started and stays"), seen=seen, fix=""),
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
    chinese = page.render(report(HOSTILE), translation=CHINESE).decode()
    assert '<html lang="zh-CN">' in chinese
    assert '<h2 id="findings-title">发现</h2>' in chinese
    assert Tags(english).tags == Tags(chinese).tags
    assert "端口 8001" in chinese
    assert "alert(1)" in chinese
    assert "<script>alert" not in chinese


@pytest.mark.parametrize("text", ["nothing", "right", HOSTILE])
def test_a_template_says_messages_and_leaves_texts(text: str):
    environment = page.environment(CHINESE)
    made = environment.from_string(
        '<p title="{{ msg(\'nothing\') }}">{{ msg("nothing") }} {{ text }}</p>'
    )
    said = CHINESE.say(msg("nothing"))
    assert said != "nothing"
    assert made.render(text=text) == f'<p title="{said}">{said} {escape(text)}</p>'


def test_a_template_escapes_what_a_message_quotes_and_a_value_that_is_markup():
    environment = page.environment(CHINESE)
    made = environment.from_string(
        '{{ msg("write {flag}", flag=text) }}{{ joined(", ", [text, msg("nothing")]) }}'
    )
    expected = CHINESE.say(msg("write {flag}", flag=HOSTILE)) + CHINESE.say(
        joined(", ", [HOSTILE, msg("nothing")])
    )
    assert made.render(text=HOSTILE) == escape(expected)
    assert made.render(text=Markup("<b>")) == escape(
        CHINESE.say(msg("write {flag}", flag="<b>"))
        + CHINESE.say(joined(", ", ["<b>", msg("nothing")]))
    )


def test_what_is_joined_by_nothing_has_no_header_of_the_catalogue_in_it():
    assert CHINESE.say(joined("", ["a", msg("nothing")])) == "a" + CHINESE.say(msg("nothing"))


def test_the_texts_of_a_drawing_are_chinese_and_its_data_stay():
    launch = {"ready_s": 2.0, "phases": [{"name": "nothing", "at_s": 0.5}]}
    about = {"launch": launch}
    made = page.render(replace(report("x"), provenance=about), translation=CHINESE).decode()
    assert f'aria-label="{CHINESE.say(msg("Phases of the launch in seconds"))}"' in made
    assert ">nothing · 1.5 秒<" in made
    assert f">{CHINESE.say(msg('first token'))} · " in made


def test_the_samples_have_chinese_words_and_the_answers_of_the_model():
    run = reports.run(answer="right")
    made = page.render(reports.report(), run, CHINESE).decode()
    data = json.loads(made.split('id="data">')[1].split("</script>")[0])
    assert data["outcomes"]["right"] == CHINESE.say(msg("right"))
    assert data["words"]["prompt"] == CHINESE.say(msg("prompt")) != "prompt"
    assert {sample.get("text") for sample in data["samples"]} >= {"right"}
    assert {sample["o"] for sample in data["samples"]} <= set(OUTCOMES)


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
    chinese = page.render(replace(report("x"), provenance=about), translation=CHINESE).decode()
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


def test_a_numbered_label_is_chinese():
    about = {"machine": {"firmware of NPU 3": "7.1"}}
    chinese = page.render(replace(report("x"), provenance=about), translation=CHINESE).decode()
    assert "<dt>NPU 3 的固件</dt><dd>7.1</dd>" in chinese


def test_the_longest_quotation_of_a_message_is_cut_and_the_message_stays():
    made = reports.text_of_options(page.render(report("x" * 5000), translation=CHINESE).decode())
    assert f"端口 8001（--port 8001）：{'x' * 3000}…（report.json 中另有 2000 个字符）</dd>" in made
