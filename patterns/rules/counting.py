"""Temporary: as `patterns.rules.matching`."""

from patterns.count_rules import COUNTS, count_rules

__all__ = ["COUNTS", "count_rules"]
