"""What was forgotten stays out: rules that tell it when it comes again, without knowing it.

An export that is read once more would bring back what was forgotten. So the store keeps a rule for each thing that was:

===========  =========================================  =======================================================
kind         what is kept of it                         what it keeps out
===========  =========================================  =======================================================
span         two wall clocks, or none                   what happened between them
observation  a digest of user and id                    that observation
name         a digest of its words, and their number    the name, wherever it stands
address      a digest of the address                    the address among people (``participants``, ``from``, …)
text         a digest of the words of the address       the address in any other text
===========  =========================================  =======================================================

Digests are keyed with a random number of the store, so they say nothing outside of it; who holds the store can test
a guess against them. Forgetting itself applies the same rules (`sift`) to what is stored already: what stays is what
would have been let in.

**A person** is found by whole words, whatever their case, Unicode form or percent-encoding: ``lena@example.com`` in
"mailto:Lena@example.com", not in "helena@example.com". Among people, "anna.lena@example.com" is somebody else; in any
other text it is in doubt and counts, for not a byte of the address is to stay. Then:

- an observation that they made (``from``), or that is with them alone (nobody else in ``participants`` or ``to``, or
  nobody else named at all), or whose id names them, goes;
- any other loses them: the entry of a list, a single name (``organizer``), and every text they stand in (a title, a
  command), as a whole.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Literal, NamedTuple
from urllib.parse import unquote

import polars as pl
from sqlalchemy import Connection, select, text

from observations.schema import concat_observations, feature_columns, split_column
from patterns.subjects import WHO
from pipelines.store.facts import fact
from pipelines.store.tables import unwanted

Kind = Literal["observation", "address", "name", "text", "span"]

KEY = "key of what is unwanted"
"""The fact of the store that holds the key of its digests."""

FEW = 1_000
"""Texts that are made distinct faster one by one than as a column: of a single observation, in microseconds."""

_OWN = (("from",), ("participants",), ("to",))
"""An observation is about those who alone are in one of these."""

_FIELDS = ("id", "type", "action", "tz", "actor")
"""What an observation has to have, so that nothing can be taken out of it."""

_ADDRESS_WORD = re.compile(r"[\w@+-]+(?:\.[\w@+-]+)*")
_NAME_WORD = re.compile(r"[^\W_]+")

_WORDS = {"address": _ADDRESS_WORD, "name": _NAME_WORD, "text": _NAME_WORD}


@dataclass(frozen=True)
class Rule:
    """One thing that is not let in.

    Attributes:
        kind: of what.
        digest: of what it is; of a span, of its bounds.
        owner: digest of whose records it is about; empty for anybody's.
        words: of a person: how many words the address or name has.
        since: of a span: wall clock from which, µs; null from the beginning.
        until: wall clock before which, µs; null to the end.
        latest: nothing later than this instant, µs since 1970 UTC; null for no bound.

    """

    kind: Kind
    digest: str
    owner: str = ""
    words: int | None = None
    since: int | None = None
    until: int | None = None
    latest: int | None = None


class Seal:
    """Makes digests that only this key makes."""

    def __init__(self, key: bytes) -> None:
        self.key = key

    def digest(self, *parts: str) -> str:
        """128 bits of these texts, as hexadecimal digits."""
        said = "\0".join(parts).encode("utf-8", "surrogatepass")
        return hashlib.blake2b(said, key=self.key, digest_size=16).hexdigest()

    def person(self, name: str, owner: str = "") -> list[Rule]:
        """The rules that keep out a person with this address or name."""
        kinds: tuple[Kind, ...] = ("address", "text") if "@" in name else ("name",)
        found = {kind: _words(name, kind) for kind in kinds}
        return [
            Rule(kind, self.digest(kind, *words), owner, words=len(words)) for kind, words in found.items()
        ]

    def observation(self, user: str, id: str) -> Rule:
        """The rule that keeps out one observation."""
        return Rule("observation", self.digest("observation", user, id), self.digest("user", user))

    def span(self, owner: str, since: int | None, until: int | None, latest: int | None) -> Rule:
        """The rule that keeps out a span of time."""
        bounds = self.digest("span", str(since), str(until), str(latest))
        return Rule("span", bounds, owner, since=since, until=until, latest=latest)


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


class Mentions:
    """Tells whether one of some people stands in a text.

    Args:
        rules: those about people are heeded.
        seal: the one that made them.
        among_people: whether the texts are names of people.

    """

    def __init__(self, rules: Iterable[Rule], seal: Seal, *, among_people: bool = False) -> None:
        self._seal = seal
        self._digests: dict[str, dict[int, set[str]]] = {}
        for rule in rules:
            if rule.words and rule.kind in ("name", "address" if among_people else "text"):
                self._digests.setdefault(rule.kind, {}).setdefault(rule.words, set()).add(rule.digest)

    def __call__(self, text: str) -> bool:
        """Whether one of them does."""
        return any(
            self._seal.digest(kind, *window) in digests
            for kind, sizes in self._digests.items()
            for words in [_words(text, kind)]
            for size, digests in sizes.items()
            for window in _windows(words, size)
        )


def has_words(name: str) -> bool:
    """Whether there is anything in a name by which it could be found."""
    return bool(_words(name, "name"))


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


def read_rules(connection: Connection) -> list[Rule]:
    """All rules of the store."""
    return [Rule(**row._mapping) for row in connection.execute(select(unwanted))]


def read_seal(connection: Connection) -> Seal:
    """The seal of the store.

    Raises:
        LookupError: it has none yet.
    """
    key = fact(connection, KEY)
    if key is None:
        raise LookupError(KEY)
    return Seal(bytes.fromhex(key))


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


def _words(text: str, kind: str) -> list[str]:
    plain = unicodedata.normalize("NFKC", unquote(text) if "%" in text else text).casefold()
    return _WORDS[kind].findall(plain)


def _windows(words: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (words[start : start + size] for start in range(len(words) - size + 1))
