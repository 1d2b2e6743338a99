"""weights/tokenizer: the weights have a tokenizer and a chat template, which every chat request needs."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator

from healthcheck import contract
from healthcheck.ascend import stacks
from healthcheck.core.check import At, Findings, NotApplicable, fail, note, unsettled, warn
from healthcheck.core.commands import Commanded
from healthcheck.core.records import Finding, JsonValue
from healthcheck.errors import UsageError
from healthcheck.stages.repo.records import Submission
from healthcheck.stages.weights.content_format import ContentFormat
from healthcheck.stages.weights.documents import text_of, words
from healthcheck.stages.weights.folder import Unreadable, shown
from healthcheck.stages.weights.inventory import Format
from healthcheck.stages.weights.known_models import known_models
from healthcheck.stages.weights.nature import Family
from healthcheck.stages.weights.records import WeightsFacts, check
from healthcheck.stages.weights.render import Rendered, Renderings, render
from healthcheck.stages.weights.tokenizer import JSON_FILE, MAX_TEMPLATE_BYTES, Template, decoded
from healthcheck.stages.weights.words import broken
from healthcheck.system.files import read_bounded
from healthcheck.text.messages import mapped, msg

ORIGINAL = msg("take the file from the model's original repository")
TURNS = ("user", "assistant", "user", "assistant", "user", "assistant", "user", "assistant", "user")
"""The roles of the evaluation client's stock prompt: four worked examples and the question, no system message."""

_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")
"""The name of a repository on a hub; a path begins with another sign, or has more parts."""
_HALF = re.compile("[\ud800-\udfff]")
_AS_A_LIST = "[{'type': 'text'"
"""A list of parts that a template writes as if it were text."""
_FORMAT = "chat-template-content-format"
_BY_NAME_SINCE = "0.22.1"
"""The release of vLLM that counts a loop over a variable `content` as one over parts."""
_ONE_PART = re.compile(
    r"""(\w+(?:\[-?\w+\])?(?:\.content|\[['"]content['"]\]))\[0\](?:\.text|\[['"]text['"]\]|\.get\(['"]text['"]\))?"""
)
"""The first part of a message's content: message['content'][0]['text']."""


def _marker(number: int) -> str:
    return f"turn {number} asks: 6*7?"


def _conversation(roles: tuple[str, ...], *, parts: bool) -> list[dict[str, JsonValue]]:
    contents = ((role, _marker(number)) for number, role in enumerate(roles))
    return [
        {"role": role, "content": [{"type": "text", "text": content}] if parts else content}
        for role, content in contents
    ]


@check(
    "weights/tokenizer",
    msg("The tokenizer exists, and its chat template renders"),
    rule=contract.CHAT_REQUIRED,
    why=msg("Without a chat template the engine answers every chat request with an error."),
    requires=("weights/present",),
)
def tokenizer(facts: WeightsFacts) -> Findings:
    """The engine needs a vocabulary (tokenizer.json, tokenizer.model, vocab.json …) and a chat template: without
    one it answers chat requests with an error. The kit searches the template as the engine does: the
    --chat-template option of deploy.sh, chat_template.jinja, chat_template.json (of a processor), "chat_template"
    in tokenizer_config.json. For some architectures the engine has its own encoding.

    For some model types transformers 5 makes a tokenizer of bytes, whatever tokenizer.json says; the check warns if
    that has another decoder.

    The template is rendered as transformers renders it, in a sandboxed child process with limits. The service sends
    text. vLLM turns it into a list of parts if the template has a `for` over the content of a message, or with
    --chat-template-content-format openai; any other template gets text, of which `content[0].text` is nothing. A
    conversation like the evaluation client's (nine messages, user and assistant in turn, no system message) must
    render; an error with a system message only warns. Before a download (--weights-config), only the template of
    --chat-template is judged.

    To repair: copy tokenizer files and chat_template.jinja from the instruction-tuned original (base models have no
    template), or ship a template and pass it with --chat-template.

    Example:
    ```json tokenizer_config.json
    {"eos_token": "<|im_end|>"}
    ```

    Use instead:

    ```json tokenizer_config.json
    {"eos_token": "<|im_end|>"}
    ```

    ```jinja chat_template.jinja
    {% for message in messages %}<|im_start|>{{ message.role }}
    {{ message.content }}<|im_end|>
    {% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
    {% endif %}
    ```
    """
    weights, read = facts.weights, facts.weights.tokenizer
    if weights.announced_bytes is not None:
        yield from _ahead(facts)
        return
    if weights.formats() == {Format.GGUF} and not read.vocabularies:
        raise NotApplicable(msg("a GGUF file carries its own tokenizer and chat template"))
    if facts.nature().family not in {Family.GENERATES, Family.UNKNOWN}:
        raise NotApplicable(msg("the weights are not a chat model (see task/matches-weights)"))
    yield from _files(facts)
    yield from _rebuilt(facts)
    yield from _template(facts)


