"""CSV from programs and spreadsheets."""

from __future__ import annotations

from datetime import UTC, datetime

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from observations.errors import SourceError
from observations.ingest.tabular import csv_table
from observations.ingest.tabular.csv_table import CSV
from observations.ingest.toolkit.note import Note
from observations.ingest.toolkit.reader import ReadOptions, Source
from observations.schema import check_observations, concat_observations
from tests.log_strategies import damaged

UNTIL = datetime(2030, 1, 1, tzinfo=UTC)


def read(
    content: str | bytes, *, day_first: bool | None = None, **mapping: str
) -> tuple[pl.DataFrame, list[Note]]:
    octets = content.encode() if isinstance(content, str) else content
    options = ReadOptions(until=UNTIL, tz="Europe/Berlin", mapping=mapping, day_first=day_first)
    batches = list(CSV.read(Source.of_bytes(octets, "log.csv"), options))
    frame = concat_observations(batch.observations for batch in batches)
    return check_observations(frame), [note for batch in batches for note in batch.notes]


def reasons(notes: list[Note]) -> list[tuple[str, str, int | None]]:
    return [(n.level, n.reason, n.line) for n in notes if n.reason not in ("no_type", "no_action")]


def test_the_contract_s_columns_are_read_as_they_are_called() -> None:
    """And every other column is a feature of one kind."""
    frame, notes = read(
        "id,user_id,type,action,Timestamp,tz,duration_minutes,done,title,room,participants\n"
        "1,ada,work,did,2026-03-02T09:30:00+01:00,,45,TRUE,Plan,007,ana@x.org;bo@x.org\n"
        "2,ada,work,did,2026-03-02 09:30,Asia/Tokyo,1.5,false,12,8,\n"
    )
    assert notes == []
    assert frame.get_column("local").to_list() == [datetime(2026, 3, 2, 9, 30)] * 2  # noqa: DTZ001
    assert frame.get_column("at").dt.hour().to_list() == [8, 0]
    assert frame.get_column("duration_minutes:number").to_list() == [45, 1.5]
    assert frame.get_column("done:flag").to_list() == [True, False]
    assert frame.get_column("title:text").to_list() == ["Plan", "12"]
    assert frame.get_column("room:text").to_list() == ["007", "8"]
    assert frame.get_column("participants:list").to_list() == [["ana@x.org", "bo@x.org"], None]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_dialect_gives_the_same(delimiter: str, encoding: str, end: str) -> None:
    """Delimiter, encoding and line ends are told from the bytes."""
    lines = [
        ["timestamp", "title", "note"],
        ["2026-03-02 09:30", "Café", f'"two{end}lines"'],
        ["2026-03-03", "b", ""],
    ]
    content = end.join(delimiter.join(line) for line in lines).encode(encoding)
    assert CSV.recognises(content, "log.txt")
    frame, notes = read(content)
    assert frame.get_column("title:text").to_list() == ["Café", "b"]
    assert [note.reason for note in notes if note.level == "reject"] == []
    assert any(note.reason == "encoding" for note in notes) is (encoding == "cp1252")


def test_foreign_columns_are_mapped_and_joined() -> None:
    """As calendars and time trackers name them."""
    frame, _ = read(
        "Subject,Start Date,Start Time,Length\nGym,3/31/2026,7:05:00 PM,1:30\nGym,4/1/2026,7:00:00 PM,0:45:30\n",
        timestamp="Start Date+Start Time",
        title="Subject",
        duration_minutes="Length",
    )
    assert frame.get_column("local").to_list() == [datetime(2026, 3, 31, 19, 5), datetime(2026, 4, 1, 19, 0)]  # noqa: DTZ001
    assert frame.get_column("title:text").to_list() == ["Gym", "Gym"]
    assert frame.get_column("duration_minutes:number").to_list() == [90, 45.5]
    assert not [c for c in frame.columns if c.startswith(("Start", "Subject", "Length"))]


def test_a_column_proves_the_order_of_day_and_month() -> None:
    """One number above twelve anywhere in it is enough, also in the last batch."""
    frame, _ = read("timestamp,a\n03/04/2026 10:00,1\n13/04/2026 10:00,2\n")
    assert frame.get_column("local").dt.month().to_list() == [4, 4]
    frame, _ = read("timestamp,a\n03/04/2026 10:00,1\n03/14/2026 10:00,2\n")
    assert frame.get_column("local").dt.month().to_list() == [3, 3]


