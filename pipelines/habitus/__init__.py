"""habitus: what people habitually do, from the exports of the tools they use.

>>> import habitus
>>> day = "2026-03-{:02}T07:0{}:00+01:00"
>>> gym = [
...     {"type": "calendar", "action": "created", "timestamp": day.format(n, n % 5), "title": "Gym"}
...     for n in range(1, 29)
... ]
>>> [pattern.type for pattern in habitus.detect(gym).confirmed]
['temporal']

`detect` reads exports and returns a `Detection`; `Store` keeps observations and answers about them. The same names are
in `pipelines`, where they are defined; each is loaded when it is first used.
"""

from typing import TYPE_CHECKING

from pipelines import __all__, __dir__, __getattr__  # noqa: F401  PEP 562: the table of `pipelines` serves both

if TYPE_CHECKING:
    from pipelines import *  # noqa: F403  the one table is there

__all__ = __all__
