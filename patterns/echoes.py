"""Echoes: a habit that another one already says.

What follows a stand-up within the hour comes at about the same time every day, because the stand-up does. It is one
habit, the workflow, and not also a temporal one. It is the workflow's if nearly all of its support are the
workflow's last steps and the workflow is kept more reliably: were both at fixed times of their own, the second
step would come as often without the first.
"""

from __future__ import annotations

import numpy as np

from patterns.arrays import Flags
from patterns.candidates import Candidates
from patterns.lifecycle import Standing
from patterns.state import Status

_SHARE = 0.8
"""Share of its support that another pattern must account for."""


def echoes(times: Candidates, when: Standing, flows: Candidates, how: Standing) -> Flags:
    """(temporal candidates,) those that only echo a confirmed workflow.

    Args:
        times, when: the temporal candidates and how they stand.
        flows, how: the workflows and how they stand.
    """
    answer = np.zeros(len(times), dtype=np.bool_)
    for flow in np.flatnonzero(how.status == Status.confirmed).tolist():
        rows = flows.trials.hit & (flows.trials.candidate == flow)
        last_steps = flows.trials.event[rows]
        reliable = how.support[flow] / how.opportunities[flow]
        for time in np.flatnonzero((times.user == flows.user[flow]) & when.began & ~answer).tolist():
            support = times.trials.event[times.trials.hit & (times.trials.candidate == time)]
            covered = np.isin(support, last_steps).mean()
            answer[time] = covered >= _SHARE and reliable > when.support[time] / when.opportunities[time]
    return answer
