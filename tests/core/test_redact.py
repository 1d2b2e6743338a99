"""Secrets are taken out of what is quoted, and nothing else is."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from healthcheck.records import CheckResult, Finding, Level, Outcome, Report, Stage, Verdict
from healthcheck.redact import beginning, redacted, redacted_report, redactor, without_secrets
from healthcheck.secret_shapes import REMOVED, SHAPES, Shape
from tests.support.rows import rows

SECRET = "Zq7-vT.9xK_w2Lm4"
PLANTED = (
    "export HF_TOKEN={}",
    "HF_TOKEN='{}' vllm serve /m",
    "MODELSCOPE_API_TOKEN: {}",
    'AWS_SECRET_ACCESS_KEY="{}"',
    "OPENAI_API_KEY={} python3 x.py",
    "deploy.sh: line 3: DB_PASSWORD: {}!23",
    "config.py: 12: API_KEY: {}-x",
    "DB_PASSWORD: 'you {}'",
    "DB_PASSWORD={}",
    "vllm serve /m --api-key {} --port 8000",
    "vllm serve /m --api-key={} --port 8000",
    "['vllm', 'serve', '--api-key', '{}']",
    "hf download x --token {}",
    "--hf-token {}",
    "--pass {}",
    "INFO non-default args: {{'model': '/m', 'api_key': ['{}'], 'port': 8000}}",
    "Namespace(api_key=['{}'], port=8000)",
    '{{"password": "{}", "a": 1}}',
    '{{\\"api_key\\": \\"{}\\"}}',
    "x-api-key: {}",
    "X-Auth-Token: {}",
    "Authorization: Bearer {}",
    "authorization: Basic {}",
    "Authorization: Token {}",
    "(b'authorization', b'Bearer {}')",
    "> curl -H 'Authorization: {}'",
    "Bearer {}",
    "Cookie: session={}; other=1",
    "Set-Cookie: sid={}; Path=/",
    "pip install --index-url https://user:{}@pypi.example/simple x",
    "git clone https://{}@github.com/a/b",
    "redis://:{}@127.0.0.1:6379/0",
    "GET /x?access_token={}&a=1",
    "GET /x?token={}&a=1",
    "https://b.s3.example/x?X-Amz-Signature={}",
    "token: {}",
    "token={}",
    "password={}",
    "password: {}",
    "passwd => {}",
    "pwd={}",
    "DB_PWD={}",
    "curl -sS -u user:{} http://h/x",
    "curl -sSu user:{} http://h/x",
    "curl --user 'me:{}' http://h/x",
    "echo ${{HF_TOKEN:-{}}}",
    'echo "${{API_KEY:={}}}"',
    '$api_key = "{}"',
    "12: HF_TOKEN: {}",
    "deploy.sh: line 3: HF_TOKEN: {}",
    "HF_TOKEN: {}:",
    "DB_PASSWORD: {} to set it",
    "client_secret: {}",
    "clientSecret: '{}'",
    "secretAccessKey={}",
    "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
)
SHAPED = (
    "hf_AbCdEfGhIjKlMnOpQrStUvWxYzabcdefgh",
    "sk-proj-4fGh7JkL9mNpQrStUv",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "glpat-1234567890abcdefghij",
    "AKIAIOSFODNN7EXAMPLE",
    "ms-0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9",
    "eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl",
)
HARMLESS = (
    "max_num_batched_tokens=8192, max_tokens: 24, tokens_per_s: 31.5",
    "vllm serve /m --max-num-batched-tokens 8192 --port 8000 --trust-remote-code",
    "eos_token='<|im_end|>', pad_token: '[PAD]', bos_token=begin_of_text_128000",
    "eos_token_id=151645 stop_token_ids=[151643]",
    "['--allow-credentials', '--no-allow-credentials', '--port', '8000']",
    '"secret",\n"nargs": "+"',
    "TOKENIZERS_PARALLELISM=false VLLM_TOKENIZER=auto",
    "export HF_TOKEN=$HF_TOKEN",
    "api_key=None, token=null, password: ''",
    "start the server without --api-key, and without VLLM_API_KEY in its environment",
    "the service sends no Authorization header; start the server without an API key",
    "syntax error near unexpected token `newline'",
    "JSON: unexpected token: newline",
    "KeyError: 'model.layers.0.mlp.weight'",
    "Unexpected key: model.layers.0.weight, missing key: lm_head.weight",
    "tokenizer: /models/tokenizer.json (tokenizer_config.json)",
    "http://127.0.0.1:8000/v1/models http://localhost:1 https://docs.vllm.ai/en/latest",
    "PWD=/root/adapter1 PATH=/usr/bin pwd: /srv/adapter-22",
    "docker run -u 1000:1000 image; curl -u $USER:$PASS --user-agent x:y http://h",
    "--api-key: remove it; hint: --token: it is not asked for",
    "sk-learn ms-swift hf_transfer hf_config.json",
    "ValueError: Credentials are missing",
    "read the secret from the file",
    ': "${HF_TOKEN:?Set HF_TOKEN to a token with access}"',
    "deploy.sh: line 3: HF_TOKEN: Set HF_TOKEN to a token with access",
    "deploy.sh: line 3: HF_TOKEN: unbound variable",
    "deploy.sh: 3: API_KEY: parameter not set",
    "it needs the environment variable HF_TOKEN: deploy.sh: line 3: HF_TOKEN: is not set",
    "HF_TOKEN: export your token first",
    "give it a default: ${HF_TOKEN:-value}",
    "${HF_TOKEN:-} ${HF_TOKEN:-$OTHER} ${HF_TOKEN:=}",
    'before: export PYTHONPATH="$PWD", or name its package',
)


@rows("line", PLANTED)
@rows("secret", [SECRET, "0123456789abcdef0123456789abcdef", "correct1horse"])
def test_a_planted_secret_is_removed_and_its_line_stays(line, secret):
    text = f"before {line.format(secret)} behind\nnext line"
    shown = without_secrets(text)
    assert secret not in shown
    assert REMOVED in shown
    assert shown.startswith(f"before {line[:4]}" if not line.startswith("{") else "before {")
    assert shown.endswith("next line")


@rows("secret", SHAPED)
@rows("around", ["{}", "token {} is invalid", "x={},", "'{}'", "/cache/{}/x"])
def test_what_has_the_shape_of_a_secret_is_removed_wherever_it_stands(secret, around):
    assert without_secrets(around.format(secret)) == around.format(REMOVED)


PLAIN = (
    "--api-key letmein", "--password=hunter", "DB_PASSWORD=hunter", "HF_TOKEN=abc", "access_token: abc",
    "mypassword=hunter", "MODEL_KEY=hunter", "dbpass=hunter", "keypass: hunter", "ssh_pass=hunter",
    "--pwd hunter", "secret: hunter", "client_secrets=hunter", "api_keys=hunter", "api_key2=hunter", "SECRET=hunter",
    "${DB_PASSWORD:=hunter", "${DB_PASSWORD=hunter",
)  # fmt: skip


@pytest.mark.parametrize("line", PLAIN)
def test_where_the_name_is_plain_a_weak_secret_is_removed_too(line):
    assert without_secrets(line) == line.replace(re.split(r"[ =]", line)[-1], REMOVED)


@pytest.mark.parametrize(
    "line", ["sort_key=name", "passkey: on", "eos_tokens=abc", "bypass=hunter", "--pass-through on"]
)
def test_a_name_that_is_none_of_a_secret_keeps_its_value(line):
    assert without_secrets(line) == line


@rows("line", HARMLESS)
def test_what_is_no_secret_stays(line):
    assert without_secrets(line) == line


def test_a_known_value_is_removed_wherever_it_stands():
    redact = redactor({"DB_PASSWORD": "correct horse", "PORT": "8000", "SHORT_TOKEN": "a", "KEY_FILE": "/x/y"})
    assert redact("connected with correct horse on 8000, a /x/y") == "connected with removed on 8000, a /x/y"


def test_of_two_known_values_the_longer_is_removed_whole():
    longer, shorter = "correct horse battery", "correct horse"
    for values in ([longer, shorter], [shorter, longer]):
        redact = redactor({f"DB{number}_PASSWORD": value for number, value in enumerate(values)})
        assert redact(f"connected with {longer} and {shorter}") == f"connected with {REMOVED} and {REMOVED}"


def test_without_known_values_a_text_stays():
    assert redactor({})("connected") == "connected"


def quoting(words: str) -> Report:
    """A report that has these words wherever it can quote something."""
    evidence = {"words": words, "more": [words, {"deep": words}]}
    finding = Finding(level=Level.FAIL, expected=words, seen=words, fix=words, where=words, evidence=evidence)
    result = CheckResult(
        id="a", stage=Stage.PLAN, title="A", outcome=Outcome.FAIL, why="for the test", because=words,
        findings=(finding, finding),
    )  # fmt: skip
    return Report(
        verdict=Verdict.NOT_READY, results=(result, result), asked=words, metrics={words: evidence},
        provenance={"launch": evidence}, stopped=words,
    )  # fmt: skip


def test_every_text_of_a_report_is_reached():
    assert redacted_report(quoting(f"--api-key {SECRET}"), without_secrets) == quoting(f"--api-key {REMOVED}")


@pytest.mark.parametrize(
    "words", [["--api-key", "--port", "8000"], ["--api-key=$KEY", "model"], ["token", "model"]]
)
def test_only_the_word_after_an_option_is_its_value(words):
    assert redacted(words, without_secrets) == words


def test_values_inside_are_reached():
    command = ["vllm", "serve", "--api-key", "x", "--port", "8000", "--env", "A_TOKEN=b"]
    value = {
        "command": command,
        "env": {"HF_TOKEN": "c", "PORT": "1", "PWD": "/x"},
        "api_key": "--api-key",
        "tokens": 3,
    }
    assert redacted(value, without_secrets) == {
        "command": ["vllm", "serve", "--api-key", REMOVED, "--port", "8000", "--env", f"A_TOKEN={REMOVED}"],
        "env": {"HF_TOKEN": REMOVED, "PORT": "1", "PWD": "/x"},
        "api_key": "--api-key",
        "tokens": 3,
    }


@given(st.text(st.sampled_from("tokenkeypasswordsecret-_=:'\"[]{}, \n<$1aZ/@.\\")) | st.text())
def test_any_text_is_taken_and_a_second_time_changes_nothing(text):
    once = without_secrets(text)
    assert without_secrets(once) == once


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.hints[0])
def test_what_a_shape_matches_has_one_of_its_hints(shape: Shape) -> None:
    without_lookahead = re.sub(r"\(\?=\[[^()]*\)", "", shape.pattern.pattern)
    characters = st.characters(
        codec="utf-8", exclude_characters="\u017f\u212a"
    )  # s and k to a pattern without case

    @settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(st.from_regex(re.compile(without_lookahead, shape.pattern.flags), alphabet=characters))
    def check(text: str) -> None:
        assert any(hint in text.lower() for hint in shape.hints)

    check()


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "unit",
    [
        *("token", "api_key=", "a.b-", "://", "Bearer ", "'", "hf_", "eyJ", "key ", "-----BEGIN PRIVATE KEY-----"),
        *(
            "sk-",
            "AKIA-",
            "eyJabcdef-",
            "eyJabcdef.",
            "ms-0a1b2c3d-",
            "curl ",
            "curl -u a",
            "cookie:",
            "authorization: ",
        ),
    ],
)
def test_a_hostile_text_takes_no_time(unit):
    began = time.process_time()
    without_secrets(unit * (400_000 // len(unit)))
    assert time.process_time() - began < 10


@rows("room", range(1, 80, 7))
def test_a_text_is_cut_after_its_secrets_are_left_out(room: int) -> None:
    secret = "sntryu_" + "0123456789abcdef" * 4
    cut = beginning(f"refused: {secret} is not known", room)
    assert cut == "refused: removed is not known"[:room]
