"""A simulated endpoint with a known accuracy and chosen faults, labelled as simulated wherever it shows.

It is for tests, for the demonstration without an engine, and for trying things out; it never takes the place of a
measurement of a model.
"""

from healthcheck.simulator.behaviour import DEFAULT_ACCURACY, Behaviour
from healthcheck.simulator.catalogue import FAULTS
from healthcheck.simulator.dialects import DIALECTS
from healthcheck.simulator.manners import Manner
from healthcheck.simulator.server import Simulator
from healthcheck.simulator.tokens import Tokenizer, Words

__all__ = ["DEFAULT_ACCURACY", "DIALECTS", "FAULTS", "Behaviour", "Manner", "Simulator", "Tokenizer", "Words"]
