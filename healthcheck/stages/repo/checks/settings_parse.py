"""repo/settings-parse: the settings files are TOML."""

from __future__ import annotations

from healthcheck.core.check import Findings, check, fail
from healthcheck.stages.repo.records import Submission
from healthcheck.system.processes import shortened
from healthcheck.text.messages import msg

_UNKNOWN = msg(
    "what the file sets, such as task, stack, npu and skip, is unknown, and was not taken"
)


@check(
    "repo/settings-parse",
    msg("adapter.toml and pyproject.toml are TOML"),
    why=msg("The template's adapter starts no server from an adapter.toml that it cannot read."),
)
def settings_parse(submission: Submission) -> Findings:
    """The template's adapter reads adapter.toml at every start. A verification reads its own settings from that
    file or from pyproject.toml: task, stack, NPUs, checks to leave out. The files of the folder are read, whether
    they are committed or not; `--no-settings` ignores both.

    The check fails for a file that is not TOML, and names the line. Where `npu-adapter update` left a conflict,
    that is the line with `<<<<<<<`. What the file sets is then unknown, and the other checks run without it.

    Repair: correct that line. Of a conflict, keep one of the versions, and delete the lines that git added.

    Example:
    ```toml adapter.toml
    <<<<<<< HEAD
    max_model_len = 8192
    =======
    max_model_len = 16384
    >>>>>>> the template 0.2.0
    ```

    Use instead:

    ```toml adapter.toml
    max_model_len = 8192
    ```
    """
    for found in submission.unread_settings:
        text = shortened(found.text)
        seen = msg("{reason}: {text}; {unknown}", reason=found.reason, text=text, unknown=_UNKNOWN)
        fix = msg("correct line {line} of {file}", line=found.line, file=found.file)
        if found.conflict:
            seen = msg(
                "a conflict of a merge begins there: {text}; {unknown}", text=text, unknown=_UNKNOWN
            )
            fix = msg(
                "keep one of the versions between <<<<<<< and >>>>>>>, and delete the lines that begin with these "
                "and with ======="
            )
        yield fail(
            expected=msg("a file that is TOML"),
            seen=seen,
            fix=fix,
            where=f"{found.file}:{found.line}",
        )
