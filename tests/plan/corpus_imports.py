"""Python code that imports from vLLM and vllm-ascend: what the release has, and what it does not have."""

from __future__ import annotations

from tests.plan.corpus import Case, case, sh

_SERVE = 'os.execvp("vllm", ["vllm", "serve", os.environ["MODEL_PATH"], "--port", "8000"])'
MISSING = {"plan/no-missing-imports": "fail"}
ENDED = {"plan/starts-server": "fail", **MISSING}


def _python(
    name: str,
    imports: str,
    expected: dict[str, str] | None = None,
    *,
    says: str = "",
    fix: str = "",
) -> Case:
    """A program that imports, and then starts the server."""
    program = f"import os\n{imports}\n{_SERVE}\n"
    return case(
        name, sh("exec python3 run.py"), expected, files={"run.py": program}, says=says, fix=fix
    )


RIGHT_IMPORTS: tuple[Case, ...] = (
    _python(
        "imports-public-api", "from vllm import LLM, SamplingParams, ModelRegistry, __version__"
    ),
    _python("imports-vllm-ascend", "import vllm_ascend\nfrom vllm_ascend.utils import is_310p"),
    _python(
        "imports-submodule",
        "from vllm.engine import arg_utils\nimport vllm.utils.network_utils as net",
    ),
    _python("imports-environment", "import vllm.envs as envs\nprint(envs.VLLM_LOGGING_LEVEL)"),
    _python("imports-foreign-name", "from vllm.entrypoints.llm import torch"),
    _python("imports-private-name", "from vllm.entrypoints.llm import _anything"),
    _python("imports-own-attribute", "import vllm\nvllm.of_my_own = 1\nprint(vllm.of_my_own)"),
    _python(
        "imports-attributes", "import vllm\nprint(vllm.SamplingParams, vllm.entrypoints.llm.LLM)"
    ),
    _python(
        "imports-hasattr", 'import vllm\nif hasattr(vllm, "no_such_name"):\n    raise SystemExit(3)'
    ),
    _python("imports-getattr-default", 'import vllm\nprint(getattr(vllm, "no_such_name", None))'),
    _python(
        "imports-fallback-new-first",
        """\
try:
    from vllm.entrypoints.launchers.cli_args import make_arg_parser
except ImportError:
    from vllm.entrypoints.openai.cli_args import make_arg_parser
""",
    ),
    _python(
        "imports-fallback-never-there",
        """\
try:
    from vllm.utils import FlexibleArgumentParser
except ImportError:
    from vllm.utils.argparse_utils import FlexibleArgumentParser
""",
    ),
    _python(
        "imports-suppressed",
        """\
import contextlib
with contextlib.suppress(ImportError):
    import vllm.entrypoints.launchers.cli_args
""",
    ),
    case(
        "imports-guarded-by-the-caller",
        sh("exec python3 run.py"),
        files={
            "run.py": f"""
            import os
            try:
                import extra
            except ImportError:
                extra = None
            {_SERVE}
            """,
            "extra.py": "from vllm.entrypoints.launchers.cli_args import make_arg_parser\n",
        },
    ),
    case(
        "imports-in-a-function-that-is-not-called",
        sh("exec python3 run.py"),
        files={"run.py": f"import os\ndef later():\n    import vllm.no_such_module\n{_SERVE}\n"},
    ),
    case(
        "imports-api-server",
        sh("exec python3 run.py --port 8000"),
        files={
            "run.py": """
            import os, sys, asyncio
            from vllm.entrypoints.openai.api_server import build_app, init_app_state, run_server
            from vllm.entrypoints.openai.cli_args import make_arg_parser, validate_parsed_serve_args
            from vllm.utils.argparse_utils import FlexibleArgumentParser
            parser = make_arg_parser(FlexibleArgumentParser())
            asyncio.run(run_server(parser.parse_args(["--model", os.environ["MODEL_PATH"], *sys.argv[1:]])))
            """
        },
    ),
    case(
        "imports-file-of-the-script",
        sh(
            """
            place=$(python3 -c 'import os, vllm; print(os.path.dirname(vllm.__file__))')
            cp my_parser.py "$place/my_parser.py"
            python3 -c 'import vllm.my_parser'
            exec vllm serve "$MODEL_PATH" --port 8000
            """
        ),
        files={"my_parser.py": "x = 1\n"},
    ),
)

