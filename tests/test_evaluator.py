"""The worker process beside the stream: if it dies, another one takes over."""

from __future__ import annotations

import select
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from observations.errors import StoreError
from patterns.settings import Settings
from pipelines import Store
from pipelines.store.context import clock_at
from pipelines.store.status_change import Change
from pipelines.streaming.worker import Evaluator
from tests.simulate import creature_of_habit

ADA = creature_of_habit(4, weeks=4)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "habitus.db", clock=clock_at(ADA.as_of)) as store:
        store.add(ADA.observations)
        yield store


@pytest.fixture
def evaluator(store: Store) -> Iterator[Evaluator]:
    evaluator = Evaluator(store.database.address, Settings(), ADA.as_of)
    yield evaluator
    evaluator.close()


def heard(evaluator: Evaluator) -> list[Change]:
    """The changes it reports until it is done."""
    found: list[Change] = []
    while evaluator.busy:
        assert select.select(evaluator.descriptors, [], [], 60)[0]
        found += [change for changes in evaluator.answers() for change in changes]
    return found


def kill(evaluator: Evaluator) -> None:
    process = evaluator._process
    assert process is not None
    process.send_signal(signal.SIGKILL)
    process.wait()


def test_it_finds_what_the_store_finds(store: Store, evaluator: Evaluator) -> None:
    evaluator.ask()
    found = heard(evaluator)
    assert [found] == list(store.evaluate(unnotified=True)) != [[]]


def test_another_one_takes_over_from_one_that_was_killed(store: Store, evaluator: Evaluator) -> None:
    """At work, and with nothing to do."""
    evaluator.ask()
    kill(evaluator)
    store.mark_notified(heard(evaluator))
    assert store.changes() == []
    kill(evaluator)
    evaluator.ask()
    assert heard(evaluator) == []


def test_what_it_found_and_did_not_get_to_say_is_said_by_the_next(store: Store, evaluator: Evaluator) -> None:
    evaluator.ask()
    assert select.select(evaluator.descriptors, [], [], 60)[0]  # it is in the store
    kill(evaluator)
    evaluator._end()  # and lost on the way
    evaluator._ask()
    assert {change.after for change in heard(evaluator)} > {"confirmed"}


def test_a_question_that_kills_two_ends_the_stream(evaluator: Evaluator) -> None:
    evaluator.ask()
    kill(evaluator)
    assert list(evaluator.answers()) == []
    kill(evaluator)
    with pytest.raises(StoreError, match="the evaluation process died twice; run the command again"):
        list(evaluator.answers())
