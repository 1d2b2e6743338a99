"""Problems from the user's files: read defensively; an error names the line.

gsm8k: JSON lines of {"question", "answer"}, the answer a rationale that ends in "#### 18".
qa:    {"question", "answer"} as JSON lines or CSV; the answer a number, an expression or words.
mcq:   {"question", "A", "B", …, "answer"} as JSON lines or CSV; the answer a letter. Or a list of choices, or
       the CSV files of MMLU, which have no header.
vqa:   {"question", "image", "answers"}: the answers of several persons, as in TextVQA.
code:  the rows of HumanEval, MBPP and APPS, which `code_rows` reads.
A folder is read where it has the files of a published data set (`published`).
qa and mcq are AISBench's custom data sets. Each may have a column `tier` or `category`, and a column `image`. The
rows of a JSON file are lines, or the elements of one array.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from healthcheck.errors import UsageError
from healthcheck.stages.probe.data_sets import code_rows, columns, listed, published
from healthcheck.stages.probe.data_sets.rows import rows_of
from healthcheck.stages.probe.grading import code, expressions, golds, grade, judge
from healthcheck.stages.probe.grading.replies import soft_score
from healthcheck.stages.probe.problems import requested
from healthcheck.stages.probe.problems.problem import AnswerKind, Dice, Problem
from healthcheck.stages.probe.records import Example
from healthcheck.system import extras
from healthcheck.system.files import read_text
from healthcheck.text.messages import msg

_GOLD = "####"
_CHINESE = re.compile(r"[\u3400-\u9fff]")
_MOST_NAMED = 10
_MOST_ACCEPTED, _PERSONS = 100, 10
"""TextVQA has the answers of ten persons."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """Problems, the number of different problems to draw from, and the examples before them."""

    problems: tuple[Problem, ...]
    of: int
    examples: tuple[Example, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """A row of a file: its problem, still without pictures, and the content of its column `image`."""

    file: Path
    place: int
    problem: Problem
    images: tuple[str, ...]


def draw(path: Path, count: int, seed: int, names: Mapping[str, str] | None = None) -> Drawn:
    """Draw a random sample of `count` different problems of a file or folder; all of them if it has no more.

    Every row is read and checked, and a file sorted by difficulty does not bias the result. `names` maps the kit's
    names of columns to those of the file: {"question": "prompt"}.

    Raises:
        UsageError: the file cannot be read or is empty, or a row is not a problem; the message names the row.
        Blocked: answers are to be run, and there is no sandbox.
    """
    found: dict[tuple[str, tuple[str, ...]], _Row] = {}
    places = list[int]()
    again = list[tuple[_Row, _Row]]()
    left = published.MAX_BYTES
    for file in published.files_of(path):
        text = read_text(file, left)
        left -= len(text)
        for place, fields in rows_of(file, text):
            with _named(file, place):
                known = columns.renamed(fields, names or {})
                places += listed.counted(known)
                row = _row(file, place, known)
            first = found.setdefault((row.problem.question, row.images), row)
            again += [(first, row)] if first is not row else []
    listed.refuse_counted_from_one(path, places)
    if not found:
        raise UsageError(msg("{path} has no problems", path=path))
    _refuse_without_judge(path, found.values())
    _refuse_contradictions(again)
    rows = _all_with_tiers(found.values())
    if len(rows) > count:
        chosen = Dice("dataset", seed).shuffled(range(len(rows)))[:count]
        rows = [rows[place] for place in sorted(chosen)]
    _refuse_failing(rows)
    pictures = columns.Pictures(path if path.is_dir() else path.parent)
    problems = []
    for row in rows:
        with _named(row.file, row.place):
            problems.append(_illustrated(row, pictures))
    return Drawn(problems=tuple(problems), of=len(found))


@contextmanager
def _named(path: Path, place: int) -> Iterator[None]:
    """Name the file and the row before an error of a row.

    Raises:
        UsageError: with both.
    """
    try:
        yield
    except UsageError as error:
        raise UsageError(
            msg("{path}:{place}: {error}", path=path, place=place, error=error)
        ) from error


def _illustrated(row: _Row, pictures: columns.Pictures) -> Problem:
    """The problem of a row with its pictures; their digest is part of its id, so that a change is noticed.

    Raises:
        UsageError: a picture cannot be sent, or math-verify cannot read the answer, an expression.
    """
    if row.problem.kind is AnswerKind.EXPRESSION and not expressions.readable(row.problem.answer):
        raise UsageError(
            msg(
                "{package} does not read the answer {answer}: write it as LaTeX, or in plain words",
                package=judge.PACKAGE,
                answer=repr(row.problem.answer[:80]),
            )
        )
    if not row.images:
        return row.problem
    images = pictures.read(row.images)
    digest = hashlib.sha256(b"".join(images)).hexdigest()[:12]
    return replace(row.problem, id=f"{row.problem.id}/{digest}", images=images)


def _row(file: Path, place: int, row: Mapping[str, object]) -> _Row:
    problem = replace(
        _problem(f"{file.stem}/{place}", listed.lettered(row)), tier=columns.tier(row)
    )
    _refuse_ungradable(problem)
    return _Row(file=file, place=place, problem=problem, images=columns.images(row))


def _problem(identity: str, row: Mapping[str, object]) -> Problem:
    if coded := code_rows.problem(identity, row):
        return replace(coded, language=_language(coded.question))
    question = _text(row, "question")
    if accepted := _accepted(row):
        answer = max(accepted, key=accepted.count)
        return Problem(
            id=identity, family="vqa", tier="", kind=AnswerKind.SOFT, question=question, answer=answer,
            references=accepted, language=_language(question),
        )  # fmt: skip
    answer = _text(row, msg("answer"))
    letters = listed.letters_of(row)
    if letters and answer.strip().upper() in set(letters):
        options = "\n".join(f"{letter}. {row[letter]}" for letter in letters)
        return Problem(
            id=identity, family="mcq", tier="", kind=AnswerKind.CHOICE, question=f"{question}\n{options}",
            answer=answer.strip().upper(), letters=letters, language=_language(question),
        )  # fmt: skip
    if letters:
        raise UsageError(
            msg(
                "the answer {answer} is none of the letters {letters}",
                answer=repr(answer[:80]),
                letters=letters,
            )
        )
    _, mark, final = answer.rpartition(_GOLD)
    if mark and not final.strip():
        raise UsageError(msg("nothing follows the last {gold} of the answer", gold=_GOLD))
    gold = (final if mark else answer).strip()
    return Problem(
        id=identity, family="gsm8k" if mark else "qa", tier="", question=question, answer=gold,
        kind=golds.kind_of(gold), worked=answer if mark else "", language=_language(question),
    )  # fmt: skip


def _accepted(row: Mapping[str, object]) -> tuple[str, ...]:
    """The answers of several persons to a question, of which any is accepted in part; empty if there is one answer.

    Raises:
        UsageError: one of them is not a text, there are letters, too, or no answer of a few would be right.
    """
    given = row.get("answers")
    if given is None:
        return ()
    if (
        not isinstance(given, list)
        or not 0 < len(given) <= _MOST_ACCEPTED
        or not all(map(_is_text, given))
    ):
        raise UsageError(
            msg("its answers are not a list of at most {most} texts", most=_MOST_ACCEPTED)
        )
    if listed.letters_of(row):
        raise UsageError(
            msg(
                "it has answers of several persons, and letters to choose from: leave one of them away"
            )
        )
    if len(given) < _PERSONS and max(soft_score(one, given) for one in given) <= 0.5:
        raise UsageError(
            msg(
                "its {count} answers are of different words, and none would be right: “answers” are of several "
                "persons, not other names of one answer; write one as “answer”",
                count=len(given),
            )
        )
    return tuple(given)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _language(question: str) -> str:
    return "zh" if _CHINESE.search(question) else "en"


def _refuse_ungradable(problem: Problem) -> None:
    """Refuse a gold that is not graded as right, verbatim or in the form that the prompt requests.

    Where several persons answered, none of the answers needs to have a score of more than one half.
    """
    apart = problem.kind is AnswerKind.SOFT or problem.kind.runs
    for form in () if apart else (problem.answer, requested(problem)):
        graded = grade(problem, form)
        if not graded.correct:
            seen = msg("no answer is found in it")
            if graded.extracted:
                seen = msg("{extracted} is read from it", extracted=repr(graded.extracted[:80]))
            raise UsageError(
                msg(
                    "the answer {answer} would not be graded right when a model gives it as {form}: "
                    "{seen}. Write it as a number, as LaTeX or in plain words",
                    answer=repr(problem.answer[:80]),
                    form=repr(form[:120]),
                    seen=seen,
                )
            )


def _refuse_without_judge(path: Path, rows: Collection[_Row]) -> None:
    if any(row.problem.kind.runs for row in rows):
        code.mode()
    places = [row.place for row in rows if row.problem.kind is AnswerKind.EXPRESSION]
    if places and not judge.installed():
        named = ", ".join(map(str, places[:_MOST_NAMED])) + (
            " …" if len(places) > _MOST_NAMED else ""
        )
        raise UsageError(
            msg(
                "{path}: the answers of {places} rows are expressions ({named}), which {package} judges: "
                "{install_command}",
                path=path,
                places=len(places),
                named=named,
                package=judge.PACKAGE,
                install_command=extras.install_command(judge.PACKAGE),
            )
        )


def _refuse_failing(rows: Sequence[_Row]) -> None:
    """Run the solutions of rows of code: a model cannot pass where they do not."""
    runs = [row for row in rows if row.problem.kind.runs and row.problem.worked]
    with ThreadPoolExecutor(code.AT_ONCE) as pool:
        graded = [*pool.map(lambda row: grade(row.problem, row.problem.worked), runs)]
    for row, one in zip(runs, graded, strict=True):
        if not one.correct:
            raise UsageError(
                msg(
                    "{path}:{place}: the row's own solution has to pass its tests, and it does not ({said}): "
                    "correct "
                    "the row, remove it, or install what it imports for the Python in {python}, which runs it",
                    path=row.file,
                    place=row.place,
                    said=one.extracted,
                    python=sys.base_prefix,
                )
            )


def _refuse_contradictions(again: Iterable[tuple[_Row, _Row]]) -> None:
    """Refuse a question that is repeated with another answer: the right one is unknown."""
    for first, second in again:
        before, now = first.problem.answer, second.problem.answer
        if not first.problem.kind.runs and now != before and not grade(first.problem, now).correct:
            raise UsageError(
                msg(
                    "{path}:{place}: the question of {earlier} again, but its answer is {now}, and {before} "
                    "there: correct one of them, or remove both rows",
                    path=second.file,
                    place=second.place,
                    earlier=f"{first.file.name}:{first.place}",
                    now=repr(now[:80]),
                    before=repr(before[:80]),
                )
            )


def _all_with_tiers(rows: Iterable[_Row]) -> list[_Row]:
    """Give every row a tier if one has it: reports show the figures of a tier beside its name."""
    rows = list(rows)
    if not any(row.problem.tier for row in rows):
        return rows
    return [
        replace(row, problem=replace(row.problem, tier=row.problem.tier or columns.WITHOUT_TIER))
        for row in rows
    ]


def _text(row: Mapping[str, object], name: str) -> str:
    value = row.get(name)
    if isinstance(value, (str, int, float)) and not isinstance(value, bool) and str(value).strip():
        return str(value)
    if value is None or not str(value).strip():
        there = ", ".join(map(str, row)) or msg("nothing")
        empty = (
            msg("{name} is empty", name=repr(name))
            if name in row
            else msg("no {name}", name=repr(name))
        )
        raise UsageError(
            msg(
                "{empty} in this row (it has {there}); --set columns.{name}=NAME names another column",
                empty=empty,
                there=there[:200],
                name=name,
            )
        )
    raise UsageError(
        msg(
            "{name} is {value}, and not one text or number",
            name=repr(name),
            value=repr(str(value)[:80]),
        )
    )
