"""Fish histories: fish's escapes, missing times, paths that look like keys, damage."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from observations.ingest.shell_history import command_frames as history
from observations.ingest.shell_history.fish import FISH, unescaped
from observations.ingest.toolkit.note import Note
from observations.ingest.toolkit.reader import ReadOptions, Source
from observations.privacy.redact import redact
from observations.schema import check_observations, concat_observations

SHARED = Path(__file__).parents[1].parent / "shared"
OPTIONS = ReadOptions(until=datetime(2030, 1, 1, tzinfo=UTC), tz="Asia/Tokyo")


def read(content: bytes | str) -> tuple[pl.DataFrame, list[Note]]:
    content = content.encode() if isinstance(content, str) else content
    batches = list(FISH.read(Source.of_bytes(content, "home/fish_history"), OPTIONS))
    frame = concat_observations(check_observations(b.observations) for b in batches)
    return frame, [note for batch in batches for note in batch.notes]


def commands(content: bytes | str) -> list[str]:
    frame, _ = read(content)
    return frame.get_column("command:text").to_list() if frame.height else []


def written(command: str, when: int) -> str:
    """One item as fish 4 writes it."""
    escaped = command.replace("\\", "\\\\").replace("\n", "\\n")
    return f"- cmd: {escaped}\n  when: {when}\n"


def test_an_item_says_what_and_when() -> None:
    frame, notes = read(written("git commit -m 'x: y'", 1_700_000_000))
    row = frame.row(0, named=True)
    assert notes == []
    assert row["at"] == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert row["local"] == datetime(2023, 11, 15, 7, 13, 20)  # noqa: DTZ001  a wall clock
    assert (row["command:text"], row["subcommand:text"]) == ("git commit -m 'x: y'", "git commit")


def test_escapes_are_taken_away_once() -> None:
    assert commands(
        "- cmd: echo one\\necho two\n  when: 1700000000\n- cmd: printf 'a\\\\nb'\n  when: 1700000001\n"
    ) == [
        "echo one\necho two",
        "printf 'a\\nb'",
    ]


def test_a_path_that_looks_like_a_key_is_a_path() -> None:
    content = "- cmd: cat\n  paths:\n    - src/when: b.c\n    - when: 5\n  when: 1700000000\n- cmd: ls\n  when: 1700000009\n"
    frame, notes = read(content)
    assert frame.get_column("at").dt.epoch("s").to_list() == [1_700_000_000, 1_700_000_009]
    assert notes == []


def test_a_newer_key_is_passed_over() -> None:
    assert commands("- cmd: ls\n  when: 1700000000\n  added_when: 1600000000\n  pinned: yes\n") == ["ls"]


def test_items_without_a_time_are_counted_and_left_out() -> None:
    frame, notes = read("- cmd: a\n- cmd: b\n  when: 0\n- cmd: c\n  when: 1700000000\n- cmd: d")
    assert frame.get_column("command:text").to_list() == ["c"]
    assert [(n.level, n.reason, n.count) for n in notes] == [("left_out", "no_timestamp", 3)]
    assert "3 commands have no time" in notes[0].message


def test_a_time_that_cannot_be_read_is_a_reject_with_its_line() -> None:
    frame, notes = read(
        "- cmd: a\n  when: 17x0000000\n- cmd: b\n  when: 1700000000\n- cmd: c\n  when: 99999999999\n"
    )
    assert frame.get_column("command:text").to_list() == ["b"]
    assert [(n.level, n.reason, n.line) for n in notes] == [
        ("reject", "bad_timestamp", 1),
        ("reject", "bad_timestamp", 5),
    ]


def test_a_damaged_line_takes_its_item_along_and_no_other() -> None:
    content = "- cmd: a\n- cmx: secret\n  when: 1700000005\n- cmd: b\n  when: 1700000000\nxyz\n"
    frame, notes = read(content)
    assert frame.get_column("command:text").to_list() == ["b"]
    assert [(n.level, n.reason, n.line) for n in notes] == [
        ("reject", "bad_line", 2),
        ("reject", "bad_line", 6),
        ("left_out", "no_timestamp", None),
    ]
    assert not any("secret" in str(note) for note in notes)


def test_what_fish_1_did_to_a_file_is_undone() -> None:
    assert commands("- cmd: - cmd: - cmd: ls\n  when: 1700000000\n") == ["ls"]


def test_line_ends_boms_and_nuls_do_not_matter() -> None:
    content = b"\xef\xbb\xbf- cmd: a\r\n  when: 1700000000\r\n" + bytes(9) + b"- cmd: b\n  when: 1700000009"
    assert commands(content) == ["a", "b"]


def test_secrets_are_gone() -> None:
    frame, notes = read(
        written("set -gx API_TOKEN invented", 1_700_000_000)
        + written("echo 'invented' | sudo -S ls", 1_700_000_001)
    )
    assert "invented" not in str(frame.to_dicts()) + str(notes)
    assert frame.get_column("program:text").to_list() == ["set", "echo"]


@pytest.mark.parametrize(
    ("head", "name", "wanted"),
    [
        (b"- cmd: ls\n  when: 1700000000\n", "x.txt", True),
        (b"- cmd: ls\n", "fish_history", True),
        (b"- cmd: ls\n", "tasks.yml", False),
        (b"ls\n", "fish_history", False),
        (b"", "fish_history", False),
    ],
)
def test_a_history_is_recognised_by_its_items(head: bytes, name: str, wanted: bool) -> None:
    assert FISH.recognises(head, name) is wanted


def test_pieces_give_what_the_whole_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    content = "".join(
        written(f"make t{i}", 1_700_000_000 + i)
        + ("broken\n" if i % 13 == 0 else "  paths:\n    - a\n" if i % 5 == 0 else "")
        for i in range(150)
    )
    whole, notes = read(content)
    for size in (50, 1000):
        monkeypatch.setattr(history, "CHUNK_BYTES", size)
        parts, part_notes = read(content)
        assert parts.equals(whole)
        assert part_notes == notes


TEXTS = st.text(min_size=1, max_size=60).filter(
    lambda s: (
        s.encode(errors="ignore").decode() == s
        and s.strip()
        and not set(s) & {"\r", "\0"}
        and not s.startswith(("- cmd:", " ", "\t", "\n"))
    )
)


@settings(deadline=None, max_examples=200)
@given(st.lists(TEXTS, min_size=1, max_size=6))
@example(["a\\n\\\nb\\"])
def test_what_fish_writes_is_read_back(typed: list[str]) -> None:
    content = "".join(written(text, 1_700_000_000 + i) for i, text in enumerate(typed))
    assert commands(content) == [redact(text) for text in typed]


@settings(deadline=None, max_examples=200)
@given(st.text("\\na b", max_size=30))
def test_unescaping_agrees_with_the_slow_obvious_way(text: str) -> None:
    slow, at = "", 0
    while at < len(text):
        pair = text[at : at + 2]
        slow += {"\\\\": "\\", "\\n": "\n"}.get(pair, text[at])
        at += 2 if pair in ("\\\\", "\\n") else 1
    assert unescaped(pl.Series([text])).to_list() == [slow]


@settings(deadline=None, max_examples=200)
@given(st.binary(max_size=300) | st.text("- cmd: when:170\n\\ ", max_size=150).map(str.encode))
def test_any_bytes_are_read_without_a_crash(content: bytes) -> None:
    FISH.recognises(content, "fish_history")
    read(content)


@settings(deadline=None, max_examples=150)
@given(at=st.integers(0, 19), place=st.integers(0, 45), byte=st.integers(0, 255))
@example(at=1, place=0, byte=0)
@example(at=1, place=0, byte=32)
@example(at=1, place=0, byte=10)
def test_a_flipped_byte_costs_at_most_its_own_record(at: int, place: int, byte: int) -> None:
    records = [written(f"make target{i}", 1_700_000_000 + i).encode() for i in range(20)]
    damaged = bytearray(records[at])
    damaged[min(place, len(damaged) - 2)] = byte
    records[at] = bytes(damaged)
    frame, notes = read(b"".join(records))
    found = iter(frame.get_column("command:text").to_list())
    assert all(f"make target{i}" in found for i in range(20) if i != at)
    assert frame.height + sum(n.count for n in notes if n.level != "warning") >= 20


@settings(deadline=None, max_examples=50)
@given(cut=st.integers(0, 800), doubled=st.integers(0, 19))
def test_a_cut_or_doubled_history_keeps_the_rest(cut: int, doubled: int) -> None:
    items = [written(f"make target{i}", 1_700_000_000 + i) for i in range(20)]
    whole = "".join(items[: doubled + 1] + items[doubled:])[:cut]
    complete = [
        line.removeprefix("- cmd: ") for line in whole.split("\n")[:-1][: whole.count("\n") // 2 * 2 : 2]
    ]
    assert commands(whole)[: len(complete)] == complete


def test_plaso_s_history_is_read_right() -> None:
    path = SHARED / "real" / "plaso-fish_history"
    if not path.exists():
        pytest.skip("../shared/real is not there")
    frame, notes = read(path.read_bytes())
    assert frame.height == 10
    assert notes == []
    assert frame.row(8, named=True)["command:text"] == "git clone git@github.com:log2timeline/plaso.git"
    assert frame.get_column("at").dt.epoch("s").to_list()[-1] == 1625972315
