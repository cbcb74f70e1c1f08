"""The week chart: activity by weekday and hour, with avoided slots."""

from __future__ import annotations

import altair as alt
import polars as pl

from observations.civil_time import WEEKDAYS
from observations.features import with_features
from patterns.registry import rule_of
from patterns.rules.avoidance_rule import AvoidanceRule
from patterns.rules.phrases import things
from pipelines.charts.event_filters import evidence_in
from pipelines.charts.style import BUSY, MISSED, WIDTH, layered, nothing, rows

PANELS = 5
"""Number of panels: the most frequent kinds of activity have one each, the rest are left out."""

DAYS = [day[:3].capitalize() for day in WEEKDAYS]
_ROW = 15
_NAMED = 2
"""Titles named in the tooltip of an hour."""


def week(observations: pl.DataFrame, patterns: pl.DataFrame | None = None) -> alt.VConcatChart | alt.Chart:
    """Hours by weekday: one panel for each kind of activity, darker where more events begin; avoided slots
    are framed.

    Args:
        observations: an observation frame of one person (`observations.schema`). Events of several people are summed.
        patterns: the person's patterns (`patterns.pattern_frame.PATTERNS`). Confirmed avoidances of a whole kind of
            activity are marked.

    """
    cells = hours_of_the_week(observations)
    if cells.is_empty():
        return nothing("Nothing happened at a known time of day.")
    avoided = avoided_slots(patterns) if patterns is not None else avoided_slots(pl.DataFrame())
    parts = cells.partition_by("type", "action", maintain_order=True)
    charts = [_panel(part, _of_panel(avoided, part), last=part is parts[-1]) for part in parts]
    return alt.vconcat(*charts, spacing=14).properties(description=_described(cells))


