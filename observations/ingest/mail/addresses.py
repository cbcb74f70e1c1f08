"""People in mail headers: address lists as they are written, and the person behind a mailing list.

The usual forms are read here; all others go to ``email.utils.getaddresses``, and what that loses (Outlook's
semicolons between unquoted names with commas, a missing bracket, blanks for commas) is found by looking for
addresses as such.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from email.utils import getaddresses
from functools import lru_cache
from typing import NamedTuple

from observations.ingest.mail.headers import Fields, decode_text

CACHED_LENGTH = 500
"""Headers up to this many characters are remembered: people write to the same people."""

LONGEST_ADDRESS = 320
"""Characters of an address (RFC 3696); what is longer is none."""

LONGEST_HARD = 50_000
"""Characters of a list that `getaddresses` is asked about: its time grows with their square."""


class Address(NamedTuple):
    """One mailbox: the name as a person reads it ("" where there is none), the address in lower case."""

    name: str
    address: str


def parse_addresses(raw: str) -> tuple[Address, ...]:
    """The mailboxes of an address header, groups resolved, each address once.

    >>> [a.address for a in parse_addresses('team: cy@example.com, dee@example.com;')]
    ['cy@example.com', 'dee@example.com']
    >>> parse_addresses('undisclosed-recipients:;')
    ()
    >>> parse_addresses('ada at example.com (Ada Okafor)')
    (Address(name='Ada Okafor', address='ada@example.com'),)
    """
    return _parse_cached(raw) if len(raw) <= CACHED_LENGTH else _parse(raw)


def addresses_in(fields: Fields, header: str) -> tuple[str, ...]:
    """The addresses in one field, without names; none where the field is absent."""
    raw = fields.get(header)
    if raw is None:
        return ()
    return _only_addresses(raw) if len(raw) <= CACHED_LENGTH else tuple(one.address for one in _parse(raw))


def person_behind_list(fields: Fields, sender: Address) -> Address:
    """Who wrote a mail that a list sent on under its own address ("Ada via Builders <builders@…>"); the sender
    itself where no list did that.

    Lists rewrite From so that DMARC lets the mail pass. The person is then in X-Original-From, in Reply-To or
    Cc under the same name, or only in the name that stands before "via".
    """
    for header in ("x-original-from", "x-google-original-from"):
        original = parse_addresses(fields.get(header, ""))
        if original:
            return original[0]
    via = _VIA.match(sender.name)
    if via is None:
        return sender
    name = via[1].strip(" '\"")
    lists = {sender.address} | {a.address for a in parse_addresses(fields.get("list-post", ""))}
    for header in ("reply-to", "x-original-sender", "cc"):
        found = [a for a in parse_addresses(fields.get(header, "")) if a.address not in lists]
        same = [a for a in found if a.name.casefold() == name.casefold()]
        if same or (found and header != "cc" and len(found) == 1):
            return Address(name, (same or found)[0].address)
    return Address(name, name) if _is_list(fields, sender) else Address(name, sender.address)


_LOCAL = r"[^\s<>(),;:\"@\\]+"
_HOST = r"[^\s<>()\[\],;:\"@\\]+"
# Possessive throughout (`*+`): what one part has taken, no other part tries again.
_PLAIN = re.compile(
    rf"\s*+(?:(?:\"([^\"\\]*+)\"\s*+|([^\"<>()\[\],;:@\\]*+))<\s*+({_LOCAL}@{_HOST})\s*+>|({_LOCAL}@{_HOST}))\s*+(?:,|$)"
)
# It begins where an address can: without that, each place in a long word would be tried.
_ADDRESS = re.compile(rf"(?<![^\s<>(),;:\"@\\]){_LOCAL}@(?:{_HOST}|\[[^\s\]]*\])")
_QUOTED_LOCAL = re.compile(rf"\"[^\"@]+\"@{_HOST}")
_OBSCURED = re.compile(
    r"(?<![^\s<(])([\w.+=-]+)\s+(?:at|\(at\)|\(a\)|\[at\])\s+([\w-]+(?:\.[\w-]+)+)", re.IGNORECASE
)
_QUOTED = r'"(?:[^"\\]++|\\.?)*+(?:"|$)'  # or never closed
_SEMICOLON = re.compile(rf"({_QUOTED})|;")
_QUOTED_OR_COMMENT = re.compile(rf"{_QUOTED}|\([^()]*\)")
_LONE_NAME = re.compile(r"\s*<?([\w.+-]+)>?\s*(?:\(([^()]*)\))?\s*")
_NOBODY = re.compile(r"(?:undisclosed|unlisted)[-_.]?recipients?", re.IGNORECASE)
_VIA = re.compile(r"(.+?)\s+(?:\(via .+\)|via\s+.+)$", re.IGNORECASE)
_LENIENT = {"strict": False} if "strict" in inspect.signature(getaddresses).parameters else {}


@lru_cache(maxsize=32_768)
def _parse_cached(raw: str) -> tuple[Address, ...]:
    return _parse(raw)


@lru_cache(maxsize=32_768)
def _only_addresses(raw: str) -> tuple[str, ...]:
    return tuple(one.address for one in _parse_cached(raw))


def _parse(raw: str) -> tuple[Address, ...]:
    plain = _parse_plain(raw)
    return _unique(plain if plain is not None else _parse_hard(raw))


def _parse_plain(raw: str) -> list[Address] | None:
    """The mailboxes, if all of them have one of the usual forms; else None."""
    found: list[Address] = []
    position = 0
    while position < len(raw):
        one = _PLAIN.match(raw, position)
        if one is None:
            return None if raw[position:].strip() else found
        quoted, name, angled, bare = one.groups()
        found.append(_address(quoted or name or "", angled or bare))
        position = one.end()
    return found


def _parse_hard(raw: str) -> list[Address]:
    text = raw if "@" in raw else _OBSCURED.sub(r"\1@\2", raw)
    if "@" not in text and "=?" in text:
        text = decode_text(text)  # some programs encode the address along with the name
    if "@" not in text:
        return _parse_lone_name(text)
    if ":" not in text:  # no group: Outlook's semicolons
        text = _SEMICOLON.sub(lambda m: m[1] or ",", text)
    read = [_address(name, address) for name, address in _get_addresses(text)]
    found = [a for a in read if _ADDRESS.fullmatch(a.address) or _QUOTED_LOCAL.fullmatch(a.address)]
    known = {a.address for a in found}
    bare = _QUOTED_OR_COMMENT.sub(" ", text.replace("mailto:", ""))
    missed = [_address("", address) for address in _ADDRESS.findall(bare)]
    return found + [a for a in missed if a.address not in known]


def _get_addresses(text: str) -> Iterable[tuple[str, str]]:
    if len(text) > LONGEST_HARD:
        return []
    try:
        return getaddresses([text], **_LENIENT)
    except (IndexError, ValueError, RecursionError):  # older parsers stumble over cut comments and the like
        return []


def _parse_lone_name(text: str) -> list[Address]:
    """A mailbox of one machine's own mail, which has no domain: ``root (Cron Daemon)``."""
    lone = _LONE_NAME.fullmatch(text)
    if lone is None or _NOBODY.fullmatch(lone[1]):
        return []
    return [_address(lone[2] or "", lone[1])]


@lru_cache(maxsize=32_768)
def _address(name: str, address: str) -> Address:
    if not address.startswith(('"', ".")):  # these may belong to it
        address = address.strip(" '<>.,;")
    name = decode_text(name).strip(" '\"") if name else ""
    lower = address.lower()
    return Address("" if name.lower() == lower else name, lower)


def _unique(addresses: Iterable[Address]) -> tuple[Address, ...]:
    first: dict[str, Address] = {}
    for one in addresses:
        if len(one.address) <= LONGEST_ADDRESS:
            first.setdefault(one.address, one)
    return tuple(first.values())


def _is_list(fields: Fields, sender: Address) -> bool:
    if any(header in fields for header in ("list-id", "list-post", "mailing-list")):
        return True
    to = (*parse_addresses(fields.get("to", "")), *parse_addresses(fields.get("cc", "")))
    return any(a.address == sender.address for a in to)
