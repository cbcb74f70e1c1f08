"""Workflow: one thing is followed by another within minutes.

Counted are first steps, and those of them after which the second step came within the minutes. Pairs of subjects
are found by walking forward from each event to the first event of every other subject; the minutes are chosen
from a fixed list as those under which the following is least like chance. Pairs that
continue each other, and can each be told from chance, become one chain.

**Null.** The second step falls within the minutes anyway. That chance is the largest of three, averaged over the
first steps as they happened:

- *its own rate*: ``1 - exp(-λ)``, λ the second step's events per active day, or of that very day if they are more, times
  the share of the person's other activity in those minutes of the day (`patterns.rhythm`): what happens often
  follows everything;
- *other days*: the share of days of the same sort (working day or weekend) without the first step on which the
  second came in those same minutes of the day: two things at fixed times follow each other without having to do
  with each other;
- *after anything*: the share of the person's other events after which the second came within the minutes, the first
  not coming in between: what is done in bursts follows everything else in the burst.

**Minutes.** Those under which the following is least like chance; and on from there, as long as five times more come in
the next stretch than by chance.

**Hypotheses.** Every ordered pair of a person's subjects, with every choice of minutes.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from patterns.arrays import Flags, Floats, Ints, begins, distinct, order_by, ranges
from patterns.candidates import Candidates, PatternType, Rule, Trials
from patterns.episodes import CONTRAST, best_spans
from patterns.log import MICROSECONDS_PER_DAY, Log
from patterns.rhythm import OwnTimes, Rhythm
from patterns.selection import FIRST, say_once
from patterns.settings import Settings
from patterns.significance import can_be_usual, is_certain, likelihood_gain
from patterns.subjects import Subjects, recorded_until
from patterns.waiting import next_occasion, patience

MINUTES = (1, 2, 5, 10, 15, 30, 60, 120)
"""Within how many minutes a step may follow."""

_MINUTE = 60_000_000
_LOOK_AHEAD = 40
"""Events that are looked at after each one: within two hours more are a burst, not steps."""
_NESTED_SHARE = 0.5
"""If more of the first step's events are also the second step's, that these come in bursts is all there is to it."""
_CHAIN_SHARE = 0.8
"""Two pairs are one chain where each rests on the chain for this share of its support."""


@dataclass(frozen=True)
class WorkflowDetector:
    """Finds what follows what.

    Attributes:
        least_rate: a step that follows more seldom than this is no candidate.
        most_a_day: a subject that happens more often than this on an active day is no step: it is the weather.
    """

    least_rate: float = 0.4
    most_a_day: float = 4.0
    type: PatternType = "workflow"

    def detect(self, log: Log, subjects: Subjects, settings: Settings, _explained: Flags) -> Candidates:
        """Candidates for steps that follow each other; see the module."""
        least = settings.least_support
        steps = _steps(log, subjects, self.most_a_day)
        follows = _follows(log, subjects, steps, least)
        if not len(follows):
            return Candidates.none(self.type)
        pairs = _pairs(log, subjects, follows, least, self.least_rate)
        if not len(pairs):
            return Candidates.none(self.type)
        counts = np.bincount(subjects.user[steps], minlength=len(log.users)).astype(np.float64)
        hypotheses = counts * np.maximum(counts - 1, 1) * len(MINUTES)
        return _candidates(self.type, log, subjects, pairs, hypotheses, least, self.least_rate, settings)


@dataclass(frozen=True, eq=False)
class _Follows:
    """Each first step with the first event of a second subject after it; sorted by pair and time.

    Attributes:
        first, second: (rows,) subjects.
        event, follower: (rows,) the events.
        lag: (rows,) µs between them.
    """

    first: Ints
    second: Ints
    event: Ints
    follower: Ints
    lag: Ints

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Pairs of subjects with their minutes; every array is (pairs,)."""

    first: Ints
    second: Ints
    minutes: Ints
    null_rate: Floats
    gain: Floats

    def __len__(self) -> int:
        return len(self.first)

    def __getitem__(self, chosen: Ints | Flags) -> _Pairs:
        return _Pairs(*(getattr(self, f.name)[chosen] for f in fields(self)))


def _steps(log: Log, subjects: Subjects, most_a_day: float) -> Ints:
    """The subjects that may be steps."""
    days = log.active.count[subjects.user]
    return np.flatnonzero(subjects.size <= most_a_day * days)


