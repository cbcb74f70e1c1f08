"""The pattern types: one row each, with everything that belongs to it.

A row names the type, the shapes of its rules, its detector, its share of the error rate, and how it is headed in reports. All lists of types come from here; to add a type, add a row (CONTRIBUTING.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import orjson
from pydantic import ValidationError

from observations.errors import SettingError, did_you_mean
from patterns.candidates import Detector
from patterns.detectors.association import PreferenceDetector, RelationshipDetector
from patterns.detectors.avoidance import AvoidanceDetector
from patterns.detectors.temporal import TemporalDetector
from patterns.detectors.workflow import WorkflowDetector
from patterns.rules.avoidance_rule import AvoidanceRule
from patterns.rules.choice_rules import BandRule, RelationshipRule, ValueRule
from patterns.rules.frequency_rule import FrequencyRule
from patterns.rules.rule import Rule
from patterns.rules.stated_rule import StatedRule
from patterns.rules.temporal_rule import TemporalRule
from patterns.rules.workflow_rule import WorkflowRule

Shape = type[Rule]
"""A class of rules."""


@dataclass(frozen=True)
class PatternKind:
    """A pattern type and everything that belongs to it.

    Attributes:
        type: its name in rules, options and records.
        rules: the shapes of its rules; the last one is meant where no field tells another.
        detector: what proposes its patterns.
        budget: its share of the promised rate of false confirmations; the shares sum to one.
        heading: the title of its section in a report.
        about: one line below that title.
        tells_when: True if its patterns say when an event happens: the events they account for are not background
            for the detectors after it.
    """

    type: str
    rules: tuple[Shape, ...]
    detector: Detector
    budget: float
    heading: str
    about: str
    tells_when: bool = False


KINDS: tuple[PatternKind, ...] = (
    PatternKind(
        type="temporal",
        rules=(StatedRule, FrequencyRule, TemporalRule),
        detector=TemporalDetector(),
        budget=0.2,
        heading="Times",
        about="what happens at certain times or on certain days",
        tells_when=True,
    ),
    PatternKind(
        type="preference",
        rules=(StatedRule, BandRule, ValueRule),
        detector=PreferenceDetector(),
        budget=0.1,
        heading="Preferences",
        about="how things are done",
    ),
    PatternKind(
        type="relationship",
        rules=(StatedRule, RelationshipRule),
        detector=RelationshipDetector(),
        budget=0.1,
        heading="People",
        about="who takes part in what",
    ),
    PatternKind(
        type="workflow",
        rules=(StatedRule, WorkflowRule),
        detector=WorkflowDetector(),
        budget=0.1,
        heading="Workflows",
        about="what follows what",
        tells_when=True,
    ),
    PatternKind(
        type="avoidance",
        rules=(StatedRule, AvoidanceRule),
        detector=AvoidanceDetector(),
        budget=0.5,
        heading="Never",
        about="hours and days without something",
    ),
)
"""In the order in which the detectors run: each gets the events that those before it account for.

Evidence that something happens accumulates fast, evidence that it never does slowly: half of the error rate is for absence.
"""

assert abs(sum(kind.budget for kind in KINDS) - 1) < 1e-9, "the budgets sum to one"

DETECTORS: tuple[Detector, ...] = tuple(kind.detector for kind in KINDS)
"""The detectors, in the order of `KINDS`."""

PATTERN_TYPES: tuple[str, ...] = tuple(kind.type for kind in KINDS)
"""The names of the types."""


def kind_of(type: str) -> PatternKind:
    """The row of a pattern type.

    Raises:
        SettingError: there is no such type.
    """
    for kind in KINDS:
        if kind.type == type:
            return kind
    names = ", ".join(kind.type for kind in KINDS)
    raise SettingError(
        f"unknown pattern type {type!r}{did_you_mean(type, names.split(', ')) or f'; there are {names}'}"
    )


def rule_of(type: str, rule: Mapping[str, object] | str) -> Rule:
    """The rule of a type that this JSON writes (contract, section 3).

    Args:
        type: the pattern type.
        rule: the JSON object, or its text.

    Raises:
        SettingError: it is not a rule of that type; the message names the field.

    >>> rule_of("preference", '{"where": {}, "feature": "drink", "value": "tea"}').sentence()
    'Prefers drink tea'
    """
    fields: object = _parsed(type, rule) if isinstance(rule, str) else rule
    if not isinstance(fields, Mapping):
        raise SettingError(f'{_not_a(type)}: a JSON object is expected, such as {{"where": {{}}, …}}')
    shapes = kind_of(type).rules
    shape = next((shape for shape in shapes if shape.keys & fields.keys()), shapes[-1])
    try:
        return shape.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        what = first["msg"].removeprefix("Value error, ")
        raise SettingError(f"{_not_a(type)}: {f'{place}: ' if place else ''}{what}") from error


def _not_a(type: str) -> str:
    return f"`rule` is not {'an' if type[0] in 'aeiou' else 'a'} {type} rule"


def _parsed(type: str, text: str) -> object:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise SettingError(f"{_not_a(type)}: {error}") from error
