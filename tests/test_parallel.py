"""Any number of processes and partitions gives the same patterns."""

from __future__ import annotations

import os

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from observations.schema import concat_observations
from patterns.evaluate import evaluate
from pipelines import parallel
from pipelines.detection import detect_in_frame
from pipelines.parallel import partitions
from tests.simulate import creature_of_habit


@pytest.fixture(scope="module")
def crowd() -> pl.DataFrame:
    """Six people, one of whom has twice as much as the others."""
    lengths = {"ada": 6, "bo": 6, "cy": 12, "di": 6, "ed": 6, "fay": 6}
    people = [
        creature_of_habit(seed, weeks=weeks, user=name).observations
        for seed, (name, weeks) in enumerate(lengths.items())
    ]
    return concat_observations(people).sample(fraction=1.0, shuffle=True, seed=4)


def test_several_processes_give_the_answer_of_one(
    crowd: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = detect_in_frame(crowd).frame
    assert_frame_equal(alone, evaluate(crowd))
    monkeypatch.setattr(parallel, "WORTH_A_PROCESS", crowd.height // 4)
    told: list[float] = []
    together = detect_in_frame(crowd, workers=2, progress=told.append).frame
    assert_frame_equal(together, alone)
    assert len(told) > 1
    assert told[-1] == 1.0


@pytest.mark.parametrize("size", [1, 300, 1_000, 10**6])
def test_partitions_hold_everybody_once_and_nobody_in_two(crowd: pl.DataFrame, size: int) -> None:
    parts = list(partitions(crowd, size))
    names = [set(part["user_id"]) for part in parts]
    assert sum(len(people) for people in names) == 6
    assert set().union(*names) == set(crowd["user_id"])
    assert sum(part.height for part in parts) == crowd.height
    assert len(parts) == {1: 6, 10**6: 1}.get(size, len(parts))


def test_few_observations_start_no_process(crowd: pl.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "ProcessPoolExecutor", None)
    assert detect_in_frame(crowd, workers=8).people == 6
    assert detect_in_frame(crowd.clear(), workers=8).people == 0


def test_processes_share_the_cores_and_the_environment_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("POLARS_MAX_THREADS", raising=False)
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    with parallel._threads_of_each(3):
        assert os.environ["POLARS_MAX_THREADS"] == "2"
    assert "POLARS_MAX_THREADS" not in os.environ
    monkeypatch.setenv("POLARS_MAX_THREADS", "5")
    with parallel._threads_of_each(3):
        assert os.environ["POLARS_MAX_THREADS"] == "5"
    assert os.environ["POLARS_MAX_THREADS"] == "5"
