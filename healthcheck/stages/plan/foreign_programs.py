"""Programs that the service's image lacks, by the kind of machine or session that has them."""

from __future__ import annotations

from dataclasses import dataclass

from healthcheck.text.messages import msg


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a script expects around it when it uses one of these programs.

    Attributes:
        words: the surroundings, in words.
        wraps_the_server: launch scripts put the server's command inside one of these programs.
    """

    words: str
    programs: tuple[str, ...]
    wraps_the_server: bool = False


_ALL = (
    Surroundings(
        words=msg("a container engine"),
        programs=("docker", "podman", "nerdctl", "docker-compose"),
        wraps_the_server=True,
    ),
    Surroundings(
        words=msg("a cluster"), programs=("kubectl", "srun", "sbatch"), wraps_the_server=True
    ),
    Surroundings(words="sudo", programs=("sudo",)),
    Surroundings(words=msg("another user"), programs=("su",)),
    Surroundings(words="conda", programs=("conda", "mamba", "micromamba")),
    Surroundings(words="bash", programs=("source",)),
    Surroundings(words=msg("a system manager"), programs=("systemctl", "service")),
    Surroundings(words=msg("a terminal"), programs=("screen", "tmux"), wraps_the_server=True),
    Surroundings(words=msg("an NVIDIA GPU"), programs=("nvidia-smi",)),
    Surroundings(words=msg("another machine"), programs=("ssh", "rsync")),
    Surroundings(words="MPI", programs=("mpirun",)),
    Surroundings(words=msg("an activated environment"), programs=("activate",)),
)
_OF_PROGRAM = {program: each for each in _ALL for program in each.programs}

BASH_ONLY = frozenset({"source", "[["})
"""Words of bash that another shell takes for programs."""
CHANGES_USER = frozenset({"sudo", "su"})


def surroundings(program: str) -> Surroundings | None:
    """The surroundings that a program, named or by its path, belongs to; None if the image may have it."""
    return _OF_PROGRAM.get(program.rpartition("/")[2])


def is_foreign(program: str) -> bool:
    """Whether the service's image lacks the program."""
    return surroundings(program) is not None
