"""The same arithmetic in Chinese: the same programs, worded for a Chinese primary school."""

from __future__ import annotations

from collections.abc import Iterator

from healthcheck.stages.probe.problems.arithmetic import worded
from healthcheck.stages.probe.problems.problem import Dice, Problem, Program, Sign, Step

_PEOPLE = ("小明", "小红", "小刚", "小丽", "小华", "小芳", "小军", "小燕")
_THINGS = (
    ("苹果", "个"),
    ("书", "本"),
    ("硬币", "枚"),
    ("铅笔", "支"),
    ("卡片", "张"),
    ("邮票", "张"),
    ("贝壳", "个"),
    ("饼干", "块"),
)
_MORE = ("又买了{}{}", "又得到{}{}", "又找到{}{}")
_FEWER = ("送出{}{}", "丢了{}{}", "卖掉{}{}", "用掉{}{}")


def arithmetic_zh(tier: str, seed: int) -> Iterator[Problem]:
    """Chinese word problems in endless supply."""
    return worded(
        Dice("arithmetic-zh", tier, seed),
        f"arithmetic-zh/{tier}/{seed}",
        _question,
        "答案是{}。",
        "zh",
    )


def _question(dice: Dice, program: Program) -> str:
    name = dice.pick(_PEOPLE)
    thing, unit = dice.pick(_THINGS)
    first, *changes = program.steps
    if first.sign is Sign.TIMES:
        head = f"{name}有{program.start}盒{thing}，每盒{first.number}{unit}"
    else:
        head, changes = f"{name}有{program.start}{unit}{thing}", list(program.steps)
    parts = [_wording(dice, step, unit) for step in changes]
    rest = "".join(f"然后{part}。" for part in parts[1:])
    last = (
        f"每个袋子里有多少{unit}{thing}？"
        if changes[-1].sign is Sign.OVER
        else f"{name}现在有多少{unit}{thing}？"
    )
    return f"{head}，{parts[0]}。{rest}{last}"


def _wording(dice: Dice, step: Step, unit: str) -> str:
    if step.sign is Sign.OVER:
        return f"把它们平均装进{step.number}个袋子"
    return dice.pick(_MORE if step.sign is Sign.PLUS else _FEWER).format(step.number, unit)
