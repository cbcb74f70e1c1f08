"""Applies the suppression list to observations: keeps, deletes, or removes a person from each.

The rules are described in `pipelines.store.forget.suppression`. The same filter is used for stored observations when
something is forgotten and for new observations (`apply_suppression_list`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import reduce
from operator import or_
from typing import NamedTuple

import polars as pl
from sqlalchemy import Connection, text

from observations.schema import concat_observations, feature_columns, split_column
from patterns.eventlog.subjects import WHO
from pipelines.store.forget.suppression import DigestKey, Mentions, Rule, read_key, read_rules

FEW = 1_000
"""Columns up to this length are made distinct in Python, which takes microseconds for a single observation."""

_OWN = (("from",), ("participants",), ("to",))
"""A person who is alone in one of these is what the observation is about."""

_FIELDS = ("id", "type", "action", "tz", "actor")
"""Required fields, from which nothing can be removed."""


class Filtered(NamedTuple):
    """Observations split by the rules.

    Attributes:
        kept: observations that stay, altered ones in their new form.
        gone: observations to delete.
        before: altered observations in their old form.
        after: altered observations in their new form, in the same order.

    """

    kept: pl.DataFrame
    gone: pl.DataFrame
    before: pl.DataFrame
    after: pl.DataFrame

    @property
    def is_untouched(self) -> bool:
        """True if nothing is deleted or altered."""
        return not self.gone.height and not self.before.height


def filter_observations(frame: pl.DataFrame, rules: Collection[Rule], key: DigestKey) -> Filtered:
    """Split an observation frame by the rules; the order of rows is undefined."""
    none = frame.clear()
    gone, kept = none, frame
    if any(rule.words is None for rule in rules):
        going = _going(frame, rules, key)
        gone, kept = frame.filter(going), frame.filter(~going)
    before, after = [none], [none]
    owners = {rule.owner for rule in rules if rule.words is not None}
    for owner in sorted(owners):
        found = _without_people(kept, [r for r in rules if r.words is not None and r.owner == owner], key)
        kept = found.kept
        gone = pl.concat([gone, found.gone])
        before.append(found.before)
        after.append(found.after)
    return Filtered(kept, gone, pl.concat(before), pl.concat(after))


def apply_suppression_list(connection: Connection, frame: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """The observations that may be stored, and the number of observations left out or altered.

    Args:
        connection: in a writing transaction; it blocks forgetting until it ends.
        frame: an observation frame.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("LOCK TABLE unwanted IN SHARE MODE"))
    rules = read_rules(connection)
    if not rules:
        return frame, 0
    filtered = filter_observations(frame, rules, read_key(connection))
    return concat_observations([filtered.kept]), filtered.gone.height + filtered.before.height


def _going(frame: pl.DataFrame, rules: Collection[Rule], key: DigestKey) -> pl.Series:
    """Mask of rows that a span or observation rule deletes."""
    masks = [pl.lit(value=False)]
    owned = _owned(frame, rules, key)
    for rule in rules:
        if rule.kind == "span":
            masks.append(_within(rule, owned))
    there = {rule.digest for rule in rules if rule.kind == "observation"}
    if there:
        pairs = frame.select("user_id", "id").iter_rows()
        masks.append(
            pl.lit(pl.Series([key.digest("observation", *pair) in there for pair in pairs], dtype=pl.Boolean))
        )
    return frame.select(going=pl.repeat(value=False, n=pl.len()) | reduce(or_, masks)).to_series()


def _owned(frame: pl.DataFrame, rules: Collection[Rule], key: DigestKey) -> dict[str, list[str]]:
    """The users of the frame by digest, as rules with an owner name them."""
    if not any(rule.owner for rule in rules):
        return {}
    return {key.digest("user", user): [user] for user in frame.get_column("user_id").unique()}


def _within(rule: Rule, owned: dict[str, list[str]]) -> pl.Expr:
    parts = [pl.lit(value=True)]
    if rule.owner:
        parts.append(pl.col("user_id").is_in(owned.get(rule.owner, [])))
    if rule.since is not None:
        parts.append(pl.col("local").dt.epoch("us") >= rule.since)
    if rule.until is not None:
        parts.append(pl.col("local").dt.epoch("us") < rule.until)
    if rule.latest is not None:
        parts.append(pl.col("at").dt.epoch("us") <= rule.latest)
    return pl.all_horizontal(parts)


