"""Mail becomes observations: one a message, with the right direction, time and people."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from observations.ingest.mail.mailbox import EML, MBOX
from observations.ingest.toolkit.complete import complete
from observations.ingest.toolkit.reader import Source
from observations.schema import check_observations, concat_observations, unique_observations
from tests.log_strategies import damaged
from tests.mail_samples import counts, mail, mbox, only, read, read_one, read_options

SHARED = Path(__file__).parents[1].parent / "shared"
LIST_ARCHIVE = SHARED / "real" / "twisted-python-2015-2018.mbox"
CASES = SHARED / "cases"
NO_MAIL = [
    b"",
    b"From here on it is Tuesday work:\nnails and glue.\n",
    b"BEGIN:VCALENDAR\r\nVERSION:2.0\r\n",
    b'{"from": "ada@example.com", "date": "2024-03-04"}\n',
    b"date,from,subject\n2024-03-04,ada@example.com,Roof\n",
    b"title: Roof\nauthor: Ada\n\ntext\n",
    b"Ada Okafor\nFrom: x\nDate: y\n",
    b"\x00\xff\xfe binary \x00\n",
]


def test_a_message_is_one_observation_with_its_people_and_time() -> None:
    seen = read_one("Cc: Cy <CY@example.com>", "Subject: Roof", "Message-ID: <m1@example.com>")
    assert seen["id"] == "<m1@example.com>"
    assert (seen["type"], seen["action"]) == ("email", "received")
    assert seen["at"] == datetime(2024, 3, 4, 9, tzinfo=UTC)
    assert str(seen["local"]) == "2024-03-04 10:00:00"
    assert (seen["from"], seen["from_name"]) == ("ada@example.com", "Ada Okafor")
    assert (seen["to"], seen["cc"]) == (["bo@example.com"], ["cy@example.com"])
    assert seen["participants"] == ["ada@example.com", "bo@example.com", "cy@example.com"]
    assert (seen["subject"], seen["reply"]) == ("Roof", False)


def test_frames_have_the_schema_of_observations() -> None:
    check_observations(read(mbox(mail(), mail("Subject: Roof")))[0])
    check_observations(read(b"")[0])


class TestDirection:
    def test_an_address_of_the_user_in_from_says_sent_and_is_no_participant(self) -> None:
        seen = read_one(me=("ada@example.com",))
        assert (seen["action"], seen["participants"]) == ("sent", ["bo@example.com"])
        seen = read_one(me=("bo@example.com",))
        assert (seen["action"], seen["participants"]) == ("received", ["ada@example.com"])

    def test_gmail_labels_say_it_where_no_address_is_given(self) -> None:
        assert read_one("X-Gmail-Labels: Sent,Opened")["action"] == "sent"
        assert read_one("X-Gmail-Labels: Archived,Opened")["action"] == "received"

    def test_labels_of_sent_mail_hold_for_an_address_that_was_not_given(self) -> None:
        assert read_one("X-Gmail-Labels: Gesendet", me=("other@example.com",))["action"] == "sent"

    @pytest.mark.parametrize(
        ("label", "action"),
        [
            ("Takeout/Mail/Sent.mbox", "sent"),
            ("backup.zip!Mail/Local Folders/Sent.sbd/2023", "sent"),
            ("Mailboxes/Sent Messages.mbox/mbox", "sent"),
            ("mail/Inbox", "received"),
        ],
    )
    def test_the_folder_says_it_where_there_are_no_labels(self, label: str, action: str) -> None:
        frame, notes = read(mbox(mail()), label=label)
        assert only(frame)["action"] == action
        assert notes == []

    def test_where_nothing_tells_mail_was_received_and_a_note_says_so_once(self) -> None:
        frame, notes = read(mbox(mail(), mail()))
        assert frame["action"].to_list() == ["received", "received"]
        assert counts(notes) == {"direction_unknown": 2}
        assert len(notes) == 1
        assert "`me`" in notes[0].message

    def test_in_the_archive_of_a_list_everyone_sent_what_they_wrote(self) -> None:
        frame, notes = read(mbox(mail(), mail("From: bo@example.com")), user_field="from")
        assert frame["action"].to_list() == ["sent", "sent"]
        assert frame["user_id"].to_list() == ["ada@example.com", "bo@example.com"]
        assert notes == []

    def test_the_address_that_mail_was_delivered_to_is_the_user(self) -> None:
        assert read_one("Delivered-To: bo@example.com")["participants"] == ["ada@example.com"]


class TestTime:
    def test_sent_mail_has_the_wall_clock_of_its_date(self) -> None:
        seen = read_one("Date: Mon, 4 Mar 2024 20:00:00 -0800", me=("ada@example.com",))
        assert str(seen["local"]) == "2024-03-04 20:00:00"
        assert seen["at"] == datetime(2024, 3, 5, 4, tzinfo=UTC)

    def test_received_mail_has_the_wall_clock_of_the_user(self) -> None:
        seen = read_one("Date: Mon, 4 Mar 2024 20:00:00 -0800", me=("bo@example.com",))
        assert str(seen["local"]) == "2024-03-05 05:00:00"

    @pytest.mark.parametrize("zone", ["-0000", "GMT", "Z"])
    def test_an_offset_that_says_nothing_gives_the_wall_clock_of_the_user(self, zone: str) -> None:
        frame, notes = read(mbox(mail(f"Date: Mon, 4 Mar 2024 20:00:00 {zone}")), me=("ada@example.com",))
        assert str(only(frame)["local"]) == "2024-03-04 21:00:00"
        assert counts(notes) == {"offset_unknown": 1}

    def test_utc_in_the_users_own_mail_is_how_the_program_writes_not_where_the_user_was(self) -> None:
        date = "Date: Mon, 4 Mar 2024 20:00:00 +0000"
        assert str(read_one(date, me=("ada@example.com",))["local"]) == "2024-03-04 21:00:00"
        # Of the writers of a list archive nothing else is known.
        assert str(read_one(date, user_field="from")["local"]) == "2024-03-04 20:00:00"

    def test_a_date_without_a_zone_is_read_in_the_users(self) -> None:
        frame, notes = read(mbox(mail("Date: Mon Mar  4 10:00:00 2024")), me=("bo@example.com",))
        assert only(frame)["at"] == datetime(2024, 3, 4, 9, tzinfo=UTC)
        assert counts(notes) == {"tz_unknown": 1}

    @pytest.mark.parametrize("date", [None, "Date: Mon, 31 Feb 2024 10:00:00 +0100", "Date: soon"])
    def test_without_a_date_that_can_be_the_newest_received_counts(self, date: str | None) -> None:
        lines = [
            *([date] if date else []),
            "Received: from b by c;\n Wed, 6 Mar 2024 07:15:00 +0200",
            "Received: from a by b; Wed, 6 Mar 2024 07:14:00 +0200",
        ]
        frame, notes = read(mbox(mail(*lines, without=("Date",))), me=("bo@example.com",))
        assert only(frame)["at"] == datetime(2024, 3, 6, 5, 15, tzinfo=UTC)
        assert counts(notes) == {"date_from_received": 1}

    def test_a_date_in_the_future_is_not_believed_where_received_is_past(self) -> None:
        frame, notes = read(
            mbox(
                mail("Date: Mon, 4 Mar 2104 10:00:00 +0100", "Received: by c; Wed, 6 Mar 2024 07:15:00 +0000")
            )
        )
        assert only(frame)["at"] == datetime(2024, 3, 6, 7, 15, tzinfo=UTC)
        assert counts(notes)["date_from_received"] == 1

    def test_then_the_from_line_counts(self) -> None:
        frame, notes = read(mbox(mail(without=("Date",))), me=("bo@example.com",))
        assert only(frame)["at"] == datetime(2024, 3, 4, 9, tzinfo=UTC)
        assert counts(notes) == {"date_from_envelope": 1}

    def test_a_mail_without_any_date_is_rejected_and_its_neighbours_are_read(self) -> None:
        undated = mbox(
            mail("Message-ID: <m2@x>", without=("Date",)), envelope="From - Thu Jan  1 00:00:00 1970"
        )
        frame, notes = read(mbox(mail()) + undated + mbox(mail()))
        assert frame.height == 2
        (reject,) = [note for note in notes if note.level == "reject"]
        assert (reject.reason, reject.line, reject.item) == ("no_timestamp", 8, "<m2@x>")


class TestFeatures:
    def test_mail_without_cc_was_copied_to_nobody(self) -> None:
        assert read_one()["cc"] == []
        assert read_one("Cc: cy@example.com", without=("To",))["to"] == []

    def test_mail_without_any_recipients_has_lost_them(self) -> None:
        seen = read_one(without=("To",), user_field="from")
        assert not {"to", "cc", "participants"} & seen.keys()

    def test_several_headers_of_recipients_are_one_list(self) -> None:
        assert read_one("To: bo@example.com", "To: cy@example.com")["to"] == [
            "bo@example.com",
            "cy@example.com",
        ]

    def test_a_reply_names_the_message_that_began_its_thread(self) -> None:
        seen = read_one("Message-ID: <m3@x>", "References: <m1@x>\n <m2@x>", "In-Reply-To: <m2@x>")
        assert (seen["thread"], seen["reply"]) == ("<m1@x>", True)
        seen = read_one("Message-ID: <m2@x>", "In-Reply-To: <m1@x>")
        assert (seen["thread"], seen["reply"]) == ("<m1@x>", True)
        seen = read_one("Message-ID: <m1@x>")
        assert (seen["thread"], seen["reply"]) == ("<m1@x>", False)

    def test_labels_are_kept_without_those_that_say_whether_it_was_opened(self) -> None:
        assert read_one('X-Gmail-Labels: "Clients, North",Inbox,Opened')["labels"] == [
            "Clients, North",
            "Inbox",
        ]

    def test_a_list_is_named_by_its_id(self) -> None:
        assert (
            read_one('List-Id: "Builders" <Builders.lists.example.com>')["list_id"]
            == "builders.lists.example.com"
        )

    def test_automatic_mail_is_marked_and_other_mail_is_not(self) -> None:
        assert read_one("Auto-Submitted: auto-replied")["automatic"] is True
        assert "automatic" not in read_one()

    def test_a_secret_in_a_subject_is_taken_out(self) -> None:
        subject = read_one("Subject: your password: hunter2")["subject"]
        assert isinstance(subject, str)
        assert "hunter2" not in subject

    def test_an_id_is_derived_from_the_content_where_there_is_no_message_id(self) -> None:
        first, again = read_one("Subject: Roof"), read_one("Subject: Roof")
        assert first["id"] == again["id"]
        assert first["id"] != read_one("Subject: Tiles")["id"]


class TestLeftOut:
    @pytest.mark.parametrize(
        "labels", ["Spam", "Trash,Opened", "Draft", "Chat", "Sent,Papierkorb", "Brouillons"]
    )
    def test_mail_with_a_label_that_is_no_behaviour(self, labels: str) -> None:
        frame, notes = read(mbox(mail(f"X-Gmail-Labels: {labels}"), mail("X-Gmail-Labels: Inbox")))
        assert frame.height == 1
        assert [note.level for note in notes] == ["left_out"]

    def test_each_reason_is_one_note_that_counts(self) -> None:
        _, notes = read(mbox(*[mail("X-Gmail-Labels: Spam")] * 3, mail("X-Gmail-Labels: Trash")))
        assert counts(notes) == {"spam": 3, "trash": 1}
        assert [(note.reason, note.line) for note in notes] == [("spam", 1), ("trash", 25)]

    @pytest.mark.parametrize(
        ("label", "reason"),
        [
            ("Maildir/cur/1712.M1P2.host:2,ST", "trash"),
            ("Maildir/cur/1712.M1P2.host:2,DS", "draft"),
            ("Maildir/.Drafts/cur/1712.M1P2.host:2,S", "draft"),
            ("Maildir/.Junk/new/1712.M1P2.host", "spam"),
        ],
    )
    def test_maildir_flags_and_folders(self, label: str, reason: str) -> None:
        frame, notes = read(mail(), EML, label)
        assert (frame.height, counts(notes)) == (0, {reason: 1})

    @pytest.mark.parametrize("line", ["X-Mozilla-Status: 0009", "X-Status: D", "X-Unsent: 1", "X-Status: AT"])
    def test_mail_that_its_program_marked_deleted_or_unsent(self, line: str) -> None:
        assert read(mbox(mail(line)))[0].is_empty()
        assert only(read(mbox(mail("X-Mozilla-Status: 0001", "X-Status: A")))[0])

    def test_a_file_named_for_its_subject_is_in_no_folder(self) -> None:
        assert only(read(mail(), EML, "mails/Trash.eml")[0])


class TestDamage:
    def test_chunks_without_headers_are_rejected_and_counted(self) -> None:
        content = b"From x@example.com Mon Mar  4 09:00:00 2024\n\njust text\n\n" + mbox(mail())
        frame, notes = read(content + b"From y@example.com Mon Mar  4 09:00:00 2024\n")
        assert frame.height == 1
        assert [(n.reason, n.line) for n in notes if n.level == "reject"] == [
            ("no_headers", 1),
            ("no_headers", 12),
        ]

    def test_a_message_cut_off_in_its_header_is_rejected(self) -> None:
        frame, notes = read(
            mbox(mail(body="a\0b")) + b"From z@example.com Mon Mar  4 09:00:00 2024\nFrom: Zed <z@exam"
        )
        assert frame.height == 1
        assert counts(notes, "reject") == {"truncated": 1}

    def test_a_message_cut_off_behind_its_header_is_read_with_a_warning(self) -> None:
        frame, notes = read(mbox(mail().split("\n\n")[0] + "\n"))
        assert frame.height == 1
        assert counts(notes, "warning")["truncated"] == 1

    def test_nuls_cost_nothing(self) -> None:
        content = mbox(mail("Subject: Ro\0of"), mail()).replace(b"Hello.", b"\0" * 5000)
        frame, notes = read(content)
        assert frame["subject:text"].to_list() == ["Roof", None]
        assert counts(notes, "reject") == {}


MESSAGES = [
    mail(f"Message-ID: <m{number}@example.com>", f"Subject: Roof {number}", body=body)
    for number, body in enumerate(
        [
            "Hello.",
            "From here on\n\nFrom there\n\n>From x",
            "=?utf-8?Q?x?=\0\n\n\n",
            "x" * 200,
            "",
            "Bye.\n\nFrom: x",
        ]
    )
]


@settings(deadline=None, max_examples=150)
@given(
    st.binary(max_size=300) | st.builds(lambda tail: b"From a Mon Mar  4 09:00:00 2024\n" + tail, st.binary())
)
def test_arbitrary_bytes_are_read_without_an_error(content: bytes) -> None:
    for reader in (MBOX, EML):
        reader.recognises(content, "x.mbox")
        frame, notes = read(content, reader)
        assert frame.height + sum(
            note.count for note in notes if note.level != "warning"
        ) <= 1 + content.count(b"From ")


@settings(deadline=None, max_examples=200)
@given(damage=damaged(mbox(MESSAGES[2])), crlf=st.booleans())
def test_a_damaged_message_costs_no_neighbour(damage: bytes, crlf: bool) -> None:
    """Its neighbours come out as from a sound file. Only the next one can be lost: where the line end before it
    is, its From_ line is no line any more.
    """
    sound = MESSAGES[:2] + MESSAGES[3 if damage.endswith(b"\n") else 4 :]
    content = mbox(*MESSAGES[:2]) + damage + mbox(*MESSAGES[3:])
    expected, _ = read(mbox(*sound))
    frame, notes = read(content.replace(b"\n", b"\r\n") if crlf else content)
    found = frame.filter(pl.col("id").is_in(expected["id"].to_list())).select(expected.columns)
    assert unique_observations(found).equals(unique_observations(expected))
    assert all(note.line for note in notes)


@pytest.mark.skipif(not LIST_ARCHIVE.exists(), reason="needs ../shared/real")
def test_the_archive_of_a_mailing_list_has_6170_posts() -> None:
    """`mailbox.mbox` of the standard library sees 6,182: 12 body lines begin "From ".

    The archive holds each post at least twice (months were appended again): 3,084 Message-IDs. Its senders are
    229. Counted by the standard library's From headers they are 233: three people write in two charsets, and the
    phantoms have none.
    """
    options = read_options(user_field="from")
    batches = list(MBOX.read(Source.of_path(LIST_ARCHIVE), options))
    frame = concat_observations(complete(batch.observations, options) for batch in batches)
    assert counts([note for batch in batches for note in batch.notes]) == {"offset_unknown": 402}
    assert frame.height == 6170
    assert unique_observations(frame).height == frame["id"].n_unique() == 3084
    assert frame["user_id"].n_unique() == 229
    assert frame["action"].unique().to_list() == ["sent"]


@pytest.mark.skipif(not CASES.exists(), reason="needs ../shared/cases")
def test_inputs_that_broke_other_programs_give_what_they_should() -> None:
    """The mail of ../shared/cases, down to the people and names that its own check does not look at."""
    cases = [c for c in json.loads((CASES / "expected.json").read_text()) if c["format"] in ("mbox", "eml")]
    assert len(cases) == 11
    for case in cases:
        source = Source.of_path(CASES / case["file"])
        reader = next(reader for reader in (MBOX, EML) if reader.recognises(source.head(), source.name))
        frame, _ = read((CASES / case["file"]).read_bytes(), reader, source.label, tz=case["default_tz"])
        expected = [one for one in case["expect"] if one.get("action") != "skip"]
        assert [row["at"] for row in frame.iter_rows(named=True)] == [
            datetime.fromisoformat(one["start"]) for one in expected
        ], case["file"]
        for row, one in zip(frame.iter_rows(named=True), expected, strict=True):
            assert row["action"] == one.get("action", row["action"])
            assert row["to:list"] == one.get("participants", row["to:list"])
            if one.get("name", "?") != "?":
                assert row["from_name:text"] == one["name"]


@pytest.mark.parametrize("content", NO_MAIL)
def test_what_is_no_mail_is_not_recognised(content: bytes) -> None:
    assert not MBOX.recognises(content, "file.txt")
    assert not EML.recognises(content, "file.txt")


def test_a_message_behind_a_from_line_is_an_mbox_and_else_a_message() -> None:
    assert MBOX.recognises(mbox(mail()), "file")
    assert not EML.recognises(mbox(mail()), "file.eml")
    assert EML.recognises(mail().encode(), "1712.M1.host:2,S")
    assert not MBOX.recognises(mail().encode(), "1712.M1.host:2,S")
    assert EML.recognises(b"\xef\xbb\xbf\n" + mail().encode(), "x.eml")


def test_an_mbox_may_begin_with_a_damaged_message() -> None:
    content = mbox(mail(), mail())[len("From ada@example.com Mon Mar  4 09:00:00 2024\n") :]
    assert MBOX.recognises(content, "x.mbox")
    assert read(content)[0].height == 2


def test_apples_emlx_begins_with_its_length() -> None:
    content = b"1234      \n" + mail().encode() + b'<?xml version="1.0"?>'
    assert EML.recognises(content, "12.emlx")
    assert only(read(content, EML)[0])["from"] == "ada@example.com"


def test_a_saved_web_page_is_no_mail() -> None:
    page = (
        b"From: <Saved by Blink>\nSubject: Roof\nDate: Mon, 4 Mar 2024 10:00:00 -0000\nMIME-Version: 1.0\n\n"
    )
    assert not EML.recognises(page, "roof.mhtml")
