"""The store: observations, what is believed, and how that came to be, in one database."""

from pipelines.store.changes import Change
from pipelines.store.store import Store

__all__ = ["Change", "Store"]
