"""Checks that read token counts, over any tokenization: a server that counts honestly is in order, and what is not
heard is found wherever the context has room to show it.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from healthcheck.core.records import Outcome
from healthcheck.extensions.simulator import Behaviour
from healthcheck.stages.endpoint.prompts import RECALL, code_word, code_word_text
from healthcheck.wire.chat import user
from tests.support.daily import every
from tests.support.interviews import judged, objections
from tests.support.tokenizations import Ratio

pytestmark = pytest.mark.process

WEIGHTS = "/weights/模型 a"
COUNTS = frozenset(
    f"endpoint/{name}"
    for name in ("stream-usage", "max-tokens", "multi-turn", "system-role", "long-prompt")
)
FAULTS = {
    "halves-prompt": "long-prompt",
    "cuts-at-4096": "long-prompt",
    "drops-middle": "long-prompt",
    "forgets-system": "system-role",
    "forgets-history": "multi-turn",
}
TELLS, TELLS_NOT = "vllm", "llamacpp"
"""Dialects whose list of models tells the context length, and does not."""
SHORTEST, ROOMY, LONGEST = 512, 16_384, 2**20
MOST_OVERHEAD = 2000
IN_PROPORTION = frozenset({"halves-prompt", "drops-middle"})
WHOLE_TOKENS = 200
"""Shorter prompts stay whole under the faults that cut in proportion."""


@st.composite
def servers(
    draw: st.DrawFn,
    shortest: int = SHORTEST,
    most_overhead: int = MOST_OVERHEAD,
    dearest: float = 1,
) -> Behaviour:
    """A server that counts honestly. A quarter of its context at most goes to its template: it can be talked to."""
    context = draw(st.sampled_from([512, 1024, 2048, 4096, 8192, ROOMY, 32_768, 131_072, LONGEST]))
    context = max(shortest, context + draw(st.integers(0, context // 2)))
    room = min(most_overhead, context // 4)
    each, tail = draw(st.integers(0, min(20, room // 8))), draw(st.integers(0, min(20, room // 8)))
    head = draw(st.integers(0, room - each - tail))
    ratio = Ratio(
        per_character=draw(st.floats(0.1, dearest)),
        per_digit=draw(st.floats(0.1, 3)),
        by_word=draw(st.booleans()),
        head=head,
        each=each,
        tail=tail,
        default_system=draw(st.integers(0, room - each - tail - head)),
    )
    return served(
        ratio, min(context, LONGEST), told=draw(st.booleans()), seed=draw(st.integers(0, 9))
    )


def served(ratio: Ratio, context: int, *, told: bool = True, seed: int = 0) -> Behaviour:
    dialect = TELLS if told else TELLS_NOT
    return Behaviour(
        model=WEIGHTS, tokenizer=ratio, context_tokens=context, dialect=dialect, seed=seed
    )


THRIFTY = Ratio(per_character=0.1, per_digit=0.1)
COSTLY = Ratio(per_character=1, per_digit=3, head=100)
DIGITS = Ratio(per_character=0.2, per_digit=3, by_word=True)
REPLACED = Ratio(per_character=0.25, per_digit=1, default_system=MOST_OVERHEAD - 7)
PREAMBLE = Ratio(per_character=0.25, per_digit=1, head=MOST_OVERHEAD - 7)
ALIKE = Ratio(per_character=0.25, per_digit=1, default_system=88)
"""Its default system prompt costs about what a paragraph costs that replaces it."""
EXTREMES = {
    "thrifty-shortest": served(THRIFTY, SHORTEST),
    "costly-shortest": served(COSTLY, SHORTEST),
    "costly-shortest-untold": served(COSTLY, SHORTEST, told=False),
    "costly-8k": served(COSTLY, 8192),
    "digits-32k": served(DIGITS, 32_768),
    "replaced-16k": served(REPLACED, ROOMY),
    "alike-16k": served(ALIKE, ROOMY),
    "preamble-8k-untold": served(PREAMBLE, 8192, told=False),
    "thrifty-longest": served(THRIFTY, LONGEST),
}
ROOMY_ONES = {
    "thrifty": served(THRIFTY, ROOMY),
    "costly": served(COSTLY, ROOMY),
    "replaced": served(REPLACED, ROOMY),
    "alike-untold": served(ALIKE, ROOMY, told=False),
    "cut-after-the-shortest": served(
        Ratio(per_character=0.43, per_digit=1.4, head=50), ROOMY, told=False
    ),
}
few = settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    phases=(Phase.generate,),  # each example is a whole interview: too slow for shrinking
    suppress_health_check=list(HealthCheck),
)
many = settings(few, max_examples=150, derandomize=False)


def in_order(behaviour: Behaviour) -> None:
    results = judged(behaviour)
    against = {name: seen for name, seen in objections(results).items() if name in COUNTS}
    assert not against
    if behaviour.context_tokens >= ROOMY:
        left_open = {
            name: results[name].because for name in COUNTS if results[name].outcome is Outcome.SKIP
        }
        assert not left_open, "there was room to tell"


def units(behaviour: Behaviour, count: int) -> int:
    """Tokens of the interview's prompt with so many units of filler."""
    return behaviour.tokenizer.prompt_tokens([user(code_word_text(code_word(99), count) + RECALL)])


