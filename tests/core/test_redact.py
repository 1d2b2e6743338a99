"""Secrets are taken out of what is quoted, and what a diagnosis quotes stays readable."""

from __future__ import annotations

import re
import sys
import time

import pytest
from babel.messages.pofile import read_po
from hypothesis import assume, given
from hypothesis import strategies as st

from healthcheck.core.records import CheckResult, Finding, Level, Outcome, Report, Verdict
from healthcheck.core.stages import Stage
from healthcheck.system import toml_text
from healthcheck.text.language import DOMAIN, LOCALE
from healthcheck.text.messages import Message, msg
from healthcheck.text.redact import beginning, redacted, redactor, without_secrets
from healthcheck.text.secret_shapes import REMOVED, SHAPES, without_case, without_shapes
from tests.support.template import ROOT

SECRET = "Zq7-vT.9xK_w2Lm4"
SHAPED = (
    "hf_AbCdEfGhIjKlMnOpQrStUvWxYzabcdefgh",
    "sk-proj-4fGh7JkL9mNpQrStUv",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "glpat-1234567890abcdefghij",
    "AKIAIOSFODNN7EXAMPLE",
    "ms-0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9",
    "eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl",
)
PLAIN = (
    "--api-key letmein", "--password=hunter", "DB_PASSWORD=hunter", "HF_TOKEN=abc", "access_token: abc",
    "mypassword=hunter", "MODEL_KEY=hunter", "dbpass=hunter", "keypass: hunter", "ssh_pass=hunter",
    "--pwd hunter", "secret: hunter", "client_secrets=hunter", "api_keys=hunter", "api_key2=hunter", "SECRET=hunter",
    "${DB_PASSWORD:=hunter", "${DB_PASSWORD=hunter", "DB_PASS=123456", "password: 123456", "TOKEN: hunter", "API_KEY_1=hunter",
    "- name: HF_TOKEN\n  value: hunter",
)  # fmt: skip
READABLE = (
    "max_num_batched_tokens=8192, max_tokens: 24, tokens_per_s: 31.5, 5 tokens",
    "vllm serve /m --max-num-batched-tokens 8192 --port 8000 --trust-remote-code",
    "eos_token: <eos>, pad_token: '[PAD]', bos_token=begin_of_text_128000, 'image_token': 151655",
    "eos_token_id=151645 stop_token_ids=[151643]",
    "export HF_TOKEN=$HF_TOKEN OTHER_TOKEN='${HF_TOKEN}'",
    "${HF_TOKEN:-} ${HF_TOKEN:-$OTHER} ${HF_TOKEN:=} ${HF_TOKEN:?set it}",
    "give it a default: ${HF_TOKEN:-value}",
    "deploy.sh: line 3: HF_TOKEN: unbound variable",
    "deploy.sh: line 2: HF_TOKEN: Set HF_TOKEN to a token",
    "/repo/deploy.sh: 2: API_KEY: give one, please",
    "deploy.sh: 3: API_KEY: parameter not set",
    "it needs the environment variable HF_TOKEN: deploy.sh: line 3: HF_TOKEN: is not set",
    "PWD=/root/adapter1 PATH=/usr/bin pwd: /srv/adapter-22",
    'before: export PYTHONPATH="$PWD", or name its package',
    "api_key=None, token=null, password: ''",
    "Namespace(api_key=None, allow_credentials=False, hf_token=None)",
    "['--allow-credentials', '--no-allow-credentials', '--port', '8000']",
    "start the server without --api-key, and without VLLM_API_KEY in its environment",
    "error: argument --api-key: expected at least one argument",
    "KeyError: 'model.layers.0.mlp.weight'",
    "Unexpected key: model.layers.0.weight, missing_keys=['lm_head.weight']",
    "JSON: unexpected token: newline, and near unexpected token `newline'",
    '{"token": " the", "logprob": -0.1}',
    "vllm 0.11.0 requires tiktoken==0.7.0; hf_transfer, hf_hub_download(), sk-learn and ms-swift are installed",
    "plan/no-api-key: the server demands a key",
    "http://127.0.0.1:8000/v1/models https://docs.vllm.ai/en/latest?q=a&page=2",
    f"commit {'0123456789' * 4}, sha256:{'0123456789abcdef' * 4}",
)


@pytest.mark.parametrize("line", PLAIN)
def test_where_the_name_is_plain_a_weak_secret_is_removed(line: str) -> None:
    assert without_secrets(line) == line.replace(re.split(r"[ =]", line)[-1], REMOVED)


@pytest.mark.parametrize("secret", SHAPED)
@pytest.mark.parametrize("around", ["{}", "token {} is invalid", "x={},", "'{}'", "/cache/{}/x"])
def test_what_has_the_shape_of_a_secret_is_removed_wherever_it_stands(
    secret: str, around: str
) -> None:
    assert without_secrets(around.format(secret)) == around.format(REMOVED)


