"""Association: in a context, one value is chosen again and again. Serves preferences and relationships.

A context is a subject (`patterns.eventlog.subjects`); a value is one that a feature of its events takes: a number of
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
from dataclasses import dataclass

import numpy as np

from patterns.candidates import Candidates, PatternType, Rule, Trials
from patterns.detectors.contexts import Bases, Cells, count_values, kinds_of
from patterns.detectors.feature_values import Feature, bands_of, feature_name, others_in, values_of
from patterns.eventlog.arrays import Flags, Floats, Ints, contains, order_by
from patterns.eventlog.due_times import next_occasion, patience
from patterns.eventlog.log import Log, wall_clock
from patterns.eventlog.subjects import NOT_A_SUBJECT, WHO, Subjects
from patterns.inference.densest_span import Spans
from patterns.inference.redundancy import FIRST, say_once
from patterns.inference.significance import can_be_usual, is_certain, likelihood_gain
from patterns.settings import Settings

_WHAT_IT_IS = frozenset(("category", "categories", "title", "subject", "kind", "label", "labels"))
_WHAT_IS_RUN = frozenset(("command", "program", "subcommand", "app"))
_HOW_IT_WENT = frozenset(("exit_status", "all_day", "reply", "automatic", "sequence", "size", "hostname"))
"""Features that nobody chooses for themselves: what a thing is, and how it went, are no preferences."""

_CHOSEN_EACH_TIME = frozenset(("to", "cc"))
"""Whom a mail is sent or copied to is a choice each time it is written."""

_TIE = 0.01
"""Weight of the likelihood gain where two candidates tell equally much (what holds in general tells nothing of a
context)."""

_NARROWER = 1e-7
"""Weight of the context's size where candidates tell equally much and gain as much."""

_BAND_RATE = 0.8
"""A band can be made as wide as one likes: it is a preference only if nearly all values lie in it."""


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
        no_choice = {*NOT_A_SUBJECT, *_WHAT_IT_IS, *_WHAT_IS_RUN, *_HOW_IT_WENT}
        columns = [c for c in log.features if not c.endswith(":list") and feature_name(c) not in no_choice]
        features = [values_of(log, c) for c in columns]
        features += [bands_of(log, c) for c in columns if c.endswith(":number")]
        return _associate(self, log, subjects, settings, features)


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
        columns = [
            c for c in log.features if feature_name(c) in WHO and c.rpartition(":")[2] in ("list", "text")
        ]
        return _associate(self, log, subjects, settings, [others_in(log, c) for c in columns])


def _associate(
    detector: PreferenceDetector | RelationshipDetector,
    log: Log,
    subjects: Subjects,
    settings: Settings,
    features: Sequence[Feature],
) -> Candidates:
    if not features or not len(subjects):
        return Candidates.none(detector.type)
    bases = Bases.of(log, subjects)
    kinds = kinds_of(subjects, bases.kind)
    hypotheses, found = np.zeros(len(log.users)), []
    for number, feature in enumerate(features):
        cells = count_values(subjects, bases, feature, number)
        hypotheses += np.bincount(
            subjects.user[cells.subject], weights=cells.opportunities, minlength=len(log.users)
        )
        found.append(cells[_is_worth_it(subjects, cells, feature, kinds, settings.least_support)])
    cells = Cells.joined(found)
    if not len(cells):
        return Candidates.none(detector.type)
    return _candidates(detector, log, subjects, settings, features, cells, hypotheses)


def _is_worth_it(subjects: Subjects, cells: Cells, feature: Feature, kinds: Ints, least: int) -> Flags:
    """(cells,) whether the value is chosen, and more often than by chance."""
    good = (cells.support >= least) & (cells.support > cells.opportunities * cells.null_rate)
    if feature.bands:
        good &= cells.support >= _BAND_RATE * cells.opportunities
    good &= _is_other_feature(subjects, cells.subject, feature.column)
    if feature.name not in _CHOSEN_EACH_TIME:
        good &= _is_choice(cells, feature, kinds)
    return good


def _is_other_feature(subjects: Subjects, subject: Ints, column: str) -> Flags:
    """(cells,) whether the context is not itself defined by this feature."""
    defines = np.array([any(c == column for c in columns) for columns in subjects.levels], dtype=np.bool_)
    return ~defines[subjects.level[subject]]


def _is_choice(cells: Cells, feature: Feature, kinds: Ints) -> Flags:
    """(cells,) whether the value could have been another; see "Not a choice" in the module."""
    always = cells.support == cells.opportunities
    belongs = kinds[cells.subject] == 1
    if feature.column.endswith(":text"):
        belongs |= cells.elsewhere == 0
    choice: Flags = ~(always & belongs)
    return choice


