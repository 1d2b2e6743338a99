"""The words for results; every renderer takes its words from here."""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import reduce

from healthcheck.contract import Rule
from healthcheck.core.commands import in_folder
from healthcheck.core.records import (
    RECORDING,
    SIMULATOR,
    UNCOMMITTED_CHANGES,
    UNJUDGED,
    UNWEIGHED,
    CheckResult,
    Finding,
    Level,
    Outcome,
    Report,
    Verdict,
    verdict_of,
)
from healthcheck.core.stages import SUBMISSION, Stage
from healthcheck.text.messages import joined, mapped, msg, plural
from healthcheck.text.redact import HIDDEN
from healthcheck.text.secret_shapes import REMOVED

BY_TONE = {
    "pass": msg("passed"),
    "warn": msg("passed with a warning"),
    "skip": msg("skipped"),
    "fail": msg("failed"),
    "error": msg("failed in the kit itself"),
    "open": msg("could not be settled"),
}
"""The end of a check in words, by its tone."""
_MODES = {"isolated": msg("isolated"), "confined": msg("confined"), "unconfined": msg("unconfined")}
COUNTED = {**BY_TONE, "open": msg("unsettled")}
COUNTED_FIRST = ("pass", "warn", "open", "skip", "fail", "error")
MOST_TASK = 40
COMMIT_THE_REPAIR = "git commit -am 'Repair the submission'"
_IN_THE_REPOSITORY = msg("in the folder of the repository")
_IN_THE_WEIGHTS = msg("in the folder of the weights")
_PLACE = re.compile(r"[^\s:]+:\d+")
ORDER = (Level.FAIL, Level.UNSETTLED, Level.WARN, Level.NOTE)


class _Shown(dict[int, str]):
    """A table for `str.translate`, filled as characters occur, that replaces those of some categories."""

    def __init__(self, *hidden: str) -> None:
        super().__init__({ord(blank): blank for blank in "\n\t"})
        self.hidden = hidden

    def __missing__(self, code: int) -> str:
        character = chr(code)
        self[code] = "�" if unicodedata.category(character) in self.hidden else character
        return self[code]


_PLAIN = _Shown("Cc", "Cf", "Cn", "Co", "Cs")
_WITHOUT_CONTROLS = _Shown("Cc", "Cf")


def plain(text: str) -> str:
    """The text without characters that move a cursor, hide text or break a line-based format."""
    return mapped(text, lambda part: part.translate(_PLAIN))


def without_controls(text: str) -> str:
    """The text without characters that move a cursor or hide text; undecodable bytes of a file name remain."""
    return mapped(text, lambda part: part.translate(_WITHOUT_CONTROLS))


def findings(result: CheckResult) -> tuple[Finding, ...]:
    """The findings of a result, most severe first."""
    return tuple(sorted(result.findings, key=lambda finding: ORDER.index(finding.level)))


def detail(result: CheckResult) -> str:
    """The expectation and the observation, one line per finding; for a skip or an error, the reason."""
    lines = [sentence(finding) for finding in findings(result)]
    if result.because:
        lines.insert(0, result.because)
    return plain(joined("\n", lines))


def sentence(finding: Finding) -> str:
    """A finding as one line."""
    return observation(finding) + place(finding)


def observation(finding: Finding) -> str:
    """The expectation and the observation."""
    expected, seen = finding.expected, finding.seen
    return (
        msg("expected {expected}; saw {seen}", expected=expected, seen=seen) if expected else seen
    )


def place(finding: Finding) -> str:
    """The place of a finding as a suffix; "" if unknown."""
    return f" ({finding.where})" if finding.where else ""


def fix(result: CheckResult) -> str:
    """The repairs, most severe first."""
    return plain(joined("\n", dict.fromkeys(filter(None, map(repair, findings(result))))))


def repair(finding: Finding) -> str:
    """The repair in one line: words, and the command behind them; "" if the finding has none."""
    return in_one_line(finding.fix, finding.command)


def in_one_line(words: str, command: str) -> str:
    """Words and their command, either of which may be "", in one line."""
    if words and command:
        return msg("{label}: {text}", label=words, text=command)
    return words or command


