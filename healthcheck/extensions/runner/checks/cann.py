"""runner/cann: CANN and ATB are installed."""

from __future__ import annotations

from healthcheck.core.check import Findings, note, warn
from healthcheck.extensions.runner.declared import npu_check
from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.extensions.runner.wording import IMAGE
from healthcheck.machine.installed import Cann
from healthcheck.text.messages import msg


@npu_check(
    "runner/cann",
    msg("CANN and ATB are installed, and their environment can be set"),
    why=msg("torch_npu loads operators from CANN, and vllm-ascend loads others from ATB."),
)
def cann(facts: RunnerFacts) -> Findings:
    """The toolkit is searched in ASCEND_HOME_PATH, in /usr/local/Ascend/ascend-toolkit
    (before CANN 8.5) and in /usr/local/Ascend/cann (from 8.5 on); ATB in /usr/local/Ascend/nnal/atb.

    That the environment is not set in this shell is a warning: the service's shell is not known, and deploy.sh has
    to source the scripts itself then, as the template's does. The official images set it in ~/.bashrc, which a
    script does not read.

    To repair: source /usr/local/Ascend/ascend-toolkit/set_env.sh, then /usr/local/Ascend/nnal/atb/set_env.sh, both
    in bash and without `set -u`. If nothing is installed, use the official image.

    Example:
    ```console
    $ echo "ASCEND_HOME_PATH=$ASCEND_HOME_PATH"
    ASCEND_HOME_PATH=
    ```

    Use instead:

    ```console
    $ source /usr/local/Ascend/ascend-toolkit/set_env.sh
    $ source /usr/local/Ascend/nnal/atb/set_env.sh
    $ echo "ASCEND_HOME_PATH=$ASCEND_HOME_PATH"
    ASCEND_HOME_PATH=/usr/local/Ascend/ascend-toolkit/latest
    ```
    """
    found = facts.cann
    if found.home and not found.home_exists:
        expected, seen = (
            msg("the folder that ASCEND_HOME_PATH names"),
            msg("{home} is not there", home=found.home),
        )
        fix = msg("source the set_env.sh of the CANN that is installed")
        yield facts.fault(expected=expected, seen=seen, fix=fix)
    if not found.toolkits:
        version, seen = (
            facts.row.cann,
            msg("none in /usr/local/Ascend, and none in the environment"),
        )
        named = msg("{image}, or install CANN {version}", image=IMAGE, version=version)
        fix = named if version else msg("{image}, or install CANN", image=IMAGE)
        yield facts.fault(expected=msg("a CANN toolkit"), seen=seen, fix=fix)
        return
    if not found.home:
        expected, seen = msg("CANN's environment in this shell"), msg("ASCEND_HOME_PATH is not set")
        script = found.scripts[0] if found.scripts else msg("its set_env.sh")
        fix = msg("source {where}; in deploy.sh too (the template's does)", where=script)
        yield warn(expected=expected, seen=seen, fix=fix)
    yield from _atb(found)
    others = [toolkit.version for toolkit in found.toolkits[1:]]
    beside = msg("; also installed: {others}", others=", ".join(others)) if others else ""
    atb = f", ATB {found.atb.version}" if found.atb else ""
    yield note(f"CANN {found.version}{atb}{beside}", where=found.toolkits[0].path)


def _atb(found: Cann) -> Findings:
    if found.atb is None:
        fix = msg("install the NNAL package of CANN {version}", version=found.version)
        yield warn(expected="NNAL's ATB", seen=msg("no /usr/local/Ascend/nnal/atb"), fix=fix)
    elif not found.atb_sourced and found.home:
        expected, seen = msg("ATB's environment in this shell"), msg("CANN's is set, ATB's is not")
        fix = msg("source /usr/local/Ascend/nnal/atb/set_env.sh; in deploy.sh too")
        yield warn(expected=expected, seen=seen, fix=fix)
