"""The store: observations, patterns and everything derived from them, in one database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from pipelines.store.status_change import Change
    from pipelines.store.store import Store
    from pipelines.store.users import ALL_USERS

__all__ = ["ALL_USERS", "Change", "Store"]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "ALL_USERS": "pipelines.store.users",
        "Change": "pipelines.store.status_change",
        "Store": "pipelines.store.store",
    },
)
