"""The prompts of the interview, whose correct answers do not matter, and code words unlikely in any answer."""

from __future__ import annotations

from healthcheck.core.records import JsonValue
from healthcheck.wire.chat import Message, user

STORY = "Write a long story about a lighthouse keeper who finds an old map. Begin with the weather of that night."
PUZZLE = "Grace has 18 stickers and sells 5. How many stickers does she have?\nEnd with: The answer is N."
"""Worded as in the probe: models trained for such problems may know nothing else."""
FOREIGN = "请把这句话重复三遍：你好，世界。数学很有趣。🙂🚀 Then write two more sentences about 数学 in Chinese."
REMEMBER = "Remember it."
RECALL = "What is the code word? Answer with the code word only."
FILLER = (
    "The road follows the river to the old mill. In the morning the fields are white and the air is cold. A man "
    "walks to the market with his dog and buys bread, apples and a lamp. "
)
"""One unit of a long prompt: token counts are compared per unit."""
GREETING = "Say hello, in one word."
_REPEAT = "Repeat this line exactly, and write nothing else:"
_SHOTS = (
    (
        "There are 3 boxes with 4 pens each. How many pens are there?",
        "3 times 4 is 12. The answer is 12",
    ),
    ("Lena had 9 coins and lost 2. How many are left?", "9 minus 2 is 7. The answer is 7"),
    (
        "A bus has 20 seats and 13 are taken. How many are free?",
        "20 minus 13 is 7. The answer is 7",
    ),
    ("Tom reads 5 pages a day. How many in 6 days?", "5 times 6 is 30. The answer is 30"),
)
_STEMS = ("kelp", "mirt", "zorn", "quab", "dulf", "vask", "jepp", "wolm")
_COMMON = (
    "amber anchor basket beacon candle canyon copper cotton desert dragon engine falcon forest garden ginger "
    "hammer harbor island jacket kettle ladder lantern magnet marble meadow mirror needle orange oyster paddle "
    "parrot pepper pillow planet pocket rabbit ribbon saddle salmon school shadow silver spider spring stable "
    "summer temple ticket tunnel turtle velvet violin walnut window winter wizard yellow zipper button castle "
    "doctor feather hunter jungle"
)
_WORDS = _COMMON.split()


def assistant(text: str) -> Message:
    return {"content": text, "role": "assistant"}


def system(text: str) -> Message:
    return {"content": text, "role": "system"}


def four_shot() -> list[Message]:
    """Nine messages in the form of the service's sample task: four worked examples, then the question."""
    turns = [
        turn
        for question, worked in _SHOTS
        for turn in (user(_question(question)), assistant(worked))
    ]
    return [*turns, user(_question("A farm has 8 hens and buys 7 more. How many hens has it?"))]


def _question(text: str) -> str:
    return f"Question: {text}\nLet's think step by step\nAnswer:"


def code_word(index: int) -> str:
    """A word that a model generates only if its prompt has it."""
    return f"{_STEMS[index % len(_STEMS)]}{1013 + 37 * index}"


def code_word_text(word: str, units: int = 1) -> str:
    """A text that gives the code word, followed by `units` units of filler."""
    return f"The code word is {word}. {REMEMBER} {FILLER * units}"


def code_word_within(word: str, units: int) -> str:
    """The same text with the code word just before the middle: a prompt cut at an end or in the middle loses it."""
    before = round(0.45 * units)
    return f"{FILLER * before}{code_word_text(word, units - before)}"


def line(index: int) -> str:
    """A line that a model can only copy: a code word and four common words. No two of the first 16 share a word."""
    words = [_WORDS[(4 * index + (index // 16 + 1) * at) % len(_WORDS)] for at in range(4)]
    return f"{code_word(index)} {' '.join(words)}"


def copying(text: str) -> Message:
    """The request to repeat a line."""
    return user(f"{_REPEAT}\n{text}")


def with_picture(text: str, address: str) -> Message:
    """A user message with one image before the text, in the evaluation client's order."""
    parts: list[JsonValue] = [
        {"type": "image_url", "image_url": {"url": address}},
        {"type": "text", "text": text},
    ]
    return {"content": parts, "role": "user"}
