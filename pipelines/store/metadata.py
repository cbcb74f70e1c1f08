"""Facts about the store itself, by name."""

from __future__ import annotations

from typing import Any

import orjson
from sqlalchemy import Connection, delete, select

from pipelines.store.schema import store


def fact(connection: Connection, name: str) -> Any:
    """The fact of that name, as JSON has it; null if there is none."""
    said = connection.execute(select(store.c.said).where(store.c.name == name)).scalar()
    return None if said is None else orjson.loads(said)


def keep_fact(connection: Connection, name: str, said: object) -> None:
    """Keep a fact in place of what it was; null for none. Sets are kept as sorted lists."""
    connection.execute(delete(store).where(store.c.name == name))
    if said is not None:
        text = orjson.dumps(said, default=sorted).decode()
        connection.execute(store.insert().values(name=name, said=text))
