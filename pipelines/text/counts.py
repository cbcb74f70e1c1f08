"""Numbers as text: a count with its noun, a size in bytes."""

from __future__ import annotations


def plural(count: int, noun: str) -> str:
    """A count with its noun.

    >>> plural(1, "source"), plural(1200, "source")
    ('1 source', '1,200 sources')
    """
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def people_counted(count: int) -> str:
    """A number of people.

    >>> people_counted(1), people_counted(2)
    ('1 person', '2 people')
    """
    return f"{count:,} {'person' if count == 1 else 'people'}"


def byte_size(count: int) -> str:
    """A number of bytes in a readable unit.

    >>> byte_size(1_234_567)
    '1.2 MB'
    """
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= factor:
            return f"{count / factor:,.1f} {unit}"
    return f"{count} B"
