"""Log-probabilities of given tokens by transformers on the CPU. `read_weights.py REQUEST ANSWER`, both JSON.

Runs in the Python of an environment with torch and transformers, and imports no module of the kit. The request
has `folder`, `contexts` (a list of {"ids": [...], "begin": n}: the tokens from n on are predicted, each from all
previous ones), `top`, `trial` (a text to tokenize), `rounded` (3: every third context also in bfloat16) and
`remote_code`. A line "@npu-adapter DONE TOTAL" is printed after each context.
"""

import importlib
import inspect
import json
import sys
from pathlib import Path
from typing import Any

_SPARE = 1.3
"""Memory in addition to the weights: activations, and a second copy while a tensor is converted."""


def main() -> None:
    asked = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    torch, transformers = map(importlib.import_module, ("torch", "transformers"))
    torch.manual_seed(0)
    kind = number_format(Path(asked["folder"]))
    settings = {"local_files_only": True, "trust_remote_code": asked["remote_code"]}
    tokenizer = transformers.AutoTokenizer.from_pretrained(asked["folder"], **settings)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        asked["folder"], torch_dtype=getattr(torch, kind), use_safetensors=True, **settings
    )
    model.eval()
    contexts = asked["contexts"]
    again = contexts[:: asked["rounded"]] if kind == "float32" else []
    total = len(contexts) + len(again)

    def computed(number: int, context: "dict[str, Any]") -> "list[dict[str, Any]]":
        found = [position(torch, each, asked["top"]) for each in predicted(torch, model, context)]
        print(f"@npu-adapter {number} {total}", flush=True)
        return found

    readings = [computed(number, context) for number, context in enumerate(contexts, 1)]
    model.to(torch.bfloat16)
    answer = {
        "transformers": transformers.__version__,
        "number_format": kind,
        "trial": tokenizer.encode(asked["trial"], add_special_tokens=False),
        "readings": readings,
        "rounded": [
            computed(number, context) for number, context in enumerate(again, len(contexts) + 1)
        ],
    }
    Path(sys.argv[2]).write_text(json.dumps(answer), encoding="utf-8")


def number_format(folder: Path) -> str:
    """float32 if it fits into memory, else bfloat16; weights on disk have at least two bytes per parameter.

    Raises:
        MemoryError: neither fits.
    """
    size = sum(path.stat().st_size for path in folder.glob("*.safetensors")) * _SPARE
    lines = Path("/proc/meminfo").read_text("ascii").splitlines()
    free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    for kind, times in (("float32", 2), ("bfloat16", 1)):
        if size * times < free:
            return kind
    raise MemoryError(f"{size / 1e9:.1f} GB are needed and {free / 1e9:.1f} GB are free")


def predicted(torch: Any, model: Any, context: "dict[str, Any]") -> Any:
    """Log-probabilities (predicted tokens, vocabulary) in float32."""
    ids, begin = context["ids"], context["begin"]
    count = len(ids) - begin
    few = (
        {"logits_to_keep": count}
        if "logits_to_keep" in inspect.signature(model.forward).parameters
        else {}
    )
    with torch.inference_mode():
        logits = model(input_ids=torch.tensor([ids[:-1]]), use_cache=False, **few).logits[
            0, -count:
        ]
    return logits.float().log_softmax(-1)


def position(torch: Any, logprobs: Any, top: int) -> "dict[str, Any]":
    """The most likely tokens, best first."""
    values, ids = torch.topk(logprobs, min(top, logprobs.shape[-1]))
    names = [f"token_id:{each}" for each in ids.tolist()]
    return {"token": names[0], "top": dict(zip(names, values.tolist()))}  # noqa: B905 - Python 3.9


if __name__ == "__main__":
    main()
