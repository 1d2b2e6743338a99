"""plan/no-downloads: nothing is downloaded to start."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from healthcheck import contract
from healthcheck.core.check import Findings, check, fail, needs_network
from healthcheck.core.edits import in_words, replaced
from healthcheck.core.records import Edit, Finding
from healthcheck.stages.plan import calls
from healthcheck.stages.plan.commands import NAME_CHARACTERS, command_text
from healthcheck.stages.plan.records import LaunchPlan, RecordedCommand
from healthcheck.stages.plan.requested import is_install, needs_packages
from healthcheck.stages.plan.script import deploy_sh, own_folder
from healthcheck.stages.plan.servers.served import option_place, served
from healthcheck.text.messages import msg

_HUB = re.compile(
    r"huggingface\.co|hf-mirror|modelscope|modelers\.cn|openmind|gitee\.com|gitcode", re.IGNORECASE
)
_DOWNLOAD_CALLS = ("snapshot_download(", "hf_hub_download(", "model_file_download(")
_INDEX = ("-i", "--index-url", "--extra-index-url", "--default-index")
_DOWNLOADERS = {"huggingface-cli", "hf", "modelscope", "openmind-cli", "obsutil", "git-lfs"}


@check(
    "plan/no-downloads",
    msg("Nothing is downloaded to start"),
    rule=contract.STARTS_THE_SERVICE,
    why=msg(
        "The weights are in MODEL_PATH, and whether the machine has a network is not documented."
    ),
    requires=("repo/deploy-sh-present",),
)
def no_downloads(plan: LaunchPlan) -> Findings:
    """A download of weights from a hub fails. Other downloads (git clone, wget, apt-get, pip with an index of its
    own) and names that an engine looks up on a hub are warnings: the network may not be there. They fail for a
    service whose profile says that it has none, and are none where it has one.

    Example:
    ```sh
    huggingface-cli download org/model --local-dir /models
    exec vllm serve /models
    ```

    Use instead:

    ```sh
    exec vllm serve "$MODEL_PATH"
    ```
    """
    yield from _downloads(plan)
    yield from _hub_names(plan)


def _downloads(plan: LaunchPlan) -> Iterator[Finding]:
    for command in plan.commands:
        text, said = " ".join(command.argv[:12]), command_text(command.argv[:12])
        by_call, where = command.program == calls.DOWNLOADS, command.where
        if by_call:
            asked = " ".join(command.argv[1:])[:NAME_CHARACTERS]
            said = msg("of {argv}, by a call in Python (snapshot_download …)", argv=asked)
            where = deploy_sh.place_of(plan.script, _DOWNLOAD_CALLS) or where
        downloads = by_call or (command.program in _DOWNLOADERS and "download" in command.argv[:3])
        clones = command.program == "git" and "clone" in command.argv[:3]
        if downloads or (_HUB.search(text) and (clones or "://" in text)):
            expected = msg("the weights come from MODEL_PATH, and nothing is downloaded to start")
            seen = msg("a download from a hub: {said}", said=said)
            fix = msg('remove the download and use "$MODEL_PATH"')
            yield fail(
                expected=expected,
                seen=seen,
                fix=fix,
                where=where,
                rule=contract.WEIGHTS_FROM_MODEL_PATH,
            )
        elif (
            clones or command.program in {"wget", "curl", "aria2c"} or needs_packages(plan, command)
        ):
            fix = msg("commit what is needed")
            yield from needs_network(expected=_expected(), seen=said, fix=fix, where=command.where)
        elif is_install(command) and any(word.startswith(_INDEX) for word in command.argv):
            seen = msg("an index of its own, which may not be reachable: {said}", said=said)
            fix, edits = (
                msg("name the package in requirements.txt, and remove the index"),
                _without_index(plan, command),
            )
            repair = in_words(edits) or fix
            yield from needs_network(
                expected=_expected(), seen=seen, fix=repair, where=command.where, edits=edits
            )


def _without_index(plan: LaunchPlan, command: RecordedCommand) -> tuple[Edit, ...]:
    """Remove the index from the only command that has it and installs a requirements file."""
    words, edits = command.argv, list[Edit]()
    for at, word in enumerate(words):
        if not word.startswith(_INDEX) or not {"-r", "--requirement"} & set(words):
            continue
        given = f" {word}" if "=" in word else f" {word} {''.join(words[at + 1 : at + 2])}"
        if plan.script.count(given) != 1 or "\r" in plan.script:
            return ()
        start = plan.script.index(given)
        edits.append(replaced(contract.ENTRY_POINT, plan.script, start, start + len(given), ""))
    return tuple(edits)


def _expected() -> str:
    if contract.NO_NETWORK.is_own:
        return msg("a start without the network, which is not there")
    return msg("a start without the network, which may not be there")


def _hub_names(plan: LaunchPlan) -> Iterator[Finding]:
    for spelled in plan.server.hub_names if plan.server else ():
        option, _, name = spelled.replace("=", " ", 1).partition(" ")
        shown = spelled[:NAME_CHARACTERS]
        inside = own_folder.committed_path(plan, name) or own_folder.committed_folder(plan, name)
        seen = msg("{spelled}: no such folder, so the engine looks for it on a hub", spelled=shown)
        if inside:
            seen = msg(
                "{spelled}: the repository has this folder as {inside}, but the path does not lead to it from the "
                "working directory of the server ({folder}), so the engine looks for it on a hub",
                spelled=shown,
                inside=inside,
                folder=served(plan).cwd,
            )
            edits = own_folder.reached(plan, name, inside, option)
            fix = "" if edits else own_folder.order(plan, name, inside)
        else:
            fix, edits = _shipped_with_weights(plan, option, name)
        yield from needs_network(
            expected=_expected(),
            seen=seen,
            fix=fix or in_words(edits),
            where=option_place(plan, spelled),
            edits=edits,
        )


def _shipped_with_weights(plan: LaunchPlan, option: str, name: str) -> tuple[str, tuple[Edit, ...]]:
    """The repair of a model that is not in the repository: a folder of the weights, uploaded if it is not there."""
    folder = posixpath.basename(name.rstrip("/"))
    if not own_folder.is_plain(folder):
        order = msg(
            "upload the files of {name} with the weights, in a folder whose name has only letters, digits, dots, "
            "hyphens and underscores, and pass its path below $MODEL_PATH",
            name=name,
        )
        return order, ()
    right = f'"${contract.MODEL_PATH_VARIABLE}/{folder}"'
    edits = own_folder.renamed(plan, name, right, option)
    write = in_words(edits) or msg("write {right} in place of {wrong}", right=right, wrong=name)
    if folder in plan.weight_files:
        return write, edits
    upload = msg(
        "upload the files of {name} with the weights, in a folder {folder}; and {write}",
        name=name,
        folder=folder,
        write=write,
    )
    return upload, ()
