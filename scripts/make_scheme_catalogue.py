# ruff: noqa: INP001 - a folder of programs, no package
"""Reads a release's entry of healthcheck/data/schemes.json from vllm-ascend; scripts/add_release.py writes it.

The folder is an unpacked wheel or sdist, with `vllm_ascend/` in it. Nothing is imported: the syntax trees have the
quantization schemes that a release registers. Releases before 0.14.0rc1 register theirs differently; their rows
stay.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.version import Version

from healthcheck.ascend.schemes import IN_GROUPS

SOURCE = (
    "the scheme registry, platform.py and quantization configurations of each vllm-ascend release; "
    "written by scripts/make_scheme_catalogue.py"
)
NEWEST_ONLY = re.compile(r"float[48]_e|mx_quant|mxfp_compat", re.IGNORECASE)
"""Number formats that only the 950 computes in. Source: vllm-ascend's quantization guide and release notes at
0.30.0rc2, and its issues 1526 ("for FP8 you will need the A5") and 6419."""
DECIDES_ITSELF = re.compile(r"\b(is_950|get_ascend_device_type)\b")
"""A class that checks the chip chooses itself what it runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheme:
    """A registered class: the scheme's name, the kind of layer, and the name of the class."""

    name: str
    layer: str
    cls: str

    @property
    def label(self) -> str:
        return f"{self.name} {self.layer}"


class Sources:
    """The syntax trees of a part of a release, with its classes and constants by name."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self.trees = [ast.parse(path.read_text("utf-8")) for path in sorted(paths)]
        self.classes = {
            node.name: node
            for tree in self.trees
            for node in ast.walk(tree)
            if isinstance(node, ast.ClassDef)
        }
        self.constants = {name: value for tree in self.trees for name, value in constants(tree)}

    def text(self, node: ast.expr) -> str:
        """The value of a text constant, or of a name that is assigned one; "" for other expressions."""
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, str) else ""
        return self.constants.get(node.id, "") if isinstance(node, ast.Name) else ""

    def family(self, name: str) -> Iterator[ast.ClassDef]:
        """A class and its base classes in the same sources."""
        node = self.classes.get(name)
        if node is not None:
            yield node
            for base in node.bases:
                yield from self.family(base.id if isinstance(base, ast.Name) else "")


def constants(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            value = node.value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield node.targets[0].id, value.value


def text(known: Iterable[Mapping[str, object]], rows: Iterable[Mapping[str, object]]) -> str:
    """The catalogue with rows added, newest release first; a row replaces a known row of its release."""
    by_release = {str(each["vllm_ascend"]): each for each in [*known, *rows]}
    ordered = sorted(by_release, key=Version, reverse=True)
    lines = ",\n".join(f"  {json.dumps(by_release[release])}" for release in ordered)
    return f'{{\n "source": {json.dumps(SOURCE)},\n "releases": [\n{lines}\n ]\n}}\n'


def row(version: str, folder: Path) -> dict[str, object]:
    """The row of one release.

    Raises:
        OSError: the folder has no vllm_ascend.
        SyntaxError: one of its files is not Python.
    """
    package = folder / "vllm_ascend"
    own = Sources([*(package / "quantization").rglob("*.py"), package / "utils.py"])
    schemes = registered(own)
    chips: dict[str, list[str]] = {"any": [], "950": []}
    for scheme in schemes:
        chips["950" if needs_newest(own, scheme) else "any"].append(scheme.label)
    if (package / "_310p" / "quantization").is_dir():
        special = Sources((package / "_310p" / "quantization").rglob("*.py"))
        chips["310P"] = [scheme.label for scheme in registered(special)]
    return {
        "vllm_ascend": version,
        "methods": list(methods(package, own)),
        "schemes": {chip: sorted(labels) for chip, labels in chips.items()},
        "compressed_tensors": sorted(compressed_tensors(own, schemes)),
        "reads": {scheme.label: keys for scheme in schemes if (keys := reads(own, scheme))},
        "fp8_in_blocks": any(
            "_verify_block_quantization" in ast.unparse(tree) for tree in own.trees
        ),
        "fp8_of_minimax": fp8_of_minimax(package),
        "attention": attention(package),
    }


def fp8_of_minimax(package: Path) -> dict[str, str]:
    """The treatment of MiniMax-M2's FP8 weights, by chip; empty if they are treated like those of other models.

    A patch makes vLLM forget their quantization, and from 0.17.0rc1 to 0.26.0rc1 another patch expands them to 16
    bits while they are loaded. Releases that look for the quantization again find FP8, in 0.23.0 on the 950 only.
    Without the second patch, their own pull request 16569 says that the numbers are wrong; as they find FP8 again,
    this is not certain.
    """
    first = package / "patch" / "platform" / "patch_minimax_m2_config.py"
    second = package / "patch" / "worker" / "patch_minimax_m2.py"
    if not first.exists() or "_disable_fp8" not in first.read_text("utf-8"):
        return {}
    if not second.exists() or "dequantize_fp8" not in second.read_text("utf-8"):
        return {"any": "disputed", "950": "disputed"}
    again = re.search(
        r"if \w+ == FP8_METHOD(.*):", (package / "quantization" / "utils.py").read_text("utf-8")
    )
    if again is None:
        return {"any": "expanded", "950": "expanded"}
    return {"any": "expanded"} if "A5" in again[1] else {}


def attention(package: Path) -> dict[str, object]:
    """How it treats --attention-backend and --kv-cache-dtype: see Attention in healthcheck/ascend/schemes.py."""
    platform = ast.parse((package / "platform.py").read_text("utf-8"))
    texts = [
        text_of(package / "attention" / "attention_v1.py"),
        text_of(package / "device" / "device_op.py"),
    ]
    return {
        "backend": backend(platform),
        "fp8_needs_950": any(is_fp8_assertion(node) for node in ast.walk(platform)),
        "needs_scales": "related models adopt static quantization" in texts[0],
        "writes_16_bits": any(writes_16_bits(ast.parse(text)) for text in texts),
        "sparse_keeps_dtype": any(is_sparse_reset(node) for node in ast.walk(platform)),
    }


def text_of(path: Path) -> str:
    return path.read_text("utf-8") if path.is_file() else ""


def backend(platform: ast.Module) -> str:
    """Return "own" if the choice ignores the requested backend, "flash-attn" if it checks only for that one."""
    choices = [node for node in ast.walk(platform) if isinstance(node, ast.FunctionDef)]
    choice = next((node for node in choices if node.name == "get_attn_backend_cls"), None)
    if choice is None or len(choice.args.args) < 2:
        return ""
    named = choice.args.args[1].arg
    uses = sum(isinstance(node, ast.Name) and node.id == named for node in ast.walk(choice))
    compared = [
        node
        for node in ast.walk(choice)
        if isinstance(node, ast.Compare) and ast.unparse(node.left) == named
    ]
    of_flash = sum(
        ast.unparse(node.comparators[0]).endswith("Enum.FLASH_ATTN") for node in compared
    )
    return "own" if not uses else "flash-attn" if uses == of_flash else ""


def is_fp8_assertion(node: ast.AST) -> bool:
    """`if … cache_dtype == "fp8" …: assert …supports(…FP8_ATTENTION)`."""
    if not isinstance(node, ast.If) or "cache_dtype == 'fp8'" not in ast.unparse(node.test):
        return False
    return any(
        isinstance(step, ast.Assert) and "FP8_ATTENTION" in ast.unparse(step.test)
        for step in node.body
    )


def is_sparse_reset(node: ast.AST) -> bool:
    """`if … index_topk …: ….cache_dtype = the number format of the model`."""
    if not isinstance(node, ast.If) or "index_topk" not in ast.unparse(node.test):
        return False
    targets = (ast.unparse(step.targets[0]) for step in node.body if isinstance(step, ast.Assign))
    return any(target.endswith("cache_config.cache_dtype") for target in targets)


def writes_16_bits(tree: ast.Module) -> bool:
    """Whether the operator that takes 16 bits only writes keys and values on a 910B or an A3."""
    holders = (
        node
        for node in tree.body
        if isinstance(node, ast.ClassDef) and not re.search("310P|A5", node.name)
    )
    return any("torch_npu._npu_reshape_and_cache" in ast.unparse(node) for node in holders)


def methods(package: Path, own: Sources) -> Iterator[str]:
    """supported_quantization of the platform's class: the methods that vLLM accepts."""
    for node in ast.walk(ast.parse((package / "platform.py").read_text("utf-8"))):
        named = (
            isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "supported_quantization"
        )
        if named and isinstance(node.value, ast.List):
            yield from (own.text(element) for element in node.value.elts)