def test_an_order_that_is_not_proved_is_asked_for() -> None:
    """The error names the flags, the file and the line."""
    with pytest.raises(SourceError, match=r"^log.csv:2: .*`day_first` decides"):
        read("timestamp,a\n03/04/2026 10:00,1\n05/04/2026 10:00,2\n")
    frame, _ = read("timestamp,a\n03/04/2026 10:00,1\n", day_first=True)
    assert frame.get_column("local").dt.month().to_list() == [4]


def test_a_date_without_order_among_others_is_a_reject() -> None:
    """Damage to one cell does not cost the file."""
    frame, notes = read("timestamp,a\n2026-03-01,1\n03/04/2026,2\n2026-03-02,3\n")
    assert frame.height == 2
    assert reasons(notes) == [("reject", "ambiguous_date_order", 3)]


def test_a_first_line_that_names_the_delimiter_is_no_header() -> None:
    """As Excel writes it."""
    frame, _ = read("sep=;\ntimestamp;a\n2026-03-01;x,y\n")
    assert frame.get_column("a:text").to_list() == ["x,y"]


def test_decimal_commas_and_thousands_are_told_by_the_column() -> None:
    """By all of its cells, then by the delimiter."""
    frame, _ = read("timestamp;a;b;c\n2026-03-02;1,5;1.234,5;1.500\n2026-03-03;2;7;20\n")
    assert frame.get_column("a:number").to_list() == [1.5, 2]
    assert frame.get_column("b:number").to_list() == [1234.5, 7]
    assert frame.get_column("c:number").to_list() == [1500, 20]
    frame, _ = read('timestamp,a,b\n2026-03-02,"1,5","1,500"\n2026-03-03,"2,25",20\n')
    assert frame.get_column("a:number").to_list() == [1.5, 2.25]
    assert frame.get_column("b:number").to_list() == [1500, 20]


def test_a_quote_that_never_closes_costs_its_own_line_only() -> None:
    """It would swallow the rest of the file."""
    frame, notes = read('timestamp,a\n2026-03-01,x\n2026-03-02,"open\n2026-03-03,y\n2026-03-04,z\n')
    assert frame.get_column("a:text").to_list() == ["x", "y", "z"]
    assert reasons(notes) == [("reject", "bad_row", 3)]


def test_a_quote_that_closes_in_a_later_record_costs_its_own_line_only() -> None:
    """The record that swallowed others has the wrong number of cells."""
    frame, notes = read('timestamp,a,b\n2026-03-02,"open,1\n2026-03-03,"y",2\n2026-03-04,"z",3\n')
    assert frame.get_column("a:text").to_list() == ["y", "z"]
    assert reasons(notes) == [("reject", "bad_row", 2)]


def test_rows_with_too_few_or_too_many_cells() -> None:
    """Missing cells are empty; cells too many cannot be told apart; empty ones at the end are nothing."""
    frame, notes = read("timestamp,a,b\n2026-03-01\n2026-03-02,x,y,z\n2026-03-03,x,y,,\n,,\n")
    assert frame.get_column("a:text").to_list() == [None, "x"]
    assert reasons(notes) == [("warning", "short_row", 2), ("reject", "bad_row", 3)]


def test_a_file_cut_within_a_cell_keeps_what_there_is() -> None:
    """The end of the last record is missing; its time is not."""
    frame, notes = read('timestamp,a\n2026-03-01,x\n2026-03-02,"Lunch wi')
    assert frame.get_column("a:text").to_list() == ["x", "Lunch wi"]
    assert reasons(notes) == [("warning", "cut_row", 3)]


def test_a_quote_within_a_cell_is_just_a_character() -> None:
    """A pipe of 5" is no open quote."""
    frame, notes = read('timestamp,a\n2026-03-01,5" pipe\n2026-03-02,"say ""hi"""\n')
    assert frame.get_column("a:text").to_list() == ['5" pipe', 'say "hi"']
    assert reasons(notes) == []


