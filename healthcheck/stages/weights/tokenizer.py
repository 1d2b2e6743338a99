"""Reads the tokenizer files of a weights folder and their chat templates."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from healthcheck.core.records import JsonValue
from healthcheck.stages.weights.documents import Document, JsonObject, read_document, text_of
from healthcheck.stages.weights.folder import Folder, Unreadable
from healthcheck.system import json_text
from healthcheck.text.messages import msg

MAX_TOKENIZER_BYTES = 192 * 1024**2
MAX_CONFIG_BYTES = 16 * 1024**2
MAX_TEMPLATE_BYTES = 1024**2
JINJA_FILE = "chat_template.jinja"
JSON_FILE = "chat_template.json"
PROCESSOR_FILES = ("preprocessor_config.json", "processor_config.json")
_ESCAPED = re.compile(r"\\u00[2-7]", re.IGNORECASE)
"""A printable character that JSON has as an escape, so that a search of the text does not find it."""
VOCABULARY = re.compile(
    r"^(tokenizer\.(json|model|tok\.json)|tekken\.json|spiece\.model|sentencepiece\.bpe\.model|vocab\.(json|txt))\Z"
    r"|\.(tiktoken|spm|bpe)\Z|tokenizer\.model\.v"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A chat template and its source.

    Attributes:
        source: the file, or the option with its value.
        file: the file whose lines are those of the template; "" if there is none.
        error: why the template cannot be used, "" if it can.
    """

    source: str
    text: str = ""
    error: str = ""
    file: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokenizer:
    """The tokenizer files of a folder.

    Attributes:
        vocabularies: the files with a vocabulary.
        error: why tokenizer.json is not a tokenizer, "" if it is one or is absent.
        byte_level: whether tokenizer.json decodes tokens as bytes; None if it does not say.
        config: tokenizer_config.json.
        templates: the chat templates in an engine's order of preference.
        tokens: special tokens by name (bos_token …), as a template receives them.
        processor: the folder has a processor, like those of multimodal models.
    """

    vocabularies: tuple[str, ...]
    error: str
    byte_level: bool | None
    config: Document
    special_tokens: Document
    templates: tuple[Template, ...]
    tokens: dict[str, str]
    processor: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Model:
    type: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _TokenizerJson:
    model: _Model
    decoder: object = None


def read_tokenizer(folder: Folder) -> Tokenizer:
    """Read the tokenizer files; errors become part of the record."""
    config = read_document(folder, "tokenizer_config.json", MAX_CONFIG_BYTES)
    special = read_document(folder, "special_tokens_map.json", MAX_CONFIG_BYTES)
    error, byte_level = _tokenizer_json(folder)
    return Tokenizer(
        vocabularies=tuple(
            e.name for e in folder.entries if e.at_top and VOCABULARY.search(e.name)
        ),
        error=error,
        byte_level=byte_level,
        config=config,
        special_tokens=special,
        templates=_templates(folder, config.value),
        tokens=_tokens(config.value, special.value),
        processor=_has_processor(folder),
    )


def missing_tokens(folder: Folder, read: Tokenizer, tokens: Sequence[str]) -> tuple[str, ...]:
    """Those of the tokens that are certainly not in the vocabulary; () if it is in another format.

    transformers adds the tokens in these files to those of tokenizer.json. A token that is anywhere in one of them,
    even as a part of another, may be in the vocabulary.
    """
    texts = _vocabulary_texts(folder, read)
    if not texts or any(_ESCAPED.search(text) for text in texts):
        return ()
    return tuple(token for token in tokens if not any(token in text for text in texts))


