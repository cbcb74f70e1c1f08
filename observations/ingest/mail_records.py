"""From the header of a mail to an observation, or to a note that says why there is none.

**Sent or received.** The From address tells if it is one of `ReadOptions.me`; else Gmail's labels, or the folder
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
place that sees all sources: `observations.ingest.reading`.)
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, NamedTuple

import polars as pl

from observations.ingest.base import BATCH_ROWS, Batch, Note, ReadOptions, Records, Value
from observations.ingest.mail_addresses import Address, addresses_in, parse_addresses, person_behind_list
from observations.ingest.mail_automatic import is_automatic
from observations.ingest.mail_boundaries import RawMessage
from observations.ingest.mail_dates import MailDate, parse_date, parse_envelope_date, parse_received_date
from observations.ingest.mail_headers import (
    IDENTIFYING,
    Fields,
    decode_bytes,
    decode_text,
    first_message_id,
    parse_header,
    parse_received,
)
from observations.ingest.mail_labels import NO_BEHAVIOUR, Role, parse_labels, strongest
from observations.privacy import redact, redact_series

REJECTS_HELD = 10_000
"""Rejects that are gathered before they are handed on, with or without observations."""


@dataclass
class MailRecords:
    """Gathers the messages of one source.

    Attributes:
        source: its label.
        options: how it is read.
        place: what the folder is for that it is or lies in, where its name tells.

    """

    source: str
    options: ReadOptions
    place: Role | None = None
    _records: Records = field(default_factory=Records)
    _rejects: list[Note] = field(default_factory=list)
    _counted: dict[str, Note] = field(default_factory=dict)  # one for each reason

    @property
    def is_full(self) -> bool:
        """Whether there is enough for a batch."""
        return len(self._records) >= BATCH_ROWS or len(self._rejects) >= REJECTS_HELD

    def batch(self) -> Batch:
        """Everything gathered since the last batch."""
        notes = [*self._rejects, *self._counted.values()]
        self._rejects.clear()
        self._counted.clear()
        batch = self._records.rest(notes)
        if "subject:text" not in batch.observations.columns:
            return batch
        return replace(batch, observations=batch.observations.with_columns(_redacted_subjects(batch)))

    def add(self, raw: RawMessage) -> None:
        """Take in one message: it becomes an observation or a note."""
        fields = parse_header(raw.header)
        id = first_message_id(fields.get("message-id", ""))
        role = self._role(fields)
        if problem := _problem(raw, fields):
            self._reject(raw, id, *problem)
        elif role in NO_BEHAVIOUR:
            self._count("left_out", role, f"mail in {role} is not behaviour; left out", raw, id)
        else:
            self._observe(raw, fields, id, role)

    def _role(self, fields: Fields) -> Role | None:
        """What the mail's labels, else its folder, or the marks of its mail program make of it."""
        own = parse_labels(fields["x-gmail-labels"]).role if "x-gmail-labels" in fields else self.place
        marks = _marks(fields)
        return strongest([own, *marks]) if marks else own

    def _observe(self, raw: RawMessage, fields: Fields, id: str | None, role: Role | None) -> None:
        date = self._date(raw, fields, id)
        if date is None:
            written = redact(decode_text(fields.get("date", ""), 80))
            found = f"its date {written!r} cannot be" if written else "it has no date"
            self._reject(raw, id, "no_timestamp", f"{found}, and no other header gives one; not read")
            return
        if not raw.complete:
            said = "the message is cut off behind its header, or inside it; read as far as it goes"
            self._count("warning", "truncated", said, raw, id)
        sender = person_behind_list(fields, _sender(raw, fields))
        action = self._action(sender, role, raw, id)
        at, local, tz = self._times(date, action)
        if action == "sent" and date.at is not None and not date.is_local:
            said = f"a date in UTC, which says nothing about the clock of who wrote; taken for that of {tz}"
            self._count("warning", "offset_unknown", said, raw, id)
        recipients = _recipients(fields)
        features = _features(fields, sender, id) | {
            "to": recipients.to,
            "cc": recipients.cc,
            "bcc": recipients.bcc,
            "participants": self._participants(recipients, fields, sender, action),
        }
        self._records.add("email", action, at=at, local=local, tz=tz, id=id, features=features)

    def _date(self, raw: RawMessage, fields: Fields, id: str | None) -> MailDate | None:
        """When the mail was sent, from the first header that tells; says so if that is not Date."""
        date = parse_date(fields["date"]) if "date" in fields else None
        if date is None or self._is_future(date):
            received = parse_received_date(parse_received(raw.header))
            if received is not None and not self._is_future(received):
                why = "no date that can be" if date is None else "a date in the future"
                self._count("warning", "date_from_received", f"{why}; taken from Received", raw, id)
                date = received
        if date is None:
            date = parse_envelope_date(decode_bytes(raw.envelope))
            if date is not None:
                said = "no date that can be; taken from the From_ line, which is UTC by tradition"
                self._count("warning", "date_from_envelope", said, raw, id)
        if date is not None and date.at is None:
            said = f"a date without a zone that is known; read in {self.options.tz}"
            self._count("warning", "tz_unknown", said, raw, id)
        return date

    def _is_future(self, date: MailDate) -> bool:
        return date.at is not None and date.at > self.options.until

    def _action(
        self, sender: Address, role: Role | None, raw: RawMessage, id: str | None
    ) -> Literal["sent", "received"]:
        if self.options.user_field == "from" or sender.address in self.options.me or role == "sent":
            return "sent"
        if not self.options.me and role is None:
            said = (
                "neither an address of yours (--me) nor a folder tells sent from received; read as received"
            )
            self._count("warning", "direction_unknown", said, raw, id)
        return "received"

    def _times(
        self, date: MailDate, action: Literal["sent", "received"]
    ) -> tuple[datetime | None, datetime | None, str | None]:
        """The instant, the wall clock and the zone, as `Records.add` takes them (see the module)."""
        if date.at is None:
            return None, date.wall, self.options.tz
        if (
            date.is_local
            and action == "sent"
            and (date.wall != date.at.replace(tzinfo=None) or self._has_many_users)
        ):
            return date.at, date.wall, None
        return date.at, None, self.options.tz

    def _participants(
        self, recipients: _Recipients, fields: Fields, sender: Address, action: Literal["sent", "received"]
    ) -> list[str] | None:
        """Everyone in from, to and cc but the user; null for sent mail whose recipients are not known."""
        if recipients.to is None and action == "sent":
            return None
        everyone = dict.fromkeys([sender.address, *(recipients.to or ()), *(recipients.cc or ())])
        own = (sender.address,) if action == "sent" else addresses_in(fields, "delivered-to")
        return [one for one in everyone if one and one not in own and one not in self.options.me]

    @property
    def _has_many_users(self) -> bool:
        return self.options.user_field is not None

    def _reject(self, raw: RawMessage, id: str | None, reason: str, message: str) -> None:
        self._rejects.append(Note("reject", self.source, reason, message, raw.line, id))

    def _count(
        self,
        level: Literal["left_out", "warning"],
        reason: str,
        message: str,
        raw: RawMessage,
        id: str | None,
    ) -> None:
        """One note for all mails that have the same said about them; it shows the first."""
        known = self._counted.get(reason)
        self._counted[reason] = (
            Note(level, self.source, reason, message, raw.line, id)
            if known is None
            else replace(known, count=known.count + 1)
        )


