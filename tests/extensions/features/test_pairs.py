"""Each fault of a server trips its check, and a server without faults trips none."""

from __future__ import annotations

import pytest

from healthcheck.core.ledger import Ledger
from healthcheck.core.progress import Silent
from healthcheck.core.records import CheckResult, Outcome
from healthcheck.extensions.features import facts, long_texts
from healthcheck.extensions.features.checks import CHECKS
from healthcheck.wire.client import Limits
from tests.extensions.features.fake_server import FAULTS, Fake, serving

pytestmark = pytest.mark.process

CALLS, CHOICE, RATE = "features/tool-calls", "features/tool-choice", "features/tool-rate"
FORMATS, PARAMETERS = "features/structured-output", "features/parameters"
REASONING, LONG = "features/reasoning", "features/long-context"
FAIL, WARN, SKIP = Outcome.FAIL, Outcome.WARN, Outcome.SKIP
TRIPS: dict[str, tuple[dict[str, Outcome], str]] = {
    "arguments-not-json": ({CALLS: FAIL, RATE: FAIL}, "arguments of get_weather: not JSON"),
    "arguments-as-object": ({CALLS: FAIL, RATE: FAIL}, "arguments of get_weather: not JSON"),
    "wrong-type": ({CALLS: FAIL, RATE: FAIL}, "'2' at $.days is not one of"),
    "missing-argument": ({CALLS: FAIL, RATE: FAIL}, "at $, \"['days']\" are missing"),
    "unknown-tool": (
        {CALLS: FAIL, CHOICE: FAIL, RATE: FAIL},
        "'get_whether' is not among the tools",
    ),
    "no-ids": ({CALLS: FAIL, RATE: FAIL}, "ids missing or repeated: \"['']\""),
    "same-id": ({CALLS: FAIL, CHOICE: FAIL, RATE: FAIL}, "ids missing or repeated"),
    "finish-stop": ({CALLS: FAIL, RATE: FAIL}, "finish_reason 'stop' with 1 tool calls"),
    "markup": (
        {CALLS: FAIL, CHOICE: FAIL, RATE: FAIL},
        "markup of a call left in content: '<tool_call>",
    ),
    "moonshot-markup": (
        {CALLS: FAIL, RATE: FAIL},
        "left in content: '<|tool_calls_section_begin|>",
    ),
    "stream-differs": (
        {CALLS: FAIL},
        "'days': 3})]\" in place of \"[('get_weather', {'city': 'Paris', 'days': 2})]",
    ),
    "stream-repeats-name": ({CALLS: FAIL}, "get_weatherget_weather"),
    "stream-one-index": ({CALLS: FAIL}, "get_weatherget_time"),
    "stream-finish-stop": ({CALLS: FAIL}, "finish_reason 'stop' with 1 tool calls"),
    "stream-breaks": ({CALLS: FAIL, CHOICE: FAIL, FORMATS: FAIL, REASONING: FAIL}, "parser died"),
    "required-ignored": ({CHOICE: FAIL}, "calls '[]', content 'Hello,"),
    "none-ignored": ({CHOICE: FAIL}, "calls \"['get_weather']\", content ''"),
    "named-ignored": ({CHOICE: FAIL}, "calls \"['get_weather']\""),
    "no-calls": ({CALLS: SKIP, RATE: SKIP}, "no call but 'Hello,"),
    "half-wrong": (
        {RATE: FAIL},
        "the first that does not: arguments of get_weather: '2' at $.days",
    ),
    "errors": ({RATE: FAIL}, "20 of 20 without one, the first:"),
    "triggers-inverted": ({RATE: WARN}, "0 of 20 (95 %: 0.0 to 16.8 %)"),
    "schema-ignored": ({FORMATS: FAIL}, "'red' at $.colour is not one of"),
    "stream-schema-ignored": ({FORMATS: FAIL}, "(json_schema, streamed)"),
    "object-ignored": ({FORMATS: FAIL}, "'[1, 2]' at $ is not of type"),
    "choice-ignored": ({FORMATS: FAIL}, "not umber-17|teal-42: 'Hello,"),
    "regex-ignored": ({FORMATS: FAIL}, "not Z[0-4]{3}-(red|blue): 'Hello,"),
    "guided-swallowed": ({FORMATS: WARN}, "(guided_json)"),
    "endless": ({FORMATS: SKIP}, "cut off after 8 tokens: '{"),
    "max-tokens-ignored": (
        {PARAMETERS: FAIL},
        "where they are 5 64 tokens, 1 choices, finish_reason stop",
    ),
    "stop-ignored": ({PARAMETERS: FAIL}, "Hello, I hope that you"),
    "n-ignored": ({PARAMETERS: FAIL}, "1 choices"),
    "seed-ignored": ({PARAMETERS: WARN}, "the same text twice with seed 7"),
    "temperature-ignored": ({PARAMETERS: WARN}, "the same text twice with temperature 0"),
    "cut-says-stop": ({PARAMETERS: FAIL}, "5 tokens, 1 choices, finish_reason stop"),
    "thoughts-differ": ({PARAMETERS: WARN}, "the same text twice with temperature 0"),
    "top-p-ignored": ({PARAMETERS: WARN}, "the same text twice with top_p 0.0001"),
    "content-lost": (
        {PARAMETERS: FAIL, FORMATS: FAIL, REASONING: FAIL, LONG: SKIP},
        "reasoning 'Hello, I hope",
    ),
    "no-tools": ({CALLS: SKIP, CHOICE: SKIP, RATE: SKIP}, "not offered: "),
    "no-formats": ({FORMATS: SKIP}, "not offered: json_schema: HTTP 422"),
    "not-json": ({CALLS: FAIL, CHOICE: FAIL, RATE: FAIL}, "HTTP 200, not JSON"),
    "unsteady": ({CALLS: SKIP}, "in place of"),
    "marks-in-content": ({REASONING: FAIL}, "content '</think>Hello,"),
    "answer-among-thoughts": (
        {REASONING: FAIL},
        "42. Hello, I hope that you are well today.', content ''",
    ),
    "stream-without-thoughts": ({REASONING: FAIL}, "reasoning '', content 'Hello,"),
    "thinks-always": ({REASONING: WARN}, "no thoughts reasoning '17 and"),
    "thinks-for-ever": ({REASONING: SKIP}, "cut off after 8 tokens: ''"),
    "no-thoughts": ({REASONING: SKIP}, "no thoughts in 4 answers"),
    "no-length": ({LONG: SKIP}, "the server does not say its length"),
    "uncounted": ({LONG: SKIP}, "counts no prompt tokens"),
    "middle-lost": ({LONG: FAIL}, "9627 from a text of 5"),
    "too-long-taken": ({LONG: FAIL}, "HTTP 4xx for more than 6000 tokens HTTP 200, 6"),
    "too-long-breaks": ({LONG: SKIP}, "HTTP 500, 0 prompt tokens, "),
    "promises-too-much": ({LONG: FAIL}, "5186 from a text of 5"),
    "overlooks": ({LONG: SKIP}, "does not repeat a number from a short text: 'Hello,"),
}
NOT_SETTLED = {"no-calls", "endless", "unsteady", "thinks-for-ever", "too-long-breaks"}


