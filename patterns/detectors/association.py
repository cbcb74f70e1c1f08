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

**Not a choice.** A value that a context has without exception is no preference if the context is one single
thing (every "Stand-up" has the length of its series), or if the value occurs nowhere else (every "Zoom" call is
held in "Zoom"): it is a property of the thing. Whom a mail is sent or copied to is a choice each time it is written.

**Own addresses.** An address that a person sends from is their own, and no relationship. The from, to and cc of a mail name
the people in it, so its ``participants`` are ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from patterns.candidates import Candidates, PatternType, Trials
from patterns.detectors.contexts import Bases, Cells, count_values, kinds_of
from patterns.detectors.feature_values import Feature, bands_of, feature_name, others_in, values_of
from patterns.eventlog.arrays import Flags, Floats, Ints, contains, order_by, pack, renumber
from patterns.eventlog.due_times import next_occasion, patience
from patterns.eventlog.log import Log, wall_clock
from patterns.eventlog.subjects import NOT_A_SUBJECT, WHO, Subjects
from patterns.inference.densest_span import Spans
from patterns.inference.redundancy import PRIORITY, keep_once
from patterns.inference.significance import can_be_usual, is_certain, likelihood_gain
from patterns.rules.choice_rules import BandRule, RelationshipRule, ValueRule
from patterns.rules.rule import Rule
from patterns.settings import Settings

_WHAT_IT_IS = frozenset(("category", "categories", "title", "subject", "kind", "label", "labels"))
_WHAT_IS_RUN = frozenset(("command", "program", "subcommand", "app"))
_HOW_IT_WENT = frozenset(("exit_status", "all_day", "reply", "automatic", "sequence", "size", "hostname"))
"""Features that nobody chooses for themselves: what a thing is, and how it went."""

_CHOSEN_EACH_TIME = frozenset(("to", "cc"))
"""Whom a mail is sent or copied to is a choice each time it is written."""

_TIE = 0.01
"""Weight of the likelihood gain between candidates with equal information (what holds in general has none about a
context)."""

_NARROWER = 1e-7
"""Weight of the context's size between candidates with equal information and equal gain."""

_BAND_RATE = 0.8
"""A band can be of any width: it is a preference only if nearly all values lie in it."""