def _ahead(facts: WeightsFacts) -> Findings:
    """Judge the template of deploy.sh while the weights are not here."""
    flagged = facts.option("chat-template")
    template = _flagged(facts, flagged) if flagged else None
    if template is None or template.error:
        raise NotApplicable(msg("the weights are not here"))
    yield from _rendering(facts, template)


def _files(facts: WeightsFacts) -> Findings:
    read = facts.weights.tokenizer
    own_code = "AutoTokenizer" in str(read.config.value.get("auto_map") or "")
    elsewhere = facts.option("tokenizer")
    if not read.vocabularies and elsewhere:
        expected = msg("a tokenizer in the weights folder")
        seen = msg(
            "none; deploy.sh takes it from --tokenizer {elsewhere}", elsewhere=shown(elsewhere)
        )
        fix = msg(
            "copy the tokenizer into the weights: the service provides nothing but $MODEL_PATH"
        )
        yield warn(expected=expected, seen=seen, fix=fix)
    elif elsewhere and _is_on_a_hub(facts, elsewhere):
        seen = msg(
            "--tokenizer {elsewhere}, fetched from a hub: whether the service reaches one while the "
            "server starts is not documented",
            elsewhere=shown(elsewhere),
        )
        fix = msg("remove --tokenizer, or put that tokenizer into the weights folder")
        yield warn(expected=msg("the tokenizer of the weights"), seen=seen, fix=fix)
    elif not read.vocabularies and not own_code:
        expected = msg("tokenizer.json, tokenizer.model or another vocabulary")
        fix = msg(
            "copy the tokenizer files of the model's original repository into the weights folder"
        )
        yield fail(expected=expected, seen=msg("none of them is in the folder"), fix=fix)
    elif read.vocabularies == ("vocab.json",) and not facts.weights.folder.has("merges.txt"):
        fix = msg("copy merges.txt or tokenizer.json beside it")
        yield fail(
            expected=msg("a whole BPE tokenizer"),
            seen=msg("vocab.json without merges.txt"),
            fix=fix,
        )
    if read.error:
        seen = msg(
            "tokenizer.json {problem}", problem=mapped(read.error, lambda text: shown(text, 300))
        )
        yield At("tokenizer.json").fail(
            expected=msg("a tokenizer in JSON"), seen=seen, fix=ORIGINAL
        )
    for document in (read.config, read.special_tokens):
        if document.error:
            yield broken(document)


def _rebuilt(facts: WeightsFacts) -> Findings:
    """A tokenizer that the engine's transformers replaces by one of another kind."""
    kind = text_of(facts.weights.config.value.get("model_type"))
    release = stacks.installed(facts.row).get("transformers", "")
    rebuilds = kind in known_models().byte_level and stacks.in_range(release, ">=5")
    if rebuilds and facts.weights.tokenizer.byte_level is False and facts.engine.loading.as_vllm:
        expected = msg("a tokenizer of bytes for the model type {kind}", kind=repr(kind))
        seen = msg(
            "a decoder without ByteLevel; transformers {release} makes the tokenizer of this model type itself, "
            "and answers would keep the marks of the tokens (The▁answer)",
            release=release,
        )
        fix = msg(
            "convert the weights to the model type whose tokenizer this is (llama, mistral), or take its original"
        )
        yield At("tokenizer.json").warn(expected=expected, seen=seen, fix=fix)


