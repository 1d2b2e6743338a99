"""Determines where LiteLLM's proxy passes the service's chats, from its recorded YAML file.

Observed with LiteLLM 1.108.7: `os.environ/NAME` stands for a variable in every value; a request for another name
than those of model_list is refused with status 400; the provider (`openai/`, `hosted_vllm/`) is cut from the
model's name; `/chat/completions` is appended to api_base as it is; and it does not start without a master key.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlsplit

from healthcheck import contract
from healthcheck.core.records import JsonValue
from healthcheck.errors import KitError
from healthcheck.stages.plan.records import Front, Target
from healthcheck.system import yaml_text
from healthcheck.text.messages import msg

KEY_SETTING, KEY_VARIABLE = "master_key", "LITELLM_MASTER_KEY"
WITHOUT_KEY = "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY"
_FOLLOWED = {"openai", "hosted_vllm", "text-completion-openai", "custom_openai"}
"""Providers that send OpenAI's requests to api_base."""
_PERMISSION = "dangerously_permit_weak_or_unset_master_key"
"""The setting in general_settings with the same meaning."""
_VARIABLE = re.compile(r"os\.environ/(\w+)")
_CHAT = "/chat/completions"


def read(
    options: Mapping[str, str], texts: Mapping[str, str], environment: Mapping[str, str]
) -> Front:
    """Read the route of a recorded LiteLLM from its options and its configuration file."""
    name = options.get("config", "")
    if not name:
        given: dict[str, JsonValue] = {
            "model": options.get("model"),
            "api_base": options.get("api-base"),
        }
        return Front(kind="litellm", targets=(_target("", given, ""),))
    if name not in texts:
        return Front(
            kind="litellm", unknown=msg("its configuration {name} was not recorded", name=name)
        )
    try:
        data = _expanded(yaml_text.load(texts[name]), environment)
    except KitError as error:
        return Front(
            kind="litellm", unknown=msg("{name} cannot be read: {error}", name=name, error=error)
        )
    return _of_file(name, texts[name], data)


def key(
    options: Mapping[str, str], texts: Mapping[str, str], environment: Mapping[str, str]
) -> str:
    """What sets LiteLLM's master key, which every request then needs ("master_key" in the file); "" for no key."""
    if _general(options, texts, environment).get(KEY_SETTING):
        return KEY_SETTING
    return KEY_VARIABLE if environment.get(KEY_VARIABLE) else ""


def doubt(
    options: Mapping[str, str], texts: Mapping[str, str], environment: Mapping[str, str]
) -> str:
    """Why LiteLLM may refuse to start; "" for no reason."""
    allowed = _general(options, texts, environment).get(_PERMISSION)
    if allowed is True or environment.get(WITHOUT_KEY, "").lower() in {"true", "1"}:
        return ""
    return msg(
        "without a master key, LiteLLM 1.108.7 refuses to start; with one, it answers no request without it"
    )


def _general(
    options: Mapping[str, str], texts: Mapping[str, str], environment: Mapping[str, str]
) -> Mapping[str, JsonValue]:
    try:
        data = _expanded(yaml_text.load(texts.get(options.get("config", ""), "")), environment)
    except KitError:
        return {}
    return _mapping(data, "general_settings")


def _expanded(value: JsonValue, environment: Mapping[str, str]) -> JsonValue:
    """The value with variables in place of `os.environ/NAME`; a missing variable becomes None."""
    if isinstance(value, dict):
        return {key: _expanded(each, environment) for key, each in value.items()}
    if isinstance(value, list):
        return [_expanded(each, environment) for each in value]
    found = _VARIABLE.fullmatch(value) if isinstance(value, str) else None
    return environment.get(found[1]) if found else value


def _mapping(value: JsonValue | Mapping[str, JsonValue], name: str) -> Mapping[str, JsonValue]:
    found = value.get(name) if isinstance(value, Mapping) else None
    return found if isinstance(found, dict) else {}


def _of_file(name: str, text: str, data: JsonValue) -> Front:
    """The route of the model that the service requests: a target for each entry of model_list with its name."""
    if not isinstance(data, dict) or "include" in data or data.get("environment_variables"):
        return Front(
            kind="litellm", unknown=msg("{name} is not one plain mapping", name=name), where=name
        )
    listed = data.get("model_list")
    entries = (
        [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    )
    entries = [each for each in entries if isinstance(each.get("model_name"), str)]
    if not entries:
        problem = msg("{name} lists no model in model_list", name=name)
        line = f"model_name: os.environ/{contract.MODEL_PATH_VARIABLE}"
        return Front(
            kind="litellm",
            problem=problem,
            fix=msg("write in model_list: {line}", line=line),
            where=name,
        )
    targets = [
        _target(str(each["model_name"]), _mapping(each, "litellm_params"), _place(name, text, each))
        for each in entries
    ]
    targets += [
        replace(target, name=alias)
        for alias, group in _mapping(_mapping(data, "router_settings"), "model_group_alias").items()
        for target in targets
        if target.name == group
    ]
    return Front(kind="litellm", targets=tuple(targets), where=targets[0].where)


def _place(name: str, text: str, entry: Mapping[str, JsonValue]) -> str:
    """The line of the file with the name of an entry."""
    spelled = str(entry["model_name"])
    lines = enumerate(text.splitlines(), 1)
    named = [number for number, line in lines if "model_name" in line]
    exact = [number for number in named if spelled in text.splitlines()[number - 1]]
    return f"{name}:{(exact or named or [1])[0]}"


def _target(name: str, parameters: Mapping[str, JsonValue], where: str) -> Target:
    """The target of litellm_params for requests of a model name."""
    model, base = str(parameters.get("model") or ""), str(parameters.get("api_base") or "")
    provider, slash, rest = model.partition("/")
    if given := str(parameters.get("custom_llm_provider") or ""):
        provider, slash, rest = given, "/", model
    unfollowed = Target(host="", port=None, path="", name=name, where=where)
    if provider not in _FOLLOWED or not slash:
        return replace(
            unfollowed,
            unknown=msg("its model “{model}” has another provider than openai/", model=model),
        )
    if not base.startswith(("http://", "https://")):
        return replace(unfollowed, unknown=msg("it has no api_base with http://"))
    if "*" in rest and rest != name:
        return replace(
            unfollowed,
            unknown=msg("its model “{model}” has another wildcard than its name", model=model),
        )
    parts = urlsplit(base)
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return replace(unfollowed, unknown=msg("its api_base {url} has no port", url=base))
    return Target(
        host=parts.hostname or "",
        port=port,
        path=parts.path.rstrip("/") + _CHAT,
        name=name,
        model="" if "*" in rest else rest,
        tls=parts.scheme == "https",
        keyed=bool(parameters.get("api_key")),
        where=where,
    )


def takes(name: str, wanted: str) -> bool:
    """Whether an entry of model_list with this name takes requests for the wanted model."""
    return name in {"", wanted} or ("*" in name and fnmatch.fnmatchcase(wanted, name))
