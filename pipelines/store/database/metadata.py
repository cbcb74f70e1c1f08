"""Facts about the store itself, by name."""

from __future__ import annotations

from typing import Any

import orjson
from sqlalchemy import Connection, delete, select

from pipelines.store.database.schema import store


def read_fact(connection: Connection, name: str) -> Any:
    """The JSON value stored under this name, or `None`."""
    text = connection.execute(select(store.c.json).where(store.c.name == name)).scalar()
    return None if text is None else orjson.loads(text)


def write_fact(connection: Connection, name: str, value: object) -> None:
    """Store a JSON value under this name, replacing the old one; `None` deletes it. Sets become sorted lists."""
    connection.execute(delete(store).where(store.c.name == name))
    if value is not None:
        text = orjson.dumps(value, default=sorted).decode()
        connection.execute(store.insert().values(name=name, json=text))
