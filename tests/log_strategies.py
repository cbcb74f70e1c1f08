"""Records of logs, and damage done to the files they are in, for property tests."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from hypothesis import strategies as st

# Words that look like other kinds of JSON values are the hard ones: polars must not have made them.
_WORDS = st.one_of(
    st.sampled_from(
        ["1", "-2.5e3", "true", "null", "[x", "{}", "", "é", 'a"b', "\\", ": null", '"k":', "x\ny"]
    ),
    st.text(max_size=8),
)
_SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.integers(0, 9), st.floats(), _WORDS
)
VALUES = st.one_of(
    _SCALARS,
    st.lists(_WORDS, max_size=3),
    st.lists(_SCALARS, max_size=3),
    st.dictionaries(_WORDS, _SCALARS, max_size=2),
)
FEATURES = st.dictionaries(
    st.sampled_from(["a", "b", "c", "id", "a.b", 'q"', "time_of_day", "features"]), VALUES, max_size=4
)

TIMESTAMPS = st.one_of(
    st.sampled_from(
        [
            "2026-03-02T09:30:00+01:00",
            "2026-03-02T08:30:00Z",
            "2026-03-02T08:30:00.123456Z",
            "2026-03-29 02:30",
            "2026-03-02",
            1772443800,
            1772443800123.0,
            "1772443800",
            None,
            "x",
            0,
            True,
        ]
    )
)
RECORDS = st.fixed_dictionaries(
    {"timestamp": TIMESTAMPS},
    optional={
        "id": st.one_of(_WORDS, st.integers(0, 9), st.floats()),
        "user_id": st.sampled_from(["ada", "bo", 7, None]),
        "type": st.sampled_from(["work", "", None]),
        "action": st.sampled_from(["did", None]),
        "tz": st.sampled_from(["Europe/Berlin", "Europe/Nowhere", "", None]),
        "actor": st.sampled_from(["user", "agent", "AGENT", "ada"]),
        "features": st.one_of(FEATURES, st.just("none"), st.none()),
        "a": VALUES,
        "extra": VALUES,
    },
)


def ndjson(records: Sequence[Mapping[str, object]], *, spaced: bool = False) -> bytes:
    """The records as lines; NaN and infinity as Python writes them."""
    separators = (", ", ": ") if spaced else (",", ":")
    return b"".join(
        json.dumps(r, separators=separators, ensure_ascii=spaced).encode("utf-8", "surrogatepass") + b"\n"
        for r in records
    )


@st.composite
def damaged(draw: st.DrawFn, content: bytes) -> bytes:
    """The bytes with some flipped, cut out, doubled, or the end missing."""
    for _ in range(draw(st.integers(1, 4))):
        if not content:
            break
        start = draw(st.integers(0, len(content) - 1))
        end = draw(st.integers(start, min(len(content), start + 40)))
        kind = draw(st.sampled_from(["flip", "cut", "double", "end"]))
        if kind == "flip":
            content = content[:start] + bytes([draw(st.integers(0, 255))]) + content[start + 1 :]
        elif kind == "cut":
            content = content[:start] + content[end:]
        elif kind == "double":
            content = content[:end] + content[start:]
        else:
            content = content[:end]
    return content
