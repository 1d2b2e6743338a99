"""The shell and the environment of deploy.sh.

The service's own environment is unknown. Variables of an author's shell must not leak into the launch; it needs
those of the machine. So there is an allow-list, by group:

- search paths: PATH, LD_LIBRARY_PATH, and the entries of PYTHONPATH that belong to CANN (its set_env.sh puts
  them there; an author's own entries would hide a missing file or package);
- the user's session: HOME, USER, LOGNAME, SHELL, TMPDIR, TZ, LANG, LC_*;
- the NPU's software: ASCEND*, ATB_*, ASDOPS_*, HCCL_*, LCCL_*, LCAL_*, TOOLCHAIN_HOME, CMAKE_PREFIX_PATH,
  SOC_VERSION;
- the machine's network and package index: GLOO_SOCKET_IFNAME, TP_SOCKET_IFNAME, certificate files, PIP_* and UV_*
  index settings.

Everything else is withheld. The report of a failed launch names withheld variables that may matter (VLLM_*, HF_*,
tuning variables, proxies, VIRTUAL_ENV). `--env NAME=VALUE` adds a variable.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from healthcheck import contract
from healthcheck.contract import MODEL_PATH_VARIABLE

_NAMES = frozenset((
    "PATH", "LD_LIBRARY_PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "LANGUAGE",
    "TOOLCHAIN_HOME", "CMAKE_PREFIX_PATH", "SOC_VERSION", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
    "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_TRUSTED_HOST", "PIP_CERT", "PIP_CONFIG_FILE",
    "UV_INDEX", "UV_INDEX_URL", "UV_DEFAULT_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS", "UV_CONFIG_FILE",
))  # fmt: skip
_FAMILIES = ("LC_", "ASCEND", "ATB_", "ASDOPS_", "HCCL_", "LCCL_", "LCAL_")
_TELLING = re.compile(
    r"(?i)^(?:VLLM_|HF_|HUGGING|TRANSFORMERS_|TORCH|PYTORCH_|PYTHONPATH$|VIRTUAL_ENV$|CONDA_PREFIX$|OMP_|\w+_PROXY$)"
)
_CANN_PATH = re.compile(r"(?i)/(ascend|cann)[^/]*(/|$)")
_SHEBANG_BYTES = 256


def scrubbed(
    own: Mapping[str, str], *, weights: Path, extra: Mapping[str, str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """The variables of a launch, from the caller's own and those of `--env`; what is withheld and may matter."""
    kept = {key: value for key, value in own.items() if key in _NAMES or key.startswith(_FAMILIES)}
    cann = [
        entry for entry in own.get("PYTHONPATH", "").split(os.pathsep) if _CANN_PATH.search(entry)
    ]
    if cann:
        kept["PYTHONPATH"] = os.pathsep.join(cann)
    kept.setdefault("PATH", os.defpath)
    kept |= {**extra, MODEL_PATH_VARIABLE: str(weights)}
    withheld = sorted(key for key in own if key not in kept and _TELLING.match(key))
    return kept, tuple(withheld)


def interpreter(script: Path) -> tuple[str, ...]:
    """The command that runs the script: the service's shell, else that of the first line, else bash."""
    if shell := contract.service().shell:
        return (shell,)
    with script.open("rb") as file:
        first = file.read(_SHEBANG_BYTES).partition(b"\n")[0].decode("utf-8", "replace")
    named = first[2:].strip(" \t").split(None, 1) if first.startswith("#!") else ()
    return tuple(named) or ("bash",)
