"""Outlook time zones: the IANA zone that a Windows or Outlook name means.

Outlook writes either the name of a Windows zone ("W. Europe Standard Time", which tzlocal's table knows) or the text that
it shows ("(UTC+01:00) Amsterdam, Berlin, Bern, Rome, Stockholm, Vienna"): the zone of the first of its cities that has
one. `DISPLAY_NAMES` has the shown texts whose cities do not determine it, from the ``Display`` values of the Windows
registry, without the offset, in lower case, `` and `` as `` & ``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from tzlocal.windows_tz import win_tz

from observations.ingest.ical.values import ZERO

DISPLAY_NAMES: Mapping[str, str] = {
    "aleutian islands": "America/Adak",
    "atlantic time (canada)": "America/Halifax",
    "baja california": "America/Tijuana",
    "bougainville island": "Pacific/Bougainville",
    "brasilia": "America/Sao_Paulo",
    "cabo verde is.": "Atlantic/Cape_Verde",
    "cape verde is.": "Atlantic/Cape_Verde",
    "central america": "America/Guatemala",
    "central time (us & canada)": "America/Chicago",
    "chatham islands": "Pacific/Chatham",
    "chetumal": "America/Cancun",
    "chihuahua, la paz, mazatlan": "America/Mazatlan",
    "chokurdakh": "Asia/Srednekolymsk",
    "city of buenos aires": "America/Argentina/Buenos_Aires",
    "coordinated universal time": "Etc/UTC",
    "coordinated universal time+12": "Etc/GMT-12",
    "coordinated universal time+13": "Etc/GMT-13",
    "coordinated universal time-02": "Etc/GMT+2",
    "coordinated universal time-08": "Etc/GMT+8",
    "coordinated universal time-09": "Etc/GMT+9",
    "coordinated universal time-11": "Etc/GMT+11",
    "easter island": "Pacific/Easter",
    "eastern time (us & canada)": "America/New_York",
    "ekaterinburg": "Asia/Yekaterinburg",
    "gaza, hebron": "Asia/Hebron",
    "georgetown, la paz, manaus, san juan": "America/La_Paz",
    "greenland": "America/Nuuk",
    "haiti": "America/Port-au-Prince",
    "indiana (east)": "America/Indiana/Indianapolis",
    "international date line west": "Etc/GMT+12",
    "kiritimati island": "Pacific/Kiritimati",
    "lord howe island": "Australia/Lord_Howe",
    "marquesas islands": "Pacific/Marquesas",
    "mid-atlantic": "Etc/GMT+2",
    "mid-atlantic - old": "Etc/GMT+2",
    "mountain time (us & canada)": "America/Denver",
    "newfoundland": "America/St_Johns",
    "newfoundland & labrador": "America/St_Johns",
    "norfolk island": "Pacific/Norfolk",
    "nuku'alofa": "Pacific/Tongatapu",
    "pacific time (us & canada)": "America/Los_Angeles",
    "pacific time (us & canada); tijuana": "America/Los_Angeles",
    "port louis": "Indian/Mauritius",
    "saint pierre & miquelon": "America/Miquelon",
    "salvador": "America/Bahia",
    "samoa": "Pacific/Apia",
    "saskatchewan": "America/Regina",
    "solomon is., new caledonia": "Pacific/Guadalcanal",
    "sri jayawardenepura": "Asia/Colombo",
    "turks & caicos": "America/Grand_Turk",
    "west central africa": "Africa/Lagos",
    "yangon (rangoon)": "Asia/Yangon",
    "yukon": "America/Whitehorse",
}
"""Display name → IANA zone."""

_ANY_YEAR = 2024

_PRINTED = re.compile(r"\(?(?:UTC|GMT)\s*(?:([+-])?(\d\d?)[:.]?(\d\d))?\)?\s*(.*)", re.IGNORECASE | re.ASCII)


def windows_zone(text: str) -> ZoneInfo | None:
    """The zone of a Windows name with an offset before it, a number after it, or in its summer form."""
    printed = _PRINTED.fullmatch(text)
    name = re.sub(r" \d+$", "", printed[4] if printed else text)
    name = re.sub(r"\b(Daylight|Summer) Time", "Standard Time", name, flags=re.IGNORECASE)
    key = _windows_names().get(name.lower())
    return ZoneInfo(key) if key else None


def display_zone(text: str) -> ZoneInfo | None:
    """The zone of a name that Outlook shows: a special one, or the first of its cities that has a zone.

    Cities of one name in several zones (La Paz) are distinguished by the printed offset.
    """
    printed = _PRINTED.fullmatch(text)
    name = printed[4] if printed else text
    if special := DISPLAY_NAMES.get(name.lower().replace(" and ", " & ")):
        return ZoneInfo(special)
    found = [zone for part in name.split(",") if (zone := _cities().get(part.strip().lower()))]
    if printed and printed[2]:
        minutes = (int(printed[2]) * 60 + int(printed[3])) * (-1 if printed[1] == "-" else 1)
        found.sort(key=lambda key: _winter_offset(key) != timedelta(minutes=minutes))
    return ZoneInfo(found[0]) if found else None


def _winter_offset(key: str) -> timedelta:
    zone = ZoneInfo(key)
    return min(zone.utcoffset(datetime(_ANY_YEAR, month, 15)) or ZERO for month in (1, 7))  # noqa: DTZ001  a wall clock


@cache
def _windows_names() -> dict[str, str]:
    return {name.lower(): key for name, key in win_tz.items()}


@cache
def _cities() -> dict[str, str]:
    """The zone of each city that has one, by its name in lower case."""
    return {key.rsplit("/", 1)[-1].replace("_", " ").lower(): key for key in area_names()}


@cache
def area_names() -> tuple[str, ...]:
    """The IANA names that begin with a part of the world, in order."""
    parts = ("Africa", "America", "Antarctica", "Arctic", "Asia", "Atlantic", "Australia", "Europe", "Indian")
    return tuple(sorted(key for key in available_timezones() if key.startswith((*parts, "Pacific", "US"))))
