"""Readers, one file a format. `READERS` is the table that finds the right one."""

from observations.ingest.ical.calendar import CALENDAR
from observations.ingest.json_logs.activitywatch import ACTIVITYWATCH
from observations.ingest.json_logs.documents import JSON
from observations.ingest.json_logs.ndjson import NDJSON
from observations.ingest.mail.mailbox import EML, MBOX
from observations.ingest.process_logs.ocel import OCEL
from observations.ingest.process_logs.xes import XES
from observations.ingest.shell_history.atuin import ATUIN
from observations.ingest.shell_history.bash import BASH
from observations.ingest.shell_history.fish import FISH
from observations.ingest.shell_history.powershell import POWERSHELL
from observations.ingest.shell_history.zsh import ZSH
from observations.ingest.tabular.csv_table import CSV
from observations.ingest.tabular.parquet import PARQUET
from observations.ingest.toolkit.reader import Reader

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
