"""A growing log, condensed: real lines of vLLM, cut anywhere."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from healthcheck.stages.service.timeline import Timeline

START = """\
(APIServer pid=1) INFO 11-21 08:49:08 [api_utils.py:286] non-default args: {'model': '/w'}
(Worker pid=3) INFO 11-21 08:49:21 [cpu_model_runner.py:68] Starting to load model /w...
Loading safetensors checkpoint shards:   0% Completed | 0/5 [00:00<?, ?it/s]\rLoading safetensors checkpoint shards:  40% Completed | 2/5 [00:00<?, ?it/s]
(Worker pid=3) INFO 11-21 08:49:21 [default_loader.py:501] Loading weights took 0.02 seconds
(EngineCore pid=2) INFO 11-21 08:49:22 [kv_cache_utils.py:2327] GPU KV cache size: 1,048,576 tokens
Capturing CUDA graphs (mixed prefill-decode, PIECEWISE):  31%|███▏      | 11/35 [00:01<00:02, 8.9it/s]
(Worker pid=3) INFO 11-21 08:49:29 [gpu_model_runner.py:5000] Graph capturing finished in 7 secs
(APIServer pid=1) INFO 11-21 08:49:30 [api_server.py:57] Starting vLLM API server 0 on http://0.0.0.0:8000
INFO:     Application startup complete.
"""
PHASES = [
    "starting the engine", "loading weights", "compiling and measuring memory", "capturing graphs",
    "starting the server", "answering the first request",
]  # fmt: skip


def test_the_phases_of_a_start_are_told_as_they_come(tmp_path):
    log = tmp_path / "log"
    timeline = Timeline(log)
    timeline.look(0)
    assert timeline.describe() == "no output yet"
    lines = [line + "\n" for line in START.split("\n")]
    log.write_text("".join(lines[:3]))
    timeline.look(5)
    assert timeline.describe() == "loading weights 40 %"
    assert timeline.usually_next() == "compiling and measuring memory"
    log.write_text("".join(lines[:6]))
    timeline.look(9)
    assert timeline.describe().startswith("capturing graphs 31 %")
    log.write_text(START)
    timeline.look(12)
    assert [phase.name for phase in timeline.phases] == PHASES
    assert [phase.at_s for phase in timeline.phases] == [5, 5, 9, 9, 12, 12]
    assert timeline.usually_next() == ""
    assert timeline.announced == {8000}
    assert timeline.tail()[-1] == "INFO:     Application startup complete."


@given(st.lists(st.integers(0, len(START.encode())), max_size=6))
def test_it_does_not_matter_where_a_look_falls(tmp_path_factory, cuts):
    log = tmp_path_factory.mktemp("timeline") / "log"
    timeline, data = Timeline(log), START.encode()
    for cut in [*sorted(cuts), len(data)]:
        log.write_bytes(data[:cut])
        timeline.look(1)
    assert [phase.name for phase in timeline.phases] == PHASES


def test_a_flood_is_passed_over_and_its_end_is_kept(tmp_path):
    log = tmp_path / "log"
    timeline = Timeline(log)
    log.write_bytes(b"x" * 5_000_000 + b"\nthe end\n" + b"half a line")
    timeline.look(1)
    assert timeline.tail()[-2:] == ("the end", "half a line")
    assert max(map(len, timeline.tail())) < 1000