def _candidates(
    detector: PreferenceDetector | RelationshipDetector,
    log: Log,
    subjects: Subjects,
    settings: Settings,
    features: Sequence[Feature],
    cells: Cells,
    hypotheses: Floats,
) -> Candidates:
    """The cells that are worth it, each thing once, with their trials."""
    least, least_rate = settings.least_support, detector.least_rate
    gain = likelihood_gain(cells.support, cells.opportunities, cells.null_rate)
    rate = cells.support / cells.opportunities
    cells = cells[(gain > 0) & ((rate >= least_rate) | (cells.support >= 2 * least))]
    cell, event, hit = _outcomes(subjects, features, cells)
    spans = Spans.of(cell, hit, len(cells))
    support, opportunities = spans.support, spans.opportunities
    gain = likelihood_gain(support, opportunities, cells.null_rate)
    good = (support >= least) & (support >= least_rate * opportunities) & (gain > 0)
    good &= support > opportunities * cells.null_rate

    # Of contexts that differ only in events without the feature, the narrower one says what it is about.
    says = cells.told + _TIE * gain - _NARROWER * subjects.size[cells.subject]
    certain = is_certain(detector.type, gain, hypotheses[subjects.user[cells.subject]], settings)
    certain &= can_be_usual(support / opportunities, cells.null_rate, settings)
    says += np.where(certain, FIRST, 0.0)
    rests = spans.inside & hit & good[cell]
    competes = _competes(features, cells)[cell[rests]] * len(log) + event[rests]
    kept = good.copy()
    kept[good] = say_once(
        subjects.user[cells.subject][good], says[good], (np.cumsum(good) - 1)[cell[rests]], competes
    )

    # From the beginning of the span until now.
    known = kept[cell] & (np.arange(len(cell)) >= spans.first[cell])
    trials = _trials(log, (np.cumsum(kept) - 1)[cell[known]], event[known], hit[known])
    cells = cells[kept]
    user = subjects.user[cells.subject]
    rules = _rules(subjects, features, cells)
    return Candidates(detector.type, user, rules, cells.null_rate, hypotheses[user], trials)


def _outcomes(subjects: Subjects, features: Sequence[Feature], cells: Cells) -> tuple[Ints, Ints, Flags]:
    """(rows,) cell, event and whether it has the value, for every event of a context that has the feature."""
    none = np.zeros(0, dtype=np.int64)
    rows: list[tuple[Ints, Ints, Flags]] = [(none, none, none.astype(np.bool_))]
    for number, feature in enumerate(features):
        mine = np.flatnonzero(cells.feature == number)
        if not len(mine):
            continue
        which, event = subjects.events_of(cells.subject[mine])
        having = feature.has[event]
        cell, event = mine[which[having]], event[having]
        values = len(feature.means)
        pairs = np.sort(np.repeat(np.arange(len(feature.count)), feature.count) * values + feature.value)
        rows.append((cell, event, contains(pairs, event * values + cells.value[cell])))
    cell, event, hit = (np.concatenate(part) for part in zip(*rows, strict=True))
    order = order_by(cell, event)
    return cell[order], event[order], hit[order]


def _competes(features: Sequence[Feature], cells: Cells) -> Ints:
    """(cells,) cells with the same number compete for an event: the same column, and of a list the same value."""
    columns = sorted({f.column for f in features})
    column = np.array([columns.index(f.column) for f in features])[cells.feature]
    several = np.array([f.several for f in features])[cells.feature]
    numbers: Ints = np.where(several, cells.value, 0) * len(columns) + column
    return numbers


def _trials(log: Log, candidate: Ints, event: Ints, hit: Flags) -> Trials:
    """Each event as one trial; late when the context's next event is (see `patience`)."""
    local = wall_clock(log.day[event], log.minute[event])
    order = np.lexsort((event, local, candidate))
    candidate, event, hit, local = candidate[order], event[order], hit[order], local[order]
    due = next_occasion(log, log.user[event], local, patience(candidate, local)[candidate])
    return Trials(candidate, local, hit, np.where(hit, event, -1), due)


def _rules(subjects: Subjects, features: Sequence[Feature], cells: Cells) -> list[Rule]:
    rules: list[Rule] = []
    for where, number, value in zip(
        subjects.where(cells.subject), cells.feature.tolist(), cells.value.tolist(), strict=True
    ):
        feature = features[number]
        rule: dict[str, object] = {"where": where, "feature": feature.name}
        match feature.means[value]:
            case (low, high):
                rule |= {"min": _plain(low), "max": _plain(high)}
            case chosen:
                rule |= {"value": _plain(chosen)}
        rules.append(rule)
    return rules


def _plain(value: object) -> object:
    """A whole number as an integer, so that JSON says 30 and not 30.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