@dataclass(frozen=True)
class PreferenceDetector:
    """Finds values that are preferred: lengths, places, any feature of how a thing is done.

    Attributes:
        least_rate: a value chosen less often than this in its context is no candidate.
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
        least_rate: a person seen less often than this in the context is no candidate.
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
    """The values of these features that are chosen in a context, each habit once, with their trials."""
    if not features or not len(subjects):
        return Candidates.none(detector.type)
    cells, hypotheses = _promising(log, subjects, features, settings.least_support)
    if not len(cells):
        return Candidates.none(detector.type)
    cells = cells[_is_kept(cells, detector.least_rate, settings.least_support)]
    outcomes = _Outcomes.of(subjects, features, cells)
    kept = _chosen(
        detector,
        log,
        subjects,
        settings,
        _Proposal(features=features, cells=cells, outcomes=outcomes, hypotheses=hypotheses),
    )
    cells = cells[kept]
    user = subjects.user[cells.subject]
    return Candidates(
        type=detector.type,
        user=user,
        rules=_rules(detector, subjects, features, cells),
        null_rate=cells.null_rate,
        hypotheses=hypotheses[user],
        trials=_trials(log, outcomes.since_the_span_began(kept)),
    )


def _promising(log: Log, subjects: Subjects, features: Sequence[Feature], least: int) -> tuple[Cells, Floats]:
    """The cells whose value is chosen more often than by chance; and (users,) how many hypotheses were looked at."""
    bases = Bases.of(log, subjects)
    kinds = kinds_of(subjects, bases.kind)
    hypotheses, found = np.zeros(len(log.users)), []
    for number, feature in enumerate(features):
        cells = count_values(subjects, bases, feature, number)
        hypotheses += np.bincount(
            subjects.user[cells.subject], weights=cells.opportunities, minlength=len(log.users)
        )
        found.append(cells[_is_worth_it(subjects, cells, feature, kinds, least)])
    return Cells.joined(found), hypotheses


def _is_worth_it(subjects: Subjects, cells: Cells, feature: Feature, kinds: Ints, least: int) -> Flags:
    """(cells,) True if the value is chosen, and more often than by chance."""
    good = (cells.support >= least) & (cells.support > cells.opportunities * cells.null_rate)
    if feature.bands:
        good &= cells.support >= _BAND_RATE * cells.opportunities
    good &= _is_other_feature(subjects, cells.subject, feature.column)
    if feature.name not in _CHOSEN_EACH_TIME:
        good &= _is_choice(cells, feature, kinds)
    return good


def _is_other_feature(subjects: Subjects, subject: Ints, column: str) -> Flags:
    """(cells,) True unless the context is itself defined by this feature."""
    defines = np.array([any(c == column for c in columns) for columns in subjects.levels], dtype=np.bool_)
    return ~defines[subjects.level[subject]]


def _is_choice(cells: Cells, feature: Feature, kinds: Ints) -> Flags:
    """(cells,) True if the value could have been another; see "Not a choice" in the module."""
    always = cells.support == cells.opportunities
    belongs = kinds[cells.subject] == 1
    if feature.column.endswith(":text"):
        belongs |= cells.elsewhere == 0
    choice: Flags = ~(always & belongs)
    return choice


def _is_kept(cells: Cells, least_rate: float, least: int) -> Flags:
    """(cells,) True if the value is chosen often enough, over the whole log, or often enough to be so for a while."""
    gain = likelihood_gain(cells.support, cells.opportunities, cells.null_rate)
    rate = cells.support / cells.opportunities
    kept: Flags = (gain > 0) & ((rate >= least_rate) | (cells.support >= 2 * least))
    return kept


@dataclass(frozen=True, eq=False)
class _Outcomes:
    """Every event of a context that has the feature, sorted by cell and time.

    Attributes:
        cell: (rows,) index of the cell.
        event: (rows,) the event.
        hit: (rows,) True if it has the value.
        spans: the span of each cell in which the value was chosen.
    """

    cell: Ints
    event: Ints
    hit: Flags
    spans: Spans

    @classmethod
    def of(cls, subjects: Subjects, features: Sequence[Feature], cells: Cells) -> _Outcomes:
        """The outcomes of these cells."""
        none = np.zeros(0, dtype=np.int64)
        rows: list[tuple[Ints, Ints, Flags]] = [(none, none, none.astype(np.bool_))]
        for number, feature in enumerate(features):
            mine = np.flatnonzero(cells.feature == number)
            if len(mine):
                which, event, hit = _outcomes_of_feature(subjects, feature, cells[mine])
                rows.append((mine[which], event, hit))
        cell, event, hit = (np.concatenate(part) for part in zip(*rows, strict=True))
        order = order_by(cell, event)
        cell, event, hit = cell[order], event[order], hit[order]
        return cls(cell=cell, event=event, hit=hit, spans=Spans.of(cell, hit, len(cells)))

    def since_the_span_began(self, kept: Flags) -> tuple[Ints, Ints, Flags]:
        """(rows,) cell, event and hit of the kept cells, renumbered as these are: from the span's beginning until now."""
        rows = kept[self.cell] & (np.arange(len(self.cell)) >= self.spans.first[self.cell])
        return renumber(kept)[self.cell[rows]], self.event[rows], self.hit[rows]


def _outcomes_of_feature(subjects: Subjects, feature: Feature, cells: Cells) -> tuple[Ints, Ints, Flags]:
    """(rows,) cell, event and hit of the cells of one feature."""
    cell, event = subjects.events_of(cells.subject)
    having = feature.has[event]
    cell, event = cell[having], event[having]
    pairs = np.sort(pack(np.repeat(np.arange(len(feature.count)), feature.count), feature.value))
    return cell, event, contains(pairs, pack(event, cells.value[cell]))


