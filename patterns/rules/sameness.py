"""Temporary: as `patterns.rules.matching`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from observations.civil_time import parse_clock as minute_of
from patterns.registry import rule_of

__all__ = ["is_same", "minute_of"]


def is_same(type: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """True if both are about one behavior."""
    return rule_of(type, one).is_same(rule_of(type, other))
