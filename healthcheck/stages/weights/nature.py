"""The kind of model: whether it generates text, and from which inputs, read from its configuration."""

from __future__ import annotations

import enum
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from healthcheck.core.records import JsonValue
from healthcheck.stages.weights.documents import JsonObject, text_of, words
from healthcheck.stages.weights.registry import DRAFT, Release
from healthcheck.text.messages import msg


class Family(enum.Enum):
    """The kinds of models, in words for a message."""

    GENERATES = msg("a model that generates text")
    EMBEDS = msg("an embedding model")
    REWARDS = msg("a reward model")
    CLASSIFIES = msg("a classifier (a reward or ranking model may be one)")
    RANKS = msg("a ranking model")
    ENCODES = msg("an encoder without a language model head")
    ENCODES_DECODES = msg("an encoder-decoder model")
    TRANSCRIBES = msg("a speech recognition model")
    SPEAKS = msg("a speech synthesis model")
    DIFFUSES = msg("an image or video generation pipeline")
    SEES = msg("a vision model")
    DRAFTS = msg("a draft model for speculative decoding")
    ADAPTS = msg("an adapter (LoRA) without its base model")
    UNKNOWN = msg("a model of unknown kind")


@dataclass(frozen=True, slots=True, kw_only=True)
class Nature:
    """The kind of model that the weights are.

    Attributes:
        takes: its inputs: "text", "image", "audio".
        makes: its outputs: "text", "image", "audio".
        because: what this was read from, quoted.
        sure: False if it is a guess from a name.
    """

    family: Family
    takes: frozenset[str] = frozenset({"text"})
    makes: frozenset[str] = frozenset({"text"})
    because: str = ""
    sure: bool = True


VISION = {
    "vision_config", "visual", "vit_config", "vision_tower", "mm_vision_tower", "vision_encoder", "img_processor",
    "vision_backbone", "vision_model", "visual_tokenizer_config", "image_embd_layer", "vision_encoder_config",
    "vision_tower_config", "vision_projector", "vpm_config", "projector_config",
}  # fmt: skip
AUDIO = {
    "audio_config", "audio_encoder_config", "speech_config", "audio_processor", "audio_tower", "whisper_config",
    "audio_model", "whisper_model_args", "audio_embd_layer", "sound_config", "audio_encoder", "encoder_args",
    "kimia_mimo_audiodelaytokens",
}  # fmt: skip
MAKES_AUDIO = {"talker_config", "token2wav_config", "tts_config", "enable_audio_output", "code2wav_config"}
MAKES_IMAGES = {"gen_vision_config", "vq_config", "vae_config", "vq_model", "gen_head_config"}
DIFFUSION_CLASSES = ("UNet2D", "AutoencoderKL", "Transformer2DModel", "DiTModel", "Pipeline")
SUFFIXES = {
    Family.REWARDS: ("RewardModel", "ForRewardModeling"),
    Family.EMBEDS: ("ForTextEncoding", "EmbeddingModel", "ForEmbedding", "ForRetrieval"),
    Family.CLASSIFIES: (
        "ForSequenceClassification", "ForTokenClassification", "ForMultipleChoice", "ForQuestionAnswering",
        "ForNextSentencePrediction",
    ),
    Family.RANKS: ("ForRanking",),
    Family.ENCODES: ("ForMaskedLM", "ForPreTraining"),
    Family.SEES: (
        "ForImageClassification", "ForVideoClassification", "ForObjectDetection", "ForSemanticSegmentation",
        "ForUniversalSegmentation", "ForDepthEstimation",
    ),
    Family.TRANSCRIBES: ("ForAudioClassification", "ForCTC", "ForSpeechSeq2Seq", "ForRNNT", "ForTDT"),
    Family.SPEAKS: ("ForTextToSpeech", "ForTextToWaveform"),
}  # fmt: skip
NAMES = {
    Family.SPEAKS: r"TTS|Musicgen|^Bark|ToSpeech|^Vits|^Parler",
    Family.TRANSCRIBES: r"^(Wav2Vec2|Hubert|Speech2Text|UniSpeech|Moonshine|Parakeet|Canary)",
    Family.ENCODES_DECODES: (
        r"^(U?M?T5|LongT5|M?Bart|PLBart|Pegasus|Marian|BigBirdPegasus|M2M100|Blenderbot|LEDFor|SwitchT)"
    ),
}
"""For architectures that no registry lists: families recognised by name, not by suffix."""
GENERATING_SUFFIXES = ("ForCausalLM", "ForConditionalGeneration", "ChatModel", "LMHeadModel", "ForVision2Seq")
MODEL_TYPES = {
    Family.ENCODES_DECODES: {
        "t5", "mt5", "umt5", "bart", "mbart", "pegasus", "m2m_100", "marian", "led", "longt5", "blenderbot",
        "switch_transformers", "prophetnet", "plbart", "bigbird_pegasus", "nllb-moe",
    },
    Family.ENCODES: {
        "bert", "roberta", "xlm-roberta", "deberta", "deberta-v2", "electra", "distilbert", "albert", "mpnet",
        "modernbert", "camembert", "ernie", "nomic_bert", "new", "xlm", "layoutlm", "layoutlmv3", "longformer",
    },
    Family.SPEAKS: {"vits", "bark", "speecht5", "parler_tts", "fastspeech2_conformer", "seamless_m4t", "cosyvoice"},
    Family.SEES: {
        "vit", "clip", "siglip", "siglip2", "dinov2", "swin", "resnet", "convnext", "detr", "sam", "sam2", "beit",
    },
}  # fmt: skip