def counts_show(behaviour: Behaviour, fault: str) -> bool:
    """Whether counts show the fault. Where every prompt is cut in proportion, counts stay in proportion; what is cut
    in proportion has to begin after the two shortest prompts, of one unit and of three.
    """
    return fault not in IN_PROPORTION or units(behaviour, 3) <= WHOLE_TOKENS


def roomy(fault: str) -> st.SearchStrategy[Behaviour]:
    """Servers that have the room to show a fault."""
    some = servers(ROOMY, 40, 0.25) if fault in IN_PROPORTION else servers(ROOMY)
    return some.filter(lambda behaviour: counts_show(behaviour, fault))


def found(behaviour: Behaviour, fault: str) -> None:
    results = judged(replace(behaviour, faults=(fault,)))
    assert results[f"endpoint/{FAULTS[fault]}"].outcome is Outcome.FAIL, objections(results)


@pytest.mark.parametrize("name", EXTREMES)
def test_a_server_that_counts_honestly_is_in_order_at_the_extremes(name: str) -> None:
    in_order(EXTREMES[name])


@few
@given(behaviour=servers())
def test_a_server_that_counts_honestly_is_in_order(behaviour: Behaviour) -> None:
    in_order(behaviour)


@pytest.mark.slow
@many
@given(behaviour=servers())
def test_many_servers_that_count_honestly_are_in_order(behaviour: Behaviour) -> None:
    in_order(behaviour)


SHOWN = [
    (name, fault) for name in ROOMY_ONES for fault in FAULTS if counts_show(ROOMY_ONES[name], fault)
]
FOUND_SO_FAR = {
    ("alike-untold", "halves-prompt"),
    ("alike-untold", "drops-middle"),
    ("cut-after-the-shortest", "halves-prompt"),
}
MISSED = pytest.mark.xfail(
    reason="the shortest prompt is cut as well, so that nothing shows what the model can do"
)
NOT_SHOWN = [
    pytest.param(name, fault, marks=() if (name, fault) in FOUND_SO_FAR else MISSED)
    for name in ROOMY_ONES
    for fault in FAULTS
    if (name, fault) not in SHOWN
]


@pytest.mark.parametrize("pair", every(4, SHOWN), ids="-".join)
def test_what_is_not_heard_is_found_at_the_extremes(pair: tuple[str, str]) -> None:
    name, fault = pair
    found(ROOMY_ONES[name], fault)


@pytest.mark.parametrize(("name", "fault"), NOT_SHOWN)
def test_what_counts_do_not_show_is_found_by_what_the_model_knows(name: str, fault: str) -> None:
    assert "endpoint/long-prompt" in objections(judged(replace(ROOMY_ONES[name], faults=(fault,))))


@pytest.mark.parametrize("fault", FAULTS)
@settings(few, max_examples=2)
@given(data=st.data())
def test_what_is_not_heard_is_found(data: st.DataObject, fault: str) -> None:
    found(data.draw(roomy(fault)), fault)


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
@settings(many, max_examples=30)
@given(data=st.data())
def test_what_is_not_heard_is_found_under_scores_of_tokenizations(
    data: st.DataObject, fault: str
) -> None:
    found(data.draw(roomy(fault)), fault)
