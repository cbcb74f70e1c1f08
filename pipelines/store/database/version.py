"""The version of the store's tables."""

from __future__ import annotations

NEWEST = "0002"
"""The version of `pipelines.store.database.schema`: the last script in ``migrations/versions``."""