def judged(fake: Fake, trials: int = 20) -> dict[str, CheckResult]:
    ledger = Ledger(Silent())
    with serving(fake) as url:
        ledger.judge(
            CHECKS, lambda: facts.gather(url, "", facts.read_trials(facts.TRIALS, trials), Silent())
        )
    return {result.id: result for result in ledger.results}


def said(results: dict[str, CheckResult], *ids: str) -> str:
    return "\n".join(
        f"{results[name].because} {finding.expected} {finding.seen} {finding.fix} ({finding.where})"
        for name in ids
        for finding in results[name].findings or [_nothing(results[name])]
    )


def _nothing(result: CheckResult) -> object:
    from healthcheck.core.check import note

    return note(result.because)


def test_a_healthy_server_trips_nothing() -> None:
    results = judged(Fake())
    assert {name: result.outcome for name, result in results.items()} == dict.fromkeys(
        results, Outcome.PASS
    )
    assert len(results) == len(CHECKS)
    assert "15 of 15 (95 %: 78.2 to 100.0 %)" in said(results, RATE)


def test_a_terse_model_may_end_before_max_tokens() -> None:
    assert judged(Fake("terse"), trials=1)[PARAMETERS].outcome is Outcome.PASS


def test_every_fault_is_tried() -> None:
    assert TRIPS.keys() == set(FAULTS)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_trips_its_check(fault: str) -> None:
    expected, words = TRIPS[fault]
    results = judged(Fake(fault))
    tripped = {
        name: result.outcome
        for name, result in results.items()
        if result.outcome is not Outcome.PASS
    }
    assert tripped == expected, said(results, *tripped)
    assert words in said(results, *expected)
    unsettled = {name for name, result in results.items() if not result.settled}
    assert unsettled == (expected.keys() if fault in NOT_SETTLED else set())
    findings = [each for name in expected for each in results[name].findings if each.expected]
    assert all(each.fix and each.seen for each in findings)


def test_what_overlooks_a_number_and_takes_too_much_fails() -> None:
    assert judged(Fake("overlooks", "too-long-taken"), trials=1)[LONG].outcome is Outcome.FAIL


def test_an_endpoint_without_an_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "ASIDE", Limits(total_s=0.2))
    with serving(Fake(hangs="/tokenize")) as url:
        found = facts.gather(url, "", [], Silent())
    assert (found.endpoints["/health"], found.endpoints["/tokenize"]) == (200, 0)


def test_a_slow_server_gets_shorter_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_texts, "PATIENCE_S", 0.001)
    result = judged(Fake(), trials=1)[LONG]
    tried = int(str(result.findings[0].seen).split()[2])
    assert (result.outcome, tried < 5000) == (Outcome.PASS, True)


def test_what_only_vllm_knows_warns_elsewhere() -> None:
    results = judged(Fake("choice-ignored", "regex-ignored", vllm=False), trials=1)
    assert results[FORMATS].outcome is Outcome.WARN


def test_a_small_share_of_wrong_calls_warns() -> None:
    results = judged(Fake("half-wrong"), trials=2)
    assert results[RATE].outcome is Outcome.WARN