WRONG_IMPORTS: tuple[Case, ...] = (
    _python(
        "imports-moved-name",
        "from vllm.utils import FlexibleArgumentParser",
        ENDED,
        says="from vllm.utils import FlexibleArgumentParser: vLLM 0.23.0 does not have it; no release from 0.18.0",
        fix="write: from vllm.utils.argparse_utils import FlexibleArgumentParser",
    ),
    _python(
        "imports-removed-module",
        "from vllm.entrypoints.openai.serving_chat import OpenAIServingChat",
        ENDED,
        says="run.py:2",
        fix="write: from vllm.entrypoints.openai.chat_completion.serving import OpenAIServingChat",
    ),
    _python(
        "imports-misspelt-name",
        "from vllm import SamplingParam",
        ENDED,
        fix="from vllm import SamplingParams",
    ),
    _python(
        "imports-misspelt-module",
        "import vllm.sampling_parms",
        ENDED,
        fix="write: import vllm.sampling_params",
    ),
    _python(
        "imports-misspelt-attribute",
        "import vllm\nprint(vllm.SamplingParam)",
        ENDED,
        says="run.py:3",
    ),
    _python(
        "imports-ascend-misspelt",
        "from vllm_ascend.utils import is_301p",
        ENDED,
        fix="import is_310p",
    ),
    _python(
        "imports-of-a-newer-release",
        "from vllm.entrypoints.launchers.cli_args import make_arg_parser",
        MISSING,
        says="it is in 0.29.0",
        fix="write: from vllm.entrypoints.openai.cli_args import make_arg_parser",
    ),
    _python(
        "imports-guard-that-gives-up",
        """\
try:
    from vllm.entrypoints.launchers.cli_args import make_arg_parser
except ImportError:
    raise SystemExit("vLLM is too old")
""",
        MISSING,
    ),
    _python(
        "imports-guard-of-another-error",
        "try:\n    import vllm.entrypoints.launchers.cli_args\nexcept KeyError:\n    pass\n",
        MISSING,
    ),
    _python(
        "imports-fallback-is-missing-too",
        """\
try:
    from vllm.entrypoints.launchers.cli_args import make_arg_parser
except ImportError:
    from vllm.entrypoints.openai.no_such_module import make_arg_parser
""",
        MISSING,
        says="run.py:5",
    ),
    case(
        "imports-on-the-command-line",
        sh(
            """
            python3 -c "from vllm.entrypoints.launchers.cli_args import make_arg_parser"
            exec vllm serve "$MODEL_PATH" --port 8000
            """
        ),
        MISSING,
        says="deploy.sh:2",
    ),
    case(
        "imports-in-a-heredoc",
        sh(
            """
            python3 - <<'PY'
            import vllm.entrypoints.launchers.cli_args
            PY
            exec vllm serve "$MODEL_PATH" --port 8000
            """
        ),
        MISSING,
        says="deploy.sh:3",
    ),
    case(
        "imports-in-a-module",
        sh("exec python3 -m server"),
        MISSING,
        files={
            "server/__init__.py": "from vllm.entrypoints.launchers.cli_args import make_arg_parser\n",
            "server/__main__.py": f"import os\n{_SERVE}\n",
        },
        says="server/__init__.py:1",
    ),
    case(
        "imports-by-importlib",
        sh("exec python3 run.py"),
        MISSING,
        files={
            "run.py": f"import os, importlib\nimportlib.import_module('vllm.entrypoints.launchers.cli_args')\n{_SERVE}\n"
        },
        says="run.py:2",
    ),
    case(
        "imports-program-of-a-newer-release",
        sh(
            'exec python3 -m vllm.entrypoints.launchers.api_server.entry --model "$MODEL_PATH" --port 8000'
        ),
        MISSING | {"plan/chat-api": "unsettled"},
        says="it is in 0.29.0 to 0.33.0",
    ),
)
