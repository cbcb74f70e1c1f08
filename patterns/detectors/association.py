"""Association: in a context, one value is chosen again and again. Serves preferences and relationships.

A context is a subject (`patterns.subjects`); a value is one that a feature of its events takes: a number of
minutes, a place, a person in a list, or a band of numbers. Counted are the context's events that have the
feature, and those whose value it is.

**Null.** The value's share outside the context, among events of the same type (and action, where the context
names one), by events or by kinds of thing with one voice each, whichever is more: a daily walk of forty minutes makes
thirty minutes no rarer among meetings. Where there is no wider context, its share if all values seen were alike. The share outside is taken
with one event of "all alike" added, so that a value never seen elsewhere is unlikely there and not impossible.

**Hypotheses.** Every value seen in every context of a person, for each feature; and each may have begun with any
of the context's events.

**Not a choice.** A value that a context has without exception is no preference where the context is one single
thing (every "Stand-up" lasts what its series says), or where the value occurs nowhere else (every "Zoom" call is
held in "Zoom"): it belongs to the thing. Whom a mail is sent or copied to is a choice each time it is written.

**Oneself.** An address that a person sends from is their own, and no relationship. Who takes part in a mail is said
by its from, to and cc; the same people as ``participants`` say nothing more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import polars as pl

from observations.schema import split_column
from patterns.arrays import Flags, Floats, Ints, distinct, order_by, ranges
from patterns.candidates import Candidates, PatternType, Rule, Trials
from patterns.episodes import best_spans
from patterns.log import MICROSECONDS_PER_DAY, Log, occasions
from patterns.selection import FIRST, say_once
from patterns.settings import Settings
from patterns.significance import can_be_usual, is_certain, likelihood_gain
from patterns.subjects import NOT_A_SUBJECT, WHO, Subjects

_WHAT_IT_IS = frozenset(
    (
        "category",
        "categories",
        "title",
        "subject",
        "kind",
        "label",
        "labels",
        "command",
        "program",
        "subcommand",
        "app",
    )
)
_HOW_IT_WENT = frozenset(("exit_status", "all_day", "reply", "automatic", "sequence", "size", "hostname"))
"""Features that nobody chooses for themselves: what a thing is, and how it went, are no preferences."""

_CHOSEN_EACH_TIME = frozenset(("to", "cc"))
_MAIL = ("from:text", "to:list", "cc:list")

_TIE = 0.01
"""Weight of the likelihood gain where two candidates tell equally much (what holds in general tells nothing of a
context)."""

_NARROWER = 1e-7

_SEVERAL_KINDS = 3.0
"""So many kinds of thing there must be outside a context for each to have a voice."""
_BAND_RATE = 0.8
"""A band can be made as wide as one likes: it is a preference only if nearly all values lie in it."""
_DECILES = 10
_WIDEST_BAND = 6
"""Bands run over one to six tenths of a person's values: wider ones say nothing."""


@dataclass(frozen=True)
class PreferenceDetector:
    """Finds values that are preferred: lengths, places, any feature that says how a thing is done.

    Attributes:
        least_rate: a value chosen more seldom than this in its context is no candidate.
    """

    least_rate: float = 0.4
    type: PatternType = "preference"

    def detect(self, log: Log, subjects: Subjects, settings: Settings, _explained: Flags) -> Candidates:
        """Candidates for preferred values; see the module."""
        no_choice = {*NOT_A_SUBJECT, *_WHAT_IT_IS, *_HOW_IT_WENT}
        columns = [c for c in log.features if not c.endswith(":list") and _name(c) not in no_choice]
        features = [_values_of(_chosen(log, c), c) for c in columns]
        features += [_bands_of(log, _chosen(log, c), c) for c in columns if c.endswith(":number")]
        return _associate(self.type, log, subjects, settings, features, self.least_rate)