def _is_on_a_hub(facts: WeightsFacts, name: str) -> bool:
    """Whether a name is "organisation/model" and not a folder of the repository."""
    shipped = facts.submission.paths if facts.submission else ()
    is_shipped = any(path.startswith(f"{name}/") for path in shipped)
    return name.count("/") == 1 and name[0] not in "/.~" and not is_shipped


def _template(facts: WeightsFacts) -> Findings:
    flagged = facts.option("chat-template")
    if _encoded_by_engine(facts) and not flagged:
        yield note(
            msg("vLLM encodes the conversations of this model in code, whatever its chat template")
        )
        return
    template = (
        _flagged(facts, flagged) if flagged else next(iter(facts.weights.tokenizer.templates), None)
    )
    if template is None:
        yield from _without(facts)
    elif template.error and _is_reported(facts):
        yield note(msg("plan/no-missing-files says why the file of --chat-template is not there"))
    elif template.error:
        report = unsettled if flagged and "not shipped" in template.error else fail
        seen = msg("{source} {error}", source=template.source, error=template.error)
        fix = msg("{original}, or write the template into chat_template.jinja", original=ORIGINAL)
        where = "" if flagged else template.source.partition(",")[0]
        yield report(expected=msg("a chat template"), seen=seen, fix=fix, where=where)
    else:
        if template.source == JSON_FILE and not facts.weights.tokenizer.processor:
            expected = msg("chat_template.jinja, or chat_template in tokenizer_config.json")
            said = JSON_FILE
            seen = msg(
                "only {json_file}, which is read for models with a processor, and this one has none",
                json_file=said,
            )
            fix = msg(
                "copy the template of {json_file} into chat_template.jinja", json_file=JSON_FILE
            )
            yield At(JSON_FILE).warn(expected=expected, seen=seen, fix=fix)
        yield from _rendering(facts, template)


def _is_reported(facts: WeightsFacts) -> bool:
    """Whether the plan stage reports that the file of --chat-template is missing."""
    missing = facts.server.missing_files if facts.server else ()
    return any(spelled.startswith("--chat-template") for spelled in missing)


def _encoded_by_engine(facts: WeightsFacts) -> bool:
    if not facts.engine.loading.as_vllm:
        return False
    architectures = words(facts.weights.config.value.get("architectures"))
    known = known_models()
    return (
        bool(known.own_encoding & set(architectures))
        or facts.option("tokenizer-mode") in known.own_modes
    )


def _without(facts: WeightsFacts) -> Findings:
    weights = facts.weights
    if "tekken.json" in weights.tokenizer.vocabularies and weights.consolidated:
        yield note(msg("no chat template: Mistral's own tokenizer encodes conversations"))
    elif text_of(weights.config.value.get("model_type")) in known_models().brought_templates:
        yield note(msg("no chat template: vLLM brings one for this model type"))
    elif facts.engine.loading.own_templates:
        seen = msg(
            "none; {engine} may know one for this model by its name", engine=facts.engine.name
        )
        fix = msg(
            "pass one with the engine's own --chat-template option, so that nothing is guessed"
        )
        yield warn(expected=msg("a chat template with the weights"), seen=seen, fix=fix)
    else:
        expected = msg(
            "chat_template.jinja, chat_template in tokenizer_config.json, or --chat-template in deploy.sh"
        )
        seen = msg("none of them: every chat request would be answered with an error")
        yield At("tokenizer_config.json").fail(
            expected=expected, seen=seen, fix=_template_of(facts)
        )


def _template_of(facts: WeightsFacts) -> str:
    """Where the missing template comes from: the original model's repository, if config.json names it."""
    repository = _original(facts)
    if not repository:
        return msg(
            "take the tokenizer files of the instruction-tuned model, or ship a template with --chat-template"
        )
    files = "chat_template.jinja tokenizer_config.json"
    command = f"hf download {shlex.quote(repository)} {files} --local-dir ."
    return Commanded(
        msg(
            "copy the template of the original model (a file of these two is enough; if it is a base model, "
            "take its instruction-tuned one)"
        ),
        command,
    )


