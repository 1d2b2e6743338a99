"""plan/parsers-fit: the parsers of thoughts and tool calls are those of the model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from healthcheck import contract
from healthcheck.ascend.stacks import in_range, rows
from healthcheck.core.check import Findings, NotApplicable, fail, warn
from healthcheck.core.records import Finding
from healthcheck.stages.plan.records import Format
from healthcheck.stages.plan.vllm_cli.catalogue import nearest
from healthcheck.stages.plan.vllm_cli.parsers import (
    REASONING,
    THINKS,
    TOOLS,
    delimiters_of,
    fitting_parser,
    known_parsers,
    pair_of,
)
from healthcheck.stages.weights.documents import text_of
from healthcheck.stages.weights.folder import shown
from healthcheck.stages.weights.inventory import Format as FileFormat
from healthcheck.stages.weights.records import WeightsFacts, check, judge_only_launches
from healthcheck.stages.weights.repairs import with_option, without_option
from healthcheck.stages.weights.tokenizer import missing_tokens
from healthcheck.text.messages import joined, msg

_OTHER_TOKENIZERS = ("tokenizer", "tokenizer-mode")
PLUGINS = {REASONING: "reasoning-parser-plugin", TOOLS: "tool-parser-plugin"}
HARM = {
    REASONING: msg(
        "it looks for other thoughts, and can take a whole answer for one: `content` is then empty"
    ),
    TOOLS: msg("it looks for calls in another format, and they stay text"),
}


@check(
    "plan/parsers-fit",
    msg("The parsers fit the model"),
    why=msg(
        "With the parser of another model, an answer counts as a thought and its content is empty."
    ),
    requires=("weights/present", "weights/config"),
    by_row=True,
)
def plan_parsers_fit(facts: WeightsFacts) -> Findings:
    """--reasoning-parser separates the model's thoughts from its answer, and --tool-call-parser finds its calls.
    Both are written for the format of one family. The evaluation client reads `content`, which stays empty where a
    reasoning parser takes the whole answer for a thought.

    Some reasoning parsers look up the tokens around a thought, such as `<think>` and `</think>`, in the vocabulary.
    Without one of them, vLLM 0.23.0 answers every chat with an error, and vLLM 0.32.0 does not start: this fails if
    tokenizer.json and the files beside it certainly lack the token, and the parsers of the release are known.

    Two warnings: a parser other than those that a source pairs with the model (vLLM's documents, the tutorials and
    nightly configurations of vllm-ascend; by model_type, or by the format of calls in the chat template), and a
    reasoning parser that takes everything up to `</think>` for a thought, where the chat template knows no
    thoughts, as those of Instruct models. Models that no source pairs, and parsers of a plugin, are not judged.

    To repair: pass the model's own parser, or leave the option out.

    Example:
    ```json config.json
    {"architectures": ["Glm4MoeForCausalLM"], "model_type": "glm4_moe"}
    ```

    ```sh deploy.sh
    exec vllm serve "$MODEL_PATH" --port {port} --tool-call-parser qwen3_coder --enable-auto-tool-choice
    ```

    Use instead:

    ```sh deploy.sh
    exec vllm serve "$MODEL_PATH" --port {port} --tool-call-parser glm45 --enable-auto-tool-choice
    ```
    """
    judge_only_launches(facts)
    given = {
        option: facts.option(option) for option in PLUGINS if facts.option(PLUGINS[option]) is None
    }
    if not facts.engine.is_catalogued or not any(given.values()):
        raise NotApplicable(msg("no parser is chosen"))
    for option, parser in given.items():
        if parser:
            yield from _judged(facts, option, parser)


def _judged(facts: WeightsFacts, option: str, parser: str) -> Iterator[Finding]:
    table, kind, template = (
        known_parsers(),
        text_of(facts.weights.config.value.get("model_type")),
        _template(facts),
    )
    given = f"--{option} {shown(parser, 40)}"
    known = nearest(facts.row.vllm[0]).known.get(f"--{option}", ())
    if known and parser not in known:  # plan/flags says so
        return
    missing = _missing_tokens(facts, parser) if option == REASONING else ()
    if missing:
        yield _without_tokens(facts, parser, missing, known)
        return
    if (
        option == REASONING
        and parser in table.until_the_end
        and template
        and not THINKS.search(template)
    ):
        expected = msg("a chat template with thoughts, for {given}", given=given)
        seen = msg(
            "none in it: {given} takes all text up to </think> for a thought, and `content` is empty",
            given=given,
        )
        repair = without_option(facts, option)
        yield warn(
            expected=expected, seen=seen, fix=repair.order, where=repair.where, edits=repair.edits
        )
        return
    pair = pair_of(option, Format(model_type=kind, template=template))
    if pair is None or parser in pair.parsers:
        return
    parsers = [each for each in pair.parsers if each in known] or pair.parsers
    fitting = joined(" or ", parsers)
    whose = (
        f'"model_type": "{kind}"' if kind in pair.models else msg("the calls in the chat template")
    )
    expected = msg("--{option} {fitting}, for {whose}", option=option, fitting=fitting, whose=whose)
    seen, told = msg("{given}: {harm}", given=given, harm=HARM[option]), {"source": pair.source}
    repair = with_option(facts, option, parsers[0])
    yield warn(
        expected=expected,
        seen=seen,
        fix=repair.order,
        where=repair.where,
        evidence=told,
        edits=repair.edits,
    )


def _missing_tokens(facts: WeightsFacts, parser: str) -> tuple[str, ...]:
    """The tokens that the reasoning parser needs and the vocabulary certainly lacks."""
    needed = delimiters_of(parser)
    if needed is None or not in_range(facts.row.vllm[0], needed.vllm):
        return ()
    if any(facts.option(option) is not None for option in _OTHER_TOKENIZERS):
        return ()
    weights = facts.weights
    if weights.announced_bytes is not None or FileFormat.GGUF in weights.formats():
        return ()
    return missing_tokens(weights.folder, weights.tokenizer, needed.tokens)


def _without_tokens(
    facts: WeightsFacts, parser: str, missing: tuple[str, ...], known: Sequence[str]
) -> Finding:
    given = f"--{REASONING} {parser}"
    form = Format(
        model_type=text_of(facts.weights.config.value.get("model_type")), template=_template(facts)
    )
    fitting = fitting_parser(REASONING, parser, form, known)
    usable = fitting and fitting != parser and not _missing_tokens(facts, fitting)
    repair = with_option(facts, REASONING, fitting) if usable else without_option(facts, REASONING)
    say = fail if _is_certain(facts, parser) else warn
    return say(
        expected=msg("a tokenizer with the tokens that {given} needs", given=given),
        seen=msg(
            "tokenizer.json does not contain {tokens}: with this parser, vLLM {vllm} cannot answer a chat "
            "(“could not locate think start/end tokens in the tokenizer”)",
            tokens=joined(" and ", missing),
            vllm=facts.row.vllm[0],
        ),
        fix=repair.order,
        where=repair.where,
        edits=repair.edits,
        rule=contract.CHAT_REQUIRED,
    )


def _is_certain(facts: WeightsFacts, parser: str) -> bool:
    """Whether the parser of the service's release needs the tokens: of the chosen one, or of any."""
    needed = delimiters_of(parser)
    chosen = facts.plan is not None and facts.plan.stack != ""
    return chosen or (needed is not None and in_range(rows()[0].vllm[0], needed.vllm))


def _template(facts: WeightsFacts) -> str:
    """The chat template of the weights; "" if there is none, or if the server takes another."""
    templates = facts.weights.tokenizer.templates if facts.option("chat-template") is None else ()
    return templates[0].text if templates else ""
