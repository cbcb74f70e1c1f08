"""Bash histories: timestamps, lines that look like timestamps, multi-line commands, damage."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from observations.ingest.registry import READERS
from observations.ingest.shell_history import command_frames as history
from observations.ingest.shell_history.bash import BASH
from observations.ingest.toolkit.note import Note
from observations.ingest.toolkit.reader import ReadOptions, Source
from observations.schema import check_observations, concat_observations

SHARED = Path(__file__).parents[1].parent / "shared"
OPTIONS = ReadOptions(until=datetime(2030, 1, 1, tzinfo=UTC), tz="America/New_York")


def read(content: bytes | str) -> tuple[pl.DataFrame, list[Note]]:
    content = content.encode() if isinstance(content, str) else content
    batches = list(BASH.read(Source.of_bytes(content, "home/.bash_history"), OPTIONS))
    frame = concat_observations(check_observations(b.observations) for b in batches)
    return frame, [note for batch in batches for note in batch.notes]


def commands(content: bytes | str) -> list[str]:
    frame, _ = read(content)
    return frame.get_column("command:text").to_list() if frame.height else []


def stamped(*texts: str) -> str:
    return "".join(f"#{1_700_000_000 + i}\n{text}\n" for i, text in enumerate(texts))


def test_a_stamp_is_when_the_command_below_it_was_started() -> None:
    frame, notes = read("#1700000000\ngit status\n")
    row = frame.row(0, named=True)
    assert notes == []
    assert row["at"] == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert row["local"] == datetime(2023, 11, 14, 17, 13, 20)  # noqa: DTZ001  a wall clock
    assert (row["type"], row["action"], row["command:text"], row["program:text"]) == (
        "command",
        "ran",
        "git status",
        "git",
    )


def test_commands_without_stamps_are_counted_and_left_out() -> None:
    frame, notes = read("ls -la\ncd /srv\n\ngit status\n")
    assert frame.height == 0
    assert [(n.level, n.reason, n.count) for n in notes] == [("left_out", "no_timestamp", 3)]
    assert "3 commands have no time" in notes[0].message


def test_one_command_without_a_stamp_is_one_command() -> None:
    assert "1 command has no time" in read("ls\n")[1][0].message


@pytest.mark.parametrize(
    "command",
    [
        "cat > a <<EOF\n#42\nEOF is near\nEOF",
        "cat <<-'END' | sort\n\tb\n\ta\n\tEND",
        "for f in *; do\n  wc $f\ndone",
        "echo 'one\ntwo'",
        'echo "one \\" \ntwo"',
        "make \\\n  all",
        "find . |\n  wc -l",
        "f() {\n  ls\n}",
        "case $x in\na) ls;;\n*) pwd;;\nesac",
        "a=(1\n2)",
        "echo $(\n  date\n)",
        "if true; then\n# it's\n  ls\nfi",
    ],
)
def test_a_command_of_several_lines_is_one(command: str) -> None:
    frame, notes = read(stamped("ls", command, "pwd"))
    assert frame.get_column("command:text").to_list() == ["ls", command, "pwd"]
    assert notes == []
    assert read(f"ls\n{command}\npwd\n")[1][0].count == 3


def test_a_short_comment_is_a_command_and_no_stamp() -> None:
    assert commands("#1700000000\n#42\n#1700000030\n# 1700000500 note\n#1700000040\n#123456789\n") == [
        "#42",
        "# 1700000500 note",
        "#123456789",
    ]


def test_of_two_stamps_in_a_row_the_later_one_counts() -> None:
    frame, notes = read("#1700000010\n#1700000020\nmake\n#1700000030\n")
    assert frame.get_column("at").dt.epoch("s").to_list() == [1_700_000_020]
    assert notes == []


@pytest.mark.parametrize(
    ("stamp", "unit"),
    [
        ("1647948811646", "milliseconds"),
        ("1647948811646449", "microseconds"),
        ("1647948811646449694", "nanoseconds"),
    ],
)
def test_a_long_stamp_is_read_in_its_unit_and_said(stamp: str, unit: str) -> None:
    frame, notes = read(f"#{stamp}\nls\n")
    assert frame.get_column("at").to_list() == [datetime(2022, 3, 22, 11, 33, 31, tzinfo=UTC)]
    assert [(n.level, n.reason) for n in notes] == [("warning", "stamp_unit_guess")]
    assert unit in notes[0].message


def test_a_stamp_that_is_no_time_is_a_reject_with_its_line() -> None:
    frame, notes = read("#1700000000\nls\n#123456789012\nmake\n#1700000009\npwd\n")
    assert frame.get_column("command:text").to_list() == ["ls", "pwd"]
    assert [(n.level, n.reason, n.line) for n in notes] == [("reject", "bad_timestamp", 3)]


def test_a_stamp_in_a_here_document_is_text() -> None:
    content = "#1700000000\ncat > h <<EOF\n#1600000000\nold\nEOF\n#1700000009\nls\n"
    frame, notes = read(content)
    assert frame.get_column("command:text").to_list() == [
        "cat > h <<EOF\n#1600000000\nold\nEOF",
        "ls",
    ]
    assert notes == []


def test_a_quote_that_nothing_closes_does_not_swallow_the_commands_after_it() -> None:
    assert commands(stamped("echo 'cut", "ls", "cat <<EOF", "it's")) == [
        "echo 'cut",
        "ls",
        "cat <<EOF",
        "it's",
    ]


def test_lines_that_a_session_without_stamps_left_have_no_time() -> None:
    frame, notes = read("ls\n#1700000000\nmake\ncd ..\n\n#1700000009\npwd\n")
    assert frame.get_column("command:text").to_list() == ["make", "pwd"]
    assert [(n.reason, n.count) for n in notes] == [("no_timestamp", 2)]


def test_a_damaged_stamp_costs_its_command_only() -> None:
    frame, notes = read("#1700000000\nls\n#17000x0005\nmake secret\n#1700000009\npwd\n!1700000010\ncd\nw\n")
    assert frame.get_column("command:text").to_list() == ["ls", "pwd"]
    assert [(n.level, n.reason, n.line, n.count) for n in notes] == [
        ("reject", "bad_line", 3, 1),
        ("reject", "bad_line", 7, 1),
        ("left_out", "no_timestamp", None, 1),
    ]
    assert not any("secret" in str(note) for note in notes)


def test_line_ends_boms_and_blanks_do_not_matter() -> None:
    assert commands(b"\xef\xbb\xbf#1700000000 \r\nls -la  \r\n#1700000001\r\necho 'a\r\nb'\r\n") == [
        "ls -la  ",
        "echo 'a\nb'",
    ]


def test_nuls_that_a_crash_left_cost_no_command() -> None:
    frame, notes = read(b"#1700000000\nls\n" + bytes(50) + b"#1700000009\npwd\n")
    assert frame.get_column("command:text").to_list() == ["ls", "pwd"]
    assert [n.reason for n in notes] == ["nul_bytes"]


def test_tcsh_marks_its_stamps_with_a_plus() -> None:
    assert commands("#+1700000000\nls\n#+1700000009\npwd\n") == ["ls", "pwd"]


def test_secrets_are_gone() -> None:
    frame, notes = read(
        "#1700000000\ncurl -u ada:invented example.com\n#1700000001\ncat <<E\npassword=invented\nE\n"
    )
    assert frame.get_column("program:text").to_list() == ["curl", "cat"]
    assert "invented" not in str(frame.to_dicts()) + str(notes)


@pytest.mark.parametrize(
    ("head", "name", "wanted"),
    [
        (b"#1700000000\nls\n", "whatever.txt", True),
        (b"ls\ncd\n", ".bash_history", True),
        (b"ls\ncd\n", "laptop.hist", True),
        (b"ls\ncd\n", "notes.txt", False),
        (b"#42\nls\n", "notes.txt", False),
        (b"#9999999999\nls\n", "notes.txt", False),
        (b"\x00\x01\x02", ".bash_history", False),
        (b"select 1\n", ".psql_history", False),
        (b"", "empty.txt", False),
        (b"a long text\n" * 50 + b"#1700000000\nls\n", "notes.md", False),
    ],
)
def test_a_history_is_recognised_by_its_stamps_or_its_name(head: bytes, name: str, wanted: bool) -> None:
    assert BASH.recognises(head, name) is wanted


def test_zsh_and_fish_histories_are_not_taken_for_bash() -> None:
    first = {r.name: r for r in reversed(READERS)}

    def reader(head: bytes, name: str) -> str:
        return next(r for r in READERS if r.recognises(head, name)).name

    assert reader(b": 1700000000:0;ls\n", "old.hist") == "zsh history"
    assert reader(b"- cmd: ls\n  when: 1700000000\n", "old.hist") == "fish history"
    assert reader(b"#1700000000\nls, a\n", "old.hist") == "bash history"
    assert "PowerShell history" in first


def test_pieces_give_what_the_whole_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"cat <<E\n{i}\nE\nold {i}" if i % 7 == 0 else f"make t{i}" for i in range(150)]
    whole, notes = read("first\n" + stamped(*texts))
    for size in (50, 1000):
        monkeypatch.setattr(history, "CHUNK_BYTES", size)
        parts, part_notes = read("first\n" + stamped(*texts))
        assert parts.equals(whole)
        assert part_notes == notes


@settings(deadline=None, max_examples=200)
@given(st.binary(max_size=300) | st.text("#170+\n'\"<E({;a \\\r", max_size=150).map(str.encode))
def test_any_bytes_are_read_without_a_crash(content: bytes) -> None:
    BASH.recognises(content, ".bash_history")
    read(content)


@settings(deadline=None, max_examples=150)
@given(at=st.integers(0, 19), place=st.integers(0, 25), byte=st.sampled_from(b"#0x! \x00\xff\r;a"))
def test_a_flipped_byte_costs_at_most_its_own_record(at: int, place: int, byte: int) -> None:
    records = [
        stamped(f"make target{i}").replace("1700000000", str(1_700_000_000 + i)).encode() for i in range(20)
    ]
    damaged = bytearray(records[at])
    place = min(place, len(damaged) - 2)
    place += damaged[place] == 10  # the line end after the stamp is the next test
    damaged[place] = byte
    records[at] = bytes(damaged)
    frame, notes = read(b"".join(records))
    others = [f"make target{i}" for i in range(20) if i != at]
    found = iter(frame.get_column("command:text").to_list())
    assert all(command in found for command in others), "in this order, perhaps with the damaged one between"
    assert frame.height + sum(n.count for n in notes if n.level != "warning") >= 20


@settings(deadline=None, max_examples=50)
@given(cut=st.integers(0, 600), doubled=st.integers(0, 19))
def test_a_cut_or_doubled_history_keeps_the_rest(cut: int, doubled: int) -> None:
    lines = [f"#{1_700_000_000 + i}\nmake target{i}\n" for i in range(20)]
    whole = "".join(lines[: doubled + 1] + lines[doubled:])[:cut]
    complete = whole.split("\n")[:-1][1::2]
    assert commands(whole)[: len(complete)] == complete


def test_a_quote_that_is_never_closed_costs_no_more_than_its_neighbourhood() -> None:
    content = "echo 'open\n" + "ls\n" * 10_000
    assert 9_700 < read(content)[1][0].count <= 10_001


@pytest.mark.parametrize(("name", "untimed"), [("plaso-bash_history", 0), ("plaso-bash_history_desync", 1)])
def test_plaso_s_histories_are_read_right(name: str, untimed: int) -> None:
    path = SHARED / "real" / name
    if not path.exists():
        pytest.skip("../shared/real is not there")
    frame, notes = read(path.read_bytes())
    assert frame.get_column("command:text").to_list() == [
        "/usr/lib/plaso",
        "/bin/bash",
        "/usr/local/bin/splunk -p 8080",
        'binary argument1 "--params=\\\nparam1=foo,\nparam2=bar\n" argument2',
    ]
    assert frame.get_column("at").dt.epoch("s").to_list() == [1380630977, 1380630978, 1380630979, 1623364236]
    assert sum(n.count for n in notes) == untimed
