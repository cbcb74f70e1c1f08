"""Mail becomes observations: one a message, with the right time, direction and people."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from observations.ingest.base import Note, ReadOptions, Source, complete
from observations.ingest.mail import EML, MBOX, Eml, Mbox
from observations.schema import concat_observations, unique_observations

SHARED = Path(__file__).parents[1].parent / "shared"
LIST_ARCHIVE = SHARED / "real" / "twisted-python-2015-2018.mbox"


def options(**changed: object) -> ReadOptions:
    return ReadOptions(**({"until": datetime(2030, 1, 1, tzinfo=UTC), "tz": "Europe/Berlin"} | changed))  # type: ignore[arg-type]


def mail(*lines: str, body: str = "Hello.", date: str = "Mon, 4 Mar 2024 10:00:00 +0100") -> str:
    """A message with From and To, and the lines given."""
    named = {line.partition(":")[0].lower() for line in lines}
    usual = {"From": "Ada Okafor <ada@example.com>", "To": "bo@example.com", "Date": date}
    header = [f"{name}: {value}" for name, value in usual.items() if name.lower() not in named and value]
    return "\n".join([*header, *lines]) + f"\n\n{body}\n\n"


def mbox(*messages: str, envelope: str = "From ada@example.com Mon Mar  4 09:00:00 2024") -> bytes:
    return "".join(f"{envelope}\n{message}" for message in messages).encode()


def read(
    content: bytes | str, reader: Mbox | Eml = MBOX, label: str = "some.mbox", **changed: object
) -> tuple[pl.DataFrame, list[Note]]:
    """All observations and notes of a source with these bytes."""
    content = content.encode() if isinstance(content, str) else content
    chosen = options(**changed)
    batches = list(reader.read(Source.of_bytes(content, label), chosen))
    frame = concat_observations(complete(batch.observations, chosen) for batch in batches)
    return frame, [note for batch in batches for note in batch.notes]


def only(frame: pl.DataFrame) -> dict[str, object]:
    """The one observation, features by their name."""
    assert frame.height == 1
    return {column.partition(":")[0]: value for column, value in frame.row(0, named=True).items()}


def reasons(notes: list[Note], level: str | None = None) -> dict[str, int]:
    return {note.reason: note.count for note in notes if level in (None, note.level)}


def test_a_message_is_one_observation_with_its_people_and_time() -> None:
    frame, notes = read(
        mbox(mail("Cc: Cy <CY@example.com>", "Subject: Roof", "Message-ID: <m1@example.com>"))
    )
    seen = only(frame)
    assert seen["id"] == "<m1@example.com>"
    assert (seen["type"], seen["action"]) == ("email", "received")
    assert seen["at"] == datetime(2024, 3, 4, 9, tzinfo=UTC)
    assert str(seen["local"]) == "2024-03-04 10:00:00"
    assert (seen["from"], seen["from_name"]) == ("ada@example.com", "Ada Okafor")
    assert (seen["to"], seen["cc"]) == (["bo@example.com"], ["cy@example.com"])
    assert seen["participants"] == ["ada@example.com", "bo@example.com", "cy@example.com"]
    assert seen["subject"] == "Roof"
    assert reasons(notes) == {"direction_unknown": 1}


def test_mail_from_an_address_of_the_user_is_sent_and_the_user_is_no_participant() -> None:
    seen = only(read(mbox(mail()), me=("ada@example.com",))[0])
    assert (seen["action"], seen["participants"]) == ("sent", ["bo@example.com"])
    seen = only(read(mbox(mail()), me=("bo@example.com",))[0])
    assert (seen["action"], seen["participants"]) == ("received", ["ada@example.com"])


def test_mail_without_cc_was_copied_to_nobody() -> None:
    seen = only(read(mbox(mail()))[0])
    assert seen["cc"] == []


@pytest.mark.skipif(not LIST_ARCHIVE.exists(), reason="needs ../shared/real")
def test_the_archive_of_a_mailing_list_has_6170_posts() -> None:
    """`mailbox.mbox` of the standard library sees 6,182: 12 body lines begin "From ".

    The archive holds each post at least twice (months were appended again): 3,084 Message-IDs. Its senders are 229.
    Counted by the standard library's From headers they are 233: three people write in two charsets, and the
    phantoms have none.
    """
    chosen = options(user_field="from")
    batches = list(MBOX.read(Source.of_path(LIST_ARCHIVE), chosen))
    frame = concat_observations(complete(batch.observations, chosen) for batch in batches)
    assert [note for batch in batches for note in batch.notes if note.level != "warning"] == []
    assert frame.height == 6170
    assert unique_observations(frame).height == frame["id"].n_unique() == 3084
    assert frame["user_id"].n_unique() == 229
    assert frame["action"].unique().to_list() == ["sent"]


def test_an_eml_file_is_one_message() -> None:
    frame, _ = read(mail("Message-ID: <m1@example.com>"), EML, "Sent/roof.eml")
    assert only(frame)["action"] == "sent"


NO_MAIL = [
    b"",
    b"From here on it is Tuesday work:\nnails and glue.\n",
    b"BEGIN:VCALENDAR\r\nVERSION:2.0\r\n",
    b'{"from": "ada@example.com", "date": "2024-03-04"}\n',
    b"date,from,subject\n2024-03-04,ada@example.com,Roof\n",
    b"title: Roof\nauthor: Ada\n\ntext\n",
    b"\x00\xff\xfe binary \x00\n",
]


@pytest.mark.parametrize("content", NO_MAIL)
def test_what_is_no_mail_is_not_recognised(content: bytes) -> None:
    assert not MBOX.recognises(content, "file.txt")
    assert not EML.recognises(content, "file.txt")


def test_a_message_behind_a_from_line_is_an_mbox() -> None:
    assert MBOX.recognises(mbox(mail()), "file")
    assert not EML.recognises(mbox(mail()), "file.eml")
    assert EML.recognises(mail().encode(), "1712.M1.host:2,S")
    assert not MBOX.recognises(mail().encode(), "1712.M1.host:2,S")
