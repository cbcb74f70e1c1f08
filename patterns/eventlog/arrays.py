"""Arrays of numbers: their types, and the few things that all of counting is made of.

Sorting is the workhorse. Where several keys are sorted by, they are packed into one number: numpy sorts two million
of them in 0.03 s, and takes 0.3 s to sort indirectly and 0.5 s by several keys.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

_BITS = 62


def order_by(*keys: Ints) -> Ints:
    """(n,) indices that sort by the keys, the first the most important; equal ones stay in their order.

    >>> order_by(np.array([1, 0, 1]), np.array([5, 7, 4])).tolist()
    [1, 2, 0]
    """
    count = len(keys[0])
    if not count:
        return np.empty(0, dtype=np.int64)
    packed, used = np.zeros(count, dtype=np.int64), 0
    for key in (*keys, np.arange(count)):
        least = int(key.min())
        width = (int(key.max()) - least).bit_length()
        used += width
        if used > _BITS:
            return np.lexsort(keys[::-1])
        packed = packed << width | key - least
    packed.sort()
    return packed & (1 << width) - 1


def begins(*keys: Ints) -> Flags:
    """(n,) where a run of equal keys begins.

    >>> begins(np.array([4, 4, 4, 9]), np.array([1, 1, 2, 2])).tolist()
    [True, False, True, True]
    """
    new = np.zeros(len(keys[0]), dtype=np.bool_)
    new[:1] = True
    for key in keys:
        new[1:] |= key[1:] != key[:-1]
    return new


def distinct(values: Ints) -> Ints:
    """Each value once, sorted. By sorting: numpy's own `unique` hashes, which took 1.6 s where this takes 0.03 s.

    >>> distinct(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    ordered = np.sort(values)
    return ordered[begins(ordered)]


def contains(ordered: Ints, wanted: Ints) -> Flags:
    """(n,) whether each wanted number is among the sorted ones.

    >>> contains(np.array([2, 3, 7]), np.array([7, 4, 9])).tolist()
    [True, False, False]
    """
    if not len(ordered):
        return np.zeros(len(wanted), dtype=np.bool_)
    found: Flags = ordered[np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)] == wanted
    return found


def ranges(first: Ints, length: Ints) -> Ints:
    """The numbers first … first + length - 1 of each pair, one after the other.

    >>> ranges(np.array([5, 10]), np.array([2, 3])).tolist()
    [5, 6, 10, 11, 12]
    """
    ends = np.cumsum(length)
    return (
        np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - length, length) + np.repeat(first, length)
    )
