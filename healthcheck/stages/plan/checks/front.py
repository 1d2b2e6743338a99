"""plan/front: a front passes the service's chats to the servers that deploy.sh starts."""

from __future__ import annotations

from collections.abc import Iterator

from healthcheck import contract
from healthcheck.core.check import Findings, NotApplicable, check, fail, warn
from healthcheck.core.records import Finding
from healthcheck.engines.base import FrontKind
from healthcheck.stages.plan.commands import quoted
from healthcheck.stages.plan.records import Front, LaunchPlan, ServerCommand, Target
from healthcheck.stages.plan.servers.fronts.route import End, Route, routes
from healthcheck.stages.plan.servers.served import STARTED, served, settled_later
from healthcheck.text.messages import joined, msg

_EXPECTED = msg("a front that passes each chat to a model server of this launch")
_MOST_NAMES = 8


@check(
    "plan/front",
    msg("A front passes chats to the servers that deploy.sh starts"),
    rule=contract.CHAT_REQUIRED,
    why=msg("Behind a front with a wrong route, every request of the service fails."),
    requires=STARTED,
)
def front(plan: LaunchPlan) -> Findings:
    """A front is a server on port {port} that passes requests on: nginx, LiteLLM, HAProxy, Caddy.

    The kit reads nginx's `listen`, `location`, `proxy_pass` and `upstream`, and LiteLLM's `model_list`. Each
    address has to be a port of this machine on which deploy.sh starts a server, and the path there has to be
    {chat_path}. nginx does not start with a host name that it cannot resolve. LiteLLM refuses a model that is not
    in `model_list`, so the name that the service requests has to be a `model_name`.

    If some of nginx's addresses lead to no server, that is a warning: nginx then asks another one. If the route is
    unknown (another front, a variable, a script in the configuration), the verdict is inconclusive. The servers
    behind a known route are judged like a server without a front.

    Example:
    ```sh
    pip install 'litellm[proxy]'
    export LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY=true
    vllm serve "$MODEL_PATH" --port 8001 &
    cat > /tmp/front.yaml <<EOF
    model_list:
      - model_name: my-model
        litellm_params:
          model: "hosted_vllm/$MODEL_PATH"
          api_base: http://127.0.0.1:8001/v1
    EOF
    exec litellm --config /tmp/front.yaml --port {port}
    ```

    Use instead:

    ```sh
    pip install 'litellm[proxy]'
    export LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY=true
    vllm serve "$MODEL_PATH" --port 8001 &
    cat > /tmp/front.yaml <<EOF
    model_list:
      - model_name: "$MODEL_PATH"
        litellm_params:
          model: "hosted_vllm/$MODEL_PATH"
          api_base: http://127.0.0.1:8001/v1
    EOF
    exec litellm --config /tmp/front.yaml --port {port}
    ```
    """
    server = served(plan)
    known = server.front
    if known is None:
        raise NotApplicable(msg("no known front listens on port {port}", port=contract.PORT))
    if known.elsewhere:
        raise NotApplicable(
            msg("it does not listen on port {port}: see plan/port", port=contract.PORT)
        )
    if known.doubt:
        yield _may_not_start(server, known)
    if known.problem:
        yield fail(
            expected=_EXPECTED, seen=known.problem, fix=known.fix, where=known.where or server.where
        )
    elif known.unknown:
        yield _open(known.unknown, server, known.where or server.where)
    elif found := routes(plan, server):
        yield from _judged(plan, server, known, found)
    else:
        yield _refused_name(plan, server, known)


def _open(reason: str, server: ServerCommand, where: str) -> Finding:
    seen = msg(
        "where it passes chats is unknown, because {reason}: {command}",
        reason=reason,
        command=server.command,
    )
    return settled_later(_EXPECTED, seen, where)


def _may_not_start(server: ServerCommand, known: Front) -> Finding:
    line = "export LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY=true"
    fix = msg("write above its command: {line}", line=line)
    return warn(expected=msg("a front that starts"), seen=known.doubt, fix=fix, where=server.where)


def _refused_name(plan: LaunchPlan, server: ServerCommand, known: Front) -> Finding:
    wanted = contract.service().requested(plan.model_path)
    names = list(dict.fromkeys(target.name for target in known.targets))[:_MOST_NAMES]
    line = (
        "model_name: os.environ/MODEL_PATH"
        if wanted == plan.model_path
        else f"model_name: {wanted}"
    )
    return fail(
        expected=msg("{wanted} among the names in model_list", wanted=repr(wanted)),
        seen=msg("{names}: {command}", names=", ".join(map(quoted, names)), command=server.command),
        fix=msg("write {line}", line=line),
        where=known.where,
        rule=contract.SERVED_NAME,
    )