def with_commands_in(
    results: Iterable[CheckResult], folder: str, weights: str = ""
) -> tuple[CheckResult, ...]:
    """The results, with commands that can be pasted outside of the folder in which they run.

    The folder is that of the repository or, for the checks of the weights, that of the weights. If it is HIDDEN,
    the words of a repair say where to run its command.
    """

    def placed(result: CheckResult) -> CheckResult:
        is_of_weights = result.stage == Stage.WEIGHTS
        place = weights if is_of_weights else folder
        if place == HIDDEN:
            where = _IN_THE_WEIGHTS if is_of_weights else _IN_THE_REPOSITORY
            return replace(
                result, findings=tuple(_run_in(where, finding) for finding in result.findings)
            )
        commands = (in_folder(finding.command, place) for finding in result.findings)
        return replace(
            result,
            findings=tuple(map(_with_command, result.findings, commands)),
        )

    return tuple(map(placed, results))


def _run_in(where: str, finding: Finding) -> Finding:
    """The finding, whose words say where its command runs."""
    if not finding.command:
        return finding
    return replace(finding, fix=msg("{where}, {repair}", where=where, repair=finding.fix))


def _with_command(finding: Finding, command: str) -> Finding:
    return replace(finding, command=command) if command != finding.command else finding


def duration(seconds: float) -> str:
    """A duration in words: "0.2 s", "3 min 7 s"."""
    if seconds < 99.95:
        return msg("{seconds:.1f} s", seconds=max(seconds, 0))
    return msg(
        "{minutes} min {seconds} s", minutes=round(seconds) // 60, seconds=round(seconds) % 60
    )


def counted(report: Report) -> str:
    """The number of checks by outcome, the dry run's mode, the task; unsettled ones do not count as skipped."""
    task = plain(str(report.provenance.get("task") or ""))[:MOST_TASK]
    named = ((msg("dry run"), _mode(report)), (msg("task"), task))
    also = (msg("; {name}: {value}", name=name, value=value) for name, value in named if value)
    return joined("", (_counts(report.results), *also))


def _mode(report: Report) -> str:
    """The sandbox mode of the dry run; "" without one."""
    mode = plain(str(report.provenance.get("sandbox") or ""))
    return _MODES.get(mode, mode)


def _counts(results: Iterable[CheckResult]) -> str:
    ended = Counter(tone(each) for each in results if not is_summary(each))
    counts = [
        msg("{ended} {said}", ended=ended[each], said=COUNTED[each])
        for each in COUNTED_FIRST
        if ended[each]
    ]
    return (
        reduce(lambda counts, more: msg("{counts}, {more}", counts=counts, more=more), counts)
        if counts
        else ""
    )


def counted_of(report: Report, stage: Stage) -> str:
    """The number of checks of a stage by outcome."""
    return _counts(result for result in report.results if result.stage == stage)


def named_warnings(report: Report) -> str:
    """The checks that warned, as a suffix of a headline: "; 1 warning: plan/host"; "" if none did."""
    warned = [
        result.id
        for result in report.results
        if result.outcome is Outcome.WARN and not is_summary(result)
    ]
    if not warned:
        return ""
    return plural(
        "; {n} warning: {listed}",
        "; {n} warnings: {listed}",
        len(warned),
        n=len(warned),
        listed=_listed(warned),
    )


def _named_unsettled(report: Report) -> str:
    """The unsettled checks, as a suffix of a headline that names failures only; "" if there are none."""
    unsettled = [
        result.id for result in report.results if tone(result) == "open" and not is_summary(result)
    ]
    if not unsettled:
        return ""
    return msg("; {count} unsettled: {listed}", count=len(unsettled), listed=_listed(unsettled))


def is_wrong(result: CheckResult) -> bool:
    """Whether a person has to read a result: neither a pass nor a skip, nor a summary of other results."""
    grave = result.outcome in {Outcome.FAIL, Outcome.ERROR, Outcome.WARN} or not result.settled
    return grave and not is_summary(result)