@dataclass(frozen=True)
class RelationshipDetector:
    """Finds people who belong to a context.

    Attributes:
        least_rate: a person seen more seldom than this in the context is no candidate.
    """

    least_rate: float = 0.4
    type: PatternType = "relationship"

    def detect(self, log: Log, subjects: Subjects, settings: Settings, _explained: Flags) -> Candidates:
        """Candidates for people who belong to a context; see the module."""
        columns = [c for c in log.features if _name(c) in WHO and c.rpartition(":")[2] in ("list", "text")]
        features = [_others_in(log, c) for c in columns]
        return _associate(self.type, log, subjects, settings, features, self.least_rate)


@dataclass(frozen=True, eq=False)
class _Feature:
    """One feature's values as small numbers.

    Attributes:
        has: (events,) whether the event has the feature at all.
        count: (events,) how many values each event has.
        value: (pairs,) the values of each event in turn.
        means: what each number stands for: a value, or the ends of a band.
        several: whether an event has several values for reasons of its own (a list), so that two values do not
            compete for it.
        bands: whether the values are bands of numbers.
    """

    column: str
    has: Flags
    count: Ints
    value: Ints
    means: Sequence[object]
    several: bool
    bands: bool = False


def _others_in(log: Log, column: str) -> _Feature:
    """The people in a column, without the person themselves; of mails only what from, to and cc do not say."""
    frame = log.frame
    people = pl.col(column)
    if "from:text" in frame.columns:
        sent = (
            frame.filter(pl.col("action") == "sent").select("user_id", _me="from:text").drop_nulls().unique()
        )
        own = sent.group_by("user_id").agg("_me")
        frame = frame.join(own, on="user_id", how="left", maintain_order="left")
        mine = pl.col("_me").fill_null([])
        others = people.list.set_difference(mine) if column.endswith(":list") else people
        people = others if column.endswith(":list") else pl.when(~mine.list.contains(people)).then(people)
    if _name(column) == "participants" and (said := [c for c in _MAIL if c in frame.columns]):
        people = pl.when(pl.all_horizontal(pl.col(c).is_null() for c in said)).then(people)
    return _values_of(frame.select(people.alias(column)).to_series(), column)


def _values_of(series: pl.Series, column: str) -> _Feature:
    pairs = pl.DataFrame({"event": np.arange(len(series)), "value": series})
    several = column.endswith(":list")
    if several:
        pairs = pairs.explode("value", empty_as_null=True).unique(maintain_order=True)
    pairs = pairs.drop_nulls("value").with_columns(code=pl.col("value").rank("dense").cast(pl.Int64) - 1)
    means = pairs.unique("code").sort("code").get_column("value").to_list()
    count = np.bincount(pairs["event"].to_numpy(), minlength=len(series))
    return _Feature(column, series.is_not_null().to_numpy(), count, pairs["code"].to_numpy(), means, several)


def _chosen(log: Log, column: str) -> pl.Series:
    """The values of a column that somebody chose: how long a command took is not."""
    values = pl.col(column)
    if _name(column) == "duration_minutes":
        values = pl.when(pl.col("type") != "command").then(values)
    return log.frame.select(values.alias(column)).to_series()


def _bands_of(log: Log, series: pl.Series, column: str) -> _Feature:
    """Bands of a number: every run of one to six tenths of the person's distinct values.

    Tenths of what a person's tool ever shows; a person with fewer distinct values than tenths has no bands.
    """
    known = np.flatnonzero(series.is_not_null().to_numpy())
    users, numbers = log.user[known], series.drop_nulls().to_numpy()
    count = np.zeros(len(log), dtype=np.int64)
    codes: list[Ints] = []
    means: list[tuple[float, float]] = []
    for user in np.unique(users):
        mine = users == user
        distinct = np.unique(numbers[mine])
        if len(distinct) < _DECILES:
            continue
        parts = np.array_split(distinct, _DECILES)
        tenth = np.searchsorted([part[-1] for part in parts], numbers[mine])
        bands = [(a, b) for a in range(_DECILES) for b in range(a, min(a + _WIDEST_BAND, _DECILES))]
        code = {band: len(means) + i for i, band in enumerate(bands)}
        means += [(float(parts[a][0]), float(parts[b][-1])) for a, b in bands]
        of_tenth = [[code[band] for band in bands if band[0] <= t <= band[1]] for t in range(_DECILES)]
        lengths = np.array([len(c) for c in of_tenth])
        count[known[mine]] = lengths[tenth]
        flat, start = np.concatenate(of_tenth), np.cumsum(lengths) - lengths
        codes.append(flat[ranges(start[tenth], lengths[tenth])])
    value = np.concatenate(codes) if codes else np.empty(0, dtype=np.int64)
    return _Feature(column, count > 0, count, value, means, several=False, bands=True)


