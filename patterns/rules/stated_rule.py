"""What a person said in a sentence, without a rule that could be counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, ClassVar, Self

from pydantic import Field

from patterns.rules.event import Event
from patterns.rules.rule import Reword, Rule, SubjectRule
from patterns.rules.rule_log import Asked, Opportunities, RuleLog


class StatedRule(SubjectRule):
    """A sentence; nothing that is observed keeps it or breaks it."""

    keys: ClassVar[frozenset[str]] = frozenset({"said"})

    said: Annotated[str, Field(min_length=1)]

    def outcomes(self, event: Event, before: Sequence[Event] = ()) -> tuple[bool, ...]:  # noqa: ARG002
        """None."""
        return ()

    @classmethod
    def opportunities(cls, log: RuleLog, asked: Asked[Self]) -> Opportunities:  # noqa: ARG003
        """None."""
        return Opportunities.joined([])

    def sentence(self) -> str:
        """The sentence itself."""
        return self.said

    def reworded(self, word: Reword, name: Callable[[str], str] = str) -> Rule:
        """The sentence replaced as a title is."""
        new = super().reworded(word, name)
        return new.model_copy(update={"said": word(self.where, "title", self.said)})
