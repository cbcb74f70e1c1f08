"""Every number that a person may want to change, in one frozen object (contract, section 5; design, section 4)."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Settings(BaseModel):
    """How patterns are judged. The defaults are the contract's.

    >>> Settings(confirmation_count=6).confirmation_count
    6
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    confirmation_count: int = Field(default=5, ge=1, description="occasions a pattern needs to be confirmed")
    confirmation_threshold: float = Field(default=0.7, gt=0, le=1, description="confidence it needs for that")
    expiry_threshold: float = Field(default=0.3, ge=0, lt=1, description="confidence below which it expires")
    decay_rate: float = Field(
        default=0.95, gt=0, le=1, description="what a day past due leaves of confidence"
    )
    contradiction_limit: int = Field(default=3, ge=1, description="unforgiven contradictions that demote it")
    span_days_target: float = Field(
        default=14.0, gt=0, description="days over which it should have been seen"
    )
    weight_count: float = Field(
        default=0.4, ge=0, le=1, description="weight of the component count in confidence"
    )
    weight_recency: float = Field(
        default=0.2, ge=0, le=1, description="weight of the component recency in confidence"
    )
    weight_consistency: float = Field(
        default=0.3, ge=0, le=1, description="weight of the component consistency in confidence"
    )
    weight_span: float = Field(
        default=0.1, ge=0, le=1, description="weight of the component span in confidence"
    )

    false_confirmation_rate: float = Field(
        default=0.05,
        gt=0,
        lt=1,
        description="promised share of people about whom anything false is confirmed",
    )
    usual_rate: float = Field(
        default=0.6, ge=0, lt=1, description="a habit is kept more often than this, with 90 % certainty"
    )
    distinct_margin: float = Field(
        default=0.1, ge=0, lt=1, description="how much more often than by chance, at least"
    )

    decay_by_calendar: bool = Field(
        default=False, description="decay from the last time seen on, not from when it was due"
    )
    forgive_contradictions: bool = Field(
        default=True, description="a support takes one contradiction back; false counts over a lifetime"
    )
    day_starts_at: int = Field(
        default=0, ge=0, lt=24, description="hour at which a day begins, for night owls"
    )

    def of_type(self, share: float) -> Settings:
        """The settings by which one pattern type is judged: its share of the promised rate of false confirmations.

        >>> round(Settings().of_type(0.2).false_confirmation_rate, 4)
        0.01
        """
        return self.model_copy(update={"false_confirmation_rate": self.false_confirmation_rate * share})

    @property
    def least_support(self) -> int:
        """Occasions that are worth a look: two short of what a confirmation needs."""
        return max(self.confirmation_count - 2, 2)

    @model_validator(mode="after")
    def _weights_are_shares(self) -> Settings:
        total = self.weight_count + self.weight_recency + self.weight_consistency + self.weight_span
        if abs(total - 1) > 1e-9:
            raise ValueError(f"the four weights must add up to 1, not {total:g}")
        return self