def _redacted_subjects(batch: Batch) -> pl.Series:
    """Subjects carry passwords and links with tokens, too."""
    return redact_series(batch.observations.get_column("subject:text"))


_DELETED_IN_MOZILLA = 0x0008


def _problem(raw: RawMessage, fields: Fields) -> tuple[str, str] | None:
    """Why a message cannot be read, as reason and sentence."""
    if not raw.header.strip():
        return "no_headers", "a message without headers; not read"
    if not raw.complete and not (raw.header.endswith(b"\n") and "date" in fields):
        return "truncated", "the message is cut off inside its header; not read"
    if IDENTIFYING.isdisjoint(fields):
        return "no_headers", "what stands here is no header of a message; not read"
    return None


def _marks(fields: Fields) -> list[Role]:
    """What mail programs mark in the mail itself: mbox flags, Thunderbird's flags, Outlook's drafts."""
    if not ("x-mozilla-status" in fields or "x-status" in fields or "x-unsent" in fields):
        return []
    flags = fields.get("x-status", "")
    mozilla = fields.get("x-mozilla-status", "").strip()
    deleted = "D" in flags or (_is_hex(mozilla) and bool(int(mozilla, 16) & _DELETED_IN_MOZILLA))
    draft = "T" in flags or fields.get("x-unsent", "").strip() == "1"
    marks: list[tuple[Role, bool]] = [("trash", deleted), ("draft", draft)]
    return [role for role, is_set in marks if is_set]


def _is_hex(text: str) -> bool:
    return 0 < len(text) <= 8 and not text.strip("0123456789abcdefABCDEF")


def _sender(raw: RawMessage, fields: Fields) -> Address:
    """Who the mail is from; where From is missing or unreadable, who handed it in. Empty if nothing says."""
    for header in ("from", "sender", "return-path"):
        if found := parse_addresses(fields.get(header, "")):
            return found[0]
    writer = decode_bytes(raw.envelope)[len("From ") :].partition(" ")[0]
    return next((one for one in parse_addresses(writer) if "@xxx" not in writer), Address("", ""))


class _Recipients(NamedTuple):
    """Who a mail went to. Null is "not known", empty is "nobody"."""

    to: tuple[str, ...] | None
    cc: tuple[str, ...] | None
    bcc: tuple[str, ...] | None


def _recipients(fields: Fields) -> _Recipients:
    """Who a mail went to. A mail that names anyone and has no Cc was copied to nobody; one that names no one at all
    has had its recipients removed, as archives of lists do.
    """
    bcc = addresses_in(fields, "bcc") if "bcc" in fields else None
    if bcc is None and "to" not in fields and "cc" not in fields:
        return _Recipients(None, None, None)
    return _Recipients(addresses_in(fields, "to"), addresses_in(fields, "cc"), bcc)


def _features(fields: Fields, sender: Address, id: str | None) -> dict[str, Value | None]:
    subject = decode_text(fields.get("subject", ""))
    root = first_message_id(fields.get("references", "")) or first_message_id(fields.get("in-reply-to", ""))
    return {
        "subject": subject or None,
        "from": sender.address or None,
        "from_name": sender.name or None,
        "labels": parse_labels(fields["x-gmail-labels"]).names if "x-gmail-labels" in fields else None,
        "list_id": _list_id(fields["list-id"]) if "list-id" in fields else None,
        "thread": root or id,
        "reply": root is not None,
        "automatic": True if is_automatic(fields, sender.address, subject) else None,
    }


def _list_id(raw: str) -> str | None:
    """What identifies a list: what stands in the brackets of List-Id."""
    id = first_message_id(raw)
    return id.strip("<>").lower() if id else None
