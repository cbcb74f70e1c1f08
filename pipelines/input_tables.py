"""Observations from what Python holds already: records, and polars or pandas frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

import orjson
import polars as pl

from observations.errors import SettingError
from observations.ingest.read_report import ReadingReport
from observations.ingest.tabular.contract_fields import observe_rows
from observations.ingest.tabular.parquet import observe_table
from observations.ingest.tabular.row_buffer import RawRows
from observations.ingest.toolkit.complete import complete
from observations.ingest.toolkit.reader import Batch, ReadOptions
from observations.model import Observation
from observations.schema import empty_observations, unique_observations

TAKES = (
    "a file, folder or archive, a list of them, a list of dicts or of Observation, "
    "or a polars or pandas frame (`mapping` names its columns)"
)

_LABEL = "sources"


class DataFrameLike(Protocol):
    """A pandas frame, as far as it is looked at."""

    @property
    def columns(self) -> Any:
        """Its column names."""

    def to_dict(self) -> Any:
        """Its cells by column and row."""


def frame_of_python(value: object) -> pl.DataFrame | None:
    """The frame, if the value is a polars or pandas frame; else None."""
    if isinstance(value, pl.DataFrame):
        return value
    if isinstance(value, pl.LazyFrame):
        return value.collect()
    if hasattr(value, "columns") and hasattr(value, "to_dict"):
        return _from_pandas(value)
    return None


def _from_pandas(frame: Any) -> pl.DataFrame:
    """A pandas frame, column by column; polars reads one itself only with pyarrow."""
    columns = []
    for name in frame.columns:
        column = frame[name]
        values = column.astype(object).where(column.notna(), None).tolist()
        # Times as text: a polars column has one zone, and would lose the offset that the wall clock comes from.
        written = [value.isoformat() if hasattr(value, "isoformat") else value for value in values]
        columns.append(pl.Series(str(name), written, strict=False))
    return pl.DataFrame(columns)


def read_records(
    records: Iterable[Mapping[str, object] | Observation], options: ReadOptions
) -> tuple[pl.DataFrame, ReadingReport]:
    """Records of the contract (section 1) as an observation frame, read like lines of NDJSON.

    Raises:
        SettingError: one of them is neither a dict nor an `Observation`.
    """
    rows = RawRows()
    for number, record in enumerate(records, 1):
        rows.add(number, _fields(record, number))
    batch = observe_rows(rows.take(), _LABEL, options) if len(rows) else Batch(empty_observations())
    return _finished(batch, options)


def read_table(table: pl.DataFrame, options: ReadOptions) -> tuple[pl.DataFrame, ReadingReport]:
    """A foreign frame as an observation frame, read like a Parquet file.

    Raises:
        SourceError: it has no column with the time.
    """
    return _finished(observe_table(table, 1, _LABEL, options), options)


def paths_or_records(sources: object) -> list[Any]:
    """The items of `sources`, a path alone in a list.

    Raises:
        SettingError: `sources` is nothing that `pipelines.detect` takes.
    """
    if isinstance(sources, (str, Path)):
        return [sources]
    if isinstance(sources, Iterable) and not isinstance(sources, (bytes, Mapping)):
        items = list(sources)
        if all(isinstance(item, (str, Path)) for item in items) or all(
            isinstance(item, (Mapping, Observation)) for item in items
        ):
            return items
        kinds = sorted({type(item).__name__ for item in items})
        raise _not_taken(f"a list of {' and '.join(kinds)}", sources)
    raise _not_taken(type(sources).__name__, sources)


def _not_taken(what: str, sources: object) -> SettingError:
    return SettingError(f"`sources` takes {TAKES}; not {what}", argument="sources", value=sources)


def _fields(record: Mapping[str, object] | Observation, number: int) -> dict[str, object]:
    fields = record.model_dump(mode="json") if isinstance(record, Observation) else record
    try:
        read: dict[str, object] = orjson.loads(
            orjson.dumps(fields, option=orjson.OPT_NON_STR_KEYS, default=str)
        )
    except (TypeError, ValueError) as error:
        raise SettingError(
            f"record {number} of `sources`: {error}", argument="sources", value=record
        ) from error
    return read


def _finished(batch: Batch, options: ReadOptions) -> tuple[pl.DataFrame, ReadingReport]:
    frame = complete(batch.observations, options)
    report = ReadingReport()
    source = report.of(_LABEL)
    source.named, source.recognised = True, "records"
    report.add_all(batch.notes)
    frame = unique_observations(frame.filter(pl.col("at") <= options.until))
    source.observations = frame.height
    return frame, report
