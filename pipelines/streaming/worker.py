"""A worker process that evaluates people, so that the stream does not block during an evaluation.

An evaluation takes a tenth of a second for one person and seconds for many; the stream responds within milliseconds.
Both use the same store, and communicate over two pipes, one JSON object a line::

    stream → evaluator   {"place": …, "settings": {…}, "as_of": …}         once
                         {"only_grown": false}                             evaluate
    evaluator → stream   {"changes": […]}                                  once for each batch of changes
                         {"done": true}   or   {"error": "…"}              at the end of each evaluation

The worker exits at the end of its input, and therefore with the stream. If it dies before (killed, or out of memory),
a new worker repeats the evaluation; if that one dies too, the stream fails.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import IO

import orjson

from observations.errors import HabitusError, StoreError
from patterns.settings import Settings
from pipelines.store.context import clock_at
from pipelines.store.status_change import Change
from pipelines.store.store import Store

AT_ONCE = 50_000
"""Observations evaluated in one batch, so that changes are reported within about a second."""

_PROGRAM = "from pipelines.streaming.worker import serve; serve()"


class Evaluator:
    """A handle on the worker process, which starts with the first evaluation.

    Args:
        place: the address of the store.
        settings: the settings of the evaluation.
        as_of: the evaluation time; the current time of each evaluation if None.

    """

    def __init__(self, place: str, settings: Settings, as_of: datetime | None) -> None:
        self._setup: dict[str, object] = {
            "place": place,
            "settings": settings.model_dump(),
            "as_of": as_of,
        }
        self._process: subprocess.Popen[bytes] | None = None
        self._request: dict[str, object] = {}
        self._died = False  # during this request
        self._waiting = b""
        self.busy = False

    @property
    def descriptors(self) -> list[int]:
        """File descriptors that become readable with a response."""
        return [_pipe(self._process.stdout).fileno()] if self._process is not None and self.busy else []

    def ask(self, *, only_grown: bool = False) -> None:
        """Start an evaluation of the people whose patterns may have changed; not while `busy`.

        Raises:
            StoreError: the worker died, and so did its replacement.
        """
        assert not self.busy, "one request at a time"
        self._request, self._died = {"only_grown": only_grown}, False
        if self._process is not None and self._process.poll() is not None:
            self._end()  # it died while idle
        self.busy = True
        self._ask()

    def answers(self) -> Iterator[list[Change]]:
        """The changes found so far.

        Raises:
            StoreError: the store cannot be read or written, or the worker died twice.
        """
        while self.busy and select.select(self.descriptors, [], [], 0)[0]:
            block = os.read(self.descriptors[0], 2**16)
            if not block:
                self._retry()
                continue
            *lines, self._waiting = (self._waiting + block).split(b"\n")
            for line in lines:
                yield from self._parsed(orjson.loads(line))

    def close(self) -> None:
        """Wait for the current batch to finish, and end the worker."""
        self._end()
        self.busy = False

    def _ask(self) -> None:
        """Send the request, to a new worker if none is running."""
        try:
            if self._process is None:
                self._process = _started()
                self._send(self._setup)
            self._send(self._request)
        except BrokenPipeError:
            self._retry()

    def _retry(self) -> None:
        """Repeat the request with a new worker, after the worker died."""
        self._end()
        if self._died:
            raise StoreError(
                str(self._setup["place"]), "the evaluation process died twice; run the command again"
            )
        self._died = True
        self._ask()

    def _end(self) -> None:
        if self._process is not None:
            with suppress(BrokenPipeError):
                _pipe(self._process.stdin).close()
            _pipe(self._process.stdout).close()
            self._process.wait()
            self._process = None
            self._waiting = b""

    def _parsed(self, message: dict[str, object]) -> Iterator[list[Change]]:
        if "error" in message:
            raise StoreError(str(message["place"]), str(message["error"]))
        if "done" in message:
            self.busy = False
        elif isinstance(changes := message["changes"], list):
            yield [Change(**change) for change in changes]

    def _send(self, message: dict[str, object]) -> None:
        assert self._process is not None, "started"
        stream = _pipe(self._process.stdin)
        stream.write(orjson.dumps(message) + b"\n")
        stream.flush()


def serve() -> None:
    """Run the worker: evaluate for each request on standard input, until it ends."""
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C reaches all processes of a terminal; the stream decides when to end
    os.nice(10)  # storing observations has priority over evaluating them
    setup = orjson.loads(sys.stdin.buffer.readline())
    as_of = None if setup["as_of"] is None else datetime.fromisoformat(setup["as_of"])
    try:
        with Store(setup["place"], settings=Settings(**setup["settings"]), clock=clock_at(as_of)) as store:
            unnotified = True  # changes that a dead worker did not report
            for line in sys.stdin.buffer:
                only_grown = orjson.loads(line)["only_grown"]
                for changes in store.evaluate(only_grown=only_grown, unnotified=unnotified, at_once=AT_ONCE):
                    _answer({"changes": [asdict(change) for change in changes]})
                unnotified &= only_grown
                _answer({"done": True})
    except BrokenPipeError:
        sys.stdout = None  # the stream is gone; do not flush at exit
    except StoreError as error:
        _answer({"place": error.place, "error": error.problem})
    except HabitusError as error:
        _answer({"place": setup["place"], "error": str(error)})


def _answer(message: dict[str, object]) -> None:
    sys.stdout.buffer.write(orjson.dumps(message) + b"\n")
    sys.stdout.buffer.flush()


def _started() -> subprocess.Popen[bytes]:
    # -P: do not import modules from the working folder.
    home = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, (home, os.environ.get("PYTHONPATH"))))
    return subprocess.Popen(  # noqa: S603  the current interpreter
        [sys.executable, "-P", "-c", _PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    )


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None, "created as a pipe"
    return stream
