"""Statement: the sentence for a rule, as a person would say it.

Only the rule speaks: the same rule gives the same sentence everywhere, and nothing is said that the rule does
not hold.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import cast

from patterns.candidates import PatternType, Rule
from patterns.recurrence import BYDAY

_DAY_NAMES = dict(
    zip(BYDAY, ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"), strict=True)
)
_ORDINALS = {1: "first", 2: "second", 3: "third", 4: "fourth", -1: "last"}
_LOOSELY = 45
"""Minutes of tolerance from which a time is said as a span."""

_THINGS = ("title", "subject", "kind", "subcommand", "command", "program", "category")
"""Features that name the thing itself, the most telling first."""

_NOUNS = {"calendar": "event", "email": "mail", "command": "command"}
_VERBS = {
    "created": "Has",
    "sent": "Sends",
    "received": "Gets",
    "ran": "Runs",
    "committed": "Commits",
    "updated": "Updates",
    "cancelled": "Cancels",
}


def statement(type: PatternType, rule: Rule) -> str:
    """One plain sentence for the rule.

    >>> statement("temporal", {"where": {"type": "calendar", "title": "Gym"}, "time": "07:00",
    ...                        "rrule": "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", "tolerance_minutes": 10})
    'Has Gym at 07:00 on weekdays'
    """
    return _SENTENCES[type](rule)


def _temporal(rule: Rule) -> str:
    where, minutes = _where(rule["where"]), cast(int, rule["tolerance_minutes"])
    time = cast(str, rule["time"])
    if minutes >= _LOOSELY:
        middle = int(time[:2]) * 60 + int(time[3:])
        time = f"between {_clock(middle - minutes)} and {_clock(middle + minutes)}"
    else:
        time = f"at {time}"
    return f"{_does(where)} {time} {recurrence(cast(str, rule['rrule']))}"


def _preference(rule: Rule) -> str:
    where, feature = _where(rule["where"]), cast(str, rule["feature"])
    if "value" in rule:
        value = _value(feature, rule["value"])
    else:
        value = f"{_number(rule['min'])}–{_number(rule['max'])}" + (
            " minutes" if feature == "duration_minutes" else ""
        )
    if feature == "duration_minutes":
        return f"Prefers {value.removesuffix(' minutes')}-minute {_things(where)}"
    if feature == "location":
        return f"Prefers {value} for {_things(where)}"
    return f"Prefers {_spoken(feature)} {value} for {_things(where)}"


def _relationship(rule: Rule) -> str:
    where, feature, person = _where(rule["where"]), cast(str, rule["feature"]), str(rule["value"])
    about = _things(where)
    return {
        "cc": f"CCs {person} on {about}",
        "to": f"Writes to {person} in {about}",
        "from": f"Gets {about} from {person}",
        "organizer": f"Has {about} that {person} organizes",
    }.get(feature, f"Has {person} in {about}")


def _workflow(rule: Rule) -> str:
    steps = [_where(s) for s in cast(Sequence[object], rule["steps"])]
    first, *middle, last = [_step(s) for s in steps]
    done = f"After {first}" + "".join(f" and then {m}" for m in middle)
    return f"{done}, {_does_next(steps[-1], last)} within {_duration(cast(int, rule['within_minutes']))}"


def _avoidance(rule: Rule) -> str:
    where = _where(rule["where"])
    days, low, high = cast(Sequence[str], rule["days"]), cast(str, rule["from"]), cast(str, rule["to"])
    when = _on_days([d.capitalize() for d in days])
    if (low, high) != ("00:00", "24:00"):
        span = _part_of_day(low, high)
        when = f"{span}" if len(days) == 7 else f"{when} {span}"
    return f"Never {_does_not(where)} {when}"


_SENTENCES = {
    "temporal": _temporal,
    "preference": _preference,
    "relationship": _relationship,
    "workflow": _workflow,
    "avoidance": _avoidance,
}


def recurrence(rrule: str) -> str:
    """The dates of a recurrence in words.

    >>> recurrence("FREQ=WEEKLY;INTERVAL=2;BYDAY=TH"), recurrence("FREQ=MONTHLY;BYDAY=-1FR")
    ('every other Thursday', 'on the last Friday of the month')
    """
    parts = dict(part.split("=", 1) for part in rrule.split(";"))
    if parts["FREQ"] == "DAILY":
        return "every day"
    if "BYMONTHDAY" in parts:
        day = int(parts["BYMONTHDAY"])
        return "on the last day of the month" if day == -1 else f"on the {_nth(day)} of the month"
    if parts["FREQ"] == "MONTHLY":
        number, day_name = re.fullmatch(r"(-?\d)([A-Z]{2})", parts["BYDAY"]).groups()  # type: ignore[union-attr]
        return f"on the {_ORDINALS[int(number)]} {_DAY_NAMES[day_name]} of the month"
    names = [_DAY_NAMES[d] for d in parts["BYDAY"].split(",")]
    interval = int(parts.get("INTERVAL", "1"))
    if interval > 1:
        every = "other" if interval == 2 else {3: "third", 4: "fourth"}[interval]
        return f"every {every} {names[0]}"
    return _on_days(names)


def _on_days(names: Sequence[str]) -> str:
    known = list(_DAY_NAMES.values())
    chosen = [d for d in known if d in names]
    if len(chosen) == 7:
        return "every day"
    if chosen == known[:5]:
        return "on weekdays"
    if chosen == known[5:]:
        return "on weekends"
    if len(chosen) == 6:
        (missing,) = set(known) - set(chosen)
        return f"every day except {missing}"
    return "on " + _listed([f"{d}s" for d in chosen])


def _part_of_day(low: str, high: str) -> str:
    if low == "00:00":
        return f"before {high}"
    if high == "24:00":
        return f"after {low}"
    return f"between {low} and {high}"


def _where(value: object) -> Mapping[str, str]:
    return cast(Mapping[str, str], value)


def _named(where: Mapping[str, str]) -> str | None:
    """The thing's own name, where the rule has one."""
    return next((where[f] for f in _THINGS if f in where), None)


