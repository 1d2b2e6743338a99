"""The facts of a weights folder, and how a check of this stage is declared."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from healthcheck import contract
from healthcheck.ascend import hardware, stacks
from healthcheck.ascend.hardware import Npu
from healthcheck.core import check as declaring
from healthcheck.core.check import NotApplicable
from healthcheck.core.stages import Stage
from healthcheck.engines.base import Engine
from healthcheck.engines.unrecognised import NO_SERVER
from healthcheck.stages.plan.records import LaunchPlan, ServerCommand
from healthcheck.stages.plan.servers.fronts.route import answering
from healthcheck.stages.plan.servers.options import UNRESOLVED
from healthcheck.stages.plan.vllm_cli.fields import value_of
from healthcheck.stages.repo.model_card import Card
from healthcheck.stages.repo.records import Submission
from healthcheck.stages.weights import registry, safetensors
from healthcheck.stages.weights.documents import (
    Document,
    DocumentError,
    JsonObject,
    child,
    parse_object,
    text_of,
)  # fmt: skip
from healthcheck.stages.weights.folder import Entry, Folder
from healthcheck.stages.weights.inventory import MAIN_INDEX, Format, of_format
from healthcheck.stages.weights.nature import Family, Nature, architecture_nature, modalities
from healthcheck.stages.weights.pickles import Pickled
from healthcheck.stages.weights.registry import Release
from healthcheck.stages.weights.tokenizer import Tokenizer
from healthcheck.text.messages import msg

check = functools.partial(declaring.check, stage=Stage.WEIGHTS)
"""Declares a check of this stage."""
OVERRIDES = "hf-overrides"
_ONE_ATTRIBUTE = frozenset({"rope_parameters", "rope_scaling"})
"""Two names of one attribute."""

MAX_CARD_BYTES = 256 * 1024
DESCRIPTION = "quant_model_description.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """A safetensors file with its header, or with the reason why the header could not be read.

    Attributes:
        cut_off: the file is shorter than its header says.
        unread: the header exceeds the kit's limit, so its contents are unknown.
    """

    entry: Entry
    header: safetensors.Header | None = None
    error: str = ""
    cut_off: bool = False
    unread: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """A weights folder.

    Attributes:
        folder: the folder of the served model.
        whole: everything that is uploaded: the same folder, or one above it.
        config: config.json.
        params: params.json, the configuration of Mistral's own format.
        indices: every *.index.json at the top level.
        shards: the safetensors files at the top level, with their headers.
        pickles: the files in torch's format at the top level.
        pointers: names of files that are Git LFS pointers, each with the size that it states for the real file.
        description: quant_model_description.json, as ModelSlim writes it.
        card: the front matter of the folder's README.md.
        announced_bytes: for weights that are not here, the size in their index, 0 without one; None otherwise.
    """

    folder: Folder
    whole: Folder
    config: Document
    params: Document
    generation_config: Document
    adapter_config: Document
    diffusers_index: Document
    modules: Document
    description: Document
    indices: tuple[Document, ...]
    shards: tuple[Shard, ...]
    pickles: tuple[Pickled, ...]
    pointers: Mapping[str, int | None]
    tokenizer: Tokenizer
    card: Card
    announced_bytes: int | None = None

    @property
    def files(self) -> tuple[Entry, ...]:
        return self.folder.entries

    @property
    def text_config(self) -> JsonObject:
        """The part of config.json for the language model, which is nested in a multimodal model's."""
        config = self.config.value
        inner = child(config, "thinker_config") or config
        return child(inner, "text_config", "llm_config", "language_config") or inner

    @property
    def quantization_config(self) -> JsonObject:
        """quantization_config of config.json, or of its part for the language model."""
        return child(self.config.value, "quantization_config") or child(
            self.text_config, "quantization_config"
        )

    @property
    def consolidated(self) -> bool:
        """Whether the folder has weights in Mistral's own format."""
        return any(entry.at_top and entry.name.startswith("consolidated") for entry in self.files)

    @property
    def tensors(self) -> Iterator[safetensors.Tensor]:
        """The tensors of the files that vLLM loads and whose headers could be read."""
        return (tensor for shard in self.loaded if shard.header for tensor in shard.header.tensors)

    @property
    def loaded(self) -> tuple[Shard, ...]:
        """The safetensors files that vLLM loads: those in the main index, or all without one."""
        index = next(
            (index for index in self.indices if index.name == MAIN_INDEX and index.good), None
        )
        weight_map = index.value.get("weight_map") if index else None
        if not isinstance(weight_map, dict):
            return self.shards
        named = set(map(str, weight_map.values()))
        return tuple(shard for shard in self.shards if shard.entry.name in named) or self.shards

    def formats(self) -> frozenset[Format]:
        """The formats of the weights at the top level of the folder."""
        return frozenset(each for each in Format if of_format(self.files, each))


