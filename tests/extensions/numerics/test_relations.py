from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from healthcheck.cli import main
from healthcheck.core.ledger import Ledger
from healthcheck.core.progress import Silent
from healthcheck.core.records import CheckResult, Outcome, Verdict, verdict_of
from healthcheck.errors import Blocked, UsageError
from healthcheck.extensions.numerics import facts, reference
from healthcheck.extensions.numerics.checks import CHECKS
from healthcheck.extensions.numerics.records import (
    NumericsRun,
    NumericsSettings,
    Reference,
    Relation,
)
from healthcheck.extensions.simulator import Behaviour, Simulator
from tests.extensions.numerics.toy import Toy, serving

FEW = NumericsSettings(url="", pairs=4, max_batch=8, longest_tokens=320)


def measure(
    toy: Toy, against: Reference | None = None, settings: NumericsSettings = FEW
) -> NumericsRun:
    with serving(toy) as url:
        return facts.measure(replace(settings, url=url), Silent(), against)


@cache
def measured(**toy: Any) -> NumericsRun:
    """A run of few pairs on a server of its own, made once: several tests judge it."""
    return measure(Toy(**toy))


def judged(run: NumericsRun) -> dict[str, CheckResult]:
    return {
        result.id.partition("/")[2]: result for result in (check.judge(run) for check in CHECKS)
    }


def failed(run: NumericsRun) -> set[str]:
    return {name for name, result in judged(run).items() if result.outcome is Outcome.FAIL}


@pytest.mark.process
@pytest.mark.parametrize(
    "toy",
    [
        pytest.param({}, id="exact"),
        pytest.param({"noise": 0.02}, id="rounding"),
        pytest.param({"processed": True}, id="processed"),
        pytest.param({"most_logprobs": 5}, id="five-logprobs", marks=pytest.mark.slow),
        pytest.param({"token_ids": False}, id="text"),
    ],
)
def test_a_healthy_server_passes_whatever_it_can_be_asked(toy: dict[str, Any]) -> None:
    results = judged(measured(**toy))
    assert {result.outcome for result in results.values()} <= {Outcome.PASS, Outcome.SKIP}
    assert results["repeat"].outcome is results["batch"].outcome is Outcome.PASS
    assert all(result.settled for result in results.values())


@pytest.mark.slow
def test_a_run_of_the_usual_size_needs_no_more_than_300_requests() -> None:
    run = measure(Toy(context=4096), settings=NumericsSettings(url=""))
    assert run.requests <= 300
    assert {pair.relation for pair in run.pairs} == set(Relation)
    assert {pair.size for pair in run.pairs if pair.relation is Relation.BATCH} == {
        *range(2, 9),
        64,
    }
    assert 4096 - 9 in {prompt.length for prompt, _ in run.alone}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        ("uniform", Outcome.FAIL),
        ("deaf", Outcome.FAIL),
        ("made-up", Outcome.SKIP),
        ("flat", Outcome.SKIP),
    ],
)
def test_log_probabilities_that_tell_no_prompts_apart_do_not_pass(
    fault: str, outcome: Outcome
) -> None:
    with serving(Toy(fault=fault)) as url:
        ledger = Ledger(Silent())
        ledger.judge(CHECKS, lambda: facts.measure(replace(FEW, url=url), Silent()))
    assert ledger.result("numerics/contrast").outcome is outcome
    assert Outcome.PASS not in {result.outcome for result in ledger.results}
    assert verdict_of(ledger.results) is not Verdict.READY


@pytest.mark.process
@pytest.mark.parametrize(
    ("fault", "check"),
    [
        ("repeat", "repeat"),
        ("batch", "batch"),
        ("prefix", "prefix-cache"),
        ("decode", "decode"),
        ("edge", "length"),
        ("overflow", "length"),
        ("neighbours", "chunked-prefill"),
    ],
)
def test_a_fault_is_named_by_its_relation(fault: str, check: str) -> None:
    assert check in failed(measured(fault=fault))


