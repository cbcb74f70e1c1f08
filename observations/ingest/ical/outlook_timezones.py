"""Outlook time zones: the IANA zone of each Windows display name whose cities do not determine it.

From the ``Display`` values of the Windows registry, without the offset, in lower case, `` and `` as `` & ``. The other
display names ("Amsterdam, Berlin, Bern, Rome, Stockholm, Vienna") are found by their cities.
"""

from __future__ import annotations

from collections.abc import Mapping

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
