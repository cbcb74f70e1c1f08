"""What tests of several modules are given: places for a store, on each database that it runs on."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
_numbers = count(1)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a PostgreSQL server: that of ``HABITUS_TEST_POSTGRES``, else a private one that is started here."""
    if given := os.environ.get("HABITUS_TEST_POSTGRES"):
        yield given
        return
    if not PROGRAMS:
        reason = "no PostgreSQL: install Debian's package postgresql, or set HABITUS_TEST_POSTGRES to a URL"
        if os.environ.get("HABITUS_NEEDS_POSTGRES"):
            pytest.fail(reason)
        pytest.skip(reason)
    folder = Path(tempfile.mkdtemp(prefix="habitus-postgres-"))
    user = _somebody_else(folder)
    try:
        _run(
            user,
            PROGRAMS[-1] / "initdb",
            "-D",
            folder / "data",
            "-U",
            "habitus",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "-N",
        )
        settings = (
            f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off "
            "-c synchronous_commit=off -c full_page_writes=off -c max_connections=60"
        )
        _run(
            user,
            PROGRAMS[-1] / "pg_ctl",
            "-D",
            folder / "data",
            "-l",
            folder / "log",
            "-w",
            "-o",
            settings,
            "start",
        )
        yield f"postgresql+psycopg://habitus@/postgres?host={folder}"
    finally:
        if (folder / "data" / "postmaster.pid").exists():
            _run(user, PROGRAMS[-1] / "pg_ctl", "-D", folder / "data", "-m", "immediate", "-w", "stop")
        shutil.rmtree(folder, ignore_errors=True)


def _somebody_else(folder: Path) -> str | None:
    """Who runs the server: it refuses to run as root. The folder is given to them."""
    if os.geteuid() != 0:
        return None
    name = next(
        name for name in ("postgres", "nobody") if name in {entry.pw_name for entry in pwd.getpwall()}
    )
    shutil.chown(folder, name)
    return name


def _run(user: str | None, *words: object) -> None:
    subprocess.run(
        [str(word) for word in words],
        user=user,
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
    )


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store of its own can be: a file, and a schema on a server."""
    if request.param == "sqlite":
        return str(tmp_path / "habitus.db")
    import psycopg

    url: str = request.getfixturevalue("postgres")
    schema = f"test_{os.getpid()}_{next(_numbers)}"
    with psycopg.connect(url.replace("+psycopg", "", 1), autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
    return f"{url}{'&' if '?' in url else '?'}options=-csearch_path%3D{schema}"
