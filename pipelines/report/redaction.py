"""Redaction: names, addresses, titles and all other words from the data are replaced, each by the same word everywhere.

What stays is what the page is for: how often, when, how surely. A rule keeps its shape, and its sentence is said anew
from the rule, so that nothing of the old sentence can be left.
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
"""Types whose actions are words of ours; in other logs an action can be the title of a step."""

_SHOWN = tuple(f"{name}:text" for name in (*_TITLES[:3], *_COMMANDS))
"""What an observation is called by, the first that it has."""


@dataclass
class Names:
    """Which word stands for which value, in the order in which they were met."""

    words: dict[tuple[str, str], str] = field(default_factory=dict)
    counters: dict[str, count[int]] = field(default_factory=dict)

    def of(self, feature: str, value: str) -> str:
        """The word for one value of a feature; the same value has the same word everywhere.

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
        """A rule with every word from the data replaced; times, days and numbers stay."""
        return rule.reworded(self._in_where)

    def _in_where(self, where: Where, field: str, value: str) -> str:
        """The word for a value of a rule; the type stays, and the action of a type that is known."""
        stays = ("type", "action") if where.get("type") in _KNOWN_TYPES else ("type",)
        return value if field in (*stays, "day_of_week", "time_of_day") else self.of(field, value)


def redacted_explanation(explanation: Explanation, names: Names) -> Explanation:
    """The explanation with people and rules renamed and the sentences said anew."""
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
    """The observations with people renamed, and of the features only a title that says nothing."""
    called = [
        pl.when(pl.col(c) != "").then(pl.format("{}\x1f{}", pl.lit(c), c))
        for c in _SHOWN
        if c in observations.columns
    ]
    titles = observations.select(pl.coalesce([*called, pl.lit(None, pl.String)]).alias("said")).get_column(
        "said"
    )
    known = {
        said: names.of(said.partition(":text\x1f")[0], said.partition(":text\x1f")[2])
        for said in titles.unique(maintain_order=True).drop_nulls()
    }
    kept = [c for c in ("all_day:flag",) if c in observations.columns]
    new = titles.replace_strict(known, default=None, return_dtype=pl.String)
    renamed = _renamed(observations.select(*BASE, *kept), names).with_columns(new.alias("title:text"))
    foreign = ~pl.col("type").is_in(_KNOWN_TYPES)
    actions = renamed.filter(foreign).get_column("action").unique(maintain_order=True).drop_nulls()
    said = {action: names.of("action", action) for action in actions}
    action = pl.col("action").replace(said) if said else pl.col("action")
    return renamed.with_columns(pl.when(foreign).then(action).otherwise("action").alias("action"))


def redacted_reading(reading: ReadingReport, names: Names) -> ReadingReport:
    """What became of the sources, without their names and without anything that notes quote."""
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
