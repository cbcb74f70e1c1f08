"""The mail readers: mbox files, and files that are one message (maildir, .eml, .emlx).

One message is one observation; `observations.ingest.mail.records` says what becomes of it. Bodies are passed over:
only where they end is looked for.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from observations.ingest.mail.folders import role_of_place
from observations.ingest.mail.headers import parse_header
from observations.ingest.mail.mbox import begins_mbox, find_messages, read_first_header
from observations.ingest.mail.records import MailRecords
from observations.ingest.toolkit.reader import Batch, ReadOptions, Source


@dataclass(frozen=True)
class Mbox:
    """Reads mbox files: messages one after the other, each behind a From_ line."""

    name: str = "mbox"

    def recognises(self, head: bytes, name: str) -> bool:
        """True if the first line is a From_ line; an .mbox may also begin with a damaged message, or be empty."""
        if begins_mbox(head):
            return True
        return name.endswith((".mbox", ".mbx")) and (not head.strip() or begins_message(head))

    def read(self, source: Source, options: ReadOptions) -> Iterator[Batch]:
        """Each message, from its header; mail in spam, trash and drafts is left out.

        One pass, in constant memory.
        """
        records = MailRecords(options)
        place = role_of_place(source.label, is_folder=True)
        with source.open() as stream:
            for message in find_messages(stream):
                records.add(message, source.label, place)
                if records.is_full:
                    yield records.batch()
        yield records.batch()


@dataclass(frozen=True)
class Eml:
    """Reads files that are one message: maildir, .eml, .emlx."""

    name: str = "mail message"

    def recognises(self, head: bytes, name: str) -> bool:
        """True if the file begins with the header of a message (and is not a saved web page)."""
        return begins_message(head) and not name.endswith((".mht", ".mhtml"))

    def read(self, source: Source, options: ReadOptions) -> Iterator[Batch]:
        """The message of each file: `.eml`, `.emlx`, and the files of a maildir."""
        yield from self.read_all([source], options)

    def read_all(self, sources: Iterable[Source], options: ReadOptions) -> Iterator[Batch]:
        """The messages of many files, in common batches: a maildir has a hundred thousand, and a frame for each
        takes twenty times as long as reading it. Notes that only count name the first file.
        """
        records = MailRecords(options)
        for source in sources:
            with source.open() as stream:
                message = read_first_header(stream)
            records.add(message, source.label, role_of_place(source.label, is_folder=False))
            if records.is_full:
                yield records.batch()
        yield records.batch()


MBOX = Mbox()
EML = Eml()


def begins_message(head: bytes) -> bool:
    """True if a file with these first bytes begins with the header of a mail: its first line is a field, and
    it has two of the fields that mail has and hardly anything else.
    """
    first = read_first_header(io.BytesIO(head))
    if first.envelope or not _FIELD.match(first.header):
        return False
    return len(_TELLING & parse_header(first.header).keys()) >= 2


_FIELD = re.compile(rb"[!-9;-~]+[ \t]*:")
_TELLING = frozenset({"from", "date", "message-id", "return-path", "delivered-to", "subject"})
