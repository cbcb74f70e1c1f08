"""Parses a header block: fields, and text in any encoding.

``email.header.decode_header`` of the standard library is the oracle in the tests. It is not used here because it
raises on a bad base64 word, which costs the whole subject, and because it cannot give back the raw word where
the charset is unknown.
"""

from __future__ import annotations

import binascii
import codecs
import re
from collections.abc import Mapping
from functools import lru_cache

Fields = Mapping[str, str]
"""Field name in lower case → value, unfolded and still encoded; of the `SEVERAL`, all values."""

SEVERAL = frozenset({"to", "cc", "bcc"})
"""Fields of which all occurrences count, put together with commas. Of the others the first one counts."""

LONGEST_TEXT = 2_000
"""Characters of a subject, a name or a label that are kept."""

LONGEST_ID = 512
"""Characters of a Message-ID; a longer one is none (RFC 5322 allows lines of 998)."""

IDENTIFYING = frozenset({"from", "to", "date", "subject", "message-id", "sender", "delivered-to"})
"""Without one of these a block is no header of a message."""


def parse_header(block: bytes) -> dict[str, str]:
    r"""The fields of a header block that the readers use; what is no field is passed over.

    >>> parse_header(b"Subject: Roof\n tiles\nX-Other: 1\n")
    {'subject': 'Roof tiles'}
    """
    fields: dict[str, str] = {}
    for field in _FIELD_END.split(decode_bytes(block)):
        name, _, value = field.partition(":")
        key = _NAMES[name]
        if not key:
            continue
        # Most values are tidy: to look takes less than to split and join.
        tidy = value.isprintable() and "  " not in value
        value = value.strip() if tidy else " ".join(value.split())
        if key not in fields:
            fields[key] = value
        elif key in SEVERAL:
            fields[key] += ", " + value
    return fields


def parse_received(block: bytes) -> list[str]:
    """The Received fields of a header block, in their order: the newest first. Read only where they are needed,
    for they are most of a header.
    """
    fields = (field.partition(":") for field in _FIELD_END.split(decode_bytes(block)))
    return [" ".join(value.split()) for name, _, value in fields if name.lower() == "received"]


def decode_bytes(raw: bytes) -> str:
    """Bytes of a header as text: each line that is not UTF-8 is read as Latin-1, which fits anything."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        pass
    return "\n".join([_decode_line(line) for line in raw.split(b"\n")])


def _decode_line(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line.decode("latin-1")


def decode_text(raw: str, longest: int = LONGEST_TEXT) -> str:
    """A header's value as a person reads it: RFC 2047 words decoded, white space and control characters made
    single blanks. A word in an unknown charset stays as it is.

    >>> decode_text("=?utf-8?B?w4lsaXNl?= =?utf-8?B?IE5vw6s=?=")
    'Élise Noë'
    >>> decode_text("=?unknown-x?Q?abc?=")
    '=?unknown-x?Q?abc?='
    """
    text = raw[:longest]
    if text.isprintable() and "=?" not in text and "  " not in text:
        return text.strip()
    if "=?" in text:
        text = _WORDS.sub(lambda run: _decode_run(run[0]), text)
    return " ".join(_CONTROL.sub(" ", text).split())


def first_message_id(raw: str) -> str | None:
    """The first Message-ID in a header, in its angle brackets, without white space; None where there is none.

    >>> first_message_id("<a@exam ple.com> <b@example.com>"), first_message_id("a@example.com (x)")
    ('<a@example.com>', '<a@example.com>')
    """
    plain = _PLAIN_ID.match(raw)
    if plain is not None:
        return plain[0]
    bracketed = _BRACKETED.search(raw)
    words = bracketed[1].split() if bracketed else raw.split()[:1]
    id = "".join(words)
    return f"<{id}>" if 1 < len(id) <= LONGEST_ID and id.isprintable() else None


_USED_NAMES = """
    from to cc bcc date subject message-id in-reply-to references reply-to sender return-path delivered-to
    x-original-from x-original-sender x-google-original-from x-gmail-labels list-id list-post list-unsubscribe
    mailing-list precedence auto-submitted content-type content-class feedback-id x-autoreply x-autorespond
    x-auto-response-suppress x-failed-recipients x-cron-env x-github-reason x-gitlab-notificationreason
    x-bugzilla-reason x-facebook-notify x-linkedin-class x-mc-user x-mandrill-user x-sg-eid x-mailgun-sid
    x-campaign x-campaignid x-campaign-id x-mozilla-status x-status x-unsent