def architecture_nature(config: JsonObject, releases: tuple[Release, ...]) -> Nature:
    """The kind of model that a config.json describes. `releases` are searched in order."""
    architectures = words(config.get("architectures"))
    model_type = text_of(config.get("model_type"))
    named = (
        msg("architectures {architectures}", list(architectures[:3]))
        if architectures
        else msg("model_type {model_type}", repr(model_type))
    )
    for architecture in architectures:
        release = next((each for each in releases if each.groups_of(architecture)), None)
        if release:
            return _registered(
                config, architecture, release, msg("{named}, which vLLM {vllm} knows", named, release.vllm)
            )
    family = _family_by_name(architectures[0] if architectures else "", model_type)
    if family is not Family.GENERATES:
        return Nature(family=family, because=named, sure=family is not Family.UNKNOWN)
    takes, makes = modalities(config)
    return Nature(family=family, takes=takes, makes=makes, because=named, sure=False)


def _registered(config: JsonObject, architecture: str, release: Release, because: str) -> Nature:
    groups = release.groups_of(architecture)
    if architecture in release.transcription_only:
        return Nature(family=Family.TRANSCRIBES, takes=frozenset({"audio"}), because=because)
    if DRAFT in groups:
        return Nature(family=Family.DRAFTS, because=because)
    if not release.generates(architecture):
        return Nature(family=_pooling(groups, architecture), because=because)
    if "multimodal" not in groups and not architecture.endswith("ForConditionalGeneration"):
        return Nature(family=Family.GENERATES, because=because)
    takes, makes = modalities(config)
    guessed = "multimodal" in groups and takes == {"text"}
    if guessed:
        takes = frozenset({"text", _modality_by_name(architecture)})
    return Nature(family=Family.GENERATES, takes=takes, makes=makes, because=because, sure=not guessed)


def _pooling(groups: tuple[str, ...], architecture: str) -> Family:
    by_name = _family_by_name(architecture, "")
    if by_name not in {Family.UNKNOWN, Family.GENERATES}:
        return by_name
    if "reward" in groups:
        return Family.REWARDS
    return Family.CLASSIFIES if groups[0].endswith("classification") else Family.EMBEDS


def _modality_by_name(architecture: str) -> str:
    lower = architecture.lower()
    return "audio" if any(word in lower for word in ("audio", "asr", "ultravox", "voxtral", "speech")) else "image"


def _family_by_name(architecture: str, model_type: str) -> Family:
    if any(word in architecture for word in DIFFUSION_CLASSES):
        return Family.DIFFUSES
    by_suffix = (family for family, suffixes in SUFFIXES.items() if architecture.endswith(suffixes))
    by_pattern = (family for family, pattern in NAMES.items() if re.search(pattern, architecture))
    by_type = (family for family, types in MODEL_TYPES.items() if model_type in types)
    found = next(itertools.chain(by_suffix, by_pattern, by_type), None)
    if found:
        return found
    if architecture.endswith(GENERATING_SUFFIXES):
        return Family.GENERATES
    return Family.EMBEDS if architecture.endswith("Model") else Family.UNKNOWN


def modalities(config: JsonObject) -> tuple[frozenset[str], frozenset[str]]:
    """The inputs and outputs of a model, by the sub-models of its configuration."""
    keys = set(_keys(config, 0))
    takes = {"text"} | ({"image"} if keys & VISION else set()) | ({"audio"} if keys & AUDIO else set())
    makes = {"text"} | ({"audio"} if keys & MAKES_AUDIO else set()) | ({"image"} if keys & MAKES_IMAGES else set())
    return frozenset(takes), frozenset(makes)


def _keys(value: JsonValue, depth: int) -> Iterator[str]:
    if isinstance(value, dict) and depth < 4:
        for key, item in value.items():
            if item not in (None, False, "", {}, []):
                yield key
                yield from _keys(item, depth + 1)
