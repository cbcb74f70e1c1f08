"""The contract of a pattern type: what every row of the registry keeps."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from observations.errors import SettingError
from patterns.candidates import Candidates
from patterns.eventlog.log import Log
from patterns.eventlog.subjects import find_subjects
from patterns.registry import DETECTORS, KINDS, PATTERN_TYPES, PatternKind, kind_of, rule_of
from patterns.rules.rule import Rule
from patterns.settings import Settings
from pipelines.cli.pattern_type import TYPE_NAMES
from tests.simulate import creature_of_habit, nobody_in_particular

SETTINGS = Settings()
PERSON = creature_of_habit(3)

each_kind = pytest.mark.parametrize("kind", KINDS, ids=PATTERN_TYPES)


@cache
def proposed(type: str) -> tuple[Log, Candidates]:
    """What a type's detector proposes of a person with habits, nothing being explained already."""
    log = Log.of_observations(PERSON.observations, PERSON.as_of, SETTINGS)
    subjects = find_subjects(log, least=SETTINGS.least_support)
    kind = kind_of(type)
    none_explained = np.zeros(len(log), dtype=np.bool_)
    return log, kind.detector.detect(log, subjects, SETTINGS.of_type(kind.budget), none_explained)


def test_names_are_unique_and_budgets_sum_to_one() -> None:
    assert len(set(PATTERN_TYPES)) == len(KINDS) == len(DETECTORS)
    assert sum(kind.budget for kind in KINDS) == pytest.approx(1)


def test_help_texts_name_every_type() -> None:
    assert TYPE_NAMES.replace(" or ", ", ").split(", ") == list(PATTERN_TYPES)


def test_an_unknown_type_is_refused_with_the_nearest() -> None:
    with pytest.raises(SettingError, match="unknown pattern type 'temporl'; did you mean temporal"):
        kind_of("temporl")


@each_kind
def test_a_row_is_whole(kind: PatternKind) -> None:
    assert kind.detector.type == kind.type
    assert 0 < kind.budget < 1
    assert kind.heading[0].isupper()
    assert kind.about
    assert all(issubclass(shape, Rule) for shape in kind.rules)


@each_kind
def test_exactly_one_shape_is_told_by_no_field_and_it_is_the_last(kind: PatternKind) -> None:
    assert [bool(shape.keys) for shape in kind.rules] == [True] * (len(kind.rules) - 1) + [False]


@each_kind
def test_candidates_have_rules_of_the_row_that_survive_json(kind: PatternKind) -> None:
    _, candidates = proposed(kind.type)
    assert len(candidates)
    assert candidates.type == kind.type
    for rule in candidates.rules:
        assert type(rule) in kind.rules
        assert rule_of(kind.type, rule.to_json()) == rule
        assert rule.is_same(rule)
        assert rule.sentence()


@each_kind
def test_trials_are_in_order_and_belong_to_their_person(kind: PatternKind) -> None:
    log, candidates = proposed(kind.type)
    trials = candidates.trials
    assert (np.diff(trials.candidate) >= 0).all()
    same = np.diff(trials.candidate) == 0
    assert (np.diff(trials.local)[same] >= 0).all()
    shown = trials.event >= 0
    assert (log.user[trials.event[shown]] == candidates.user[trials.candidate[shown]]).all()
    assert shown[trials.hit].all()
    assert (trials.local <= log.as_of_local[candidates.user[trials.candidate]]).all()


@each_kind
def test_nulls_are_rates_and_something_was_looked_at(kind: PatternKind) -> None:
    _, candidates = proposed(kind.type)
    assert ((candidates.null_rate > 0) & (candidates.null_rate < 1)).all()
    assert (candidates.hypotheses >= 1).all()


@each_kind
def test_a_log_with_little_in_it_has_no_candidates(kind: PatternKind) -> None:
    few = nobody_in_particular(1, weeks=1).observations.head(2)
    log = Log.of_observations(few, None, SETTINGS)
    subjects = find_subjects(log, least=SETTINGS.least_support)
    none_explained = np.zeros(len(log), dtype=np.bool_)
    assert len(kind.detector.detect(log, subjects, SETTINGS, none_explained)) == 0
