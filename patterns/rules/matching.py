"""Temporary: the functions of 0.1 over typed rules, until their callers ask the rules themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from patterns.registry import rule_of
from patterns.rules.event import Event, events_of
from patterns.rules.workflow_rule import WorkflowRule

__all__ = ["Event", "events_of", "hangs_on_derived", "outcome", "reach", "waiting_since"]


def outcome(type: str, rule: Mapping[str, Any], event: Event, before: Sequence[Event] = ()) -> bool | None:
    """The first outcome."""
    return next(iter(rule_of(type, rule).outcomes(event, before)), None)


def reach(type: str, rule: Mapping[str, Any]) -> timedelta:
    """How far back the events before one must be known."""
    return rule_of(type, rule).reach


def hangs_on_derived(rule: Mapping[str, Any], event: Event) -> bool:
    """True if matching needs derived features."""
    type = (
        "workflow"
        if "steps" in rule
        else "temporal"
        if "rrule" in rule
        else "avoidance"
        if "days" in rule
        else "preference"
    )
    return rule_of(type, rule).needs_derived(event)


def waiting_since(rule: Mapping[str, Any], run: Sequence[Event], now: datetime) -> datetime | None:
    """When the last step but one was seen."""
    found = rule_of("workflow", rule)
    assert isinstance(found, WorkflowRule), "a workflow"
    return found.waiting_since(run, now)