def _extras(where: Mapping[str, str]) -> str:
    """Conditions on features that don't name the thing: " with repo polars"."""
    rest = [f"{_spoken(k)} {v}" for k, v in where.items() if k not in (*_THINGS, "type", "action")]
    return f" with {_listed(rest)}" if rest else ""


def _does(where: Mapping[str, str]) -> str:
    """The subject as something a person does: "Has Gym", "Sends legal mail"."""
    kind, name = where.get("type", ""), _named(where)
    action = where.get("action") or {"calendar": "created", "command": "ran"}.get(kind, "")
    verb = _VERBS.get(action, f"{action.capitalize()}:" if action else "Has")
    if kind == "calendar" and name:
        return f"{verb} {name}{_extras(where)}"
    if kind == "command" and name:
        return f"{verb} {name}{_extras(where)}"
    if action == "committed":
        return f"{verb}{_extras(where)}"
    noun = _NOUNS.get(kind, kind)
    plural = noun if noun == "mail" else f"{noun}s"
    return f"{verb} {f'{name} {noun}' if name else plural}{_extras(where)}"


def _does_not(where: Mapping[str, str]) -> str:
    """The same after "never": "has Gym", "sends mail"."""
    words = _does(where)
    return words[0].lower() + words[1:]


def _things(where: Mapping[str, str]) -> str:
    """The subject in the plural, for "prefers … for": "planning events", "legal mail"."""
    kind, name = where.get("type", ""), _named(where)
    noun = _NOUNS.get(kind, kind)
    sent = {"sent": "sent ", "received": "received "}.get(where.get("action", ""), "")
    plural = noun if noun == "mail" else f"{noun}s"
    if kind == "command" and name:
        return f"{name}{_extras(where)}"
    return f"{sent}{f'{name} {plural}' if name else plural}{_extras(where)}"


def _step(where: Mapping[str, str]) -> str:
    """One step of a workflow as a noun."""
    name, kind = _named(where), where.get("type", "")
    if kind == "email":
        verb = {"sent": "sending", "received": "getting"}.get(where.get("action", ""), "")
        return " ".join(w for w in (verb, name or "", "mail") if w) + _extras(where)
    return (name or f"a {_NOUNS.get(kind, kind)}") + _extras(where)


def _does_next(where: Mapping[str, str], step: str) -> str:
    if where.get("type") == "command":
        return f"runs {step}"
    if where.get("type") == "email":
        return step.replace("sending", "sends", 1).replace("getting", "gets", 1)
    return f"has {step}"


def _duration(minutes: int) -> str:
    if minutes % 60 == 0 and minutes > 0:
        hours = minutes // 60
        return "an hour" if hours == 1 else f"{hours} hours"
    return "a minute" if minutes == 1 else f"{minutes} minutes"


def _value(feature: str, value: object) -> str:
    if feature == "duration_minutes":
        return f"{_number(value)} minutes"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return _number(value) if isinstance(value, (int, float)) else str(value)


def _number(value: object) -> str:
    return f"{cast(float, value):g}"


def _spoken(feature: str) -> str:
    return feature.replace("_", " ")


def _nth(number: int) -> str:
    suffix = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


def _listed(words: Sequence[str]) -> str:
    if len(words) <= 1:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def _clock(minute: int) -> str:
    return f"{minute // 60 % 24:02d}:{minute % 60:02d}"


def unit_of(type: PatternType, rule: Rule) -> tuple[str, str]:
    """What one opportunity of a rule is called, and several: ("Tuesday", "Tuesdays").

    >>> unit_of("temporal", {"rrule": "FREQ=WEEKLY;BYDAY=TU"})
    ('Tuesday', 'Tuesdays')
    """
    if type == "avoidance":
        days = cast(Sequence[str], rule["days"])
        name = days[0].capitalize() if len(days) == 1 else "day"
        return name, f"{name}s"
    if type != "temporal":
        return "occasion", "occasions"
    parts = dict(part.split("=", 1) for part in cast(str, rule["rrule"]).split(";"))
    days_named = parts.get("BYDAY", "").split(",")
    if parts["FREQ"] == "MONTHLY":
        return "month", "months"
    if len(days_named) == 1 and days_named[0]:
        name = _DAY_NAMES[days_named[0]]
        return name, f"{name}s"
    return "day", "days"
