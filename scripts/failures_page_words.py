# ruff: noqa: INP001 - scripts are no package
"""What docs/known-failures.md and its Chinese twin say beside the catalogue's own causes and repairs.

The prose is in known_failures.en.md and known_failures.zh.md; the other words are here, the Chinese ones by the
English ones. Causes and repairs have their Chinese in the gettext catalogue.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from healthcheck.language import Language

HERE = Path(__file__).resolve().parent
KIND, SHARE = "- *{0}*: {1}.", "{} ({:.0f} %)"
REPAIR, VARIABLES, SOURCE, COMMA = "Repair: {}", "Variables: {}.", "Source: {}.", ", "
KINDS = {
    "fatal": "names the cause",
    "error": "names the cause if the last error shows it; elsewhere it may have been survived",
    "symptom": "repeats what the last error says, and names no cause",
    "kind": "names the kind of the last error, where no other entry is found",
    "warning": "seldom ends a launch by itself",
    "generic": "a wrapper around a cause that stands elsewhere in the log; never named as the cause",
}
"""What an entry of each severity does."""
_FILE = re.compile(r"[./:]\w")


@dataclass(frozen=True, kw_only=True)
class Edition:
    """The page in one language.

    Attributes:
        language: of the causes and repairs.
        page: the file that is written.
        prose: its beginning, with places for the kinds, the tables and the counts.
        words: from English words to those of the language; empty for English.
    """

    language: Language
    page: Path
    prose: Path
    words: Mapping[str, str]

    def say(self, text: str) -> str:
        """Words of the page that is written; it is an error if the language lacks them. A number says itself."""
        return self.words[text] if self.words and not text.isdigit() else text

    def source(self, text: str) -> str:
        """A source; the name of a file or an address stays as it is where the language has no words for it."""
        return self.words.get(text, text) if _FILE.search(text) else self.say(text)


CHINESE = {
    KIND: "- *{2}*（{0}）：{1}。",
    SHARE: "{}（{:.0f}%）",
    REPAIR: "修复：{}",
    VARIABLES: "环境变量：{}。",
    SOURCE: "来源：{}。",
    COMMA: "、",
    "fatal": "致命",
    "error": "错误",
    "symptom": "现象",
    "kind": "类别",
    "warning": "警告",
    "generic": "外层错误",
    "names the cause": "指出原因",
    "names the cause if the last error shows it; elsewhere it may have been survived": (
        "出现在最后一个错误中时，指出原因；出现在其他位置时，程序可能已经从中恢复"
    ),
    "repeats what the last error says, and names no cause": "复述最后一个错误所说的内容，不指出原因",
    "names the kind of the last error, where no other entry is found": (
        "没有匹配到其他条目时，指出最后一个错误的类别"
    ),
    "seldom ends a launch by itself": "单独出现时很少导致启动失败",
    "a wrapper around a cause that stands elsewhere in the log; never named as the cause": (
        "只是一层包装，真正的原因在日志的其他位置；从不作为原因给出"
    ),
    "The device": "设备",
    "The software environment": "软件环境",
    "Memory": "内存",
    "Graphs and operators": "图与算子",
    "Number formats and quantisation": "数值格式与量化",
    "Ports and communication": "端口与通信",
    "Starting": "启动",
    "The model": "模型",
    "The shell and the container": "shell 与容器",
    "Kinds of failures": "故障的类别",
    "1, the half that builds": "1，用来编写故障表的一半",
    "1, the half that only measured": "1，只用来测量的一半",
    "1, the half that only measures, with the table as it was before": "1，只用来测量的一半，用修改前的故障表",
    "1, the same half, with the table that the other half built": "1，同样的一半，用另一半得出的故障表",
    "2, kinds of errors that sample 1 lacked": "2，第 1 批中缺少的错误类型",
    "3, what general searches showed": "3，一般性搜索得到的日志",
    "4, models and features by classes of exceptions": "4，模型和特性，各配异常类名",
    "5, subsystems; the table now has kinds": "5，各子系统；此时故障表已有类别",
    "6, stamps of vLLM's log lines": "6，vLLM 日志行的前缀",
    "7, stamps of other lines": "7，其他日志行的前缀",
    "8, the words of torch_npu and of one rank": "8，torch_npu 的报错用语、单个 rank 的报错用语",
    "9, stamps of other releases, codes of CANN": "9，其他版本的日志前缀、CANN 错误码",
    "10, kinds of deployments, stamps of the newest releases": "10，各种部署方式、最新版本的日志前缀",
    "11, subsystems and classes; only the last error is named from here on": (
        "11，子系统与异常类名；从这一批起只判断最后一个错误"
    ),
    "12, models, releases and classes": "12，模型、版本与异常类名",
    "13, messages that the table has a cause for": "13，故障表中已有原因的报错信息",
    "14, models, releases, hardware; many causes now count as kinds": (
        "14，模型、版本、硬件；此时许多原因已改计为类别"
    ),
    "15, dates of log stamps, files of vllm_ascend": "15，日志前缀中的日期、vllm_ascend 的文件",
    "a recorded public log": "一份收录的公开日志",
    "observed": "实测",
    "observed: torch_npu 2.13.0 without CANN": "实测：未装 CANN 的 torch_npu 2.13.0",
    "vLLM core": "vLLM 主体代码",
    "vLLM's CPU backend": "vLLM 的 CPU 后端",
    "vllm-ascend requirements.txt at tags v0.9.1 to v0.18.0": (
        "vllm-ascend v0.9.1 至 v0.18.0 各 tag 的 requirements.txt"
    ),
    "vllm-ascend requirements.txt of each tag": "vllm-ascend 各 tag 的 requirements.txt",
    "the operating system's text": "操作系统的报错文本",
    "the programs' own text": "各程序自身的报错文本",
    "the shells' standard text": "各种 shell 的标准报错文本",
    "the shells' and Python's standard text": "各种 shell 和 Python 的标准报错文本",
    "dash's standard text": "dash 的标准报错文本",
    "pip's standard text": "pip 的标准报错文本",
    "pip's and urllib3's standard text": "pip 和 urllib3 的标准报错文本",
    "torch's standard text": "torch 的标准报错文本",
    "torch's and Triton's standard text": "torch 和 Triton 的标准报错文本",
    "safetensors' and torch's standard text": "safetensors 和 torch 的标准报错文本",
    "transformers' standard text": "transformers 的标准报错文本",
    "huggingface_hub's standard text": "huggingface_hub 的标准报错文本",
    "huggingface_hub's and vLLM's standard text": "huggingface_hub 和 vLLM 的标准报错文本",
    "Docker's and Python's standard text": "Docker 和 Python 的标准报错文本",
    "Jinja's standard text": "Jinja 的标准报错文本",
    "Triton's and Python's standard text": "Triton 和 Python 的标准报错文本",
    "Python's standard text": "Python 的标准报错文本",
    "Python's and pydantic's standard text": "Python 和 pydantic 的标准报错文本",
    "Python's and torch's standard text": "Python 和 torch 的标准报错文本",
}
EDITIONS = (
    Edition(
        language=Language.ENGLISH,
        page=HERE.parent / "docs/known-failures.md",
        prose=HERE / "known_failures.en.md",
        words={},
    ),
    Edition(
        language=Language.CHINESE,
        page=HERE.parent / "docs/zh/known-failures.md",
        prose=HERE / "known_failures.zh.md",
        words=CHINESE,
    ),
)