@dataclass(frozen=True, eq=False)
class _Cells:
    """Context and value, with their counts; every array is (cells,).

    Attributes:
        feature: index of the feature.
        support, opportunities: events of the context with the value, and with the feature.
        elsewhere: events of the wider context, outside this one, with the value.
        null_rate: chance of the value by the null.
        told: nats that context and value tell of each other.
    """

    feature: Ints
    subject: Ints
    value: Ints
    support: Ints
    opportunities: Ints
    elsewhere: Ints
    null_rate: Floats
    told: Floats

    def __len__(self) -> int:
        return len(self.subject)

    def __getitem__(self, chosen: Ints | Flags) -> _Cells:
        return _Cells(*(getattr(self, f.name)[chosen] for f in fields(self)))

    @classmethod
    def joined(cls, parts: Sequence[_Cells]) -> _Cells:
        """All cells of all parts."""
        return cls(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)))


def _associate(
    type: PatternType,
    log: Log,
    subjects: Subjects,
    settings: Settings,
    features: Sequence[_Feature],
    least_rate: float,
) -> Candidates:
    if not features or not len(subjects):
        return Candidates.none(type)
    least = max(settings.confirmation_count - 2, 2)
    bases = _bases(log, subjects)
    kinds = _kinds(subjects, bases.kind)
    hypotheses, found = np.zeros(len(log.users)), []
    for number, feature in enumerate(features):
        cells = _count(subjects, bases, feature, number)
        hypotheses += np.bincount(
            subjects.user[cells.subject], weights=cells.opportunities, minlength=len(log.users)
        )
        good = (cells.support >= least) & (cells.support > cells.opportunities * cells.null_rate)
        if feature.bands:
            good &= cells.support >= _BAND_RATE * cells.opportunities
        good &= _is_other_feature(subjects, cells.subject, feature.column)
        if _name(feature.column) not in _CHOSEN_EACH_TIME:
            good &= _is_choice(cells, feature, kinds)
        found.append(cells[good])
    cells = _Cells.joined(found)
    if not len(cells):
        return Candidates.none(type)
    return _candidates(type, log, subjects, features, cells, hypotheses, least, least_rate, settings)


@dataclass(frozen=True, eq=False)
class _Bases:
    """Wider contexts: all events of a type, and all of a type and action.

    Attributes:
        subject: (subjects,) the base of each subject.
        event: (2, events) the bases of each event: by type, and by type and action.
        names_action: (subjects,) 1 where a subject names an action, and so has a base of the second sort.
        kind: (events,) the kind of thing that each event is.
        count: how many bases there are.
    """

    subject: Ints
    event: Ints
    names_action: Ints
    kind: Ints
    count: int


def _bases(log: Log, subjects: Subjects) -> _Bases:
    by_type = (
        log.frame.select(pl.struct("user_id", "type").rank("dense")).to_series().to_numpy().astype(np.int64)
        - 1
    )
    by_action = log.frame.select(pl.struct("user_id", "type", "action").rank("dense")).to_series().to_numpy()
    event = np.stack([by_type, by_action.astype(np.int64) + by_type.max(initial=0)])
    names_action = np.array(["action" in columns for columns in subjects.levels], dtype=np.int64)
    first = subjects.event[subjects.start[:-1]]
    of_subject = names_action[subjects.level]
    count = int(event.max(initial=-1)) + 1
    return _Bases(event[of_subject, first], event, of_subject, _kind_codes(log), count)


