"""Zsh histories: timestamps, metafied bytes, multi-line commands, lines without a time, damage."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from observations.ingest.shell_history import command_frames as history
from observations.ingest.shell_history.zsh import ZSH
from observations.ingest.toolkit.note import Note
from observations.ingest.toolkit.reader import ReadOptions, Source
from observations.privacy.redact import redact
from observations.schema import check_observations, concat_observations

SHARED = Path(__file__).parents[1].parent / "shared"
OPTIONS = ReadOptions(until=datetime(2030, 1, 1, tzinfo=UTC), tz="Europe/Berlin")


def read(content: bytes | str) -> tuple[pl.DataFrame, list[Note]]:
    content = content.encode() if isinstance(content, str) else content
    batches = list(ZSH.read(Source.of_bytes(content, "home/.zsh_history"), OPTIONS))
    frame = concat_observations(check_observations(b.observations) for b in batches)
    return frame, [note for batch in batches for note in batch.notes]


def commands(content: bytes | str) -> list[str]:
    frame, _ = read(content)
    return frame.get_column("command:text").to_list() if frame.height else []


def metafied(content: bytes) -> bytes:
    """As zsh writes it: the slow, obvious way."""
    hidden = {0, *range(0x83, 0xA3)}
    return b"".join(bytes([0x83, b ^ 0x20]) if b in hidden else bytes([b]) for b in content)


def written(command: str, stamp: int, elapsed: int = 0) -> bytes:
    """One record as zsh 5.9 writes it."""
    text = metafied(command.encode()).replace(b"\n", b"\\\n")
    if text.rstrip(b" ").endswith(b"\\"):
        text += b" "
    return b": %d:%d;%s\n" % (stamp, elapsed, text)


def test_a_record_says_when_and_how_long() -> None:
    frame, notes = read(": 1700000005:37;make all\n")
    assert notes == []
    row = frame.row(0, named=True)
    assert row["at"] == datetime(2023, 11, 14, 22, 13, 25, tzinfo=UTC)
    assert row["local"] == datetime(2023, 11, 14, 23, 13, 25)  # noqa: DTZ001  a wall clock
    assert (row["type"], row["action"], row["actor"], row["tz"]) == (
        "command",
        "ran",
        "user",
        "Europe/Berlin",
    )
    assert row["command:text"] == "make all"
    assert row["program:text"] == "make"
    assert row["subcommand:text"] == "make all"
    assert row["duration_minutes:number"] == pytest.approx(37 / 60)


def test_only_the_first_semicolon_splits_and_the_blank_is_optional() -> None:
    assert commands(":1700000050:0;echo 20:08;ls\n: 1700000060:0;: 1:2;x\n") == ["echo 20:08;ls", ": 1:2;x"]


def test_text_is_never_trimmed() -> None:
    assert commands(": 1700000000:0;  ls  \n") == ["  ls  "]


def test_a_backslash_ties_lines_to_one_command() -> None:
    content = ": 1700000000:0;for f in *\\\ndo\\\n  wc $f\\\ndone\n: 1700000009:0;ls\n"
    assert commands(content) == ["for f in *\ndo\n  wc $f\ndone", "ls"]


def test_the_blank_after_a_final_backslash_goes() -> None:
    assert commands(": 1700000000:0;cd C:\\ \n: 1700000009:0;ls\n") == ["cd C:\\", "ls"]


def test_a_final_backslash_of_an_old_zsh_does_not_swallow_the_next_command() -> None:
    assert commands(": 1700000000:0;cd C:\\\n: 1700000009:0;ls\n") == ["cd C:\\", "ls"]


def test_a_stamp_inside_a_here_document_is_text() -> None:
    content = ": 1700000000:0;cat > h <<EOF\\\n: 1600000000:0;old\\\nEOF\n: 1700000009:0;ls\n"
    assert commands(content) == ["cat > h <<EOF\n: 1600000000:0;old\nEOF", "ls"]


def test_lines_without_a_stamp_are_counted_and_left_out() -> None:
    frame, notes = read("ls\n: 1700000000:0;make\ncd ..\necho a\\\nb\n\n: 1700000009:0;ls\n")
    assert frame.get_column("command:text").to_list() == ["make", "ls"]
    assert [(n.level, n.reason, n.count) for n in notes] == [("left_out", "no_timestamp", 3)]
    assert "3 commands have no time" in notes[0].message


def test_a_history_without_any_time_is_recognised_by_name_and_said() -> None:
    assert ZSH.recognises(b"ls\ncd ..\n", ".zsh_history")
    assert not ZSH.recognises(b"ls\ncd ..\n", "notes.txt")
    frame, notes = read("ls\ncd ..\n")
    assert frame.height == 0
    assert [(n.reason, n.count) for n in notes] == [("no_timestamp", 2)]


def test_a_stamp_of_zero_is_no_time() -> None:
    frame, notes = read(": 0:0;ls\n: 1700000000:0;make\n")
    assert frame.get_column("command:text").to_list() == ["make"]
    assert [(n.reason, n.count) for n in notes] == [("no_timestamp", 1)]


def test_an_impossible_stamp_is_a_reject_with_its_line() -> None:
    frame, notes = read(": 1700000000:0;make\\\nall\n: 99999999999:0;x\n: 1700000009:0;ls\n")
    assert frame.get_column("command:text").to_list() == ["make\nall", "ls"]
    assert [(n.level, n.reason, n.line) for n in notes] == [("reject", "bad_timestamp", 3)]


def test_a_damaged_stamp_is_a_reject_and_its_neighbours_are_read() -> None:
    frame, notes = read(": 1700000000:0;a\n: 17000x0005:0;b secret\n: 1700000009:0;c\n: 17000000")
    assert frame.get_column("command:text").to_list() == ["a", "c"]
    assert [(n.level, n.reason, n.line) for n in notes] == [
        ("reject", "bad_line", 2),
        ("reject", "bad_line", 4),
    ]
    assert not any("secret" in str(note) for note in notes)


def test_the_end_time_of_an_old_zsh_is_not_a_duration() -> None:
    frame, _ = read(": 1700000000:1700000060;make\n")
    assert frame.get_column("duration_minutes:number").to_list() == [1.0]


@pytest.mark.parametrize("text", ["echo Größe 仓库 ąę €", "история", "ăȃ Ã ã", "\x00 nul", "🙂", "à"])
def test_metafied_text_comes_back(text: str) -> None:
    assert commands(written(text, 1_700_000_000)) == [text]


def test_text_that_another_program_wrote_stays() -> None:
    """`Ã` is 0xC3 0x83: the second byte looks like the mark of zsh."""
    content = ": 1700000000:0;echo Ã ÃÃ\n".encode() + written("история", 1_700_000_009)
    assert commands(content) == ["echo Ã ÃÃ", "история"]


def test_bytes_that_are_no_text_are_replaced_and_said() -> None:
    frame, notes = read(b": 1700000000:0;echo \xff\xfe\n: 1700000009:0;ls\n")
    assert frame.get_column("command:text").to_list() == ["echo ��", "ls"]
    assert [(n.level, n.reason, n.count) for n in notes] == [("warning", "bad_encoding", 1)]


def test_nuls_that_a_crash_left_cost_no_command() -> None:
    frame, notes = read(b": 1700000000:0;a\n" + bytes(100) + b": 1700000009:0;ls\n")
    assert frame.get_column("command:text").to_list() == ["a", "ls"]
    assert [n.reason for n in notes] == ["nul_bytes"]


def test_crlf_is_a_line_end() -> None:
    assert commands(": 1700000000:0;a\r\n: 1700000009:0;b\\\r\nc\r\n") == ["a", "b\nc"]


def test_secrets_are_gone() -> None:
    frame, notes = read(
        ": 1700000000:0;export API_KEY=sk-inventedinvented123\n: 1700000001:0;mysql -u root -pinvented\n"
    )
    assert frame.get_column("program:text").to_list() == ["export", "mysql"]
    assert "invented" not in str(frame.to_dicts()) + str(notes)


def test_an_empty_record_is_counted() -> None:
    frame, notes = read(": 1700000000:0;\n: 1700000009:0;ls\n")
    assert frame.get_column("command:text").to_list() == ["ls"]
    assert [(n.level, n.reason, n.count) for n in notes] == [("left_out", "empty_command", 1)]


def test_nothing_is_read_from_nothing() -> None:
    frame, notes = read("")
    assert frame.height == 0
    assert notes == []


def test_pieces_give_what_the_whole_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    content = b"".join(
        written(f"echo {i} 'a\nб'" if i % 7 == 0 else f"make t{i}", 1_700_000_000 + i)
        + (b"old\n" if i % 11 == 0 else b"")
        for i in range(150)
    )
    whole, notes = read(content)
    for size in (50, 1000):
        monkeypatch.setattr(history, "CHUNK_BYTES", size)
        parts, part_notes = read(content)
        assert parts.equals(whole)
        assert part_notes == notes


COMMANDS = st.text(min_size=1, max_size=60).filter(
    lambda s: (
        s.encode(errors="ignore").decode() == s and "\r" not in s and s.strip() and not s.startswith("\n")
    )
)


@settings(deadline=None, max_examples=200)
@given(st.lists(COMMANDS, min_size=1, max_size=8))
@example(["a\\", "b"])
@example(["a\n\\\nb \\ "])
def test_what_zsh_writes_is_read_back(typed: list[str]) -> None:
    content = b"".join(written(text, 1_700_000_000 + i) for i, text in enumerate(typed))
    assert commands(content) == [redact(text) for text in typed]


@settings(deadline=None, max_examples=200)
@given(st.binary(max_size=300) | st.text(": 170;\\\n\x83ab", max_size=120).map(str.encode))
def test_any_bytes_are_read_without_a_crash(content: bytes) -> None:
    ZSH.recognises(content, ".zsh_history")
    read(content)


@settings(deadline=None, max_examples=200)
@given(at=st.integers(0, 19), place=st.integers(0, 24), byte=st.integers(0, 255))
def test_a_flipped_byte_costs_at_most_its_own_record(at: int, place: int, byte: int) -> None:
    records = [written(f"make target{i}", 1_700_000_000 + i) for i in range(20)]
    damaged = bytearray(records[at])
    damaged[min(place, len(damaged) - 2)] = byte  # the line end is another test
    records[at] = bytes(damaged)
    frame, notes = read(b"".join(records))
    found = set(frame.get_column("command:text").to_list())
    assert {f"make target{i}" for i in range(20) if abs(i - at) > 1} <= found
    assert f"make target{at + 1}" in found or at == 19 or byte in b"\\\n"
    assert frame.height + sum(n.count for n in notes if n.level != "warning") >= 20


@settings(deadline=None, max_examples=50)
@given(cut=st.integers(0, 600), doubled=st.integers(0, 19))
def test_a_cut_or_doubled_history_keeps_the_rest(cut: int, doubled: int) -> None:
    records = [written(f"make target{i}", 1_700_000_000 + i) for i in range(20)]
    whole = b"".join(records[: doubled + 1] + records[doubled:])
    found = commands(whole[:cut])
    complete = whole[:cut].split(b"\n")[:-1]
    assert found[: len(complete)] == [r.partition(b";")[2].decode() for r in complete]


def test_plaso_s_history_is_read_right() -> None:
    path = SHARED / "real" / "plaso-zsh_extended_history.txt"
    if not path.exists():
        pytest.skip("../shared/real is not there")
    frame, notes = read(path.read_bytes())
    assert frame.get_column("command:text").to_list() == [
        "cd plaso",
        "ls",
        "echo dfgdfg \\\n& touch /tmp/afile",
        "PYTHONPATH=. ./runtests.py",
    ]
    assert frame.get_column("at").dt.epoch("s").to_list() == [1457771210, 1457771212, 1458993293, 1458993297]
    assert notes == []
