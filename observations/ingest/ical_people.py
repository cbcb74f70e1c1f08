"""Who is in an event: its organizer and participants, and what the person answered."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from observations.ingest.ical_lines import Component, Property
from observations.ingest.ical_values import address_of

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
        organizer: address in lower case, or null.
        participants: organizer and attendees with an address, once each, without rooms and the person.
        response: what the person answered (PARTSTAT, lower case), or null where they are no attendee.

    """

    organizer: str | None
    participants: list[str]
    response: str | None


NOBODY = People(None, [], None)


def people_of(event: Component, me: Collection[str]) -> People:
    """The people of the event; `me` has the person's own addresses, in lower case.

    A name without an address is no participant: it would not be the same person in another event.
    """
    if "ATTENDEE" not in event.properties and "ORGANIZER" not in event.properties:
        return NOBODY
    organizer = next(filter(None, map(address_of, event.all("ORGANIZER"))), None)
    participants: dict[str, None] = {}
    response = None
    for attendee in event.all("ATTENDEE"):
        address = address_of(attendee)
        if address is None:
            continue
        if address in me:
            response = _answer(attendee) or response
        elif _is_person(attendee, address):
            participants[address] = None
    if organizer and organizer not in me and not organizer.endswith(NO_PERSONS_DOMAINS):
        participants[organizer] = None
    return People(organizer, list(participants), response)


def _is_person(attendee: Property, address: str) -> bool:
    kind = (attendee.parameter("CUTYPE") or "").upper()
    return kind not in NO_PERSON and not address.endswith(NO_PERSONS_DOMAINS)


def _answer(attendee: Property) -> str | None:
    answer = attendee.parameter("PARTSTAT")
    return answer.lower() if answer else None
