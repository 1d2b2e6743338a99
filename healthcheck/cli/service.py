"""`npu-adapter service`: the profile in force, each value with where it is from."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from healthcheck import contract
from healthcheck.cli import output
from healthcheck.contract import FIGURES, PUBLIC, UNDOCUMENTED, Fact, Rule, Status
from healthcheck.errors import UsageError
from healthcheck.stages.repo.settings import read_settings
from healthcheck.text.language import translation_of_the_process
from healthcheck.text.messages import msg
from healthcheck.text.tables import padded
from healthcheck.verify import service
from healthcheck.verify.service import key


def run(options: argparse.Namespace) -> int:
    """Print the profile."""
    output.refuse_unwritable(options.json)
    shown = contract.service()
    if options.repo and not options.repo.is_dir():
        raise UsageError(msg("there is no folder {repo}: name the repository", repo=options.repo))
    if options.repo and shown is PUBLIC:
        shown = service.of_repository(options.repo, read_settings(options.repo))
    with contract.judging_for(shown):
        output.show(_lines(), options.json, _record)
    return 0


def _lines() -> Iterator[str]:
    say, now = translation_of_the_process().say, contract.service()
    yield (
        msg("the service of {file}", file=now.file)
        if now.file
        else msg("the service of the public page")
    )
    if now.name:
        yield f"“{now.name}”"
    facts = [contract.fact(name) for name in (*FIGURES, *UNDOCUMENTED)]
    rows = {key(fact.name): (_shown(fact.value), _source(fact)) for fact in facts}
    width = max(len(value) for value, _ in rows.values())
    for name, (value, source) in rows.items():
        yield f"  {padded(name, 18)}{padded(say(value), width)}  {say(source)}".rstrip()
    yield ""
    yield from (rule.quote() for rule in _rules())


def _shown(value: object) -> str:
    if value is None:
        return msg("unknown")
    return ", ".join(value) if isinstance(value, tuple) else service.value(value).strip('"')


def _source(fact: Fact) -> str:
    """Where a value is from; for an unknown one, what was observed elsewhere; "" for nothing."""
    if fact.status is Status.OBSERVED:
        return msg(
            "seen in {source} ({read_on}): {observed}",
            source=fact.source,
            read_on=fact.read_on,
            observed=fact.observed,
        )
    return fact.source


def _rules() -> Iterator[Rule]:
    """The rules in force, in the order of the contract."""
    for rule in vars(contract).values():
        if isinstance(rule, Rule) and (rule.is_own or rule.status is not Status.UNKNOWN):
            yield rule


def _record() -> dict[str, object]:
    now = contract.service()
    return {
        "schema": 1,
        "name": now.name,
        "file": now.file,
        "sha256": now.sha256,
        "values": {key(name): _value(contract.fact(name)) for name in (*FIGURES, *UNDOCUMENTED)},
        "rules": [
            {"sentence": rule.sentence, "source": rule.source, "quote": rule.quote()}
            for rule in _rules()
        ],
        "unknown": contract.UNKNOWN,
    }


def _value(fact: Fact) -> dict[str, object]:
    return {
        "value": fact.value,
        "source": fact.source,
        "status": fact.status.name.lower(),
        "read_on": fact.read_on,
        "observed": fact.observed,
    }
