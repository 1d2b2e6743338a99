"""plan/served-name: the model is served under the name that the service requests."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.core.check import Findings, check, fail, warn
from healthcheck.engines.base import Api
from healthcheck.stages.plan import adapter_names, repairs
from healthcheck.stages.plan.commands import quoted
from healthcheck.stages.plan.records import LaunchPlan, ServerCommand
from healthcheck.stages.plan.script.weight_path import misnamed
from healthcheck.stages.plan.servers.options import UNRESOLVED
from healthcheck.stages.plan.servers.served import STARTED, is_within, line_of, served, unresolved
from healthcheck.text.messages import joined, msg

SHOWN_NAMES = 8


@check(
    "plan/served-name",
    msg("The model is served under the name that the service requests"),
    rule=contract.SERVED_NAME,
    why=msg(
        "The service requests the model by {served_name}; a server with another name returns 404."
    ),
    requires=STARTED,
)
def served_name(plan: LaunchPlan) -> Findings:
    """The service requests the model by the weight path, exactly the value of MODEL_PATH.

    vLLM serves a model under the path that it was given unless `--served-model-name` says otherwise, and
    answers 404 to any other name. So remove that option, or have "$MODEL_PATH" among its values. A link to
    the weights, or a slash after the path, is another name. llama.cpp calls the option `--alias`; some servers
    have a fixed name by default.

    Each adapter of vLLM's `--lora-modules` is a model with a name of its own. A request for the weight path gets
    the base model, so a submission of an adapter is measured without it. Two options together serve the adapter
    in its place: `--served-model-name base-model --lora-modules "$MODEL_PATH"=adapter`. With one name for both,
    vLLM 0.23.0 answers with the adapter, and vLLM 0.32.0 does not start.

    Example:
    ```sh
    exec vllm serve "$MODEL_PATH" --served-model-name my-model
    ```

    Use instead:

    ```sh
    exec vllm serve "$MODEL_PATH"
    ```
    """
    server, wanted = served(plan), contract.service().requested(plan.model_path)
    own = wanted != plan.model_path
    has_a_name = server.engine.serving.has_a_name or server.api is Api.OPENAI_CHAT
    if not server.served_names and not has_a_name:
        return
    if not server.served_names or any(UNRESOLVED in name for name in server.served_names):
        name = (
            msg("{name} as the model's name", name=wanted)
            if own
            else msg("the weight path as the model's name")
        )
        yield unresolved(plan, name, msg("the served name"))
    elif server.adapters and wanted in {*server.served_names, *server.adapters}:
        yield from _adapters(plan, server, wanted)
    elif wanted not in server.served_names and server.model is not None:
        names = server.served_names[:SHOWN_NAMES]
        own_option = server.engine.options.name.lstrip("-").replace("_", "-")
        options = dict.fromkeys(("served-model-name", "alias", "model-name", own_option))
        option = next((name for name in options if server.option(name)), "")
        by_path = server.served_names[0] in {server.model, *server.argv}
        if not option and by_path and not is_within(server.model, plan.model_path):
            return  # plan/model-path reports it
        by = msg(" (--{option})", option=option) if option else ""
        expected = msg(
            "the weight path, {model_path}, among the names", model_path=repr(plan.model_path)
        )
        if own:
            expected = msg("{name} among the names", name=repr(wanted))
        seen = msg(
            "served as {names}{value}: {quoted}",
            names=", ".join(map(quoted, names)),
            value=by,
            quoted=server.command,
        )
        edits = repairs.name_edits(plan, server, option)
        fix = "" if edits else repairs.name_repair(server, option, plan.model_path)
        if server.adapters:
            edits = adapter_names.edits(plan, server, wanted)
            fix = "" if edits else adapter_names.order(server, wanted)
        where = (
            line_of(plan, f"--{option}", f"--{option.replace('-', '_')}")
            if option
            else server.where
        )
        causes = (misnamed(plan, each) for each in names)
        if option and (cause := next(filter(None, causes), None)):
            seen, fix, where, edits = cause.seen, cause.fix, cause.where or where, ()
        yield fail(expected=expected, seen=seen, fix=fix, where=where, edits=edits)


def _adapters(plan: LaunchPlan, server: ServerCommand, wanted: str) -> Findings:
    """Warn if a request for the name gets the base model, or if an adapter has the base model's name."""
    option = f"--{server.engine.options.adapters}"
    if wanted not in server.served_names:
        return
    names = joined(", ", (quoted(name) for name in server.adapters[:SHOWN_NAMES]))
    expected = msg("an adapter under the name that the service requests, {name}", name=repr(wanted))
    seen = msg(
        "{option} serves an adapter as {names}; a request for {name} gets the base model, "
        "and the evaluation measures it without the adapter",
        option=option,
        names=names,
        name=repr(wanted),
    )
    if wanted in server.adapters:
        expected = msg("different names for the base model and its adapter")
        seen = msg(
            "both are named {name}: vLLM 0.23.0 answers with the adapter, vLLM 0.32.0 does not start",
            name=repr(wanted),
        )
    edits = adapter_names.edits(plan, server, wanted)
    fix = "" if edits else adapter_names.order(server, wanted)
    where = line_of(plan, option, f"--{option.removeprefix('--').replace('-', '_')}")
    yield warn(expected=expected, seen=seen, fix=fix, where=where, edits=edits)
