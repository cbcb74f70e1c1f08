"""Echoes: a habit that another one already says.

What follows a stand-up within the hour comes at about the same time every day, because the stand-up does. It is one
habit, the workflow, and not also a temporal one. It is the workflow's if nearly all of its support are the
workflow's last steps and the workflow is kept more reliably: were both at fixed times of their own, the second
step would come as often without the first.
"""

from __future__ import annotations

import numpy as np

from patterns.candidates import Candidates
from patterns.eventlog.arrays import Flags, Ints, begins, order_by, ranges
from patterns.inference.lifecycle import Standing
from patterns.inference.lifecycle_state import Status

_SHARE = 0.8
"""Share of its support that another pattern must account for."""


def echoes(times: Candidates, when: Standing, flows: Candidates, how: Standing) -> Flags:
    """(temporal candidates,) those that only echo a confirmed workflow.

    Args:
        times, when: the temporal candidates and how they stand.
        flows, how: the workflows and how they stand.
    """
    flow, step = _supports(flows, np.flatnonzero(how.status == Status.confirmed))
    time, event = _supports(times, np.flatnonzero(when.began))
    support = np.bincount(time, minlength=len(times))
    # A step may end several workflows: each support meets every one of them.
    first, end = np.searchsorted(step, event), np.searchsorted(step, event, side="right")
    met = np.repeat(time, end - first) * max(len(flows), 1) + flow[ranges(first, end - first)]
    pair, covered = np.unique(met, return_counts=True)
    time, flow = pair // max(len(flows), 1), pair % max(len(flows), 1)
    says_it = covered >= _SHARE * support[time]
    says_it &= how.support[flow] / how.opportunities[flow] > when.support[time] / when.opportunities[time]
    answer = np.zeros(len(times), dtype=np.bool_)
    answer[time[says_it]] = True
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
