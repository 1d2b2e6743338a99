"""Edits change what they name and not a byte more; where one does not fit the file, nothing of its repair is made."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthcheck.core.edits import in_words, inserted_below, replaced, without_lines
from healthcheck.core.records import Edit
from healthcheck.errors import UsageError
from healthcheck.verify.fix import Repair, apply, diff, propose
from tests.support.repositories import folder, repository

NAME = "deploy.sh"


def repair(*edits: Edit, check: str = "plan/port") -> Repair:
    return Repair(check=check, words=in_words(edits), edits=edits)


def after(data: bytes, *repairs: Repair) -> bytes:
    changes = propose(repairs, {NAME: data}).changes
    return changes[0].after if changes else data


def edit(line: int, old: str, new: str = "") -> Edit:
    return Edit(file=NAME, line=line, old=old, new=new)


@given(st.text("ab \n", max_size=40), st.data())
def test_a_replacement_changes_just_that_part(text: str, data: st.DataObject):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    new = data.draw(st.text("xy", min_size=1, max_size=3))
    made = replaced(NAME, text, start, end, new)
    if made.old:
        assert after(text.encode(), repair(made)).decode() == text[:start] + new + text[end:]


def test_a_text_that_overlaps_itself_is_replaced_at_its_place():
    made = replaced(NAME, "aaa", 1, 3, "x")
    assert after(b"aaa", repair(made)) == b"ax"
    assert after(b"aaa", repair(edit(1, "aa", "x"))) == b"aaa"


@given(
    st.binary(max_size=40),
    st.integers(0, 6),
    st.text("a\n", max_size=3),
    st.text("b\n", max_size=3),
)
def test_an_edit_that_does_not_fit_changes_nothing(data: bytes, line: int, old: str, new: str):
    made = after(data, repair(edit(line, old, new)))
    if old and old.encode() not in data:
        assert made == data


def test_the_old_text_is_in_its_line_once():
    text = b"x --port 8001\nx --port 8001 # --port 8001\n"
    assert after(text, repair(edit(1, "--port 8001", "--port 8000"))).startswith(b"x --port 8000\n")
    assert after(text, repair(edit(2, "--port 8001", "--port 8000"))) == text
    assert after(text, repair(edit(9, "--port 8001", "--port 8000"))) == text
    assert after(text, repair(edit(0, "--port 8001", "--port 8000"))) == text


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_line_ends_stay_as_they_are(end: bytes):
    text = end.join((b"one", b"two \\", b"  three", b""))
    assert after(text, repair(inserted_below(NAME, 1, "new"))) == end.join(
        (b"one", b"new", b"two \\", b"  three", b"")
    )
    assert after(text, repair(edit(2, " \\\n  three"))) == end.join((b"one", b"two", b""))
    assert after(text, repair(without_lines(NAME, "one\ntwo \\\n  three\n", 1, 1))) == end.join(
        (b"two \\", b"  three", b"")
    )


def test_lines_are_inserted_at_both_ends():
    assert after(b"one", repair(inserted_below(NAME, 1, "two"))) == b"one\ntwo"
    assert after(b"one\n", repair(inserted_below(NAME, 1, "two"))) == b"one\ntwo\n"
    assert after(b"one\n", repair(inserted_below(NAME, 0, "#!/bin/sh"))) == b"#!/bin/sh\none\n"
    assert after(b"one\n", repair(inserted_below(NAME, 7, "two"))) == b"one\n"


def test_equal_edits_are_made_once_and_conflicting_ones_wait():
    first, same, other = (repair(edit(1, "a", new), check=new) for new in ("b", "b", "c"))
    proposal = propose([first, same, other], {NAME: b"a\n"})
    assert proposal.changes[0].after == b"b\n"
    assert proposal.repairs == (first, same)


def test_the_edits_of_a_repair_are_made_together_or_not_at_all():
    half = repair(edit(1, "a", "b"), edit(2, "missing", "b"))
    assert propose([half], {NAME: b"a\na\n"}).changes == ()
    assert (
        propose(
            [repair(edit(1, "a", "b"), Edit(file="other", line=1, old="a"))], {NAME: b"a\n"}
        ).changes
        == ()
    )


def test_bytes_that_are_no_utf8_stay():
    assert (
        after(b"# \xc6\xff\n--port 8001\n", repair(edit(2, "8001", "8000")))
        == b"# \xc6\xff\n--port 8000\n"
    )


def test_line_ends_are_counted_and_the_diff_has_the_rest():
    ends = repair(*(edit(line, "\r") for line in (1, 2)))
    changes = propose(
        [ends, repair(edit(2, "8001", "8000"))], {NAME: b"#!/bin/sh\r\n8001\r\n"}
    ).changes
    shown = diff(changes).splitlines()
    assert shown[0] == "deploy.sh: 2 line ends CRLF → LF"
    assert [line for line in shown if line[0] in "+-"][2:] == ["-8001", "+8000"]


def test_a_mode_of_its_own_stays_and_the_executable_bit_comes(tmp_path: Path):
    root = folder(tmp_path, {NAME: "8001\n"})
    (root / NAME).chmod(0o640)
    apply(root, propose([repair(edit(1, "8001", "8000"))], {NAME: b"8001\n"}).changes)
    assert (root / NAME).stat().st_mode & 0o777 == 0o640
    changes = propose([repair(Edit(file=NAME, line=0, executable=True))], {NAME: b"8000\n"}).changes
    assert "new mode 100755" in diff(changes)
    apply(root, changes)
    assert (root / NAME).stat().st_mode & 0o777 == 0o751
    assert (root / NAME).read_text() == "8000\n"


@pytest.mark.parametrize("linked", ["file", "folder"])
def test_a_file_behind_a_link_is_left_alone(tmp_path: Path, linked: str):
    outside = folder(tmp_path / "outside", {"x": "8001\n"})
    root = folder(tmp_path / "r", {"y": ""})
    (root / "a").symlink_to(outside / "x" if linked == "file" else outside)
    path = "a" if linked == "file" else "a/x"
    changes = propose(
        [repair(Edit(file=path, line=1, old="8001", new="8000"))], {path: b"8001\n"}
    ).changes
    with pytest.raises(UsageError, match="changed while"):
        apply(root, changes)
    assert (outside / "x").read_text() == "8001\n"


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: Path):
    root = folder(tmp_path, {NAME: "8001\n"})
    changes = propose([repair(edit(1, "8001", "8000"))], {NAME: b"8001\n"}).changes
    (root / NAME).write_text("changed")
    with pytest.raises(UsageError, match="changed while"):
        apply(root, changes)
    assert (root / NAME).read_text() == "changed"


@pytest.mark.process
def test_the_diff_is_one_that_git_applies(tmp_path: Path):
    root = repository(
        tmp_path / "r",
        {NAME: "#!/bin/sh\nvllm serve a --port 8001", "requirements.txt": "torch\nx\n"},
    )
    files = {name: (root / name).read_bytes() for name in (NAME, "requirements.txt")}
    torch = repair(without_lines("requirements.txt", "torch\nx\n", 1, 1))
    changes = propose([repair(edit(2, "8001", "8000")), torch], files).changes
    subprocess.run(("git", "-C", str(root), "apply"), input=diff(changes).encode(), check=True)
    by_git = [(root / name).read_bytes() for name in files]
    subprocess.run(("git", "-C", str(root), "checkout", "-q", "."), check=True)
    assert apply(root, changes) == (NAME, "requirements.txt")
    assert [(root / name).read_bytes() for name in files] == by_git


@pytest.mark.parametrize(
    ("edits", "words"),
    [
        ([edit(3, "--port 8001", "--port 8000")], "in deploy.sh:3 replace `--port 8001` by `--port 8000`"),
        ([edit(3, "  --foo \\\n")], "in deploy.sh:3 remove the line `--foo`"),
        ([edit(3, " \\\n  --foo")], "in deploy.sh:4 remove `--foo`"),
        ([inserted_below(NAME, 1, "wait")], "insert below line 1 of deploy.sh: `wait`"),
        ([inserted_below(NAME, 0, "#!/bin/sh")], "insert above the first line of deploy.sh: `#!/bin/sh`"),
        ([edit(1, "a\n"), edit(2, "b\n")], "remove these lines from deploy.sh: `a`, `b`"),
        ([edit(1, "\r"), edit(2, "\r")], "end the lines of deploy.sh in LF"),
        ([edit(1, "\ufeff")], "remove the byte order mark from deploy.sh"),
        ([edit(2, "a \\  ", "a \\")], "remove the spaces after the last backslash of these lines of deploy.sh: 2"),
        ([Edit(file=NAME, line=0, executable=True)], "make deploy.sh executable"),
        ([], ""),
    ],
)  # fmt: skip
def test_the_words_are_those_of_the_edit(edits: list[Edit], words: str):
    assert in_words(edits) == words
