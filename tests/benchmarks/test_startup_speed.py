"""CPU time until a command has answered, as a ratio to that of importing click."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from statistics import median

from tests.simulate import creature_of_habit

ROOT = Path(__file__).parents[2]
RUNS = 7
PROGRAM = [sys.executable, "-m", "pipelines"]


def cpu_seconds(command: list[str]) -> float:
    """The median CPU time of a few runs, the first of which only warms the caches."""
    taken = []
    for _ in range(RUNS + 1):
        before = os.times()
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        after = os.times()
        taken.append(
            after.children_user + after.children_system - before.children_user - before.children_system
        )
    return median(taken[1:])


def test_help_takes_three_times_as_long_as_importing_click() -> None:
    click = cpu_seconds([sys.executable, "-c", "import click"])
    for arguments in (["--help"], ["detect", "--help"], ["profile", "--help"]):
        taken = cpu_seconds([*PROGRAM, *arguments])
        print(f"habitus {' '.join(arguments)}: {taken:.3f} s, {taken / click:.1f} × import click")
        assert taken <= 3 * click


def test_a_ready_profile_takes_five_times_as_long_as_importing_click(tmp_path: Path) -> None:
    from pipelines.store.store import Store

    place = str(tmp_path / "habits.db")
    person = creature_of_habit(seed=3, weeks=10, user="me")
    with Store(place) as store:
        store.add(person.observations)
        store.changes()
        store.profile("me")
    click = cpu_seconds([sys.executable, "-c", "import click"])
    taken = cpu_seconds([*PROGRAM, "profile", "--db", place])
    print(f"habitus profile: {taken:.3f} s, {taken / click:.1f} × import click")
    assert taken <= 5 * click
