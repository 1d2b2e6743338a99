"""The catalogue of quantization schemes: each row of the matrix has one, and the script reads a release's source."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import pytest

from adapter.precision import RUNS_ON_ASCEND
from healthcheck.ascend import hardware, schemes, stacks
from healthcheck.ascend.hardware import Family
from healthcheck.stages.weights.fit.experts import has_experts

SCRIPTS = Path(__file__).parents[2] / "scripts"
RECIPES = SCRIPTS / "data" / "recipes.json"
PLATFORM = """
class NPUPlatform:
    supported_quantization: list[str] = [ASCEND_METHOD, "compressed-tensors"]
"""
UTILS = 'ASCEND_METHOD = "ascend"\nFP8_METHOD = "fp8"\n'
METHODS = """
class Base(ABC):
    def quantize(self, x):
        return to_float8(x) if self.act_quant_type == torch.float8_e4m3fn else to_int8(x)


@register_scheme("W8A8", "linear")
class Static(Base):
    def weight(self):
        return torch.int8


@register_scheme("W8A8_MXFP8", "moe")
class Micro(Base):
    def weight(self):
        return torch.float8_e4m3fn


@register_scheme(FP8_METHOD, "ds_linear")
class Derived(Micro):
    def __init__(self):
        self.n_groups = get_current_vllm_config().model_config.hf_config.o_groups


@register_scheme(FP8_METHOD, "linear")
class Blocks(Base):
    def weight(self):
        return Micro() if is_950() else torch.float8_e4m3fn
"""
DETECTS = """
class Config:
    def _detect_quant_type(self, weights, activations):
        if activations is None:
            return "W4A16"
        return "W8A8"
