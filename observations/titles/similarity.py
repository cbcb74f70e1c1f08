"""Kinds that are one thing in slightly other words: "weekly sync", "weekly synch" and "weekly sync with the team".

Nearness of letters alone cannot tell them from different things: by TF-IDF of letter triples (scikit-learn,
``char_wb``, among fourteen titles), "lunch with maria" and "lunch with marie" are as near (cosine 0.78) as "weekly
sync" and "weekly sync with team" (0.78), so a threshold takes both or neither. Therefore letters only *propose* pairs,
generously, and words decide: two kinds are one where they differ in nothing but

- the words that say nothing of the matter ("with", "the", "team", "meeting"), if two other words remain;
- the order of words, the spaces between them ("stand up"), or accents;
- one slip in one word of five letters or more: a letter left out or doubled, an "s" at the end, two letters swapped.

One letter *replaced by another* is no slip here, nor is a vowel at the end: that is how "sprint" and "spring", "Maria"
and "Marie", "Daniel" and "Daniela" differ. A join that is missed costs a little evidence; a wrong one makes up a habit.

The letters are counted, not weighted by rarity (no idf): weights would change with each new kind, so that a join made
today might be undone tomorrow by something that has nothing to do with it; and sums of whole numbers are exact, in
whatever order and company.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise, starmap
from typing import Any
from unicodedata import combining, normalize

import numpy as np
import numpy.typing as npt
import polars as pl

Integers = npt.NDArray[np.int64]

ANCHOR_COUNT = 3
"""How often a kind must have occurred for others to be joined to it: below that there is no habit to complete."""

ANCHORS, VOCABULARY = 200, 2_000
"""Of one user and type, the most frequent kinds that others may be joined to, and that are looked at at all. Equal
counts go by the alphabet. So the work grows with the number of users, and with nobody's mailbox."""

LEAST_COSINE = 0.5
"""Of the letter pairs; at least this near for words to be compared. A slip in eight letters leaves 0.6 or more."""

_ROWS_AT_ONCE = 20_000
_SHORTEST_SLIP = 5

_SAYS_NOTHING = frozenset(
    word
    for words in (
        "a an the our my your with and for of on at in to team meeting mtg",
        "der die das den dem ein eine mit und für im am zum zur termin besprechung",
        "le la les un une de du des avec et pour équipe réunion",
        "el los las una con y para equipo reunión il lo per riunione o os as com e equipe reunião het een met en voor",
    )
    for word in words.split()
)


def join_near_identical(kinds: pl.DataFrame) -> pl.DataFrame:
    """Which kinds to join to which.

    Each is joined to the most frequent kind that it is near to, and to none that is itself joined: so all that come
    together are near to one and the same, and no chain leads from one thing to another.

    Args:
        kinds: ``user_id``, ``type``, ``kind`` (String) and ``count`` (integer), each kind once for a user and type.

    Returns:
        ``user_id``, ``type``, ``kind`` and ``joined`` (String): one row for each kind that goes up in another. It
        depends on the kinds of that user and type alone, and not on the order of rows.

    """
    ranked = _may_be_near(_ranked(kinds))
    texts = ranked.get_column("kind").unique().sort()
    wordings = [_wording(text) for text in texts]
    place = ranked.select(pl.col("kind").replace_strict(texts, range(len(texts)), return_dtype=pl.Int64))
    text_of = place.to_series().to_numpy()
    target: dict[int, int] = {}
    for row, anchor in _near_pairs(ranked, wordings, text_of):
        free = row not in target and anchor not in target
        if free and _same_wording(wordings[text_of[row]], wordings[text_of[anchor]]):
            target[row] = anchor
    keys = ranked.select("user_id", "type", "kind")
    joined = ranked.get_column("kind").gather(list(target.values()))
    return keys[list(target)].with_columns(joined.alias("joined"))


def _ranked(kinds: pl.DataFrame) -> pl.DataFrame:
    """The kinds that are looked at, the most frequent of each user and type first, with ``group`` and ``rank``."""
    group = ("user_id", "type")
    return (
        kinds.sort(*group, "count", "kind", descending=[False, False, True, False])
        .with_columns(pl.int_range(pl.len()).over(group).alias("rank"))
        .filter(
            pl.col("rank") < VOCABULARY,
            ((pl.len() > 1) & (pl.col("count").max() >= ANCHOR_COUNT)).over(group),
        )
        .with_columns(pl.struct(group).rank("dense").cast(pl.Int64).alias("group"))
    )


