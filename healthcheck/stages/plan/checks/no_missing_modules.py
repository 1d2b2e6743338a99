"""plan/no-missing-modules: every Python module that deploy.sh loads is installed."""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Iterator

from healthcheck import contract
from healthcheck.core.check import Findings, check, fail, warn
from healthcheck.core.records import Finding
from healthcheck.stages.plan import requested, unmet_needs
from healthcheck.stages.plan.commands import NAME_CHARACTERS
from healthcheck.stages.plan.records import LaunchPlan
from healthcheck.stages.plan.script.stderr import Need
from healthcheck.stages.plan.servers.served import line_of, option_place
from healthcheck.text.messages import msg

_EXPECTED_CODE = msg("Python code from the repository, requirements.txt or the image")
_ON_THE_PATH = msg('before the server: export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"')

_OF_SRC = 'packages=find_packages("src"), package_dir={"": "src"},'


@check(
    "plan/no-missing-modules",
    msg("Every Python module that deploy.sh loads is installed"),
    rule=contract.STARTS_THE_SERVICE,
    why=msg("A module that nothing installs ends the start with ModuleNotFoundError."),
    requires=("repo/deploy-sh-present",),
)
def no_missing_modules(plan: LaunchPlan) -> Findings:
    """A Python module has to come from the image, from requirements.txt, from an installation in deploy.sh, or
    from the commit. The options of vLLM that name modules (--worker-cls, --logits-processors …) count as well, and
    those that need a package that the image of vllm-ascend lacks: --load-format fastsafetensors, runai_streamer,
    instanttensor and tensorizer, and the NixlConnector of --kv-transfer-config. If the code is in the folder src of
    a project that pip installs, its setup.py has to look for packages there.

    Example:
    ```sh
    exec vllm serve "$MODEL_PATH" --logits-processors my_processors:Repeat
    ```

    Use instead (with my_processors.py committed):

    ```sh
    export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"
    exec vllm serve "$MODEL_PATH" --logits-processors my_processors:Repeat
    ```
    """
    yield from unmet_needs.findings(plan, Need.MODULE)
    yield from _missing_code(plan)
    yield from _left_out_code(plan)
    yield from _missing_packages(plan)


def _missing_packages(plan: LaunchPlan) -> Iterator[Finding]:
    server = plan.server
    if server is None:
        return
    for name, given in server.options.items():
        needed = server.engine.options.packages.get(name.partition(".")[0], {})
        for value, package in (
            (value, package) for value, package in needed.items() if value in given
        ):
            if package in requested.packages(plan):
                continue
            expected = msg(
                "the package {package}, for --{name} with {value}",
                package=package,
                name=name,
                value=value,
            )
            seen = msg("the image of vllm-ascend does not have it, and nothing installs it")
            fix = msg(
                "leave --{name} out, or name {package} in requirements.txt",
                name=name,
                package=package,
            )
            say = warn if requested.brings_unknown(plan) else fail
            yield say(expected=expected, seen=seen, fix=fix, where=line_of(plan, value))


def _left_out_code(plan: LaunchPlan) -> Iterator[Finding]:
    """Code in the folder src of a project whose setup.py only installs packages next to it."""
    for spelled, place in plan.server.left_out_code if plan.server else ():
        top, project = _top(spelled), posixpath.basename(posixpath.dirname(place))
        if project != top and not _unknown_top(plan, spelled):
            continue
        seen = msg(
            "{spelled}: {top} is in src, but setup.py only looks for packages next to itself, and pip leaves {top} "
            "out",
            spelled=spelled[:NAME_CHARACTERS],
            top=top,
        )
        fix = msg("write there: {arguments}", arguments=_OF_SRC)
        yield fail(
            expected=_EXPECTED_CODE, seen=seen, fix=fix, where=place.removeprefix(f"{plan.root}/")
        )


def _missing_code(plan: LaunchPlan) -> Iterator[Finding]:
    """Classes and modules on the server's command line that are not known to be installed."""
    server = plan.server
    for spelled in (*server.missing_code, *server.beside_code) if server else ():
        top, shown = _unknown_top(plan, spelled), spelled[:NAME_CHARACTERS]
        if not top:
            continue
        say, fix = warn, _ON_THE_PATH
        seen = msg(
            "{spelled}: {top} is in the working directory, where the program vllm looks for modules only "
            "if PYTHONPATH names it",
            spelled=shown,
            top=top,
        )
        if server and spelled in server.missing_code:
            seen = msg(
                "{spelled}: no module {top} is in the repository, on PYTHONPATH or in requirements.txt",
                spelled=shown,
                top=top,
            )
            fix = msg(
                "commit {top}.py and, {on_the_path}; or name its package in requirements.txt",
                top=top,
                on_the_path=_ON_THE_PATH,
            )
            if requested.packages(plan) - requested.libraries() or requested.brings_unknown(plan):
                seen += msg("; whether an installed package provides it is unknown")
            else:
                say = fail
        yield say(expected=_EXPECTED_CODE, seen=seen, fix=fix, where=option_place(plan, spelled))


def _unknown_top(plan: LaunchPlan, spelled: str) -> str:
    """The top-level name of a module, "" if it is known to be installed."""
    top = _top(spelled)
    brought = top in requested.libraries() or top.lower() in requested.packages(plan)
    return "" if brought or top in sys.stdlib_module_names else top


def _top(spelled: str) -> str:
    return re.split("[.:]", spelled.rsplit(maxsplit=1)[-1])[0]
