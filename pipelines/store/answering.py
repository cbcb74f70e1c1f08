"""What a store is asked: patterns and everything behind them, the profile, predictions; and the person's own word."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

import polars as pl

from observations.errors import StoreError
from patterns.candidates import PatternType
from patterns.model import Pattern
from patterns.settings import Settings
from pipelines.detection import Detection
from pipelines.memory.profile import Profile
from pipelines.store.connection import Database
from pipelines.store.evaluation import make_profile
from pipelines.store.observation_queries import read_people
from pipelines.store.profile_cache import read_profile
from pipelines.store.schema import people

if TYPE_CHECKING:
    from pipelines.memory.predict import Prediction
    from pipelines.store.pattern_queries import Shown
    from pipelines.store.store import Store


class Answers:
    """The part of `Store` that answers."""

    database: Database
    settings: Settings
    clock: Callable[[], datetime]

    def patterns(
        self, user: str | None = None, *, as_of: datetime | None = None, status: str | None = None
    ) -> Detection:
        """What a person (or everybody) habitually does: what `pipelines.detect` says of the same observations, and where
        the person has spoken, what they said (`pipelines.memory.feedback`).

        Args:
            user: whose patterns; everybody's if null.
            as_of: the evaluation time, aware; now if null. Nothing later is looked at.
            status: only patterns with this status.
        """
        from pipelines.store.pattern_queries import detected

        moment = self._moment(as_of)
        with self.database.reading() as connection:
            whose = None if user is None else read_people(connection, people.c.name == user)
        found = detected(self._store, whose, moment)
        if status is None:
            return found
        return replace(found, frame=found.frame.filter(pl.col("status") == status))

    def show(self, id: str, user: str | None = None, *, as_of: datetime | None = None) -> Shown:
        """One pattern and everything behind it.

        Args:
            id: the pattern's id, or the beginning of it.
            user: whose pattern; anybody's if null.
            as_of: the evaluation time, aware; now if null.

        Raises:
            SettingError: there is no such pattern, or there are several.
        """
        from pipelines.store.pattern_queries import show

        return show(self._store, id, user, self._moment(as_of))

    def history(self, id: str, user: str | None = None, *, as_of: datetime | None = None) -> pl.DataFrame:
        """How one pattern came to be what it is: its changes of status and what the person said of it, in order of time.

        Args:
            id, user, as_of: as for `show`.

        Returns:
            `patterns.explain.JOURNAL`; for a word of the person `after` is that word.

        Raises:
            SettingError: there is no such pattern, or there are several.
        """
        from pipelines.store.pattern_queries import history

        return history(self._store, id, user, self._moment(as_of))

    def profile(self, user: str | None = None, *, as_of: datetime | None = None) -> Profile:
        """What an assistant is told about a person: ``.markdown()`` or ``.json()``, within a budget of tokens.

        It is kept ready and read with one look-up; it is made anew only where something changed since.

        Args:
            user: whose; the only person in the store, else ``me``, if null.
            as_of: the evaluation time, aware; now if null.

        Raises:
            SettingError: there is nobody of that name, or it takes a name to tell who is meant.
        """
        now = self._moment(as_of)
        if user is not None:
            with self.database.reading() as connection:
                ready = read_profile(connection, user, now)
            if ready is not None:
                return ready
        from pipelines.store.pattern_queries import the_person

        name = the_person(self._store, user)
        if user is None:
            return self.profile(name, as_of=as_of)
        try:
            return make_profile(self.database, name, now, self.settings, keep=as_of is None)
        except StoreError:  # who may only read is answered as well
            return make_profile(self.database, name, now, self.settings, keep=False)

    def predict(
        self, user: str | None = None, *, days: int = 7, as_of: datetime | None = None
    ) -> list[Prediction]:
        """What will probably happen to a person (or to everybody) in the coming days, in order of time.

        Args:
            user: whose; everybody's if null.
            days: how many.
            as_of: the evaluation time, aware; now if null.

        Raises:
            SettingError: `days` is not between 1 and 366.
        """
        from pipelines.memory.predict import predictions

        moment = self._moment(as_of)
        found = self.patterns(user, as_of=moment)
        return predictions(found.frame, found.observed, moment, days, self.settings)

    def backtest(
        self, user: str | None = None, *, days: int = 28, as_of: datetime | None = None
    ) -> pl.DataFrame:
        """How often the predictions of past days came true, by probability (`pipelines.memory.backtest.BACKTEST`).

        Args:
            user: whose; everybody's if null.
            days: how many days back.
            as_of: the end of the last of them, aware; now if null.

        Raises:
            SettingError: `days` is not between 1 and 366.
        """
        from pipelines.memory.backtest import backtest

        moment = self._moment(as_of)
        return backtest(self._store.observations(user, as_of=moment), moment, days, self.settings)

    def remember(
        self,
        text: str,
        type: PatternType = "preference",
        *,
        user: str | None = None,
        rule: Mapping[str, object] | None = None,
        until: datetime | None = None,
        undo: bool = False,
    ) -> Pattern:
        """Keep what the person says of themselves: confirmed, with confidence 1, whatever they do.

        Args:
            text: the sentence.
            type: the type of pattern that it is.
            user: who says it; the only person in the store, else ``me``, if null.
            rule: the same for machines (contract, section 3): behaviour can then be held against it.
            until: aware; from then on it is expired.
            undo: take it back instead.

        Raises:
            SettingError: the text is empty, the rule is none of that type, or there is nothing to take back.
        """
        from pipelines.store.record_feedback import remember, take_back

        if undo:
            return take_back(self._store, text, type, user)
        return remember(self._store, text, type, user, rule, until)

    def confirm(self, id: str, user: str | None = None, *, undo: bool = False) -> Pattern:
        """Keep that the person says a pattern is right: it is confirmed whatever the count. The pattern, as it is then.

        Args:
            id, user: as for `show`.
            undo: take the word back.

        Raises:
            SettingError: there is no such pattern, or there are several; or there is no such word to take back.
        """
        from pipelines.store.record_feedback import say

        return say(self._store, "confirmed", id, user, undo=undo)

    def dismiss(self, id: str, user: str | None = None, *, undo: bool = False) -> Pattern:
        """Keep that the person does not want a pattern: it is not shown until what comes after confirms it alone.

        Args, raises: as for `confirm`.
        """
        from pipelines.store.record_feedback import say

        return say(self._store, "dismissed", id, user, undo=undo)

    def pin(self, id: str, user: str | None = None, *, undo: bool = False) -> Pattern:
        """Keep that the person wants a pattern first in the profile.

        Args, raises: as for `confirm`.
        """
        from pipelines.store.record_feedback import say

        return say(self._store, "pinned", id, user, undo=undo)

    def _moment(self, as_of: datetime | None) -> datetime:
        return (as_of or self.clock()).astimezone(UTC)

    @property
    def _store(self) -> Store:
        return cast("Store", self)
