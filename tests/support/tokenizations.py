"""Tokenizers of the simulated model: those that ship inside mistral-common, byte-level BPE trained by the tests
with the splitting rules of known families, and one with any ratio of tokens to characters.
"""

from __future__ import annotations

import codecs
import fcntl
import hashlib
import re
import sysconfig
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from healthcheck.core.records import JsonValue
from healthcheck.extensions.simulator.request import text_of
from tests.support.chat_templates import Template

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / "vocabularies"
SMALL = 40_000
"""A vocabulary up to this size is trained in seconds, on a part of the corpus."""

Encode = Callable[[str], tuple[bytes, ...]]
"""Splits a text into the bytes of its tokens."""


def whole_characters(tokens: Iterable[bytes]) -> tuple[str, ...]:
    """The text that a server streams for each token: bytes of an incomplete character wait for the next token."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    return tuple(decoder.decode(token) for token in tokens)


def as_text(messages: Sequence[Mapping[str, JsonValue]]) -> list[dict[str, str]]:
    """The messages with each content as one string, as templates expect them."""
    return [{"role": str(message.get("role")), "content": text_of(message)} for message in messages]


@dataclass(frozen=True, slots=True, kw_only=True)
class Templated:
    """A vocabulary with a chat template. Each special token of the template counts one."""

    encode: Encode
    template: Template

    def pieces(self, text: str) -> tuple[str, ...]:
        return whole_characters(self.encode(text))

    def prompt_tokens(self, messages: Sequence[Mapping[str, JsonValue]]) -> int:
        """Raises:
        ValueError: the template refuses such a conversation.
        """
        texts, special = self.template.parts(as_text(messages))
        return special + sum(len(self.encode(text)) for text in texts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Instructed:
    """A tokenizer of mistral-common with its own prompt format."""

    encode: Encode
    whole: Any

    def pieces(self, text: str) -> tuple[str, ...]:
        return whole_characters(self.encode(text))

    def prompt_tokens(self, messages: Sequence[Mapping[str, JsonValue]]) -> int:
        """Raises:
        ValueError: it refuses such a conversation.
        """
        from mistral_common.exceptions import MistralCommonException
        from mistral_common.protocol.instruct.request import ChatCompletionRequest

        try:
            request = ChatCompletionRequest.from_openai(messages=as_text(messages))
            return len(self.whole.encode_chat_completion(request).tokens)
        except MistralCommonException as error:
            raise ValueError(str(error)) from error


def shipped() -> dict[str, Path]:
    """The tokenizer files inside mistral-common: short name → file."""
    folder = (
        Path(str(find_spec("mistral_common").origin)).parent / "data"
    )  # importing it takes seconds
    found = [*folder.glob("*.model.v*"), *folder.glob("tekken_*.json")]
    return {
        path.name.removeprefix("mistral_instruct_").replace(".model", ""): path
        for path in sorted(found)
    }


@cache
def mistral(name: str) -> Instructed:
    """One of `shipped`."""
    from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

    whole = MistralTokenizer.from_file(str(shipped()[name]))
    inner = whole.instruct_tokenizer.tokenizer
    tekken = hasattr(inner, "id_to_byte_piece")

    def encode(text: str) -> tuple[bytes, ...]:
        ids = inner.encode(text, bos=False, eos=False)
        if tekken:
            return tuple(inner.id_to_byte_piece(token) for token in ids)
        return _without_dummy_space([_bytes_of(inner.id_to_piece(token)) for token in ids])

    return Instructed(encode=encode, whole=whole)


def _bytes_of(piece: str) -> bytes:
    """The bytes of a SentencePiece token: `▁` is a space, `<0x0A>` one byte."""
    if len(piece) == 6 and piece.startswith("<0x") and piece.endswith(">"):
        return bytes([int(piece[3:5], 16)])
    return piece.replace("\N{LOWER ONE EIGHTH BLOCK}", " ").encode()


def _without_dummy_space(tokens: list[bytes]) -> tuple[bytes, ...]:
    """Remove the space that SentencePiece puts before each text."""
    return (tokens[0].removeprefix(b" "), *tokens[1:]) if tokens else ()


_SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_TAIL = r" ?[^\s\p{L}\p{N}]+[\r\n]*|" + _SPACES
_ENDINGS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
SPLITS: Mapping[str, tuple[str, ...]] = {
    "qwen": (rf"{_ENDINGS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}|{_TAIL}",),
    "llama3": (rf"{_ENDINGS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}|{_TAIL}",),
    "glm4": (rf"{_ENDINGS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}|{_TAIL}",),
    "deepseek2": (r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-\ud7ff]+", r"\p{N}"),
    "deepseek3": (
        r"\p{N}{1,3}",
        "[一-龥\u3040-ゟ゠-ヿ]+",
        r"[!-/:-@\[-`{-~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|"
        + _SPACES,
    ),
    "spaced-digits": (_GPT2,),
    "digits-first": (r"\p{N}", _GPT2),
    "superwords": (
        rf"{_ENDINGS}|[^\r\n\p{{L}}\p{{N}}]?(?:\p{{L}}\p{{M}}*(?: \p{{L}}\p{{M}}*)*)+|\p{{N}}|{_TAIL}",
    ),
}
"""Family → patterns that split a text, one after another, before the bytes of each part are merged.

