"""weights/tokenizer: a chat template gets `content` as vLLM passes it, as text or as a list of parts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from healthcheck.cli import main
from healthcheck.stages.repo.facts import read_submission
from tests.plan.corpus import bash, case
from tests.support.plans import write
from tests.support.repositories import repository
from tests.weights.folders import CHATML, QWEN3, findings, judge, model, plan, said, write_json

pytestmark = pytest.mark.process
CHECK = "weights/tokenizer"
FIRST = (
    "{% for message in messages %}\n{{ message.role }}\n{{ message.content[0].text }}\n{% endfor %}"
)
OVER_PARTS = "{% for m in messages %}{{ m.role }}{% for p in m['content'] %}{{ p.text }}{% endfor %}{% endfor %}"
OF_A_SLICE = "{% set rest = messages[0:] | list %}" + OVER_PARTS.replace("in messages", "in rest")
EITHER = (
    "{% for m in messages %}{% if m.content is string %}{{ m.content }}"
    "{% else %}{% for p in m.content %}{{ p.text }}{% endfor %}{% endif %}{% endfor %}"
)
BY_NAME = "{% for m in messages %}{% set content = m.content %}{% for p in content %}{{ p.text }}{% endfor %}{% endfor %}"
BY_OTHER_NAME = (
    BY_NAME.replace("content %}", "parts %}")
    .replace("set content", "set parts")
    .replace("m.parts", "m.content")
)
IN_A_NAMESPACE = "{% set kept = namespace() %}{% set kept.all = messages %}" + OVER_PARTS
PRINTS = "{% for m in messages %}{{ m.content }}{% for p in m.content %}{% endfor %}{% endfor %}"
FORMAT = "chat_template_content_format"


@pytest.mark.parametrize(
    ("template", "options", "says"),
    [
        (CHATML, {}, ""),
        (OVER_PARTS, {}, ""),
        (OF_A_SLICE, {}, ""),
        (EITHER, {}, ""),
        (EITHER, {FORMAT: "openai"}, ""),
        (EITHER, {FORMAT: "string"}, ""),
        (BY_NAME, {}, ""),
        (FIRST, {FORMAT: "openai"}, ""),
        (FIRST, {FORMAT: "auto"}, "write message.content in place of message.content[0].text | chat.jinja:3"),
        (BY_OTHER_NAME, {}, "has no loop over the parts of a message | add to the command in deploy.sh: --chat-template-content-format openai"),
        (OVER_PARTS, {FORMAT: "string"}, "remove --chat-template-content-format string"),
        (CHATML, {FORMAT: "openai"}, "remove --chat-template-content-format openai"),
        (PRINTS, {}, "writes a Python list in place of the text"),
        ("{% for m in messages %}\n{{ m.content.text.x.y }}{% endfor %}", {}, "chat.jinja:2"),
    ],
)  # fmt: skip
def test_a_template_of_deploy_sh(
    template: str, options: dict[str, str], says: str, tmp_path: Path
) -> None:
    submission = read_submission(
        repository(tmp_path / "r", {"deploy.sh": "", "chat.jinja": template})
    )
    results = judge(
        model(tmp_path / "w"),
        CHECK,
        plan=plan(chat_template="chat.jinja", **options),
        submission=submission,
    )
    story = said(results, CHECK).replace(
        "; vLLM passes text as `content`, because the template", ""
    )
    assert says in story
    assert findings(results).get(CHECK) == ("fail" if says else None), story


@pytest.mark.parametrize(
    ("template", "outcome"), [(FIRST, "fail"), (IN_A_NAMESPACE, "fail"), (OVER_PARTS, None)]
)
def test_a_template_of_the_weights(template: str, outcome: str | None, tmp_path: Path) -> None:
    folder = model(tmp_path / "w")
    (folder / "chat_template.jinja").write_text(template)
    results = judge(folder, CHECK)
    assert findings(results).get(CHECK) == outcome, said(results, CHECK)


def test_another_engine_may_pass_either(tmp_path: Path) -> None:
    folder = model(tmp_path / "w")
    (folder / "chat_template.jinja").write_text(FIRST)
    assert not findings(judge(folder, CHECK, plan=plan(engine="sglang")))


def test_a_system_message_written_as_a_list_warns(tmp_path: Path) -> None:
    folder = model(tmp_path / "w")
    (folder / "chat_template.jinja").write_text(
        "{{ messages[0].content if messages[0].role == 'system' }}" + OVER_PARTS
    )
    results = judge(folder, CHECK)
    assert findings(results)[CHECK] == "warn"
    assert "writes a Python list" in said(results, CHECK)


@pytest.mark.parametrize(("template", "outcome"), [(FIRST, "fail"), (OVER_PARTS, "pass")])
def test_the_repositorys_template_is_judged_before_a_download(
    template: str, outcome: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    deploy = bash(
        'cd "$(dirname "$0")"\n'
        'exec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000 --chat-template templates/chat.jinja'
    )
    root = write(case("template", deploy, files={"templates/chat.jinja": template}), tmp_path / "r")
    write_json(tmp_path / "config.json", QWEN3)
    asked = [
        "verify",
        str(root),
        "--weights-config",
        str(tmp_path / "config.json"),
        "--until",
        "weights",
    ]
    main([*asked, "--json", str(tmp_path / "report.json"), "--out", str(tmp_path / "out")])
    report = json.loads((tmp_path / "report.json").read_text())
    result = next(each for each in report["checks"] if each["id"] == CHECK)
    assert result["outcome"] == outcome, capsys.readouterr().out
    wheres = [finding["where"] for finding in result["evidence"]]
    assert wheres == (["templates/chat.jinja:3"] if outcome == "fail" else [])
