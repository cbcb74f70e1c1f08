"""Profiles: from the cache if possible, otherwise from an evaluation."""

from __future__ import annotations

from datetime import datetime

from observations.errors import StoreError
from pipelines.memory.profile import Profile
from pipelines.store.context import StoreContext
from pipelines.store.evaluation import evaluate_profile
from pipelines.store.profile_cache import read_profile


class Profiles:
    """Gives the profile of a user.

    Args:
        context: of the store.

    """

    def __init__(self, context: StoreContext) -> None:
        self._database, self._settings = context.database, context.settings

    def profile(self, user: str, now: datetime, *, cache: bool) -> Profile:
        """The profile of a user at `now`; empty for an unknown user. With `cache`, a new one is cached."""
        with self._database.reading() as connection:
            cached = read_profile(connection, user, now)
        if cached is not None:
            return cached
        try:
            return evaluate_profile(self._database, user, now, self._settings, cache=cache)
        except StoreError:  # the store is read-only
            return evaluate_profile(self._database, user, now, self._settings, cache=False)
