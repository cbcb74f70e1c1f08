"""Evaluate: everything about everybody, in one call (design, section 8).

``evaluate(observations, as_of, settings)`` is the definition of the product: patterns are a function of the
observations up to `as_of` and the settings, and of nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import polars as pl

from patterns.candidates import Candidates
from patterns.eventlog.arrays import Flags, Ints
from patterns.eventlog.log import Log
from patterns.eventlog.subjects import find_subjects
from patterns.inference.lifecycle import Standing, fold
from patterns.inference.successors import with_successors
from patterns.inference.workflow_echoes import echoes
from patterns.pattern_frame import PATTERNS, to_frame, was_confirmed, worth_showing
from patterns.registry import KINDS, PatternKind
from patterns.settings import Settings


def evaluate(
    observations: pl.DataFrame,
    as_of: datetime | None = None,
    settings: Settings | None = None,
    kinds: Sequence[PatternKind] = KINDS,
) -> pl.DataFrame:
    """All patterns of all people at `as_of`: a frame with the columns of `patterns.pattern_frame.PATTERNS`.

    Args:
        observations: an observation frame (`observations.schema`), in any order, repeated or not.
        as_of: the evaluation time, aware; what is later does not count. None: each person's newest observation.
        settings: the contract's constants.
        kinds: which pattern types to look for; later detectors get the events that the earlier ones account for.

    Returns:
        Sorted by person, status (confirmed, tracking, expired), confidence downwards, and id.

    Raises:
        SchemaError: `observations` is no observation frame.
    """
    settings = settings or Settings()
    log = Log.of_observations(observations, as_of, settings)
    return ordered([found.patterns for found in find(log, settings, kinds)])


@dataclass(frozen=True, eq=False)
class Found:
    """What one detector found.

    Attributes:
        candidates: those that are patterns.
        patterns: the same as a frame, in the same order.
        settings: by which the type was judged.
    """

    candidates: Candidates
    patterns: pl.DataFrame
    settings: Settings


def find(log: Log, settings: Settings, kinds: Sequence[PatternKind] = KINDS) -> list[Found]:
    """What each detector finds in a log, without patterns that only repeat another one."""
    if not len(log):
        return []
    judged = judge(log, settings, kinds)
    kept = {one.kind.type: worth_showing(one.candidates, one.standing) for one in judged}
    by_type = {one.kind.type: (one.candidates, one.standing) for one in judged}
    if "temporal" in by_type and "workflow" in by_type:
        repeated = echoes(*by_type["temporal"], *by_type["workflow"])
        kept["temporal"] = kept["temporal"][~repeated[kept["temporal"]]]
    return [one.found(log, kept[one.kind.type]) for one in judged]


@dataclass(frozen=True, eq=False)
class Judged:
    """The candidates of one pattern type, how they stand at the evaluation time, and by which settings."""

    kind: PatternKind
    candidates: Candidates
    standing: Standing
    settings: Settings

    def found(self, log: Log, chosen: Ints) -> Found:
        """The chosen candidates as patterns."""
        frame = to_frame(log, self.candidates, self.standing, chosen, self.settings)
        return Found(self.candidates[chosen], frame, self.settings)


def judge(log: Log, settings: Settings, kinds: Sequence[PatternKind] = KINDS) -> list[Judged]:
    """The candidates of each pattern type, and how they stand at the evaluation time."""
    subjects = find_subjects(log, least=settings.least_support)
    explained = np.zeros(len(log), dtype=np.bool_)
    judged: list[Judged] = []
    for kind in kinds:
        own = settings.of_type(kind.budget)
        candidates = kind.detector.detect(log, subjects, own, explained)
        standing = fold(candidates, log.as_of_local[candidates.user], own)
        judged.append(Judged(kind, candidates, standing, own))
        if kind.tells_when:
            explained = explained | _explained(candidates, standing, len(log))
    return judged


def _explained(candidates: Candidates, standing: Standing, events: int) -> Flags:
    """(events,) those that support a candidate which was confirmed at some time."""
    trials = candidates.trials
    rows = trials.hit & was_confirmed(standing)[trials.candidate] & (trials.event >= 0)
    answer = np.zeros(events, dtype=np.bool_)
    answer[trials.event[rows]] = True
    return answer


def ordered(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The patterns of all detectors in one frame, linked to their successors, in the order of `evaluate`."""
    if not parts:
        return pl.DataFrame(schema=dict(PATTERNS))
    patterns = with_successors(pl.concat(parts))
    rank = pl.col("status").replace_strict(
        {"confirmed": 0, "tracking": 1, "expired": 2}, return_dtype=pl.Int8
    )
    by = ["user_id", rank, pl.col("confidence").round(9), "id"]
    return patterns.sort(by, descending=[False, False, True, False], maintain_order=True)
