"""LLaMA-Factory, whose server takes its address and its model's name from environment variables.

Source: src/llamafactory/api/app.py.
"""

from __future__ import annotations

import shlex

from healthcheck.engines.base import EVERYWHERE, Engine, Launch, Options
from healthcheck.text.messages import msg

_PORT, _HOST, _NAME = "API_PORT", "API_HOST", "API_MODEL_NAME"


class _LlamaFactory(Engine):
    """Repairs are values of its environment variables."""

    __slots__ = ()

    def port_repair(self, port: int) -> str:
        return _exported(f"{_PORT}={port}")

    def host_repair(self, port: int) -> str:
        del port
        return _exported(f"{_HOST}={EVERYWHERE}")

    def name_repair(self, option: str, name: str) -> str:
        del option
        return _exported(f"{_NAME}={shlex.quote(name)}")

    def path_as_name_repair(self, option: str) -> str:
        del option
        return _exported(f'{_NAME}="$MODEL_PATH"')


def _exported(assignment: str) -> str:
    return msg(
        "insert above the command that starts the server in deploy.sh: export {assignment}",
        assignment=assignment,
    )


LLAMAFACTORY = _LlamaFactory(
    name="llamafactory",
    package="llamafactory",
    module="llama_factory",
    options=Options(port="", host=""),
)

LAUNCHES = (
    Launch(
        engine=LLAMAFACTORY,
        programs=("llamafactory-cli api", "-m llamafactory"),
        port_options=(),
        host_options=(),
        port_variables=(_PORT,),
        host_variables=(_HOST,),
        model_options=("model-name-or-path",),
        name_is="gpt-3.5-turbo",
        name_options=(),
        name_variables=(_NAME,),
        key_options=(),
        key_variables=("API_KEY",),
    ),
)
