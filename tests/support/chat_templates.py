"""Chat templates with the structure of known model families, rendered as transformers and vLLM render them.

The words are this project's own; roles, markers, insertions and omissions follow the families.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NoReturn

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

_SPECIAL = re.compile(
    r"<\|[^|<>]+\|>|<｜[^｜<>]+｜>|</?s>|<(?:bos|sop|start_of_turn|end_of_turn)>|\[gMASK\]|\[/?INST\]|\[/?SYSTEM_PROMPT\]|"
    r"</?think>|<reserved_\d+>|<(?:用户|AI)>"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """One family's template.

    Attributes:
        source: Jinja over `messages`.
        takes_system: whether it has a place for the system message.
    """

    name: str
    source: str
    takes_system: bool = True

    def parts(self, messages: Sequence[Mapping[str, str]]) -> tuple[tuple[str, ...], int]:
        """The texts between special tokens, and the number of special tokens.

        Raises:
            ValueError: the template refuses such a conversation.
        """
        whole = _compiled(self.source).render(messages=messages, add_generation_prompt=True)
        return tuple(filter(None, _SPECIAL.split(whole))), len(_SPECIAL.findall(whole))


@cache
def _compiled(source: str) -> jinja2.Template:
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.globals["raise_exception"] = _refuse
    return environment.from_string(source)


def _refuse(message: str) -> NoReturn:
    raise ValueError(message)


_MANNERS = (
    "You answer in the language of the question. You say what you know, and where you do not know you say so. You "
    "do not invent names, dates, figures or sources. When a question has several readings you name them and answer "
    "the likeliest. Keep answers as short as the question allows, use lists only where there is something to list, "
    "and write formulas in plain text unless asked otherwise. "
)
_LONG_SYSTEM = (
    "You are a helpful assistant that was trained by a small company. Your knowledge ends in October 2023, and today "
    "is 2025-01-01. "
    + _MANNERS * 4
    + "You cannot see pictures unless they are given to you, nor open links."
)
_TOOLS = (
    "# Tools\nYou may call the functions below. Each is described by a JSON schema.\n"
    + "".join(
        f'{{"name": "{name}", "description": "{text}", "parameters": {{"type": "object", "properties": '
        f'{{"query": {{"type": "string", "description": "what to look for"}}, "limit": {{"type": "integer"}}}}, '
        f'"required": ["query"]}}}}\n'
        for name, text in (
            ("search", "Search the library's catalogue"),
            ("weather", "The weather of a place on a day"),
            ("convert", "Convert between units of measurement"),
            ("calendar", "Entries of the user's calendar"),
        )
    )
    + "Answer with a call only where a call is of use.\n"
)

_CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{% endfor %}"
    "{{ '<|im_start|>assistant\\n' }}"
)
_CHATML_DEFAULT = (
    "{% if messages[0].role != 'system' %}"
    "{{ '<|im_start|>system\\nYou are a helpful assistant.<|im_end|>\\n' }}{% endif %}" + _CHATML
)
_QWEN3 = """
{%- set last = namespace(user=0) %}
{%- for m in messages %}{% if m.role == 'user' %}{% set last.user = loop.index0 %}{% endif %}{% endfor %}
{%- for m in messages %}
{%- set content = m.content %}
{%- if m.role == 'assistant' %}
{%- if loop.index0 > last.user %}
{%- set content = '<think>\\n\\n</think>\\n\\n' + content %}
{%- else %}
{%- set content = content.split('</think>')[-1].lstrip('\\n') %}
{%- endif %}
{%- endif %}
{{- '<|im_start|>' + m.role + '\\n' + content + '<|im_end|>\\n' }}
{%- endfor %}
{{- '<|im_start|>assistant\\n<think>\\n\\n</think>\\n\\n' }}"""
_LLAMA2 = """
{%- if messages[0].role == 'system' %}
{%- set system, rest = '<<SYS>>\\n' + messages[0].content + '\\n<</SYS>>\\n\\n', messages[1:] %}
{%- else %}
{%- set system, rest = '', messages %}
{%- endif %}
{%- for m in rest %}
{%- if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif %}
{%- if m.role == 'user' %}
{{- '<s>[INST] ' + (system if loop.first else '') + m.content.strip() + ' [/INST]' }}
{%- else %}
{{- ' ' + m.content.strip() + ' </s>' }}
{%- endif %}
{%- endfor %}"""
_LLAMA3 = """
{%- if messages[0].role == 'system' %}
{%- set system, rest = messages[0].content.strip(), messages[1:] %}
{%- else %}
{%- set system, rest = '', messages %}
{%- endif %}
{{- '<|begin_of_text|><|start_header_id|>system<|end_header_id|>\\n\\n' }}
{{- 'Knowledge until: December 2023\\nToday: 26 Jul 2024\\n\\n' + system + '<|eot_id|>' }}
{%- for m in rest %}
{{- '<|start_header_id|>' + m.role + '<|end_header_id|>\\n\\n' + m.content.strip() + '<|eot_id|>' }}
{%- endfor %}
{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}"""
_GEMMA = """
{{- '<bos>' }}
{%- for m in rest %}
{%- set role = 'model' if m.role == 'assistant' else m.role %}
{{- '<start_of_turn>' + role + '\\n' + (system if loop.first else '') + m.content.strip() + '<end_of_turn>\\n' }}
{%- endfor %}
{{- '<start_of_turn>model\\n' }}"""
_GEMMA_REFUSES = (
    "{%- if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
    "{%- set system, rest = '', messages %}" + _GEMMA
)
_GEMMA_JOINS = (
    "{%- if messages[0].role == 'system' %}"
    "{%- set system, rest = messages[0].content + '\\n\\n', messages[1:] %}"
    "{%- else %}{%- set system, rest = '', messages %}{%- endif %}" + _GEMMA
)
_MISTRAL = """
{%- if messages[0].role == 'system' %}
{%- set system, rest = messages[0].content, messages[1:] %}
{%- else %}
{%- set system, rest = DEFAULT, messages %}
{%- endif %}
{{- '<s>[SYSTEM_PROMPT]' + system + '[/SYSTEM_PROMPT]' }}
{%- for m in rest %}
{{- '[INST]' + m.content + '[/INST]' if m.role == 'user' else m.content + '</s>' }}
{%- endfor %}""".replace("DEFAULT", repr(_LONG_SYSTEM))
_DEEPSEEK = """
{%- set text = namespace(system='') %}
{%- for m in messages %}{% if m.role == 'system' %}{% set text.system = text.system + m.content %}{% endif %}
{%- endfor %}
{{- '<｜begin▁of▁sentence｜>' + text.system }}
{%- for m in messages %}
{%- if m.role == 'user' %}{{ '<｜User｜>' + m.content }}{% endif %}
{%- if m.role == 'assistant' %}
{{- '<｜Assistant｜>' + m.content.split('</think>')[-1] + '<｜end▁of▁sentence｜>' }}
{%- endif %}
{%- endfor %}
{{- '<｜Assistant｜>GENERATION' }}"""
_GLM = """
{{- '[gMASK]<sop>' }}
{%- for m in messages %}{{ '<|' + m.role + '|>\\n' + m.content }}{% endfor %}
{{- '<|assistant|>\\n' }}"""
_PHI = """
{%- for m in messages %}{{ '<|' + m.role + '|>\\n' + m.content + '<|end|>\\n' }}{% endfor %}
{{- '<|assistant|>\\n' }}"""
_GRANITE = """
{%- if messages[0].role == 'system' %}
{%- set system, rest = messages[0].content, messages[1:] %}
{%- else %}
{%- set system, rest = DEFAULT, messages %}
{%- endif %}
{{- '<|start_of_role|>system<|end_of_role|>' + system + '<|end_of_text|>\\n' }}
{%- for m in rest %}
{{- '<|start_of_role|>' + m.role + '<|end_of_role|>' + m.content + '<|end_of_text|>\\n' }}
{%- endfor %}
{{- '<|start_of_role|>assistant<|end_of_role|>' }}""".replace(
    "DEFAULT", repr(_LONG_SYSTEM[:600] + _TOOLS)
)
_COMMAND = """
{%- if messages[0].role == 'system' %}
{%- set system, rest = messages[0].content, messages[1:] %}
{%- else %}
{%- set system, rest = '', messages %}
{%- endif %}
{{- '<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>' + PREAMBLE + system + '<|END_OF_TURN_TOKEN|>' }}
{%- for m in rest %}
{{- '<|START_OF_TURN_TOKEN|>' + ('<|USER_TOKEN|>' if m.role == 'user' else '<|CHATBOT_TOKEN|>') }}
{{- m.content + '<|END_OF_TURN_TOKEN|>' }}
{%- endfor %}
{{- '<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>' }}""".replace(
    "PREAMBLE", repr(_MANNERS * 8 + _TOOLS * 3)
)
_HARMONY = """
{{- '<|start|>system<|message|>Knowledge until: 2024-06\\nReasoning: medium\\n# Channels: analysis, final<|end|>' }}
{%- for m in messages %}
{%- set role = 'developer' if m.role == 'system' else m.role %}
{%- set head = '# Instructions\\n\\n' if m.role == 'system' else '' %}
{{- '<|start|>' + role + ('<|channel|>final' if role == 'assistant' else '') + '<|message|>' + head }}
{{- m.content + '<|end|>' }}
{%- endfor %}
{{- '<|start|>assistant' }}"""
_INTERNLM = "{{ '<s>' }}" + _CHATML
_BAICHUAN = """
{%- for m in messages %}
{{- {'user': '<reserved_106>', 'assistant': '<reserved_107>'}.get(m.role, '') + m.content }}
{%- endfor %}
{{- '<reserved_107>' }}"""
_MINICPM = """
{%- for m in messages %}
{{- {'user': '<用户>', 'assistant': '<AI>'}.get(m.role, '') + m.content.strip() + ('</s>' if m.role == 'assistant' else '') }}
{%- endfor %}
{{- '<AI>' }}"""
_WORDS_ONLY = """
{%- for m in messages %}{{ m.role.capitalize() + ': ' + m.content.strip() + '\\n\\n' }}{% endfor %}
{{- 'Assistant:' }}"""

TEMPLATES: Mapping[str, Template] = {
    name: Template(name=name, source=source, takes_system=name != "gemma-refuses")
    for name, source in {
        "chatml": _CHATML_DEFAULT,
        "yi": _CHATML,
        "qwen3": _QWEN3,
        "llama2": _LLAMA2,
        "llama3": _LLAMA3,
        "gemma-refuses": _GEMMA_REFUSES,
        "gemma-joins": _GEMMA_JOINS,
        "mistral-default": _MISTRAL,
        "deepseek": _DEEPSEEK.replace("GENERATION", ""),
        "deepseek-thinks": _DEEPSEEK.replace("GENERATION", "<think>\\n"),
        "glm": _GLM,
        "phi": _PHI,
        "granite-default": _GRANITE,
        "command-preamble": _COMMAND,
        "harmony": _HARMONY,
        "internlm": _INTERNLM,
        "baichuan": _BAICHUAN,
        "minicpm": _MINICPM,
        "words-only": _WORDS_ONLY,
    }.items()
}
"""Family → template. A user's system prompt replaces the default in chatml, mistral-default and granite-default;
the default stays beside it in llama3, command-preamble and harmony.
"""
