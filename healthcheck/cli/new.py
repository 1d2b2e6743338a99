"""`npu-adapter new`: an adapter repository from the template, with its first commit."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path

from healthcheck.errors import UsageError
from healthcheck.scaffold import planner, template
from healthcheck.scaffold.create import Adoption, adopt, create, order
from healthcheck.scaffold.render import Order
from healthcheck.text.language import of_the_user, translation_of_the_process
from healthcheck.text.messages import msg


def run(options: argparse.Namespace) -> int:
    """Make the repository, or add to an existing one, and print the next steps."""
    if options.destination is None and not options.here:
        raise UsageError(
            msg("name the folder to make: npu-adapter new my-adapter (--here adds to this one)")
        )
    destination = options.destination or Path()
    wanted = _order(options, destination)
    place = shlex.quote(str(destination))
    if options.here:
        print(_adopted(adopt(destination, wanted), place), end="")
        return 0
    made = create(destination, wanted)
    say = translation_of_the_process().say
    print(
        say(
            msg(
                "{destination} is a git repository with its first commit. Next:",
                destination=destination,
            )
        )
    )
    print(f"\n  cd {place}")
    if (destination / "adapter").is_dir():
        plan = say(msg("the launch plan, with reasons"))
        print(f"  MODEL_PATH=/folder/of/the/weights python3 -m adapter --print    # {plan}")
    found = say(msg("what the service would find"))
    print(f"  npu-adapter verify . --weights /folder/of/the/weights           # {found}")
    if made and made.given.get("kit") == "":
        print()
        print(
            say(
                msg(
                    "No git address of this kit is known: the workflow waits for its variable NPU_ADAPTER_KIT."
                )
            )
        )
        if made.given.get("ci") in {"gitcode", "both"}:
            print(
                say(
                    msg(
                        "On GitCode it fails until .gitcode/workflows/adapter.yml sets NPU_ADAPTER_KIT."
                    )
                )
            )
    return 0


def _order(options: argparse.Namespace, destination: Path) -> Order:
    answers = _answers(options.data, options.task)
    source = options.template
    if source in template.FORMS:
        answers["form"], source = source, None
    if source is None:
        template.check_answers(answers)
        answers.setdefault("language", of_the_user(os.environ).value)
    if answers.get("form") == template.PLANNED:
        _refuse_target(options)
    else:
        answers.setdefault(
            "launch", planner.lines(planner.target(options, answers.get("stack", "")))
        )
    wanted = order(destination, answers, template=source, ask=not options.defaults)
    if wanted.ask and not sys.stdin.isatty():
        missing = [
            question.name for question in template.questions() if question.name not in wanted.given
        ]
        raise UsageError(
            msg(
                "no terminal to prompt for {missing}: add --defaults or --data K=V",
                missing=", ".join(missing) or msg("answers"),
            )
        )
    return wanted


def _refuse_target(options: argparse.Namespace) -> None:
    given = {"--weights": options.weights, "--npu": options.npu, "--npus": options.npus > 1}
    if wrong := [name for name, value in given.items() if value]:
        raise UsageError(
            msg(
                "{options} is for the plain form: the planned one decides at each start, on the machine that it "
                "meets",
                options=", ".join(wrong),
            )
        )


def _answers(pairs: list[str], task: str | None) -> dict[str, str]:
    answers: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise UsageError(
                msg("--data {pair} has no '=': write --data name=my-adapter", pair=repr(pair))
            )
        answers[name] = value
    if task is not None:
        answers["task"] = task
    return answers


def _adopted(done: Adoption, place: str) -> str:
    say, labelled = translation_of_the_process().say, translation_of_the_process().labelled
    lines = [done.diff]
    lines += [labelled(msg("added"), name) + "\n" for name in done.added]
    for name in done.differing:
        lines.append(
            say(msg("left as it is; the diff above is what the template has: {name}", name=name))
            + "\n"
        )
    for name in done.in_the_way:
        lines.append(say(msg("not added, something else has its place: {name}", name=name)) + "\n")
    lines.append(say(msg("Nothing was overwritten, nothing is committed. Next:")) + "\n\n")
    lines.append(msg("  git -C {place} add --all && git -C {place} commit\n", place=place))
    return "".join(lines)
