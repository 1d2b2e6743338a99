# ruff: noqa: INP001 - scripts are no package
"""Writes the tables of the two pages on numerics and of the READMEs from what the benchmarks kept.

python scripts/make_numerics_tables.py            write them
python scripts/make_numerics_tables.py --check    write nothing; exit 1 if a table is out of date

`benchmarks/numerics_faults.py`, `numerics_rounding.py` and `numerics_calibration.py` measure.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FAULTS = ROOT / "benchmarks" / "numerics_faults.json"
HEALTHY = ROOT / "benchmarks" / "numerics_healthy.json"
CALIBRATION = ROOT / "healthcheck" / "data" / "numerics-calibration.json"
NEVER = 0.05
"""Of orders: where fewer end with a verdict against the server, the probe does not see the fault."""
SHORT = (
    "prefix-hit-reads-a-wrong-block", "graph-bucket-masks-tokens", "graph-size-of-64-is-short",
    "block-edge-is-lost", "wrong-rope-base", "weights-in-4-bit-integers",
)  # fmt: skip
"""The faults that the READMEs show."""
Say = Callable[[str], str]
"""A language: its words for the English ones. `str` is English."""
CHINESE = {
    "a prefix hit reads another block": "前缀缓存命中时读到别的块",
    "a prefix hit shifts positions by one": "前缀缓存命中时位置偏移一位",
    "a batch of three reads its neighbour's block": "三个请求一批时读到相邻请求的块",
    "five to eight requests decode with eight tokens masked": "五到八个请求一起解码时有八个 token 被屏蔽",
    "the last four slots of a large batch see one token": "批很大时最后四个槽位只看到一个 token",
    "decoding sees two tokens less": "解码时少看到两个 token",
    "decoding shifts positions by three": "解码时位置偏移三位",
    "a prefill beside decoding requests has wrong positions": "与解码请求同批的预填充位置错误",
    "the block behind a multiple of 128 is lost": "128 的倍数之后的那个块丢失",
    "sequences of 64 to 67 tokens see 32": "长度为 64 到 67 个 token 的序列只看到 32 个",
    "every third step has stale positions": "每三步有一步使用过时的位置",
    "a cancelled request leaves wrong positions": "请求被取消后留下错误的位置",
    "the rope base is 1,000,000 instead of 10,000": "rope 基数为 1,000,000，应为 10,000",
    "weights rounded to 8-bit floats, without a scale": "权重舍入到 8 位浮点数，无缩放系数",
    "weights rounded to 8 bits, a scale for each row": "权重舍入到 8 位，每行一个缩放系数",
    "weights rounded to 4 bits, a scale for each row": "权重舍入到 4 位，每行一个缩放系数",
    "the logits' scale of 0.8 is applied twice": "logits 的缩放系数 0.8 乘了两次",
    "a sum in float16 stops growing after 256 tokens": "float16 的累加和在 256 个 token 之后不再增长",
    "values that are not numbers beyond 300 tokens": "超过 300 个 token 时出现非数值",
    "noise of {} standard deviations": "加噪声（标准差的 {} 倍）",
    "{} levels on either side of zero": "舍入（零的两侧各 {} 级）",
    "the smallest {} set to zero": "剪枝（最小的一部分置零，比例 {}）",
    "dense (Qwen3)": "稠密（Qwen3）",
    "mixture of experts (Qwen3-MoE)": "混合专家（Qwen3-MoE）",
    "sliding window of 64, tokens of one byte (Qwen3)": "滑动窗口 64，单字节 token（Qwen3）",
    "by the rows of the batch": "由批的行数决定",
    "at random": "随机",
    "fault": "故障",
    "fault, in the engine": "引擎中的故障",
    "named by": "指出它的检查项",
    "size": "幅度",
    "requests": "请求数",
    "s": "秒",
    "accuracy, %": "准确率（%）",
    "samples of a probe": "精度探测所需样本数",
    "samples of an accuracy probe": "精度探测所需样本数",
    "weights": "权重",
    "mean KL": "平均 KL",
    "99th percentile": "第 99 百分位数",
    "first choices agree, %": "首选 token 一致率（%）",
    "points lost (95 %)": "下降的百分点（95% 区间）",
    "model": "模型",
    "parts of a sum": "求和的分段",
    "runs": "运行次数",
    "comparisons": "比较次数",
    "> 0.25": "> 0.25",
    "> 0.5": "> 0.5",
    "> 1": "> 1",
    "largest": "最大值",
    "checks that object": "报告问题的检查项",
    "does not see it": "看不到",
    "nothing": "无",
    " (warning)": "（警告）",
    ", ": "、",
    "{}": "{}",
    "{} in {} %": "{}（{}%）",
    "{} ({} to {})": "{}（{} 至 {}）",
    "{} ({} to {}) KL": "KL {}（{} 至 {}）",
}
"""Every word of the tables: one that is missing here ends the script."""


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Markdown; the first two columns are words."""
    dashes = ["---", "---", *["---:"] * (len(header) - 2)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, dashes, *rows))


