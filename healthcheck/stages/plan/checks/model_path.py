"""plan/model-path: the weights come from MODEL_PATH."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from healthcheck import contract
from healthcheck.core.check import Findings, check, fail, warn
from healthcheck.core.records import Finding
from healthcheck.stages.plan import repairs
from healthcheck.stages.plan.commands import QUOTED_CHARACTERS, quoted
from healthcheck.stages.plan.records import LaunchPlan, ServerCommand
from healthcheck.stages.plan.script import deploy_sh, quotes
from healthcheck.stages.plan.script.permissions import reports_denied_change_of_weights
from healthcheck.stages.plan.script.sourced import Overwriting, overwriting
from healthcheck.stages.plan.script.weight_path import misnamed
from healthcheck.stages.plan.servers.options import UNRESOLVED
from healthcheck.stages.plan.servers.served import STARTED, is_within, line_of, served, unresolved
from healthcheck.system.processes import shortened
from healthcheck.text.messages import joined, msg

_NEEDS_QUOTES = re.compile(r"[\s*?\[]")
"""Characters at which the shell splits or expands an unquoted variable."""
MOST_PLACES = 4


@check(
    "plan/model-path",
    msg("The weights come from MODEL_PATH"),
    rule=contract.WEIGHTS_FROM_MODEL_PATH,
    why=msg("The service downloads the weights itself, to a folder that only MODEL_PATH names."),
    requires=STARTED,
)
def model_path(plan: LaunchPlan) -> Findings:
    """The service puts the weights somewhere and says where in the environment variable MODEL_PATH.

    deploy.sh has two dry runs: with an ordinary MODEL_PATH, and with one that has spaces and characters beyond
    ASCII. Both times the model that would be served must be that folder, or a copy of or link to it that the
    script makes; where only the second one goes wrong, that is a warning, and a failure if the given path has a
    blank. A fixed path, a name on a model hub, or another variable is missing at the service;
    --load-format dummy invents weights. llama.cpp, and vLLM with --load-format gguf, read one .gguf file, not a
    folder. A refused change of a file of the weights, which the script does not notice, is a warning.

    Repair: write "$MODEL_PATH" (with the quotes) where the model is named, for example
    `vllm serve "$MODEL_PATH"`.

    Example:
    ```sh
    exec vllm serve /models/my-model
    ```

    Use instead:

    ```sh
    exec vllm serve "$MODEL_PATH"
    ```
    """
    server = served(plan)
    models = (
        [server.model] if server.model else [other.model for other in plan.servers if other.model]
    )
    models = models or ([] if server.model is None else [server.model])
    if not models:
        expected = msg("the weights in {model_path} ($MODEL_PATH)", model_path=plan.model_path)
        yield unresolved(plan, expected, msg("which weights are served"))
        return
    if server.option("load-format") == "dummy":
        seen = msg(
            "--load-format dummy: the engine invents random weights: {quoted}",
            quoted=server.command,
        )
        edits = repairs.without_option(plan, server, "load-format")
        fix = "" if edits else msg("remove --load-format and its value")
        expected, where = msg("the weights in $MODEL_PATH"), line_of(plan, "dummy")
        yield fail(expected=expected, seen=seen, fix=fix, where=where, edits=edits)
    found = list(_wrong_model(plan, server, models))
    yield from found
    if not found and server.engine.wants_gguf_file(server.options) and plan.model_path in models:
        expected = msg("one .gguf file as the model of {engine}", engine=server.engine.name)
        seen = msg("the folder of the weights: {quoted}", quoted=server.command)
        fix = msg(
            'name the file, --model "$MODEL_PATH/NAME.gguf", or serve weights of another format with vLLM'
        )
        if server.engine.loading.load_format_of_gguf:
            fix = msg(
                'remove --load-format and its value, unless they are one file: vllm serve "$MODEL_PATH/NAME.gguf"'
            )
        yield fail(expected=expected, seen=seen, fix=fix, where=line_of(plan, "MODEL_PATH"))
    if not found and server.engine.is_catalogued:
        yield from _quotes(plan)
    refusal = next(
        (
            line
            for line in plan.run.stderr.splitlines()
            if reports_denied_change_of_weights(plan, line)
        ),
        "",
    )
    if refusal:
        expected = msg(
            "weights that deploy.sh only reads: whether it may change them is not documented"
        )
        seen = msg(
            "a change was refused, and the script went on: {refusal}", refusal=quoted(refusal)
        )
        fix = msg(
            "upload the changed file with the weights, or change a copy (a folder of links to them)"
        )
        yield warn(
            expected=expected, seen=seen, fix=fix, where=line_of(plan, contract.MODEL_PATH_VARIABLE)
        )


def _wrong_model(plan: LaunchPlan, server: ServerCommand, models: list[str]) -> Iterator[Finding]:
    model = next((model for model in models if is_within(model, plan.model_path)), models[-1])
    expected, shown = msg("the weights in $MODEL_PATH"), quoted(model) if model else msg("empty")
    was = repr(plan.model_path)
    seen = msg(
        "the model is {shown}, and MODEL_PATH was {model_path}: {quoted}",
        shown=shown,
        model_path=was,
        quoted=server.command,
    )
    overwritten = _overwritten(plan, server, model)
    fix = _naming(plan, server, model, overwritten)
    raw = next((word for word in map(_value, server.argv) if plan.model_path in word), model)
    cause = misnamed(plan, raw)
    if UNRESOLVED in model:
        which = msg("which weights {model} are", model=shortened(model, QUOTED_CHARACTERS))
        yield unresolved(plan, expected, which)
    elif cause and not is_within(model, plan.model_path):
        yield fail(
            expected=expected,
            seen=cause.seen,
            fix="" if cause.edits else cause.fix,
            where=cause.where or server.where,
            edits=cause.edits,
        )
    elif not is_within(model, plan.model_path):
        edits = repairs.model_edits(plan, server, overwritten)
        written = (model, os.path.basename(model.rstrip("/")), "--model")
        where = overwritten.where if overwritten else line_of(plan, *written)
        fix = "" if edits else fix
        yield fail(expected=expected, seen=seen, fix=fix, where=where, edits=edits)
    elif model != plan.model_path and not server.engine.loading.one_gguf_file:
        fix = msg("{fix}, unless the weights are uploaded in that subfolder", fix=fix)
        expected = msg("the weights in $MODEL_PATH itself")
        yield warn(expected=expected, seen=seen, fix=fix, where=line_of(plan, "MODEL_PATH"))


def _value(word: str) -> str:
    """The value of an option that is one word with it, or the word itself."""
    return word.partition("=")[2] if word.startswith("-") and "=" in word else word


def _overwritten(plan: LaunchPlan, server: ServerCommand, model: str) -> Overwriting | None:
    """The line that gave MODEL_PATH another value, if the server got that one as its model."""
    if not _was_changed(plan, server, model):
        return None
    return overwriting(plan, contract.MODEL_PATH_VARIABLE)


def _was_changed(plan: LaunchPlan, server: ServerCommand, model: str) -> bool:
    """Whether the model is the value of a MODEL_PATH that the service did not set."""
    given = server.env.get(contract.MODEL_PATH_VARIABLE, plan.model_path)
    taken = {given, os.path.normpath(os.path.join(server.cwd, given))}
    return given != plan.model_path and model in taken


def _naming(
    plan: LaunchPlan, server: ServerCommand, model: str, overwritten: Overwriting | None
) -> str:
    """The repair: name $MODEL_PATH as the model, or keep its value if the script changed it."""
    if overwritten:
        return repairs.overwriting_repair(overwritten)
    if _was_changed(plan, server, model):
        given = server.env[contract.MODEL_PATH_VARIABLE]
        return msg(
            "leave MODEL_PATH as the service sets it; here it became {given}", given=quoted(given)
        )
    if server.engine.settings_file:
        return msg(
            "set {key} to the value of MODEL_PATH in MindIE's config.json", key='"modelWeightPath"'
        )
    return msg('name "$MODEL_PATH" as the model')


def _quotes(plan: LaunchPlan) -> Iterator[Finding]:
    """Judge the run whose MODEL_PATH needs quotes: fail if the author's path needs them, too, else warn."""
    second = plan.spaced
    if second is not None and second.model == plan.spaced_model_path:
        return
    needed = _NEEDS_QUOTES.search(plan.given_path) is not None
    found = quotes.splits(plan.script, contract.MODEL_PATH_VARIABLE)
    number = found[0].line if found else None
    seen = (
        msg("model {model}: {quoted}", model=quoted(second.model or ""), quoted=second.command)
        if second
        else _no_second(plan)
    )
    expected = msg(
        "the same with MODEL_PATH={spaced_model_path}",
        spaced_model_path=repr(plan.spaced_model_path),
    )
    report, where = fail, deploy_sh.place(number) or served(plan).where
    if not needed:
        report, seen = (
            warn,
            msg("it works unless the path has a blank; with one: {seen}", seen=seen),
        )
    edits = quotes.quoting(plan.script, contract.MODEL_PATH_VARIABLE) if found else ()
    fix = "" if edits else _quoting(found)
    yield report(expected=expected, seen=seen, fix=fix, where=where, edits=edits)


def _quoting(found: tuple[quotes.Split, ...]) -> str:
    if not found:
        return msg('put double quotes around it wherever it is used: "$MODEL_PATH"')
    if found[0].pasted:
        return msg(
            "write the command where it is run, not as the text in line {line} (${variable}): vllm serve "
            '"$MODEL_PATH" …; or, in bash, as an array: cmd=(vllm serve "$MODEL_PATH" …), run as '
            '"${{cmd[@]}}"',
            line=found[0].line,
            variable=found[0].variable,
        )
    places = [
        msg('"${variable}" in line {line}', variable=each.variable, line=each.line)
        for each in found[:MOST_PLACES]
    ]
    return msg("put double quotes around it: {places}", places=joined(", ", places))


def _no_second(plan: LaunchPlan) -> str:
    run = plan.spaced_run
    last = (run.stderr.strip().splitlines() or [""])[-1] if run else ""
    return msg("no server was started; the last lines were: {last}", last=quoted(last))
