"""weights/remote-code: --trust-remote-code fits the code that comes with the weights."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from dataclasses import replace

from healthcheck.core.check import At, Findings, NotApplicable, fail, needs_network, note, warn
from healthcheck.stages.weights.documents import JsonObject, child, text_of, words
from healthcheck.stages.weights.folder import Folder, Unreadable, shown
from healthcheck.stages.weights.records import WeightsFacts, check
from healthcheck.stages.weights.repairs import with_option
from healthcheck.stages.weights.words import some
from healthcheck.text.messages import msg

MAX_CODE_BYTES = 2 * 1024**2


@check(
    "weights/remote-code",
    msg("Code that comes with the weights is complete and allowed"),
    why=msg(
        "Weights with their own code load only with --trust-remote-code, and only if that code is complete."
    ),
    requires=("weights/present",),
)
def remote_code(facts: WeightsFacts) -> Findings:
    """Some weights come with Python code, which "auto_map" in config.json or tokenizer_config.json names. An engine
    that does not support the model itself starts only with --trust-remote-code in deploy.sh, and imports the files
    that auto_map names: they must be in the folder. A name like "org/repo--module.Class" is fetched from the
    network, to which the service may not have access.

    If the engine supports the model, the flag is unnecessary but harmless: the service's own example passes it.

    To repair: add --trust-remote-code to the vllm serve line, or copy the missing files from the original
    repository; for code in another repository, copy it beside the weights and shorten the name in auto_map.

    Example:
    ```json config.json
    {
      "architectures": ["MyForCausalLM"],
      "model_type": "my_model",
      "auto_map": {"AutoConfig": "configuration_my.MyConfig"}
    }
    ```

    ```text files
    config.json
    configuration_my.py
    model.safetensors
    ```

    ```sh deploy.sh
    exec vllm serve "$MODEL_PATH" --port {port}
    ```

    Use instead:

    ```sh deploy.sh
    exec vllm serve "$MODEL_PATH" --port {port} --trust-remote-code
    ```
    """
    maps = _auto_maps(facts)
    flag = facts.option("trust-remote-code")
    given = flag is not None and flag.lower() not in {"false", "0"}
    if not maps:
        if not given:
            raise NotApplicable(
                msg("the weights bring no code (no auto_map), and deploy.sh does not ask for any")
            )
        seen = msg(
            "--trust-remote-code is given, and these weights bring no code: harmless, as in the service's example"
        )
        yield note(seen)
        return
    needed = [name for name, entries in maps.items() if _needed(facts, name, entries)]
    yield from _flag(facts, maps, needed, given=given)
    if given or needed or facts.plan is None:
        yield from _files(facts, maps)


def _auto_maps(facts: WeightsFacts) -> dict[str, JsonObject]:
    weights = facts.weights
    documents = {
        "config.json": weights.config.value,
        "tokenizer_config.json": weights.tokenizer.config.value,
    }
    return {name: found for name, value in documents.items() if (found := child(value, "auto_map"))}


def _needed(facts: WeightsFacts, name: str, auto_map: JsonObject) -> bool:
    """Whether the engine needs the code, because it has no class for the model."""
    release = facts.releases()[0]
    if name == "config.json":
        model_type = text_of(facts.weights.config.value.get("model_type"))
        known = any(
            release.groups_of(each)
            for each in words(facts.weights.config.value.get("architectures"))
        )
        return "AutoConfig" in auto_map and not (known and model_type in release.model_types)
    tokenizer = text_of(facts.weights.tokenizer.config.value.get("tokenizer_class"))
    plain = {tokenizer, tokenizer.removesuffix("Fast"), f"{tokenizer}Fast"}
    return "AutoTokenizer" in auto_map and not plain & release.tokenizers


def _flag(
    facts: WeightsFacts, maps: dict[str, JsonObject], needed: list[str], *, given: bool
) -> Findings:
    if facts.server is None or not facts.engine.options.remote_code or given:
        return
    if needed:
        report, names = fail, ", ".join(needed)
        seen = msg(
            "the flag is not given, and the code that auto_map in {needed} names is needed",
            needed=names,
        )
        repair = with_option(facts, "trust-remote-code")
    else:
        report = warn
        seen = msg(
            "the flag is not given; vLLM {vllm} uses its own classes instead of those that auto_map in "
            "{maps} names",
            vllm=facts.releases()[0].vllm,
            maps=", ".join(maps),
        )
        added = with_option(facts, "trust-remote-code")
        order = msg(
            "{order} if the weights need their own code; else remove auto_map", order=added.order
        )
        repair = replace(added, order=order, edits=())
    expected = msg("--trust-remote-code, since the weights bring their own code")
    yield report(
        expected=expected, seen=seen, fix=repair.order, where=repair.where, edits=repair.edits
    )


def _files(facts: WeightsFacts, maps: dict[str, JsonObject]) -> Findings:
    folder = facts.weights.folder
    missing: list[str] = []
    for name, auto_map in maps.items():
        for reference in _references(auto_map):
            repository, _, local = reference.rpartition("--")
            file = local.partition(".")[0] + ".py"
            if repository:
                seen = msg(
                    "auto_map in {name} names {reference}: code of another repository, "
                    "fetched over the network, which the service may not have",
                    name=name,
                    reference=shown(reference),
                )
                fix = msg(
                    "copy {file} from {repository} into the weights and write {local}",
                    file=shown(file),
                    repository=shown(repository),
                    local=repr(shown(local)),
                )
                yield from needs_network(
                    expected=msg("code beside the weights"), seen=seen, fix=fix, where=name
                )
            else:
                missing += _missing(folder, file, set())
    if missing:
        expected = msg("the files that auto_map names, and those that they import")
        seen = msg("missing: {missing}", missing=some(sorted(set(missing))))
        fix = msg("copy them from the model's original repository")
        yield At(next(iter(maps))).fail(expected=expected, seen=seen, fix=fix)


def _references(auto_map: JsonObject) -> Iterator[str]:
    for value in auto_map.values():
        for reference in words(value):
            if "." in reference:
                yield reference


def _missing(folder: Folder, file: str, seen: set[str]) -> list[str]:
    """The missing files of a module and its relative imports."""
    if file in seen or len(seen) > 50:
        return []
    seen.add(file)
    if "/" in file or not folder.has(file):
        return [file]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(folder.read(file, MAX_CODE_BYTES))
    except (Unreadable, SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    imports = [
        node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level == 1
    ]
    names = {(node.module or "").partition(".")[0] for node in imports} - {""}
    return [lost for name in sorted(names) for lost in _missing(folder, f"{name}.py", seen)]
