"""``habitus detect`` as it is typed, on ever more people: seconds, memory, and how both grow.

Sizes are 10,000 and 100,000 observations, and as many more as ``HABITUS_BENCHMARK_ROWS`` says (``1000000``, ``10000000``).
Memory is that of all its processes together, looked at twenty times a second.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

from observations.schema import concat_observations
from tests.simulate import creature_of_habit

SIZES = tuple(
    size
    for size in (10_000, 100_000, 1_000_000, 10_000_000)
    if size <= max(100_000, int(os.environ.get("HABITUS_BENCHMARK_ROWS", "0")))
)
DIFFERENT = 24
"""People who differ; more are as these, under other names."""


@dataclass(frozen=True)
class Run:
    """One run of the command: on how many observations, in how many seconds, with how many MB at most."""

    observations: int
    seconds: float
    megabytes: float


@cache
def village() -> pl.DataFrame:
    """Half a year of some people with habits."""
    return concat_observations(
        creature_of_habit(seed, weeks=26, user=f"p{seed:02d}").observations for seed in range(DIFFERENT)
    )


def written(size: int, folder: Path) -> tuple[Path, int]:
    """A Parquet file of about so many observations, and of how many."""
    of_person = village().height // DIFFERENT
    copies, file = max(round(size / village().height), 1), folder / f"{size}.parquet"
    some = village() if size >= village().height else village().head(max(size // of_person, 1) * of_person)
    pl.concat(
        some.with_columns(user_id=pl.format("{}-{}", "user_id", pl.lit(copy))) for copy in range(copies)
    ).write_parquet(file)
    return file, some.height * copies


def run_on(size: int, folder: Path) -> Run:
    """The command on so many observations."""
    file, observations = written(size, folder)
    start, peak = time.perf_counter(), 0.0
    with subprocess.Popen(
        [Path(sys.executable).parent / "habitus", "detect", file, "--format", "ndjson"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        while process.poll() is None:
            peak = max(peak, memory_of(process.pid))
            time.sleep(0.05)
    assert process.returncode == 0
    return Run(observations, time.perf_counter() - start, peak)


def memory_of(pid: int) -> float:
    """MB that a process and those it started have in memory; 0 where /proc does not say."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        started = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return 0.0
    own = next((line.split()[1] for line in status.splitlines() if line.startswith("VmRSS")), "0")
    return int(own) / 1024 + sum(memory_of(int(child)) for child in started)


def test_time_grows_with_the_number_of_observations(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [run_on(size, tmp_path) for size in SIZES]
    with capsys.disabled():
        for run in runs:
            print(
                f"\n{run.observations:,} observations: {run.seconds:.1f} s, "
                f"{run.seconds / run.observations * 1e6:.0f} µs each, {run.megabytes:,.0f} MB",
                end="",
            )
        print()
    for less, more in pairwise(runs):
        assert more.seconds / less.seconds < 1.5 * more.observations / less.observations
