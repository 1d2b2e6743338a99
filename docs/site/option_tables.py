"""The options of the probe as tables, for the end of their page, from the record of the options."""

from __future__ import annotations

from markdown_text import escaped, table

from healthcheck.stages.probe.options.reading import takes
from healthcheck.stages.probe.options.record import Group, Option, options
from healthcheck.text.language import Translate
from healthcheck.text.messages import Capitalised, joined, msg

COLUMNS = (msg("option"), msg("values"), msg("default"), msg("what it is"), msg("sends"))


def text(say: Translate) -> str:
    """All options, group by group."""
    parts = [""]
    for group in Group:
        rows = [_cells(option, say) for option in options() if option.group is group]
        parts += [
            f"### {say(Capitalised(group.value))}",
            table([say(column) for column in COLUMNS], rows),
        ]
    return "\n\n".join(parts) + "\n"


def _cells(option: Option, say: Translate) -> list[str]:
    names = joined(", ", (f"`{name}`" for name in (option.name, option.flag) if name))
    mark = "" if option.service else " †"
    texts = (names + mark, takes()[option.name].words, option.default, option.help, option.sends)
    return [escaped(say(text)) for text in texts]
