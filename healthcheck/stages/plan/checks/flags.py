"""plan/flags: vLLM accepts every argument that the server is launched with."""

from __future__ import annotations

import shlex

from healthcheck.core.check import Findings, NotApplicable, check, fail, warn
from healthcheck.core.records import Finding, Level
from healthcheck.stages.plan import lost_values, repairs
from healthcheck.stages.plan.records import Format, LaunchPlan, ServerCommand
from healthcheck.stages.plan.vllm_cli.judgement import CONFIG, judge_flags
from healthcheck.text.messages import msg


@check(
    "plan/flags",
    msg("vLLM accepts every argument"),
    why=msg(
        "vLLM exits at once for an argument that it does not know or cannot read: there is no server then."
    ),
    requires=("plan/starts-server",),
    by_row=True,
)
def flags(plan: LaunchPlan) -> Findings:
    """Every argument of the recorded `vllm serve` is read as vLLM's own parser reads it, and then a step further.

    The options, their types, choices, limits and the fields of their objects come from catalogues of real
    releases, from 0.18.0 to 0.33.0. A release without a catalogue is judged by those before and after it; older
    ones are judged by 0.18.0, with a warning: an option that came in between passes. With --stack, what the
    release of that row refuses fails. The service does not say which release its image has: without --stack the
    newest final one judges, and an argument that the release of another row accepts warns, and names that
    release.

    Found: misspelt options (with the one that was meant), options that were removed and what replaced them,
    abbreviations that fit two options, missing and superfluous values, numbers out of range
    (--gpu-memory-utilization 1.5), broken JSON, unknown keys and wrong values in it (of --compilation-config,
    --speculative-config and the other objects), a kv_connector without kv_role, unknown quantisation methods and
    load formats, an option given twice with different values (the last one counts), stray words. The repair of
    an unknown parser is that of the model, by model_type and by the calls in its chat template.

    vLLM and SGLang read the file of --config only if --config is a word of its own. They accept --config=FILE and
    do not open the file, so this check warns, and all checks judge the server without the options of the file.

    Example:
    ```sh
    exec vllm serve "$MODEL_PATH" --max-model-length 8192
    ```

    Use instead:

    ```sh
    exec vllm serve "$MODEL_PATH" --max-model-len 8192
    ```
    """
    server = plan.server
    if server and server.ignored_config:
        yield _ignored_config(plan, server)
    if server is None or not server.engine.is_catalogued:
        if server and server.ignored_config:
            return
        other = server and msg(
            "the server is {engine}, not vLLM: its options were not judged",
            engine=server.engine.name,
        )
        raise NotApplicable(other or msg("no server is started"))
    if server.config_problem:
        expected = msg("a YAML file of options after {config}", config=CONFIG)
        fix = msg("write one `name: value` per line, in a file that ends in .yaml")
        yield fail(expected=expected, seen=server.config_problem, fix=fix, where=server.where)
    if file := server.unread_config:
        expected = msg("a file of options after {config}, small enough to be read", config=CONFIG)
        seen = msg(
            "{unread_config} is too long to be read, or nested too deeply: the options in it were not judged",
            unread_config=file,
        )
        fix = msg("keep the file to options and their values, or write them on the command line")
        yield warn(expected=expected, seen=seen, fix=fix, where=server.where)
    own = server.option("chat-template") is None
    form = plan.form if own else Format(model_type=plan.form.model_type)
    lost = lost_values.lost_values(plan)
    reported = frozenset(each.flag for each in lost)
    found = list(judge_flags(server, plan.stack, script=plan.script, form=form, without=reported))
    elsewhere = [each for each in lost if each.check != "plan/flags"]
    if elsewhere and all(finding.level is Level.NOTE for finding in found):
        first = elsewhere[0]
        raise NotApplicable(
            msg("{check} says why {flag} has no value", check=first.check, flag=first.flag)
        )
    yield from lost_values.findings(plan, "plan/flags")
    yield from found


def _ignored_config(plan: LaunchPlan, server: ServerCommand) -> Finding:
    file, edits = server.ignored_config, repairs.config_edits(plan.script, server)
    return warn(
        expected=msg("{config} and the file as two words", config=CONFIG),
        seen=msg(
            "{config}={file}: {engine} reads a configuration file only after the word {config}, "
            "so the options in this file have no effect",
            config=CONFIG,
            file=file,
            engine=server.engine.name,
        ),
        fix="" if edits else msg("write {config} {file}", config=CONFIG, file=shlex.quote(file)),
        where=server.where,
        edits=edits,
    )
