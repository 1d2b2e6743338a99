"""Made-up releases of vllm-ascend and of what it needs, as files of a package index."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

METADATA = "Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nRequires-Python: >=3.10\n"
TABLE = """\
| vLLM Ascend | vLLM    | Python          | Stable CANN | PyTorch/torch_npu | Triton Ascend | Mooncake |
|-------------|---------|-----------------|-------------|-------------------|---------------|----------|
{lines}"""
LINE = "| v{version} | v9.1.0 | >= 3.10, < 3.13 | 9.9.1 | 2.90.0 / 2.90.0.post1 | N/A | v0.3 |\n"
REQUIRES = (
    "cmake>=3.26", "numpy", "torch==2.90.0", "torch-npu==2.90.0", "triton-ascend==3.9.0", "transformers==6.1.0",
    "compressed_tensors>=0.11.0", "pytest>=1; extra == 'test'",
)  # fmt: skip
DOCKERFILE = """\
ARG CANN_VERSION="9.9.0_20260930220649"
FROM somewhere/cann:${CANN_VERSION}-910b
ARG VLLM_TAG=v9.1.0
RUN python3 -m pip install 'modelscope<1.38' 'ray>=2.47.1,<=2.48.0'
"""
ENVS = """\
import os

env_variables: dict = {
    "VLLM_ASCEND_ONE": lambda: int(os.getenv("VLLM_ASCEND_ONE", "1")),
    "HCCL_SO_PATH": lambda: 2,
}
"""
VLLM_ENVS = """\
import os


def chosen():
    value = os.getenv("VLLM_WARP", "fast")
    if value not in ("fast", "slow"):
        raise ValueError(value)
    return value


environment_variables = {"VLLM_WARP": chosen, "VLLM_WARP_PATH": lambda: os.getenv("VLLM_WARP_PATH")}
"""
SCHEMES = """\
from .registry import register_scheme

@register_scheme("W8A8", "linear")
class Static: ...
"""
PLATFORM = """\
class NPUPlatform:
    supported_quantization: list[str] = ["ascend", "mxfp8"]
"""
ASCEND = {
    "Dockerfile": DOCKERFILE,
    "vllm_ascend/_version.py": "__commit_id__ = commit_id = 'g0123abcd9'",
    "vllm_ascend/envs.py": ENVS,
    "vllm_ascend/platform.py": PLATFORM,
    "vllm_ascend/utils.py": "",
    "vllm_ascend/quantization/methods/one.py": SCHEMES,
}
PARSER = """\
def make_arg_parser(parser):
    parser.add_argument("--max-model-len", type=int)
    parser.add_argument("--enable-warp", action="store_true")
    return parser
"""
VLLM = {
    "vllm/__init__.py": "__version__ = '9.1.0'",
    "vllm/platforms/__init__.py": "class current_platform:\n    is_unspecified = staticmethod(lambda: False)",
    "vllm/utils/__init__.py": "",
    "vllm/utils/argparse_utils.py": "from argparse import ArgumentParser as FlexibleArgumentParser",
    "vllm/entrypoints/__init__.py": "",
    "vllm/entrypoints/openai/__init__.py": "",
    "vllm/entrypoints/openai/cli_args.py": PARSER,
    "vllm/config.py": "",
    "vllm/envs.py": VLLM_ENVS,
    "vllm/model_executor/models/registry.py": '_TEXT_GENERATION_MODELS = {"WarpForCausalLM": ("warp", "Warp")}',
    "vllm/transformers_utils/config.py": "",
}
TRANSFORMERS = {
    "transformers/models/auto/auto_mappings.py": 'CONFIG_MAPPING_NAMES = {"warp": "WarpConfig"}',
    "transformers/models/auto/tokenization_auto.py": 'TOKENIZER_MAPPING_NAMES = {"warp": "WarpTokenizer"}',
    "transformers/models/auto/modeling_auto.py": "",
}


def sdist(
    index: Path,
    name: str,
    version: str,
    contents: Mapping[str, str],
    requires: tuple[str, ...] = (),
) -> None:
    """A source release; its setup.py leaves a file beside the index if it is run."""
    setup = f"open({str(index / 'setup-py-ran')!r}, 'w').close()\nfrom setuptools import setup\nsetup()\n"
    files = {**contents, "PKG-INFO": _metadata(name, version, requires), "setup.py": setup}
    top = f"{name.replace('-', '_')}-{version}"
    with tarfile.open(index / f"{top}.tar.gz", "w:gz") as archive:
        for path, text in files.items():
            entry = tarfile.TarInfo(f"{top}/{path}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))


def wheel(
    index: Path,
    name: str,
    version: str,
    contents: Mapping[str, str],
    requires: tuple[str, ...] = (),
) -> None:
    """A built release."""
    top = f"{name.replace('-', '_')}-{version}"
    files = {
        **contents,
        f"{top}.dist-info/METADATA": _metadata(name, version, requires),
        f"{top}.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{top}.dist-info/RECORD": "",
    }
    with zipfile.ZipFile(index / f"{top}-py3-none-any.whl", "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)


def _metadata(name: str, version: str, requires: tuple[str, ...]) -> str:
    said = "".join(f"Requires-Dist: {requirement}\n" for requirement in requires)
    return METADATA.format(name=name, version=version) + said


def documented(*versions: str) -> dict[str, str]:
    """The page with the compatibility table."""
    lines = "".join(LINE.format(version=version) for version in versions)
    return {"docs/source/community/versioning_policy.md": TABLE.format(lines=lines)}