def test_rows_without_a_good_time_are_rejected_by_line() -> None:
    """The line is that on which the record begins."""
    frame, notes = read('timestamp,a\n2026-03-01,"two\nlines"\n,x\nsoon,y\n1899-12-30,z\n')
    assert frame.height == 1
    assert reasons(notes) == [
        ("reject", "no_timestamp", 4),
        ("reject", "bad_timestamp", 5),
        ("reject", "implausible_time", 6),
    ]


def test_a_table_without_a_time_says_which_columns_it_has() -> None:
    """And how to name the right one, with the nearest name for a mistyped one."""
    with pytest.raises(SourceError, match=r"no column 'timestamp'; .*`mapping` timestamp=COLUMN: When, a"):
        read("When,a\n2026-03-01,x\n")
    with pytest.raises(SourceError, match=r"no column 'Whem' for timestamp.*did you mean When"):
        read("When,a\n2026-03-01,x\n", timestamp="Whem")


def test_columns_without_or_with_the_same_name_are_kept() -> None:
    """Each under a name of its own."""
    frame, _ = read("timestamp,a,a,\n2026-03-01,x,y,z\n")
    row = frame.row(0, named=True)
    assert (row["a:text"], row["a 3:text"], row["column 4:text"]) == ("x", "y", "z")


def test_batches_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a column is, is decided by all of its rows."""
    content = "timestamp,a\n" + "".join(f"0{day}/04/2026,{day}\n" for day in range(1, 10)) + "13/04/2026,x\n"
    whole, _ = read(content)
    monkeypatch.setattr(csv_table, "BATCH_ROWS", 3)
    parts, _ = read(content)
    assert whole.equals(parts)
    assert whole.get_column("a:text").to_list()[-2:] == ["9", "x"]


@pytest.mark.parametrize(
    ("head", "name", "expected"),
    [
        (b"when,what\n1,2\n", "x.csv", True),
        (b"when,what\n1,2\n", "x.txt", False),
        (b"timestamp;what\n1;2\n", "standard input", True),
        (b"sep=;\ntimestamp;what\n1;2\n", "x.csv", True),
        (b'{"timestamp": 1, "a": 2}\n', "x.csv", False),
        (b"just some words\nand more\n", "x.csv", False),
        (b"", "x.csv", False),
        (b"PK\x03\x04\0\0", "x.csv", False),
    ],
)
def test_it_is_recognised_by_its_cells_and_its_name(head: bytes, name: str, expected: bool) -> None:
    """A name alone is not enough, nor are commas alone."""
    assert CSV.recognises(head, name) is expected


_CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)


@given(st.lists(st.tuples(_CELLS, _CELLS), max_size=8), st.sampled_from([",", ";", "\t"]))
@settings(deadline=None, max_examples=150)
def test_whatever_a_program_writes_is_read_back(rows: list[tuple[str, str]], delimiter: str) -> None:
    """Quotes, line breaks and delimiters in cells included."""
    import csv
    import io

    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter)
    writer.writerow(["timestamp", "title", "location"])
    writer.writerows([["2026-03-02", *row] for row in rows])
    frame, notes = read(out.getvalue())
    assert reasons(notes) == []
    assert frame.height == len(rows)


@given(st.data())
@settings(deadline=None, max_examples=200)
def test_damage_costs_the_lines_it_touches(data: st.DataObject) -> None:
    """No crash, no hang, and every row that was not touched is there."""
    lines = [f"2026-03-{day:02d}T10:00:00+01:00,title {day},{day}\n".encode() for day in range(1, 13)]
    hurt = data.draw(st.integers(0, len(lines) - 1))
    lines[hurt] = (
        data.draw(damaged(lines[hurt].rstrip(b"\n"))).replace(b"\n", b"").replace(b"\r", b"") + b"\n"
    )
    frame, _ = read(b"timestamp,title,n\n" + b"".join(lines))
    titles = frame.get_column("title:text").to_list() if frame.height else []
    assert {f"title {day}" for day in range(1, 13) if day - 1 != hurt} <= set(titles)


@given(st.binary(max_size=300))
@settings(deadline=None, max_examples=200)
def test_any_bytes_are_read_or_refused_in_words(content: bytes) -> None:
    """Nothing else is raised."""
    CSV.recognises(content, "log.csv")
    for octets in (content, b"timestamp,a\n" + content):
        try:
            read(octets)
        except SourceError as error:
            message = str(error)
            assert "\n" not in message
