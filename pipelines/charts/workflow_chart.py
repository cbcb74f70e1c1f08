"""The workflow chart: the steps, and the lag of the last step compared with chance.

Chance is estimated from the same clock times on other active days, up to four weeks away, on which the first steps did
not happen. If there are too few of these, it is the rate of the last step, spread evenly over waking hours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt
import numpy as np
import numpy.typing as npt
import polars as pl

from observations.civil_time import MICROSECONDS_PER_DAY
from observations.features import with_features
from patterns.registry import rule_of
from patterns.rules.phrases import doing, duration, subject
from patterns.rules.workflow_rule import WorkflowRule
from pipelines.charts.event_filters import evidence_in, matching
from pipelines.charts.style import INK, KEPT, MISSED, QUIET, WIDTH, layered, nothing, rows

BINS = 20
"""Number of bars in the lag distribution."""

REACH = 2.0
"""Length of the lag axis, as a multiple of the rule's `within_minutes`."""

_DAYS_AWAY = 28
_ENOUGH = 30
"""Minimum number of clock times on other days to estimate chance from."""
_WAKING_MINUTES = 16 * 60
_STEP_HEIGHT = 26

Micros = npt.NDArray[np.int64]
Minutes = npt.NDArray[np.float64]
Where = Mapping[str, object]


def workflow(
    observations: pl.DataFrame, patterns: pl.DataFrame, pattern_id: str
) -> alt.VConcatChart | alt.Chart:
    """The steps of one workflow, and below them the lag of the last step compared with chance.

    Args:
        observations: an observation frame with the person's events (`observations.schema`).
        patterns: a frame with the workflow (`patterns.pattern_frame.PATTERNS`).
        pattern_id: the id of the workflow.

    """
    found = patterns.filter((pl.col("id") == pattern_id) & (pl.col("type") == "workflow"))
    if found.is_empty():
        return nothing("no such workflow")
    pattern = found.row(0, named=True)
    rule = rule_of("workflow", pattern["rule"])
    if not isinstance(rule, WorkflowRule):
        return nothing("the workflow has no steps")
    lags = lags_of(observations.filter(pl.col("user_id") == pattern["user_id"]), rule)
    if lags.is_empty():
        return nothing("the first step does not occur in these observations")
    described = (
        f"{pattern['statement']}: {pattern['support']} of {pattern['opportunities']} times. "
        f"Followed on this axis {lags['followed'].sum():.0%}, by chance {lags['chance'].sum():.0%}."
    )
    return alt.vconcat(_steps(rule), _lags(lags, rule.within_minutes), spacing=12).properties(
        description=described
    )


def lags_of(observations: pl.DataFrame, rule: WorkflowRule) -> pl.DataFrame:
    """The lag of the last step after the first steps: the share of first steps in each band of minutes.

    Args:
        observations: of one person.
        rule: the workflow's rule.

    Returns:
        low and high Float64 (minutes), followed Float64 (share of the first steps that were followed in this band), chance
        Float64 (the same by chance), within Boolean, text String; empty if the first step
        does not occur.
    """
    schema = {"low": pl.Float64, "high": pl.Float64, "followed": pl.Float64, "chance": pl.Float64}
    own = with_features(evidence_in(observations)).sort("local")
    steps, minutes = rule.steps, float(rule.within_minutes)
    times = [own.filter(matching(own, step)).get_column("local").dt.epoch("us").to_numpy() for step in steps]
    firsts = _in_order(times[:-1], minutes)
    edges = np.linspace(0.0, REACH * minutes, BINS + 1)
    if not len(firsts):
        return pl.DataFrame(schema=schema | {"within": pl.Boolean, "text": pl.String})
    bands = pl.DataFrame(
        {
            "low": edges[:-1],
            "high": edges[1:],
            "followed": _shares(_lag(firsts, times[-1]), edges),
            "chance": _by_chance(firsts, times[-1], own, edges),
        },
        schema=schema,
    )
    text = pl.format(
        "{} to {} minutes: {} % followed, by chance {} %",
        pl.col("low").round(1),
        pl.col("high").round(1),
        (pl.col("followed") * 100).round(1),
        (pl.col("chance") * 100).round(1),
    )
    return bands.with_columns(within=pl.col("high") <= minutes + 1e-9, text=text)


def _in_order(times: Sequence[Micros], minutes: float) -> Micros:
    """Times of the last of these steps, where each step follows the one before within the minutes."""
    done = times[0]
    for following in times[1:]:
        place = np.searchsorted(done, following, side="left") - 1
        gap = following - done[np.maximum(place, 0)] if len(done) else following
        done = following[(place >= 0) & (gap <= minutes * 60e6)]
    return done