def is_summary(result: CheckResult) -> bool:
    """Whether a result only sums up the outcomes of other checks."""
    return bool(result.findings) and all(
        "sums_up" in finding.evidence for finding in result.findings
    )


def gravity(result: CheckResult) -> int:
    """A sort key: warnings first, failures last."""
    if result.outcome is Outcome.WARN:
        return 0
    return 2 if result.outcome in {Outcome.FAIL, Outcome.ERROR} else 1


def tone(result: CheckResult) -> str:
    """The outcome; "open" for an unsettled check that neither failed nor had an error."""
    is_open = not result.settled and result.outcome not in {Outcome.FAIL, Outcome.ERROR}
    return "open" if is_open else result.outcome.value


def said(result: CheckResult) -> str:
    """The end of a check, in words."""
    return BY_TONE[tone(result)]


def rows(finding: Finding) -> tuple[tuple[str, str], ...]:
    """The expectation and the observation, each with its name; empty parts are left out."""
    parts = (
        (msg("expected"), finding.expected),
        (msg("seen") if finding.expected else msg("note"), finding.seen),
        (msg("where"), finding.where),
    )
    return tuple((name, text) for name, text in parts if text)


def rule(result: CheckResult, finding: Finding) -> Rule | None:
    """The service's rule that a finding breaks; None if it breaks none."""
    return (finding.rule or result.rule) if finding.level is Level.FAIL else None


def headline(report: Report) -> str:
    """The verdict in one line; a simulated endpoint is named before anything else.

    The mode of the sandbox is named unless deploy.sh was isolated, and the service unless it is the public page's;
    so is --strict.
    """
    return joined("", labelled_headline(report))


def labelled_headline(report: Report) -> tuple[str, str]:
    """The headline in two parts: the label of what is not the real thing, and the rest.

    The label is that of a simulated endpoint or of a replayed machine, "" otherwise.
    """
    label: str = ""
    if report.provenance.get("server") == SIMULATOR:
        label = msg("SIMULATED endpoint, no model was measured: ")
    elif recorded := report.provenance.get(RECORDING):
        file = recorded.get("file") if isinstance(recorded, dict) else recorded
        label = msg(
            "REPLAY of {recording}, not of this machine: ", recording=plain(str(file))[:MOST_TASK]
        )
    weaker = report.provenance.get("sandbox") in {"confined", "unconfined"}
    mode = msg("; the dry run was {mode}", mode=_mode(report)) if weaker else ""
    strict = (
        msg("; warnings count as failures (--strict)") if report.provenance.get("strict") else ""
    )
    return label, _headline(report) + strict + _for_service(report) + mode


def _for_service(report: Report) -> str:
    """The service whose rules apply, unless it is the public page's; "" otherwise."""
    service = report.provenance.get("service")
    if not isinstance(service, dict):
        return ""
    name, file = (plain(str(service.get(key) or ""))[:MOST_TASK] for key in ("name", "file"))
    if name:
        return msg("; for the service “{name}” of {file}", name=name, file=file)
    return msg("; for the service of {file}", file=file)


def _headline(report: Report) -> str:
    counts = any(result.stage.counts for result in report.results)
    if report.results and not counts and not report.stopped:
        return _beside_the_service(report)
    failed = [
        result.id
        for result in report.results
        if result.outcome is Outcome.FAIL and not is_summary(result)
    ]
    if report.uncommitted and not failed:
        verdict = verdict_of(report.results, stopped=report.stopped)
        once = _headline(replace(report, verdict=verdict, uncommitted=""))
        return msg(
            "not ready: {uncommitted}. With it: {once}",
            uncommitted=report.uncommitted,
            once=once,
        )
    if report.verdict is Verdict.NOT_READY:
        said = msg("not ready: {listed} failed", listed=_listed(failed)) + _named_unsettled(report)
        return joined("; ", (said, report.uncommitted)) if report.uncommitted else said
    return _inconclusive(report) if report.verdict is Verdict.INCONCLUSIVE else _ready(report)


