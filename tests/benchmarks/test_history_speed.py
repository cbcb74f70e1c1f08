"""Histories: commands a second, redaction and program parsing included, against things measured in the same run.

The history is like a real one: half of the lines were typed once (a message, a file, a host), and two in a hundred
hold a secret. The target is 300,000 commands/s; a bare regular expression that splits the same file, which is the
least that any reader has to do, stands beside it.
"""

from __future__ import annotations

import random
import re
import sqlite3
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter

import polars as pl
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from observations.ingest.shell_history.atuin import ATUIN
from observations.ingest.shell_history.bash import BASH
from observations.ingest.shell_history.fish import FISH
from observations.ingest.shell_history.zsh import ZSH
from observations.ingest.toolkit.reader import Reader, ReadOptions, Source
from observations.privacy.redact import redact
from observations.privacy.redact_frame import redact_series
from observations.shell.parse import parse_series

COMMANDS = 300_000
OPTIONS = ReadOptions(until=datetime(2030, 1, 1, tzinfo=UTC), tz="Europe/Berlin")
ORDINARY = (
    *(
        "git status",
        "git diff",
        "git pull --rebase",
        "git log --oneline",
        "git push",
        "ls -la",
        "ls",
        "cd ..",
        "cd src",
    ),
    *(
        "make -j8 test",
        "docker compose up -d",
        "docker ps",
        "python -m pytest -x",
        "kubectl get pods -n prod",
        "htop",
    ),
    *(
        "npm run build",
        "cargo test",
        "source .venv/bin/activate",
        "cat a.log | sort | uniq -c | less",
        "terraform plan",
    ),
)
TYPED_ONCE = (
    *(
        "git commit -m 'fix the reader of file {}'",
        "vim notes-{}.md",
        "ssh host{}.example.com",
        "cd project{}/src",
    ),
    *(
        "grep -rn 'word{}' src/",
        "curl -sSL https://example.com/{}.sh | bash",
        "git checkout -b feature/{}",
        "kill -9 {}",
    ),
    *(
        "cp a{}.txt /tmp/",
        "docker logs -f web{}",
        "for f in *{}; do wc -l $f; done",
        "python run.py --seed {} --out o",
    ),
)
SECRET = (
    *(
        "export API_TOKEN=x{}y",
        "curl -u ada:p{}q https://example.com",
        "mysql -u root -ps{}t shop",
        "psql postgres://a:b{}@db/x",
    ),
)


def typed(count: int) -> list[str]:
    rng = random.Random(1)
    pools = rng.choices((ORDINARY, TYPED_ONCE, SECRET), (50, 48, 2), k=count)
    return [rng.choice(pool).format(rng.randrange(10**7)) for pool in pools]


def zsh(commands: list[str]) -> bytes:
    return "".join(f": {1_600_000_000 + 60 * i}:{i % 90};{c}\n" for i, c in enumerate(commands)).encode()


def bash(commands: list[str]) -> bytes:
    return "".join(f"#{1_600_000_000 + 60 * i}\n{c}\n" for i, c in enumerate(commands)).encode()


def fish(commands: list[str]) -> bytes:
    return "".join(f"- cmd: {c}\n  when: {1_600_000_000 + 60 * i}\n" for i, c in enumerate(commands)).encode()


def read(reader: Reader, source: Source) -> int:
    return sum(batch.observations.height for batch in reader.read(source, OPTIONS))


def best_of_three(run: Callable[[], object], clock: Callable[[], float] = perf_counter) -> float:
    """Seconds."""
    times = []
    for _ in range(3):
        start = clock()
        run()
        times.append(clock() - start)
    return min(times)


def fastest(benchmark: BenchmarkFixture) -> float:
    """Seconds of the fastest round."""
    assert benchmark.stats is not None
    return float(benchmark.stats["min"])