def _lag(firsts: Micros, lasts: Micros) -> Minutes:
    """(firsts,) minutes until the next of `lasts`; infinite if there is none."""
    place = np.searchsorted(lasts, firsts, side="right")
    known = place < len(lasts)
    lag = np.full(len(firsts), np.inf)
    lag[known] = (lasts[place[known]] - firsts[known]) / 60e6
    return lag


def _by_chance(firsts: Micros, lasts: Micros, own: pl.DataFrame, edges: Minutes) -> Minutes:
    """(bands,) the rate of the last step in each band of minutes without a first step."""
    active = own.get_column("day").unique().to_physical().to_numpy().astype(np.int64)
    without = np.setdiff1d(active, firsts // MICROSECONDS_PER_DAY)
    moved = np.concatenate(
        [firsts + days * MICROSECONDS_PER_DAY for days in range(-_DAYS_AWAY, _DAYS_AWAY + 1)]
    )
    elsewhere = moved[np.isin(moved // MICROSECONDS_PER_DAY, without)]
    if len(elsewhere) >= _ENOUGH:
        return _shares(_lag(elsewhere, lasts), edges)
    left: Minutes = np.exp(-edges * len(lasts) / (len(active) * _WAKING_MINUTES))
    return -np.diff(left)


def _shares(lags: Minutes, edges: Minutes) -> Minutes:
    return np.histogram(lags, edges)[0] / max(len(lags), 1)


def _steps(rule: WorkflowRule) -> alt.LayerChart:
    """The steps as boxes from left to right."""
    *before, last = rule.steps
    names = [doing(step) for step in before] + [subject(last, once=True)]
    width = 1 / len(names)
    boxes = pl.DataFrame(
        [
            (n, i * width + 0.02 * (i > 0), (i + 1) * width - 0.05 * (i + 1 < len(names)), (i + 0.5) * width)
            for i, n in enumerate(names)
        ],
        schema=["step", "begin", "end", "middle"],
        orient="row",
    )
    scale = alt.Scale(domain=[0, 1], nice=False)
    middle = alt.value(_STEP_HEIGHT / 2)
    base = alt.Chart(rows(boxes)).encode(y=middle, description=alt.Description("step:N"))
    box = base.mark_rect(
        color=KEPT, fillOpacity=0.14, stroke=KEPT, strokeWidth=1, cornerRadius=4, height=_STEP_HEIGHT
    ).encode(x=alt.X("begin:Q", scale=scale, axis=None), x2="end:Q")
    name = base.mark_text(color=INK, limit=WIDTH / len(names) - 34, fontSize=12).encode(
        x="middle:Q", text="step:N"
    )
    arrow = (
        alt.Chart(rows(boxes.head(len(names) - 1)))
        .mark_text(color=INK, text="→", fontSize=15, align="center", dx=14)
        .encode(x="end:Q", y=middle, description=alt.value("then"))
    )
    return layered(box, name, arrow, width=WIDTH, height=_STEP_HEIGHT)


def _lags(lags: pl.DataFrame, within_minutes: int) -> alt.LayerChart:
    x = alt.X(
        "low:Q",
        title="minutes after the step before",
        scale=alt.Scale(nice=False),
        axis=alt.Axis(grid=False, tickCount=6),
    )
    share = alt.Axis(format="%", tickCount=4)
    scale = alt.Scale(domain=["followed", "by chance"], range=[KEPT, MISSED])
    named = lags.with_columns(seen=pl.lit("followed"), chance_of=pl.lit("by chance"))
    base = alt.Chart(rows(named)).encode(
        description=alt.Description("text:N"), tooltip=[alt.Tooltip("text:N", title="lag")]
    )
    bars = base.mark_rect(xOffset=0.5, x2Offset=-0.5).encode(
        x=x,
        x2="high:Q",
        y=alt.Y("followed:Q", title="of the first steps", axis=share),
        y2=alt.Y2(datum=0),
        color=alt.Color("seen:N", scale=scale, title=None),
        opacity=alt.condition("datum.within", alt.value(1), alt.value(0.4)),
    )
    chance = base.mark_rule(strokeWidth=2).encode(
        x=x, x2="high:Q", y=alt.Y("chance:Q"), color=alt.Color("chance_of:N", scale=scale, title=None)
    )
    limit = (
        alt.Chart(
            alt.InlineData(
                values=[{"low": within_minutes, "text": f"the rule: within {duration(within_minutes)}"}]
            )
        )
        .mark_rule(color=QUIET, strokeDash=[4, 3])
        .encode(
            x="low:Q", description=alt.Description("text:N"), tooltip=[alt.Tooltip("text:N", title="rule")]
        )
    )
    return layered(bars, chance, limit, width=WIDTH, height=150)
