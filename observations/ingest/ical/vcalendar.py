r"""vCalendar 1.0 (1996), which phones, Palm, Lotus and old Outlooks write: its text and its rules as iCalendar has them.

The rest of it is like iCalendar. Two things are not: texts may be quoted-printable, with lines that go on after an
``=`` at their end; and a rule is a short code, such as ``W2 TU TH #10``. Where a rule has a number of times *and* an
end, the number holds, for RRULE cannot have both.
"""

from __future__ import annotations

import binascii
import re

QUOTED = "QUOTED-PRINTABLE"

_QUOTED_LINE = re.compile(
    rf"^([A-Za-z0-9-]+;[^\n:]*{QUOTED}[^\n:]*):((?:[^\n]*=\n)*[^\n]*)$", re.MULTILINE | re.IGNORECASE
)
_CHARSET = re.compile(r"CHARSET=\"?([\w-]+)", re.IGNORECASE)
_RULE = re.compile(r"(D|W|MP|MD|YM|YD)(\d{1,4})((?:\s+[\w+#-]+)*)", re.ASCII)
_TIMES = re.compile(r"#(\d{1,6})")
_END = re.compile(r"\d{8}(?:T\d{6}Z?)?")
_WEEKDAY = re.compile(r"(?:SU|MO|TU|WE|TH|FR|SA)")
_NUMBER = re.compile(r"(\d{1,3})([+-]?)")
_PARTS = {
    "D": ("DAILY", ""),
    "W": ("WEEKLY", "BYDAY"),
    "MP": ("MONTHLY", "BYDAY"),
    "MD": ("MONTHLY", "BYMONTHDAY"),
    "YM": ("YEARLY", "BYMONTH"),
    "YD": ("YEARLY", "BYYEARDAY"),
}
_USUAL_TIMES = 2
"""How often what has neither a number of times nor an end takes place (vCalendar 1.0, Recurrence Rule Grammar)."""


def without_quoting(text: str) -> str:
    r"""The lines of a calendar with what is quoted-printable written out. As many lines as before: numbers still hold.

    >>> without_quoting("SUMMARY;ENCODING=QUOTED-PRINTABLE:Caf=C3=A9 at=\n noon\nEND:VEVENT")
    'SUMMARY;ENCODING=QUOTED-PRINTABLE:Café at noon\n \nEND:VEVENT'
    """
    return _QUOTED_LINE.sub(_written_out, text) if QUOTED in text else text


def _written_out(line: re.Match[str]) -> str:
    head, value = line.groups()
    raw = binascii.a2b_qp(value.encode(errors="surrogateescape"))
    charset = _CHARSET.search(head)
    try:
        decoded = raw.decode(charset[1] if charset else "utf-8")
    except (LookupError, UnicodeDecodeError):
        decoded = raw.decode("cp1252", "replace")
    one_line = decoded.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\\n")
    return f"{head}:{one_line}" + "\n " * value.count("\n")


def modern_rule(text: str) -> str | None:
    """The RRULE value for a rule of vCalendar 1.0; None if the text is not a rule, or RRULE cannot express it.

    >>> modern_rule("W2 TU TH #10"), modern_rule("MP1 1+ 2- FR 20261224T000000Z")
    ('FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,TH;COUNT=10', 'FREQ=MONTHLY;INTERVAL=1;BYDAY=1FR,-2FR;UNTIL=20261224T000000Z')
    """
    found = _RULE.fullmatch(text.strip().upper())
    if found is None:
        return None
    kind, interval, rest = found.groups()
    frequency, part = _PARTS[kind]
    words = rest.split()
    times = next((int(m[1]) for m in map(_TIMES.fullmatch, words) if m), None)
    end = next((word for word in words if _END.fullmatch(word)), None)
    values = [word for word in words if not _TIMES.fullmatch(word) and not _END.fullmatch(word)]
    which = _values(kind, values)
    if which is None:
        return None
    if times is None and end is None:
        times = _USUAL_TIMES
    parts = [
        f"FREQ={frequency};INTERVAL={interval}",
        f"{part}={','.join(which)}" if which else "",
        f"COUNT={times}" if times else "",
        f"UNTIL={end}" if end and not times else "",
    ]
    return ";".join(filter(None, parts))


def _values(kind: str, words: list[str]) -> list[str] | None:
    """What the rule's BY part lists; None where a word is not of this kind of rule."""
    if kind == "W":
        return words if all(map(_WEEKDAY.fullmatch, words)) else None
    if kind == "MP":
        return _places(words)
    numbers = [_number(word) if word != "LD" else "-1" for word in words]
    return None if None in numbers or (kind == "D" and words) else [n for n in numbers if n]


def _places(words: list[str]) -> list[str] | None:
    """``1+ 2- FR`` as 1FR and -2FR: weekdays are those of all the places since the weekdays before."""
    places: list[str] = []
    listed: list[str] = []
    ended = False
    for word in words:
        if _WEEKDAY.fullmatch(word):
            listed += [place + word for place in places]
            ended = True
        elif (number := _number(word)) is not None:
            places = [number] if ended else [*places, number]
            ended = False
        else:
            return None
    return listed


def _number(word: str) -> str | None:
    found = _NUMBER.fullmatch(word)
    return None if found is None else ("-" if found[2] == "-" else "") + found[1]
