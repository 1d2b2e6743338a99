"""Large tables of quick rows as one test each, which reports every wrong row."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any

import pytest
from _pytest.mark import ParameterSet
from _pytest.outcomes import OutcomeException

Test = Callable[..., None]


def rows(
    names: str | tuple[str, ...],
    cases: Iterable[Any],
    *,
    ids: Callable[[Any], object] | Iterable[str] = repr,
) -> Callable[[Test], Test]:
    """Like `pytest.mark.parametrize`, but in one test: for tables whose rows take a millisecond.

    A separate case costs more to collect, report and schedule than such a row to run. Rows share fixtures.
    """
    places = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    table = [as_row(places, case, ids if callable(ids) else repr) for case in cases]
    if not callable(ids):
        table = [(label, row) for label, (_, row) in zip(ids, table, strict=True)]

    def fold(test: Test) -> Test:
        @wraps(test)
        def every_row(**fixtures: object) -> None:
            wrong = [
                failure
                for label, row in table
                if (failure := failed(test, label, {**fixtures, **row}))
            ]
            if wrong:
                pytest.fail(
                    "\n\n".join([f"{len(wrong)} of {len(table)} rows:", *wrong]), pytrace=False
                )

        assert table, f"{test.__qualname__} has no rows"
        signature = inspect.signature(test)
        kept = [parameter for name, parameter in signature.parameters.items() if name not in places]
        every_row.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        return every_row

    return fold


def as_row(
    places: list[str], case: Any, ids: Callable[[Any], object]
) -> tuple[str, dict[str, Any]]:
    """The label of a case, and its values by name."""
    if isinstance(case, ParameterSet):
        assert not case.marks, "a row is no test of its own"
        values = tuple(case.values)
    else:
        values = tuple(case) if len(places) > 1 else (case,)
    assert len(values) == len(places), case
    return ", ".join(str(ids(value))[:80] for value in values), dict(
        zip(places, values, strict=True)
    )


def failed(test: Test, label: str, arguments: Mapping[str, object]) -> str:
    """The failure of a row, "" if it passed."""
    try:
        test(**arguments)
    except (Exception, OutcomeException) as error:
        if isinstance(error, pytest.skip.Exception):
            raise
        frame = traceback.extract_tb(error.__traceback__)[-1]
        return f"[{label}] {frame.filename}:{frame.lineno}: {type(error).__name__}: {error}"
    return ""
