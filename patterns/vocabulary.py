"""The states of patterns: names alone, so that reading them loads nothing else."""

from __future__ import annotations

from typing import Literal

PatternStatus = Literal["confirmed", "tracking", "expired"]

STATUSES: tuple[PatternStatus, ...] = ("confirmed", "tracking", "expired")