def _beside_the_service(report: Report) -> str:
    """The results of checks for which the service does not ask, so that they are not its verdict."""
    wanting = [result.id for result in report.results if result.outcome is Outcome.FAIL]
    open_ = [
        result.id
        for result in report.results
        if not result.settled or result.outcome is Outcome.ERROR
    ]
    said = [
        msg(
            "{wanting} of {total} do not hold: {listed}",
            wanting=len(wanting),
            total=len(report.results),
            listed=_listed(wanting),
        )
        if wanting
        else "",
        msg("{listed} could not be settled", listed=_listed(open_)) if open_ else "",
    ]
    held = joined("; ", filter(None, said)) or msg("what the server offers holds")
    return msg(
        "{stage}: {held} (does not affect the verdict)",
        stage=report.results[0].stage.name,
        held=held,
    )


def _inconclusive(report: Report) -> str:
    broken = [result.id for result in report.results if result.outcome is Outcome.ERROR]
    if broken:
        return msg("inconclusive: the kit itself failed in {listed}", listed=_listed(broken))
    open_ = [result.id for result in report.results if not result.settled]
    return msg(
        "inconclusive: {stopped}",
        stopped=report.stopped or msg("{listed} could not be settled", listed=_listed(open_)),
    )


def _ready(report: Report) -> str:
    """The ready verdict with its task, the extent of the run, and the checks skipped on request."""
    subject = report.subject
    if subject != SUBMISSION and report.asked == subject.whole:
        return subject.ready
    task = report.provenance.get("task")
    said = msg("ready")
    if isinstance(task, str) and task != "unknown":
        said = msg("ready for {task}", task=plain(task[:MOST_TASK]))
    if report.asked != subject.whole:
        scope = report.scope or msg("for the requested stages ({asked})", asked=report.asked)
        said = msg("{ready} {scope}", ready=said, scope=scope)
    notes = (finding.evidence for result in report.results for finding in result.findings)
    for share in (found for note in notes if isinstance(found := note.get(UNJUDGED), float)):
        said = msg(
            "{said}; accuracy {share:.1f} %, not judged: give --reference or --threshold",
            said=said,
            share=100 * share,
        )
    waived = [result.id for result in report.results if result.waived]
    return said + (msg("; skipped on request: {listed}", listed=_listed(waived)) if waived else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Something to do: words, a shell command, or a command with words that introduce it."""

    words: str = ""
    command: str = ""


def next_step(report: Report) -> str:
    """What to do next, in one line."""
    first, *more = (in_one_line(step.words, step.command) for step in next_steps(report))
    return reduce(
        lambda said, again: msg("{repair}; then {again}", repair=said, again=again), more, first
    )


def next_steps(report: Report) -> tuple[Step, ...]:
    """What to do next: one step, or a repair and what follows it."""
    uncommitted = _uncommitted_changes(report.results)
    if uncommitted:
        return (Step(words=uncommitted.fix, command=uncommitted.command), _again(report))
    grave = [
        each
        for wanted in (Outcome.FAIL, Outcome.ERROR)
        for each in report.results
        if each.outcome is wanted
    ]
    if report.uncommitted and not grave:
        return (_commit_of_the_repair(report.folder), _again(report))
    if not grave and report.stopped == UNWEIGHED:
        return (Step(command=_with_weights(report)),)
    for result in grave or (each for each in report.results if not each.settled):
        return (_repair_of(result) or Step(words=_first_line(detail(result))),)
    return tuple(_when_ready(report)) if report.verdict is Verdict.READY else (_once_more(report),)


def _commit_of_the_repair(folder: str) -> Step:
    commit = msg("commit the repair")
    if folder == HIDDEN:
        words = msg("{where}, {repair}", where=_IN_THE_REPOSITORY, repair=commit)
        return Step(words=words, command=COMMIT_THE_REPAIR)
    return Step(words=commit, command=in_folder(COMMIT_THE_REPAIR, folder))


def _once_more(report: Report) -> Step:
    """How to repeat a run that has no answer."""
    if report.provenance.get(RECORDING):
        again = msg("record that machine again")
        return Step(words=again, command="npu-adapter runner --save machine.json")
    return Step(words=msg("run it again"))


def _uncommitted_changes(results: Iterable[CheckResult]) -> Finding | None:
    """The finding that the judged commit is not what the author sees; any other repair may be made already."""
    found = (finding for result in results for finding in result.findings)
    return next((each for each in found if UNCOMMITTED_CHANGES in each.evidence), None)


def _with_weights(report: Report) -> str:
    """The command that also verifies what a run without weights left out."""
    repository = shlex.quote(plain(str(report.provenance.get("repository") or ".")))
    return f"{shlex.join(report.program)} verify {repository} --weights DIR"


def _when_ready(report: Report) -> Iterator[Step]:
    """The most important repair of a warning, and what comes after it."""
    subject = report.subject
    if report.provenance.get("server") == SIMULATOR:
        yield Step(
            words=msg(
                "before you submit, verify it with its own engine and weights: this endpoint was simulated"
            )
        )
        return
    warned = [
        result
        for result in report.results
        if result.outcome is Outcome.WARN and not is_summary(result)
    ]
    warned.sort(key=lambda result: result.stage == Stage.REPO)  # the launch matters first
    repair = next(filter(None, map(_repair_of, warned)), None)
    if repair and subject == SUBMISSION:
        yield repair
        yield _again(report)
        return
    last = Step(words=subject.use)
    if report.asked != subject.whole and subject.after_a_part:
        last = Step(words=subject.after_a_part, command=_through_every_stage(report))
    elif report.provenance.get(RECORDING):
        last = Step(words=msg("run npu-adapter runner on that machine before you use it"))
    if repair:
        yield repair
    elif warned and last.words != subject.after_a_part:
        read = plural("read the warning", "read the {n} warnings", len(warned), n=len(warned))
        last = replace(last, words=msg("{read}, then {last}", read=read, last=last.words))
    yield last


def _again(report: Report) -> Step:
    """How to verify a repaired repository, before it is submitted."""
    command = _command(report, without=("--fix",))
    return Step(
        words=msg("verify it again") if command else msg("verify it again and submit it"),
        command=command,
    )


def _through_every_stage(report: Report) -> str:
    """The command of this run without its limits; "" if it had no weights of which a server could start."""
    command = _command(report, without=("--fix", "--until", "--staged"))
    return command if re.search(r" --weights[ =]", command) else ""


def _command(report: Report, *, without: tuple[str, ...]) -> str:
    """The command of this run without some options; "" if it is unknown or contains a secret."""
    command = report.provenance.get("command")
    if not isinstance(command, list) or REMOVED in str(command):
        return ""
    kept, words = list(report.program), iter(map(str, command[1:]))
    for word in words:
        option = word.partition("=")[0]
        if option not in without:
            kept.append(word)
        elif option == "--until" and "=" not in word:
            next(words, "")
    return plain(shlex.join(kept))


def _repair_of(result: CheckResult) -> Step | None:
    """The most severe repair, its words after their file and line; None without a repair."""
    for finding in findings(result):
        if finding.fix or finding.command:
            where = "" if _has_place(finding) or finding.command else finding.where
            words = msg("{label}: {text}", label=where, text=finding.fix) if where else finding.fix
            return Step(words=_first_line(plain(words)), command=finding.command)
    return None


def _has_place(finding: Finding) -> bool:
    """Whether a repair says itself in which line it is, or the finding has no line."""
    if not _PLACE.fullmatch(finding.where):
        return True
    file = re.escape(finding.where.rpartition(":")[0])
    own = rf"(?<![\w./-]){file}:\d|\bline (?:\d+ )?of {file}\b"
    return re.search(own, finding.fix) is not None


def _first_line(text: str) -> str:
    """A one-line message stays a message; of several lines, the first is plain text."""
    return text.split("\n", maxsplit=1)[0] if "\n" in text else text


def _listed(ids: list[str]) -> str:
    shown = joined(", ", ids[:4])
    return shown if len(ids) <= 4 else msg("{shown} and {ids} more", shown=shown, ids=len(ids) - 4)
