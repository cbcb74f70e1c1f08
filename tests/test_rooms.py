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

MOST_DEFERRED_IMPORTS = 12
"""Imports of our own modules inside functions outside the command line: each needs its reason."""


def room_of(path: Path) -> str:
    """The room of a module: ``patterns.rules`` for those in it, ``patterns.evaluate`` for one at the top."""
    package = package_of(path)
    return package if "." in package else f"{package}.{path.stem}"


def imported_names(path: Path) -> set[str]:
    """What a module imports, inside functions too, but for types only."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    tree.body = [
        node
        for node in tree.body
        if not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))
    ]
    return {name for _, name in modules(tree, package_of(path))}


def imported_rooms(path: Path) -> Iterator[str]:
    """The rooms of the modules that a module imports, but for types only."""
    for name in imported_names(path):
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
    """But for those that Python asks for. Migrations are named by number."""
    names = Counter(path.stem for path in sources(package) if not path.stem.startswith("__"))
    assert {name for name, n in names.items() if n > 1} == set()


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Imports inside functions count, those for types only do not."""
    imports: dict[str, set[str]] = {}
    for path in sources(*LAYERS):
        own = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        if path.stem != "__init__":
            imports[own] = {name for name in imported_modules(path) if name != own}
    assert in_circles(imports) == set()


def test_nothing_below_imports_the_command_line() -> None:
    importing = {
        str(path.relative_to(ROOT))
        for path in sources(*LAYERS)
        if not path.is_relative_to(ROOT / "pipelines" / "cli") and path.stem != "__main__"
        for name in imported_modules(path)
        if name.startswith("pipelines.cli")
    }
    assert importing == set()


def test_few_imports_are_deferred() -> None:
    deferred = [
        node
        for path in sources(*LAYERS)
        if not path.is_relative_to(ROOT / "pipelines" / "cli")
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(function, ast.FunctionDef)
        for node in function.body
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in LAYERS
    ]
    assert len(deferred) <= MOST_DEFERRED_IMPORTS


def imported_modules(path: Path) -> Iterator[str]:
    """The modules of ours that a module imports, but for types only; not their packages."""
    return (
        name for name in imported_names(path) if ROOT.joinpath(*name.split(".")).with_suffix(".py").is_file()
    )