@pytest.mark.parametrize(
    ("options", "most"),
    [
        ({}, 64),
        ({"max-num-seqs": "64"}, 64),
        ({"max-num-seqs": "1024"}, 256),
        ({"max-num-seqs": "1"}, 2),
        ({"max-num-seqs": "$SEQS"}, 64),
    ],
)
def test_the_largest_batch_is_that_of_the_server(options: dict[str, str], most: int) -> None:
    assert facts.largest_batch(options) == most


@pytest.mark.process
def test_a_large_batch_compares_each_prompt_once() -> None:
    run = measure(Toy(), settings=replace(FEW, max_batch=50))
    compared = [
        pair.prompt for pair in run.pairs if (pair.relation, pair.size) == (Relation.BATCH, 50)
    ]
    assert len(compared) == len(set(compared))
    assert len(compared) > 8


@pytest.mark.process
def test_a_fault_of_few_lengths_is_named_within_300_requests() -> None:
    run = measure(Toy(fault="edge"), settings=NumericsSettings(url=""))
    assert "length" in failed(run)
    assert run.requests <= 300


@pytest.mark.process
def test_what_is_told_of_drawn_tokens_is_what_greedy_ones_have() -> None:
    result = judged(measured(processed=True, min_p=True))["sampler"]
    assert result.outcome is Outcome.FAIL
    assert "log-probabilities of temperature 0" in result.findings[0].expected


@pytest.mark.process
def test_defaults_of_the_server_are_told_from_what_it_draws_otherwise() -> None:
    assert judged(measured(processed=True, noise=0.02))["sampler"].outcome is Outcome.PASS
    for defaults, seen in (
        ({"top_k": 1}, "the likeliest token, "),
        ({"penalty": 6.0}, "behind by "),
    ):
        result = judged(measured(**defaults))["sampler"]
        assert result.outcome is Outcome.WARN
        assert seen in result.findings[0].seen
        assert "--generation-config vllm" in result.findings[0].fix


@pytest.mark.process
def test_a_wrong_prefix_cache_is_no_fault_of_anything_else() -> None:
    run = measured(fault="prefix")
    assert failed(run) == {"prefix-cache"}
    finding = judged(run)["prefix-cache"].findings[0]
    assert "its whole prefix" in finding.seen
    assert (
        str(finding.evidence["reproduce"]).count("curl -s http://127.0.0.1:") == 3
    )  # alone; cold, then warm


@pytest.mark.process
def test_a_fault_names_its_batch_size() -> None:
    seen = [finding.seen for finding in judged(measured(fault="batch"))["batch"].findings]
    assert any("a batch of 3" in text for text in seen)
    assert not any("a batch of 2" in text for text in seen)


@pytest.mark.process
def test_a_front_that_works_through_lists_hides_no_fault_of_batches() -> None:
    assert "batch" in failed(measured(fault="batch", one_by_one=True))


@pytest.mark.process
def test_drift_is_a_warning_and_noise_of_repetition_is_not_blamed_on_batches() -> None:
    noisy = judged(measure(Toy(noise=0.2)))
    assert noisy["repeat"].outcome is Outcome.WARN
    assert noisy["batch"].outcome is Outcome.PASS


@pytest.mark.process
@pytest.mark.parametrize("toy", [{"most_logprobs": -1}, {"logprobs": False}, {"salted": False}])
def test_a_server_without_log_probabilities_or_a_cache_salt_is_not_judged(
    toy: dict[str, Any],
) -> None:
    with pytest.raises(Blocked, match="no log-probabilities, so that nothing can be compared"):
        measure(Toy(**toy))


@pytest.mark.process
@pytest.mark.parametrize("takes_ids", [True, False])
def test_the_most_exact_form_is_used(takes_ids: bool) -> None:
    assert measured(token_ids=takes_ids).server.takes_ids is takes_ids


@pytest.mark.process
def test_a_server_that_refuses_a_negative_top_k_is_compared_without_the_sampler() -> None:
    run = measured(negative=False)
    results = judged(run)
    assert run.server.takes_ids
    assert results["batch"].outcome is results["repeat"].outcome is Outcome.PASS
    assert results["sampler"].outcome is Outcome.SKIP