def _count(subjects: Subjects, bases: _Bases, feature: _Feature, number: int) -> _Cells:
    """Every value seen in every context, with the counts inside and outside."""
    everyone = np.tile(np.arange(bases.event.shape[1]), 2)
    voice = _voices(bases, feature)
    wider = _Tally.of(feature, bases.event.ravel(), everyone, voice.ravel(), bases.count)
    # A context's events speak with the voice they have in its wider context.
    level = bases.names_action[subjects.owner]
    inner = _Tally.of(feature, subjects.owner, subjects.event, voice[level, subjects.event], len(subjects))
    own = bases.subject[inner.owner]
    values = len(feature.means)
    at = np.searchsorted(wider.owner * values + wider.value, own * values + inner.value)
    # The share of a value if all were alike: one of so many values, as often as an event has values.
    seen = np.bincount(wider.owner, minlength=bases.count)
    alike = np.bincount(wider.owner, weights=wider.count, minlength=bases.count) / np.maximum(
        wider.size * seen, 1
    )
    alike = np.minimum(alike[own], 1.0)
    size, elsewhere = inner.size[inner.owner], wider.count[at] - inner.count
    by_event = (elsewhere + alike) / (wider.size[own] - size + 1.0)
    said = np.maximum(wider.said[at] - inner.said, 0.0)
    kinds = wider.kinds[own] - inner.kinds[inner.owner]
    by_kind = np.where(kinds >= _SEVERAL_KINDS, said / np.maximum(kinds, 1.0), 0.0)
    null = np.clip(np.maximum(by_event, by_kind), 1e-9, 1 - 1e-9)
    told = np.asarray(
        inner.count * np.log(inner.count * wider.size[own] / (size * wider.count[at])), dtype=np.float64
    )
    features = np.full(len(inner.owner), number)
    return _Cells(features, inner.owner, inner.value, inner.count, size, elsewhere, null, told)


