"""Pairs: two subjects of which the second follows the first more than by chance, and within how many minutes.

The minutes are those under which the following is least like chance; and on from there, as long as five times more
come in the next stretch than by chance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from patterns.detectors.successions import MINUTES, Follows
from patterns.detectors.workflow_null_model import follow_null_rates
from patterns.eventlog.arrays import Floats, Ints, Rows, contains, distinct, pack
from patterns.eventlog.log import Log
from patterns.eventlog.subjects import Subjects
from patterns.inference.densest_span import CONTRAST
from patterns.inference.significance import likelihood_gain

_NESTED_SHARE = 0.5
"""A pair is left out if a larger share of the first step's events are also the second step's: those come in bursts."""
_LEAST_GAIN = 6.0
"""Nats of gain below which a pair cannot become significant and is skipped."""


@dataclass(frozen=True, eq=False)
class Pairs(Rows):
    """Pairs of subjects with their minutes; every array is (pairs,).

    Attributes:
        first, second: subjects.
        minutes: within how many minutes the second follows.
        null_rate: chance that it does anyway.
        gain: nats by which its own rate explains the following better than chance.
    """

    first: Ints
    second: Ints
    minutes: Ints
    null_rate: Floats
    gain: Floats


def find_pairs(log: Log, subjects: Subjects, follows: Follows, least: int, least_rate: float) -> Pairs:
    """The pairs in which the second step follows more than by chance, with the minutes that show it best.

    Args:
        log: the events of everybody.
        subjects: what a step can be about.
        follows: what follows what.
        least: the fewest followings of a pair.
        least_rate: the lowest share of first steps that are followed; a pair with twice `least` followings may have less.
    """
    first, second, within = _worth_a_look(log, subjects, follows, least)
    size = subjects.size[first][:, None]
    null = follow_null_rates(log, subjects, first, second)
    gain = likelihood_gain(within, size, null)
    gain[(within < least) | (within <= size * null)] = -np.inf
    best = _widened(gain.argmax(axis=1), within, size * null)
    row = np.arange(len(first))
    pairs = Pairs(
        first=first,
        second=second,
        minutes=np.array(MINUTES)[best],
        null_rate=null[row, best],
        gain=gain[row, best],
    )
    support = within[row, best]
    rate = support / subjects.size[first]
    return pairs[(pairs.gain > 0) & ((rate >= least_rate) | (support >= 2 * least))]


def _worth_a_look(log: Log, subjects: Subjects, follows: Follows, least: int) -> tuple[Ints, Ints, Ints]:
    """The pairs that may be candidates: (first, second), and (pairs, minutes) followings within the minutes."""
    first, second, within = follows.first, follows.second, follows.within
    # A rough null first, the second step spread over twelve hours of the active days: it spares most pairs.
    per_minute = subjects.size[second] / np.maximum(log.active.count[subjects.user[second]], 1) / 720.0
    pair, column = np.nonzero(within >= least)
    chance = -np.expm1(-per_minute[pair] * np.array(MINUTES)[column])
    gain = likelihood_gain(within[pair, column], subjects.size[first[pair]], chance)
    worth = distinct(pair[gain > _LEAST_GAIN])
    worth = worth[_nested_share(subjects, first[worth], second[worth]) <= _NESTED_SHARE]
    return first[worth], second[worth], within[worth]


def _nested_share(subjects: Subjects, narrow: Ints, wide: Ints) -> Floats:
    """(n,) share of the events of one subject that are also the other's, as those of git are also commands."""
    pair, event = subjects.events_of(narrow)
    both = contains(pack(subjects.owner, subjects.event), pack(wide[pair], event))
    share: Floats = np.bincount(pair, weights=both, minlength=len(narrow)) / np.maximum(
        subjects.size[narrow], 1
    )
    return share


def _widened(best: Ints, within: Ints, expected: Floats) -> Ints:
    """(pairs,) columns of minutes: from the best on, while the next stretch still holds far more than chance would.

    The minutes least like chance are the shortest that hold most followings; one that takes a little longer now and then is
    the same habit.
    """
    more = np.diff(within, axis=1)
    by_chance = np.maximum(np.diff(expected, axis=1), 0.0)
    belongs = (more > 0) & (more >= CONTRAST * by_chance)
    for column in range(len(MINUTES) - 1):
        best = np.where((best == column) & belongs[:, column], column + 1, best)
    return best
