"""Gathers the names, sizes, headers and documents of a weights folder, without reading tensors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from healthcheck.stages.repo.model_card import Card, read_card
from healthcheck.stages.weights import safetensors
from healthcheck.stages.weights.documents import (
    read_document,
)  # fmt: skip
from healthcheck.stages.weights.folder import Entry, Folder, Unreadable, list_folder
from healthcheck.stages.weights.inventory import Format, of_format
from healthcheck.stages.weights.pickles import inspect
from healthcheck.stages.weights.records import DESCRIPTION, MAX_CARD_BYTES, Shard, Weights
from healthcheck.stages.weights.tokenizer import read_tokenizer
from healthcheck.text.messages import msg

MAX_CONFIG_BYTES = 8 * 1024**2
MAX_INDEX_BYTES = 32 * 1024**2
MAX_HEADERS = 2_000
LFS_HEAD = b"version https://git-lfs.github.com/spec/"
XET_HEAD = b"# xet version "
MAX_POINTER_BYTES = 1024
MAX_POINTERS_READ = 4_000


def survey(folder: Path, below: str = "") -> Weights:
    """Survey a weights folder; `below` is the served subfolder, "" for the folder itself.

    Raises:
        UsageError: the folder does not exist or cannot be listed.
    """
    whole = list_folder(folder)
    inside = whole.real_name(below) if below else ""
    listed = list_folder(folder / inside) if inside and whole.has_folder(inside) else whole
    indices = [e.name for e in listed.entries if e.at_top and e.name.endswith(".index.json")][:8]
    return Weights(
        folder=listed,
        whole=whole,
        config=read_document(listed, "config.json", MAX_CONFIG_BYTES),
        params=read_document(listed, "params.json", MAX_CONFIG_BYTES),
        generation_config=read_document(listed, "generation_config.json", MAX_CONFIG_BYTES),
        adapter_config=read_document(listed, "adapter_config.json", MAX_CONFIG_BYTES),
        diffusers_index=read_document(listed, "model_index.json", MAX_CONFIG_BYTES),
        modules=read_document(listed, "modules.json", MAX_CONFIG_BYTES),
        description=read_document(listed, DESCRIPTION, MAX_INDEX_BYTES),
        indices=tuple(read_document(listed, name, MAX_INDEX_BYTES) for name in indices),
        shards=tuple(_shards(listed)),
        pickles=tuple(inspect(listed, of_format(listed.entries, Format.PICKLE))),
        pointers=dict(_pointers(listed)),
        tokenizer=read_tokenizer(listed),
        card=_card(listed),
    )


def _shards(folder: Folder) -> Iterator[Shard]:
    entries = of_format(folder.entries, Format.SAFETENSORS)
    for entry in entries[:MAX_HEADERS]:
        if entry.problem:
            yield Shard(entry=entry, error=entry.problem)
            continue
        try:
            header = _header(folder, entry)
            yield Shard(entry=entry, header=header, cut_off=header.file_bytes > entry.size_bytes)
        except (Unreadable, safetensors.FormatError) as error:
            cut_off, unread = (
                isinstance(error, safetensors.CutOffError),
                isinstance(error, safetensors.TooLongError),
            )
            yield Shard(entry=entry, error=str(error), cut_off=cut_off, unread=unread)


def _header(folder: Folder, entry: Entry) -> safetensors.Header:
    prefix = folder.read_range(entry, 0, 64)
    length = safetensors.header_length(prefix, entry.size_bytes)
    if length > safetensors.MAX_READ_BYTES:
        why = msg(
            "has a header of {length:,} bytes, of which at most {max_read_bytes:,} are read here",
            length=length,
            max_read_bytes=safetensors.MAX_READ_BYTES,
        )
        raise safetensors.TooLongError(why)
    data = folder.read_range(entry, safetensors.LENGTH_BYTES, length)
    return safetensors.parse_header(data, entry.size_bytes)


def _pointers(folder: Folder) -> Iterator[tuple[str, int | None]]:
    small = [e for e in folder.entries if 0 < e.size_bytes <= MAX_POINTER_BYTES and not e.problem]
    for entry in small[:MAX_POINTERS_READ]:
        try:
            data = folder.read_range(entry, 0, MAX_POINTER_BYTES)
        except Unreadable:
            continue
        if data.startswith((LFS_HEAD, XET_HEAD)):
            sizes = [line[5:].strip() for line in data.splitlines() if line.startswith(b"size ")]
            yield (
                entry.name,
                int(sizes[0]) if sizes and sizes[0].isdigit() and len(sizes[0]) < 20 else None,
            )


def _card(folder: Folder) -> Card:
    try:
        entry = folder.entry("README.md")
        return read_card(
            folder.read_range(entry, 0, MAX_CARD_BYTES) if entry and not entry.problem else None
        )
    except Unreadable:
        return Card()
