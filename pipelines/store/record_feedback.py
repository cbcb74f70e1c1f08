"""The person speaks: what they say of themselves and of patterns goes into the store (`pipelines.memory.feedback` reads it)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

import orjson
import polars as pl

from observations.errors import SettingError
from observations.privacy.redact import redact
from patterns.candidates import PatternType
from patterns.model import Pattern, read_patterns
from patterns.pattern_frame import PATTERNS
from pipelines.cli.rule_option import read_rule
from pipelines.memory.feedback import explicit_id
from pipelines.store.feedback_rows import Said, Word, drop_word, keep_word
from pipelines.store.pattern_queries import find, the_person
from pipelines.text.sanitize import plain, shortened

if TYPE_CHECKING:
    from pipelines.store.store import Store

LONGEST = 200
"""Characters of a sentence that is remembered."""


def remember(
    store: Store,
    text: str,
    type: PatternType,
    user: str | None,
    rule: Mapping[str, object] | None,
    until: datetime | None,
) -> Pattern:
    """Keep what the person says of themselves (`Store.remember`)."""
    statement, now = _sentence(text), store.clock()
    if until is not None and until <= now:
        raise SettingError(f"--until {until:%Y-%m-%d %H:%M} is past; name a later time, or none")
    about = {
        "type": type,
        "statement": statement,
        "rule": {"where": {}, "said": statement}
        if rule is None
        else read_rule(type, orjson.dumps(rule).decode()),
        "until": None if until is None else until.isoformat(timespec="seconds"),
    }
    who = _speaker(store, user)
    said = Said(who, explicit_id(who, type, statement), "remembered", now, about)
    store.database.write(lambda connection: keep_word(connection, said))
    return _pattern(store, said.pattern, who, now)


def take_back(store: Store, text: str, type: PatternType, user: str | None) -> Pattern:
    """Take back what was remembered (`Store.remember` with `undo`)."""
    who = the_person(store, user)
    id = explicit_id(who, type, _sentence(text))
    pattern = _pattern(store, id, who, store.clock())
    store.database.write(lambda connection: drop_word(connection, who, id, "remembered"))
    return pattern


def say(store: Store, word: Word, id: str, user: str | None, *, undo: bool) -> Pattern:
    """Keep a word of the person on a pattern, or take it back; the pattern as it is then."""
    now = store.clock()
    _, row = find(store, id, user, now)
    who, which = row["user_id"], row["id"]
    if undo:
        if not store.database.write(lambda connection: drop_word(connection, who, which, word)):
            raise SettingError(f"pattern {which} is not {word}; there is nothing to undo")
    else:
        said = Said(who, which, word, now, _about(row, word))
        store.database.write(lambda connection: keep_word(connection, said))
    return _pattern(store, which, who, now)


def _about(row: Mapping[str, Any], word: Word) -> dict[str, object]:
    about: dict[str, object] = {"type": row["type"], "rule": row["rule"]}
    if word == "confirmed":
        about["pattern"] = {name: row[name] for name in PATTERNS}
    return about


def _speaker(store: Store, user: str | None) -> str:
    """Who speaks: a person that the store need not know yet."""
    if user is not None:
        return user
    return the_person(store, None) if store.people() else "me"


def _sentence(text: str) -> str:
    said = redact(plain(text))
    if not said:
        raise SettingError("there is nothing to remember; say it in a sentence, such as 'prefers tea'")
    if len(said) > LONGEST:
        raise SettingError(f"{shortened(said, 40)!r} has {len(said)} characters; say it in {LONGEST}")
    return said[0].upper() + said[1:]


def _pattern(store: Store, id: str, user: str, now: datetime) -> Pattern:
    found, row = find(store, id, user, now)
    return next(read_patterns(found.frame.filter(pl.col("id") == row["id"])))
