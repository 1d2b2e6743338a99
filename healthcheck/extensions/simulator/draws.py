"""Random draws that are fixed by a key, the simulated model's only randomness."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

_NONSENSE = (
    "river stone lamp quiet seven walks under bright salt paper winter glass orange thread never slow metal cloud "
    "garden after silver field moves north open copper sings below every wind round table small letter green far"
)
_CHINESE = (
    "河流 石头 灯光 安静 七个 走过 下面 明亮 盐 纸张 冬天 玻璃 橙色 丝线 从不 缓慢 金属 云朵 花园 之后 银色 田野 "
    "移动 北方 打开 铜器 歌唱 以下 每个 风声 圆桌 桌子 小小 书信 绿色 远方"
)
_SALAD = (
    "the of to which it was were than so 3 nor be river, and and would not. table; a seven more as is 12 because "
    "green: then has us what for very less door (the) on water at one. or he been slow did this there no where."
)
WORDS = tuple(_NONSENSE.split())
CHINESE = tuple(_CHINESE.split())
SALAD = tuple(_SALAD.split())


def uniform(key: str) -> float:
    """A number in [0, 1)."""
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=7).digest(), "big") / 2**56


def words(key: str, count: int, vocabulary: Sequence[str] = WORDS) -> tuple[str, ...]:
    """`count` words of a vocabulary with fewer than 256."""
    return tuple(
        vocabulary[byte % len(vocabulary)] for byte in hashlib.shake_128(key.encode()).digest(count)
    )


def nonsense(key: str, count: int) -> str:
    """`count` words with spaces between them."""
    return " ".join(words(key, count))


def chinese(key: str, count: int) -> str:
    """`count` Chinese words, in sentences of six."""
    said = words(key, count, CHINESE)
    return "。".join("".join(said[start : start + 6]) for start in range(0, count, 6))