def _vocabulary_texts(folder: Folder, read: Tokenizer) -> list[str]:
    """The texts of all files with tokens; none if some are in another format or cannot be read."""
    config = {name: value for name, value in read.config.value.items() if name != "chat_template"}
    formats = {name.rpartition(".")[2] for name in read.vocabularies}
    broken = read.error or read.config.error or read.special_tokens.error
    names = {entry.name for entry in folder.entries}
    if "tokenizer.json" not in names or formats != {"json"} or "tekken.json" in names:
        return []
    if broken or "auto_map" in config:
        return []
    files = sorted({"tokenizer.json", "added_tokens.json"} & names)
    try:
        texts = [folder.read(name, MAX_TOKENIZER_BYTES).decode("utf-8") for name in files]
    except (Unreadable, UnicodeDecodeError):
        return []
    return [*texts, json.dumps([config, read.special_tokens.value], ensure_ascii=False)]


def _tokenizer_json(folder: Folder) -> tuple[str, bool | None]:
    """Why tokenizer.json is not a tokenizer, and whether it decodes bytes."""
    if folder.entry("tokenizer.json") is None:
        return "", None
    try:
        read = json_text.load_as(folder.read("tokenizer.json", MAX_TOKENIZER_BYTES), _TokenizerJson)
    except Unreadable as error:
        return str(error), None
    except json_text.JsonError as error:
        return msg("is not a tokenizer: {error}", error=error), None
    return "", "ByteLevel" in json.dumps(read.decoder) if read.decoder else None


def _templates(folder: Folder, config: JsonObject) -> tuple[Template, ...]:
    """Source of the order: vLLM prefers the template of a processor, transformers the .jinja file."""
    own = [_from_file(folder), *_from_config(config)]
    in_order = (
        [*own[:1], _from_json(folder), *own[1:]]
        if _has_processor(folder)
        else [*own, _from_json(folder)]
    )
    return tuple(template for template in in_order if template)


def _has_processor(folder: Folder) -> bool:
    return any(folder.has(name) for name in PROCESSOR_FILES)


def _from_file(folder: Folder) -> Template | None:
    if folder.entry(JINJA_FILE) is None:
        return None
    try:
        return decoded(JINJA_FILE, folder.read(JINJA_FILE, MAX_TEMPLATE_BYTES), file=JINJA_FILE)
    except Unreadable as error:
        return Template(source=JINJA_FILE, error=str(error))


def decoded(source: str, data: bytes, *, file: str) -> Template:
    """Decode a template from the bytes of a file."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return Template(source=source, error=msg("is not UTF-8 (byte {start})", start=error.start))
    return Template(
        source=source, text=text, error="" if text.strip() else msg("is empty"), file=file
    )


def _from_json(folder: Folder) -> Template | None:
    document = read_document(folder, JSON_FILE, MAX_CONFIG_BYTES)
    if not document.present:
        return None
    text = text_of(document.value.get("chat_template"))
    error = document.error or ("" if text else msg('has no "chat_template" text'))
    return Template(source=JSON_FILE, text=text, error=error)


def _from_config(config: JsonObject) -> list[Template]:
    source = "tokenizer_config.json"
    value = config.get("chat_template")
    if value is None:
        return []
    if isinstance(value, str):
        error = "" if value.strip() else msg("has an empty chat_template")
        return [Template(source=source, text=value, error=error)]
    named = _named(value)
    if "default" in named:
        return [
            Template(source=msg("{source}, template default", source=source), text=named["default"])
        ]
    names = ", ".join(sorted(named)) or "none"
    lacks = msg('has a list of chat templates and none is named "default" ({names})', names=names)
    return [Template(source=source, error=lacks)]


def _named(value: JsonValue) -> dict[str, str]:
    if isinstance(value, dict):
        return {name: text for name, text in value.items() if isinstance(text, str)}
    items = [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
    return {
        text_of(item.get("name")): text_of(item.get("template"))
        for item in items
        if item.get("template")
    }


def _tokens(*sources: JsonObject) -> dict[str, str]:
    tokens = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
    for source in sources:
        for name, value in source.items():
            text = text_of(value.get("content") if isinstance(value, dict) else value)
            if name.endswith("_token") and text:
                tokens[name] = text
    return tokens
