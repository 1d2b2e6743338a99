"""What an error says of itself: the reason for which a check refused to go on, and the advice that the log adds."""

from __future__ import annotations

import re
from collections.abc import Sequence

from healthcheck.stages.service.blocks import Line

_MOST_CHARACTERS = 400
_RAISED = re.compile(
    r"^(?:[\w.]*\b(?P<name>ValueError|NotImplementedError|AssertionError|AttributeError|RuntimeError|VLLMValidationError): "
    r"|\s{0,8}(?:Value|Assertion) error, )(?P<said>[^\n]{12,})"
)
_DETAILS = re.compile(r"\s*\[type=\w.*|, please check the stack trace above for the root cause$")
_WRAPPED = re.compile(r"^Worker failed with error '(.*?)'?$")
_REFUSES = re.compile(
    r"\b(?:must|should be|cannot|can not|can't|requires?|exceeds?|divisible|incompatible|please|make sure|valid options"
    r"|not (?:yet )?(?:allowed|compatible|enabled)|is disabled|does not match|can only|is only for|invalid"
    r"|(?:smaller|larger|greater|less) than)\b",
    re.IGNORECASE,
)
_NOT_SUPPORTED = re.compile(
    r"\b(?:not (?:yet )?support(?:ed)?|unsupported|only support(?:s|ed)?|could not locate)\b", re.IGNORECASE
)
_OF_THE_PROGRAM = re.compile(
    r"(?<!-)\btensors?\b|(?<!cudagraph )\bshapes?\b|\bstrides?\b|\bdims?\b|\bdimension|torch\.Size|NPU function error|\bError: |failed, detail"
    r"|\bindex|should not be called|not implemented|failed to be inspected|^Expecting |^<class |\blogs?\b"
)
"""A sentence about the program's own state, or one that sends the reader elsewhere."""
_ADVICE = re.compile(
    r"(?:^|(?<=[.!,:;)\]] )|(?<=\. \()|(?<=so ))(?:Please|You (?:can|may|could|should)|Try|Consider|If you (?:want|are|need)|Set|Use|Pass"
    r"|Adjust|Increase|Decrease|Reduce|Lower|Make sure)\b[^\n]{12,300}?(?:(?<!e\.g)[.!](?=\s|$)|$)",
    re.IGNORECASE,
)
_NO_HELP = re.compile(
    r"LAUNCH_BLOCKING|accurate stacktrace|stack trace|\blogs?\b|further information|for more details|issue|report|contact"
    r"|the operator is called|Check the input parameter|repo_type|repository content|device failed|\bcall \w+ first|reason for"
)


def reason(lines: Sequence[Line]) -> str:
    """The sentence of a check that says what it refuses; "" if the exception has none."""
    for line in lines:
        raised = _RAISED.match(line.text)
        said = _WRAPPED.sub(r"\1", _DETAILS.sub("", raised["said"])).strip() if raised else ""
        if not raised or not said or _OF_THE_PROGRAM.search(said):
            continue
        on_purpose = raised["name"] not in {"RuntimeError", "AttributeError"}
        if not raised["name"] or _NOT_SUPPORTED.search(said) or (on_purpose and _REFUSES.search(said)):
            return said[:_MOST_CHARACTERS].rstrip(".")
    return ""


def advice(lines: Sequence[Line]) -> str:
    """The first sentence of these lines that says what to do and does not only send the reader elsewhere."""
    found = (match[0] for line in lines for match in _ADVICE.finditer(line.text))
    return next((said.strip() for said in found if not _NO_HELP.search(said)), "")
