"""Atuin's database: schemas, commands of agents, deleted rows, concurrent writes, damage."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from observations.errors import SourceError
from observations.ingest.shell_history.atuin import ATUIN
from observations.ingest.toolkit import sqlite_files
from observations.ingest.toolkit.note import Note
from observations.ingest.toolkit.reader import ReadOptions, Source
from observations.schema import check_observations, concat_observations

SHARED = Path(__file__).parents[1].parent / "shared"
OPTIONS = ReadOptions(until=datetime(2030, 1, 1, tzinfo=UTC), tz="Europe/Berlin")
BASIC = (
    "id text primary key, timestamp integer not null, duration integer not null, exit integer not null, "
    "command text not null, cwd text not null, session text not null, hostname text not null"
)
SCHEMAS = {
    "2021": BASIC,
    "2023": f"{BASIC}, deleted_at integer",
    "2026-02": f"{BASIC}, deleted_at integer, author text, intent text",
    "2026-08": f"{BASIC}, deleted_at integer, author text, intent text, shell text, author_kind integer",
}
FIRST = 1_700_000_000_000_000_000


def write(
    path: Path, rows: Iterable[Mapping[str, object]], schema: str = "2026-08", *, wal: bool = False
) -> Path:
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA journal_mode={'WAL' if wal else 'DELETE'}")
        database.execute(f"CREATE TABLE history ({SCHEMAS[schema]}, unique(timestamp, cwd, command))")
        for number, row in enumerate(rows):
            full = {
                "id": f"id{number}",
                "timestamp": FIRST + number * 10**9,
                "duration": -1,
                "exit": -1,
                "command": f"make t{number}",
                "cwd": "/home/ada",
                "session": "s",
                "hostname": "desk:ada",
                **row,
            }
            places = ", ".join("?" * len(full))
            database.execute(
                f"INSERT INTO history ({', '.join(full)}) VALUES ({places})", list(full.values())
            )
        database.commit()
    return path


def read(source: Path | Source) -> tuple[pl.DataFrame, list[Note]]:
    source = Source.of_path(source) if isinstance(source, Path) else source
    batches = list(ATUIN.read(source, OPTIONS))
    frame = concat_observations(check_observations(b.observations) for b in batches)
    return frame, [note for batch in batches for note in batch.notes]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_every_schema_is_read(tmp_path: Path, schema: str) -> None:
    path = write(
        tmp_path / "history.db", [{"command": "git pull", "duration": 90 * 10**9, "exit": 130}], schema
    )
    assert ATUIN.recognises(Source.of_path(path).head(), path.name)
    frame, notes = read(path)
    row = frame.row(0, named=True)
    assert notes == []
    assert row["id"] == "id0"
    assert row["at"] == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert row["local"] == datetime(2023, 11, 14, 23, 13, 20)  # noqa: DTZ001  a wall clock
    assert (row["type"], row["action"], row["actor"]) == ("command", "ran", "user")
    assert (row["program:text"], row["subcommand:text"]) == ("git", "git pull")
    assert (row["duration_minutes:number"], row["exit_status:number"]) == (1.5, 130)
    assert (row["cwd:text"], row["hostname:text"]) == ("/home/ada", "desk")


def test_minus_one_is_unknown_and_not_a_number(tmp_path: Path) -> None:
    frame, _ = read(write(tmp_path / "h.db", [{"cwd": "unknown"}, {"exit": 0, "duration": 0}]))
    assert frame.get_column("duration_minutes:number").to_list() == [None, 0]
    assert frame.get_column("exit_status:number").to_list() == [None, 0]
    assert frame.get_column("cwd:text").to_list() == [None, "/home/ada"]


def test_microseconds_are_kept(tmp_path: Path) -> None:
    frame, _ = read(write(tmp_path / "h.db", [{"timestamp": FIRST + 123_456_789}]))
    assert frame.get_column("at").item() == datetime(2023, 11, 14, 22, 13, 20, 123_456, tzinfo=UTC)


def test_deleted_commands_are_gone_and_counted(tmp_path: Path) -> None:
    frame, notes = read(write(tmp_path / "h.db", [{}, {"command": "invented", "deleted_at": FIRST}, {}]))
    assert frame.get_column("command:text").to_list() == ["make t0", "make t2"]
    assert [(n.level, n.reason, n.count) for n in notes] == [("left_out", "deleted", 1)]
    assert "invented" not in str(notes)


@pytest.mark.parametrize(
    ("row", "actor"),
    [
        ({}, "user"),
        ({"author": "ada"}, "user"),
        ({"author": "claude-code"}, "agent"),
        ({"author": "Codex"}, "agent"),
        ({"author": "my-agent"}, "agent"),
        ({"author": "claude-code/2.1"}, "agent"),
        ({"author": "claudette"}, "user"),
        ({"author": "some-new-bot", "intent": "run the tests"}, "agent"),
        ({"author": "ada", "intent": "run the tests"}, "user"),
        ({"author": "grace"}, "user"),
        ({"author": "pi", "hostname": "raspberry:pi"}, "user"),
        ({"author": "pi"}, "agent"),
        ({"author": "codex", "author_kind": 0}, "user"),
        ({"author": "ada", "author_kind": 1}, "agent"),
        ({"author": " "}, "user"),
    ],
)
def test_what_an_agent_typed_says_so(tmp_path: Path, row: dict[str, object], actor: str) -> None:
    frame, _ = read(write(tmp_path / "h.db", [row]))
    assert frame.get_column("actor").to_list() == [actor]


def test_times_that_are_none_are_rejects_or_counted(tmp_path: Path) -> None:
    path = write(tmp_path / "h.db", [{}, {"timestamp": 0}, {"timestamp": 5}, {"timestamp": "soon"}, {}])
    frame, notes = read(path)
    assert frame.get_column("command:text").to_list() == ["make t0", "make t4"]
    assert [(n.level, n.reason, n.item, n.count) for n in notes] == [
        ("reject", "bad_timestamp", "id2", 1),
        ("reject", "bad_timestamp", "id3", 1),
        ("left_out", "no_timestamp", None, 1),
    ]


def test_odd_values_cost_no_more_than_themselves(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"command": b"echo \xff", "duration": "long", "exit": 1.5, "cwd": b"\xff"},
        {"command": "", "hostname": ""},
        {},
    ]
    frame, notes = read(write(tmp_path / "h.db", rows))
    assert frame.get_column("command:text").to_list() == ["echo �", "make t2"]
    assert [(n.reason, n.count) for n in notes] == [("empty_command", 1)]


@pytest.mark.parametrize("odd", ["a\x1eb", "a\x1f", "x\ny", "'; DROP TABLE history; --", "é🙂", "a\0b"])
def test_any_text_comes_back(tmp_path: Path, odd: str) -> None:
    frame, notes = read(write(tmp_path / "h.db", [{}, {"command": f"echo {odd}", "cwd": odd}, {}]))
    assert frame.get_column("command:text").to_list() == ["make t0", f"echo {odd}", "make t2"]
    assert frame.get_column("cwd:text").to_list() == ["/home/ada", odd, "/home/ada"]
    assert notes == []


def test_batches_give_what_the_whole_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[dict[str, object]] = [
        {"deleted_at": FIRST} if i % 7 == 0 else {"command": f"echo \x1e{i}"} if i % 11 == 0 else {}
        for i in range(100)
    ]
    path = write(tmp_path / "h.db", rows)
    whole, notes = read(path)
    monkeypatch.setattr(sqlite_files, "BATCH_ROWS", 9)
    parts, part_notes = read(path)
    assert parts.equals(whole)
    assert part_notes == notes


def test_secrets_are_gone(tmp_path: Path) -> None:
    frame, notes = read(write(tmp_path / "h.db", [{"command": "psql postgres://ada:invented@db/x"}]))
    assert "invented" not in str(frame.to_dicts()) + str(notes)


def test_it_is_read_while_atuin_writes_it(tmp_path: Path) -> None:
    """What is committed is there, what is not is not, and the writer is not disturbed."""
    path = write(tmp_path / "h.db", [{}, {}], wal=True)
    with closing(sqlite3.connect(path)) as writer:
        writer.execute(
            "INSERT INTO history SELECT 'x', 1700000099000000000, 0, 0, 'new', 'c', 's', 'h', NULL, NULL, NULL, NULL, NULL"
        )
        writer.commit()
        writer.execute("DELETE FROM history WHERE id = 'id0'")
        before = {p.name for p in tmp_path.iterdir()}
        frame, notes = read(path)
        assert frame.get_column("command:text").to_list() == ["make t0", "make t1", "new"]
        assert notes == []
        assert {p.name for p in tmp_path.iterdir()} == before
        writer.commit()
    assert read(path)[0].get_column("command:text").to_list() == ["make t1", "new"]


def test_a_log_that_a_killed_atuin_left_is_read_and_left_alone(tmp_path: Path) -> None:
    path = write(tmp_path / "h.db", [{}], wal=True)
    killed = tmp_path / "killed"
    killed.mkdir()
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("UPDATE history SET command = 'from the log'")
        writer.commit()
        for name in ("h.db", "h.db-wal"):
            (killed / name).write_bytes((tmp_path / name).read_bytes())
    content = {p.name: p.read_bytes() for p in killed.iterdir()}
    assert read(killed / "h.db")[0].get_column("command:text").to_list() == ["from the log"]
    assert {p.name: p.read_bytes() for p in killed.iterdir()} == content


def test_nothing_is_put_beside_a_database_at_rest(tmp_path: Path) -> None:
    path = write(tmp_path / "h 100%?.db", [{}], wal=True)
    content = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    assert read(path)[0].height == 1
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == content


def test_a_member_of_an_archive_is_read(tmp_path: Path) -> None:
    content = write(tmp_path / "h.db", [{}, {}], wal=True).read_bytes()
    frame, _ = read(Source.of_bytes(content, "backup.zip!atuin/history.db"))
    assert frame.height == 2


def test_other_databases_are_not_taken_for_atuin_s(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE history (url text, title text)")
        database.commit()
    assert not ATUIN.recognises(Source.of_path(path).head(), "history.db")
    assert not ATUIN.recognises(b"SQLite format 3\0", "history.db")
    assert not ATUIN.recognises(b"CREATE TABLE history (timestamp, command)", "history.db")
    with pytest.raises(SourceError, match="no atuin history table"):
        read(path)


def test_a_file_that_is_no_database_after_all_is_an_error() -> None:
    with pytest.raises(SourceError, match="cannot be read"):
        read(Source.of_bytes(b"SQLite format 3\0" + bytes(4096), "history.db"))


def test_rows_on_both_sides_of_the_damage_are_read(tmp_path: Path) -> None:
    path = write(tmp_path / "h.db", [{"command": f"echo {i} {'x' * 100}"} for i in range(2_000)])
    content = bytearray(path.read_bytes())
    with closing(sqlite3.connect(path)) as database:
        size = database.execute("PRAGMA page_size").fetchone()[0]
    # A leaf page in the middle of the table becomes rubbish.
    at = next(
        p
        for p in range(len(content) // 2, len(content), size)
        if p % size == 0 and content[p - p % size] == 13
    )
    content[at : at + size] = random.Random(1).randbytes(size)
    path.write_bytes(content)
    frame, notes = read(path)
    numbers = frame.get_column("command:text").str.extract(r"echo (\d+)").cast(pl.Int64).sort().to_list()
    assert numbers[0] == 0
    assert numbers[-1] == 1_999
    assert 1_900 < len(set(numbers)) < 2_000
    assert [(n.level, n.reason) for n in notes] == [("reject", "damaged")]


@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    places=st.lists(st.tuples(st.integers(100, 20_000), st.integers(0, 255)), max_size=4),
    cut=st.integers(0, 30_000),
)
@example(places=[(3830, 128)], cut=12_289)  # the name of a column is no UTF-8
def test_flipped_and_cut_databases_are_read_without_a_crash(
    tmp_path: Path, places: list[tuple[int, int]], cut: int
) -> None:
    path = tmp_path / "fuzz.db"
    path.unlink(missing_ok=True)
    content = bytearray(write(path, [{} for _ in range(60)]).read_bytes())
    for place, byte in places:
        content[place % len(content)] = byte
    content = content[: max(cut, 100)]
    try:
        frame, notes = read(Source.of_bytes(bytes(content), "history.db"))
    except SourceError:
        return
    assert frame.height + sum(n.count for n in notes) > 0 or len(content) < 8_192


@settings(deadline=None, max_examples=100)
@given(st.binary(max_size=200))
def test_any_bytes_are_looked_at_without_a_crash(content: bytes) -> None:
    ATUIN.recognises(content, "history.db")
    for head in (content, b"SQLite format 3\0" + content):
        try:
            read(Source.of_bytes(head, "history.db"))
        except SourceError:
            continue


def test_the_database_that_atuin_made_is_read_right() -> None:
    path = SHARED / "real" / "atuin-18.24-made-by-atuin.db"
    if not path.exists():
        pytest.skip("../shared/real is not there")
    assert ATUIN.recognises(Source.of_path(path).head(), path.name)
    frame, notes = read(path)
    assert notes == []
    assert frame.get_column("command:text").to_list() == [
        "git status",
        "make all",
        ":1700000050:0;no space form",
        "echo 20:08;ls",
    ]
    assert frame.get_column("actor").unique().to_list() == ["user"]
    assert frame.get_column("duration_minutes:number").to_list() == [0, pytest.approx(37 / 60), None, 0]
    assert frame.get_column("hostname:text").unique().to_list() == ["vm"]
