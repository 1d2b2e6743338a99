"""Secrets to plant: the names and shapes of gitleaks and detect-secrets, with our own examples.

Each secret is generated from the name of its rule, so that no two are alike and a leak names its rule.
"""

from __future__ import annotations

import random
import string
from dataclasses import dataclass

LETTERS = string.ascii_letters
MIXED = LETTERS + string.digits
UPPER = string.ascii_uppercase + string.digits
BASE32 = string.ascii_uppercase + "234567"
HEX = "0123456789abcdef"


@dataclass(frozen=True)
class Planted:
    """A line with a secret in it; no part of `secret` may appear."""

    rule: str
    line: str
    secret: str


def made(rule: str, alphabet: str, length: int) -> str:
    """Characters of an alphabet, always the same for a rule; the last of them a digit if it has any."""
    chance = random.Random(rule)
    text = "".join(chance.choice(alphabet) for _ in range(length))
    return text[:-1] + "7" if "7" in alphabet else text


# Secrets with a shape: a prefix, an alphabet, a length, an ending.
SHAPED: dict[str, tuple[str, str, int, str]] = {
    "1password-secret-key": ("A3-", UPPER, 6, "-ABCDEF12345-ABCD1-EFGH2-IJKL3"),
    "1password-service-account-token": ("ops_eyJ", MIXED, 250, ""),
    "adobe-client-secret": ("p8e-", HEX, 32, ""),
    "age-secret-key": ("AGE-SECRET-KEY-1", "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58, ""),
    "alibaba-access-key-id": ("LTAI", MIXED, 20, ""),
    "anthropic-admin-api-key": ("sk-ant-admin01-", MIXED, 93, "AA"),
    "anthropic-api-key": ("sk-ant-api03-", MIXED, 93, "AA"),
    "artifactory-api-key": ("AKCp", MIXED, 69, ""),
    "artifactory-reference-token": ("cmVmd", MIXED, 59, ""),
    "atlassian-api-token": ("ATATT3", MIXED, 186, ""),
    "aws-access-token": ("AKIA", BASE32, 16, ""),
    "aws-session-token": ("ASIA", BASE32, 16, ""),
    "aws-bearer-token": ("ABIA", BASE32, 16, ""),
    "azure-ad-client-secret": ("aB38Q~", MIXED, 33, ""),
    "clickhouse-cloud-api-secret-key": ("4b1d", MIXED, 38, ""),
    "clojars-api-token": ("CLOJARS_", string.ascii_lowercase + "789", 60, ""),
    "cloudflare-origin-ca-key": ("v1.0-0123456789abcdef01234567-", HEX, 146, ""),
    "databricks-api-token": ("dapi", HEX, 32, ""),
    "defined-networking-api-token": ("dnkey-ABCDEFGHIJKLMNOPQRSTUVWXYZ-", MIXED, 52, ""),
    "digitalocean-access-token": ("doo_v1_", HEX, 64, ""),
    "digitalocean-pat": ("dop_v1_", HEX, 64, ""),
    "digitalocean-refresh-token": ("dor_v1_", HEX, 64, ""),
    "discord-bot-token": ("M", MIXED, 23, ".Gx1y2z.abcdefghijklmnopqrstuvwxyz012345"),
    "docker-pat": ("dckr_pat_", MIXED, 27, ""),
    "doppler-api-token": ("dp.pt.", MIXED, 43, ""),
    "dropbox-short-lived-api-token": ("sl.", MIXED, 135, ""),
    "duffel-api-token": ("duffel_live_", MIXED, 43, ""),
    "dynatrace-api-token": ("dt0c01.ABCDEFGHIJKLMNOPQRSTUVWX.", UPPER, 64, ""),
    "easypost-api-token": ("EZAK", MIXED, 54, ""),
    "easypost-test-api-token": ("EZTK", MIXED, 54, ""),
    "facebook-access-token": ("123456789012345|", MIXED, 27, ""),
    "facebook-page-access-token": ("EAAM", MIXED, 120, ""),
    "figma-token": ("figd_", MIXED, 40, ""),
    "flutterwave-secret-key": ("FLWSECK_TEST-", "abcdefgh01234567", 32, "-X"),
    "flyio-access-token": ("fo1_", MIXED, 43, ""),
    "frameio-api-token": ("fio-u-", MIXED, 64, ""),
    "gcp-api-key": ("AIza", MIXED, 35, ""),
    "github-app-token": ("ghu_", MIXED, 36, ""),
    "github-server-token": ("ghs_", MIXED, 36, ""),
    "github-fine-grained-pat": ("github_pat_", MIXED, 82, ""),
    "github-oauth": ("gho_", MIXED, 36, ""),
    "github-pat": ("ghp_", MIXED, 36, ""),
    "github-refresh-token": ("ghr_", MIXED, 36, ""),
    "gitlab-cicd-job-token": ("glcbt-1_", MIXED, 20, ""),
    "gitlab-deploy-token": ("gldt-", MIXED, 20, ""),
    "gitlab-feature-flag-client-token": ("glffct-", MIXED, 20, ""),
    "gitlab-feed-token": ("glft-", MIXED, 20, ""),
    "gitlab-incoming-mail-token": ("glimt-", MIXED, 25, ""),
    "gitlab-kubernetes-agent-token": ("glagent-", MIXED, 50, ""),
    "gitlab-oauth-app-secret": ("gloas-", MIXED, 64, ""),
    "gitlab-pat": ("glpat-", MIXED, 20, ""),
    "gitlab-pat-routable": ("glpat-", MIXED, 27, ".0a1b2c3d4"),
    "gitlab-ptt": ("glptt-", HEX, 40, ""),
    "gitlab-rrt": ("GR1348941", MIXED, 20, ""),
    "gitlab-runner-authentication-token": ("glrt-", MIXED, 20, ""),
    "gitlab-scim-token": ("glsoat-", MIXED, 20, ""),
    "gitlab-session-cookie": ("_gitlab_session=", HEX, 32, ""),
    "grafana-api-key": ("eyJrIjoi", MIXED, 90, ""),
    "grafana-cloud-api-token": ("glc_", MIXED, 60, "=="),
    "grafana-service-account-token": ("glsa_", MIXED, 32, "_0a1b2c3d"),
    "groq-api-key": ("gsk_", MIXED, 52, ""),
    "harness-api-key": ("pat.ABCDEFGHIJKLMNOPQRSTUV.", MIXED, 24, ".abcdefghijklmnopqrst"),
    "hashicorp-tf-api-token": ("ABCDEFGHIJKLMN.atlasv1.", MIXED, 67, ""),
    "heroku-api-key-v2": ("HRKU-AA", MIXED, 58, ""),
    "huggingface-access-token": ("hf_", LETTERS, 34, ""),
    "huggingface-organization-api-token": ("api_org_", LETTERS, 34, ""),
    "infracost-api-token": ("ico-", MIXED, 32, ""),
    "intra42-client-secret": ("s-s4t2ud-", HEX, 64, ""),
    "jwt": ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.", MIXED, 43, ""),
    "jwt-base64": ("ZXlKaGJHY2lPaU", MIXED, 60, "=="),
    "linear-api-key": ("lin_api_", MIXED, 40, ""),
    "mailchimp-api-key": ("", HEX, 32, "-us12"),
    "mailgun-private-api-token": ("key-", HEX, 32, ""),
    "mapbox-api-token": ("pk.", MIXED, 60, ".abcdefghijklmnopqrstuv"),
    "maxmind-license-key": ("aB1cD2_", MIXED, 29, "_mmk"),
    "modelscope-token": ("ms-0a1b2c3d-", HEX, 24, ""),
    "new-relic-browser-api-token": ("NRJS-", HEX, 19, ""),
    "new-relic-insert-key": ("NRII-", MIXED, 32, ""),
    "new-relic-user-api-key": ("NRAK-", UPPER, 27, ""),
    "notion-api-token": ("ntn_12345678901", MIXED, 35, ""),
    "notion-secret": ("secret_", MIXED, 43, ""),
    "npm-access-token": ("npm_", MIXED, 36, ""),
    "nvidia-api-key": ("nvapi-", MIXED, 64, ""),
    "octopus-deploy-api-key": ("API-", UPPER, 26, ""),
    "openai-api-key": ("sk-proj-", MIXED, 74, "T3BlbkFJabcdefgh"),
    "openshift-user-token": ("sha256~", MIXED, 43, ""),
    "perplexity-api-key": ("pplx-", MIXED, 48, ""),
    "plaid-api-token": ("access-production-01234567-89ab-cdef-0123-", HEX, 12, ""),
    "planetscale-api-token": ("pscale_tkn_", MIXED, 43, ""),
    "planetscale-oauth-token": ("pscale_oauth_", MIXED, 43, ""),
    "planetscale-password": ("pscale_pw_", MIXED, 43, ""),
    "postman-api-token": ("PMAK-0123456789abcdef01234567-", HEX, 34, ""),
    "prefect-api-token": ("pnu_", MIXED, 36, ""),
    "pulumi-api-token": ("pul-", HEX, 40, ""),
    "pypi-upload-token": ("pypi-AgEIcHlwaS5vcmc", MIXED, 80, ""),
    "readme-api-token": ("rdme_", string.ascii_lowercase + "789", 70, ""),
    "replicate-api-token": ("r8_", MIXED, 37, ""),
    "rubygems-api-token": ("rubygems_", HEX, 48, ""),
    "scalingo-api-token": ("tk-us-", MIXED, 48, ""),
    "sendgrid-api-token": ("SG.ABCDEFGHIJKLMNOPQRSTUV.", MIXED, 43, ""),
    "sendinblue-api-token": ("xkeysib-" + "0123456789abcdef" * 4 + "-", MIXED, 16, ""),
    "sentry-org-token": ("sntrys_eyJpYXQiO", MIXED, 80, ""),
    "sentry-user-token": ("sntryu_", HEX, 64, ""),
    "settlemint-application-access-token": ("sm_aat_", MIXED, 16, ""),
    "settlemint-personal-access-token": ("sm_pat_", MIXED, 16, ""),
    "settlemint-service-access-token": ("sm_sat_", MIXED, 16, ""),
    "shippo-api-token": ("shippo_live_", HEX, 40, ""),
    "shopify-access-token": ("shpat_", HEX, 32, ""),
    "shopify-custom-access-token": ("shpca_", HEX, 32, ""),
    "shopify-private-app-access-token": ("shppa_", HEX, 32, ""),
    "shopify-shared-secret": ("shpss_", HEX, 32, ""),
    "slack-app-token": ("xapp-1-A0123-456-", HEX, 32, ""),
    "slack-bot-token": ("xoxb-1234567890-1234567890", MIXED, 24, ""),
    "slack-config-access-token": ("xoxe.xoxb-1-", UPPER, 163, ""),
    "slack-config-refresh-token": ("xoxe-1-", UPPER, 146, ""),
    "slack-legacy-workspace-token": ("xoxa-2-", MIXED, 30, ""),
    "slack-user-token": ("xoxp-1234567890-1234567890-1234567890-", MIXED, 30, ""),
    "sonar-api-token": ("squ_", HEX, 40, ""),
    "sourcegraph-access-token": ("sgp_", HEX, 40, ""),
    "square-access-token": ("EAAA", MIXED, 40, ""),
    "square-oauth": ("sq0csp-", MIXED, 43, ""),
    "stripe-access-token": ("sk_live_", MIXED, 24, ""),
    "stripe-restricted-key": ("rk_test_", MIXED, 24, ""),
    "stripe-webhook-secret": ("whsec_", MIXED, 32, ""),
    "tavily-api-key": ("tvly-", MIXED, 32, ""),
    "telegram-bot-api-token": ("123456789:AA", MIXED, 33, ""),
    "tencent-secret-id": ("AKID", MIXED, 32, ""),
    "twilio-api-key": ("SK", HEX, 32, ""),
    "typeform-api-token": ("tfp_", MIXED, 59, ""),
    "vault-batch-token": ("hvb.", MIXED, 140, ""),
    "vault-service-token": ("hvs.", MIXED, 95, ""),
    "vault-legacy-token": ("s.", MIXED, 24, ""),
    "yandex-access-token": ("t1.9euelZqMkJ.", MIXED, 86, ""),
    "yandex-api-key": ("AQVN", MIXED, 36, ""),
    "yandex-aws-access-token": ("YC", MIXED, 38, ""),
}
AROUND = (
    "{}",
    "the server refused {} as it is",
    "+ login {}",
    "'{}',",
    "\u4f7f\u7528{}\u767b\u5f55",
)
VARIABLES = (
    "DBPASS", "DB_PASS", "PGPASSWORD", "MYSQL_PWD", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN",
    "MODELSCOPE_API_TOKEN", "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "GITEE_ACCESS_TOKEN",
    "SECRET_KEY", "CLIENT_SECRET", "ENCRYPTION_KEY", "OBS_SECRET_KEY", "OSS_ACCESS_KEY_SECRET", "SUDO_PASS",
    "SSH_PASSPHRASE", "GPG_PASSCODE", "ADAFRUIT_API_KEY", "CLOUDFLARE_API_TOKEN", "OKTA_CLIENT_SECRET", "SNYK_TOKEN",
    "COS_HMAC_SECRET_KEY", "GITLAB_PAT", "APP_CREDENTIALS", "REQUEST_SIGNATURE",
)  # fmt: skip
"""Each with a value that has no shape of a secret."""
NAMES = (
    "apikey", "api_key", "appkey", "app_key", "authkey", "auth_key", "servicekey", "service_key", "application_key",
    "accountkey", "account_key", "db_key", "database_key", "clientkey", "client_key", "privatekey", "private_key", "priv_key",
    "signing_key", "subscription_key", "shared_key", "storage_key", "master_key", "consumer_key", "iam_key", "access_key",
    "db_pass", "smtp_pass", "password", "passwd", "passphrase", "pwd", "client_secret", "clientSecret", "secretAccessKey",
    "access_token", "auth_token", "refresh_token", "session_token", "bearer_token", "id_token", "contrasena", "pass", "token",
    "credential", "signature", "pat", "passcode",
)  # fmt: skip
"""Names of secrets in configurations and traces: detect-secrets' keyword list, and more."""
FORMS = ('{}: "{}"', "{} = {}", '{{"{}": "{}"}}', "{}={}", "{} => '{}'", "--{} {}")
CONTEXTS = (
    "https://a.blob.example/x?sv=1&sig={}", "GET /x?signature={} HTTP/1.1", "https://x.example/cb?code={}",
    "https://maps.example/api?key={}&q=1", "https://h/x?X-Amz-Security-Token={}", "https://me:{}@h/x", "https://{}@h/x",
    "https://hooks.slack.com/services/T0/B0/{}", "https://discord.com/api/webhooks/1/{}",
    "https://x.webhook.office.com/webhookb2/{}", "https://open.feishu.cn/open-apis/bot/v2/hook/{}",
    "https://api.telegram.org/bot1:{}/send", "postgresql://u:{}@h/db", "mongodb+srv://u:{}@h/d", "jdbc:mysql://h/d?password={}",
    "Server=h;Uid=u;Pwd={};", "AccountKey={};EndpointSuffix=x", "sshpass -p {} ssh h", "sshpass -p '{}' scp a h:",
    "mysql -u root -p{} db", "mysqldump -p'{}' db", "mariadb -h h -p{}", "redis-cli -h h -a {} ping",
    "docker login -u me -p {} r", "wandb login --relogin {}", "htpasswd -b -c f me {}", "htpasswd -cb f me {}",
    "unzip -P {} w.zip", "7z x -p{} w.7z", "ldapsearch -x -D cn=me -w {} -b dc=x", "obsutil config -i=AK -k={}",
    "openssl enc -d -k {} -in w", "openssl passwd -6 {}", "echo {} | docker login -u me --password-stdin",
    "echo '{}' | sudo -S apt-get update", "db.example:5432:d:me:{}", "*:*:*:me:{}", "swanlab login -k {}", "machine h login me password {}", "curl -u me:{} https://h", "curl --user me:{} https://h",
    "curl -H 'Authorization: Bearer {}' h", "Authorization: Basic {}", "X-Api-Key: {}", "X-Auth-Token: {}", "Cookie: s={}",
    "Set-Cookie: s={}; Path=/", "bearer {}", "//registry.example/:_authToken={}", '<add key="ClearTextPassword" value="{}" />',
    "<password>{}</password>", "<ns:apiKey>{}</ns:apiKey>", "the password is {}", "password was '{}'", "REDIS_AUTH={} redis-server", "PASS={}", "Passphrase is {}",
    "\u5bc6\u7801={}", "\u5bc6\u7801\u662f {}", "\u5bc6\u7801\uff1a\u201c{}\u201d", "\u4ee4\u724c\u4e3a{}",
    "\u5bc6\u94a5\u5982\u4e0b\uff1a{}", "\u53e3\u4ee4\uff1d{}", "\u6388\u6743\u7801: {}", "\u8bf7\u628a token\u662f{}\u586b\u5165",
    "API key\uff1a{}", "requests.get(u, headers={{'authorization': 'Bearer {}'}})", "os.environ['HF_TOKEN'] = '{}'",
    "KeyError raised for api_key='{}'", "-----BEGIN PRIVATE KEY-----\nMIIE{}\n-----END PRIVATE KEY-----",
    "-----BEGIN PGP PRIVATE KEY BLOCK-----\nlQ{}\n-----END PGP PRIVATE KEY BLOCK-----",
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl{}", "PuTTY-User-Key-File-2: ssh-rsa\nPrivate-Lines: 1\n{}\nPrivate-MAC: 0",
    "deploy.sh: line 3: DB_PASSWORD: {}!23", "config.py: 12: API_KEY: {}-x", "DB_PASSWORD: 'you {}'", "HF_TOKEN: {}:",
    "vllm serve /m --api-key {} --port 8000", "['vllm', 'serve', '--api-key', '{}']", "hf download x --token {}",
    "INFO non-default args: {{'model': '/m', 'api_key': ['{}'], 'port': 8000}}", "Namespace(api_key=['{}'], port=8000)",
    '{{\\"api_key\\": \\"{}\\"}}', "Authorization: Token {}", "(b'authorization', b'Bearer {}')",
    "> curl -H 'Authorization: {}'", "redis://:{}@127.0.0.1:6379/0", "GET /x?access_token={}&a=1",
    "https://b.s3.example/x?X-Amz-Signature={}", "passwd => {}", "curl -sSu user:{} http://h/x", "echo ${{HF_TOKEN:-{}}}",
    'echo "${{API_KEY:={}}}"', '$api_key = "{}"', "DB_PASSWORD: {} to set it", '{{"name": "HF_TOKEN", "value": "{}"}}',
    "DB_PASSWORD=12ab,{}", "api_key: token: {}",
    "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
)  # fmt: skip


WEAK = (
    *(f"{word}_token" for word in ("access", "api", "auth", "bearer", "github", "hf", "hub", "id", "modelscope", "refresh",
                                   "security", "session")),
    *(f"{word}_pass" for word in ("admin", "database", "db", "ftp", "key", "login", "mail", "mysql", "pg", "proxy", "redis",
                                  "root", "smtp", "ssh", "sudo", "user")),
    *("apikey", "accesskey", "secretkey", "applicationkey", "privkey", "db_password", "encryption_key", "contrase\u00f1a",
      "keypass", "passphrase"),
)  # fmt: skip
"""Names that suffice: their value is a word of letters."""


def _planted() -> tuple[Planted, ...]:
    found = []
    for number, (rule, (head, alphabet, length, tail)) in enumerate(SHAPED.items()):
        core = made(rule, alphabet, length)
        found.append(
            Planted(rule, AROUND[number % len(AROUND)].format(f"{head}{core}{tail}"), core)
        )
    for number, name in enumerate((*VARIABLES, *NAMES)):
        form = "export {}={}" if number % 2 and name in VARIABLES else FORMS[number % len(FORMS)]
        core = made(name, MIXED, 16)
        found.append(Planted(name, form.format(name, core), core))
    for name in WEAK:
        core = made(f"weak {name}", string.ascii_lowercase, 9)
        found.append(Planted(name, f"{name} := {core}", core))
    for line in CONTEXTS:
        core = made(line, MIXED, 18)
        found.append(Planted(line, line.format(core), core))
    return tuple(found)


PLANTED = _planted()
