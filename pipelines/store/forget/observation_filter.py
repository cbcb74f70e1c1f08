"""Sifting: observations, parted into what stays, what goes and what loses a person, by the rules of what is unwanted.

What somebody is found in, and what becomes of it, is said in `pipelines.store.forget.suppression`. The same rules part what is
stored when something is forgotten, and what comes in afterwards (`admitted`).
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
from pipelines.store.forget.suppression import Mentions, Rule, Seal, read_rules, read_seal

FEW = 1_000
"""Texts that are made distinct faster one by one than as a column: of a single observation, in microseconds."""

_OWN = (("from",), ("participants",), ("to",))
"""An observation is about those who alone are in one of these."""

_FIELDS = ("id", "type", "action", "tz", "actor")
"""What an observation has to have, so that nothing can be taken out of it."""


class Sifted(NamedTuple):
    """Observations, parted by rules.

    Attributes:
        kept: what stays, the altered ones as they are now.
        gone: what goes.
        before: the altered ones as they were.
        after: and as they are now, in the same order.

    """

    kept: pl.DataFrame
    gone: pl.DataFrame
    before: pl.DataFrame
    after: pl.DataFrame

    @property
    def is_untouched(self) -> bool:
        """Whether everything stays as it was."""
        return not self.gone.height and not self.before.height


def sift(frame: pl.DataFrame, rules: Collection[Rule], seal: Seal) -> Sifted:
    """Part an observation frame by the rules; rows come out in no particular order."""
    none = frame.clear()
    gone, kept = none, frame
    if any(rule.words is None for rule in rules):
        going = _going(frame, rules, seal)
        gone, kept = frame.filter(going), frame.filter(~going)
    before, after = [none], [none]
    owners = {rule.owner for rule in rules if rule.words is not None}
    for owner in sorted(owners):
        found = _without_people(kept, [r for r in rules if r.words is not None and r.owner == owner], seal)
        kept = found.kept
        gone = pl.concat([gone, found.gone])
        before.append(found.before)
        after.append(found.after)
    return Sifted(kept, gone, pl.concat(before), pl.concat(after))


def admitted(connection: Connection, frame: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """What of an observation frame is let in, and how many observations are not (or not as they are).

    Args:
        connection: in a writing transaction; nothing is forgotten by others before it ends.
        frame: an observation frame.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("LOCK TABLE unwanted IN SHARE MODE"))
    rules = read_rules(connection)
    if not rules:
        return frame, 0
    sifted = sift(frame, rules, read_seal(connection))
    return concat_observations([sifted.kept]), sifted.gone.height + sifted.before.height


def _going(frame: pl.DataFrame, rules: Collection[Rule], seal: Seal) -> pl.Series:
    """Which rows go as a whole because of when or which they are."""
    masks = [pl.lit(value=False)]
    owned = _owned(frame, rules, seal)
    for rule in rules:
        if rule.kind == "span":
            masks.append(_within(rule, owned))
    there = {rule.digest for rule in rules if rule.kind == "observation"}
    if there:
        keys = frame.select("user_id", "id").iter_rows()
        masks.append(
            pl.lit(pl.Series([seal.digest("observation", *key) in there for key in keys], dtype=pl.Boolean))
        )
    return frame.select(going=pl.repeat(value=False, n=pl.len()) | reduce(or_, masks)).to_series()


def _owned(frame: pl.DataFrame, rules: Collection[Rule], seal: Seal) -> dict[str, list[str]]:
    """The users of the frame that a rule may be about, by the digest by which it knows them."""
    if not any(rule.owner for rule in rules):
        return {}
    return {seal.digest("user", user): [user] for user in frame.get_column("user_id").unique()}


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


def _without_people(frame: pl.DataFrame, rules: Sequence[Rule], seal: Seal) -> Sifted:
    """Part a frame by rules about people, all of one owner."""
    none = frame.clear()
    anywhere = Mentions(rules, seal)
    hits = _Hits(frame, Mentions(rules, seal, among_people=True), anywhere)
    if hits.is_empty:
        return Sifted(frame, none, none, none)
    # What somebody did themselves is not about them as others have them: it is theirs, and `--user` forgets it.
    users = [user for user in frame.get_column("user_id").unique() if not anywhere(user)]
    if rules[0].owner:
        users = [user for user in users if seal.digest("user", user) == rules[0].owner]
    touched = frame.select(hits.touched() & pl.col("user_id").is_in(users)).to_series()
    before = frame.filter(touched)
    if not before.height:
        return Sifted(frame, none, none, none)
    after = before.with_columns(*hits.cleaned())
    goes = _goes(before, after, hits)
    left = after.filter(~goes)
    return Sifted(pl.concat([frame.filter(~touched), left]), before.filter(goes), before.filter(~goes), left)


class _Hits:
    """The texts of a frame in which one of the people stands, by column, and what follows for each column."""

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
        """Which rows name one of them anywhere."""
        named = [pl.col(name).is_not_null() for name in self._named]
        return pl.any_horizontal(pl.lit(value=False), *named, *map(self._has, self._found))

    def in_fields(self) -> pl.Expr:
        """Which rows name one of them where nothing can be taken out."""
        return pl.any_horizontal(*map(self._has, _FIELDS))

    def cleaned(self) -> Iterator[pl.Expr]:
        """The features without the texts that name one of them; a list that is empty because of it is none."""
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
    """Which rows are about nobody but the person."""
    lost = [_there(before, names) & ~_there(after, names) for names in (*_OWN, WHO)]
    return reduce(or_, lost, before.select(hits.in_fields()).to_series())


def _there(frame: pl.DataFrame, names: Collection[str]) -> pl.Series:
    """Which rows have somebody in one of these features."""
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
    """The texts in a column."""
    if len(column) > FEW:
        column = column.unique()
    return {text for text in column.to_list() if text is not None}
