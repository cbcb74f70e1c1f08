"""Public names of a package that are loaded when they are first asked for (PEP 562), so that importing it is quick."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping


def lazy_exports(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package that offers these names.

    Args:
        package: its `__name__`.
        homes: the module in which each name is defined.

    >>> getter, lister = lazy_exports("toy", {"OrderedDict": "collections"})
    >>> lister(), getter("OrderedDict").__module__
    (['OrderedDict'], 'collections')
    """

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(homes[name]), name)

    def names() -> list[str]:
        return sorted(homes)

    return load, names
