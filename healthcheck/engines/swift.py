"""ms-swift."""

from __future__ import annotations

from healthcheck.engines.base import Engine, Grammar, Launch

SWIFT = Engine(name="swift", package="ms-swift")

LAUNCHES = (
    Launch(
        engine=SWIFT,
        programs=("swift deploy", "-m swift.cli.deploy"),
        name_is="basename",
        grammar=Grammar(
            valued=frozenset({"model", "port", "host", "served-model-name", "infer-backend"})
        ),
    ),
)
