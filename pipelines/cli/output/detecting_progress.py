"""A progress bar for ``habitus detect``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn


@contextmanager
def detecting_progress() -> Iterator[Callable[[float], None]]:
    """A function that takes the completed share; a terminal shows it as a progress bar after one second."""
    console = Console(stderr=True)
    columns = TextColumn("detecting"), BarColumn(), TaskProgressColumn()
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    show = _Shown(bar)
    try:
        yield show
    finally:
        bar.stop()


class _Shown:
    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._task = bar.add_task("detecting", total=1.0)

    def __call__(self, share: float) -> None:
        elapsed = self._bar.tasks[0].elapsed or 0.0
        if not self._bar.live.is_started and elapsed > 1.0:
            self._bar.start()
        self._bar.update(self._task, completed=share)
