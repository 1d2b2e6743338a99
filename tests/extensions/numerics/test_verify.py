"""`verify --numerics` knows what deploy.sh asked the server for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.verifications import Verdict, commit


@pytest.mark.slow
def test_the_largest_batch_is_that_of_deploy_sh(
    adapter: Path, weights: Path, verify: Callable[..., Verdict], port: Callable[[], bool]
) -> None:
    settings = adapter / "adapter.toml"
    text = settings.read_text("utf-8")
    assert "# max_num_seqs = 64" in text
    settings.write_text(text.replace("# max_num_seqs = 64", "max_num_seqs = 20"), "utf-8")
    commit(adapter)
    seen = verify(adapter, "--weights", weights, "--until", "endpoint", "--numerics")
    assert (seen.verdict, seen.status) == ("ready", 0), seen.output
    assert max(each["size"] for each in seen.report["metrics"]["numerics"]) == 20
    assert port()
