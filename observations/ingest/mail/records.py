"""Converts the header of a mail to an observation, or to a note about why it is skipped.

**Sent or received.** A mail is sent if its From address is one of `ReadOptions.me`; else Gmail's labels, or the folder
the file lies in. Where nothing tells, a mail was received, and a note says so. With `user_field` "from" (the archive
of a mailing list) each writer is the user of what they wrote: all is sent.

**When.** The Date header; if it is missing or cannot be, the newest Received, then the From_ line; a mail with
none of them is rejected. The offset in Date is that of the writer's clock: it gives the local time of mail that
the user sent. It says nothing about the user's clock in mail that was received, and neither do ``-0000`` and
``GMT``: these get the wall clock of `ReadOptions.tz`. So does ``+0000`` in the user's own mail, for Exchange and
many web mailers write all dates so, wherever the person is.

**What.** ``from``, ``from_name``, ``to``, ``cc``, ``bcc``, ``participants``, ``subject``, ``labels``, ``list_id``, ``thread`` (the
Message-ID that began it), ``reply`` and ``automatic``. A mail without Cc was copied to nobody, which is
something to know about it: then ``cc`` is empty. Where a mail names no recipient at all, as in archives of lists, ``to``
and ``cc`` are absent.

**Left out.** Spam, trash, drafts, chats, and what waits to be sent. (That a Message-ID comes twice is left to the one
place that sees all sources: `observations.ingest.read`.)
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from observations.ingest.mail.addresses import Address, addresses_in, person_behind_list
from observations.ingest.mail.dates import MailDate, parse_date, parse_envelope_date, parse_received_date
from observations.ingest.mail.folders import NO_BEHAVIOUR, Role
from observations.ingest.mail.headers import decode_bytes, decode_text, parse_received
from observations.ingest.mail.mbox import RawMessage
from observations.ingest.mail.message import Mail, Recipients
from observations.ingest.toolkit.note import Note
from observations.ingest.toolkit.reader import BATCH_ROWS, Batch, ReadOptions
from observations.ingest.toolkit.record_builder import RecordBuilder

REJECTS_HELD = 10_000
"""Rejects that are gathered before they are handed on, with or without observations."""

Action = Literal["sent", "received"]


@dataclass
class MailRecords:
    """Collects messages, of one source or of many."""

    options: ReadOptions
    _records: RecordBuilder = field(default_factory=RecordBuilder)
    _rejects: list[Note] = field(default_factory=list)
    _first: dict[str, Note] = field(default_factory=dict)  # of each reason that is only counted
    _counts: Counter[str] = field(default_factory=Counter)

    @property
    def is_full(self) -> bool:
        """True if there is enough for a batch."""
        return len(self._records) >= BATCH_ROWS or len(self._rejects) >= REJECTS_HELD

    def batch(self) -> Batch:
        """Everything gathered since the last batch."""
        counted = [replace(note, count=self._counts[reason]) for reason, note in self._first.items()]
        notes = [*self._rejects, *counted]
        self._rejects.clear()
        self._first.clear()
        self._counts.clear()
        return self._records.rest(notes)

    def add(self, raw: RawMessage, source: str, place: Role | None) -> None:
        """Take in one message: it becomes an observation or a note.

        Args:
            raw: the message.
            source: the label of the source that it is from.
            place: what the folder is for that the source is or lies in, where its name tells.

        """
        mail = Mail.of(raw, source, place)
        if problem := mail.problem():
            self._reject(mail, *problem)
        elif mail.role in NO_BEHAVIOUR:
            self._count(mail, "left_out", mail.role, f"mail in {mail.role} is left out")
        elif (date := self._date(mail)) is None:
            written = decode_text(mail.fields.get("date", ""), 80)
            found = f"its date {written!r} is invalid" if written else "it has no date"
            self._reject(mail, "no_timestamp", f"{found} and no other header has one; skipped")
        else:
            self._observe(mail, date)

    def _observe(self, mail: Mail, date: MailDate) -> None:
        if not mail.raw.complete:
            message = "the message is truncated; the part that is there is read"
            self._count(mail, "warning", "truncated", message)
        sender = person_behind_list(mail.fields, mail.sender())
        action = self._action(mail, sender)
        at, local, tz = self._times(mail, date, action)
        recipients = mail.recipients()
        features = mail.features(sender)
        features["to"] = recipients.to
        features["cc"] = recipients.cc
        features["bcc"] = recipients.bcc
        features["participants"] = self._participants(mail, recipients, sender, action)
        self._records.add("email", action, at=at, local=local, tz=tz, id=mail.id, features=features)

    def _date(self, mail: Mail) -> MailDate | None:
        """The date of the mail, from the first valid header; adds a note if that is not Date."""
        date = parse_date(mail.fields["date"]) if "date" in mail.fields else None
        if date is None or self._is_future(date):
            received = parse_received_date(parse_received(mail.raw.header))
            if received is not None and not self._is_future(received):
                why = "no valid date" if date is None else "a date in the future"
                self._count(mail, "warning", "date_from_received", f"{why}; taken from Received")
                date = received
        if date is None:
            date = parse_envelope_date(decode_bytes(mail.raw.envelope))
            if date is not None:
                message = "no valid date; taken from the From_ line, which is in UTC by convention"
                self._count(mail, "warning", "date_from_envelope", message)
        return date

    def _is_future(self, date: MailDate) -> bool:
        return date.at is not None and date.at > self.options.until

    def _action(self, mail: Mail, sender: Address) -> Action:
        if self._has_many_users or sender.address in self.options.me or mail.role == "sent":
            return "sent"
        if not self.options.me and mail.role is None:
            message = "cannot tell sent from received without `me` or a folder; read as received"
            self._count(mail, "warning", "direction_unknown", message)
        return "received"

    @property
    def _has_many_users(self) -> bool:
        return self.options.user_field == "from"

    def _times(
        self, mail: Mail, date: MailDate, action: Action
    ) -> tuple[datetime | None, datetime | None, str | None]:
        """The instant, the wall clock and the zone, as `RecordBuilder.add` takes them (see the module)."""
        tz = self.options.tz
        if date.at is None:
            self._count(mail, "warning", "tz_unknown", f"the date has no known time zone; read in {tz}")
            return None, date.wall, tz
        if action == "received":
            return date.at, None, tz
        if not date.is_local:
            message = f"the date is in UTC, not in the writer's time zone; the local time is that of {tz}"
            self._count(mail, "warning", "offset_unknown", message)
            return date.at, None, tz
        if date.offset or self._has_many_users:
            return date.at, date.wall, None
        return date.at, None, tz

    def _participants(
        self, mail: Mail, recipients: Recipients, sender: Address, action: Action
    ) -> list[str] | None:
        """Everyone in from, to and cc but the user; None for sent mail whose recipients are not known."""
        if recipients.to is None and action == "sent":
            return None
        own = (sender.address,) if action == "sent" else addresses_in(mail.fields, "delivered-to")
        everyone = dict.fromkeys([sender.address, *(recipients.to or ()), *(recipients.cc or ())])
        return [one for one in everyone if one and one not in own and one not in self.options.me]

    def _reject(self, mail: Mail, reason: str, message: str) -> None:
        self._rejects.append(Note("reject", mail.source, reason, message, mail.raw.line, mail.id))

    def _count(self, mail: Mail, level: Literal["left_out", "warning"], reason: str, message: str) -> None:
        """Count a note that many mails share; it shows the first of them."""
        self._counts[reason] += 1
        if reason not in self._first:
            self._first[reason] = Note(level, mail.source, reason, message, mail.raw.line, mail.id)
