"""Machines that were tried with each other, and what that says of each. Plain data.

A machine that fails with all of its partners is at fault, if some pair works. A single failing pair is a bad link.
"""

from __future__ import annotations

import enum
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from healthcheck.errors import ExitStatus
from healthcheck.fleet.tones import Tone
from healthcheck.messages import msg

HCCL, GLOO = "hccl", "gloo"
TRANSPORTS = (HCCL, GLOO)
SLOW = 0.5
"""Of the median of all pairs of a transport; no document says how fast one must be."""
MOST_NAMED = 8


class Outcome(enum.Enum):
    """What a trial of two machines came to; OPEN if it could not be made."""

    WORKS = "works"
    FAILS = "fails"
    OPEN = "open"


WORDS = {Outcome.WORKS: msg("it works"), Outcome.FAILS: msg("it fails"), Outcome.OPEN: msg("not tried")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two machines that were tried with each other.

    Attributes:
        bytes_per_s: how fast 64 MiB were all-reduced, the median; None if they were not.
        said: why it does not work, "" if it does.
    """

    left: str
    right: str
    over: str
    outcome: Outcome
    bytes_per_s: float | None = None
    said: str = ""

    def has(self, name: str) -> bool:
        """Whether this machine is one of the two."""
        return name in (self.left, self.right)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """What the pairs say: of a machine, of a link, or of the network."""

    tone: Tone
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """The pairs, and the machines that could not be tried, with the reason.

    Attributes:
        unready: those of `skipped` that should have been tried: they have NPUs.
    """

    pairs: tuple[Pair, ...] = ()
    skipped: Mapping[str, str] = field(default_factory=dict)
    unready: frozenset[str] = frozenset()

    @property
    def at_fault(self) -> Mapping[str, str]:
        """The machines that fail with all of two or more partners, while other pairs work; why, by name."""
        found = {}
        for name in dict.fromkeys(name for pair in self.pairs for name in (pair.left, pair.right)):
            own = [pair for pair in self.pairs if pair.has(name) and pair.outcome is not Outcome.OPEN]
            works = any(pair.outcome is Outcome.WORKS for pair in self.pairs if own and pair.over == own[0].over)
            if len(own) > 1 and works and all(pair.outcome is Outcome.FAILS for pair in own):
                partners = [pair.right if pair.left == name else pair.left for pair in own]
                found[name] = msg(
                    "{over} fails with each of {named}: {said}", own[0].over, _named(partners), own[0].said
                )
        return found

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """Machines at fault first, then networks, links, slow pairs, and what could not be tried."""
        fails = [
            Remark(tone=Tone.FAIL, said=msg("{name}: {why}", name, why)) for name, why in self.at_fault.items()
        ]
        return (*fails, *self._of_networks(), *self._of_links(), *self._of_speed(), *self._open())

    @property
    def exit_status(self) -> ExitStatus:
        """NOT_READY if a pair fails, INCONCLUSIVE if one that has NPUs could not be tried."""
        outcomes = {pair.outcome for pair in self.pairs}
        if Outcome.FAILS in outcomes:
            return ExitStatus.NOT_READY
        return ExitStatus.INCONCLUSIVE if Outcome.OPEN in outcomes or self.unready else ExitStatus.READY

    def _of_networks(self) -> Iterator[Remark]:
        for over in self._without_a_working_pair():
            failing = [pair for pair in self.pairs if pair.over == over and pair.outcome is Outcome.FAILS]
            names = list(dict.fromkeys(name for pair in failing for name in (pair.left, pair.right)))
            advice = msg("look at the network between them, HCCL_IF_IP and HCCL_SOCKET_IFNAME")
            said = msg(
                "{over} works between no two of {named}: {said}; {advice}",
                over,
                _named(names),
                failing[0].said,
                advice,
            )
            yield Remark(tone=Tone.FAIL, said=said)

    def _of_links(self) -> Iterator[Remark]:
        apart, at_fault = self._without_a_working_pair(), self.at_fault
        for pair in self.pairs:
            explained = pair.over in apart or any(map(pair.has, at_fault))
            if pair.outcome is Outcome.FAILS and not explained:
                said = msg(
                    "{left} and {right}: {said}; look at the link between these two",
                    pair.left,
                    pair.right,
                    pair.said,
                )
                yield Remark(tone=Tone.FAIL, said=said)

    def _of_speed(self) -> Iterator[Remark]:
        for over in TRANSPORTS:
            rates = {pair: pair.bytes_per_s for pair in self.pairs if pair.over == over and pair.bytes_per_s}
            middle = statistics.median(rates.values()) if len(rates) > 2 else 0.0
            for pair, rate in rates.items():
                if rate < SLOW * middle:
                    said = msg(
                        "{left} and {right}: {speed}, below half of the median, {speed2}",
                        pair.left,
                        pair.right,
                        speed(rate),
                        speed(middle),
                    )
                    yield Remark(tone=Tone.WARN, said=said)

    def _open(self) -> Iterator[Remark]:
        for pair in self.pairs:
            if pair.outcome is Outcome.OPEN:
                yield Remark(
                    tone=Tone.OPEN,
                    said=msg("{left} and {right} were not tried: {said}", pair.left, pair.right, pair.said),
                )
        for name, why in self.skipped.items():
            tone = Tone.OPEN if name in self.unready else Tone.SKIP
            yield Remark(tone=tone, said=msg("{name} was not tried with others: {why}", name, why))

    def _without_a_working_pair(self) -> tuple[str, ...]:
        seen = {over: {pair.outcome for pair in self.pairs if pair.over == over} for over in TRANSPORTS}
        return tuple(over for over, found in seen.items() if Outcome.FAILS in found and Outcome.WORKS not in found)


def speed(bytes_per_s: float) -> str:
    """In GB/s, which are 10⁹ bytes."""
    return f"{bytes_per_s / 1e9:.3g} GB/s"


def _named(names: Sequence[str]) -> str:
    more = msg(" and {names} more", len(names) - MOST_NAMED) if len(names) > MOST_NAMED else ""
    return f"{', '.join(names[:MOST_NAMED])}{more}"
