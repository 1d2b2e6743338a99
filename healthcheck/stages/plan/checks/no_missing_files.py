"""plan/no-missing-files: every file that deploy.sh uses is there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from healthcheck import contract
from healthcheck.core.check import Findings, check, fail, warn
from healthcheck.core.records import Finding
from healthcheck.stages.plan import lost_values, unmet_needs
from healthcheck.stages.plan.commands import NAME_CHARACTERS
from healthcheck.stages.plan.image import may_be_in_image
from healthcheck.stages.plan.records import LaunchPlan
from healthcheck.stages.plan.script import causes, deploy_sh, own_folder
from healthcheck.stages.plan.script.stderr import Need
from healthcheck.stages.plan.script.weight_path import Misnamed, misnamed
from healthcheck.stages.plan.servers.served import option_place, served
from healthcheck.stages.plan.unmet_needs import EXPECTED
from healthcheck.system.processes import shortened
from healthcheck.text.messages import msg

_MEDIA = "allowed-local-media-path"
_DRAFT = msg(
    "ship the draft model with the weights and name its path, or leave --speculative-config out"
)


@check(
    "plan/no-missing-files",
    msg("Every file that deploy.sh uses is there"),
    rule=contract.STARTS_THE_SERVICE,
    why=msg("The service runs deploy.sh in a fresh clone: what is not committed is not there."),
    requires=("repo/deploy-sh-present",),
)
def no_missing_files(plan: LaunchPlan) -> Findings:
    """Every file that deploy.sh, its server's options or its environment variables name has to be in the commit,
    in the weights or in the image.

    Variables that name a file for a library to open (RANK_TABLE_FILE, VLLM_LOGGING_CONFIG_PATH) count as well.
    A line that goes on without the file (`… || true`) is not reported.

    plan/working-directory warns about a relative path that only leads to a file while the working directory is the
    root of the repository.

    Example:
    ```sh
    . /home/me/env.sh
    exec vllm serve "$MODEL_PATH" --chat-template /home/me/chat.jinja
    ```

    Use instead (and commit both files):

    ```sh
    cd "$(dirname "$0")"
    . ./env.sh
    exec vllm serve "$MODEL_PATH" --chat-template chat.jinja
    ```
    """
    yield from unmet_needs.findings(plan, Need.FILE, Need.PERMISSION)
    yield from _missing_option_files(plan)
    yield from _missing_variable_files(plan)
    yield from lost_values.findings(plan, "plan/no-missing-files")


def _missing_option_files(plan: LaunchPlan) -> Iterator[Finding]:
    server = plan.server
    for spelled in server.missing_files if server else ():
        yield _missing_file(plan, spelled, server.option(_MEDIA) if server else None)


def _missing_file(plan: LaunchPlan, spelled: str, media: str | None) -> Finding:
    """The finding on an option whose file is not there; `media` is the folder of --allowed-local-media-path."""
    name, where = spelled.replace("=", " ", 1).partition(" ")[2], option_place(plan, spelled)
    if cause := misnamed(plan, name):
        fix: str = _in_the_weights(plan, cause, spelled, name)
        return fail(expected=EXPECTED, seen=cause.seen, fix=fix, where=cause.where or where)
    if name == media:
        seen = msg(
            "{spelled}: no such folder; vLLM 0.23.0 answers each chat with HTTP 400 then",
            spelled=spelled,
        )
        fix = msg(
            "leave --{option} out: only requests with file:// addresses need it", option=_MEDIA
        )
        return warn(expected=EXPECTED, seen=seen, fix=fix, where=where)
    if unshipped := causes.unshipped_path(plan, name):
        seen = msg("{spelled}: the file is in your folder but not in the commit", spelled=spelled)
        file = causes.file_to_commit(plan, name, unshipped)
        return fail(expected=EXPECTED, seen=seen, fix=causes.commit(file), where=where)
    if inside := own_folder.committed_path(plan, name):
        return _out_of_reach(plan, spelled, name, inside)
    say = warn if may_be_in_image(name) else fail
    seen = msg("{spelled}: there is no such file when the server starts", spelled=spelled)
    fix = _DRAFT if spelled.startswith("--speculative-config") else _ship(plan, name)
    return say(expected=EXPECTED, seen=seen, fix=fix, where=where)


def _out_of_reach(plan: LaunchPlan, spelled: str, name: str, inside: str) -> Finding:
    """The finding on an option whose file is committed, and which has another path when the server starts."""
    server = served(plan)
    line = deploy_sh.line_number(server.where)
    change = own_folder.last_change(plan.script, line)
    if name.startswith("/"):
        seen = msg(
            "{spelled}: there is no such file in a fresh clone; the repository has it as {inside}",
            spelled=spelled,
            inside=inside,
        )
    elif change:
        seen = msg(
            "{spelled}: {inside} is committed, but the path is relative, and the server starts in {folder}: line "
            "{line} changes the working directory (“{command}”)",
            spelled=spelled,
            inside=inside,
            folder=server.cwd,
            line=change.line,
            command=change.text,
        )
    else:
        seen = msg(
            "{spelled}: {inside} is committed, but the path is relative, and the server starts in {folder}",
            spelled=spelled,
            inside=inside,
            folder=server.cwd,
        )
    edits = own_folder.reached(plan, name, inside, spelled.replace("=", " ", 1).partition(" ")[0])
    return fail(
        expected=EXPECTED,
        seen=seen,
        fix="" if edits else own_folder.order(plan, name, inside),
        where=option_place(plan, spelled),
        edits=edits,
    )


def _in_the_weights(plan: LaunchPlan, cause: Misnamed, spelled: str, name: str) -> str:
    """The repair of a path that should have begun with MODEL_PATH; if the weights lack the file, it says so."""
    path = rf"{re.escape(plan.model_path)}|\$\{{?{contract.MODEL_PATH_VARIABLE}\}}?"
    inside = re.split(path, name)[-1].strip("/\"'")
    option = spelled.replace("=", " ", 1).partition(" ")[0]
    if not inside or inside.partition("/")[0] in plan.weight_files:
        return cause.fix
    if option == "--chat-template" and plan.form.template:
        template = msg("the weights have a chat template of their own, and no {file}", file=inside)
        return msg("remove {option} and its value: {template}", option=option, template=template)
    return msg(
        "{fix}; and upload {file} with the weights, which do not have it",
        fix=cause.fix,
        file=inside,
    )


def _missing_variable_files(plan: LaunchPlan) -> Iterator[Finding]:
    servers = [server for server in plan.servers if server.foreground]
    engines = {(each, s.engine.name): s.engine for s in servers for each in s.missing_variables}
    for (setting, _), engine in engines.items():
        name, _, value = setting.partition("=")
        opened = name in engine.options.opened and not may_be_in_image(value)
        say = fail if opened else warn
        shown = shortened(setting, NAME_CHARACTERS)
        seen = msg("{setting}: there is no such file when the server starts", setting=shown)
        if not opened:
            seen += msg("; whether that ends it depends on what reads it")
        fix = msg("{ship}; or do not export {name}", ship=_ship(plan, value), name=name)
        yield say(expected=EXPECTED, seen=seen, fix=fix, where=option_place(plan, setting))


def _ship(plan: LaunchPlan, name: str) -> str:
    if within := own_folder.committed_path(plan, name):
        return own_folder.order(plan, name, within)
    if name.startswith(plan.model_path):
        return msg("name a file that the weights have, or ship it in the repository")
    inside = name.removeprefix(f"{plan.root}/")
    if inside.startswith("/"):
        return msg(
            "copy {inside} into the repository, commit it, and name it by its path there",
            inside=inside,
        )
    return msg("commit {inside}, or correct the path", inside=inside)
