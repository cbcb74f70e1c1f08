"""What confidence means, measured: the reliability table of the README, on simulated people or a real log.

python -m tests.benchmarks.reliability --seeds 1 2 3
python -m tests.benchmarks.reliability --real git-polars.ndjson --cuts 52
"""

from __future__ import annotations

import argparse
from datetime import datetime, timedelta

import polars as pl

from observations.schema import concat_observations
from pipelines.memory.calibration import DAYS_AHEAD, interval_coverage, look_ahead, reliability_of
from tests.benchmarks.exam import build, observations_of, real


def main() -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(description="The reliability table of the README.")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1], help="of the exam's worlds")
    parser.add_argument("--real", help="a file in ../shared/real, instead of simulated people")
    parser.add_argument("--cuts", type=int, default=4, help="so many fortnights, the last ones")
    arguments = parser.parse_args()
    if arguments.real:
        frame = real(arguments.real)
    else:
        frame = concat_observations([observations_of(p) for seed in arguments.seeds for p in build(seed)])
    last: datetime = frame.select(pl.col("at").max()).item()
    cuts = [last - timedelta(days=DAYS_AHEAD * n) for n in range(arguments.cuts, 0, -1)]
    looks = look_ahead(frame, cuts)
    with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_width_chars=160, tbl_hide_dataframe_shape=True):
        for status in ("confirmed", "tracking"):
            print(status, reliability_of(looks.filter(status=status)), sep="\n")
        print(
            "rate_interval, of confirmed patterns",
            interval_coverage(looks.filter(status="confirmed")),
            sep="\n",
        )


if __name__ == "__main__":
    main()
