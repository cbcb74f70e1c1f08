"""`habitus` and `pipelines` export the public names and import quickly; `detect` takes common Python inputs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import pipelines
import pipelines.habitus
from observations.errors import HabitusError, SettingError, SourceError
from observations.model import Observation
from pipelines.detection import detect
from pipelines.input_tables import frame_of_python

ROOT = Path(__file__).parents[1]
RECORDS = [
    {
        "type": "calendar",
        "action": "created",
        "timestamp": f"2026-03-{day:02}T07:0{day % 5}:00+01:00",
        "features": {"title": "Gym", "minutes": 60 + day},
    }
    for day in range(1, 29)
]
FLAT = [{**{k: v for k, v in r.items() if k != "features"}, "title": "Gym"} for r in RECORDS]


class PandasColumn:
    """What is asked of a pandas column."""

    def __init__(self, values: list[object]) -> None:
        self.values = values

    def astype(self, _: type) -> PandasColumn:
        return self

    def notna(self) -> list[bool]:
        return [value is not None for value in self.values]

    def where(self, there: list[bool], other: object) -> PandasColumn:
        return PandasColumn([v if t else other for v, t in zip(self.values, there, strict=True)])

    def tolist(self) -> list[object]:
        return self.values


class PandasFrame:
    """What is asked of a pandas frame."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.columns = list(rows[0])
        self._rows = rows

    def __getitem__(self, name: str) -> PandasColumn:
        return PandasColumn([row[name] for row in self._rows])

    def to_dict(self) -> dict[str, list[object]]:
        return {name: self[name].values for name in self.columns}


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_both_names_offer_the_same() -> None:
    offered = vars(pipelines.habitus)["__all__"]
    assert sorted(offered) == sorted(pipelines.__all__) == dir(pipelines)
    assert [name for name in offered if getattr(pipelines, name, None) is None] == []


def test_importing_detect_loads_no_command_line() -> None:
    code = "import sys; from pipelines import detect; print([m for m in ('click', 'rich', 'pipelines.cli') if m in sys.modules])"
    assert run(code) == "[]"


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, pipelines.habitus; print([m for m in ('polars', 'numpy', 'pydantic') if m in sys.modules])"
    assert run(code) == "[]"


@pytest.mark.parametrize(
    "sources",
    [
        RECORDS,
        iter(RECORDS),
        [Observation.model_validate(record) for record in RECORDS],
        pl.DataFrame(FLAT),
        pl.LazyFrame(FLAT),
        PandasFrame(FLAT),
    ],
    ids=["dicts", "iterator", "observations", "polars", "lazy", "pandas"],
)
def test_detect_takes_what_python_holds(sources: Any) -> None:
    assert [(p.type, p.support) for p in detect(sources).confirmed][:1] == [("temporal", 28)]


def test_records_give_the_observations_of_the_same_file(tmp_path: Path) -> None:
    """Ids, types and redaction included."""
    import json

    records = [
        *FLAT,
        {**FLAT[0], "title": "password=hunter2secret", "timestamp": "2026-03-30T09:00:00+02:00"},
    ]
    path = tmp_path / "log.ndjson"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    from_file, from_records = detect(path).observed, detect(records).observed
    assert from_records.sort("id").equals(from_file.select(from_records.columns).sort("id"))
    assert "hunter2secret" not in str(from_records.rows())


def test_foreign_columns_are_mapped() -> None:
    table = pl.DataFrame(FLAT).rename({"timestamp": "When"})
    assert detect(table, mapping={"timestamp": "When"}).confirmed
    with pytest.raises(SourceError, match=r"no column 'timestamp'.*`mapping`.*When"):
        detect(table)


def test_a_pandas_frame_keeps_offsets() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(FLAT)
    frame["timestamp"] = pandas.to_datetime(frame["timestamp"])
    table = frame_of_python(frame)
    assert table is not None
    assert table.item(0, "timestamp").endswith("+01:00")


def test_paths_may_begin_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    pl.DataFrame(FLAT).write_parquet(tmp_path / "log.parquet")
    assert detect(["~/log.parquet"]).confirmed


@pytest.mark.parametrize("sources", [3, b"x", {"a": 1}, [3, "log.csv"], [None], None])
def test_what_cannot_be_taken_is_refused_on_one_line(sources: Any) -> None:
    with pytest.raises(SettingError, match="a list of dicts or of Observation") as caught:
        detect(sources)
    assert caught.value.argument == "sources"
    assert caught.value.value is sources
    assert "\n" not in str(caught.value)


def test_errors_name_arguments_and_carry_values() -> None:
    from datetime import UTC, datetime

    moment = datetime(2020, 1, 1, tzinfo=UTC)
    with pytest.raises(SettingError, match="`as_of` 2020-01-01") as caught:
        detect(RECORDS, as_of=moment)
    assert (caught.value.argument, caught.value.value) == ("as_of", moment)
    with pytest.raises(SettingError, match=r"`as_of` .* has no time zone"):
        detect(RECORDS, as_of=datetime(2026, 4, 1))  # noqa: DTZ001  what is refused
    assert issubclass(SettingError, HabitusError)
