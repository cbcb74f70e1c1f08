"""The exam's simulated people and the real logs, which lie beside this project (`../shared`), as observation frames."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl

from observations.ingest.discovery import find_sources
from observations.ingest.read import read_observations
from observations.ingest.toolkit.complete import complete
from observations.ingest.toolkit.reader import ReadOptions
from observations.ingest.toolkit.record_builder import RecordBuilder

SHARED = Path(__file__).parents[3] / "shared"

_UNTIL = datetime(2100, 1, 1, tzinfo=UTC)


def build(seed: int, people: int = 12, nulls: int = 6, days: int = 180) -> list[Any]:
    """The exam's people (`world.Person`): so many with habits and so many without."""
    folder = str(SHARED / "exam")
    sys.path.insert(0, folder)
    try:
        world = import_module("world")
    finally:
        sys.path.remove(folder)
    return list(world.build(seed, people, nulls, days, 0))


def observations_of(person: Any) -> pl.DataFrame:
    """Everything that one of the exam's people did."""
    records = RecordBuilder()
    for event in person.events:
        local = datetime.fromisoformat(event["timestamp"]).replace(tzinfo=None)
        records.add(
            event["type"],
            event["action"],
            local=local,
            tz=event["tz"],
            id=event["id"],
            user_id=event["user_id"],
            features=event["features"],
        )
    return complete(records.take(), ReadOptions(until=_UNTIL))


def real(name: str, least: int = 100) -> pl.DataFrame:
    """One of the real logs: of the people with at least so many observations. Of a mailing list the senders are people."""
    field = "from" if name.endswith(".mbox") else None
    options = ReadOptions(until=_UNTIL, user_field=field)
    found = find_sources([SHARED / "real" / name])
    frame, _ = read_observations(found.sources, options, found.notes)
    return frame.filter(pl.len().over("user_id") >= least)
