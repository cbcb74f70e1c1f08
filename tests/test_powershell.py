"""PowerShell's history has no times: its commands are only counted."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from observations.ingest.shell_history.powershell import POWERSHELL
from observations.ingest.toolkit.note import Note
from observations.ingest.toolkit.reader import ReadOptions, Source

OPTIONS = ReadOptions(until=datetime(2030, 1, 1, tzinfo=UTC))


def notes_on(content: bytes | str) -> list[Note]:
    content = content.encode() if isinstance(content, str) else content
    batches = list(POWERSHELL.read(Source.of_bytes(content, "ConsoleHost_history.txt"), OPTIONS))
    assert all(batch.observations.height == 0 for batch in batches)
    return [note for batch in batches for note in batch.notes]


@pytest.mark.parametrize(
    ("content", "count"),
    [
        ("Get-ChildItem\n", 1),
        ("Get-ChildItem\r\ncd ..\r\n\r\nls", 3),
        ("foreach ($f in 1..3) {`\n  $f`\n}\nls\n", 2),
        ("Echo Hello`\nEcho Bye\n", 1),
        ("\ufeffls\ncd\n", 2),
        ("ls\ncd\n".encode("utf-16"), 2),
        (b"ls \xff\xfe\ncd\n", 2),
    ],
)
def test_commands_are_counted_and_left_out(content: bytes | str, count: int) -> None:
    (note,) = notes_on(content)
    assert (note.level, note.reason, note.count) == ("left_out", "no_timestamp", count)


def test_the_note_says_how_many_and_what_to_do() -> None:
    message = notes_on("a\nb\nc\n")[0].message
    assert "3 commands have no time" in message
    assert "Get-History" in message


def test_nothing_is_said_of_an_empty_history() -> None:
    assert notes_on("") == []
    assert notes_on("\n\n") == []


def test_secrets_are_in_no_note() -> None:
    assert "invented" not in str(notes_on("$env:API_TOKEN = 'invented'\n"))


@pytest.mark.parametrize(
    ("head", "name", "wanted"),
    [
        (b"ls\n", "consolehost_history.txt", True),
        (b"ls\n", "visual studio code host_history.txt", True),
        (b"ls\n", "83-psreadline.txt", True),
        (b"ls\n", "notes.txt", False),
        (b"ls\x00\n", "consolehost_history.txt", False),
        ("ls\n".encode("utf-16"), "consolehost_history.txt", True),
    ],
)
def test_a_history_is_recognised_by_its_name(head: bytes, name: str, wanted: bool) -> None:
    assert POWERSHELL.recognises(head, name) is wanted


@settings(deadline=None, max_examples=100)
@given(st.binary(max_size=300))
def test_any_bytes_are_read_without_a_crash(content: bytes) -> None:
    notes_on(content)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.text("ab$ {}", min_size=1).filter(str.strip), max_size=20), st.integers(0, 200))
def test_a_cut_history_has_the_commands_before_the_cut(typed: list[str], cut: int) -> None:
    content = "".join(f"{command}\n" for command in typed)[:cut]
    whole = [line for line in content.split("\n") if line.strip()]
    assert sum(note.count for note in notes_on(content)) == len(whole)
