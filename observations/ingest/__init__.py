"""Readers, one file a format. `READERS` is the table that finds the right one."""

from observations.ingest.base import Reader
from observations.ingest.csv_table import CSV
from observations.ingest.ndjson import NDJSON
from observations.ingest.parquet import PARQUET

READERS: tuple[Reader, ...] = (
    PARQUET,
    NDJSON,
    CSV,
)
"""All readers; the first that recognises a source reads it."""

__all__ = ["READERS"]
