"""Redaction: replaces names, addresses, titles and all other text from the data, each value by the same placeholder.

Counts, times and confidence stay. A rule keeps its structure, and its sentence is generated again from the redacted
rule, so that no part of the old sentence is left.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import count
from string import ascii_uppercase

import orjson
import polars as pl

from observations.ingest.read_report import ReadingReport, SourceReport
from observations.schema import BASE
from patterns.eventlog.subjects import WHO
from patterns.explain import Explanation
from patterns.registry import rule_of
from patterns.rules.phrases import is_place, spoken
from patterns.rules.rule import Rule
from patterns.rules.where import Where

_TITLES = ("title", "subject", "kind", "label", "labels")
_COMMANDS = ("subcommand", "program", "command", "app")
_KNOWN_TYPES = ("calendar", "email", "command", "event", "message", "application", "web", "editor", "commit")
"""Types whose actions are fixed by a reader; in other logs an action can be the title of a step."""

_SHOWN = tuple(f"{name}:text" for name in (*_TITLES[:3], *_COMMANDS))
"""The columns that can hold the title of an observation; the first that has a value counts."""


@dataclass
class Names:
    """The placeholder of each value, numbered in order of first use."""

    words: dict[tuple[str, str], str] = field(default_factory=dict)
    counters: dict[str, count[int]] = field(default_factory=dict)

    def of(self, feature: str, value: str) -> str:
        """The placeholder for a value of a feature; the same value always has the same one.

        >>> names = Names()
        >>> names.of("cc", "ines@example.org"), names.of("title", "Gym"), names.of("to", "Ines@example.org")
        ('Person 1', 'Title A', 'Person 1')
        """
        kind = _kind_of(feature)
        key = kind, value.strip().casefold()
        if key not in self.words:
            number = next(self.counters.setdefault(kind, count(1)))
            self.words[key] = f"{kind} {number if kind in ('Person', 'Source') else _letters(number)}"
        return self.words[key]

    def rule(self, rule: Rule) -> Rule:
        """The rule with all text from the data replaced; times, days and numbers stay."""
        return rule.reworded(self._in_where)

    def _in_where(self, where: Where, field: str, value: str) -> str:
        """The placeholder for a value of a rule; the type stays, and so does the action of a known type."""
        stays = ("type", "action") if where.get("type") in _KNOWN_TYPES else ("type",)
        return value if field in (*stays, "day_of_week", "time_of_day") else self.of(field, value)


def redacted_explanation(explanation: Explanation, names: Names) -> Explanation:
    """The explanation with people and rules redacted and the sentences generated again."""
    found = explanation.patterns
    users = [names.of("user", user) for user in found.get_column("user_id")]
    rules = [names.rule(rule_of(*row)) for row in found.select("type", "rule").iter_rows()]
    patterns = found.with_columns(
        user_id=pl.Series(users, dtype=pl.String),
        rule=pl.Series([orjson.dumps(rule.to_json()).decode() for rule in rules], dtype=pl.String),
        statement=pl.Series([rule.sentence() for rule in rules], dtype=pl.String),
    )
    others = (
        _renamed(f, names) for f in (explanation.opportunities, explanation.journal, explanation.outlook)
    )
    return Explanation(patterns, *others)


def redacted_observations(observations: pl.DataFrame, names: Names) -> pl.DataFrame:
    """The observations with people redacted, and a placeholder title in place of the features."""
    tagged = [
        pl.when(pl.col(c) != "").then(pl.format("{}\x1f{}", pl.lit(c), c))
        for c in _SHOWN
        if c in observations.columns
    ]
    titles = observations.select(pl.coalesce([*tagged, pl.lit(None, pl.String)]).alias("title")).get_column(
        "title"
    )
    known = {
        title: names.of(title.partition(":text\x1f")[0], title.partition(":text\x1f")[2])
        for title in titles.unique(maintain_order=True).drop_nulls()
    }
    kept = [c for c in ("all_day:flag",) if c in observations.columns]
    new = titles.replace_strict(known, default=None, return_dtype=pl.String)
    renamed = _renamed(observations.select(*BASE, *kept), names).with_columns(new.alias("title:text"))
    foreign = ~pl.col("type").is_in(_KNOWN_TYPES)
    actions = renamed.filter(foreign).get_column("action").unique(maintain_order=True).drop_nulls()
    placeholders = {action: names.of("action", action) for action in actions}
    action = pl.col("action").replace(placeholders) if placeholders else pl.col("action")
    return renamed.with_columns(pl.when(foreign).then(action).otherwise("action").alias("action"))


def redacted_reading(reading: ReadingReport, names: Names) -> ReadingReport:
    """The report of the sources without their names and without notes, which quote the data."""
    sources: dict[str, SourceReport] = {}
    for source in reading.sources.values():
        label = names.of("source", source.label)
        sources[label] = replace(source, label=label, notes=[])
    return ReadingReport(sources)


def _renamed(frame: pl.DataFrame, names: Names) -> pl.DataFrame:
    known = {user: names.of("user", user) for user in frame.get_column("user_id").unique(maintain_order=True)}
    return frame.with_columns(pl.col("user_id").replace_strict(known, return_dtype=pl.String))


def _kind_of(feature: str) -> str:
    if feature in (*WHO, "user", "from_name"):
        return "Person"
    if feature in _TITLES:
        return "Title"
    if feature in _COMMANDS:
        return "Command"
    if is_place(feature):
        return "Place"
    return spoken(feature).capitalize()


def _letters(number: int) -> str:
    """A, B, … Z, AA, AB, ….

    >>> _letters(1), _letters(27)
    ('A', 'AA')
    """
    letters = ""
    while number:
        number, rest = divmod(number - 1, len(ascii_uppercase))
        letters = ascii_uppercase[rest] + letters
    return letters