def _follows(log: Log, subjects: Subjects, steps: Ints, least: int) -> _Follows:
    """For every first step and every other subject: the first event of it within the longest time."""
    is_step = np.zeros(len(subjects), dtype=np.bool_)
    is_step[steps] = True
    timed = ~np.isnan(log.minute[subjects.event]) & is_step[subjects.owner]
    event, owner = subjects.event[timed], subjects.owner[timed]
    order = order_by(event, owner)
    event, owner = event[order], owner[order]
    start = np.searchsorted(event, np.arange(len(log) + 1))
    count = np.diff(start)

    ahead = _ahead(log, MINUTES[-1] * _MINUTE)
    before, after = np.repeat(np.arange(len(log)), ahead), ranges(np.arange(len(log)) + 1, ahead)
    before, after, second = _with_subjects(before, after, owner, start, count, of=after)
    # Only the first event of each second subject counts: pairs are in order of time.
    order = order_by(before, second)
    before, after, second = before[order], after[order], second[order]
    earliest = begins(before, second)
    before, after, second = before[earliest], after[earliest], second[earliest]
    length = count[before]
    first = owner[ranges(start[before], length)]
    before, after, second = (np.repeat(x, length) for x in (before, after, second))
    rows = np.flatnonzero(first != second)
    rows = rows[order_by(first[rows], second[rows], before[rows])]
    first, second, before, after = first[rows], second[rows], before[rows], after[rows]
    head = np.flatnonzero(begins(first, second))
    size = np.diff(np.append(head, len(first)))
    many = np.repeat(size >= least, size)
    first, second, before, after = first[many], second[many], before[many], after[many]
    return _Follows(first, second, before, after, log.at[after] - log.at[before])


def _counts_within(lag: Ints, group: Ints, groups: int) -> Ints:
    """(groups, minutes) how many lags of each group are within the minutes."""
    return np.stack([np.bincount(group[lag <= m * _MINUTE], minlength=groups) for m in MINUTES], axis=1)


def _with_subjects(
    before: Ints, after: Ints, owner: Ints, start: Ints, count: Ints, of: Ints
) -> tuple[Ints, Ints, Ints]:
    """Pairs of events, each repeated for every subject of the event `of`; and those subjects."""
    length = count[of]
    return np.repeat(before, length), np.repeat(after, length), owner[ranges(start[of], length)]


