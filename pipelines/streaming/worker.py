"""A process beside the stream that evaluates, so that the next observation need not wait for the last one's consequences.

An evaluation takes a tenth of a second for one person and seconds for many; the stream answers within
milliseconds. They meet in the store, and speak over two pipes, one JSON object a line::

    stream → evaluator   {"place": …, "settings": {…}, "as_of": …}         once
                         {"only_grown": false}                             evaluate
    evaluator → stream   {"changes": […]}                                  as often as there are some
                         {"done": true}   or   {"error": "…"}              at the end of each evaluation

It ends when its input does, so when the stream ends, in whatever way. If it dies before that (killed, or for want
of memory), another one takes over its question; only if that dies of it too, the stream ends.
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
"""Observations that are evaluated in one go: what changed is told within a second or so."""

_PROGRAM = "from pipelines.streaming.worker import serve; serve()"


class Evaluator:
    """The process, as the stream sees it. It is started when it is first asked.

    Args:
        place: of the store.
        settings: the numbers that patterns are judged by.
        as_of: the evaluation time; now, whenever that is, if null.

    """

    def __init__(self, place: str, settings: Settings, as_of: datetime | None) -> None:
        self._greeting: dict[str, object] = {
            "place": place,
            "settings": settings.model_dump(),
            "as_of": as_of,
        }
        self._process: subprocess.Popen[bytes] | None = None
        self._question: dict[str, object] = {}
        self._died = False  # over this question
        self._waiting = b""
        self.busy = False

    @property
    def descriptors(self) -> list[int]:
        """What can be read when there is an answer."""
        return [_pipe(self._process.stdout).fileno()] if self._process is not None and self.busy else []

    def ask(self, *, only_grown: bool = False) -> None:
        """Have the people evaluated of whom something may have changed; not while it is busy.

        Raises:
            StoreError: the process died of it, and so did another one.
        """
        assert not self.busy, "one question at a time"
        self._question, self._died = {"only_grown": only_grown}, False
        if self._process is not None and self._process.poll() is not None:
            self._end()  # it died while it had nothing to do
        self.busy = True
        self._ask()

    def answers(self) -> Iterator[list[Change]]:
        """The changes that it has found by now.

        Raises:
            StoreError: the store cannot be read or written; or the process died twice.
        """
        while self.busy and select.select(self.descriptors, [], [], 0)[0]:
            block = os.read(self.descriptors[0], 2**16)
            if not block:
                self._ask_another()
                continue
            *lines, self._waiting = (self._waiting + block).split(b"\n")
            for line in lines:
                yield from self._understood(orjson.loads(line))

    def close(self) -> None:
        """Let it finish the person in hand, and end."""
        self._end()
        self.busy = False

    def _ask(self) -> None:
        """Put the question, to a new process if there is none."""
        try:
            if self._process is None:
                self._process = _started()
                self._send(self._greeting)
            self._send(self._question)
        except BrokenPipeError:
            self._ask_another()

    def _ask_another(self) -> None:
        """The process is dead: another one evaluates whom it did not come to."""
        self._end()
        if self._died:
            raise StoreError(
                str(self._greeting["place"]), "the evaluation ended unexpectedly, twice; start again"
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

    def _understood(self, said: dict[str, object]) -> Iterator[list[Change]]:
        if "error" in said:
            raise StoreError(str(said["place"]), str(said["error"]))
        if "done" in said:
            self.busy = False
        elif isinstance(changes := said["changes"], list):
            yield [Change(**change) for change in changes]

    def _send(self, said: dict[str, object]) -> None:
        assert self._process is not None, "started"
        stream = _pipe(self._process.stdin)
        stream.write(orjson.dumps(said) + b"\n")
        stream.flush()


def serve() -> None:
    """Be the process: evaluate whenever standard input asks, until it ends."""
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C reaches all of a terminal; the stream decides when to end
    os.nice(10)  # what is observed goes before what follows from it
    greeting = orjson.loads(sys.stdin.buffer.readline())
    as_of = None if greeting["as_of"] is None else datetime.fromisoformat(greeting["as_of"])
    try:
        with Store(
            greeting["place"], settings=Settings(**greeting["settings"]), clock=clock_at(as_of)
        ) as store:
            unnotified = True  # by a process that died
            for line in sys.stdin.buffer:
                only_grown = orjson.loads(line)["only_grown"]
                for changes in store.evaluate(only_grown=only_grown, unnotified=unnotified, at_once=AT_ONCE):
                    _answer({"changes": [asdict(change) for change in changes]})
                unnotified &= only_grown
                _answer({"done": True})
    except BrokenPipeError:
        sys.stdout = None  # nobody listens any more; nothing is left to flush
    except StoreError as error:
        _answer({"place": error.place, "error": error.problem})
    except HabitusError as error:
        _answer({"place": greeting["place"], "error": str(error)})


def _answer(said: dict[str, object]) -> None:
    sys.stdout.buffer.write(orjson.dumps(said) + b"\n")
    sys.stdout.buffer.flush()


def _started() -> subprocess.Popen[bytes]:
    # -P: what lies in the working folder is no part of habitus, whatever its name.
    home = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, (home, os.environ.get("PYTHONPATH"))))
    return subprocess.Popen(  # noqa: S603  this very interpreter
        [sys.executable, "-P", "-c", _PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    )


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None, "asked for as a pipe"
    return stream
