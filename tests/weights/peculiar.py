"""Weights folders with one peculiarity each."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from tests.weights.folders import QWEN3, model, safetensors, sharded, write_json

LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "a" * 64 + "\nsize 4967215360\n"


def bare(folder: Path, **files: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = folder / name.replace("__", ".")
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return folder


def remove(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).unlink()
    return folder


def text(folder: Path, name: str, content: str | bytes) -> Path:
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def layers(count: int) -> dict[str, tuple[str, tuple[int, ...]]]:
    """The norms of decoder layers, as wide as QWEN3 is."""
    return {
        f"model.layers.{number}.input_layernorm.weight": ("BF16", (4096,))
        for number in range(count)
    }


def linked(folder: Path, target: str) -> Path:
    """A whole model and another below it, with a link to one of them."""
    model(model(folder) / "checkpoint")
    (folder / "chat").symlink_to(target)
    return folder


def below(folder: Path) -> Path:
    """Weights in a subfolder, with another file above them."""
    model(folder / "checkpoint")
    return text(folder, "LICENSE", "-")


def architecture(name: str, **more: object) -> dict[str, object]:
    return {**QWEN3, "architectures": [name], **more}


def cache(folder: Path) -> Path:
    """A snapshot of the Hugging Face cache: links to blobs beside it."""
    root = folder / "models--org--name"
    (root / "blobs").mkdir(parents=True)
    snapshot = model(root / "snapshots" / "abc123")
    for path in list(snapshot.iterdir()):
        blob = root / "blobs" / f"sha-{path.name}"
        path.rename(blob)
        path.symlink_to(Path("../../blobs") / blob.name)
    return snapshot


def cut(folder: Path) -> Path:
    path = sharded(folder) / "model-00002-of-00003.safetensors"
    os.truncate(path, path.stat().st_size - 5)
    return folder


def outside(folder: Path) -> Path:
    model(folder)
    (folder.parent / "real.safetensors").write_bytes((folder / "model.safetensors").read_bytes())
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").symlink_to("../real.safetensors")
    return folder


def loops(folder: Path) -> Path:
    model(folder)
    (folder / "again").symlink_to(".")
    (folder / "a.json").symlink_to("b.json")
    (folder / "b.json").symlink_to("a.json")
    return folder


def broken_link(folder: Path, name: str) -> Path:
    remove(model(folder), name)
    (folder / name).symlink_to("nowhere")
    return folder


def sparse(folder: Path, size: int, name: str = "model.safetensors") -> Path:
    model(folder)
    rest = size - sum(path.stat().st_size for path in folder.iterdir() if path.name != name)
    extent = rest
    while True:
        data = json.dumps(
            {"w": {"dtype": "I8", "shape": [extent], "data_offsets": [0, extent]}}
        ).encode()
        if 8 + len(data) + extent == rest:
            break
        extent = rest - 8 - len(data)
    with (folder / name).open("wb") as file:
        file.write(len(data).to_bytes(8, "little") + data)
        file.truncate(rest)
    return folder


def adapter(folder: Path) -> Path:
    bare(
        folder,
        adapter_config__json={"base_model_name_or_path": "Qwen/Qwen3-8B", "peft_type": "LORA"},
    )
    safetensors(folder / "adapter_model.safetensors", {"lora_A": ("BF16", (8, 8))})
    return folder


def pipeline(folder: Path) -> Path:
    bare(
        folder,
        model_index__json={
            "_class_name": "StableDiffusionPipeline",
            "unet": ["diffusers", "UNet2D"],
        },
    )
    (folder / "unet").mkdir()
    safetensors(folder / "unet" / "diffusion_pytorch_model.safetensors", {"w": ("F16", (8, 8))})
    return folder


def mistral(folder: Path) -> Path:
    bare(
        folder,
        params__json={"dim": 4096, "n_layers": 32, "n_heads": 32, "n_kv_heads": 8},
        tekken__json={},
    )
    safetensors(folder / "consolidated.safetensors", {"w": ("BF16", (8, 8))})
    return folder


def pickled(folder: Path, data: bytes = b"\x80\x02}q\x00.") -> Path:
    remove(model(folder), "model.safetensors")
    return text(folder, "pytorch_model.bin", data)


def unfinished(folder: Path) -> Path:
    sharded(folder)
    (folder / "model-00003-of-00003.safetensors").rename(
        folder / "model-00003-of-00003.safetensors.incomplete"
    )
    return folder


def gguf(folder: Path) -> Path:
    folder.mkdir()
    return text(folder, "model-q4.gguf", b"GGUF" + b"\0" * 100)


def indexed(folder: Path, change: Callable[[dict[str, str]], dict[str, str]]) -> Path:
    sharded(folder)
    path = folder / "model.safetensors.index.json"
    index = json.loads(path.read_text())
    index["weight_map"] = change(index["weight_map"])
    write_json(path, index)
    return folder


def code(folder: Path, **config: object) -> Path:
    return model(folder, {**QWEN3, "auto_map": {"AutoConfig": "configuration_x.XConfig"}, **config})


def card(folder: Path, tag: str, config: dict | None = None) -> Path:
    return text(
        model(folder, config),
        "README.md",
        f"---\npipeline_tag: {tag}\nlicense: mit\n---\n# A model\n",
    )


def template(folder: Path, content: str) -> Path:
    return text(model(folder), "chat_template.jinja", content)


def modelslim(folder: Path, scheme: str = "W8A8") -> Path:
    """Weights that ModelSlim has quantised, every layer alike."""
    described = {"model_quant_type": scheme, "model.layers.0.self_attn.q_proj.weight": scheme}
    write_json(model(folder) / "quant_model_description.json", described)
    return folder
