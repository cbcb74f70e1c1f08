"""Many people at once: partitions of them, evaluated one after the other or by several processes.

People never mix, so any partition of them gives the same answer (design, section 8). What is handed to another process
is the partition as Arrow data; few partitions are under way at a time, so memory does not grow with the input.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from io import BytesIO
from multiprocessing import get_context

import polars as pl

from patterns.evaluate import evaluate
from patterns.settings import Settings

PEOPLE_AT_ONCE = 250_000
"""Observations that are evaluated in one go, as far as people can be parted: bounds memory, changes no answer."""

_THREADS = "POLARS_MAX_THREADS"

WORTH_A_PROCESS = 60_000
"""Observations that take about as long to evaluate as another process takes to start, several times over."""


def evaluate_parts(
    frames: Iterable[pl.DataFrame], as_of: datetime | None, settings: Settings | None, workers: int = 1
) -> Iterator[tuple[pl.DataFrame, int]]:
    """The patterns of one partition of people after the other, each with how many observations it was.

    Args:
        frames: observation frames, in any order, nobody in two of them; taken up one by one.
        as_of, settings: as for `patterns.evaluate.evaluate`.
        workers: processes to use (see `workers_for`). With more than one, a script that calls this must be importable
            (the usual ``if __name__ == "__main__":``), for each process imports it.
    """
    if workers <= 1:
        for part in _parts(frames, PEOPLE_AT_ONCE):
            yield evaluate(part, as_of, settings), part.height
        return
    with _threads_of_each(workers), ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        under_way: deque[tuple[Future[bytes], int]] = deque()
        for part in _parts(frames, WORTH_A_PROCESS):
            under_way.append((pool.submit(_evaluate, _packed(part), as_of, settings), part.height))
            if len(under_way) > workers:
                yield _unpacked(under_way)
        while under_way:
            yield _unpacked(under_way)


def workers_for(observations: int, people: int, at_most: int) -> int:
    """How many processes are worth their start."""
    return min(at_most, observations // WORTH_A_PROCESS, people)


def _parts(frames: Iterable[pl.DataFrame], size: int) -> Iterator[pl.DataFrame]:
    return (part for frame in frames for part in partitions(frame, size))


def partitions(observations: pl.DataFrame, size: int) -> Iterator[pl.DataFrame]:
    """The frame in parts of about `size` rows, each person wholly in one, people in alphabetical order."""
    if observations.height <= size:
        if observations.height:
            yield observations
        return
    sizes = observations.group_by("user_id").len().sort("user_id")
    part = sizes.select("user_id", part=(pl.col("len").cum_sum() - 1) // size)
    of_row = observations.select("user_id").join(part, on="user_id", maintain_order="left").get_column("part")
    rows = of_row.arg_sort()
    start = 0
    for length in of_row.value_counts().sort("part").get_column("count").to_list():
        yield observations[rows.slice(start, length).sort()]
        start += length


@contextmanager
def _threads_of_each(workers: int) -> Iterator[None]:
    """While it lasts, processes are started in which polars has its share of the cores: more threads wait for each other.

    It reads that when it is imported, so the environment is the only way to say it.
    """
    before = os.environ.get(_THREADS)
    os.environ[_THREADS] = before or str(max((os.cpu_count() or 1) // workers, 1))
    try:
        yield
    finally:
        if before is None:
            del os.environ[_THREADS]


def _evaluate(part: bytes, as_of: datetime | None, settings: Settings | None) -> bytes:
    return _packed(evaluate(pl.read_ipc(BytesIO(part)), as_of, settings))


def _packed(frame: pl.DataFrame) -> bytes:
    buffer = BytesIO()
    frame.write_ipc(buffer)
    return buffer.getvalue()


def _unpacked(under_way: deque[tuple[Future[bytes], int]]) -> tuple[pl.DataFrame, int]:
    done, height = under_way.popleft()
    return pl.read_ipc(BytesIO(done.result())), height
