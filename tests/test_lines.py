"""Line sources return each whole line once, from pipes and from files that grow, are truncated or are replaced."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pipelines.streaming.line_sources
from pipelines.store.database.insert import Position
from pipelines.streaming.line_sources import Lines, Pipe, Tail


@pytest.fixture
def pipe() -> Iterator[tuple[Pipe, int]]:
    reading, writing = os.pipe()
    yield Pipe(reading), writing
    os.close(reading)


@pytest.fixture
def follow(tmp_path: Path) -> Iterator[Callable[..., Tail]]:
    """Tails of the file ``log``."""
    tails: list[Tail] = []

    def tail(position: Position | None = None) -> Tail:
        tails.append(Tail(tmp_path / "log", position))
        return tails[-1]

    yield tail
    for one in tails:
        one.close()


def numbered(lines: Lines | None) -> list[tuple[int, bytes]]:
    """The lines with their numbers."""
    if lines is None:
        return []
    texts = lines.text.removesuffix(b"\n").split(b"\n")
    assert len(texts) == lines.count
    return list(enumerate(texts, lines.first))


def drained(tail: Tail) -> list[tuple[int, bytes]]:
    """All that is there now."""
    found: list[tuple[int, bytes]] = []
    while lines := tail.read(0):
        found += numbered(lines)
    return found


# --- a pipe ---------------------------------------------------------------------------------------------------


def test_what_is_there_is_read_in_one_piece_and_half_a_line_waits(pipe: tuple[Pipe, int]) -> None:
    source, end = pipe
    os.write(end, b"a\nb\nhal")
    assert numbered(source.read(1)) == [(1, b"a"), (2, b"b")]
    assert source.read(0) is None
    os.write(end, b"f\n")
    assert numbered(source.read(1)) == [(3, b"half")]
    os.write(end, b"end without a line's end")
    os.close(end)
    assert not source.ended
    assert numbered(source.read(1)) == [(4, b"end without a line's end")]
    assert source.ended


def test_waiting_ends_when_something_else_can_be_read(pipe: tuple[Pipe, int]) -> None:
    source, end = pipe
    other, signal = os.pipe()
    os.write(signal, b".")
    assert source.read(60, [other]) is None
    for descriptor in (end, other, signal):
        os.close(descriptor)


def test_of_a_line_longer_than_any_record_the_beginning_is_handed_out_and_the_rest_passed_over(
    pipe: tuple[Pipe, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipelines.streaming.line_sources, "LONGEST_LINE", 1_000)
    source, end = pipe
    os.write(end, b"x" * 1_500)
    assert numbered(source.read(1)) == [(1, b"x" * 1_500)]
    os.write(end, b"x" * 500 + b"\nnext\n")
    os.close(end)
    assert numbered(source.read(1)) == [(2, b"next")]


@given(st.lists(st.binary(max_size=30).map(lambda line: line.replace(b"\n", b"")), max_size=20), st.data())
@settings(deadline=None, max_examples=50)
def test_however_the_bytes_come_the_lines_are_the_same(lines: list[bytes], data: st.DataObject) -> None:
    text = b"".join(line + b"\n" for line in lines)
    reading, writing = os.pipe()
    source, found = Pipe(reading), list[tuple[int, bytes]]()
    while text:
        size = data.draw(st.integers(1, len(text)))
        os.write(writing, text[:size])
        text = text[size:]
        found += numbered(source.read(0))
    os.close(writing)
    found += numbered(source.read(0))
    os.close(reading)
    assert found == list(enumerate(lines, 1))


# --- a file that grows ----------------------------------------------------------------------------------------


def test_a_file_is_read_as_it_grows(tmp_path: Path, follow: Callable[..., Tail]) -> None:
    path = tmp_path / "log"
    tail = follow()
    assert tail.read(0) is None
    path.write_bytes(b"a\nb\nhal")
    assert drained(tail) == [(1, b"a"), (2, b"b")]
    with path.open("ab") as file:
        file.write(b"f\n")
    assert drained(tail) == [(3, b"half")]


def test_a_later_run_goes_on_where_this_one_stopped(tmp_path: Path, follow: Callable[..., Tail]) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"a\nb\n")
    lines = follow().read(0)
    assert lines is not None
    with path.open("ab") as file:
        file.write(b"c\n")
    assert drained(follow(lines.position)) == [(3, b"c")]


def test_a_file_that_was_renamed_is_read_to_its_end_and_then_the_new_one(
    tmp_path: Path, follow: Callable[..., Tail]
) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"a\n")
    tail = follow()
    assert drained(tail) == [(1, b"a")]
    with path.open("ab") as old:
        path.rename(tmp_path / "log.1")
        old.write(b"late\nlast, cut off")
    assert drained(tail) == [(2, b"late")]
    path.write_bytes(b"new\n")
    found = drained(tail)
    found += drained(tail)
    assert [text for _, text in found] == [b"last, cut off", b"new"]
    assert found[-1] == (1, b"new")


def test_a_file_that_was_renamed_while_nobody_read_is_read_to_its_end_first(
    tmp_path: Path, follow: Callable[..., Tail]
) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"a\n")
    lines = follow().read(0)
    assert lines is not None
    with path.open("ab") as file:
        file.write(b"b\n")
    path.rename(tmp_path / "log.1")
    path.write_bytes(b"c\n")
    tail = follow(lines.position)
    assert [text for _, text in drained(tail) + drained(tail)] == [b"b", b"c"]


def test_a_file_that_was_cut_short_is_read_from_its_beginning(
    tmp_path: Path, follow: Callable[..., Tail]
) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"first\nsecond\n")
    tail = follow()
    assert len(drained(tail)) == 2
    path.write_bytes(b"new\n")
    assert drained(tail) == [(1, b"new")]


def test_another_file_of_the_same_name_is_read_from_its_beginning(
    tmp_path: Path, follow: Callable[..., Tail]
) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"first\nsecond\n")
    lines = follow().read(0)
    assert lines is not None
    path.write_bytes(b"other\nlines, and more than before\n")
    assert drained(follow(lines.position)) == [(1, b"other"), (2, b"lines, and more than before")]


def test_lines_larger_than_a_piece_are_whole(
    tmp_path: Path, follow: Callable[..., Tail], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipelines.streaming.line_sources, "PIECE_BYTES", 10)
    path = tmp_path / "log"
    path.write_bytes(b"x" * 35 + b"\nshort\nalso short\n")
    tail = follow()
    assert drained(tail) == [(1, b"x" * 35), (2, b"short"), (3, b"also short")]


def test_a_position_of_a_file_that_is_gone_is_no_hindrance(
    tmp_path: Path, follow: Callable[..., Tail]
) -> None:
    path = tmp_path / "log"
    position = Position("follow:log", 5, 1, '{"inode": 1, "device": 1, "head": "", "size": 5}')
    path.write_bytes(b"new\n")
    assert drained(follow(position)) == [(1, b"new")]
