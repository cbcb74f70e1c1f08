"""Contexts: how often each value occurs inside a context, and how often outside it.

A context is a subject. Around it lies its *base*, the wider context: all events of its type, or of its type and
action where it names one. Outside the context, events are counted one by one, and by kinds of thing with one voice
each, shared by its events: a daily walk of forty minutes makes thirty minutes no rarer among meetings.

::

    base      [ all meetings                                  ]
    context       [ meetings with Bea ]
    outside   [   ]                   [                       ]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from patterns.detectors.feature_values import Feature
from patterns.eventlog.arrays import Floats, Ints, Rows, distinct, pack, ranges, unpack
from patterns.eventlog.category_codes import coded, coded_with_nulls, pair_codes
from patterns.eventlog.log import Log
from patterns.eventlog.subjects import Subjects

_SEVERAL_KINDS = 3.0
"""Kinds of thing that must exist outside a context for each to have a voice."""


@dataclass(frozen=True, eq=False)
class Cells(Rows):
    """Context and value, with their counts; every array is (cells,).

    Attributes:
        feature: index of the feature.
        subject: the context.
        value: the value, as a number of the feature.
        support, opportunities: events of the context with the value, and with the feature.
        elsewhere: events of the wider context, outside this one, with the value.
        null_rate: chance of the value by the null.
        information: mutual information of context and value, nats.
    """

    feature: Ints
    subject: Ints
    value: Ints
    support: Ints
    opportunities: Ints
    elsewhere: Ints
    null_rate: Floats
    information: Floats


@dataclass(frozen=True, eq=False)
class Bases:
    """Wider contexts: all events of a type, and all of a type and action.

    Attributes:
        subject: (subjects,) the base of each subject.
        event: (2, events) the bases of each event: by type, and by type and action.
        names_action: (subjects,) 1 where a subject names an action, and so has a base of the second sort.
        kind: (events,) a number for each kind of thing; 0 where an event has none.
        count: how many bases there are.
    """

    subject: Ints
    event: Ints
    names_action: Ints
    kind: Ints
    count: int

    @classmethod
    def of(cls, log: Log, subjects: Subjects) -> Bases:
        """The bases of these subjects, of which there is at least one."""
        by_type = log.kind
        by_action = pair_codes(by_type, coded(log.frame.get_column("action"))[0])
        event = np.stack([by_type, by_action + by_type.max(initial=-1) + 1])
        level_names_action = np.array(["action" in columns for columns in subjects.levels], dtype=np.int64)
        names_action = level_names_action[subjects.level]
        first = subjects.event[subjects.start[:-1]]
        count = int(event.max(initial=-1)) + 1
        return cls(
            subject=event[names_action, first],
            event=event,
            names_action=names_action,
            kind=_kind_codes(log),
            count=count,
        )


def _kind_codes(log: Log) -> Ints:
    if "kind:text" not in log.frame.columns:
        return np.zeros(len(log), dtype=np.int64)
    return coded_with_nulls(log.frame.get_column("kind:text"))


def kinds_of(subjects: Subjects, kind: Ints) -> Ints:
    """(subjects,) how many kinds of thing a subject's events are of.

    Args:
        subjects: the subjects.
        kind: (events,) the kind of each event (see `Bases`).
    """
    subject, _ = unpack(distinct(pack(subjects.owner, kind[subjects.event])))
    return np.bincount(subject, minlength=len(subjects))


def count_values(subjects: Subjects, bases: Bases, feature: Feature, number: int) -> Cells:
    """Every value seen in every context, with the counts inside and outside; sorted by context and value.

    Args:
        subjects: the contexts.
        bases: their wider contexts.
        feature: whose values.
        number: index of the feature, to be written into the cells.
    """
    everyone = np.tile(np.arange(bases.event.shape[1]), 2)
    voice = _voices(bases, feature)
    wider = _Tally.of(feature, bases.event.ravel(), everyone, voice.ravel(), bases.count)
    # A context's events speak with the voice they have in its wider context.
    level = bases.names_action[subjects.owner]
    inner = _Tally.of(feature, subjects.owner, subjects.event, voice[level, subjects.event], len(subjects))
    own = bases.subject[inner.owner]
    at = np.searchsorted(pack(wider.owner, wider.value), pack(own, inner.value))
    size = inner.size[inner.owner]
    information = np.asarray(
        inner.count * np.log(inner.count * wider.size[own] / (size * wider.count[at])), dtype=np.float64
    )
    return Cells(
        feature=np.full(len(inner.owner), number),
        subject=inner.owner,
        value=inner.value,
        support=inner.count,
        opportunities=size,
        elsewhere=wider.count[at] - inner.count,
        null_rate=_null_rates(inner, wider, own, at),
        information=information,
    )


@dataclass(frozen=True, eq=False)
class _Tally:
    """Counts of a feature's values by owner (contexts, or wider contexts).

    Attributes:
        owner, value, count: (cells,) sorted by owner and value.
        voices: (cells,) the same count in voices: each kind of thing has one, shared by its events.
        size, kinds: (owners,) events that have the feature, and the same in voices.
    """

    owner: Ints
    value: Ints
    count: Ints
    voices: Floats
    size: Ints
    kinds: Floats

    @classmethod
    def of(cls, feature: Feature, owner: Ints, event: Ints, voice: Floats, owners: int) -> _Tally:
        """Count the values of these events for their owners."""
        having = feature.has[event]
        owner, event, voice = owner[having], event[having], voice[having]
        length, start = feature.count[event], np.cumsum(feature.count) - feature.count
        key = pack(np.repeat(owner, length), feature.value[ranges(start[event], length)])
        keys, cell, count = np.unique(key, return_inverse=True, return_counts=True)
        voices: Floats = np.bincount(cell, weights=np.repeat(voice, length), minlength=len(keys)).astype(
            np.float64
        )
        size = np.bincount(owner, minlength=owners)
        kinds: Floats = np.bincount(owner, weights=voice, minlength=owners).astype(np.float64)
        owner, value = unpack(keys)
        return cls(owner=owner, value=value, count=count, voices=voices, size=size, kinds=kinds)

    def alike(self) -> Floats:
        """(owners,) the share of a value if all values were alike: one of so many, as often as an event has values."""
        owners = len(self.size)
        seen = np.bincount(self.owner, minlength=owners)
        counted = np.bincount(self.owner, weights=self.count, minlength=owners)
        alike: Floats = np.minimum(counted / np.maximum(self.size * seen, 1), 1.0)
        return alike


def _voices(bases: Bases, feature: Feature) -> Floats:
    """(2, events) each event's share of its kind of thing's one voice in its two wider contexts."""
    voices = np.zeros(bases.event.shape)
    for row, base in enumerate(bases.event):
        group = pair_codes(base, bases.kind)
        size = np.bincount(group, weights=feature.has)
        voices[row] = np.where(feature.has, 1.0 / np.maximum(size, 1.0)[group], 0.0)
    return voices


def _null_rates(inner: _Tally, wider: _Tally, own: Ints, at: Ints) -> Floats:
    """(cells,) the value's share outside the context, by events or by kinds of thing, whichever is more.

    Args:
        inner: the contexts' counts; its cells are the answer's.
        wider: the bases' counts.
        own: (cells,) the base of each cell's context.
        at: (cells,) the base's cell of the same value.
    """
    # One event of "all alike" is added outside: a value never seen there is unlikely, and not impossible.
    elsewhere, outside = wider.count[at] - inner.count, wider.size[own] - inner.size[inner.owner]
    by_event = (elsewhere + wider.alike()[own]) / (outside + 1.0)
    voices = np.maximum(wider.voices[at] - inner.voices, 0.0)
    kinds = wider.kinds[own] - inner.kinds[inner.owner]
    by_kind = np.where(kinds >= _SEVERAL_KINDS, voices / np.maximum(kinds, 1.0), 0.0)
    return np.clip(np.maximum(by_event, by_kind), 1e-9, 1 - 1e-9)
