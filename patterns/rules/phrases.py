"""Phrases: what the subject of a rule, and the values in it, are called in a sentence.

A rule holds the names of fields and their values, but not their grammar: if "music" has a plural, or which verb belongs
to "opened". Types and actions that the readers write have words of their own; all others get words that fit any:
"music events", "door opened".
"""

from __future__ import annotations

import re
from typing import NamedTuple

from patterns.rules.phrases_of_time import days_in_words, hours_in_words, listed
from patterns.rules.where import Condition, Scalar, TimeSpan, Where, alternatives

_NAMES = ("title", "subject", "kind", "subcommand", "command", "program", "app")
_CLASSES = ("category", "label", "labels", "categories")
_THINGS = (*_NAMES, *_CLASSES)
"""Features that name the thing itself or its class, the most telling first. The others are circumstances."""

_PLACES = ("location", "cwd", "directory", "folder", "repo", "project")

_NOUNS = {
    "calendar": "event",
    "event": "event",
    "email": "mail",
    "message": "message",
    "command": "command",
    "commit": "commit",
    "application": "application",
    "web": "page",
    "editor": "file",
    "process": "step",
}
_USUAL = {
    "calendar": "created",
    "command": "ran",
    "commit": "committed",
    "application": "used",
    "web": "visited",
    "editor": "edited",
}
"""The usual action of a type, which needs no words."""

_SAYS_NOTHING = ("happened", "recorded")
"""Actions that readers write where a log has none."""


class _Verb(NamedTuple):
    does: str
    doing: str


_HAS, _IS_COMMITTED = _Verb("has", ""), _Verb("commits", "committing")
_VERBS = {
    "": _HAS,
    "created": _Verb("creates", "creating"),
    "sent": _Verb("sends", "sending"),
    "received": _Verb("gets", "getting"),
    "ran": _Verb("runs", ""),
    "committed": _IS_COMMITTED,
    "updated": _Verb("updates", "updating"),
    "cancelled": _Verb("cancels", "cancelling"),
    "used": _Verb("uses", "using"),
    "visited": _Verb("visits", "visiting"),
    "edited": _Verb("edits", "editing"),
}


# --- subjects -------------------------------------------------------------------------------------------------


def does(where: Where, *, once: bool = False, in_full: bool = False) -> str:
    """The subject as something a person does.

    Args:
        where: what the events have in common.
        once: one of them, where the rule does not name it: "has an event" and not "has events".
        in_full: add the noun to a class: "has planning events" and not "has planning".

    >>> does({"type": "calendar", "title": "Gym"}), does({"type": "email", "action": "sent", "labels": "legal"})
    ('has Gym', 'sends legal mail')
    """
    if not where:
        return "is active"
    verb = _verb(where)
    if verb is None:
        return _joined("has", _acted_upon(where))
    return _joined(verb.does, _object(where, once, in_full)) + _circumstances(where)


def doing(where: Where) -> str:
    """One event of the subject, as what something else comes after.

    >>> doing({"type": "email", "action": "sent"}), doing({"type": "command", "program": "git"}), doing({})
    ('sending mail', 'git', 'an event')
    """
    verb = _verb(where)
    if verb is None:
        return _acted_upon(where)
    return _joined(verb.doing, _object(where, once=True, in_full=False)) + _circumstances(where)


def things(where: Where) -> str:
    """The subject in the plural.

    >>> things({"type": "calendar", "category": "planning"}), things({"type": "email", "action": "sent"})
    ('planning events', 'sent mail')
    """
    action, kind = _action(where), _kind(where)
    done = "" if action == _USUAL.get(kind) else action
    field, name = _name(where)
    called = name if kind == "command" and name else _called(where, field, name, once=False)
    return _joined(done, called) + _circumstances(where)


def _action(where: Where) -> str:
    """The action in words; empty if it is the usual one."""
    kind = _kind(where)
    action = _said(where["action"]) if "action" in where else _USUAL.get(kind, "")
    silent = action in _SAYS_NOTHING or kind == "process" or (kind, action) == ("calendar", "created")
    return "" if silent else spoken(action)


def _verb(where: Where) -> _Verb | None:
    """The verb for what is done, where we know one that fits the type."""
    verb = _VERBS.get(_action(where))
    return verb if _kind(where) in _NOUNS or verb in (_HAS, _IS_COMMITTED) else None


def _acted_upon(where: Where) -> str:
    """A thing and what became of it: "garage door opened"."""
    kind = spoken(_kind(where) or "event")
    return _joined(_name(where)[1], kind, _action(where)) + _circumstances(where)


