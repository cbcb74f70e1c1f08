"""Counting: how often given rules were kept, of how many opportunities, in any span of time.

A detector counts while it looks for rules. Here the rule is given, and counted on events that it may never have
seen: does what was confirmed in spring hold in summer? Each shape of rule counts itself (`Rule.opportunities`), for all
people and rules at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import numpy as np
import polars as pl

from patterns.eventlog.arrays import Ints
from patterns.eventlog.log import Log
from patterns.registry import rule_of
from patterns.rules.rule import Rule
from patterns.rules.rule_log import Asked, RuleLog
from patterns.settings import Settings

COUNTS: Mapping[str, pl.DataType] = {
    "id": pl.String(),
    "user_id": pl.String(),
    "support": pl.Int64(),
    "opportunities": pl.Int64(),
}
"""One row a pattern, in the order of the patterns asked for."""


def count_rules(
    observations: pl.DataFrame,
    patterns: pl.DataFrame,
    since: datetime,
    until: datetime,
    settings: Settings | None = None,
) -> pl.DataFrame:
    """How often each pattern's rule was kept, of how many opportunities after `since` and up to `until` (`COUNTS`).

    Args:
        observations: an observation frame of the people; what is later than `until` does not count, and what is
            earlier than `since` only tells the clock and the kinds of thing.
        patterns: has ``id``, ``user_id``, ``type`` and ``rule`` (JSON), as `patterns.evaluate.evaluate` returns them.
        since, until: aware.
        settings: which observations count as evidence.

    Raises:
        SchemaError: `observations` is no observation frame.
        SettingError: `until` has no zone, or a rule is none of its type.
    """
    log = RuleLog(Log.of_observations(observations, until, settings or Settings()))
    number = {name: code for code, name in enumerate(log.log.users)}
    rules = [rule_of(*row) for row in patterns.select("type", "rule").iter_rows()]
    users = [number.get(name, -1) for name in patterns.get_column("user_id")]
    span = int((until - since).total_seconds() * 1e6)
    counts = np.zeros((len(rules), 2), dtype=np.int64)
    for shape in {type(rule): None for rule in rules}:
        row = np.array([i for i, r in enumerate(rules) if type(r) is shape and users[i] >= 0], dtype=np.int64)
        if len(row):
            counts[row] = _counted(log, shape, [rules[i] for i in row.tolist()], np.array(users)[row], span)
    return patterns.select("id", "user_id").with_columns(
        support=pl.Series(counts[:, 0], dtype=pl.Int64), opportunities=pl.Series(counts[:, 1], dtype=pl.Int64)
    )


def _counted(log: RuleLog, shape: type[Rule], rules: list[Rule], user: Ints, span: int) -> Ints:
    """(rules, 2) support and opportunities of rules of one shape whose outcome became known in the last `span` µs."""
    found = shape.opportunities(log, Asked(user, rules))
    now = log.now[user][found.rule]
    inside = (found.local > now - span) & (found.local <= now)
    rule, kept = found.rule[inside], found.kept[inside]
    support = np.bincount(rule, weights=kept, minlength=len(rules)).astype(np.int64)
    return np.stack([support, np.bincount(rule, minlength=len(rules))], axis=1)
