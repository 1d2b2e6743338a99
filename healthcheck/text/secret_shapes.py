"""The shapes of secrets without a telling name: known prefixes, addresses, commands, prose.

The prefixes are those of secret scanners (gitleaks, detect-secrets). Length and alphabet of a token are matched
loosely: hiding a harmless text costs nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

REMOVED = "removed"

_PREFIXES = (
    r"A3-(?=[A-Z0-9]{6}-)|AGE-SECRET-KEY-|(?:AKID|AKLT|LTAI)(?=[A-Za-z0-9]{12})|API-(?=[A-Z0-9]{26})|AQVN"
    r"|AT(?:ATT3|BB|CTT3)|CLOJARS_|FLWSECK|GR1348941|HRKU-|NR(?:AK|II|JS)-|PMAK-|SG\.|YC(?=[\w-]{38})"
    r"|_gitlab_session=|access-(?:development|production|sandbox)-|api_org_|cmVmd(?=\w{50})|dapi(?=[a-f0-9]{32})"
    r"|dckr_pat_|dnkey-|do[opr]_v1_|dp\.(?:audit|ct|pt|sa|scim|st)\.|dt0c01\.|duffel_(?:live|test)_|eyJ|figd_"
    r"|fio-u-|fo1_(?=[\w-]{40})|gh[oprsu]_|github_pat_|gl(?:agent|cbt|dt|ffct|ft|imt|oas|pat|ptt|rt|soat)-|glsa_"
    r"|gsk_|hv[bs]\.|ico-(?=\w{32})|key-(?=[0-9a-f]{32})|lin_api_|ms-(?=[0-9a-f]{8}-)|ntn_\d|nvapi-|p8e-"
    r"|(?:pat|sat)\.(?=[\w-]{22}\.)|pnu_|pplx-|pscale_(?:oauth|pw|tkn)_|pul-(?=[0-9a-f]{40})|r8_(?=\w{20})"
    r"|[rs]k_(?:live|prod|test)_|rdme_|rubygems_|s-s4t2|sgp_(?=\w{40})|sha256~|shippo_(?:live|test)_"
    r"|shp(?:at|ca|pa|ss)_|sl\.(?=[\w=-]{99})|sm_(?:aat|pat|sat)_|sq0[a-z]{3}-|sq[apu]_|tfp_|tk-us-|tvly-|xapp-"
    r"|xkeysib-|xox[abeoprs][.-]|ya29\."
)
_OF_BASE64 = r"fm(?:1[ar]|2)_(?=[\w+/=]{60})|glc_|ops_eyJ|sntry[su]_|whsec_|ZXlK(?=[\w/\\+-]{40})"
_OF_WORDS_TOO = r"AIza|AKCp|AKIA|ASIA|EAA[ACM]|EZ[AT]K|hf_|npm_|pypi-|secret_|sk-"
"""A token has a digit after these, or many letters without a break."""
_WHOLE = (
    r"(?:A3T[A-Z0-9]|ABIA|ACCA)[A-Z2-7]{16}|(?:AC|SK)[0-9a-f]{32}\b|4b1d[A-Za-z0-9]{38}\b|pk\.[\w-]{60,}\.[\w-]{20,}"
    r"|s\.(?=[A-Za-z]*\d)[A-Za-z0-9]{24}\b|[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}|v1\.0-[a-f0-9]{24}-[a-f0-9]{99,}"
    r"|t1\.[\w-]+={0,2}\.[\w-]{86}={0,2}|[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,}|[a-f0-9]{32}-us\d\d?\b"
    r"|\d{15,16}\|[\w-]{27,}|\d{8,10}:AA[\w-]{30,}|[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk|[\w~.]{3}\dQ~[\w~.-]{31,}"
)
_TOKEN = (
    rf"(?a)()(?<![A-Za-z0-9_])(?=[\w.~+/\\=|:-]{{11}})(?:{_WHOLE}|(?:{_PREFIXES})[\w.~+=|-]{{8,}}"
    rf"|(?:{_OF_BASE64})[\w.~+/\\=-]{{8,}}|(?:{_OF_WORDS_TOO})(?:(?=[\w-]{{0,200}}\d)[\w-]{{12,}}|[A-Za-z0-9]{{20,}}))"
)


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of a secret.

    Attributes:
        signs: only a text with one of these in lower case can have the shape; "" is in each text. Looking for them
            costs a tenth of the pattern.
        pattern: the first group of a match stays; the rest is the secret.
    """

    signs: tuple[str, ...]
    pattern: re.Pattern[str]


def _shape(signs: str, pattern: str) -> Shape:
    return Shape(tuple(signs.split()) or ("",), re.compile(pattern))