def judge_only_launches(facts: WeightsFacts) -> None:
    """Skip the check if deploy.sh starts no server, whose options it would judge.

    Raises:
        NotApplicable: plan/starts-server says why there is no server.
    """
    if facts.plan is not None and facts.plan.server is None:
        raise NotApplicable(msg("deploy.sh starts no server: plan/starts-server says why"))


def _merged(config: JsonObject, given: JsonObject, levels: int = 3) -> JsonObject:
    """An object with others in it, and with nested configurations to a few levels (thinker_config, text_config)."""
    inner = {
        key: _merged(nested, value, levels - 1)
        for key, value in given.items()
        if levels
        and key.endswith("_config")
        and isinstance(value, dict)
        and isinstance(nested := config.get(key), dict)
    }
    replaced = _ONE_ATTRIBUTE if _ONE_ATTRIBUTE & given.keys() else frozenset()
    return {
        **{key: value for key, value in config.items() if key not in replaced},
        **given,
        **inner,
    }


@dataclass(frozen=True, kw_only=True)
class WeightsFacts:
    """The facts of the weights stage.

    Attributes:
        uploaded: the folder.
        plan: what deploy.sh would launch, None if unknown.
        submission: the repository, None if there is none.
        task: the author's task code (a contract.Task or any text), None if none was given.
        limit_bytes: the weight limit.
        npu: the author's kind of NPU ("910B4"), None if unknown; `npus` is their number.
    """

    uploaded: Weights
    plan: LaunchPlan | None = None
    submission: Submission | None = None
    task: contract.Task | str | None = None
    limit_bytes: int = field(default_factory=lambda: contract.MAX_WEIGHT_BYTES)
    npu: str | None = None
    npus: int | None = None

    @functools.cached_property
    def weights(self) -> Weights:
        """The folder as vLLM reads it: with the keys of --hf-overrides in config.json.

        Source: ModelConfig._apply_dict_overrides in vllm/config/model.py: an object goes into a nested
        configuration, and replaces any other value.
        """
        given, config = self.overrides, self.uploaded.config
        if not given or not config.good:
            return self.uploaded
        return replace(self.uploaded, config=replace(config, value=_merged(config.value, given)))

    @functools.cached_property
    def overrides(self) -> JsonObject | None:
        """The object of --hf-overrides; None if what is given cannot be read."""
        return self.whole(OVERRIDES)

    @property
    def row(self) -> stacks.Row:
        """The row of the version matrix to judge by."""
        chosen = (self.plan.stack if self.plan else "") or (
            self.submission.stack if self.submission else ""
        )
        return stacks.row(chosen or stacks.DEFAULT)

    @property
    def chosen_vllm(self) -> str:
        """The vLLM release of the row that the author chose; "" for the default row."""
        return "" if self.row.vllm_ascend == stacks.DEFAULT else self.row.vllm[0]

    @property
    def chip(self) -> Npu:
        """The kind of NPU to judge by: the author's, else the assumed one."""
        return (hardware.find(self.npu or "") or hardware.find(hardware.ASSUMED))[0]

    @property
    def server(self) -> ServerCommand | None:
        """The server that would answer the service's chats, the first of several; None if it is unknown."""
        return next(iter(answering(self.plan)), None) if self.plan else None

    @property
    def engine(self) -> Engine:
        """The engine of the plan's server."""
        return self.server.engine if self.server else NO_SERVER

    @property
    def where(self) -> str:
        """The line of deploy.sh that starts the server, "" if it is unknown."""
        return self.server.where if self.server else ""

    @property
    def place(self) -> str:
        """The line of deploy.sh that starts the server, else the server's command."""
        return self.server.place if self.server else ""

    def option(self, *names: str) -> str | None:
        """The value of an option of the server, by any of its long names; None if absent or unknown."""
        server = self.server
        values = (server.option(name) for name in names) if server else ()
        return next((value for value in values if value is not None), None)

    def table(self, name: str) -> JsonObject:
        """The JSON object of an option with its dotted keys in it; empty if absent or unreadable."""
        return self._object(name) or {}

    def whole(self, name: str) -> JsonObject | None:
        """The object of `table`; None if it cannot be read, or has a value that the dry run left open."""
        value = self._object(name)
        return None if UNRESOLVED in repr(value) else value

    def _object(self, name: str) -> JsonObject | None:
        options = self.server.options if self.server else {}
        dotted = {
            key.removeprefix(f"{name}."): text
            for key, text in options.items()
            if key.startswith(f"{name}.")
        }
        texts = (options.get(name) or "{}", *dotted.values())
        try:
            value = parse_object(texts[0].encode("utf-8", "surrogateescape"))
        except DocumentError:
            return None
        for key, text in dotted.items():
            inner, *parts = value, *key.replace("-", "_").split(".")
            for part in parts[:-1]:
                below = inner.setdefault(part, {})
                inner = below if isinstance(below, dict) else {}
            inner[parts[-1]] = value_of(text)
        return value

    def releases(self) -> tuple[Release, ...]:
        """The vLLM releases to look models up in: the assumed one, then the catalogued ones from newest to oldest.

        The assumed release is the chosen one, else the installed one, else that of the default row. An uncatalogued
        release is replaced by the next older one, or else by the oldest.
        """
        newest_first = registry.releases()[::-1]
        wanted = self.chosen_vllm or stacks.row().vllm[0]
        fitting = (release for release in newest_first if not stacks.is_older(wanted, release.vllm))
        here = None if self.chosen_vllm else registry.installed()
        assumed = here or next(fitting, newest_first[-1])
        return (assumed, *(row for row in newest_first if row.vllm != assumed.vllm))

    def nature(self) -> Nature:
        config = self.weights.config
        if config.good and (config.value.get("architectures") or config.value.get("model_type")):
            return _with_pooling(architecture_nature(config.value, self.releases()), self.weights)
        return _nature_by_files(self.weights)