def _original(facts: WeightsFacts) -> str:
    """The repository of the original model ("organisation/model"); "" if config.json does not name it."""
    name = text_of(facts.weights.config.value.get("_name_or_path"))
    return name if _REPOSITORY.fullmatch(name) else ""


def _flagged(facts: WeightsFacts, value: str) -> Template:
    """The template of --chat-template: a file of the weights or the repository, or the option's value itself."""
    source = f"--chat-template {shown(value, 80)}"
    if "{{" in value or "{%" in value or "\n" in value:
        return Template(source="--chat-template", text=value)
    if facts.engine.loading.own_templates:
        return Template(source=source, text="{% for m in messages %}{{ m['content'] }}{% endfor %}")
    plan, server = facts.plan, facts.server
    assert plan
    assert server
    path = os.path.normpath(os.path.join(server.cwd, value))
    try:
        if path.startswith(plan.model_path + "/"):
            name = os.path.relpath(path, plan.model_path)
            return decoded(source, facts.weights.folder.read(name, MAX_TEMPLATE_BYTES), file=name)
        if facts.submission and plan.root and path.startswith(plan.root + "/"):
            return _shipped(facts.submission, source, os.path.relpath(path, plan.root))
    except (Unreadable, UsageError) as error:
        return Template(source=source, error=str(error))
    return Template(
        source=source,
        error=msg("names a file that is not shipped with the repository or the weights"),
    )


def _shipped(submission: Submission, source: str, name: str) -> Template:
    path = (submission.root / name).resolve()
    if name not in submission.paths or not path.is_relative_to(submission.root):
        return Template(
            source=source,
            error=msg("names {name}, which is not in the repository", name=shown(name)),
        )
    return decoded(source, read_bounded(path, MAX_TEMPLATE_BYTES), file=name)


def _rendering(facts: WeightsFacts, template: Template) -> Findings:
    with_system = ("system", *TURNS[:3])
    conversations = [
        _conversation(roles, parts=parts)
        for roles in (TURNS, with_system)
        for parts in (False, True)
    ]
    variables: dict[str, JsonValue] = {**facts.weights.tokenizer.tokens, **_arguments(facts)}
    found = render(template.text, conversations, variables)
    plain, plain_parts, system, system_parts = found.rows
    passed = _content_format(facts, found)
    chat = _as_passed(passed, plain, plain_parts)
    if not _is_whole(chat):
        expected = msg(
            "a rendering of a conversation like the evaluation client's: nine messages, no system"
        )
        wrong = msg("{source} {complaint}", source=template.source, complaint=_complaint(chat))
        other = plain if chat is plain_parts else plain_parts
        repair: str = msg(
            "{original}, or repair the template: it is rendered for every request",
            original=ORIGINAL,
        )
        line = chat.line
        if passed and _is_whole(other):
            wrong += _why_passed(facts, passed)
            line, repair = _repaired_format(facts, template, passed)
        yield At(_place(template, line)).fail(expected=expected, seen=wrong, fix=repair)
        return
    yield from _dropped(template, chat)
    refused = _as_passed(passed, system, system_parts)
    if refused.error or _AS_A_LIST in refused.text:
        seen = msg(
            "with one, {source} {complaint} (the client's stock prompt has none)",
            source=template.source,
            complaint=_complaint(refused),
        )
        fix = msg("have the template put a system message in front of the first user message")
        expected = msg("a template that also takes a system message")
        yield At(_place(template, refused.line)).warn(expected=expected, seen=seen, fix=fix)


def _place(template: Template, line: int) -> str:
    """The file of a template, with a line if it is known."""
    if template.file:
        return f"{template.file}:{line}" if line else template.file
    return template.source.partition(",")[0]


def _is_whole(chat: Rendered) -> bool:
    """Whether a rendering of TURNS has the question, as text."""
    return (
        not chat.error
        and _marker(8) in chat.text
        and not _HALF.search(chat.text)
        and _AS_A_LIST not in chat.text
    )


