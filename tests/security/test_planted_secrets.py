"""Two hundred planted secrets, in the shapes that secret scanners look for, and two hundred ordinary lines."""

from __future__ import annotations

import pytest

from healthcheck.redact import REMOVED, without_secrets

S = "Zq7vT9xKw2Lm4aB8"
HEX = "0123456789abcdef0123456789abcdef"
LONG = "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3gH5"
VARIABLES = (
    "PASS", "DBPASS", "DB_PASS", "PGPASS", "PGPASSWORD", "MYSQL_PWD", "REDIS_AUTH", "MYSQL_ROOT_PASSWORD", "HF_TOKEN",
    "HUGGING_FACE_HUB_TOKEN", "MODELSCOPE_API_TOKEN", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN", "GITHUB_TOKEN", "GITLAB_TOKEN", "GITEE_ACCESS_TOKEN", "NPM_TOKEN", "PYPI_TOKEN", "DOCKER_PASSWORD",
    "SECRET_KEY", "CLIENT_SECRET", "ENCRYPTION_KEY", "WANDB_API_KEY", "OBS_SECRET_KEY", "OSS_ACCESS_KEY_SECRET", "MINIO_SECRET_KEY",
    "AZURE_CLIENT_SECRET", "SLACK_TOKEN", "ADMIN_PASSWORD", "SUDO_PASS", "SSH_PASSPHRASE", "VLLM_API_KEY", "SWANLAB_API_KEY",
)  # fmt: skip
FORMS = ("export {}={}", "{}={} python3 x.py", "+ {}={}", "{}='{}' ./run.sh")
SHAPES = (
    f"https://a.blob.example/x?sv=1&sig={S}", f"GET /x?signature={S} HTTP/1.1", f"https://x.example/cb?code={S}",
    f"https://maps.example/api?key={S}&q=1", f"https://h/x?client_secret={S}", f"https://h/x?X-Amz-Credential={S}",
    f"https://hooks.slack.com/services/T0/B0/{S}", f"https://discord.com/api/webhooks/1/{S}",
    f"https://x.webhook.office.com/webhookb2/{S}", f"https://open.feishu.cn/open-apis/bot/v2/hook/{S}",
    f"https://api.telegram.org/bot123456789:AA{LONG}/send", f"https://oapi.dingtalk.example/robot?access_token={S}",
    f"sshpass -p {S} ssh h", f"sshpass -p '{S}' scp a h:", f"sshpass -e -p{S} ssh h", f"mysql -u root -p{S} db",
    f"mysqldump --all -p{S}", f"mariadb -h h -p{S}", f"redis-cli -h h -a {S} ping", f"docker login -u me -p {S} r",
    f"machine h login me password {S}", f"curl -u me:{S} https://h", f"git clone https://me:{S}@h/x",
    f"postgresql://u:{S}@h/db", f"amqp://u:{S}@h", f"mongodb+srv://u:{S}@h/d", f"\u5bc6\u7801={S}", f"\u5bc6\u7801\u662f {S}",
    f"\u5bc6\u7801\uff1a{S}", f"\u4ee4\u724c\u4e3a{S}", f"\u5bc6\u94a5: {S}", f"\u53e3\u4ee4\uff1d{S}", f"the password is {S}",
    f"password was '{S}'", f"Passphrase is {S}", f"Authorization: Bearer {S}", f"Authorization: Basic {S}", f"X-Api-Key: {S}",
    f"Cookie: s={S}", f"Set-Cookie: s={S}; Path=/", f"--api-key {S}", f"--password={S}", f"--hf-token {S}",
    f'{{"password": "{S}"}}', f'{{"secretAccessKey": "{S}"}}', f"AccountKey={S};EndpointSuffix=x", f"SharedAccessKey={S}",
    f"ghp_{LONG}", f"gho_{LONG}", f"github_pat_{LONG}", f"glpat-{S}{S}", f"hf_{LONG}", f"sk-{LONG}", f"sk_live_{S}{S}",
    f"xoxb-123456789012-{LONG}", f"xapp-1-{LONG}", f"AKIA{S.upper()}", f"AIza{LONG}", f"ya29.{LONG}", f"SG.{LONG}.{LONG}",
    f"dop_v1_{HEX}{HEX}", f"shpat_{HEX}", f"dckr_pat_{LONG}", f"hvs.{LONG}", f"LTAI{S}", f"AKID{S}{S}", f"gsk_{LONG}", f"nvapi-{LONG}",
    f"r8_{LONG}", f"lin_api_{LONG}", f"rubygems_{HEX}", f"glrt-{S}{S}", f"pul-{HEX}01234567", f"whsec_{LONG}", f"NRAK-{LONG.upper()}",
    f"figd_{LONG}", f"AGE-SECRET-KEY-1{LONG.upper()}", f"npm_{LONG}", f"pypi-{LONG}", f"key-{HEX}", f"tvly-{LONG}",
    f"eyJhbGciOi.{S}.{S}", "-----BEGIN PRIVATE KEY-----\nMIIE" + LONG + "\n-----END PRIVATE KEY-----",
)  # fmt: skip
PLANTED = (*(form.format(name, S) for name in VARIABLES for form in FORMS), *SHAPES)

WORDS = (
    "the password is required", "password is wrong", "your password was rejected", "passed 12 of 13", "PASS: test_a", "PASS",
    "AUTH=none is no option", "use a token of eos", "max_tokens=512", "eos_token: <|im_end|>", "pad_token_id=151643",
    "num_key_value_heads: 8", "key=value", "?key=a", "GET /v1/models?limit=20", "https://example.org/search?q=a&page=2",
    "mysql -p asks for it", "docker login asks", "sshpass is not installed", "redis-cli -h h ping", "ssh -p 2222 host",
    "cp -p a b", "mkdir -p /data/models", "\u5bc6\u7801\u9519\u8bef", "\u5bc6\u7801\u4e0d\u80fd\u4e3a\u7a7a", "\u52a0\u8f7d\u6a21\u578b\u5931\u8d25",
    "--tokenizer Qwen/Qwen3-8B", "--max-model-len 32768", "--served-model-name m", "/home/me/.cache/huggingface/token",
    "tokenizer_config.json", "hf download Qwen/Qwen3-8B", "sk-learn is not installed", "key-value cache", "whsec is a prefix",
    "commit 0123456789abcdef0123456789abcdef01234567", "sha256:" + HEX + HEX, "uuid 123e4567-e89b-12d3-a456-426614174000",
    "Processed prompts: 100%", "INFO 07-01 12:00:00 [api_server.py:1] ready", "GPU KV cache size: 123,456 tokens",
)  # fmt: skip
PREFIXES = ("", "INFO: ", "deploy.sh: line 3: ", "+ ", "(EngineCore pid=12) ")
ORDINARY = tuple(prefix + line for line in WORDS for prefix in PREFIXES)


@pytest.mark.parametrize("line", PLANTED)
def test_no_planted_secret_stays(line: str) -> None:
    shown = without_secrets(line)
    assert REMOVED in shown
    assert not any(secret in shown for secret in (S, LONG, LONG.upper(), HEX, S.upper()))


@pytest.mark.parametrize("line", ORDINARY)
def test_an_ordinary_line_stays_as_it_is(line: str) -> None:
    assert without_secrets(line) == line


def test_there_are_enough_of_both() -> None:
    assert len(PLANTED) >= 200
    assert len(ORDINARY) >= 200