"""
_USED = frozenset(_USED_NAMES.split())


class _Names(dict[str, str]):
    """Field name as it is spelled → key in `Fields`, or "" for a field that is not used. Learned, for lower-casing
    each name of each header costs as much as splitting it.
    """

    def __missing__(self, name: str) -> str:
        key = name.strip().lower()
        key = key if key in _USED else ""
        if len(self) < 4096:
            self[name] = key
        return key


_NAMES = _Names()
_FIELD_END = re.compile(r"\n(?![ \t])")
_WORD = r"=\?([^?\s]{1,60})\?([BbQq])\?([^\n]{0,1000}?)\?="
_WORDS = re.compile(rf"{_WORD}(?:\s*{_WORD})*")
_ONE_WORD = re.compile(_WORD)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_PLAIN_ID = re.compile(rf"<[!-;=?-~]{{2,{LONGEST_ID}}}>")
_BRACKETED = re.compile(r"<([^<>]*)>")
# The suffix says in which direction the text is to be shown, not how it is to be read.
_HEBREW_ORDER = re.compile(r"iso-8859-8-[ie]", re.IGNORECASE)
# Codecs that Python calls text encodings and that no mail is written in; some are quadratic.
_NO_CHARSETS = frozenset({"punycode", "idna", "unicode_escape", "raw-unicode-escape", "undefined"})


def _decode_run(run: str) -> str:
    """A run of encoded words. Neighbours in one charset are joined before they are decoded, for a character
    may be split between them.
    """
    parts: list[tuple[str | None, bytes, str]] = []  # charset, bytes, as it stood
    for word in _ONE_WORD.finditer(run):
        charset = _charset(word[1])
        data = _decode_base64(word[3]) if word[2] in "Bb" else _decode_quoted(word[3])
        if parts and charset is not None and parts[-1][0] == charset:
            _, before, stood = parts.pop()
            data, raw = before + data, stood + word[0]
        else:
            raw = word[0]
        parts.append((charset, data, raw))
    return "".join(raw if charset is None else _decode(data, charset) for charset, data, raw in parts)


@lru_cache(maxsize=256)
def _charset(name: str) -> str | None:
    """The codec for a charset, or None if there is none. A language may follow it (RFC 2231: utf-8*en)."""
    name = _HEBREW_ORDER.sub("iso-8859-8", name.partition("*")[0])
    try:
        b"a".decode(name)  # refuses what is no text encoding (rot13, zlib)
        codec = codecs.lookup(name).name
    except (LookupError, ValueError):
        return None
    if codec in _NO_CHARSETS:
        return None
    return "gb18030" if codec == "gb2312" else codec  # what is labelled so is often its superset


def _decode(data: bytes, charset: str) -> str:
    try:
        return data.decode(charset)
    except (UnicodeDecodeError, ValueError):
        return decode_bytes(data) if charset == "ascii" else data.decode(charset, "replace")


def _decode_quoted(payload: str) -> bytes:
    return binascii.a2b_qp(payload.encode(), header=True)


def _decode_base64(payload: str) -> bytes:
    """What a base64 payload holds, as far as it holds anything: it may be cut, or lack its padding."""
    digits = re.sub(r"[^A-Za-z0-9+/]", "", payload)
    digits = digits[:-1] if len(digits) % 4 == 1 else digits
    return binascii.a2b_base64(digits + "=" * (-len(digits) % 4))