def _content_format(facts: WeightsFacts, found: Renderings) -> ContentFormat | None:
    """What vLLM passes as `content`; None for another engine."""
    if not facts.engine.loading.as_vllm:
        return None
    given = facts.option(_FORMAT)
    if given in {each.value for each in ContentFormat}:
        return ContentFormat(given)
    by_name = not stacks.is_older(facts.row.vllm[0], _BY_NAME_SINCE)
    return found.detected_by_name if by_name else found.detected


def _as_passed(passed: ContentFormat | None, plain: Rendered, parts: Rendered) -> Rendered:
    """Choose a rendering as the engine does: of text, or of a list of parts."""
    if passed is None:
        return _better(plain, parts)
    return parts if passed is ContentFormat.PARTS else plain


def _why_passed(facts: WeightsFacts, passed: ContentFormat) -> str:
    if facts.option(_FORMAT) == passed.value:
        given = f"--{_FORMAT} {passed.value}"
        if passed is ContentFormat.PARTS:
            return msg("; with {option}, vLLM passes a list of parts as `content`", option=given)
        return msg("; with {option}, vLLM passes text as `content`", option=given)
    if passed is ContentFormat.PARTS:
        return msg(
            "; vLLM passes a list of parts as `content`, because the template has a loop over it"
        )
    return msg(
        "; vLLM passes text as `content`, because the template has no loop over the parts of a message"
    )


def _repaired_format(
    facts: WeightsFacts, template: Template, passed: ContentFormat
) -> tuple[int, str]:
    """The line to change, 0 if unknown, and the repair of a template that is right for the other format."""
    if facts.option(_FORMAT) == passed.value:
        return 0, msg("remove {option}", option=f"--{_FORMAT} {passed.value}")
    for number, line in enumerate(template.text.splitlines(), 1):
        if (found := _ONE_PART.search(line)) and passed is ContentFormat.TEXT:
            return number, msg("write {right} in place of {wrong}", right=found[1], wrong=found[0])
    other = ContentFormat.PARTS if passed is ContentFormat.TEXT else ContentFormat.TEXT
    return 0, msg("add to the command in deploy.sh: {option}", option=f"--{_FORMAT} {other.value}")


def _arguments(facts: WeightsFacts) -> dict[str, JsonValue]:
    """The template variables that deploy.sh sets."""
    try:
        value = json.loads(
            facts.option("default-chat-template-kwargs", "chat-template-kwargs") or "{}"
        )
    except (ValueError, RecursionError):
        return {}
    reserved = {"messages", "tools", "documents", "add_generation_prompt"}
    return (
        {name: item for name, item in value.items() if name not in reserved}
        if isinstance(value, dict)
        else {}
    )


def _better(plain: Rendered, parts: Rendered) -> Rendered:
    """Choose a rendering as engines do: they pass text, or a list of parts if the template iterates over it."""
    last = "asks: 6*7?"
    fits = not plain.error and last in plain.text
    return plain if fits or parts.error or last not in parts.text else parts


def _complaint(rendered: Rendered) -> str:
    if rendered.error and rendered.ended:
        return msg("raises {error}", error=shown(rendered.error, 200))
    if rendered.error:
        return shown(rendered.error, 200)
    if not rendered.text.strip():
        return msg("renders to nothing")
    if _AS_A_LIST in rendered.text:
        return msg(
            "writes a Python list in place of the text: {text}", text=shown(rendered.text[-120:])
        )
    if half := _HALF.search(rendered.text):
        return msg(
            "renders half of a character (U+{code_point:04X}), which no tokenizer takes",
            code_point=ord(half[0]),
        )
    return msg("leaves out the last user message: {text}", text=shown(rendered.text[-120:]))


def _dropped(template: Template, chat: Rendered) -> Iterator[Finding]:
    lost = [str(number) for number in range(len(TURNS)) if _marker(number) not in chat.text]
    if lost:
        expected = msg("all nine messages in the prompt")
        seen = msg(
            "{source} leaves out message {lost} (counted from 0)",
            source=template.source,
            lost=", ".join(lost),
        )
        fix = msg(
            "have the template render every message: the client's worked examples are in the earlier ones"
        )
        yield At(_place(template, 0)).warn(expected=expected, seen=seen, fix=fix)