def _nature_by_files(weights: Weights) -> Nature:
    """Determine the kind of a model from other files than config.json."""
    if weights.adapter_config.present and not weights.config.present:
        return Nature(
            family=Family.ADAPTS, because=msg("adapter_config.json, and no config.json beside it")
        )
    if weights.diffusers_index.present or weights.config.value.get("_diffusers_version"):
        named = text_of(weights.diffusers_index.value.get("_class_name")) or msg("of diffusers")
        return Nature(
            family=Family.DIFFUSES, because=msg("a pipeline {named}, or a part of one", named=named)
        )
    if weights.params.good:
        takes, makes = modalities(weights.params.value)
        return Nature(
            family=Family.GENERATES,
            takes=takes,
            makes=makes,
            because=msg("params.json (Mistral's format)"),
        )
    if Format.GGUF in weights.formats():
        return Nature(family=Family.GENERATES, because=msg("a GGUF file"), sure=False)
    return Nature(family=Family.UNKNOWN, because=msg("no readable configuration"), sure=False)


def _with_pooling(nature: Nature, weights: Weights) -> Nature:
    """Make the model an embedding model if sentence-transformers describes pooling: vLLM then serves no chat."""
    if nature.family is not Family.GENERATES or not weights.modules.present:
        return nature
    entry = weights.folder.entry("modules.json")
    text = (
        weights.folder.read_range(entry, 0, MAX_CARD_BYTES) if entry and not entry.problem else b""
    )
    if b"sentence_transformers.models.Pooling" not in text:
        return nature
    return Nature(
        family=Family.EMBEDS, because="modules.json: sentence_transformers.models.Pooling"
    )
