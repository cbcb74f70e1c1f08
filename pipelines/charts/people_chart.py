"""The relationship chart: how often a person takes part in a context, compared with other contexts."""

from __future__ import annotations

import altair as alt
import polars as pl

from observations.features import with_features
from patterns.registry import rule_of
from patterns.rules.choice_rules import ValueRule
from pipelines.charts.event_filters import contains, evidence_in, has_feature, matching
from pipelines.charts.style import BUSY, INK, QUIET, layered, nothing, rows

_ROW = 34
_SHARES, _LIFTS = 250, 110


def relationships(observations: pl.DataFrame, patterns: pl.DataFrame) -> alt.HConcatChart | alt.Chart:
    """Relationships: the person's share of the context as a bar, of other contexts as a tick, and the lift.

    Args:
        observations: an observation frame of one person (`observations.schema`).
        patterns: the person's patterns (`patterns.pattern_frame.PATTERNS`); those of type relationship are shown.

    """
    shares = shares_of_people(observations, patterns)
    if shares.is_empty():
        return nothing("no relationships yet")
    order = shares.get_column("pattern_id").to_list()
    y = alt.Y("pattern_id:N", sort=order, axis=None)
    base = alt.Chart(rows(shares)).encode(
        y=y, description=alt.Description("text:N"), tooltip=[alt.Tooltip("text:N", title="relationship")]
    )
    percent = alt.Axis(format="%", values=[0, 0.25, 0.5, 0.75, 1])
    scale = alt.Scale(domain=[0, 1], nice=False)
    left = [
        base.mark_bar(height=9, yOffset=7, color=BUSY, cornerRadius=2).encode(
            x=alt.X("share:Q", scale=scale, axis=percent, title="of these (tick: elsewhere)")
        ),
        base.mark_tick(height=15, yOffset=7, thickness=2, color=QUIET).encode(
            x=alt.X("elsewhere:Q", scale=scale)
        ),
        base.mark_text(align="left", baseline="bottom", dy=2, color=INK, limit=_SHARES + _LIFTS).encode(
            x=alt.value(0), text="statement:N"
        ),
    ]
    top = max(2.0, float(shares.get_column("drawn").max() or 2.0))  # type: ignore[arg-type]
    lift = alt.X(
        "drawn:Q",
        scale=alt.Scale(type="log", base=2, domain=[1, top * 1.6], nice=False),
        axis=alt.Axis(labelExpr="'×' + format(datum.value, '~g')", tickCount=4),
        title="times as often",
    )
    right = [
        base.mark_point(filled=True, size=60, opacity=1, color=BUSY, yOffset=7).encode(x=lift),
        base.mark_text(align="left", dx=8, dy=7, color=INK).encode(x=lift, text="lift:N"),
    ]
    height = alt.Step(_ROW)
    described = f"{shares.height} relationships. " + " ".join(
        f"{text}." for text in shares.get_column("text").head(5)
    )
    return alt.hconcat(
        layered(*left, width=_SHARES, height=height),
        layered(*right, width=_LIFTS, height=height),
        spacing=18,
    ).properties(description=described)


def shares_of_people(observations: pl.DataFrame, patterns: pl.DataFrame) -> pl.DataFrame:
    """How often each person takes part in the context of a relationship, and in the same type of event elsewhere.

    Returns:
        One row for each relationship, largest share first: pattern_id String, statement String, share Float64,
        elsewhere Float64 (null if all events are in the context), times Float64 (share / elsewhere; null where that is 0
        or null), drawn Float64 (the same for the axis, at least 1; the maximum if elsewhere is 0), lift String,
        text String.
    """
    schema = {
        "pattern_id": pl.String, "statement": pl.String, "share": pl.Float64, "elsewhere": pl.Float64,
    }  # fmt: skip
    featured = with_features(evidence_in(observations))
    chosen = patterns.filter(pl.col("type") == "relationship").sort("id")
    found: list[tuple[str, str, float, float | None]] = []
    for id, user, statement, rule in chosen.select("id", "user_id", "statement", "rule").iter_rows():
        inside, outside = _shares(featured.filter(pl.col("user_id") == user), rule)
        if inside is not None:
            found.append((id, statement, inside, outside))
    shares = pl.DataFrame(found, schema=schema, orient="row")
    times = pl.when(pl.col("elsewhere") > 0).then(pl.col("share") / pl.col("elsewhere"))
    greatest = pl.col("times").max().fill_null(1.0)
    return (
        shares.with_columns(times=times)
        .with_columns(
            drawn=pl.coalesce("times", pl.when(pl.col("elsewhere") == 0).then(greatest)).clip(
                lower_bound=1.0
            ),
            lift=pl.when(pl.col("elsewhere").is_null())
            .then(pl.lit(""))
            .when(pl.col("elsewhere") == 0)
            .then(pl.lit("only here"))
            .otherwise(pl.format("×{}", pl.col("times").round(1))),
        )
        .with_columns(
            text=pl.format(
                "{}: {} % of these, {}",
                "statement",
                (pl.col("share") * 100).round(0).cast(pl.Int64),
                pl.when(pl.col("elsewhere").is_null())
                .then(pl.lit("and there is nothing to compare it with"))
                .otherwise(
                    pl.format(
                        "{} % elsewhere", (pl.col("elsewhere").fill_null(0) * 100).round(0).cast(pl.Int64)
                    )
                ),
            )
        )
        .sort("share", "pattern_id", descending=[True, False])
    )


def _shares(own: pl.DataFrame, text: str) -> tuple[float | None, float | None]:
    rule = rule_of("relationship", text)
    if not isinstance(rule, ValueRule):
        return None, None
    kind = {field: rule.where[field] for field in ("type", "action") if field in rule.where}
    there = own.filter(has_feature(own, rule.feature), matching(own, kind)).select(
        within=matching(own, rule.where), person=contains(own, rule.feature, [rule.value])
    )
    inside, outside = there.filter("within"), there.filter(~pl.col("within"))
    return _mean(inside), _mean(outside)


def _mean(there: pl.DataFrame) -> float | None:
    mean = there.get_column("person").mean()
    return float(mean) if isinstance(mean, (int, float)) else None