def _object(where: Where, once: bool, in_full: bool) -> str:
    kind = _kind(where)
    field, name = _name(where)
    if _verb(where) is _IS_COMMITTED:
        return name
    # Mail and messages are of a kind ("invoice mail"), and so is what we do not know; all else has a name of its own.
    has_own_name = kind in _NOUNS and kind not in ("email", "message")
    if name and has_own_name and not (in_full and field in _CLASSES):
        return name
    return _called(where, field, name, once)


def _called(where: Where, field: str, name: str, once: bool) -> str:
    """The noun with its name: "legal mail", "mail about Lunch", "an event"."""
    kind = spoken(_kind(where) or "event")
    noun = _NOUNS.get(kind) or (kind if kind.endswith("event") else f"{kind} event")
    several = noun if noun == "mail" or once else f"{noun}s"
    called = f"{several} about {name}" if field == "subject" else _joined(name, several)
    return _with_article(called) if once and noun != "mail" else called


def _name(where: Where) -> tuple[str, str]:
    """The feature by which the thing is called and its value; empty where the rule has none."""
    # In a log of a process the action is the name of a step: "Check ticket".
    naming = ("action", *_THINGS) if _kind(where) == "process" else _THINGS
    return next(((f, _said(where[f])) for f in naming if f in where), ("", ""))


def _kind(where: Where) -> str:
    """The type of the events in the rule's own words; empty where it has none."""
    return _said(where["type"]) if "type" in where else ""


def _said(condition: Condition) -> str:
    """A condition in words: the value, or "A or B"."""
    values = [
        on_one_line(value) if isinstance(value, str) else number(value) for value in alternatives(condition)
    ]
    return " or ".join(values)


def _circumstances(where: Where) -> str:
    """All other conditions: " in Room 4 with priority high"."""
    said = (_name(where)[0], "type", "action", "day_of_week", "time_of_day")
    rest = {f: _said(v) for f, v in where.items() if f not in said}
    places = [f" {_preposition(f, v)} {v}" for f, v in rest.items() if is_place(f)]
    others = [f"{spoken(f)} {v}" for f, v in rest.items() if not is_place(f)]
    return "".join(places) + (f" with {listed(others)}" if others else "") + _when(where)


def _when(where: Where) -> str:
    """The conditions on the local time: " on Fridays before 10:00"."""
    days, span = where.get("day_of_week"), where.get("time_of_day")
    hours = hours_in_words(span.begin, span.end) if isinstance(span, TimeSpan) else ""
    if span is not None and not hours:
        hours = f"at {_said(span)}"
    if days is None:
        return f" {hours}" if hours else ""
    return f" {days_in_words([str(day) for day in alternatives(days)], hours)}"


def is_place(feature: str) -> bool:
    """True if the values of this feature are places."""
    return feature in _PLACES


def _preposition(feature: str, place: str) -> str:
    """At an address (12 High Street, a link), in anything else (Room 4, a folder)."""
    return "at" if feature == "location" and re.match(r"\d|[^,:]+[,:]", place) else "in"


def _with_article(noun: str) -> str:
    # A "u" is a vowel in "update" and not in "user": what follows it decides, nearly always.
    return f"{'an' if re.match(r'[aeio]|u[^aeiou]{2}', noun, re.IGNORECASE) else 'a'} {noun}"


# --- sentences ------------------------------------------------------------------------------------------------


def sentence(*parts: str) -> str:
    """The parts that are not empty as one sentence, its first letter large.

    >>> sentence("sends mail", "", "on weekdays")
    'Sends mail on weekdays'
    """
    text = _joined(*parts)
    return text[:1].upper() + text[1:]


def subject(where: Where, *, once: bool = False) -> str:
    """The subject as the head of a sentence: what a thing with a name is called, else what the person does.

    A title is a name and never the object of "has".

    >>> subject({"type": "calendar", "title": "Gym"}), subject({"type": "email", "action": "sent"})
    ('Gym', 'sends mail')
    """
    return does(where, once=once).removeprefix("has ")


def never(where: Where) -> str:
    """That the subject does not come.

    >>> never({"type": "calendar", "title": "Gym"}), never({"type": "email", "action": "sent"}), never({})
    ('no Gym', 'never sends mail', 'never active')
    """
    if not where:
        return "never active"
    said = does(where, in_full=True)
    return f"no {said.removeprefix('has ')}" if said.startswith("has ") else f"never {said}"