@dataclass(frozen=True, eq=False)
class _Tally:
    """Counts of a feature's values by owner (contexts, or wider contexts).

    Attributes:
        owner, value, count: (cells,) sorted by owner and value.
        said: (cells,) the same count in voices: each kind of thing has one, shared by its events.
        size, kinds: (owners,) events that have the feature, and the same in voices.
    """

    owner: Ints
    value: Ints
    count: Ints
    said: Floats
    size: Ints
    kinds: Floats

    @classmethod
    def of(cls, feature: _Feature, owner: Ints, event: Ints, voice: Floats, owners: int) -> _Tally:
        """Count the values of these events for their owners."""
        having = feature.has[event]
        owner, event, voice = owner[having], event[having], voice[having]
        length, start = feature.count[event], np.cumsum(feature.count) - feature.count
        values = max(len(feature.means), 1)
        key = np.repeat(owner, length) * values + feature.value[ranges(start[event], length)]
        keys, cell, count = np.unique(key, return_inverse=True, return_counts=True)
        said: Floats = np.bincount(cell, weights=np.repeat(voice, length), minlength=len(keys)).astype(
            np.float64
        )
        size = np.bincount(owner, minlength=owners)
        kinds: Floats = np.bincount(owner, weights=voice, minlength=owners).astype(np.float64)
        return cls(keys // values, keys % values, count, said, size, kinds)


def _voices(bases: _Bases, feature: _Feature) -> Floats:
    """(2, events) each event's share of its kind of thing's one voice in its two wider contexts."""
    kinds = int(bases.kind.max(initial=0)) + 1
    voices = np.zeros(bases.event.shape)
    for row, base in enumerate(bases.event):
        _, group = np.unique(base * kinds + bases.kind, return_inverse=True)
        size = np.bincount(group, weights=feature.has)
        voices[row] = np.where(feature.has, 1.0 / np.maximum(size, 1.0)[group], 0.0)
    return voices


def _kind_codes(log: Log) -> Ints:
    """(events,) a number for each kind of thing; 0 where an event has none."""
    if "kind:text" not in log.frame.columns:
        return np.zeros(len(log), dtype=np.int64)
    return log.frame.get_column("kind:text").rank("dense").fill_null(0).to_numpy().astype(np.int64)


def _kinds(subjects: Subjects, kind: Ints) -> Ints:
    """(subjects,) how many kinds of thing a subject's events are of."""
    kinds = int(kind.max(initial=0)) + 1
    keys = distinct(subjects.owner * kinds + kind[subjects.event])
    return np.bincount(keys // kinds, minlength=len(subjects))


def _is_other_feature(subjects: Subjects, subject: Ints, column: str) -> Flags:
    """(cells,) whether the context is not itself defined by this feature."""
    defines = np.array([any(c == column for c in columns) for columns in subjects.levels], dtype=np.bool_)
    return ~defines[subjects.level[subject]]


def _is_choice(cells: _Cells, feature: _Feature, kinds: Ints) -> Flags:
    """(cells,) whether the value could have been another; see "Not a choice" in the module."""
    always = cells.support == cells.opportunities
    belongs = kinds[cells.subject] == 1
    if feature.column.endswith(":text"):
        belongs |= cells.elsewhere == 0
    choice: Flags = ~(always & belongs)
    return choice


def _candidates(
    type: PatternType,
    log: Log,
    subjects: Subjects,
    features: Sequence[_Feature],
    cells: _Cells,
    hypotheses: Floats,
    least: int,
    least_rate: float,
    settings: Settings,
) -> Candidates:
    """The cells that are worth it, each thing once, with their trials."""
    gain = likelihood_gain(cells.support, cells.opportunities, cells.null_rate)
    rate = cells.support / cells.opportunities
    cells = cells[(gain > 0) & ((rate >= least_rate) | (cells.support >= 2 * least))]
    cell, event, hit = _outcomes(subjects, features, cells)
    row = np.arange(len(cell))
    first, last = best_spans(cell[hit], row[hit], len(cells))
    first, last = row[hit][first], row[hit][last]
    inside = (row >= first[cell]) & (row <= last[cell])
    support = np.bincount(cell[inside & hit], minlength=len(cells))
    opportunities = last - first + 1
    gain = likelihood_gain(support, opportunities, cells.null_rate)
    good = (support >= least) & (support >= least_rate * opportunities) & (gain > 0)
    good &= support > opportunities * cells.null_rate

    renumber = np.cumsum(good) - 1
    rests = inside & hit & good[cell]
    competes = _competes(features, cells)[cell[rests]] * len(log) + event[rests]
    cells, gain, first = cells[good], gain[good], first[good]
    # Of contexts that differ only in events without the feature, the narrower one says what it is about.
    says = cells.told + _TIE * gain - _NARROWER * subjects.size[cells.subject]
    certain = is_certain(type, gain, hypotheses[subjects.user[cells.subject]], settings)
    says += np.where(
        certain & can_be_usual((support / opportunities)[good], cells.null_rate, settings), FIRST, 0.0
    )
    kept = say_once(subjects.user[cells.subject], says, renumber[cell[rests]], competes)

    known = good[cell] & (row >= np.concatenate([first, [0]])[np.where(good, renumber, -1)][cell])
    known &= np.concatenate([kept, [False]])[np.where(good, renumber, -1)][cell]
    final = np.cumsum(kept) - 1
    trials = _trials(log, final[renumber[cell[known]]], event[known], hit[known])
    cells = cells[kept]
    user = subjects.user[cells.subject]
    return Candidates(
        type, user, _rules(subjects, features, cells), cells.null_rate, hypotheses[user], trials
    )


def _outcomes(subjects: Subjects, features: Sequence[_Feature], cells: _Cells) -> tuple[Ints, Ints, Flags]:
    """(rows,) cell, event and whether it has the value, for every event of a context that has the feature."""
    rows: list[tuple[Ints, Ints, Flags]] = []
    for number, feature in enumerate(features):
        mine = np.flatnonzero(cells.feature == number)
        if not len(mine):
            continue
        length = subjects.size[cells.subject[mine]]
        cell = np.repeat(mine, length)
        event = subjects.event[ranges(subjects.start[cells.subject[mine]], length)]
        having = feature.has[event]
        cell, event = cell[having], event[having]
        values = len(feature.means)
        pairs = np.sort(np.repeat(np.arange(len(feature.count)), feature.count) * values + feature.value)
        wanted = event * values + cells.value[cell]
        at = np.minimum(np.searchsorted(pairs, wanted), len(pairs) - 1)
        rows.append((cell, event, pairs[at] == wanted))
    if not rows:
        none = np.zeros(0, dtype=np.int64)
        return none, none, none.astype(np.bool_)
    cell, event, hit = (np.concatenate(part) for part in zip(*rows, strict=True))
    order = order_by(cell, event)
    return cell[order], event[order], hit[order]


def _competes(features: Sequence[_Feature], cells: _Cells) -> Ints:
    """(cells,) cells with the same number compete for an event: the same column, and of a list the same value."""
    columns = sorted({f.column for f in features})
    column = np.array([columns.index(f.column) for f in features])[cells.feature]
    several = np.array([f.several for f in features])[cells.feature]
    numbers: Ints = np.where(several, cells.value, 0) * len(columns) + column
    return numbers


def _trials(log: Log, candidate: Ints, event: Ints, hit: Flags) -> Trials:
    """Each event as one trial; late when the context's next event is (see `patience`)."""
    local = log.day[event] * MICROSECONDS_PER_DAY + np.round(
        np.nan_to_num(log.minute[event]) * 60_000_000
    ).astype(np.int64)
    order = np.lexsort((event, local, candidate))
    candidate, event, hit, local = candidate[order], event[order], hit[order], local[order]
    due = next_occasion(log, log.user[event], local, patience(candidate, local)[candidate])
    return Trials(candidate, local, hit, np.where(hit, event, -1), due)


def next_occasion(log: Log, user: Ints, local: Ints, gap: Ints) -> Ints:
    """(n,) wall clock a gap after each time; in a holiday, at the same hour of the day on which the person is back."""
    due = local + gap
    day = due // MICROSECONDS_PER_DAY
    later: Ints = due + (log.active.after_holiday(user, day) - day) * MICROSECONDS_PER_DAY
    return later


def patience(candidate: Ints, local: Ints) -> Ints:
    """(candidates,) how long to wait for the next occasion before it is late, µs; a day at least.

    Three times the mean time between occasions: were they to come at random, one wait in twenty would be longer
    (``exp(-3)``). No legal mail, nothing to copy anybody on: that is not lateness.

    Args:
        candidate, local: (trials,) sorted by candidate and wall clock (µs).
    """
    new = occasions(candidate, local)
    first, when = candidate[new], local[new]
    count = np.bincount(first, minlength=int(candidate.max(initial=-1)) + 1)
    start = np.searchsorted(first, np.arange(len(count)))
    span = when[start + count - 1] - when[start]
    wait: Ints = np.maximum(3 * span // np.maximum(count - 1, 1), MICROSECONDS_PER_DAY)
    return wait


def _rules(subjects: Subjects, features: Sequence[_Feature], cells: _Cells) -> list[Rule]:
    rules: list[Rule] = []
    for where, number, value in zip(
        subjects.where(cells.subject), cells.feature.tolist(), cells.value.tolist(), strict=True
    ):
        feature = features[number]
        means = feature.means[value]
        if isinstance(means, tuple):
            low, high = means
            rules.append(
                {"where": where, "feature": _name(feature.column), "min": _plain(low), "max": _plain(high)}
            )
        else:
            rules.append({"where": where, "feature": _name(feature.column), "value": _plain(means)})
    return rules


def _plain(value: object) -> object:
    """A whole number as an integer, so that JSON says 30 and not 30.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _name(column: str) -> str:
    return split_column(column)[0]
