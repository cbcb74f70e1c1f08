"""Temporary: as `patterns.rules.matching`."""

from __future__ import annotations

from collections.abc import Mapping

from patterns.registry import rule_of


def statement(type: str, rule: Mapping[str, object]) -> str:
    """The sentence."""
    return rule_of(type, rule).sentence()


def unit_of(type: str, rule: Mapping[str, object]) -> tuple[str, str]:
    """What one opportunity is called."""
    return rule_of(type, rule).unit
