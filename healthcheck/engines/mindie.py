"""MindIE, whose server takes all its settings from config.json."""

from __future__ import annotations

from healthcheck.engines.base import EVERYWHERE, Engine, Launch, Loading, Options, SettingsFile
from healthcheck.text.messages import msg

_SERVER = "ServerConfig"
_FIRST_MODEL = ("BackendConfig", "ModelDeployConfig", "ModelConfig", 0)


class _MindIE(Engine):
    """Repairs are values in its config.json."""

    __slots__ = ()

    def port_repair(self, port: int) -> str:
        return msg('set "port" to {port} in ServerConfig of MindIE\'s config.json', port=port)

    def host_repair(self, port: int) -> str:
        del port
        return msg(
            'set "ipAddress" to "{everywhere}" and "allowAllZeroIpListening" to true in MindIE\'s config.json',
            everywhere=EVERYWHERE,
        )

    def name_repair(self, option: str, name: str) -> str:
        del option
        return msg('set "modelName" to {name} in MindIE\'s config.json', name=name)

    def path_as_name_repair(self, option: str) -> str:
        del option
        return msg('set "modelName" to the value of MODEL_PATH in MindIE\'s config.json')

    def no_tls_repair(self) -> str:
        return msg('set "httpsEnabled" to false in ServerConfig of MindIE\'s config.json')


MINDIE = _MindIE(
    name="mindie",
    package="",
    settings_file=SettingsFile(
        places={
            "mindieservice_daemon": (
                "/usr/local/Ascend/mindie/latest/mindie-service/conf/config.json",
            ),
        },
        port=(_SERVER, "port"),
        host=(_SERVER, "ipAddress"),
        model=(*_FIRST_MODEL, "modelWeightPath"),
        name=(*_FIRST_MODEL, "modelName"),
        tls=(_SERVER, "httpsEnabled"),
    ),
    options=Options(port="", host=""),
    loading=Loading(by_architecture=False, own_templates=True),
)

LAUNCHES = (
    Launch(
        engine=MINDIE,
        programs=("mindieservice_daemon", "mindie_llm_server", "-m mindie"),
        port=None,
        host=None,
        name_is="?",
        model_options=(),
    ),
)
