"""Ranks patterns for the profile, and cleans their sentences.

Patterns are ordered by

1. source: explicit (the person said so), then pinned, then observed, then declared (restates their calendar);
2. confidence without decay, rounded to one decimal so that neither a single day nor the time of the request changes the
   order;
3. number of conditions in the rule: more specific first;
4. sentence, alphabetically.

Sentences are rebuilt from rules with cleaned values: text that other people wrote stays on one line, without markup, and
short; values of more than three plain words are quoted. A title cannot close its quotes, or start a list or a heading.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import polars as pl

from patterns.model import Pattern, read_patterns
from patterns.registry import rule_of
from patterns.rules.rule import Rule
from patterns.settings import Settings
from pipelines.memory.profile import Entry, Profile, words_of
from pipelines.text.sanitize import plain, shortened

LONGEST_VALUE = 40
"""Maximum length of a title, subject or place, in characters."""

LONGEST_STATEMENT = 200
"""Maximum length of a sentence, in characters."""

_MARKUP = re.compile(r"[`*#<>\[\]{}|\\~\"“”„«»]|(?<!\w)_+|_+(?!\w)")
_PLAIN = re.compile(r"[\w.@+:/&'’–-]+(?: [\w.@+:/&'’–-]+){0,2}")


def profile_of(patterns: pl.DataFrame, fresh: str | None, settings: Settings) -> Profile:
    """The profile of one person.

    Args:
        patterns: of the person, with feedback applied (`pipelines.memory.feedback.apply_feedback`).
        fresh: local date of the newest observation, or `None`.
        settings: thresholds and weights.
    """
    confirmed = list(read_patterns(patterns.filter(pl.col("status") == "confirmed")))
    explicit = {(p.type, p.statement.casefold()) for p in confirmed if p.source == "explicit"}
    once = [
        p for p in confirmed if p.source == "explicit" or (p.type, p.statement.casefold()) not in explicit
    ]
    return Profile(fresh, tuple(map(_entry, sorted(once, key=lambda p: _order(p, settings)))))


def _order(pattern: Pattern, settings: Settings) -> tuple[object, ...]:
    parts = pattern.components
    established = (
        settings.weight_count * parts.count
        + settings.weight_recency * parts.recency
        + settings.weight_consistency * parts.consistency
        + settings.weight_span * parts.span
    )
    return (
        pattern.source != "explicit",
        "pinned" not in pattern.words,
        pattern.source == "declared",
        -round(established, 1),
        -_conditions(rule_of(pattern.type, pattern.rule)),
        pattern.statement,
        pattern.id,
    )


def _conditions(rule: Rule) -> int:
    """How many conditions the rule has on what it is about."""
    return sum(len(where) for where in rule.wheres)


def _entry(pattern: Pattern) -> Entry:
    sentence = cleaned_statement(pattern)
    words = sorted({*words_of(sentence), *(word for text in _texts(pattern.rule) for word in words_of(text))})
    return Entry(pattern.id, pattern.type, sentence, pattern.source, " ".join(words))


def cleaned_statement(pattern: Pattern) -> str:
    """The sentence of a pattern, fit to stand in a prompt."""
    if pattern.source == "explicit":
        return shortened(_unmarked(pattern.statement), LONGEST_STATEMENT)
    rule = rule_of(pattern.type, pattern.rule).reworded(
        lambda _where, _field, value: _cleaned(value), _cleaned
    )
    return shortened(plain(rule.sentence()), LONGEST_STATEMENT)


def _cleaned(text: str) -> str:
    """A text from the data: short, without markup, quoted where it is more than a few plain words."""
    short = shortened(_unmarked(text), LONGEST_VALUE)
    return short if _PLAIN.fullmatch(short) else f"“{short}”"


def _unmarked(text: str) -> str:
    return plain(_MARKUP.sub(" ", plain(text)))


def _texts(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
