"""Workflow echoes: temporal patterns that a workflow already covers.

What follows a stand-up within the hour happens at about the same time every day, because the stand-up does. That is one
habit, the workflow. A temporal pattern is an echo of it if nearly all of its support are last steps of the workflow and
the workflow is kept more reliably: if both were at fixed times of their own, the second step would come as often
without the first.
"""

from __future__ import annotations

import numpy as np

from patterns.candidates import Candidates
from patterns.eventlog.arrays import Flags, Ints, begins, order_by, pack, ranges, unpack
from patterns.inference.lifecycle import Standing
from patterns.inference.lifecycle_state import Status

_SHARE = 0.8
"""The share of an echo's support that are last steps of the workflow."""


def echoes(times: Candidates, when: Standing, flows: Candidates, how: Standing) -> Flags:
    """(temporal candidates,) True for echoes of a confirmed workflow.

    Args:
        times, when: the temporal candidates and their standing.
        flows, how: the workflows and their standing.
    """
    flow, step = _supports(flows, np.flatnonzero(how.status == Status.confirmed))
    time, event = _supports(times, np.flatnonzero(when.began))
    support = np.bincount(time, minlength=len(times))
    # A step may end several workflows: pair each support with every one of them.
    first, end = np.searchsorted(step, event), np.searchsorted(step, event, side="right")
    length = end - first
    pairs, covered = np.unique(pack(np.repeat(time, length), flow[ranges(first, length)]), return_counts=True)
    time, flow = unpack(pairs)
    is_echo = covered >= _SHARE * support[time]
    is_echo &= how.support[flow] / how.opportunities[flow] > when.support[time] / when.opportunities[time]
    answer = np.zeros(len(times), dtype=np.bool_)
    answer[time[is_echo]] = True
    return answer


def _supports(candidates: Candidates, wanted: Ints) -> tuple[Ints, Ints]:
    """Pairs (candidate, event) of the events that support the wanted ones, each pair once; sorted by event."""
    trials = candidates.trials
    chosen = np.zeros(len(candidates), dtype=np.bool_)
    chosen[wanted] = True
    rows = np.flatnonzero(trials.hit & chosen[trials.candidate])
    rows = rows[order_by(trials.event[rows], trials.candidate[rows])]
    rows = rows[begins(trials.event[rows], trials.candidate[rows])]
    return trials.candidate[rows], trials.event[rows]