@dataclass(frozen=True, eq=False)
class _Proposal:
    """Cells that may become candidates.

    Attributes:
        features: the features that were looked at.
        cells: the cells.
        outcomes: the outcomes of these cells.
        hypotheses: (users,) how many hypotheses were looked at for each person.
    """

    features: Sequence[Feature]
    cells: Cells
    outcomes: _Outcomes
    hypotheses: Floats


def _chosen(
    detector: PreferenceDetector | RelationshipDetector,
    log: Log,
    subjects: Subjects,
    settings: Settings,
    proposal: _Proposal,
) -> Flags:
    """(cells,) the cells that are kept within their span, each habit once."""
    cells, outcomes, spans = proposal.cells, proposal.outcomes, proposal.outcomes.spans
    rate, user = spans.support / spans.opportunities, subjects.user[cells.subject]
    gain = likelihood_gain(spans.support, spans.opportunities, cells.null_rate)
    good: Flags = spans.support >= np.maximum(
        settings.least_support, detector.least_rate * spans.opportunities
    )
    good &= (gain > 0) & (spans.support > spans.opportunities * cells.null_rate)

    # Of contexts that differ only in events without the feature, the narrower one is what the habit is about.
    score = cells.information + _TIE * gain - _NARROWER * subjects.size[cells.subject]
    certain = is_certain(gain, proposal.hypotheses[user], settings)
    certain &= can_be_usual(rate, cells.null_rate, settings)
    score += np.where(certain, PRIORITY, 0.0)
    rests = spans.inside & outcomes.hit & good[outcomes.cell]
    cell = outcomes.cell[rests]
    evidence = _competes(proposal.features, cells)[cell] * len(log) + outcomes.event[rests]
    good[good] = keep_once(user[good], score[good], renumber(good)[cell], evidence)
    return good


def _competes(features: Sequence[Feature], cells: Cells) -> Ints:
    """(cells,) cells with the same number compete for an event: same column and, in a list, same value."""
    columns = sorted({f.column for f in features})
    column = np.array([columns.index(f.column) for f in features])[cells.feature]
    several = np.array([f.several for f in features])[cells.feature]
    numbers: Ints = np.where(several, cells.value, 0) * len(columns) + column
    return numbers


def _trials(log: Log, outcomes: tuple[Ints, Ints, Flags]) -> Trials:
    """Each outcome (candidate, event, hit) as one trial; late when the context's next event is (see `patience`)."""
    candidate, event, hit = outcomes
    local = wall_clock(log.day[event], log.minute[event])
    order = np.lexsort((event, local, candidate))
    candidate, event, hit, local = candidate[order], event[order], hit[order], local[order]
    due = next_occasion(log, log.user[event], local, patience(candidate, local)[candidate])
    return Trials(candidate=candidate, local=local, hit=hit, event=np.where(hit, event, -1), next_due=due)


def _rules(
    detector: PreferenceDetector | RelationshipDetector,
    subjects: Subjects,
    features: Sequence[Feature],
    cells: Cells,
) -> list[Rule]:
    of_value = RelationshipRule if detector.type == "relationship" else ValueRule
    rules: list[Rule] = []
    for where, number, value in zip(
        subjects.where(cells.subject), cells.feature.tolist(), cells.value.tolist(), strict=True
    ):
        fields = {"where": where, "feature": features[number].name}
        match features[number].means[value]:
            case (low, high):
                rules.append(BandRule.model_validate(fields | {"min": _plain(low), "max": _plain(high)}))
            case chosen:
                rules.append(of_value.model_validate(fields | {"value": _plain(chosen)}))
    return rules


def _plain(value: object) -> object:
    """A whole number as an integer, so that JSON has 30 and not 30.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
