"""`npu-adapter new`: an adapter repository from the template, with its first commit."""

from __future__ import annotations

import argparse
import shlex
import sys

from healthcheck import scaffold
from healthcheck.cli.parsing import exit_statuses
from healthcheck.cli.places import new_place
from healthcheck.errors import UsageError


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = exit_statuses({0: "made", 2: "wrong usage; nothing was made"})
    parser.add_argument(
        "destination", metavar="DEST", type=new_place, help="a folder that does not exist, or is empty"
    )
    parser.add_argument("--task", metavar="CODE", help="text-generation, image-text-to-text or any-to-any")
    parser.add_argument(
        "--data", metavar="K=V", action="append", default=[], help="an answer to a question of the template"
    )
    parser.add_argument("--defaults", action="store_true", help="ask nothing: use the defaults")
    parser.add_argument(
        "--template", metavar="SOURCE", help="a git address or folder instead of the kit's template"
    )


def run(options: argparse.Namespace) -> int:
    """Make the repository and print the next steps."""
    answers = _answers(options.data, options.task)
    if options.template is None:
        scaffold.check_answers(answers)
    ask = not options.defaults
    if ask and not sys.stdin.isatty():
        ask = False
        missing = [question.name for question in scaffold.questions() if question.name not in answers]
        if options.template is not None or missing:
            raise UsageError(
                f"no terminal to prompt for {', '.join(missing) or 'answers'}: add --defaults or --data K=V"
            )
    scaffold.create(options.destination, answers, template=options.template, ask=ask)
    place = shlex.quote(str(options.destination))
    print(f"""\
{options.destination} is a git repository with its first commit. Next:

  cd {place}
  MODEL_PATH=/folder/of/the/weights python3 -m adapter --print    # the launch plan, with reasons
  npu-adapter verify . --weights /folder/of/the/weights           # what the service would find""")
    return 0


def _answers(pairs: list[str], task: str | None) -> dict[str, str]:
    answers: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise UsageError(f"--data {pair!r} has no '=': write --data name=my-adapter")
        answers[name] = value
    if task is not None:
        answers["task"] = task
    return answers
