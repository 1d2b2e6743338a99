"""The shapes of secrets without a telling name: tokens by their prefix, addresses, commands, prose.

The prefixes are those that secret scanners know (gitleaks, detect-secrets). A pattern is tried only on a text that
has one of its hints, which keeps ordinary text cheap.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class Shape:
    """A pattern, its replacement, and lower-case words of which a matching text has at least one.

    The pattern is compiled for the first text that has one of them: all patterns take longer than many a command.
    """

    hints: tuple[str, ...]
    source: str
    instead: str

    @property
    def pattern(self) -> re.Pattern[str]:
        return _compiled(self.source)


@cache
def _compiled(source: str) -> re.Pattern[str]:
    return re.compile(source)


def _token(hints: str, pattern: str) -> Shape:
    """A token with a known prefix."""
    return Shape(tuple(hints.split()), rf"(?a)(?<![A-Za-z0-9_])(?:{pattern})", REMOVED)


def _around(hints: str, pattern: str, stays: str = r"\1") -> Shape:
    """A secret that its surroundings show: the first group of the pattern, and maybe a second, are kept."""
    return Shape(tuple(hints.split()), pattern, stays[:2] + REMOVED + stays[2:])


_NAMES = (
    "\u5bc6\u7801|\u53e3\u4ee4|\u5bc6\u94a5|\u5bc6\u5319|\u79d8\u94a5|\u4ee4\u724c|\u51ed\u8bc1|\u6388\u6743\u7801"
)
_IS = "\u662f|\u4e3a|\u5982\u4e0b"
_QUOTED = r"\"[^\"\n]+\"|'[^'\n]+'"
_LINE_OF_A_KEY = r"(?m)^[ \t]*(?=\S*\d)(?=\S*[a-z])(?=\S*[A-Z])[A-Za-z0-9+/]{60,76}={0,2}[ \t]*$"
"""Of a private key whose beginning was cut off, or whose lines are quoted one by one."""
SHAPES = (
    _around("begin", r"(?s)(-----BEGIN[ A-Z0-9_-]{0,100}?PRIVATE KEY(?: BLOCK)?-----).*?(?=-----END|\Z)"),
    _around("private key", r"(?m)(?:^\S{4,80}\n)*^\S{4,80}(?=\n-----END [A-Z ]{0,40}PRIVATE KEY)", ""),
    Shape(("",), _LINE_OF_A_KEY, REMOVED),
    _around("private-lines", r"(?s)(Private-Lines: \d+\n).*?(?=Private-MAC|\Z)"),
    _around(
        "curl",
        r"(\bcurl\b[^\n|;]{0,200}?\s(?:-[a-zA-Z]{0,5}[uU]\s?|--(?:proxy-)?user[\s=])"
        r"[\"']?[^\s:\"'$]{1,80}:)[^\s\"'$]+",
    ),
    _around("@", r"(://)[^/\s@\"'<>]+(@)", r"\1\2"),
    _around("cookie", r"(?i)((?<![\w.-])(?:set-)?cookie\\?[\"']?\s?:\s?)[^\n]+"),
    _around("_gitlab_session", r"(_gitlab_session=)\w{16,}"),
    _around("bearer", r"(?i)\b(bearer\s+)(?!token|auth)[\w.=~+/-]{4,}"),
    _around(
        "? &",
        r"(?i)([?&](?:sig|signature|auth|code|key|pass|client_secret|x-amz-(?:credential|security-token))=)"
        r"[^&\s\"'<>]{6,}",
    ),
    _around(
        "slack.com discord webhook.office feishu.cn larksuite telegram.org",
        r"(?i)(\bhttps://[\w.-]*(?:hooks\.slack\.com/(?:services|workflows|triggers)"
        r"|discord(?:app)?\.com/api/webhooks|webhook\.office\.com/webhookb2"
        r"|open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/v2/hook|api\.telegram\.org)/)[^\s\"'<>]+",
    ),
    _around("sshpass", rf"(\bsshpass\s+(?:-\w+\s+)*-p\s?)(?:{_QUOTED}|[^\s\"'$]+)"),
    _around(
        "mysql mariadb",
        r"(\b(?:mysql(?:dump|admin|import)?|mariadb(?:-dump)?)\b[^\n|;]{0,200}?\s-p)"
        rf"(?:{_QUOTED}|[^\s\"'$]+)",
    ),
    _around(
        "redis-cli login",
        r"(\b(?:redis-cli\b[^\n|;]{0,200}?\s-a|docker\s+login\b[^\n|;]{0,200}?\s-p|"
        r"\blogin\s+\S+\s+password)\s+)[^\s\"'$]+",
    ),
    _around(
        "pass= _auth=",
        r"(?<![\w$.{-])([A-Z0-9_]{0,60}(?:PASS|_AUTH)=)(?![\"']?[$<*])" rf"(?:{_QUOTED}|[^\s\"';&|]{{3,}})",
    ),
    _around(
        _NAMES.replace("|", " "),
        rf"((?:{_NAMES})\s?(?:(?:{_IS})[:=\uff1a\uff1d]?|[:=\uff1a\uff1d])\s?[\"'\u201c\u300c\u300e]?)"
        r"(?![$<*])[!-~]{4,}",
    ),
    _around(
        _IS.replace("|", " ") + " \uff1a \uff1d",
        rf"(?i)((?:token|passw(?:or)?d|secret|key|pwd)\s?(?:(?:{_IS})[:=\uff1a\uff1d]?|[\uff1a\uff1d])\s?)"
        r"(?![$<*])(?=[!-~]*\d)[!-~]{8,}",
    ),
    _around(
        "passw passphrase passcode",
        r"(?i)(\b(?:password|passwd|passphrase|passcode)\s+(?:is|was)\s+)"
        rf"(?:{_QUOTED}|(?=\S*[\d!@#%^&*])[^\s\"'$]{{4,}})",
    ),
    _around(
        "<",
        r"(?i)(<(?:add key=\"[\w.]*password\"\s+value=\"|"
        r"(?:\w+:)?\w*(?:password|passwd|secret|token|api_?key)>))[^<\"\s]{3,}",
    ),
    _around("q~", r"(?<![\w~.])[\w~.]{3}\dQ~[\w~.-]{31,34}", ""),
    _token("a3-", r"A3-[A-Z0-9]{6}-[A-Z0-9-]{20,}"),
    _token("ops_eyj", r"ops_eyJ[\w+/=-]{40,}"),
    _token("p8e-", r"p8e-[A-Za-z0-9]{32}"),
    _token("akcp cmvmd", r"AKCp[A-Za-z0-9]{60,}|cmVmd[A-Za-z0-9]{50,}"),
    _token("a3t abia acca", r"(?:A3T[A-Z0-9]|ABIA|ACCA)[A-Z2-7]{16}"),
    _token("4b1d", r"4b1d[A-Za-z0-9]{38}\b"),
    _token("clojars_", r"CLOJARS_[a-z0-9]{60}"),
    _token("v1.0-", r"v1\.0-[a-f0-9]{24}-[a-f0-9]{100,}"),
    _token("dapi", r"dapi[a-f0-9]{32}"),
    _token("dnkey-", r"dnkey-[\w=-]{26}-[\w=-]{52}"),
    _token("dp.", r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9.-]{40,}"),
    _token("sl.", r"sl\.[\w=-]{100,}"),
    _token("duffel_", r"duffel_(?:test|live)_[\w=-]{40,}"),
    _token("dt0c01.", r"dt0c01\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{64}"),
    _token("ezak eztk", r"EZ[AT]K[A-Za-z0-9]{54}"),
    _token("eaam eaac |", r"EAA[MC][A-Za-z0-9]{100,}|\d{15,16}\|[\w-]{27,40}"),
    _token("flwseck", r"FLWSECK(?:_TEST)?-[a-h0-9]{12,}(?:-X)?"),
    _token("fo1_ fm1a_ fm1r_ fm2_", r"fo1_[\w-]{43}|fm(?:1[ar]|2)_[\w+/=]{100,}"),
    _token("fio-u-", r"fio-u-[\w=-]{60,}"),
    _token("gl gr1348941", r"gl(?:agent|cbt|dt|ffct|ft|imt|oas|pat|ptt|rt|soat)-[\w.-]{16,}|GR1348941[\w-]{20}"),
    _token("glc_ glsa_", r"glc_[A-Za-z0-9+/=]{32,}|glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}"),
    _token("pat. sat.", r"(?:pat|sat)\.[\w-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}"),
    _token("atlasv1", r"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,}"),
    _token("hrku-aa", r"HRKU-AA[\w-]{50,}"),
    _token("hf_ api_org_", r"(?:hf|api_org)_[A-Za-z]{20,}"),
    _token("ico-", r"ico-[A-Za-z0-9]{32}"),
    _token("s-s4t2", r"s-s4t2(?:ud|af)-[a-f0-9]{64}"),
    _token("zxlk", r"ZXlK[\w/\\+-]{40,}={0,2}"),
    _token("-us", r"[a-f0-9]{32}-us\d\d?\b"),
    _token("pk.", r"pk\.[\w-]{60,}\.[\w-]{20,}"),
    _token("_mmk", r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk"),
    _token("nrak- nrii- nrjs-", r"NR(?:AK|II|JS)-[A-Za-z0-9-]{19,}"),
    _token("ntn_ secret_", r"ntn_\d{11}[A-Za-z0-9]{30,}|secret_[A-Za-z0-9]{43}"),
    _token("api-", r"API-[A-Z0-9]{26}\b"),
    _token("sha256~", r"sha256~[\w-]{43}"),
    _token("pplx-", r"pplx-[A-Za-z0-9]{40,}"),
    _token("access-", r"access-(?:sandbox|development|production)-[0-9a-f-]{36}"),
    _token("pscale_", r"pscale_(?:tkn|oauth|pw)_[\w=.-]{32,}"),
    _token("pnu_", r"pnu_[A-Za-z0-9]{36}"),
    _token("rdme_", r"rdme_[a-z0-9]{60,}"),
    _token("tk-us-", r"tk-us-[\w-]{48}"),
    _token("xkeysib-", r"xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    _token("sntry", r"sntry[su]_[\w+/=]{40,}"),
    _token("sm_", r"sm_(?:aat|pat|sat)_[A-Za-z0-9]{16}"),
    _token("shippo_", r"shippo_(?:live|test)_[A-Fa-f0-9]{40}"),
    _token("xox xapp", r"xox[abeoprs][.-](?=[\w-]*\d)[\w.-]{10,}|xapp-\d-[\w-]{10,}"),
    _token("sgp_", r"sgp_(?:[A-Fa-f0-9]{16}_|local_)?[A-Fa-f0-9]{40}"),
    _token("eaaa sq0", r"EAAA[\w-]{22,60}|sq0[a-z]{3}-[\w-]{20,}"),
    _token("k_live k_prod k_test", r"[sr]k_(?:live|prod|test)_[A-Za-z0-9]{10,}"),
    _token("ac sk", r"(?:AC|SK)[0-9a-f]{32}\b"),
    _token("squ_ sqp_ sqa_", r"sq[apu]_[a-f0-9]{40}"),
    _token("tfp_", r"tfp_[\w.=-]{44,}"),
    _token("s.", r"s\.(?=[A-Za-z]*\d)[A-Za-z0-9]{24}\b"),
    _token("t1. aqvn yc", r"t1\.[\w-]+={0,2}\.[\w-]{86}={0,2}|AQVN[\w-]{35,}|YC[\w-]{38}\b"),
    _token(".", r"[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,38}"),
    _token("atatt3 atctt3 atbb", r"AT(?:ATT3|CTT3|BB)[\w=-]{20,}"),
    _token("eyj", r"eyJ[\w-]{6,1000}\.[\w-]+\.[\w-]*|eyJrIjoi[A-Za-z0-9]{40,}={0,3}"),
    _token(
        "api_org_ ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ npm_ pypi- sk- akia asia aiza hf_",
        r"(?:api_org_|gh[pousr]_|github_pat_|npm_|pypi-|sk-|AKIA|ASIA|AIza|hf_)(?=[\w-]{0,200}\d)[\w-]{12,}",
    ),
    _token("sg. ya29. _v1_", r"SG\.[\w-]{16,}\.[\w-]{16,}|ya29\.[\w-]{20,}|do[opr]_v1_[0-9a-f]{32,}"),
    _token("shp dckr_pat_ hvs. hvb.", r"shp(?:at|ca|pa|ss)_[0-9A-Fa-f]{32}|dckr_pat_[\w-]{20,}|hv[sb]\.[\w-]{20,}"),
    _token("ltai akid ms-", r"LTAI[A-Za-z0-9]{12,26}|AKID[A-Za-z0-9]{13,40}|ms-[0-9a-f]{8}-[0-9a-f-]{20,}"),
    _token(
        "gsk_ nvapi- r8_ lin_api_ tvly-", r"gsk_\w{20,}|nvapi-[\w-]{20,}|r8_\w{20,}|lin_api_\w{20,}|tvly-[\w-]{20,}"
    ),
    _token(
        "rubygems_ pul- whsec_ pmak-", r"rubygems_[0-9a-f]{32,}|pul-[0-9a-f]{40}|whsec_[\w+/=]{16,}|PMAK-[\w-]{20,}"
    ),
    _token(
        "figd_ age-secret-key-1 :aa key-",
        r"figd_[\w-]{20,}|AGE-SECRET-KEY-1[A-Z0-9]{20,}|\d{8,10}:AA[\w-]{30,}|key-[0-9a-f]{32}",
    ),
)