def _may_be_near(ranked: pl.DataFrame) -> pl.DataFrame:
    """The rows that share some trait with another of their group; without one, two wordings are never the same.

    In most logs none do, and then there is nothing to be near to.
    """
    texts = ranked.get_column("kind").unique().sort()
    traits = pl.DataFrame(
        {"kind": texts, "trait": [sorted(set(_traits(_wording(text)))) for text in texts]},
        schema={"kind": pl.String, "trait": pl.List(pl.String)},
    )
    shared = (
        ranked.select("group", "kind")
        .join(traits.explode("trait"), on="kind")
        .filter(pl.len().over("group", "trait") > 1)
    )
    return ranked.join(shared, on=["group", "kind"], how="semi", maintain_order="left")


def _traits(wording: tuple[str, ...]) -> list[str]:
    """What two wordings that are the same (`_same_wording`) have in common: at least one of these."""
    slips = [
        f"{place} {' '.join((*wording[:place], slip, *wording[place + 1 :]))}"
        for place, word in enumerate(wording)
        if len(word) >= _SHORTEST_SLIP - 1
        for slip in (word, *_with_a_letter_left_out(word))
    ]
    return ["".join(wording), " ".join(sorted(wording)), *slips]


def _with_a_letter_left_out(word: str) -> Iterator[str]:
    """Of two words with one slip between them, one is what is left of the other, or both leave the same."""
    return (word[:i] + word[i + 1 :] for i in range(1, len(word)))


def _near_pairs(
    ranked: pl.DataFrame, wordings: list[tuple[str, ...]], text_of: Integers
) -> Iterator[tuple[int, int]]:
    """Rows and anchors of their group before them that share enough letter pairs, in order of both."""
    if ranked.is_empty():
        return
    # Imported here: it takes a second, and most logs have nothing to join.
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = CountVectorizer(analyzer=_letter_pairs, dtype=np.int64)  # type: ignore[no-untyped-call]
    counts = vectorizer.fit_transform(wordings)
    squares = np.asarray(counts.multiply(counts).sum(axis=1)).ravel()[text_of]
    rows = _by_group(counts[text_of], ranked.get_column("group").to_numpy())
    may_anchor = (pl.col("rank") < ANCHORS) & (pl.col("count") >= ANCHOR_COUNT)
    anchors = ranked.select(pl.arg_where(may_anchor)).to_series().to_numpy().astype(np.int64)
    for start in range(0, ranked.height, _ROWS_AT_ONCE):
        shared = (rows[start : start + _ROWS_AT_ONCE] @ rows[anchors].T).tocoo()
        row, anchor = shared.row.astype(np.int64) + start, anchors[shared.col]
        near = (anchor < row) & (shared.data**2 >= LEAST_COSINE**2 * squares[row] * squares[anchor])
        row, anchor = row[near], anchor[near]
        order = np.lexsort((anchor, row))
        yield from zip(row[order].tolist(), anchor[order].tolist(), strict=True)


def _by_group(counts: Any, group: Integers) -> Any:
    """The same counts with columns of its own for each group, so that a product never crosses groups."""
    from scipy import sparse  # with scikit-learn, which imports it anyway

    width = counts.shape[1]
    own = np.repeat(group, np.diff(counts.indptr)) * width + counts.indices
    columns, compact = np.unique(own, return_inverse=True)
    shape = (counts.shape[0], len(columns))
    return sparse.csr_matrix((counts.data, compact, counts.indptr), shape=shape)  # type: ignore[no-untyped-call]


def _wording(kind: str) -> tuple[str, ...]:
    """The words that matter, without accents; all words, where fewer than two matter."""
    words = kind.split(" ")
    matter = [word for word in words if word not in _SAYS_NOTHING]
    return tuple(_plain(word) for word in (matter if len(matter) > 1 else words))


def _plain(word: str) -> str:
    if word.isascii():
        return word
    return "".join(letter for letter in normalize("NFD", word) if not combining(letter))


def _letter_pairs(wording: tuple[str, ...]) -> Iterator[str]:
    letters = f" {''.join(wording)} "
    return map("".join, pairwise(letters))


@lru_cache(maxsize=1 << 16)
def _same_wording(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    if "".join(a) == "".join(b) or Counter(a) == Counter(b):
        return True
    if len(a) != len(b):
        return False
    differing = [pair for pair in zip(a, b, strict=True) if pair[0] != pair[1]]
    return len(differing) == 1 and all(starmap(_is_slip, differing))


def _is_slip(a: str, b: str) -> bool:
    """True if two words differ by one missing letter or two swapped letters."""
    short, long = sorted((a, b), key=len)
    # Neither words with digits in them, nor scripts in which one character is a word.
    if len(long) < _SHORTEST_SLIP or not (a + b).isalpha() or max(a + b) >= "\u2e80" or a[0] != b[0]:
        return False
    at = next((i for i, (x, y) in enumerate(zip(short, long, strict=False)) if x != y), len(short))
    if len(long) == len(short):
        return short[at + 2 :] == long[at + 2 :] and short[at : at + 2] == long[at : at + 2][::-1]
    return long[:at] + long[at + 1 :] == short and not (at == len(short) and long[-1] in "aeiouy")
