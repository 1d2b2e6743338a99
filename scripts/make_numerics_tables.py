# ruff: noqa: INP001 - scripts are no package
"""Writes the tables of docs/numerics.md and of the READMEs from what the benchmarks kept.

python scripts/make_numerics_tables.py            write them
python scripts/make_numerics_tables.py --check    write nothing; exit 1 if a table is out of date

`benchmarks/numerics_faults.py`, `numerics_rounding.py` and `numerics_calibration.py` measure.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FAULTS = ROOT / "benchmarks" / "numerics_faults.json"
HEALTHY = ROOT / "benchmarks" / "numerics_healthy.json"
CALIBRATION = ROOT / "healthcheck" / "data" / "numerics-calibration.json"
NEVER = 0.05
"""Of orders: where fewer end with a verdict against the server, the probe does not see the fault."""
SHORT = {
    "prefix-hit-reads-a-wrong-block": "前缀缓存命中时读错一个块",
    "graph-bucket-masks-tokens": "五到八个请求一起解码时少看八个 token",
    "graph-size-of-64-is-short": "64 到 67 个 token 的序列只看 32 个",
    "block-edge-is-lost": "长度超过 128 的倍数后丢失一个块",
    "wrong-rope-base": "rope 基数错误（用 `--reference`）",
    "weights-in-4-bit-integers": "权重舍入到 4 位（用 `--reference`）",
}


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Markdown; the first two columns are words."""
    dashes = ["---", "---", *["---:"] * (len(header) - 2)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, dashes, *rows))


def faults(found: Mapping[str, Any]) -> str:
    """Every fault."""
    rows = [
        [each["words"], _named(each["named"]), _size(each), str(each["requests"]), f"{each['seconds']:.0f}",
         f"{each['accuracy']:.0f}", _samples(each, "does not see it", "{} in {} %")]
        for name, each in found.items() if name
    ]  # fmt: skip
    header = ("fault, in the engine", "named by", "size", "requests", "s", "accuracy, %", "samples of a probe")
    return table(header, rows)


def short(found: Mapping[str, Any], *, chinese: bool) -> str:
    """A few of them."""
    header = ("fault", "named by", "requests", "samples of an accuracy probe")
    never = "does not see it"
    if chinese:
        header, never = ("故障", "指出它的检查", "请求数", "精度探测所需样本数"), "看不到"
    rows = [
        [words if chinese else found[name]["words"], _named(found[name]["named"]), str(found[name]["requests"]),
         _samples(found[name], never, "{}")]
        for name, words in SHORT.items()
    ]  # fmt: skip
    return table(header, rows)


def _named(named: Mapping[str, str]) -> str:
    words = {"fail": "", "warn": " (warning)"}
    return ", ".join(name + words[outcome] for name, outcome in named.items() if outcome in words) or "nothing"


def _size(each: Mapping[str, Any]) -> str:
    if each.get("kl"):
        return f"{each['kl']:.2g} ({each['kl_low']:.2g} to {each['kl_high']:.2g}) KL"
    return f"{each['shift']:.1f}" if each["shift"] else "-"


def _samples(each: Mapping[str, Any], never: str, seen: str) -> str:
    if each["noticed"] < NEVER:
        return never
    return seen.format(f"{each['samples']:.0f}", f"{100 * each['noticed']:.0f}")


def calibration(found: Mapping[str, Any]) -> str:
    """Divergence against accuracy lost."""
    words = {"noise": "noise of {} standard deviations", "rounding": "{} levels on either side of zero",
             "pruning": "the smallest {} set to zero"}  # fmt: skip
    rows = [
        [words[each["kind"]].format(f"{each['size']:g}"), f"{each['kl']:.2g}", f"{each['kl_99']:.2g}",
         f"{100 * each['agreement']:.1f}",
         f"{each['lost']:.1f} ({each['lost_low']:.1f} to {each['lost_high']:.1f})"]
        for each in sorted(found["rows"], key=lambda each: each["kl"])
    ]  # fmt: skip
    return table(("weights", "mean KL", "99th percentile", "first choices agree, %", "points lost (95 %)"), rows)


ORDERS = {"rows": "by the rows of the batch", "random": "at random"}
_COUNTED = "{:,}".format


def rounding(found: Mapping[str, Any]) -> str:
    """Healthy servers whose sums have another order in each batch or run."""
    rows = [
        [server, ORDERS[order], str(each["runs"]), _COUNTED(each["comparisons"]),
         *(_COUNTED(each["beyond"][limit]) for limit in ("0.25", "0.5", "1.0")), f"{each['largest']:.2f}",
         str(sum(each["blamed"].values()))]
        for server, orders in found["healthy"].items() for order, each in orders.items()
    ]  # fmt: skip
    header = ("model", "parts of a sum", "runs", "comparisons", "> 0.25", "> 0.5", "> 1", "largest",
              "checks that object")  # fmt: skip
    return table(header, rows)


def rounding_faults(found: Mapping[str, Any], known: Mapping[str, Any]) -> str:
    """Faults in such a server."""
    rows = [
        [known[fault]["words"], ORDERS[order], _named(each["named"]), str(each["requests"])]
        for fault, orders in found["faults"].items() for order, each in orders.items()
    ]  # fmt: skip
    return table(("fault, in the engine", "parts of a sum", "named by", "requests"), rows)


def main() -> int:
    """Write or compare."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    seen, curve, well = (json.loads(path.read_text("utf-8")) for path in (FAULTS, CALIBRATION, HEALTHY))
    parts = {
        ROOT / "docs" / "numerics.md": {
            "faults": faults(seen),
            "calibration": calibration(curve),
            "rounding": rounding(well["rounding"]),
            "rounding-faults": rounding_faults(well["rounding"], seen),
        },
        ROOT / "README.md": {"numerics": short(seen, chinese=False)},
        ROOT / "README.zh-CN.md": {"numerics": short(seen, chinese=True)},
    }
    stale = 0
    for path, tables in parts.items():
        old = text = path.read_text("utf-8")
        for name, made in tables.items():
            marks = rf"(<!-- table: {name} -->\n).*?(<!-- end of table -->)"
            text = re.sub(
                marks, lambda found, made=made: f"{found[1]}\n{made}\n\n{found[2]}", text, flags=re.DOTALL
            )
        stale += text != old
        if not check:
            path.write_text(text, "utf-8")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
