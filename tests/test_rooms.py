"""The folders of each package: few files in each, no name twice, and no two folders that import each other.

A room is a folder of modules, or a module that lies at the top of its package. Imports inside functions count.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.test_imports import LAYERS, ROOT, modules, package_of, sources

MOST_FILES = 20


def room_of(path: Path) -> str:
    """The room of a module: ``patterns.rules`` for those in it, ``patterns.evaluate`` for one at the top."""
    package = package_of(path)
    return package if "." in package else f"{package}.{path.stem}"


def imported_rooms(path: Path) -> Iterator[str]:
    """The rooms of the modules that a module imports, but for types only."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    tree.body = [
        node
        for node in tree.body
        if not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))
    ]
    for _, name in modules(tree, package_of(path)):
        file = ROOT.joinpath(*name.split(".")).with_suffix(".py")
        folder = ROOT.joinpath(*name.split("."), "__init__.py")
        found = next((p for p in (file, folder) if p.is_file()), None)
        if found is not None:
            yield room_of(found)


def arrows(package: str) -> dict[str, set[str]]:
    """For each room of a package, the other rooms that it imports."""
    found: dict[str, set[str]] = {}
    for path in sources(package):
        if path.parent == ROOT / package and path.stem == "__init__":
            continue  # the public names of the package: it imports from everywhere
        room = room_of(path)
        found.setdefault(room, set()).update(r for r in imported_rooms(path) if r != room)
    return found


def in_circles(imports: Mapping[str, set[str]]) -> set[str]:
    """The rooms from which a way of imports leads back to themselves."""

    def reached(room: str) -> set[str]:
        found: set[str] = set()
        waiting = [*imports.get(room, ())]
        while waiting:
            one = waiting.pop()
            if one not in found:
                found.add(one)
                waiting.extend(imports.get(one, ()))
        return found

    return {room for room in imports if room in reached(room)}


@pytest.mark.parametrize("package", LAYERS)
def test_no_rooms_import_each_other_in_a_circle(package: str) -> None:
    assert in_circles(arrows(package)) == set()


def test_a_circle_is_found() -> None:
    assert in_circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == {"b", "c"}


def test_rooms_are_what_they_should_be() -> None:
    imports = arrows("patterns")
    assert "patterns.inference" in imports["patterns.detectors"]
    assert "patterns.eventlog" in imports["patterns.evaluate"]
    assert not imports["patterns.eventlog"] & {"patterns.detectors", "patterns.inference", "patterns.rules"}


@pytest.mark.parametrize("package", LAYERS)
def test_no_folder_has_more_than_twenty_files(package: str) -> None:
    sizes = Counter(path.parent.relative_to(ROOT) for path in sources(package))
    assert {str(folder): n for folder, n in sizes.items() if n > MOST_FILES} == {}


@pytest.mark.parametrize("package", LAYERS)
def test_no_base_name_occurs_twice(package: str) -> None:
    """Migrations are named by number."""
    names = Counter(path.stem for path in sources(package) if path.stem not in ("__init__", "env"))
    assert {name for name, n in names.items() if n > 1} == set()