def faults(found: Mapping[str, Any], say: Say) -> str:
    """Every fault."""
    rows = [
        [say(each["words"]), _named(each["named"], say), _size(each, say), str(each["requests"]),
         f"{each['seconds']:.0f}", f"{each['accuracy']:.0f}", _samples(each, "{} in {} %", say)]
        for name, each in found.items() if name
    ]  # fmt: skip
    header = ("fault, in the engine", "named by", "size", "requests", "s", "accuracy, %", "samples of a probe")
    return table([*map(say, header)], rows)


def short(found: Mapping[str, Any], say: Say) -> str:
    """A few of them."""
    rows = [
        [say(each["words"]), _named(each["named"], say), str(each["requests"]), _samples(each, "{}", say)]
        for each in map(found.__getitem__, SHORT)
    ]
    header = ("fault", "named by", "requests", "samples of an accuracy probe")
    return table([*map(say, header)], rows)


def _named(named: Mapping[str, str], say: Say) -> str:
    words = {"fail": "", "warn": say(" (warning)")}
    objecting = [name + words[outcome] for name, outcome in named.items() if outcome in words]
    return say(", ").join(objecting) or say("nothing")


def _size(each: Mapping[str, Any], say: Say) -> str:
    if each.get("kl"):
        return say("{} ({} to {}) KL").format(*(f"{each[kl]:.2g}" for kl in ("kl", "kl_low", "kl_high")))
    return f"{each['shift']:.1f}" if each["shift"] else "-"


def _samples(each: Mapping[str, Any], seen: str, say: Say) -> str:
    if each["noticed"] < NEVER:
        return say("does not see it")
    return say(seen).format(f"{each['samples']:.0f}", f"{100 * each['noticed']:.0f}")


def calibration(found: Mapping[str, Any], say: Say) -> str:
    """Divergence against accuracy lost."""
    words = {"noise": "noise of {} standard deviations", "rounding": "{} levels on either side of zero",
             "pruning": "the smallest {} set to zero"}  # fmt: skip
    lost = say("{} ({} to {})")
    rows = [
        [say(words[each["kind"]]).format(f"{each['size']:g}"), f"{each['kl']:.2g}", f"{each['kl_99']:.2g}",
         f"{100 * each['agreement']:.1f}",
         lost.format(*(f"{each[points]:.1f}" for points in ("lost", "lost_low", "lost_high")))]
        for each in sorted(found["rows"], key=lambda each: each["kl"])
    ]  # fmt: skip
    header = ("weights", "mean KL", "99th percentile", "first choices agree, %", "points lost (95 %)")
    return table([*map(say, header)], rows)


ORDERS = {"rows": "by the rows of the batch", "random": "at random"}
_COUNTED = "{:,}".format


def rounding(found: Mapping[str, Any], say: Say) -> str:
    """Healthy servers whose sums have another order in each batch or run."""
    rows = [
        [say(server), say(ORDERS[order]), str(each["runs"]), _COUNTED(each["comparisons"]),
         *(_COUNTED(each["beyond"][limit]) for limit in ("0.25", "0.5", "1.0")), f"{each['largest']:.2f}",
         str(sum(each["blamed"].values()))]
        for server, orders in found["healthy"].items() for order, each in orders.items()
    ]  # fmt: skip
    header = ("model", "parts of a sum", "runs", "comparisons", "> 0.25", "> 0.5", "> 1", "largest",
              "checks that object")  # fmt: skip
    return table([*map(say, header)], rows)


def rounding_faults(found: Mapping[str, Any], known: Mapping[str, Any], say: Say) -> str:
    """Faults in such a server."""
    rows = [
        [say(known[fault]["words"]), say(ORDERS[order]), _named(each["named"], say), str(each["requests"])]
        for fault, orders in found["faults"].items() for order, each in orders.items()
    ]  # fmt: skip
    return table([*map(say, ("fault, in the engine", "parts of a sum", "named by", "requests"))], rows)


def filled(path: Path, tables: Mapping[str, str]) -> str:
    """The document with these tables between their marks."""
    text = path.read_text("utf-8")
    for name, made in tables.items():
        marks = rf"(<!-- table: {name} -->\n).*?(<!-- end of table -->)"
        text, places = re.subn(
            marks, lambda found, made=made: f"{found[1]}\n{made}\n\n{found[2]}", text, flags=re.DOTALL
        )
        if places != 1:
            sys.exit(f"{path}: {places} places for the table {name}, not one")
    return text


def main() -> int:
    """Write or compare."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    seen, curve, well = (json.loads(path.read_text("utf-8")) for path in (FAULTS, CALIBRATION, HEALTHY))
    stale = 0
    for folder, readme, say in (("docs", "README.md", str), ("docs/zh", "README.zh-CN.md", CHINESE.__getitem__)):
        page = {
            "faults": faults(seen, say),
            "calibration": calibration(curve, say),
            "rounding": rounding(well["rounding"], say),
            "rounding-faults": rounding_faults(well["rounding"], seen, say),
        }
        few = {"numerics": short(seen, say)}
        for path, tables in ((ROOT / folder / "numerics.md", page), (ROOT / readme, few)):
            text = filled(path, tables)
            stale += text != path.read_text("utf-8")
            if not check:
                path.write_text(text, "utf-8")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