def registered(sources: Sources) -> list[Scheme]:
    """The schemes of the sources, by their decorators."""
    return sorted(
        {scheme.label: scheme for scheme in decorated(sources)}.values(),
        key=lambda scheme: scheme.label,
    )


def decorated(sources: Sources) -> Iterator[Scheme]:
    for node in sources.classes.values():
        for call in node.decorator_list:
            if (
                isinstance(call, ast.Call)
                and isinstance(call.func, ast.Name)
                and call.func.id == "register_scheme"
            ):
                name, layer = map(sources.text, call.args)
                yield Scheme(
                    name=name.upper() if name == "fp8" else name, layer=layer, cls=node.name
                )


def needs_newest(sources: Sources, scheme: Scheme) -> bool:
    """Whether the class always computes in formats that only the 950 has.

    An abstract base class serves the schemes of every format, so it does not count.
    """
    family = (node for node in sources.family(scheme.cls) if not is_abstract(node))
    bodies = [ast.unparse(node) for node in family]
    own = bodies[0] if bodies else ""
    if DECIDES_ITSELF.search(own):
        return False
    return any(NEWEST_ONLY.search(body) for body in bodies)


def is_abstract(node: ast.ClassDef) -> bool:
    return any(ast.unparse(base) in {"ABC", "abc.ABC"} for base in node.bases)


def reads(sources: Sources, scheme: Scheme) -> list[str]:
    """The keys of the model's configuration that the class requires: hf_config.NAME, not getattr with a default."""
    found: set[str] = set()
    for node in sources.family(scheme.cls):
        for part in ast.walk(node):
            if (
                isinstance(part, ast.Attribute)
                and ast.unparse(part.value).rpartition(".")[2] == "hf_config"
            ):
                found.add(part.attr)
    return sorted(found - {"model_type"})


def compressed_tensors(sources: Sources, schemes: list[Scheme]) -> set[str]:
    """The schemes that the configuration class of compressed-tensors can select."""
    labels = {scheme.cls: scheme.name for scheme in schemes}
    found: set[str] = set()
    for tree in sources.trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name in {
                "_detect_quant_type",
                "_get_scheme_from_parts",
            }:
                for each in ast.walk(node):
                    if isinstance(each, ast.Return) and isinstance(each.value, ast.Constant):
                        found.add(str(each.value.value))
                    elif isinstance(each, ast.Return) and isinstance(each.value, ast.Call):
                        found.add(labels.get(ast.unparse(each.value.func), ""))
            elif isinstance(node, ast.FunctionDef) and node.name == "_is_dynamic_token_w4a8":
                found |= {f"W4A8_DYNAMIC {IN_GROUPS}"} if "GROUP" in ast.unparse(node) else set()
    return found - {""}