_VALUE = r"(?:\"[^\"\n]+\"|'[^'\n]+'|[^\s\"'$]+)"
_OPTIONS = {
    "-p": r"mysql\w*|mariadb|sshpass|docker\s+login|7z[ar]?",
    "-P": r"(?:un)?zip|zipcloak",
    "-a": "redis-cli",
    "-k": r"(?:obs|oss)util\w*|openssl\s+enc|swanlab\s+login",
    "-w": r"ldap(?:add|compare|delete|modify|passwd|search|whoami)",
}
"""The option of a password or key, and the programs that have it."""
_ARGUMENTS = (
    ("wandb", r"\bwandb\s+login\s+(?:--\S+\s+){0,5}(?!-)", ""),
    ("htpasswd", r"\bhtpasswd\s+(?=(?:-\w+\s+){0,5}-\w{0,5}b)(?:-\w+\s+){1,5}\S+\s+\S+\s+", ""),
    ("passwd", r"\bopenssl\s+passwd\s+(?:-\w+\s+){0,5}(?!-)", ""),
    (
        "echo",
        r"\becho\s+(?:-\w+\s+)?(?!-)",
        r"(?=\s*\|[^\n|;]{0,200}?\s(?:--password-stdin|sudo\s+-S)\b)",
    ),
    (":", r"(?<![\w.*-])[\w.*-]{1,80}:(?:5432|\*):[^\s:]{1,80}:[^\s:]{1,80}:", ""),
)
"""A sign, what stands before a secret that is an argument, and what follows it; the last is a line of .pgpass."""
_CHINESE = (
    "\u5bc6\u7801|\u53e3\u4ee4|\u5bc6\u94a5|\u5bc6\u5319|\u79d8\u94a5|\u4ee4\u724c|"
    "\u51ed\u8bc1|\u6388\u6743\u7801"
)
_IS = "\u662f|\u4e3a|\u5982\u4e0b|\uff1a|\uff1d"
SHAPES = (
    _shape(
        "-----begin",
        r"(?s)(-----BEGIN[ A-Z0-9_-]{0,100}?PRIVATE KEY(?: BLOCK)?-----).*?(?=-----END|\Z)",
    ),
    _shape(
        "-----end",
        r"(?m)()(?:^\S{4,80}\n){0,99}^\S{4,80}(?=\n-----END [A-Z ]{0,40}PRIVATE KEY)",
    ),
    # A line of a private key without its beginning, or from lines that are quoted one by one.
    _shape(
        "",
        r"(?m)()^[ \t]*(?=\S*\d)(?=\S*[a-z])(?=\S*[A-Z])[A-Za-z0-9+/]{60,76}={0,2}[ \t]*$",
    ),
    _shape("private-lines", r"(?s)(Private-Lines: \d+\n).*?(?=Private-MAC|\Z)"),
    _shape("", _TOKEN),
    _shape("://", r"(://)[^/\s@\"'<>]+(?=@)"),
    _shape(
        "https://",
        r"(?i)(\bhttps://[^\s/\"'<>]*(?:slack\.com|discord(?:app)?\.com|office\.com|feishu\.cn|larksuite\.com"
        r"|telegram\.org)/)[^\s\"'<>]+",
    ),
    _shape("cookie", r"(?i)((?<![\w.-])(?:set-)?cookie\\?[\"']?\s?:\s?)[^\n]+"),
    _shape("bearer", r"(?i)\b(bearer\s+)(?!token|auth)[\w.=~+/-]{4,}"),
    _shape(
        "? &",
        r"(?i)([?&](?:sig(?:nature)?|auth|code|key|pass|client_secret|x-amz-(?:credential|security-token))=)"
        r"(?![\[(]?removed)[^&\s\"'<>]{6,}",
    ),
    _shape(
        "curl",
        r"(\bcurl\b[^\n|;]{0,200}?\s(?:-[a-zA-Z]{0,5}[uU]\s?|--(?:proxy-)?user[\s=])[\"']?[^\s:\"'$]{1,80}:)"
        r"[^\s\"'$]+",
    ),
    *(
        _shape(option.lower(), rf"(\b(?:{named})\b[^\n|;]{{0,200}}?\s{option}[ \t]*=?){_VALUE}")
        for option, named in _OPTIONS.items()
    ),
    *(_shape(sign, rf"({before}){_VALUE}{after}") for sign, before, after in _ARGUMENTS),
    _shape("login", r"(\blogin\s+\S+\s+password\s+)\S+"),
    _shape(
        "<",
        r"(?i)(<(?:\w+:)?\w*(?:password|passwd|secret|token|api_?key)>)[^<\"\s]{3,}",
    ),
    _shape(
        _CHINESE.replace("|", " "),
        rf"((?:{_CHINESE})\s?(?:[:=]|{_IS})[:=\uff1a\uff1d]?\s?[\"'\u201c\u300c\u300e]?)(?![$<*])[!-~]{{4,}}",
    ),
    _shape(
        _IS.replace("|", " "),
        rf"(?i)((?:token|passw(?:or)?d|secret|key|pwd)\s?(?:{_IS})[:=\uff1a\uff1d]?\s?)(?![$<*])(?=[!-~]*\d)[!-~]{{8,}}",
    ),
    _shape(
        "pass",
        r"(?i)(\b(?:password|passwd|passphrase|passcode)\s+(?:is|was)\s+)"
        r"(?:\"[^\"\n]+\"|'[^'\n]+'|(?=\S*[\d!@#%^&*])[^\s\"'$]{4,})",
    ),
)
TOKEN = re.compile(_TOKEN)


def without_shapes(text: str) -> str:
    """The text with "removed" in place of each value that has the shape of a secret."""
    lower = without_case(text)
    for shape in SHAPES:
        if any(sign in lower for sign in shape.signs):
            before, text = text, shape.pattern.sub(rf"\1{REMOVED}", text)
            lower = lower if text == before else without_case(text)
    return text


def without_case(text: str) -> str:
    """The text with the letters that a pattern without case takes for a to z as these.

    Besides those of `str.lower`, these are a dotted and a dotless i and a long s.
    """
    return text.replace("\u0130", "i").replace("\u0131", "i").replace("\u017f", "s").lower()
