"""Servers with real tokenizers and the chat templates of known families, all healthy: nothing objects to any of them."""

from __future__ import annotations

from itertools import cycle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from healthcheck.core.records import Outcome
from healthcheck.extensions.simulator import Behaviour
from healthcheck.extensions.simulator.request import Tokenizer
from healthcheck.stages.endpoint.prompts import FOREIGN, RECALL, STORY, code_word, code_word_text
from tests.support.chat_templates import TEMPLATES, Template
from tests.support.daily import these
from tests.support.interviews import judged, objections
from tests.support.tokenizations import SPLITS, Ratio, Templated, bpe, mistral, shipped

WEIGHTS = "/weights/模型 a"
COUNTS = ("stream-usage", "max-tokens", "multi-turn", "system-role", "long-prompt")
FEW, SIZES = (
    30_000,
    {
        "qwen": 150_000,
        "llama3": 128_000,
        "deepseek3": 128_000,
        "glm4": 150_000,
        "superwords": 100_000,
    },
)
QUICKLY_TRAINED = ("qwen", "llama3", "deepseek3", "spaced-digits")
PAIRS = list(zip(cycle([*QUICKLY_TRAINED, *shipped()]), TEMPLATES, strict=False))
DAILY = [PAIRS[0], *(pair for pair in PAIRS[::3] if pair[0] in shipped())]
"""One vocabulary that is trained first, which takes longer than all the rest, and some that are shipped."""


def in_order(tokenizer: Tokenizer, *, refuses_system: bool = False, pace: float = 0) -> None:
    behaviour = Behaviour(
        model=WEIGHTS, tokenizer=tokenizer, tokens_per_second=pace, context_tokens=16_384
    )
    results = judged(behaviour)
    refused = {"endpoint/system-role"} if refuses_system else set()
    assert set(objections(results)) == refused, objections(results)
    open_questions = {
        check for check in COUNTS if results[f"endpoint/{check}"].outcome is Outcome.SKIP
    }
    assert not open_questions, {
        check: results[f"endpoint/{check}"].because for check in open_questions
    }


def templated(vocabulary: str, template: Template, size: int = FEW) -> Templated:
    encode = bpe(vocabulary, size) if vocabulary in SPLITS else mistral(vocabulary).encode
    return Templated(encode=encode, template=template)


@pytest.mark.process
@pytest.mark.parametrize("name", shipped())
def test_a_shipped_tokenizer_with_its_own_prompts(name: str) -> None:
    in_order(mistral(name), pace=2000)


@pytest.mark.process
@pytest.mark.parametrize("pair", these(DAILY, PAIRS), ids="-".join)
def test_each_template_over_one_vocabulary(pair: tuple[str, str]) -> None:
    vocabulary, family = pair
    template = TEMPLATES[family]
    in_order(templated(vocabulary, template), refuses_system=not template.takes_system)


@pytest.mark.slow
@pytest.mark.parametrize("family", TEMPLATES)
@pytest.mark.parametrize("vocabulary", [*shipped(), *SPLITS])
def test_each_template_over_each_vocabulary(vocabulary: str, family: str) -> None:
    template = TEMPLATES[family]
    in_order(templated(vocabulary, template), refuses_system=not template.takes_system)


@pytest.mark.slow
@pytest.mark.parametrize(
    "family", ["chatml", "llama3", "mistral-default", "deepseek-thinks", "glm", "command-preamble"]
)
@pytest.mark.parametrize("vocabulary", SIZES)
def test_a_vocabulary_of_a_real_models_size(vocabulary: str, family: str) -> None:
    in_order(templated(vocabulary, TEMPLATES[family], SIZES[vocabulary]), pace=800)


TEXTS = st.text(
    alphabet=st.one_of(st.characters(codec="utf-8"), st.sampled_from("0123456789 \n\t好🙂é▁<>|"))
).filter(
    lambda text: "▁" not in text  # SentencePiece's own mark for a space
)


@pytest.mark.parametrize("name", [*shipped(), *QUICKLY_TRAINED])
@settings(max_examples=20, deadline=None)
@given(text=TEXTS)
def test_the_pieces_of_a_text_give_the_text(name: str, text: str) -> None:
    tokenizer = templated(name, TEMPLATES["chatml"])
    assert "".join(tokenizer.pieces(text)) == text


def test_vocabularies_differ_in_what_digits_and_foreign_characters_cost() -> None:
    vocabularies = [*shipped(), *QUICKLY_TRAINED]
    digits = {len(templated(name, TEMPLATES["yi"]).pieces(" 123456")) for name in vocabularies}
    assert len(digits) > 1
    assert any("" in templated(name, TEMPLATES["yi"]).pieces(FOREIGN) for name in vocabularies), (
        "held back bytes"
    )


def test_a_template_counts_what_it_puts_in_and_leaves_out() -> None:
    question = [{"role": "user", "content": STORY}]
    told_before = [
        {"role": "system", "content": code_word_text(code_word(1))},
        {"role": "user", "content": RECALL},
    ]
    recall = told_before[1:]
    tokenizers = {family: templated("qwen", template) for family, template in TEMPLATES.items()}
    prompts = {
        family: tokenizer.prompt_tokens(question) for family, tokenizer in tokenizers.items()
    }
    assert min(prompts.values()) < 40
    assert max(prompts.values()) > 1000
    replaced = tokenizers["mistral-default"]
    assert replaced.prompt_tokens(told_before) < replaced.prompt_tokens(recall)
    kept = tokenizers["command-preamble"]
    assert kept.prompt_tokens(told_before) > kept.prompt_tokens(recall)
    with pytest.raises(ValueError, match="System role"):
        tokenizers["gemma-refuses"].prompt_tokens(told_before)


@pytest.mark.parametrize(("per_character", "per_digit"), [(0.1, 0.1), (0.25, 3.0), (1.0, 0.33)])
def test_a_ratio_is_what_a_text_costs(per_character: float, per_digit: float) -> None:
    ratio = Ratio(per_character=per_character, per_digit=per_digit)
    for text, price in (("a" * 1000, 1000 * per_character), ("7" * 1000, 1000 * per_digit)):
        pieces = ratio.pieces(text)
        assert "".join(pieces) == text
        assert abs(len(pieces) - price) <= 1