def thing(where: Where) -> str:
    """One thing of the subject, without an article.

    >>> thing({"type": "command", "subcommand": "git pull"}), thing({"type": "calendar"})
    ('git pull', 'event')
    """
    named = _name(where)[1]
    kind = spoken(_kind(where) or "event")
    return (named or _NOUNS.get(kind, kind)) + _circumstances(where)


def choice_sentence(where: Where, feature: str, value: Scalar, which: str | None = None) -> str:
    """What is preferred, of which things.

    Args:
        value: the value, or a band in words.
        which: ``"first"`` or ``"last"`` of the day, where only that one counts.

    >>> choice_sentence({"type": "calendar", "category": "interview"}, "location", "Room 2")
    'Prefers Room 2 for interview events'
    """
    about = f"the {which} {thing(where)} of the day" if which else things(where)
    if isinstance(value, bool):
        return sentence("prefers", about, "" if value else "not", f"to {_flag(feature)}")
    said = on_one_line(value) if isinstance(value, str) else number(value)
    if feature == "duration_minutes":
        # A band with one bound is "at most 45".
        return sentence(
            f"prefers {about} of {said} minutes" if " " in said else f"prefers {said}-minute {about}"
        )
    choice = said if is_place(feature) else f"{spoken(feature)} {said}"
    return sentence(f"prefers {choice}", f"for {about}" if where or which else "")


def _flag(feature: str) -> str:
    """What a thing is or has, where the flag is set: "be remote", "have attachments"."""
    first, _, rest = spoken(feature).partition(" ")
    if rest and first in ("is", "has"):
        return f"{'be' if first == 'is' else 'have'} {rest}"
    return f"be {spoken(feature)}"


def relationship_sentence(where: Where, feature: str, person: str) -> str:
    """Who is in which things.

    >>> relationship_sentence({"type": "email", "action": "sent", "labels": "legal"}, "cc", "sarah@example.com")
    'CCs sarah@example.com on legal mail'
    """
    person = on_one_line(person)
    # "writes to" and "gets" already name the direction.
    either_way = things({field: value for field, value in where.items() if field != "action"})
    match feature, where.get("action"):
        case "cc", "received":
            said = f"gets {either_way} with {person} in copy"
        case "cc", _:
            said = f"CCs {person} on {either_way}"
        case "to", "received":
            said = f"gets {either_way} to {person}"
        case "to", _:
            said = f"writes to {person} in {either_way}"
        case "from", "sent":
            said = f"sends {either_way} from {person}"
        case "from", _:
            said = f"gets {either_way} from {person}"
        case "organizer", _:
            said = f"{things(where)} organized by {person}"
        case _:
            said = f"{things(where)} with {person}"
    return sentence(said)


# --- values ---------------------------------------------------------------------------------------------------


def number(value: float) -> str:
    """To two decimals, or two digits below one.

    >>> number(30.0), number(1.31667), number(0.216667), number(2e6)
    ('30', '1.32', '0.22', '2000000')
    """
    return f"{value:.2g}" if 0 < abs(value) < 1 else f"{round(value, 2):.15g}"


def band(low: float | None, high: float | None) -> str:
    """A band of numbers; one number if both bounds are equal, one bound if the other is open.

    >>> band(25, 35), band(30, 30), band(-5, 5), band(None, 45)
    ('25–35', '30', '-5 to 5', 'at most 45')
    """
    if low is None or high is None:
        return f"at most {number(high or 0)}" if low is None else f"at least {number(low)}"
    first, last = number(low), number(high)
    if first == last:
        return first
    return f"{first} to {last}" if low < 0 else f"{first}–{last}"


def duration(minutes: int) -> str:
    """Minutes, or hours where they are whole.

    >>> duration(1), duration(60), duration(90), duration(120)
    ('a minute', 'an hour', '90 minutes', '2 hours')
    """
    if minutes % 60 == 0 and minutes > 0:
        hours = minutes // 60
        return "an hour" if hours == 1 else f"{hours} hours"
    return "a minute" if minutes == 1 else f"{minutes} minutes"


def spoken(field: str) -> str:
    """The name of a field in words.

    >>> spoken("purchase_order")
    'purchase order'
    """
    return " ".join(field.replace("_", " ").split())


def on_one_line(value: object) -> str:
    r"""A value as it stands, but for its line breaks; an empty one in quotes.

    >>> on_one_line("Team\n sync")
    'Team sync'
    """
    return " ".join(str(value).split()) or '""'


def _joined(*words: str) -> str:
    return " ".join(word for word in words if word)