"""


def release(folder: Path, **modules: str) -> dict:
    """What the script makes of a release with these modules; a name with a double underscore is in a subfolder."""
    sources = {"platform": PLATFORM, "utils": UTILS, **modules}
    for name, text in sources.items():
        path = folder / "vllm_ascend" / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "vllm_ascend" / "quantization").mkdir(exist_ok=True)
    sys.path.insert(0, str(SCRIPTS))
    try:
        return importlib.import_module("make_scheme_catalogue").row("9.9.9", folder)
    finally:
        sys.path.remove(str(SCRIPTS))


def test_decorators_dtypes_and_the_310p_decide_the_chips(tmp_path: Path) -> None:
    special = '@register_scheme("W8A8SC", "linear")\nclass Sparse: ...\n'
    row = release(
        tmp_path,
        quantization__methods__all=METHODS,
        quantization__config=DETECTS,
        _310p__quantization__methods=special,
    )
    assert row["methods"] == ["ascend", "compressed-tensors"]
    assert row["schemes"] == {
        "any": ["FP8 linear", "W8A8 linear"],
        "950": ["FP8 ds_linear", "W8A8_MXFP8 moe"],
        "310P": ["W8A8SC linear"],
    }
    assert row["reads"] == {"FP8 ds_linear": ["o_groups"]}
    assert row["compressed_tensors"] == ["W4A16", "W8A8"]


FORGETS, EXPANDS = "def _disable_fp8(cfg): ...\n", "def _dequantize_fp8_block_weight(): ...\n"
AGAIN = "if quant_method == FP8_METHOD"


@pytest.mark.parametrize(
    ("platform", "worker", "utils", "fate"),
    [
        ("", "", "", {}),
        (FORGETS, EXPANDS, "", {"any": "expanded", "950": "expanded"}),
        (
            FORGETS,
            EXPANDS,
            f"{AGAIN} and device() == AscendDeviceType.A5: ...",
            {"any": "expanded"},
        ),
        (FORGETS, EXPANDS, f"{AGAIN}: ...", {}),
        (FORGETS, "", f"{AGAIN}: ...", {"any": "disputed", "950": "disputed"}),
    ],
)
def test_what_becomes_of_fp8_weights_of_minimax(
    platform: str, worker: str, utils: str, fate: dict[str, str], tmp_path: Path
) -> None:
    patches = {
        "patch__platform__patch_minimax_m2_config": platform,
        "patch__worker__patch_minimax_m2": worker,
        "quantization__utils": utils,
    }
    assert release(tmp_path, **patches)["fp8_of_minimax"] == fate


def test_a_row_takes_the_place_of_the_older_one(tmp_path: Path) -> None:
    release(tmp_path)
    script = importlib.import_module("make_scheme_catalogue")
    known = [{"vllm_ascend": "0.9.1", "n": 1}, {"vllm_ascend": "0.10.0rc1", "n": 1}]
    written = json.loads(script.text(known, [{"vllm_ascend": "0.9.1", "n": 2}]))["releases"]
    assert [(each["vllm_ascend"], each["n"]) for each in written] == [
        ("0.10.0rc1", 1),
        ("0.9.1", 2),
    ]


@pytest.mark.parametrize("release", [row.vllm_ascend for row in stacks.rows()])
def test_each_row_of_the_matrix_has_its_registry(release: str) -> None:
    found = schemes.registry(release)
    assert found
    assert "ascend" in found.methods


def test_the_planner_knows_the_methods_of_the_newest_release() -> None:
    assert set(schemes.registries()[0].methods) == RUNS_ON_ASCEND


@pytest.mark.parametrize(
    ("release", "scheme", "chips"),
    [
        # read in the releases' own source
        ("0.23.0", "W8A8_DYNAMIC moe", {Family.A2, Family.A3, Family.A5, Family.P310}),
        ("0.23.0", "W8A8_MXFP8 linear", {Family.A5}),
        ("0.23.0", "W4A16 moe", {Family.A2, Family.A3, Family.A5}),
        ("0.28.0rc1", "W4A8_DYNAMIC moe", {Family.A2, Family.A3, Family.A5}),
        ("0.30.0rc2", "W8A8_DYNAMIC moe", {Family.A2, Family.A3, Family.A5, Family.P310}),
        ("0.30.0rc2", "W4A16 moe", {Family.A2, Family.A3, Family.A5}),
        ("0.30.0rc2", "W8A8_MXFP8 moe", {Family.A5}),
        ("0.30.0rc2", "W8A8FP8_DYNAMIC moe", {Family.A5}),
        ("0.23.0", "W4A16 linear", set()),
        ("0.23.0", "W8A8SC linear", {Family.P310}),
        ("0.23.0", "FP8 linear", set()),
        ("0.27.1rc1", "FP8 linear", {Family.A2, Family.A3, Family.A5}),
        ("0.14.0rc1", "W8A8 linear", {Family.A2, Family.A3, Family.A5, Family.P310}),
    ],
)
def test_schemes_of_real_releases(release: str, scheme: str, chips: set[Family]) -> None:
    found = schemes.registry(release)
    assert found
    families = {Family.A2, Family.A3, Family.A5, Family.P310}
    assert {family for family in families if scheme in found.of_chip(family)} == chips


def test_each_documented_launch_has_its_scheme_on_its_chip() -> None:
    recipes = json.loads(RECIPES.read_bytes())
    missing = []
    for recipe in recipes["recipes"]:
        model = recipes["models"][recipe["model"]]
        layer = "moe" if has_experts(text_config(model["config"])) else "linear"
        label, chip = f"{model.get('modelslim')} {layer}", hardware.find(recipe["chip"])[0].family
        for release in recipe["releases"] if "modelslim" in model else ():
            registry = schemes.registry(release)
            assert registry
            missing += (
                [] if label in registry.of_chip(chip) else [(recipe["model"], chip, release, label)]
            )
    assert missing == []


def text_config(config: dict) -> dict:
    config = config.get("thinker_config", config)
    return config.get("text_config", config.get("llm_config", config))