Digits come singly (qwen, deepseek2, digits-first), in threes (llama3, glm4, deepseek3), or all together with the
space before them (spaced-digits); a token of `superwords` can hold several words.
"""


@cache
def bpe(family: str, size: int) -> Encode:
    """A byte-level BPE with the splitting rules of a family, trained once and kept in `.cache`."""
    from tokenizers import Tokenizer

    corpus = _corpus(whole=size > SMALL)
    recipe = hashlib.sha256(
        repr((SPLITS[family], size)).encode() + "\0".join(corpus).encode("utf-8", "replace")
    )
    kept = CACHE / f"{family}-{size}-{recipe.hexdigest()[:16]}.json"
    CACHE.mkdir(parents=True, exist_ok=True)
    with kept.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # test processes train side by side otherwise
        if not kept.exists():
            _trained(family, size, corpus).save(str(kept.with_suffix(".half")))
            kept.with_suffix(".half").rename(kept)
    tokenizer = Tokenizer.from_file(str(kept))
    return lambda text: _byte_level(tokenizer, text)


def _byte_level(tokenizer: Any, text: str) -> tuple[bytes, ...]:
    table = _byte_of()
    return tuple(bytes(table[char] for char in token) for token in tokenizer.encode(text).tokens)


@cache
def _byte_of() -> dict[str, int]:
    """The characters for bytes in a byte-level vocabulary: printable ones unchanged, the others from U+0100 on."""
    plain = [
        *range(ord("!"), ord("~") + 1),
        *range(ord("¡"), ord("¬") + 1),
        *range(ord("®"), ord("ÿ") + 1),
    ]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {
        chr(256 + place): byte for place, byte in enumerate(others)
    }


def _trained(family: str, size: int, corpus: Sequence[str]) -> Any:
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

    splits = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in SPLITS[family]]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [*splits, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=1 if size > SMALL else 2,
        show_progress=False,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
    )
    tokenizer.train_from_iterator(corpus, trainer)
    return tokenizer


@cache
def _corpus(*, whole: bool) -> tuple[str, ...]:
    """The standard library's sources, or every third module, and this project's documents, English and Chinese."""
    library = Path(sysconfig.get_path("stdlib"))
    apart = {"site-packages", "dist-packages", *(() if whole else ("test", "tests"))}
    sources = [path for path in sorted(library.rglob("*.py")) if not apart & set(path.parts)]
    sources = sources if whole else sources[::3]
    documents = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
    return tuple(path.read_text("utf-8", "replace") for path in (*sources, *documents))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """Any ratio of tokens to characters: each character has a price, and a token ends once a whole token is paid.

    Attributes:
        per_character: tokens per character other than a digit.
        per_digit: tokens per digit. Above 1, some tokens complete no character.
        by_word: no token spans the beginning of a word, so a word costs at least one token.
        head: tokens of the template before the messages.
        each: tokens of the template around each message.
        tail: tokens of the generation prompt.
        default_system: tokens of the system prompt if the user gives none.
    """

    per_character: float
    per_digit: float
    by_word: bool = False
    head: int = 0
    each: int = 4
    tail: int = 3
    default_system: int = 0

    @property
    def overhead(self) -> int:
        """Tokens of a prompt of one empty message."""
        return self.head + self.default_system + self.each + self.tail

    def pieces(self, text: str) -> tuple[str, ...]:
        if not self.by_word:
            return _paid(text, self.per_character, self.per_digit)
        words = re.findall(r"\s*\S+|\s+", text)
        return tuple(
            piece for word in words for piece in _paid(word, self.per_character, self.per_digit)
        )

    def prompt_tokens(self, messages: Sequence[Mapping[str, JsonValue]]) -> int:
        system = any(message.get("role") == "system" for message in messages)
        texts = sum(self.each + len(self.pieces(text_of(message))) for message in messages)
        return self.head + (0 if system else self.default_system) + texts + self.tail


@lru_cache(maxsize=4096)
def _paid(text: str, per_character: float, per_digit: float) -> tuple[str, ...]:
    made: list[str] = []
    begun, paid = "", 0.0
    for char in text:
        begun += char
        paid += per_digit if char in "0123456789" else per_character
        while paid >= 1:
            made.append(begun)
            begun, paid = "", paid - 1
    return (*made, begun) if begun else tuple(made)
