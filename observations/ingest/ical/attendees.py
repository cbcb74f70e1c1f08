"""Who is in an event: its organizer and participants, and what the person answered."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import NamedTuple

from observations.ingest.ical.parser import Component, Property
from observations.ingest.ical.values import address_of

NO_PERSON = frozenset({"ROOM", "RESOURCE"})
"""Values of CUTYPE that are things."""

NO_PERSONS_DOMAINS = (
    "@resource.calendar.google.com",  # a room
    "@group.calendar.google.com",  # a calendar that several people share
    "@import.calendar.google.com",
    "@calendar.google.com",  # unknownorganizer@
)


class People(NamedTuple):
    """The people of one event.

    Attributes:
        organizer: address in lower case, or None.
        participants: attendees and organizer with an address, once each, without rooms and the person.
        response: what the person answered (PARTSTAT, lower case), or None where they are no attendee.

    """

    organizer: str | None
    participants: list[str]
    response: str | None


NOBODY = People(None, [], None)


def people_of(event: Component, me: Collection[str]) -> People:
    """The people of the event; `me` has the person's own addresses, in lower case.

    A name without an address is no participant: nothing says that it is the same person in another event.
    """
    if not event.has("ATTENDEE") and not event.has("ORGANIZER"):
        return NOBODY
    organizer = next((guest.address for guest in map(_guest, event.all("ORGANIZER")) if guest.address), None)
    participants: dict[str, None] = {}
    response = None
    for guest in map(_guest, event.all("ATTENDEE")):
        if guest.address in me:
            response = guest.answer or response
        elif guest.address and guest.is_person:
            participants[guest.address] = None
    if organizer and organizer not in me and not organizer.endswith(NO_PERSONS_DOMAINS):
        participants[organizer] = None
    return People(organizer, list(participants), response)


class _Guest(NamedTuple):
    address: str | None
    is_person: bool
    answer: str | None


@lru_cache(maxsize=4096)  # the same people come again and again
def _guest(line: Property) -> _Guest:
    address = address_of(line)
    kind = (line.parameter("CUTYPE") or "").upper()
    is_person = kind not in NO_PERSON and not (address or "").endswith(NO_PERSONS_DOMAINS)
    return _Guest(address, is_person, (line.parameter("PARTSTAT") or "").lower() or None)