def _ahead(log: Log, reach: int) -> Ints:
    """(events,) how many events after each one, of the same person, lie within `reach` µs."""
    axis = _axis(log, reach)
    last = np.searchsorted(axis, axis + reach // 1000, side="right")
    ahead: Ints = np.clip(last - np.arange(len(log)) - 1, 0, _LOOK_AHEAD)
    return ahead


def _axis(log: Log, reach: int) -> Ints:
    """(events,) one axis for all people, in ms: everybody's instants lie more than `reach` µs behind those before."""
    at = (log.at - log.at.min()) // 1000
    axis: Ints = log.user * (int(at.max()) + reach // 1000 + 1) + at
    return axis


def _pairs(log: Log, subjects: Subjects, follows: _Follows, least: int, least_rate: float) -> _Pairs:
    """The pairs in which the second step follows more than by chance, with the minutes that show it best."""
    new = begins(follows.first, follows.second)
    number, head = np.cumsum(new) - 1, np.flatnonzero(new)
    first, second = follows.first[head], follows.second[head]
    within = _counts_within(follows.lag, number, len(head))
    size = subjects.size[first]
    # A rough null first, the second step spread over twelve hours of the active days: it spares most pairs.
    per_minute = subjects.size[second] / np.maximum(log.active.count[subjects.user[second]], 1) / 720.0
    rough = likelihood_gain(within, size[:, None], -np.expm1(-per_minute[:, None] * np.array(MINUTES)))
    worth = np.flatnonzero(((within >= least) & (rough > _LEAST_GAIN)).any(axis=1))
    worth = worth[_within(subjects, first[worth], second[worth]) <= _NESTED_SHARE]
    pairs = _Pairs(
        first[worth], second[worth], np.zeros(len(worth), dtype=np.int64), *np.zeros((2, len(worth)))
    )
    within, size = within[worth], size[worth]
    null = np.maximum(_null_rates(log, subjects, pairs), _after_anything(log, subjects, pairs))
    gain = likelihood_gain(within, size[:, None], null)
    gain[(within < least) | (within <= size[:, None] * null)] = -np.inf
    best = _widened(gain.argmax(axis=1), within, size[:, None] * null)
    row = np.arange(len(worth))
    pairs = replace(pairs, minutes=np.array(MINUTES)[best], null_rate=null[row, best], gain=gain[row, best])
    rate = within[row, best] / size
    return pairs[(pairs.gain > 0) & ((rate >= least_rate) | (within[row, best] >= 2 * least))]


_LEAST_GAIN = 6.0
"""Nats of gain below which a pair cannot become significant and is not looked at more closely."""


def _within(subjects: Subjects, narrow: Ints, wide: Ints) -> Floats:
    """(n,) share of the events of one subject that are also the other's: after git, any command comes of itself."""
    length = subjects.size[narrow]
    pair, event = (
        np.repeat(np.arange(len(narrow)), length),
        subjects.event[ranges(subjects.start[narrow], length)],
    )
    both = _contains(subjects.owner << 32 | subjects.event, wide[pair] << 32 | event)
    share: Floats = np.bincount(pair, weights=both, minlength=len(narrow)) / np.maximum(length, 1)
    return share


def _widened(best: Ints, within: Ints, expected: Floats | Ints) -> Ints:
    """(pairs,) columns of minutes: from the best on, while the next stretch still holds far more than chance would.

    The least like chance are the shortest minutes that hold most of them; what takes a little longer now and then is
    the same habit.
    """
    more = np.diff(within, axis=1)
    by_chance = np.maximum(np.diff(expected, axis=1), 0.0)
    belongs = (more > 0) & (more >= CONTRAST * by_chance)
    for column in range(len(MINUTES) - 1):
        best = np.where((best == column) & belongs[:, column], column + 1, best)
    return best


def _after_anything(log: Log, subjects: Subjects, pairs: _Pairs) -> Floats:
    """(pairs, minutes) share of the person's other events after which the second step came within the minutes.

    Of all other events or of those of the first step's type, whichever share is larger. Other events are those that
    are neither the first step nor the second; those after which the first step came sooner are no opportunity: what
    leads to the first leads to the second.
    """
    first, second = (subjects.event[subjects.start[step]] for step in (pairs.first, pairs.second))
    shares = []
    for group in (log.user, log.kind):
        of_group = _Numbered.of(group)
        others = of_group.size[group[first]] - subjects.size[pairs.first]
        others -= np.where(group[first] == group[second], subjects.size[pairs.second], 0)
        sooner = _others_before(log, subjects, pairs.second, pairs.first, of_group, group[first])
        later = _others_before(log, subjects, pairs.first, pairs.second, of_group, group[first])
        shares.append(sooner / np.maximum(others[:, None] - later, sooner + 1))
    largest: Floats = np.maximum(*shares)
    return largest


@dataclass(frozen=True, eq=False)
class _Numbered:
    """Events in groups, to be counted between any two.

    Attributes:
        keys: (events,) group and number of each event in one number, sorted.
        size: (groups,) events of each group.
    """

    keys: Ints
    size: Ints

    @classmethod
    def of(cls, group: Ints) -> _Numbered:
        """Of the group of each event."""
        return cls(np.sort(group << 32 | np.arange(len(group))), np.bincount(group))

    def between(self, group: Ints, begin: Ints, end: Ints) -> Ints:
        """(n,) events of each group from number `begin` to before number `end`."""
        least = np.minimum(begin, end)
        return np.searchsorted(self.keys, group << 32 | end) - np.searchsorted(self.keys, group << 32 | least)


def _others_before(
    log: Log, subjects: Subjects, of: Ints, against: Ints, numbered: _Numbered, group: Ints
) -> Ints:
    """(pairs, minutes) events of each `group` before one of subject `of`, within the minutes, with none of either
    subject in between.
    """
    length = subjects.size[of]
    pair, event = np.repeat(np.arange(len(of)), length), subjects.event[ranges(subjects.start[of], length)]
    previous = np.where(np.diff(pair, prepend=-1) == 0, np.roll(event, 1), -1)
    nearest = np.maximum(previous, _last_before(subjects, against[pair], event))
    axis = _axis(log, MINUTES[-1] * _MINUTE)
    counts = np.empty((len(of), len(MINUTES)), dtype=np.int64)
    for column, minutes in enumerate(MINUTES):
        begin = np.searchsorted(axis, axis[event] - minutes * _MINUTE // 1000, side="left")
        between = numbered.between(group[pair], np.maximum(begin, nearest + 1), event)
        counts[:, column] = np.bincount(pair, weights=between, minlength=len(of))
    return counts


def _last_before(subjects: Subjects, subject: Ints, event: Ints) -> Ints:
    """(n,) the last event of each subject before each event, or -1."""
    key = subjects.owner << 32 | subjects.event
    at = np.searchsorted(key, subject << 32 | event) - 1
    found = np.maximum(at, 0)
    return np.where((at >= 0) & (subjects.owner[found] == subject), subjects.event[found], -1)


def _null_rates(log: Log, subjects: Subjects, pairs: _Pairs) -> Floats:
    """(pairs, minutes) chance that the second step falls within the minutes anyway."""
    rhythm = Rhythm.of(log)
    timed = ~np.isnan(log.minute[subjects.event])
    own = OwnTimes.of(subjects.owner[timed], log.minute[subjects.event[timed]], len(subjects))
    # Every first step of every pair.
    length = subjects.size[pairs.first]
    pair, event = (
        np.repeat(np.arange(len(pairs)), length),
        subjects.event[ranges(subjects.start[pairs.first], length)],
    )
    timed = ~np.isnan(log.minute[event])
    pair, event = pair[timed], event[timed]
    second = pairs.second[pair]
    user, kind = log.user[event], rhythm.kind[subjects.event[subjects.start[second]]]
    usual = subjects.size[second] / np.maximum(log.active.count[user], 1)
    per_day = np.maximum(usual, _on_the_day(log, subjects, second, event))
    other = _OtherDays.of(log, subjects, pairs)
    count = np.maximum(np.bincount(pair, minlength=len(pairs)), 1)

    def mean(value: Floats | Ints) -> Floats:
        """(pairs,) the mean over each pair's first steps."""
        return np.bincount(pair, weights=value, minlength=len(pairs)) / count

    days = mean(other.days[pair, _sort_of_day(log, event)])
    null = np.empty((len(pairs), len(MINUTES)))
    for column, minutes in enumerate(MINUTES):
        width = np.full(len(event), float(minutes))
        rate = -np.expm1(-per_day * rhythm.share(user, kind, second, log.minute[event], width, own))
        chance = mean(rate)
        seen = mean(other.share(log, pair, event, minutes))
        # Few other days are little to go by: its own rate counts as one more of them.
        elsewhere = (seen * days + chance) / (days + 1.0)
        null[:, column] = np.clip(np.maximum(chance, elsewhere), 1e-9, 1 - 1e-9)
    return null


def _on_the_day(log: Log, subjects: Subjects, subject: Ints, event: Ints) -> Ints:
    """(n,) how many events of each subject there are on the day of each event."""
    keys = np.sort(_day_keys(subjects.owner, log.day[subjects.event]))
    wanted = _day_keys(subject, log.day[event])
    return np.searchsorted(keys, wanted, side="right") - np.searchsorted(keys, wanted)


def _sort_of_day(log: Log, event: Ints) -> Ints:
    """(n,) 0 on working days, 1 on weekends."""
    return (log.weekday[event] >= 5).astype(np.int64)


@dataclass(frozen=True, eq=False)
class _OtherDays:
    """When the second steps came on days without the first.

    Attributes:
        keys: sorted; pair, sort of day and minute of each such second step in one number.
        days: (pairs, 2) how many active days without the first step there were, by sort of day.
    """

    keys: Floats
    days: Ints

    @classmethod
    def of(cls, log: Log, subjects: Subjects, pairs: _Pairs) -> _OtherDays:
        """The other days of each pair."""
        active = log.active
        with_first = distinct(_day_keys(subjects.owner, log.day[subjects.event]))
        length = subjects.size[pairs.second]
        pair = np.repeat(np.arange(len(pairs)), length)
        event = subjects.event[ranges(subjects.start[pairs.second], length)]
        other = ~np.isnan(log.minute[event])
        other &= ~_contains(with_first, _day_keys(pairs.first[pair], log.day[event]))
        pair, event = pair[other], event[other]
        keys = np.sort((pair * 2 + _sort_of_day(log, event)) * 4096.0 + log.minute[event])
        # Active days of the person, less those with the first step.
        weekend = (active.day + 3) % 7 >= 5
        all_days = np.stack(
            [np.bincount(active.user, weights=w, minlength=len(log.users)) for w in (~weekend, weekend)]
        )
        owner, day = with_first >> 32, (with_first & 0xFFFFFFFF) - 2**31
        first_weekend = (day + 3) % 7 >= 5
        used = np.stack(
            [np.bincount(owner, weights=w, minlength=len(subjects)) for w in (~first_weekend, first_weekend)]
        )
        days = all_days.T[subjects.user[pairs.first]] - used.T[pairs.first]
        return cls(keys, days.astype(np.int64))

    def share(self, log: Log, pair: Ints, event: Ints, minutes: int) -> Floats:
        """(n,) share of the other days on which the second step came within the minutes after this clock time."""
        sort = _sort_of_day(log, event)
        low = (pair * 2 + sort) * 4096.0 + log.minute[event]
        seen = np.searchsorted(self.keys, low + minutes, side="right") - np.searchsorted(
            self.keys, low, side="left"
        )
        share: Floats = np.minimum(seen / np.maximum(self.days[pair, sort], 1), 1.0)
        return share


def _candidates(
    type: PatternType,
    log: Log,
    subjects: Subjects,
    pairs: _Pairs,
    hypotheses: Floats,
    least: int,
    least_rate: float,
    settings: Settings,
) -> Candidates:
    """The pairs that say something new, joined into chains where they continue each other, with their trials."""
    walks = [
        _walk(log, subjects, (int(a), int(b)), int(m))
        for a, b, m in zip(pairs.first, pairs.second, pairs.minutes, strict=True)
    ]
    pair = np.concatenate([np.full(len(w.event), i) for i, w in enumerate(walks)])
    follower = np.concatenate([w.last for w in walks])
    hit = follower >= 0
    row = np.arange(len(pair))
    has_hit = np.bincount(pair[hit], minlength=len(pairs)) > 0
    assert has_hit.all(), "a pair without support is no pair"
    first, last = best_spans(pair[hit], row[hit], len(pairs))
    first, last = row[hit][first], row[hit][last]
    inside = (row >= first[pair]) & (row <= last[pair])
    support = np.bincount(pair[inside & hit], minlength=len(pairs))
    gain = likelihood_gain(support, last - first + 1, pairs.null_rate)
    good = (support >= least) & (support >= least_rate * (last - first + 1)) & (gain > 0)
    renumber = np.cumsum(good) - 1
    rests = inside & hit & good[pair]
    certain = is_certain(type, gain, hypotheses[subjects.user[pairs.first]], settings)
    certain &= can_be_usual(support / (last - first + 1), pairs.null_rate, settings)
    says = gain + np.where(certain, FIRST, 0.0)
    kept = say_once(subjects.user[pairs.first][good], says[good], renumber[pair[rests]], follower[rests])
    chosen = np.flatnonzero(good)[kept]
    begin = first[chosen] - np.searchsorted(pair, chosen)
    workflows = [
        _Workflow((walks[i].steps), int(pairs.minutes[i]), float(pairs.null_rate[i]), int(b), walks[i])
        for i, b in zip(chosen.tolist(), begin.tolist(), strict=True)
    ]
    sure = certain[chosen].tolist()
    workflows = [w for w, is_sure in zip(workflows, sure, strict=True) if not is_sure] + _chained(
        log, subjects, [w for w, is_sure in zip(workflows, sure, strict=True) if is_sure]
    )
    if not workflows:
        return Candidates.none(type)
    user = np.array([subjects.user[w.steps[0]] for w in workflows], dtype=np.int64)
    return Candidates(
        type,
        user,
        _rules(subjects, workflows),
        np.array([w.null_rate for w in workflows]),
        hypotheses[user],
        _trials(log, subjects, workflows),
    )


@dataclass(frozen=True, eq=False)
class _Walk:
    """Every first step that went on to the last but one, in time order; `last` is -1 where the last did not come."""

    steps: tuple[int, ...]
    event: Ints
    last: Ints


@dataclass(frozen=True, eq=False)
class _Workflow:
    """A chain of subjects; `begin` is where in the walk its span begins."""

    steps: tuple[int, ...]
    minutes: int
    null_rate: float
    begin: int
    walk: _Walk

    @property
    def followers(self) -> set[int]:
        """The last steps that support it."""
        return set(self.walk.last[self.walk.last >= 0].tolist())


def _walk(log: Log, subjects: Subjects, steps: tuple[int, ...], minutes: int) -> _Walk:
    """The walk along these steps: each the first of its subject after the one before, within the minutes."""
    chain = subjects.event[subjects.start[steps[0]] : subjects.start[steps[0] + 1]]
    chain = chain[~np.isnan(log.minute[chain])]
    for step in steps[1:-1]:
        chain = _next(log, subjects, chain, step, minutes)
        chain = chain[chain >= 0]
    return _Walk(steps, chain, _next(log, subjects, chain, steps[-1], minutes))


def _next(log: Log, subjects: Subjects, event: Ints, step: int, minutes: int) -> Ints:
    """(n,) the first event of a subject after each event, or -1 where none comes within the minutes."""
    those = subjects.event[subjects.start[step] : subjects.start[step + 1]]
    those = those[~np.isnan(log.minute[those])]
    if not len(those):
        return np.full(len(event), -1)
    at = np.searchsorted(those, event, side="right")
    found = those[np.minimum(at, len(those) - 1)]
    near = (at < len(those)) & (log.at[found] - log.at[event] <= minutes * _MINUTE)
    return np.where(near, found, -1)


def _chained(log: Log, subjects: Subjects, workflows: list[_Workflow]) -> list[_Workflow]:
    """Workflows with those joined that continue each other: A→B and B→C are A→B→C where both mostly belong to it."""
    done = False
    while not done:
        done = True
        for one in workflows:
            for other in workflows:
                if one is other or one.steps[-1] != other.steps[0] or set(one.steps) & set(other.steps[1:]):
                    continue
                minutes = max(one.minutes, other.minutes)
                walk = _walk(log, subjects, one.steps + other.steps[1:], minutes)
                support = len(set(walk.last[walk.last >= 0].tolist()))
                if support < _CHAIN_SHARE * max(len(one.followers), len(other.followers)):
                    continue
                null = max(one.null_rate, other.null_rate)
                chain = _Workflow(walk.steps, minutes, null, 0, walk)
                workflows = [w for w in workflows if w is not one and w is not other] + [chain]
                done = False
                break
            if not done:
                break
    return workflows


def _trials(log: Log, subjects: Subjects, workflows: list[_Workflow]) -> Trials:
    parts = []
    until = recorded_until(log, subjects, np.array([w.steps[-1] for w in workflows]))
    for number, workflow in enumerate(workflows):
        event, last = workflow.walk.event[workflow.begin :], workflow.walk.last[workflow.begin :]
        hit = last >= 0
        shown = np.where(hit, last, event)
        local = log.day[shown] * MICROSECONDS_PER_DAY + np.round(log.minute[shown] * _MINUTE).astype(np.int64)
        local += np.where(hit, 0, workflow.minutes * _MINUTE)
        # A first step whose minutes are not over yet is no opportunity yet; one after the last step's source ended is none.
        known = hit | ((local <= log.as_of_local[log.user[event]]) & (log.day[event] <= until[number]))
        parts.append((np.full(known.sum(), number), local[known], hit[known], last[known]))
    candidate, local, hit, event = (np.concatenate(p) for p in zip(*parts, strict=True))
    order = np.lexsort((event, local, candidate))
    candidate, local, hit, event = candidate[order], local[order], hit[order], event[order]
    user = log.user[np.array([w.walk.event[0] for w in workflows])][candidate]
    due = next_occasion(log, user, local, patience(candidate, local)[candidate])
    return Trials(candidate, local, hit, event, due)


def _rules(subjects: Subjects, workflows: list[_Workflow]) -> list[Rule]:
    flat = np.array([step for w in workflows for step in w.steps], dtype=np.int64)
    wheres = iter(subjects.where(flat))
    return [{"steps": [next(wheres) for _ in w.steps], "within_minutes": w.minutes} for w in workflows]


def _day_keys(owner: Ints, day: Ints) -> Ints:
    return owner << 32 | day + 2**31


def _contains(keys: Ints, wanted: Ints) -> Flags:
    """(n,) whether each wanted number is among the sorted keys."""
    if not len(keys):
        return np.zeros(len(wanted), dtype=np.bool_)
    found: Flags = keys[np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)] == wanted
    return found