def hours_of_the_week(observations: pl.DataFrame) -> pl.DataFrame:
    """Events by hour of the week: one row for each panel, weekday and hour that has events.

    Returns:
        type and action String, panel String (heading), day String (Mon … Sun), hour Int64, end Float64,
        a_week Float64 (mean number of events that begin then, per active week), share Float64 (of the panel's
        busiest hour), text String. Most frequent panels first.

    """
    columns = ("type", "action", "panel", "day", "hour", "end", "a_week", "share", "text")
    featured = with_features(evidence_in(observations), join_similar=False)
    featured = featured.filter(pl.col("minute").is_not_null()).with_columns(
        hour=(pl.col("minute") // 60).cast(pl.Int64), kind="kind:text"
    )
    if featured.is_empty():
        return pl.DataFrame(schema=dict.fromkeys(columns, pl.String()))
    weeks = featured.select("user_id", pl.col("day").dt.truncate("1w")).n_unique()
    key = ["rank", "type", "action", "panel", "weekday", "hour"]
    events = featured.join(_panels(featured), on=["type", "action"], how="inner", nulls_equal=True)
    kinds = (
        events.drop_nulls("kind").group_by(*key, "kind").len().sort("len", "kind", descending=[True, False])
    )
    most = kinds.group_by(key, maintain_order=True).agg(named=pl.col("kind").head(_NAMED).str.join(", "))
    counted = events.group_by(key).agg(count=pl.len()).join(most, on=key, how="left", nulls_equal=True)
    weekday = pl.col("weekday").cast(pl.Int64).replace_strict(dict(enumerate(DAYS)), return_dtype=pl.String)
    return (
        counted.sort(key)
        .with_columns(
            day=weekday,
            end=pl.col("hour") + 1.0,
            a_week=pl.col("count") / weeks,
            share=pl.col("count") / pl.col("count").max().over("rank"),
        )
        .with_columns(text=_sentence(pl.col("named").fill_null("")))
        .select(columns)
    )


def avoided_slots(patterns: pl.DataFrame) -> pl.DataFrame:
    """The slots of confirmed avoidances: one row for each pattern and weekday.

    Only avoidances of a whole panel, or of all activity, are included: a slot without git is not a slot without
    commands.

    Returns:
        type and action String (null for any), day String, begin and end Float64 (hours), text String.
    """
    texts = dict.fromkeys(("type", "action", "day"), pl.String)
    schema = {**texts, "begin": pl.Float64, "end": pl.Float64, "text": pl.String}
    slots: list[tuple[str | None, str | None, str, float, float, str]] = []
    if patterns.height:
        chosen = patterns.filter((pl.col("type") == "avoidance") & (pl.col("status") == "confirmed"))
        for statement, written in chosen.select("statement", "rule").iter_rows():
            rule = rule_of("avoidance", written)
            if isinstance(rule, AvoidanceRule) and set(rule.where) <= {"type", "action"}:
                type, action = (rule.where.get(name) for name in ("type", "action"))
                if (type is None or isinstance(type, str)) and (action is None or isinstance(action, str)):
                    begin, end = _hours(rule.begin), _hours(rule.end)
                    slots += [
                        (type, action, day[:3].capitalize(), begin, end, statement) for day in rule.days
                    ]
    return pl.DataFrame(slots, schema=schema, orient="row")


def _of_panel(avoided: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """The slots that apply to the whole panel."""
    type, action = cells.row(0, named=True)["type"], cells.row(0, named=True)["action"]
    fits = [
        pl.col(name).is_null() | (pl.col(name) == value)
        for name, value in (("type", type), ("action", action))
    ]
    return avoided.filter(fits)


def _panels(featured: pl.DataFrame) -> pl.DataFrame:
    """The most frequent kinds of activity (type, action), each with its name and rank."""
    counts = (
        featured.group_by("type", "action")
        .len()
        .sort("len", "type", "action", descending=[True, False, False])
    )
    named = [
        things({"type": type, "action": action} if action else {"type": type})
        for type, action in counts.select("type", "action").iter_rows()
    ]
    panels = [name[:1].upper() + name[1:] for name in named]
    counts = counts.with_columns(panel=pl.Series(panels, dtype=pl.String)).with_row_index("rank")
    return counts.head(PANELS).drop("len")


def _sentence(named: pl.Expr) -> pl.Expr:
    """The tooltip of a cell."""
    return pl.concat_str(
        pl.col("day"),
        pl.lit(" "),
        pl.col("hour").cast(pl.String).str.zfill(2),
        pl.lit(":00–"),
        ((pl.col("hour") + 1) % 24).cast(pl.String).str.zfill(2),
        pl.lit(":00: "),
        pl.col("a_week").round(1).cast(pl.String),
        pl.lit(" a week"),
        pl.when(named != "").then(pl.lit(", mostly ") + named).otherwise(pl.lit("")),
    )


def _hours(clock: str) -> float:
    return int(clock[:2]) + int(clock[3:]) / 60


def _panel(cells: pl.DataFrame, avoided: pl.DataFrame, *, last: bool) -> alt.LayerChart:
    day = alt.Y("day:N", sort=DAYS, scale=alt.Scale(domain=DAYS, paddingInner=0.12), title=None)
    axis = alt.Axis(
        values=[*range(0, 25, 3)],
        labelExpr="(datum.value < 10 ? '0' : '') + datum.value",
        grid=True,
        labels=last,
        ticks=False,
    )
    begin = alt.X(
        "hour:Q",
        scale=alt.Scale(domain=[0, 24], nice=False),
        axis=axis,
        title="hour of the day" if last else None,
    )
    hover = {"tooltip": alt.Tooltip("text:N", title="hour"), "description": alt.Description("text:N")}
    busy = (
        alt.Chart(rows(cells))
        .mark_rect(color=BUSY, xOffset=0.5, x2Offset=-0.5)
        .encode(
            x=begin,
            x2=alt.X2("end:Q"),
            y=day,
            opacity=alt.Opacity("share:Q", scale=alt.Scale(domain=[0, 1], range=[0.12, 1]), legend=None),
            **hover,
        )
    )
    never = (
        alt.Chart(rows(avoided))
        .mark_rect(
            filled=True, color=MISSED, fillOpacity=0.08, stroke=MISSED, strokeWidth=1.2, strokeDash=[3, 2]
        )
        .encode(x=alt.X("begin:Q"), x2=alt.X2("end:Q"), y=day, **hover)
    )
    title = str(cells.get_column("panel")[0])
    layers = [busy, never] if avoided.height else [busy]
    return layered(*layers, title=title, width=WIDTH, height=7 * _ROW)


def _described(cells: pl.DataFrame) -> str:
    top = (
        cells.sort("share", descending=True, maintain_order=True)
        .group_by("panel", maintain_order=True)
        .first()
    )
    sentences = [
        f"{panel}: most on {text}." for panel, text in top.sort("panel").select("panel", "text").iter_rows()
    ]
    return "The week by hour. " + " ".join(sentences)