def kept(tmp_path: Path) -> Reference:
    reference.keep(tmp_path, measured())
    return reference.load(tmp_path)


@pytest.mark.process
def test_the_same_model_is_its_own_reference(tmp_path: Path) -> None:
    run = measure(Toy(noise=0.02), kept(tmp_path))
    assert judged(run)["reference"].outcome is Outcome.PASS
    assert len(run.steps) > 30


@pytest.mark.slow
@pytest.mark.parametrize(("scale", "outcome"), [(0.8, Outcome.WARN), (-1.0, Outcome.FAIL)])
def test_other_weights_differ_from_the_reference_alone(
    tmp_path: Path, scale: float, outcome: Outcome
) -> None:
    results = judged(measure(Toy(scale=scale), kept(tmp_path)))
    assert results.pop("reference").outcome is outcome
    assert results.pop("own-answers").outcome is Outcome.SKIP  # the toy scores no prompts
    assert {result.outcome for result in results.values()} == {Outcome.PASS}


@pytest.mark.process
def test_a_reference_of_another_tokenizer_is_refused(tmp_path: Path) -> None:
    against = kept(tmp_path)
    with pytest.raises(UsageError, match="tokenizer"):
        measure(Toy(vocabulary="other"), against)


def test_a_folder_that_is_no_reference_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--out"):
        reference.load(tmp_path)
    (tmp_path / reference.FILE).write_text('{"place": 1}')
    with pytest.raises(UsageError, match="cannot read"):
        reference.load(tmp_path)


@pytest.mark.process
def test_the_command_writes_a_report_and_a_reference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    toy = Toy()
    few = ["--longest", "320", "--max-batch", "8", "--pairs", "4"]
    with serving(toy) as url:
        assert main(["numerics", url, "--out", str(tmp_path / "good"), *few]) == 0
        assert "Verdict: ready" in capsys.readouterr().out
        toy.fault = "prefix"
        again = [
            "numerics",
            f"{url}/v1",
            "--reference",
            str(tmp_path / "good"),
            "--out",
            str(tmp_path / "bad"),
        ]
        assert main([*again, *few]) == 1
        assert "--no-enable-prefix-caching" in capsys.readouterr().out
        toy.most_logprobs = -1
        assert main(["numerics", url, "--out", str(tmp_path / "none"), "--quiet", *few]) == 3
    assert (tmp_path / "bad" / "report.html").exists()
    assert "curl -s" in (tmp_path / "bad" / "reproduce" / "warm-prefix.sh").read_text()
    assert (tmp_path / "good" / "numerics.json").exists()


@pytest.mark.slow
def test_the_seed_chooses_the_prompts() -> None:
    runs = [measure(Toy(), settings=replace(FEW, seed=seed)) for seed in (0, 0, 1)]
    first, again, other = ([prompt.ids for prompt, _ in run.alone] for run in runs)
    assert first == again != other


@pytest.mark.process
def test_verify_compares_on_request_between_the_endpoint_and_the_probe(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Simulator(Behaviour()) as server:
        words = [
            "verify",
            "--url",
            server.url,
            "--numerics",
            "--until",
            "endpoint",
            "--out",
            str(tmp_path / "run"),
        ]
        assert main(words) == 0
        said = capsys.readouterr().out
        assert said.index("endpoint ") < said.index("numerics ") < said.index("Verdict: SIMULATED")
        assert main(["numerics", server.url, "--out", str(tmp_path / "alone")]) == 0
    assert "Verdict: SIMULATED" in capsys.readouterr().out
    assert main(["verify", "--url", server.url, "--numerics", "--until", "plan"]) == 2
    assert 'class="heat"' in (tmp_path / "run" / "report.html").read_text()
    assert 'class="heat"' in (tmp_path / "alone" / "report.html").read_text()
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    assert report["metrics"]["numerics"][0]["relation"] == "the same request again"
