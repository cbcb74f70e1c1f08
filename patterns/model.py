"""One pattern at the edge: what a person or a program gets (contract, section 2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

import orjson
import polars as pl
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from patterns.vocabulary import STATUSES as STATUSES
from patterns.vocabulary import PatternStatus as PatternStatus


class ConfidenceComponents(BaseModel):
    """The four numbers that confidence is made of, each 0–1 before weighting."""

    model_config = ConfigDict(frozen=True)

    count: float = Field(ge=0, le=1)
    recency: float = Field(ge=0, le=1)
    consistency: float = Field(ge=0, le=1)
    span: float = Field(ge=0, le=1)


class Pattern(BaseModel):
    """Something that a person habitually does, or may come to, or did."""

    model_config = ConfigDict(frozen=True)

    id: str
    user_id: str
    type: str
    statement: str
    rule: Mapping[str, object]
    status: PatternStatus
    confidence: float = Field(ge=0, le=1)
    components: ConfidenceComponents
    support: int = Field(ge=0)
    opportunities: int = Field(ge=0)
    contradictions: int = Field(ge=0)
    p_value: float = Field(ge=0, le=1)
    rate_interval: tuple[float, float]
    lacks: tuple[str, ...] = ()
    first_seen: AwareDatetime
    last_seen: AwareDatetime
    confirmed_at: AwareDatetime | None = None
    expired_at: AwareDatetime | None = None
    evidence: tuple[str, ...] = Field(max_length=20)
    superseded_by: str | None = None
    source: Literal["observed", "declared", "explicit"] = "observed"
    # Only if the person gave feedback (`pipelines.memory.feedback`).
    words: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()

    @property
    def consistency(self) -> float:
        """Support over opportunities."""
        return self.support / max(self.opportunities, 1)

    def __str__(self) -> str:
        return self.statement


def read_patterns(frame: pl.DataFrame) -> Iterator[Pattern]:
    """The rows of a pattern frame (`patterns.pattern_frame.PATTERNS`) as patterns."""
    for row in frame.iter_rows(named=True):
        yield Pattern.model_validate(row | {"rule": orjson.loads(row["rule"])})


def write_patterns(frame: pl.DataFrame) -> Iterator[bytes]:
    """The rows of a pattern frame as JSON objects, one each, keys in the contract's order."""
    for row in frame.iter_rows(named=True):
        yield orjson.dumps(row | {"rule": orjson.Fragment(row["rule"])})