ENDS = (
    "key", "secret", "token", "password", "passwd", "passphrase", "pass", "pwd", "credential", "signature", "auth", "pat",
    "authorization",
)  # fmt: skip
STYLES = (
    str.lower,
    str.upper,
    lambda name: name.replace("_", "-"),
    lambda name: name.title().replace("_", ""),
)
LAYOUTS = (
    "export {}={}", "{}='{}'", "{} := {}", "{}: {}", '  {}: "{}"', "- name: {}\n  value: {}", '{{"{}": "{}", "a": 1}}',
    '{{\\"{}\\":\\"{}\\"}}', '{{"name": "{}", "value": "{}"}}', "vllm serve /m --{} {} --port 8000", "--{}={}",
    "['--{}', '{}']", "X-{}: {}", "{}: Bearer {}", "(b'x-{}', b'{}')", "GET /x?{}={}&a=b", "os.environ['{}'] = '{}'",
)  # fmt: skip


@given(
    st.from_regex(r"q[a-z]{1,9}(_[a-z]{1,9})?", fullmatch=True), st.sampled_from(ENDS), st.sampled_from(STYLES),
    st.sampled_from(LAYOUTS), st.from_regex(r"[A-Za-z][A-Za-z0-9_.+/=~@:!#^-]{8,40}", fullmatch=True),
)  # fmt: skip
def test_no_secret_stays_under_the_name_of_one(begin, end, style, layout, secret) -> None:
    name = style(f"{begin}_{end}")
    assume(secret[:8] not in layout.format(name, REMOVED))
    shown = without_secrets(f"before {layout.format(name, secret)}\nnext line")
    assert secret[:8] not in shown
    assert name in shown
    assert shown.startswith("before ")
    assert shown.endswith("next line")
    assert without_secrets(shown) == shown


@given(st.text(st.sampled_from("tokenkeypasswordsecret-_=:'\"[]{}, \n<$1aZ/@.\\?&")) | st.text())
def test_any_text_is_taken_and_a_second_time_changes_nothing(text: str) -> None:
    once = without_secrets(text)
    assert without_secrets(once) == once


@pytest.mark.parametrize("line", READABLE)
def test_what_is_no_secret_stays(line: str) -> None:
    assert without_secrets(line) == line


def test_recorded_failures_stay_as_they_are() -> None:
    """Diagnoses read and quote these lines."""
    logs = [
        toml_text.load(file.read_bytes(), file.name)
        for file in (ROOT / "tests/service/data").glob("*.toml")
    ]
    lines = [line for log in logs for each in log["log"] for line in each["lines"]]
    assert len(lines) > 1000
    changed = [line for line in lines if without_secrets(line) != line]
    assert changed == ["vllm-mlx: error: unrecognized arguments: --api-key your-secret-key"]


def test_the_words_of_the_kit_are_no_secrets() -> None:
    """A message in which redaction finds one loses its template, and with that its translation."""
    with (LOCALE / "zh" / "LC_MESSAGES" / f"{DOMAIN}.po").open("rb") as file:
        ids = [each.id for each in read_po(file) if each.id]
    templates = [text for each in ids for text in ([each] if isinstance(each, str) else each)]
    said = [re.sub(r"\{\w+(:[^}]*)?\}", "word", template) for template in templates]
    assert len(said) > 1000
    assert [text for text in said if without_secrets(text) != text] == []


def test_a_message_keeps_its_template_and_a_secret_beside_its_name_goes() -> None:
    message = msg(
        "{command} failed: {why}", command=f"curl --token {SECRET}", why="unbound variable"
    )
    assert without_secrets(message) == msg(
        "{command} failed: {why}", command=f"curl --token {REMOVED}", why="unbound variable"
    )
    assert isinstance(without_secrets(message), Message)
    assert (
        without_secrets(msg("{name}={value}", name="HF_TOKEN", value="hunter"))
        == f"HF_TOKEN={REMOVED}"
    )


def test_a_known_value_is_removed_wherever_it_stands() -> None:
    redact = redactor(
        {"DB_PASSWORD": "correct horse", "PORT": "8000", "SHORT_TOKEN": "a", "KEY_FILE": "/x/y"}
    )
    assert (
        redact("connected with correct horse on 8000, a /x/y")
        == "connected with removed on 8000, a /x/y"
    )


def test_of_two_known_values_the_longer_is_removed_whole() -> None:
    longer, shorter = "correct horse battery", "correct horse"
    for values in ([longer, shorter], [shorter, longer]):
        redact = redactor({f"DB{number}_PASSWORD": value for number, value in enumerate(values)})
        assert (
            redact(f"connected with {longer} and {shorter}")
            == f"connected with {REMOVED} and {REMOVED}"
        )


