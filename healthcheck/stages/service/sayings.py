"""What an error says of itself: the reason for which a check refused to go on, and the advice that the log adds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from healthcheck.stages.service.blocks import Line

_MOST_CHARACTERS = 400
_RAISED = re.compile(
    r"^(?:[\w.]*\b(?P<name>[A-Z]\w{3,60}): |\s{0,8}(?:Value|Assertion) (?:error|failed), )(?P<said>[^\n]{12,})"
)
_RAISES = re.compile(r"^\s*(?:raise (?:\w+\.)*(?P<name>[A-Z]\w+)\((?!.*\) from \w)|assert\b)")
"""The code of the last frame, where it raises on purpose."""
_SENTENCE = re.compile(r"\S+(?:\s+\S+){2}")
_CHECKS = frozenset({"ValueError", "NotImplementedError", "AssertionError"})
_MAY_REFUSE = _CHECKS | {"RuntimeError", "AttributeError"}
_OF_CANN = re.compile(
    r"^\s{0,8}(?:\w{1,60}\()?E[A-Z\d]\d{4}\)?[\[:][^\n]{0,60}?(?:\d\.\d{1,3}:? |\(E\w{5}\):)\s{0,3}"
    r"(?:\(E\w{5}\):)?\s{0,3}(?P<said>[^\n]{12,})"
)
_DETAILS = re.compile(r"\s*\[(?:type=\w|FUNC:).*|, please check the stack trace above.*")
_WRAPPED = re.compile(r"^Worker failed with error '(.*?)'?$")
_REFUSES = re.compile(
    r"(?i)\b(?:must|should be|should aligned|cannot|can not|can't|can only|requires?|exceeds?|divisible"
    r"|incompatible|please|make sure|not (?:yet )?(?:allow(?:ed)?|compatible|enabled)|is disabled|does not match"
    r"|is only for|invalid|valid options|(?:smaller|larger|greater|less) than)\b"
)
_NOT_SUPPORTED = re.compile(
    r"(?i)\b(?:not (?:yet )?support(?:ed)?|unsupported|only support(?:s|ed)?|could not locate|not available)\b"
    r"|^No [\w -]{1,60} (?:supports?|registered|found for)\b"
)
_OF_THE_PROGRAM = re.compile(
    r"(?<!-)\btensors?\b|(?<!cudagraph )\bshapes?\b|\bstrides?\b|\bdims?\b|\bdimension|torch\.Size"
    r"|\bindex\b|\bindices\b|NPU function error|\bError: |failed, detail|should not be called|not implemented"
    r"|failed to be inspected|^Expecting |^<class |\blogs?\b|argument is invalid|execution failed"
    r"|See (?:root cause|stack trace)|Engine ?[Cc]ore|\b(?:CUDA|NCCL|HIP|HCCL|NPU)(?: \w+)? error"
    r"|has no attribute|\berror: |:$"
)
"""A sentence about the program's own state, or one that sends the reader elsewhere."""
_CONSEQUENCE = re.compile(
    r"(?i)\b(?:died|dead|dies|exit (?:code|status)|exited|(?:did|does|do|is) not (?:answer|respond|repl[yi])\w*"
    r"|no (?:answer|response)|time[ds]?[ -]?out|closed|terminated|killed|lost|unexpectedly)\b"
)
"""A sentence that tells what became of a process or a connection, and not why."""
_ADVICE = re.compile(
    r"(?i)(?:^|(?<=[.!,:;)\]] )|(?<=\. \()|(?<=so ))(?:Please|You (?:can|may|could|should)|If you (?:want|are|need)"
    r"|Try|Consider|Set|Use|Pass|Adjust|Increase|Decrease|Reduce|Lower|Make sure)\b"
    r"[^\n]{12,300}?(?:(?<!e\.g)[.!](?=\s|$)|$)"
)
_NO_HELP = re.compile(
    r"LAUNCH_BLOCKING|accurate stacktrace|stack trace|\blogs?\b|further information|for more details|issue|report"
    r"|contact|the operator is called|Check the input parameter|repo_type|repository content|device failed"
    r"|\bcall \w+ first|reason for|ALLOW_LONG_MAX_MODEL_LEN|extension auto-loading"
)


def reason(lines: Sequence[Line]) -> str:
    """The sentence of a check that says what it refuses; "" if the exception has none."""
    for name, said, _ in _exceptions(lines):
        checks = name in _CHECKS and _REFUSES.search(said)
        if not name or checks or (name in _MAY_REFUSE and _NOT_SUPPORTED.search(said)):
            return said
    return ""


def raised_on_purpose(lines: Sequence[Line]) -> str:
    """The sentence of an exception that the code of the last frame raises itself; "" if there is none.

    One that only tells of a consequence, as of a process that died, says no reason.
    """
    thrown = (
        said
        for name, said, thrown in _exceptions(lines)
        if name == thrown and _SENTENCE.match(said)
    )
    return next((said for said in thrown if not _CONSEQUENCE.search(said)), "")


def _exceptions(lines: Sequence[Line]) -> Iterator[tuple[str | None, str, str]]:
    """The name and the sentence of each exception, and the name of the one that the code before it raises."""
    thrown, process = "", ""
    for line in lines:
        if code := _RAISES.match(line.text):
            thrown, process = code["name"] or "AssertionError", line.process
        if raised := _RAISED.match(line.text):
            whole = _DETAILS.sub("", raised["said"]).strip()
            said = _WRAPPED.sub(r"\1", whole)[:_MOST_CHARACTERS].rstrip(".")
            if said and not _OF_THE_PROGRAM.search(said):
                own = process == line.process and not _WRAPPED.match(whole)
                yield raised["name"], said, thrown if own else ""


def reason_of_cann(lines: Sequence[Line]) -> str:
    """The sentence beside one of CANN's own codes that says what is refused; "" if there is none."""
    found = (match["said"] for line in lines if (match := _OF_CANN.match(line.text)))
    said = (_DETAILS.sub("", each).strip()[:_MOST_CHARACTERS] for each in found)
    told = (each for each in said if _REFUSES.search(each) or _NOT_SUPPORTED.search(each))
    return next((each for each in told if not _OF_THE_PROGRAM.search(each)), "")


def advice(lines: Sequence[Line]) -> str:
    """The first sentence of these lines that says what to do and does not only send the reader elsewhere."""
    found = (match[0] for line in lines for match in _ADVICE.finditer(line.text))
    return next((said.strip() for said in found if not _NO_HELP.search(said)), "")
