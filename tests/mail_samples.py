"""Messages for the tests of mail, and what a reader makes of them."""

from __future__ import annotations

from datetime import UTC, datetime

import polars as pl

from observations.ingest.mail.mailbox import MBOX
from observations.ingest.toolkit.complete import complete
from observations.ingest.toolkit.note import Note
from observations.ingest.toolkit.reader import Reader, ReadOptions, Source
from observations.schema import concat_observations

ENVELOPE = "From ada@example.com Mon Mar  4 09:00:00 2024"
USUAL = {
    "From": "Ada Okafor <ada@example.com>",
    "To": "bo@example.com",
    "Date": "Mon, 4 Mar 2024 10:00:00 +0100",
}


def mail(*lines: str, without: tuple[str, ...] = (), body: str = "Hello.") -> str:
    """A message with `USUAL` fields, except those that `lines` give or `without` names."""
    given = {line.partition(":")[0].lower() for line in lines} | {name.lower() for name in without}
    header = [f"{name}: {value}" for name, value in USUAL.items() if name.lower() not in given]
    return "\n".join([*header, *lines]) + f"\n\n{body}\n\n"


def mbox(*messages: str, envelope: str = ENVELOPE) -> bytes:
    """The messages in a file, each behind a From_ line. Bytes that are no UTF-8 are written as surrogates."""
    return "".join(f"{envelope}\n{message}" for message in messages).encode("utf-8", "surrogateescape")


def read(
    content: bytes | str, reader: Reader = MBOX, label: str = "some.mbox", **changed: object
) -> tuple[pl.DataFrame, list[Note]]:
    """All observations and notes of a source with these bytes; `changed` are `ReadOptions`."""
    content = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
    options = read_options(**changed)
    batches = list(reader.read(Source.of_bytes(content, label), options))
    frame = concat_observations(complete(batch.observations, options) for batch in batches)
    return frame, [note for batch in batches for note in batch.notes]


def read_options(**changed: object) -> ReadOptions:
    return ReadOptions(**({"until": datetime(2030, 1, 1, tzinfo=UTC), "tz": "Europe/Berlin"} | changed))  # type: ignore[arg-type]


def only(frame: pl.DataFrame) -> dict[str, object]:
    """The one observation of a frame, its features by their names."""
    assert frame.height == 1
    return {column.partition(":")[0]: value for column, value in frame.row(0, named=True).items()}


def read_one(*lines: str, without: tuple[str, ...] = (), **changed: object) -> dict[str, object]:
    """The observation of one message (see `mail`)."""
    return only(read(mbox(mail(*lines, without=without)), MBOX, "some.mbox", **changed)[0])


def counts(notes: list[Note], *levels: str) -> dict[str, int]:
    """The number of records in the notes of these levels, by reason."""
    told: dict[str, int] = {}
    for note in notes:
        if not levels or note.level in levels:
            told[note.reason] = told.get(note.reason, 0) + note.count
    return told