def test_without_known_values_a_text_stays() -> None:
    assert redactor({})("connected") == "connected"


def quoting(words: str) -> Report:
    """A report that has these words wherever it can quote something."""
    evidence = {"words": words, "more": [words, {"deep": words}]}
    finding = Finding(
        level=Level.FAIL, expected=words, seen=words, fix=words, where=words, evidence=evidence
    )
    result = CheckResult(
        id="a", stage=Stage.PLAN, title="A", outcome=Outcome.FAIL, why="for the test", because=words,
        findings=(finding, finding),
    )  # fmt: skip
    return Report(
        verdict=Verdict.NOT_READY, results=(result, result), asked=words, metrics={words: evidence},
        provenance={"launch": evidence}, stopped=words, uncommitted=words,
    )  # fmt: skip


def test_every_text_of_a_report_is_reached() -> None:
    assert redacted(quoting(f"--api-key {SECRET}"), without_secrets) == quoting(
        f"--api-key {REMOVED}"
    )


@pytest.mark.parametrize(
    "words", [["--api-key", "--port", "8000"], ["--api-key=$KEY", "model"], ["token", "model"]]
)
def test_only_the_word_after_an_option_is_its_value(words: list[str]) -> None:
    assert redacted(words, without_secrets) == words


def test_values_inside_are_reached() -> None:
    value = {
        "command": ["vllm", "serve", "--api-key", "x", "--port", "8000", "--env", "A_TOKEN=b"],
        "env": {"HF_TOKEN": "c", "PORT": "1", "PWD": "/x"},
        "api_key": "--api-key",
        "tokens": 3,
    }
    assert redacted(value, without_secrets) == {
        "command": [
            "vllm",
            "serve",
            "--api-key",
            REMOVED,
            "--port",
            "8000",
            "--env",
            f"A_TOKEN={REMOVED}",
        ],
        "env": {"HF_TOKEN": REMOVED, "PORT": "1", "PWD": "/x"},
        "api_key": "--api-key",
        "tokens": 3,
    }


HOSTILE = (
    "token", "api_key=", "a.b-", "://", "Bearer ", "'", "hf_", "eyJ", "key ", "-----BEGIN PRIVATE KEY-----", "sk-",
    "AKIA-", "eyJabcdef-", "eyJabcdef.", "ms-0a1b2c3d-", "curl ", "curl -u a", "cookie:", "authorization: ", "token:",
    "token=$", "x_key=<", "token='$", "pwd=/", "aaaa\n", "mysql ",
)  # fmt: skip


@pytest.mark.parametrize("unit", HOSTILE)
def test_a_hostile_text_takes_no_time(unit: str) -> None:
    began = time.process_time()
    without_secrets(unit * (400_000 // len(unit)))
    assert time.process_time() - began < 10


@pytest.mark.parametrize("room", range(1, 80, 7))
def test_a_text_is_cut_after_its_secrets_are_left_out(room: int) -> None:
    secret = "sntryu_" + "0123456789abcdef" * 4
    cut = beginning(f"refused: {secret} is not known", room)
    assert cut == "refused: removed is not known"[:room]


def test_a_quoted_assignment_that_a_shell_took_for_a_command_hides_its_value() -> None:
    assert "correct" not in without_secrets("deploy.sh: 2: API_KEY=correct horse: not found")


SHAPED_WORDS = (
    "authorization was bearer abcd1234", "<password>hunter2</password>", "the token\u662fabc12345",
    "the \u5bc6\u7801: hunter22", "the passphrase is 'a b c'", "pa\u017f\u017fword is hunter2",
    "https://hooks.\u017flack.com/services/T1/B2/x", "coo\u212a\u0131e: a=b", "/x?\u017fig=hunter2",
    "docker login -u me -p hunter r.example",
)  # fmt: skip


@pytest.mark.parametrize("text", SHAPED_WORDS)
@pytest.mark.parametrize("change", [str, str.upper, str.title])
def test_a_shape_is_looked_for_wherever_its_pattern_matches(text: str, change: type[str]) -> None:
    text = expected = change(text)
    for shape in SHAPES:
        expected = shape.pattern.sub(rf"\1{REMOVED}", expected)
    assert without_shapes(text) == expected
    assert change is not str or REMOVED in expected


def test_signs_are_found_in_letters_that_patterns_take_for_theirs() -> None:
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    taken = re.findall(r"(?i)[a-z]", every)
    signs = without_case("".join(taken))
    assert re.fullmatch(r"[a-z]+", signs)
    assert all(
        re.fullmatch(sign, each, re.IGNORECASE) for sign, each in zip(signs, taken, strict=True)
    )
