"""One mail: the values of its header, before it is assigned to a user."""

from __future__ import annotations

from typing import NamedTuple

from observations.ingest.mail.addresses import Address, addresses_in, parse_addresses
from observations.ingest.mail.auto_generated import is_automatic
from observations.ingest.mail.folders import Role, parse_labels, strongest
from observations.ingest.mail.headers import (
    IDENTIFYING,
    Fields,
    decode_bytes,
    decode_text,
    first_message_id,
    parse_header,
)
from observations.ingest.mail.mbox import RawMessage
from observations.ingest.toolkit.record_builder import Value


class Recipients(NamedTuple):
    """The recipients of a mail: None if unknown, empty if there are none."""

    to: tuple[str, ...] | None
    cc: tuple[str, ...] | None
    bcc: tuple[str, ...] | None


class Mail(NamedTuple):
    """A mail with its header read.

    Attributes:
        raw: where and what it is in the file.
        fields: its header.
        source: the label of the file.
        id: its Message-ID; None where it has none.
        role: the role by its labels, else its folder, else the marks of its mail program; None if unknown.

    """

    raw: RawMessage
    fields: Fields
    source: str
    id: str | None
    role: Role | None

    @classmethod
    def of(cls, raw: RawMessage, source: str, place: Role | None) -> Mail:
        """The mail with this header. `place` is what the folder is for that it lies in."""
        fields = parse_header(raw.header)
        own = parse_labels(fields["x-gmail-labels"]).role if "x-gmail-labels" in fields else place
        marks = _marks(fields)
        role = strongest([own, *marks]) if marks else own
        return cls(raw, fields, source, first_message_id(fields.get("message-id", "")), role)

    def problem(self) -> tuple[str, str] | None:
        """Why it cannot be read, as reason and sentence; None if it can."""
        header = self.raw.header
        if not header.strip():
            return "no_headers", "a message without headers; not read"
        if not self.raw.complete and not (header.endswith(b"\n") and "date" in self.fields):
            return "truncated", "the message is cut off inside its header; not read"
        if IDENTIFYING.isdisjoint(self.fields):
            return "no_headers", "what stands here is no header of a message; not read"
        return None

    def sender(self) -> Address:
        """The first valid address in From, Sender, Return-Path or the From_ line. Empty if there is none."""
        for header in ("from", "sender", "return-path"):
            if found := parse_addresses(self.fields.get(header, "")):
                return found[0]
        writer = decode_bytes(self.raw.envelope)[len("From ") :].partition(" ")[0]
        known = () if writer.endswith("@xxx") else parse_addresses(writer)  # Takeout writes a number @xxx
        return known[0] if known else Address("", "")

    def recipients(self) -> Recipients:
        """The recipients.

        If a mail has any recipient header, a missing Cc is empty. If it has none, its recipients are unknown (None):
        archives of lists remove them.
        """
        bcc = addresses_in(self.fields, "bcc") if "bcc" in self.fields else None
        if bcc is None and "to" not in self.fields and "cc" not in self.fields:
            return Recipients(None, None, None)
        return Recipients(addresses_in(self.fields, "to"), addresses_in(self.fields, "cc"), bcc)

    def features(self, sender: Address) -> dict[str, Value | None]:
        """The other features. `sender` is the person that wrote the mail."""
        fields = self.fields
        subject = decode_text(fields.get("subject", ""))
        root = first_message_id(fields.get("references", "")) or first_message_id(
            fields.get("in-reply-to", "")
        )
        return {
            "subject": subject or None,
            "from": sender.address or None,
            "from_name": sender.name or None,
            "labels": parse_labels(fields["x-gmail-labels"]).names if "x-gmail-labels" in fields else None,
            "list_id": _list_id(fields["list-id"]) if "list-id" in fields else None,
            "thread": root or self.id,
            "reply": root is not None,
            "automatic": True if is_automatic(fields, sender.address, subject) else None,
        }


_DELETED_IN_MOZILLA = 0x0008


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


def _list_id(raw: str) -> str | None:
    """What identifies a list: what stands in the brackets of List-Id."""
    id = first_message_id(raw)
    return id.strip("<>").lower() if id else None
