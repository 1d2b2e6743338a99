"""plan/no-image-paths: no directory of a particular image is used."""

from __future__ import annotations

import re

from healthcheck import contract
from healthcheck.core.check import Findings, check, warn
from healthcheck.stages.plan import unmet_needs
from healthcheck.stages.plan.image import IMAGE_FOLDERS
from healthcheck.stages.plan.records import LaunchPlan
from healthcheck.stages.plan.script import deploy_sh
from healthcheck.stages.plan.script.missing_files import may_be_file_of_image
from healthcheck.stages.plan.unmet_needs import EXPECTED
from healthcheck.text.messages import msg

_IMAGE_PLACES = tuple(sorted({f"/{folder.split('/')[1]}" for folder in IMAGE_FOLDERS}))

_BEFORE_WEIGHTS = re.compile(
    rf"(?<![\w./-])[\w./-]+(?=[\"']?\$\{{?{contract.MODEL_PATH_VARIABLE}\b)"
)
"""A path right before $MODEL_PATH, which the checks of files and of the model report."""


@check(
    "plan/no-image-paths",
    msg("No directory of a particular image is used"),
    rule=contract.STARTS_THE_SERVICE,
    why=msg("Which image the service runs is not documented."),
    requires=("repo/deploy-sh-present",),
)
def no_image_paths(plan: LaunchPlan) -> Findings:
    """A path such as /vllm-workspace exists in the official vllm-ascend image; whether the service runs that image
    is not documented.

    Example:
    ```sh
    cd /vllm-workspace/vllm
    exec vllm serve "$MODEL_PATH"
    ```

    Use instead:

    ```sh
    exec vllm serve "$MODEL_PATH"
    ```
    """
    where = {each.where for each in unmet_needs.reported(plan)}
    named = any(may_be_file_of_image(plan, each) for each in unmet_needs.reported(plan))
    use, place = _image_place(plan)
    if use and not named and place not in where:
        seen = msg("a place in the official vllm-ascend image: “{seen}”", seen=use)
        fix = msg("remove it: the image of the service is not documented")
        yield warn(expected=EXPECTED, seen=seen, fix=fix, where=place)


def _image_place(plan: LaunchPlan) -> tuple[str, str]:
    """The use of an image's folder that deploy.sh does not create, and its place; ("", "") if there is none."""
    places = tuple(
        place for place in _IMAGE_PLACES if not deploy_sh.makes_folder(plan.script, place)
    )
    script = _BEFORE_WEIGHTS.sub(lambda found: " " * len(found[0]), plan.script)
    line = deploy_sh.folder_line(script, places)
    if line:
        return deploy_sh.line_at(plan.script, line)[:200], deploy_sh.place(line)
    server = plan.server
    if server and f"{server.cwd}/".startswith(tuple(f"{place}/" for place in places)):
        return msg("{quoted} in {cwd}", quoted=server.command, cwd=server.cwd), server.where
    return "", ""
