# ruff: noqa: INP001 - a folder of programs, no package
"""Reads vllm-ascend's release notes and support matrix.

scripts/add_release.py writes them to scripts/data/release-notes.json and healthcheck/data/support-matrix.json.
Both are documents in the sdist of a release. The notes of the newest release contain those of the older ones: their
dates, the models that a candidate restricts itself to, and the known issues that name an option, a variable or a
model. Nothing is imported.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from packaging.version import Version

from healthcheck.ascend.support_matrix import ALIBI, MATRIX, SOFT_CAP

NOTES = "docs/source/user_guide/release_notes.md"
NOTES_SOURCE = "docs/source/user_guide/release_notes.md of vllm-ascend; written by scripts/make_notes_catalogue.py"
MATRIX_SOURCE = (
    "docs/source/user_guide/support_matrix/supported_models.md and the attention of each vllm-ascend release; "
    "written by scripts/make_notes_catalogue.py, except names, which is written by hand"
)
NO, UNTESTED = "❌", "🟡"
_RELEASE = re.compile(
    r"^## v(?P<version>\S+) - (?P<date>[\d.]+)\n(?P<text>.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL
)
_KNOWN_ISSUES = re.compile(r"^### Known Issues?\n(.*?)(?=^### |\Z)", re.MULTILINE | re.DOTALL)
_RESTRICTED = re.compile(r"model[-\u2010\u2011](?:restricted|focused)")
_MODELS = re.compile(
    r"(?:validated models include|flagship models:) (?P<models>.*?)(?:\. |, and hardens)"
)
_LINKS = re.compile(r"\s*\[[^\]]*\]\((?:<)?https?://[^)]*\)†?|<https?://\S+>")
_ISSUE = re.compile(r"vllm-ascend/(?:issues|pull)/(\d+)")
_SPELLED = re.compile(r"`([^`]+)`")
_FAMILY = re.compile(
    r"\b(?:Qwen|QwQ|DeepSeek|GLM|Kimi|MiniMax|Llama|Gemma|Hunyuan|InternVL|PaddleOCR|Mistral|ERNIE)[\w.\-]*",
    re.IGNORECASE,
)


def notes(tree: Path) -> list[dict[str, Any]]:
    """What the notes say of each release that they have, newest first as they are; empty without notes."""
    path = tree / NOTES
    text = path.read_text("utf-8") if path.is_file() else ""
    found = [_of_release(match) for match in _RELEASE.finditer(text)]
    for each in found:
        each["restricted_to"] = each["restricted_to"] or _of_earlier_candidates(each, found)
    return found


def _of_release(match: re.Match[str]) -> dict[str, Any]:
    known = _KNOWN_ISSUES.search(match["text"])
    lines = (line[2:] for line in (known[1] if known else "").splitlines() if line.startswith("- "))
    issues = [_issue(line) for line in lines]
    return {
        "vllm_ascend": match["version"],
        "released": match["date"].replace(".", "-"),
        "restricted_to": restricted_to(match["text"]),
        "known_issues": [issue for issue in issues if issue["names"]],
    }


def restricted_to(text: str) -> list[str]:
    """The models that a release is for, if its introduction says that it is for some alone."""
    head = text.partition("###")[0].replace("\u2011", "-").replace("**", "")
    found = _MODELS.search(head) if _RESTRICTED.search(head) else None
    return re.split(r", (?:and )?", found["models"]) if found else []


def _of_earlier_candidates(
    release: Mapping[str, Any], every: Iterable[Mapping[str, Any]]
) -> list[str]:
    """What an earlier candidate of the same version says, for one that repairs it."""
    version = Version(release["vllm_ascend"])
    same = (
        each for each in every if Version(each["vllm_ascend"]).base_version == version.base_version
    )
    return next(
        (each["restricted_to"] for each in same if version.is_prerelease and each["restricted_to"]),
        [],
    )


def _issue(line: str) -> dict[str, Any]:
    said = " ".join(_LINKS.sub("", line).replace(" ()", "").replace("()", "").split())
    names = dict.fromkeys([*_SPELLED.findall(said), *_FAMILY.findall(said)])
    return {
        "said": said,
        "issues": [int(number) for number in dict.fromkeys(_ISSUE.findall(line))],
        "names": [*names],
    }


def notes_text(rows: Iterable[Mapping[str, Any]]) -> str:
    return _text({"source": NOTES_SOURCE, "releases": list(rows)})


def matrix_row(version: str, tree: Path) -> dict[str, Any]:
    """The row of a release: models without support, models that were not tried, features that a model lacks."""
    found: dict[str, Any] = {
        "vllm_ascend": version,
        "unsupported": {},
        "untested": [],
        "without": [],
    }
    path = tree / MATRIX
    tab, head = "", []  # type: tuple[str, list[str]]
    for line in path.read_text("utf-8").splitlines() if path.is_file() else ():
        tab = (
            line[4:].strip('" ') if line.startswith("===") else "" if line.startswith("#") else tab
        )
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.strip().startswith("|") or len(cells) < 3 or set(cells[0]) <= set("-: "):
            continue
        if cells[0] == "Model":
            head = cells
            continue
        _note(found, dict(zip(head, cells, strict=False)), tab)
    return found | {
        "not_computed": not_computed(tree / "vllm_ascend" / "attention" / "attention_v1.py")
    }


def _note(found: dict[str, Any], row: Mapping[str, str], tab: str) -> None:
    model, support = (
        row["Model"].replace("<br>", "/"),
        row.get("Support") or row.get("Supported") or "",
    )
    if support == NO:
        issue = re.search(r"issues/(\d+)", row.get("Note", ""))
        found["unsupported"][model] = int(issue[1]) if issue else None
    elif support == UNTESTED:
        found["untested"].append(model)
    lacks = [
        feature
        for feature, cell in row.items()
        if cell == NO and feature not in {"Support", "Supported"}
    ]
    if lacks:
        found["without"].append(
            {"model": model, "hardware": row.get("Supported Hardware") or tab, "features": lacks}
        )


def not_computed(attention: Path) -> list[str]:
    """What the attention takes and uses nowhere: its only uses are those of the constructor."""
    text = attention.read_text("utf-8") if attention.is_file() else ""
    uses = re.findall(r"self\.alibi_slopes(?! = )", text)
    caps = re.findall(r"logits_soft_cap(?!:)", text)
    return [name for name, used in ((ALIBI, uses), (SOFT_CAP, caps)) if text and not used]


def matrix(known: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The catalogue with rows added, newest release first."""
    by_release = {row["vllm_ascend"]: row for row in [*known["releases"], *rows]}
    newest_first = sorted(by_release, key=Version, reverse=True)
    head = {name: value for name, value in known.items() if name not in {"source", "releases"}}
    return {
        "source": MATRIX_SOURCE,
        **head,
        "releases": [by_release[each] for each in newest_first],
    }


def matrix_text(catalogue: Mapping[str, Any]) -> str:
    return _text(catalogue)


def unnamed(catalogue: Mapping[str, Any], row: Mapping[str, Any]) -> list[str]:
    """The models of a row that `names` does not have, so that no check recognises them."""
    models = [*row["unsupported"], *row["untested"], *(each["model"] for each in row["without"])]
    return [model for model in dict.fromkeys(models) if model not in catalogue["names"]]


def _text(catalogue: Mapping[str, Any]) -> str:
    """The text of a file, with one entry of a list or an object a line."""
    parts = []
    for name, value in catalogue.items():
        lines = (
            [json.dumps(each, ensure_ascii=False) for each in value]
            if isinstance(value, list)
            else []
        )
        if isinstance(value, dict):
            lines = [
                f"{json.dumps(key)}: {json.dumps(each, ensure_ascii=False)}"
                for key, each in value.items()
            ]
        ends = "[]" if isinstance(value, list) else "{}"
        body = (
            f"{ends[0]}\n  " + ",\n  ".join(lines) + f"\n {ends[1]}" if lines else json.dumps(value)
        )
        parts.append(f" {json.dumps(name)}: {body}")
    return "{\n" + ",\n".join(parts) + "\n}\n"
