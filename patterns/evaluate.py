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

from observations.features import with_features
from observations.schema import check_observations, unique_observations
from patterns.candidates import Candidates, Detector
from patterns.detectors import DETECTORS
from patterns.eventlog.arrays import Flags
from patterns.eventlog.log import Log
from patterns.eventlog.subjects import find_subjects
from patterns.inference.lifecycle import Standing, fold
from patterns.inference.successors import with_successors
from patterns.inference.workflow_echoes import echoes
from patterns.pattern_frame import PATTERNS, to_frame, was_confirmed, worth_showing
from patterns.settings import Settings

_ACCOUNT_FOR_TIMES = ("temporal", "workflow")
"""Types that say when an event happens; how a thing is done and with whom says nothing of that."""


def evaluate(
    observations: pl.DataFrame,
    as_of: datetime | None = None,
    settings: Settings | None = None,
    detectors: Sequence[Detector] = DETECTORS,
) -> pl.DataFrame:
    """All patterns of all people at `as_of`: a frame with the columns of `patterns.pattern_frame.PATTERNS`.

    Args:
        observations: an observation frame (`observations.schema`), in any order, repeated or not.
        as_of: the evaluation time, aware; what is later does not count. Null: each person's newest observation.
        settings: the contract's constants.
        detectors: which detectors to ask; later ones are told what the earlier ones account for.

    Returns:
        Sorted by person, status (confirmed, tracking, expired), confidence downwards, and id.

    Raises:
        SchemaError: `observations` is no observation frame.
    """
    settings = settings or Settings()
    return ordered(
        [found.patterns for found in find(log_of(observations, as_of, settings), settings, detectors)]
    )


@dataclass(frozen=True, eq=False)
class Found:
    """What one detector found: the candidates that are patterns, and the frame of them, in the same order."""

    candidates: Candidates
    patterns: pl.DataFrame


def log_of(observations: pl.DataFrame, as_of: datetime | None, settings: Settings) -> Log:
    """The log of an observation frame, whatever order it is in and however often each is in it."""
    return Log.of(with_features(unique_observations(check_observations(observations))), as_of, settings)


def find(log: Log, settings: Settings, detectors: Sequence[Detector] = DETECTORS) -> list[Found]:
    """What each detector finds in a log, each thing said once."""
    if not len(log):
        return []
    judged = judge(log, settings, detectors)
    kept = {name: worth_showing(candidates, standing) for name, (candidates, standing) in judged.items()}
    if "temporal" in judged and "workflow" in judged:
        said = echoes(*judged["temporal"], *judged["workflow"])
        kept["temporal"] = kept["temporal"][~said[kept["temporal"]]]
    return [
        Found(candidates[kept[name]], to_frame(log, candidates, standing, kept[name], settings))
        for name, (candidates, standing) in judged.items()
    ]


def judge(
    log: Log, settings: Settings, detectors: Sequence[Detector] = DETECTORS
) -> dict[str, tuple[Candidates, Standing]]:
    """For each detector's type its candidates, and how they stand at the evaluation time."""
    subjects = find_subjects(log, least=settings.least_support)
    explained = np.zeros(len(log), dtype=np.bool_)
    judged: dict[str, tuple[Candidates, Standing]] = {}
    for detector in detectors:
        candidates = detector.detect(log, subjects, settings, explained)
        standing = fold(candidates, log.as_of_local[candidates.user], settings)
        judged[detector.type] = candidates, standing
        if detector.type in _ACCOUNT_FOR_TIMES:
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
