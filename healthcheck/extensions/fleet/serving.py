"""One server of an adapter on this machine, for the lifetime of its caller.

`served` runs in the caller, such as a worker of Ray. It runs this module as a separate process, on a leash; that
process launches deploy.sh as the service stage does, and records its state.
"""

from __future__ import annotations

import enum
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from healthcheck.core.ledger import Ledger
from healthcheck.core.progress import Silent
from healthcheck.core.records import Level, Outcome
from healthcheck.errors import KitError
from healthcheck.extensions.fleet.launch import TICK_S, Held, Network
from healthcheck.extensions.fleet.readback import last_words
from healthcheck.stages.repo import pack
from healthcheck.stages.repo.facts import export, read_submission
from healthcheck.stages.service.checks import END_CHECKS, PORT_CHECKS, START_CHECKS
from healthcheck.stages.service.facts import Service, gather_port
from healthcheck.stages.service.watch import Patience
from healthcheck.system import files, json_text, programs
from healthcheck.text.messages import msg

LOG = "deploy.log"
LOOK_S = 1.0
MAX_BYTES = 2**20
_OUTPUT, _ADAPTER, _STATE = "serving.log", "adapter.json", "state.json"
_START = (
    "from healthcheck.__main__ import forget_the_callers_folder; forget_the_callers_folder(); "
    "from healthcheck.extensions.fleet.serving import main; main()"
)
_TROUBLE = {Outcome.FAIL, Outcome.ERROR}


class Phase(enum.Enum):
    """The phase of a server."""

    LAUNCHING = "launching"
    READY = "ready"
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The state of a server. `said`: what a launch waits for, why a server may be out of reach, or why it ended."""

    phase: Phase = Phase.LAUNCHING
    said: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """The settings of a launch.

    Attributes:
        weights: a path on the machine of the server.
        environment: variables for deploy.sh; they may hold secrets.
        deadline_s: for the launch.
    """

    weights: str
    environment: Mapping[str, str] = field(repr=False)
    deadline_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The number of servers (None: one on every fitting node), and the number and kind of NPUs for each."""

    count: int | None
    npus: int
    npu: str


def served(packed: pack.Packed, adapter: Adapter, place: Path) -> Iterator[State]:
    """Run a server; yields its state every TICK_S, and finally why it ended.

    An early end of the iteration (close, an exception, the death of this process) ends the server, and waits for
    its end if possible. `place` is an empty folder of this user alone; LOG is written there.

    Raises:
        UsageError: the repository cannot be unpacked here.
    """
    repository = pack.unpack(packed, place)
    (place / _ADAPTER).write_bytes(json_text.dump(adapter))
    command = (programs.python(), "-c", _START, str(place), str(repository))
    child = Held(command, place / _OUTPUT, Network.NODE)
    try:
        while not child.ended(TICK_S):
            yield _state(place)
    finally:
        child.end()
        child.wait()
    state = _state(place)
    why = state.said if state.phase is Phase.ENDED else last_words(place / _OUTPUT)
    yield State(phase=Phase.ENDED, said=why or msg("the process that watches it is gone"))


def main() -> None:
    """Launch the repository with the settings in the folder, and serve until SIGINT or the end of the server."""
    place, repository = map(Path, sys.argv[1:])
    adapter = json_text.load_as(files.read_bounded(place / _ADAPTER, MAX_BYTES), Adapter)
    notice = _Notice(place / _STATE)
    try:
        why = _serve(repository, adapter, place / LOG, notice)
    except KeyboardInterrupt:
        why = msg("it was ended")
    except KitError as error:
        why = str(error)
    notice.put(State(phase=Phase.ENDED, said=why))


def _serve(repository: Path, adapter: Adapter, log: Path, notice: _Notice) -> str:
    """Launch, and stay until the server ends; returns why it ended, or why there is none."""
    weights = Path(adapter.weights)
    if not weights.is_dir():
        return msg("there is no folder {weights} on this machine: --weights is a path on the nodes", weights)
    ledger = Ledger(Silent())
    ledger.judge(PORT_CHECKS, gather_port)
    if _trouble(ledger):
        return _trouble(ledger)
    with export(read_submission(repository)) as copy:
        service = Service(
            copy,
            weights,
            log=log,
            progress=notice,
            patience=Patience(deadline_s=adapter.deadline_s),
            environment=adapter.environment,
        )
        with service:
            ledger.judge(START_CHECKS, lambda: service.launch)
            if _trouble(ledger):
                return _trouble(ledger)
            listeners = service.launch.listeners
            local = bool(listeners) and all(listener.loopback for listener in listeners)
            notice.put(State(phase=Phase.READY, said=msg("it listens on 127.0.0.1 only") if local else ""))
            while (now := service.alive()).running and not now.gone:
                time.sleep(LOOK_S)
        ledger.judge(END_CHECKS, service.ended)
    return _trouble(ledger) or msg("it ended")


def _trouble(ledger: Ledger) -> str:
    """The first check that blocks the launch, with its finding; "" if there is none."""
    for result in ledger.results:
        if result.outcome in _TROUBLE or not result.settled:
            grave = (found.seen for found in result.findings if found.level in {Level.FAIL, Level.UNSETTLED})
            return msg("{id}: {grave}", result.id, next(grave, result.because))
    return ""


class _Notice(Silent):
    """Records the state; as a progress, it receives what the launch waits for."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._next = 0.0

    def put(self, state: State) -> None:
        files.write_atomically(self._path, json_text.dump(state))

    def update(self, text: str, *, done: int = 0, total: int = 0) -> None:
        del done, total
        if time.monotonic() >= self._next:
            self.put(State(said=text))
            self._next = time.monotonic() + LOOK_S


def _state(place: Path) -> State:
    path = place / _STATE
    return json_text.load_as(files.read_bounded(path, MAX_BYTES), State) if path.exists() else State()
