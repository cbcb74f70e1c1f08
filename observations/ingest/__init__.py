"""Readers, one file a format. `READERS` is the table that finds the right one."""

from observations.ingest.activitywatch import ACTIVITYWATCH
from observations.ingest.atuin import ATUIN
from observations.ingest.base import Reader
from observations.ingest.bash import BASH
from observations.ingest.calendar import CALENDAR
from observations.ingest.csv_table import CSV
from observations.ingest.fish import FISH
from observations.ingest.json_logs import JSON
from observations.ingest.mail import EML, MBOX
from observations.ingest.ndjson import NDJSON
from observations.ingest.ocel import OCEL
from observations.ingest.parquet import PARQUET
from observations.ingest.powershell import POWERSHELL
from observations.ingest.xes import XES
from observations.ingest.zsh import ZSH

READERS: tuple[Reader, ...] = (
    PARQUET,
    ATUIN,
    XES,
    OCEL,  # before NDJSON and JSON, which its JSON also is
    CALENDAR,
    ACTIVITYWATCH,  # before NDJSON: an export is one line
    NDJSON,
    JSON,
    MBOX,
    EML,
    FISH,
    ZSH,
    POWERSHELL,
    BASH,
    CSV,
)
"""All readers; the first that recognises a source reads it."""

__all__ = ["READERS"]
