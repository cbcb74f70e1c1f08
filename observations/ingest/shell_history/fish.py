r"""Fish histories: a format of fish's own that looks like YAML and is none.

::

    - cmd: git commit -m "CircleCI: cache gems"     everything after the first colon; \n is a line end, \\ a backslash
      when: 1700000000
      paths:
        - src/a.c                                   files that the command named; not read

(fish-shell/src/history/yaml_backend.rs.) A line that begins with neither ``- cmd:`` nor a blank is damage, and so
are the lines that are indented under it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from observations.ingest.shell_history.command_frames import (
    command_frame,
    decoded,
    empty,
    note_units,
    note_untimed,
    record_pieces,
    to_microseconds,
    without_nuls,
)
from observations.ingest.toolkit.note_collector import NoteCollector
from observations.ingest.toolkit.reader import Batch, ReadOptions, Source
from observations.schema import empty_observations

_ITEM = re.compile(r"^- cmd:[ \t]?", re.MULTILINE)
_ITEM_BYTES = re.compile(rb"^- cmd:", re.MULTILINE)
_RECORD = re.compile(rb"- cmd:")
_WHEN = r"\n[ \t]+when:[ \t]*(\d{1,19})[ \t]*(?:\n|$)"
_WHEN_DAMAGED = r"\n[ \t]+when:"
_NO_ITEM = r"\n(?:[^ \t\n%]|[ \t]?-?[ \t]?cmd:)"  # neither an item nor indented; or the first byte of an item is lost
_ADVICE = "fish always keeps times; this file was cut or written by another program"


@dataclass(frozen=True)
class FishReader:
    """Reads fish histories."""

    name: str = "fish history"

    def recognises(self, head: bytes, name: str) -> bool:
        """True if a line begins with ``- cmd:`` and there are times, or the name contains fish."""
        if _ITEM_BYTES.search(head) is None:
            return False
        return "fish_history" in name or re.search(rb"^[ \t]+when:[ \t]*\d", head, re.MULTILINE) is not None

    def read(self, source: Source, options: ReadOptions) -> Iterator[Batch]:
        """Each command."""
        remarks = NoteCollector(source.label)
        lines = untimed = 0
        with source.open() as stream:
            for piece in record_pieces(stream, _RECORD):
                text = decoded(without_nuls(piece, remarks), remarks).replace("\r\n", "\n")
                items = _items(text, lines, remarks)
                lines += piece.count(b"\n")
                frame, lacking = _frame(items, options.tz, remarks)
                untimed += lacking
                yield Batch(frame, tuple(remarks.take()))
        note_untimed(remarks, untimed, _ADVICE)
        if notes := remarks.take():
            yield Batch(empty_observations(), tuple(notes))


FISH = FishReader()


def unescaped(commands: pl.Series) -> pl.Series:
    r"""The commands as they were typed: ``\n`` is a line end, ``\\`` a backslash, other backslashes are themselves.

    >>> unescaped(pl.Series([r"echo one\necho two", r"printf 'a\\nb'"])).to_list()
    ['echo one\necho two', "printf 'a\\nb'"]
    """
    if not commands.str.contains("\\", literal=True).any():
        return commands
    # A byte that no text has stands for the backslash while line ends are put in.
    return (
        commands.str.replace_all(r"\\", "\x00", literal=True)
        .str.replace_all(r"\n", "\n", literal=True)
        .str.replace_all("\x00", "\\", literal=True)
    )


def _items(text: str, first_line: int, remarks: NoteCollector) -> pl.DataFrame:
    """The items as ``command`` (escaped), ``when`` (digits, or null), ``damaged`` and ``line``; adds notes about damage."""
    before, *bodies = _ITEM.split(text)
    frame = pl.DataFrame({"body": pl.Series(bodies, dtype=pl.String)})
    breaks = pl.col("body").str.count_matches("\n", literal=True)
    first = first_line + before.count("\n") + 1
    frame = frame.with_columns(line=breaks.cum_sum().shift(1, fill_value=0).cast(pl.Int64) + first)
    if before.strip():
        remarks.reject("bad_line", "the line is not part of a fish history", first_line + 1)
    strange = frame.get_column("body").str.contains(_NO_ITEM)
    if strange.any():
        frame = _without_damage(frame, strange, remarks)
    return frame.select(
        "line",
        command=pl.col("body").str.extract(r"^([^\n]*)").str.replace(r"^(?:- cmd: ?)+", ""),
        when=pl.col("body").str.extract(_WHEN),
        damaged=pl.col("body").str.contains(_WHEN_DAMAGED),
    )


def _without_damage(frame: pl.DataFrame, strange: pl.Series, remarks: NoteCollector) -> pl.DataFrame:
    """The frame with each body cut before the first line in it that is not part of an item; adds a note for each."""
    bodies = frame.get_column("body").to_list()
    for row in strange.arg_true().to_list():
        at = re.search(_NO_ITEM, bodies[row])
        assert at is not None, "polars found one"
        line = frame.item(row, "line") + bodies[row][: at.start() + 1].count("\n")
        remarks.reject("bad_line", "the line is not part of a fish history; its item is skipped", line)
        bodies[row] = bodies[row][: at.start()]
    return frame.with_columns(body=pl.Series(bodies, dtype=pl.String))


def _frame(items: pl.DataFrame, tz: str, remarks: NoteCollector) -> tuple[pl.DataFrame, int]:
    """The items as observations, and how many have no time."""
    commands = unescaped(items.get_column("command"))
    stamps = items.get_column("when").cast(pl.Int64, strict=False).fill_null(0).to_numpy()
    micros, units = to_microseconds(stamps)
    note_units(remarks, units)
    written = items.get_column("damaged").to_numpy()
    bad = (units == 0) & written & ~((stamps == 0) & items.get_column("when").is_not_null().to_numpy())
    for line in items.get_column("line").filter(bad):
        remarks.reject("bad_timestamp", "the time of this command cannot be read", line)
    blank = empty(commands, remarks)
    good = (units != 0) & ~blank
    lacking = int(((units == 0) & ~bad & ~blank).sum())
    return command_frame(commands.filter(good), micros[np.flatnonzero(good)], tz, {}), lacking