def _judged(
    plan: LaunchPlan, server: ServerCommand, known: Front, found: tuple[Route, ...]
) -> Iterator[Finding]:
    """Findings about the routes; those that nginx skips are warnings while another one leads to a server."""
    reached = [route for route in found if route.server is not None]
    yield from _refused_behind(reached, server, known)
    unknown = [route for route in found if route.end is End.UNKNOWN]
    for route in unknown[:1]:
        reason = route.target.unknown or msg("it depends on the machine of the service")
        yield _open(reason, server, route.target.where or server.where)
    for route in found:
        where = route.target.where or server.where
        if route.end is End.UNKNOWN:
            continue
        if route.end is End.NO_HOST:
            host = route.target.host
            seen = msg("nothing defines the host {host}", host=quoted(host))
            if server.engine.front is FrontKind.NGINX:
                seen = msg(
                    "nginx does not start: host not found in upstream {host}", host=quoted(host)
                )
            yield fail(
                expected=_EXPECTED, seen=seen, fix=_right_address(plan, route.target), where=where
            )
        elif route.end is not End.REACHED:
            seen = msg(
                "no server of this launch listens on {address}", address=_address(route.target)
            )
            say = warn if reached and server.engine.front is FrontKind.NGINX else fail
            yield say(
                expected=_EXPECTED, seen=seen, fix=_right_address(plan, route.target), where=where
            )


def _refused_behind(
    reached: list[Route], front_server: ServerCommand, known: Front
) -> Iterator[Finding]:
    """Why the servers at the end of the routes refuse the front's requests, each reason once."""
    paths: set[str] = set()
    for route in reached:
        server, target = route.server, route.target
        if server is None:
            continue
        if (
            target.path != contract.CHAT_PATH
            and server.engine.serving.chat_at_one_path
            and target.path not in paths
        ):
            paths.add(target.path)
            yield _other_path(target, front_server, known)
        if target.tls and not server.option("ssl-certfile"):
            seen = msg(
                "it expects TLS at {address}, which speaks plain HTTP: {command}",
                address=_address(target),
                command=server.command,
            )
            yield fail(
                expected=_EXPECTED, seen=seen, fix=msg("write http:// there"), where=target.where
            )
        served = (*server.served_names, *server.adapters)
        if target.model and server.served_names and target.model not in served:
            names = joined(", ", (quoted(name) for name in served[:_MOST_NAMES]))
            seen = msg(
                "it requests {model} at {address}, which serves {names}",
                model=quoted(target.model),
                address=_address(target),
                names=names,
            )
            fix = msg("write model: {name}", name=f"hosted_vllm/{server.served_names[0]}")
            yield fail(
                expected=_EXPECTED,
                seen=seen,
                fix=fix,
                where=target.where,
                rule=contract.SERVED_NAME,
            )


def _other_path(target: Target, front_server: ServerCommand, known: Front) -> Finding:
    seen = msg(
        "a chat arrives at {address} as {path}, which the server does not have",
        address=_address(target),
        path=target.path,
    )
    by_litellm = front_server.engine.front is FrontKind.LITELLM
    if by_litellm:
        fix = msg("write api_base: {url}", url=f"http://{_address(target)}/v1")
    else:
        fix = msg(
            "end the address of proxy_pass after its host and port, without a slash: nginx then keeps the path"
        )
    where = target.where if by_litellm else known.where
    return fail(expected=_EXPECTED, seen=seen, fix=fix, where=where)


def _address(target: Target) -> str:
    return f"{target.host}:{target.port}"


def _right_address(plan: LaunchPlan, target: Target) -> str:
    """An address of this launch in place of a wrong one."""
    behind = [
        each.port for each in plan.servers if each is not plan.server and each.port is not None
    ]
    port = target.port if target.port in behind else next(iter(sorted(behind)), None)
    if port is None:
        return msg(
            "start a server there: {command}",
            command=f'vllm serve "$MODEL_PATH" --port {target.port} &',
        )
    return msg("write 127.0.0.1:{port} in place of {address}", port=port, address=_address(target))