def _without_people(frame: pl.DataFrame, rules: Sequence[Rule], key: DigestKey) -> Filtered:
    """Split a frame by rules about people, all with one owner."""
    none = frame.clear()
    anywhere = Mentions(rules, key)
    hits = _Hits(frame, Mentions(rules, key, among_people=True), anywhere)
    if hits.is_empty:
        return Filtered(frame, none, none, none)
    # The person's own records, if they are a user as well, are theirs: `--user` forgets those.
    users = [user for user in frame.get_column("user_id").unique() if not anywhere(user)]
    if rules[0].owner:
        users = [user for user in users if key.digest("user", user) == rules[0].owner]
    touched = frame.select(hits.touched() & pl.col("user_id").is_in(users)).to_series()
    before = frame.filter(touched)
    if not before.height:
        return Filtered(frame, none, none, none)
    after = before.with_columns(*hits.cleaned())
    goes = _goes(before, after, hits)
    left = after.filter(~goes)
    return Filtered(
        pl.concat([frame.filter(~touched), left]), before.filter(goes), before.filter(~goes), left
    )


class _Hits:
    """The texts of a frame that name one of the people, by column."""

    def __init__(self, frame: pl.DataFrame, among_people: Mentions, anywhere: Mentions) -> None:
        self._found: dict[str, list[str]] = {}
        self._schema = frame.schema
        features = feature_columns(frame.columns)
        self._named = [name for name in features if anywhere(split_column(name)[0])]
        for name in [*features, *_FIELDS]:
            column = frame.get_column(name)
            if column.dtype == pl.List(pl.String):
                column = column.explode()
            if column.dtype == pl.String:
                is_there = among_people if name in features and split_column(name)[0] in WHO else anywhere
                self._found[name] = [text for text in _distinct(column) if is_there(text)]
        self.is_empty = not self._named and not any(self._found.values())

    def touched(self) -> pl.Expr:
        """True for rows that name one of them anywhere."""
        named = [pl.col(name).is_not_null() for name in self._named]
        return pl.any_horizontal(pl.lit(value=False), *named, *map(self._has, self._found))

    def in_fields(self) -> pl.Expr:
        """True for rows that name one of them in a required field."""
        return pl.any_horizontal(*map(self._has, _FIELDS))

    def cleaned(self) -> Iterator[pl.Expr]:
        """The features without the texts that name one of them; a list emptied by this becomes null."""
        for name, hits in self._found.items():
            if name in self._named or name in _FIELDS or not hits:
                continue
            if self._schema[name] == pl.List(pl.String):
                left = pl.col(name).list.eval(
                    pl.element().filter(~pl.element().is_in(hits).fill_null(value=False))
                )
                emptied = (left.list.len() == 0) & (pl.col(name).list.len() > 0)
                yield pl.when(~emptied).then(left).alias(name)
            else:
                yield pl.when(~pl.col(name).is_in(hits)).then(pl.col(name)).alias(name)
        yield from (pl.lit(None, dtype=self._schema[name]).alias(name) for name in self._named)

    def _has(self, name: str) -> pl.Expr:
        hits = self._found[name]
        if self._schema[name] == pl.List(pl.String):
            return pl.col(name).list.eval(pl.element().is_in(hits)).list.any().fill_null(value=False)
        return pl.col(name).is_in(hits).fill_null(value=False)


def _goes(before: pl.DataFrame, after: pl.DataFrame, hits: _Hits) -> pl.Series:
    """Mask of rows that are about nobody but the person."""
    lost = [_there(before, names) & ~_there(after, names) for names in (*_OWN, WHO)]
    return reduce(or_, lost, before.select(hits.in_fields()).to_series())


def _there(frame: pl.DataFrame, names: Collection[str]) -> pl.Series:
    """Mask of rows that name somebody in one of these features."""
    some = [
        pl.col(c).list.len() > 0 if isinstance(frame.schema[c], pl.List) else pl.col(c).is_not_null()
        for c in feature_columns(frame.columns)
        if split_column(c)[0] in names
    ]
    nobody = pl.repeat(value=False, n=pl.len())
    return frame.select(
        there=nobody | pl.any_horizontal(pl.lit(value=False), *some).fill_null(value=False)
    ).to_series()


def _distinct(column: pl.Series) -> set[str]:
    """The distinct texts in a column."""
    if len(column) > FEW:
        column = column.unique()
    return {text for text in column.to_list() if text is not None}