@pytest.mark.parametrize(("reader", "written"), [(ZSH, zsh), (BASH, bash), (FISH, fish)])
def test_text_histories(
    benchmark: BenchmarkFixture, reader: Reader, written: Callable[[list[str]], bytes]
) -> None:
    source = Source.of_bytes(written(typed(COMMANDS)), "history")
    assert benchmark.pedantic(read, args=(reader, source), rounds=3) == COMMANDS
    benchmark.extra_info["commands_per_second"] = round(COMMANDS / fastest(benchmark))


def test_zsh_against_the_least_that_any_reader_does() -> None:
    """At most six times as long as one regular expression that makes tuples of the same file (626,000 commands/s)."""
    content = zsh(typed(COMMANDS))
    line = re.compile(rb"^: (\d+):(\d+);(.*)$", re.MULTILINE)
    least = best_of_three(lambda: [(int(a), int(b), c.decode()) for a, b, c in line.findall(content)])
    assert best_of_three(lambda: read(ZSH, Source.of_bytes(content, "history"))) < 6 * least


def test_atuin(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute(
            "CREATE TABLE history (id text primary key, timestamp integer, duration integer, exit integer, command text, "
            "cwd text, session text, hostname text, deleted_at integer, author text, intent text)"
        )
        rows = (
            (
                f"id{i}",
                (1_600_000_000 + 60 * i) * 10**9,
                10**9,
                0,
                c,
                f"/home/{i % 50}",
                "s",
                "desk:ada",
                None,
                "ada",
                None,
            )
            for i, c in enumerate(typed(COMMANDS))
        )
        database.executemany("INSERT INTO history VALUES (?,?,?,?,?,?,?,?,?,?,?)", rows)
        database.commit()
    source = Source.of_path(path)
    assert benchmark.pedantic(read, args=(ATUIN, source), rounds=3) == COMMANDS
    benchmark.extra_info["commands_per_second"] = round(COMMANDS / fastest(benchmark))


def test_redaction_of_a_column(benchmark: BenchmarkFixture) -> None:
    column = pl.Series("command", typed(COMMANDS))
    benchmark.pedantic(redact_series, args=(column,), rounds=3)
    benchmark.extra_info["commands_per_second"] = round(COMMANDS / fastest(benchmark))


def test_redaction_of_one_ordinary_command_after_the_other(benchmark: BenchmarkFixture) -> None:
    commands = [c for c in typed(COMMANDS // 10) if "x" not in c]
    benchmark.pedantic(lambda: [redact(c) for c in commands], rounds=3)
    benchmark.extra_info["commands_per_second"] = round(len(commands) / fastest(benchmark))


def test_program_parsing_of_a_column(benchmark: BenchmarkFixture) -> None:
    column = pl.Series("command", typed(COMMANDS))
    benchmark.pedantic(parse_series, args=(column,), rounds=3)
    benchmark.extra_info["commands_per_second"] = round(COMMANDS / fastest(benchmark))


class Endless:
    """A history that is made while it is read, so that only the reader holds any of it."""

    def __init__(self, piece: bytes, times: int) -> None:
        self._left = self._pieces(piece, times)
        self._held = b""

    @staticmethod
    def _pieces(piece: bytes, times: int) -> Iterator[bytes]:
        for _ in range(times):
            yield piece

    def read(self, size: int = -1) -> bytes:
        while len(self._held) < size and (more := next(self._left, b"")):
            self._held += more
        given, self._held = self._held[:size], self._held[size:]
        return given

    def __enter__(self) -> Endless:
        return self

    def __exit__(self, *_: object) -> None: ...


@pytest.mark.parametrize(("reader", "written"), [(ZSH, zsh), (BASH, bash), (FISH, fish)])
def test_memory_does_not_grow_with_the_file(reader: Reader, written: Callable[[list[str]], bytes]) -> None:
    piece = written(typed(20_000))

    def peak(times: int) -> int:
        source = Source("history", lambda: Endless(piece, times))  # type: ignore[arg-type,return-value]
        tracemalloc.start()
        assert read(reader, source) == times * 20_000
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    assert peak(40) < 1.3 * peak(10)
