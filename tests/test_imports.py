"""Imports run in one direction, and pure modules reach no clock, file, environment or random source."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LAYERS = ("observations", "patterns", "pipelines")
"""From the bottom up: each may import itself and what is before it."""

PURE_BY_PROMISE = ("observations/features.py", "observations/titles/normalize.py")
"""Beside all of `patterns`."""


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FORBIDDEN_MODULES = words(
    "time os io pathlib sys tempfile shutil glob fileinput mmap subprocess socket ssl http urllib ftplib "
    "asyncio threading multiprocessing concurrent signal ctypes sqlite3 dbm shelve pickle random secrets "
    "uuid getpass platform locale logging importlib runpy configparser requests httpx tzlocal freezegun"
)
FORBIDDEN_NAMES = words("open input print eval exec compile __import__ hash id globals")
"""Builtins: files and terminals; code from text; `hash` of text and `id` differ from run to run."""

CLOCKS = words("now today utcnow fromtimestamp")
"""Methods of `datetime` and `date` that read the clock or the machine's zone."""

POLARS_FILES = ("read_", "scan_", "write_", "sink_")
POLARS_CHANCE = words("sample shuffle")
NUMPY_FILES = words("load loadtxt save savez savez_compressed savetxt fromfile tofile memmap genfromtxt")
NUMPY_RANDOM = words("Generator BitGenerator SeedSequence")
"""What may be named of `numpy.random`: types that a caller hands in."""


@dataclass(frozen=True)
class Fault:
    """One thing that must not be there."""

    line: int
    what: str


# --- the checks -----------------------------------------------------------------------------------------------


def modules(tree: ast.Module, package: str) -> Iterator[tuple[int, str]]:
    """Every module that a tree imports, with its line; relative imports resolved against `package`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield node.lineno, base
            yield from ((node.lineno, f"{base}.{alias.name}".lstrip(".")) for alias in node.names)


def upward_imports(source: str, package: str) -> list[Fault]:
    """Imports of a layer above the one that `package` is in, or of the tests."""
    own = LAYERS.index(package.partition(".")[0])
    above = (*LAYERS[own + 1 :], "tests")
    return sorted(
        {
            Fault(line, name.partition(".")[0])
            for line, name in modules(ast.parse(source), package)
            if name.partition(".")[0] in above
        },
        key=lambda fault: fault.line,
    )


def impurities(source: str, package: str = "patterns") -> list[Fault]:
    """Everything in a module that reads or writes what it was not handed."""
    tree = ast.parse(source)
    faults = {
        Fault(line, name.partition(".")[0]) for line, name in modules(tree, package) if is_forbidden(name)
    }
    names = aliases(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in FORBIDDEN_NAMES and isinstance(node.ctx, ast.Load):
            if not is_own(tree, node.id):
                faults.add(Fault(node.lineno, node.id))
        elif isinstance(node, ast.Attribute):
            fault = attribute_fault(node, names)
            if fault:
                faults.add(Fault(node.lineno, fault))
    return sorted(faults, key=lambda fault: (fault.line, fault.what))


def is_forbidden(module: str) -> bool:
    return module.partition(".")[0] in FORBIDDEN_MODULES or (
        module.startswith("numpy.random.") and module.split(".")[2] not in NUMPY_RANDOM
    )


def aliases(tree: ast.Module) -> dict[str, str]:
    """What each imported name stands for: ``{"np": "numpy", "datetime": "datetime.datetime"}``."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(
                {
                    a.asname or a.name.partition(".")[0]: a.name if a.asname else a.name.partition(".")[0]
                    for a in node.names
                }
            )
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.update({a.asname or a.name: f"{node.module}.{a.name}" for a in node.names})
    return names


def is_own(tree: ast.Module, name: str) -> bool:
    """Whether the module itself gives that name a meaning (a parameter or field called `id`)."""
    return any(
        (isinstance(node, ast.arg) and node.arg == name)
        or (isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store))
        for node in ast.walk(tree)
    )


def attribute_fault(node: ast.Attribute, names: dict[str, str]) -> str | None:
    """What is wrong with ``something.attr``, if anything is."""
    path = ast.unparse(node).split(".")
    full = ".".join([names.get(path[0], path[0]), *path[1:]])
    if node.attr in CLOCKS and "datetime" in full:
        return full
    if full.startswith("numpy.random.") and node.attr not in NUMPY_RANDOM:
        return full
    if full.startswith("numpy.") and node.attr in NUMPY_FILES:
        return full
    if node.attr.startswith(POLARS_FILES) or node.attr in POLARS_CHANCE:
        return f".{node.attr}"
    return None


# --- the code -------------------------------------------------------------------------------------------------


def package_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).parent.parts)


def sources(*tops: str) -> list[Path]:
    return [path for top in tops for path in sorted((ROOT / top).rglob("*.py"))]


def pure_sources() -> list[Path]:
    """All of `patterns`, what is promised beside it, and every module of ours that these import."""
    waiting = [*sources("patterns"), *(ROOT / name for name in PURE_BY_PROMISE)]
    found: set[Path] = set()
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found.add(path)
        for _, name in modules(ast.parse(path.read_text(encoding="utf-8")), package_of(path)):
            waiting.extend(p for p in files_of(name) if p not in found)
    return sorted(found)


def files_of(module: str) -> list[Path]:
    """The files that an import of this module runs, where they are ours."""
    parts = module.split(".")
    if parts[0] not in LAYERS:
        return []
    packages = [ROOT.joinpath(*parts[:n], "__init__.py") for n in range(1, len(parts) + 1)]
    return [p for p in (*packages, ROOT.joinpath(*parts).with_suffix(".py")) if p.is_file()]


def faults_of(paths: list[Path], check: Callable[[str, str], list[Fault]]) -> dict[str, list[Fault]]:
    found = {
        str(path.relative_to(ROOT)): check(path.read_text(encoding="utf-8"), package_of(path))
        for path in paths
    }
    return {name: faults for name, faults in found.items() if faults}


def test_nothing_imports_upward() -> None:
    assert faults_of(sources(*LAYERS), upward_imports) == {}


def test_patterns_and_all_that_they_import_are_pure() -> None:
    assert faults_of(pure_sources(), impurities) == {}


def test_the_walk_reaches_what_it_should() -> None:
    names = [str(path.relative_to(ROOT)) for path in pure_sources()]
    for expected in (
        "patterns/evaluate.py",
        "patterns/detectors/temporal.py",
        "observations/civil_time.py",
        *PURE_BY_PROMISE,
    ):
        assert expected in names
    assert not any(name.startswith(("observations/ingest", "pipelines")) for name in names)


def test_importing_patterns_loads_no_reader_and_no_shell() -> None:
    """What the source says, and what then really happens in a fresh interpreter."""
    code = (
        "import sys, patterns.evaluate, patterns.detectors\n"
        "print([m for m in sys.modules if m.startswith(('pipelines', 'observations.ingest', 'tests'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# --- the checks catch what is planted -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "package", "caught"),
    [
        ("import pipelines.detection", "patterns", ["pipelines"]),
        ("from pipelines import detect", "observations.ingest", ["pipelines"]),
        ("def f():\n    from patterns.eventlog.log import Log", "observations", ["patterns"]),
        ("from ..pipelines import batch", "patterns.detectors", []),  # patterns.pipelines: no layer
        ("from ...pipelines import batch", "patterns.detectors", ["pipelines"]),
        ("from ... import pipelines", "patterns.detectors", ["pipelines"]),
        ("import patterns, observations.schema", "pipelines", []),
        ("from observations import schema\nfrom . import log", "patterns", []),
        ("from tests.naive import DAY", "patterns", ["tests"]),
        ("import patternsmith", "observations", []),
    ],
)
def test_a_planted_upward_import_is_caught(source: str, package: str, caught: list[str]) -> None:
    assert [fault.what for fault in upward_imports(source, package)] == caught


@pytest.mark.parametrize(
    "source",
    [
        "import time",
        "from time import perf_counter as tick",
        "def f():\n    import os.path",
        "import numpy.random as nr\nnr.rand(3)",
        "from numpy.random import default_rng",
        "import numpy as np\nx = np.random.default_rng()",
        "import numpy as np\nx = np.random.rand(3)",
        "import numpy as np\nx = np.load('x.npy')",
        "from random import choice",
        "import uuid",
        "import secrets",
        "from pathlib import Path",
        "import io",
        "with open('x') as f: pass",
        "print('x')",
        "key = hash('x')",
        "from datetime import datetime\nx = datetime.now()",
        "from datetime import UTC, datetime\nx = datetime.now(UTC)",
        "import datetime\nx = datetime.datetime.utcnow()",
        "import datetime as dt\nx = dt.date.today()",
        "from datetime import datetime as when\nread = when.now",
        "from datetime import datetime\nx = datetime.fromtimestamp(0)",
        "import polars as pl\nx = pl.read_csv('x')",
        "import polars as pl\nx = pl.scan_parquet('x')",
        "frame.write_parquet('x')",
        "frame.lazy().sink_ndjson('x')",
        "frame.sample(3)",
        "__import__('os')",
        "import importlib",
    ],
)
def test_a_planted_impurity_is_caught(source: str) -> None:
    assert impurities(source)


@pytest.mark.parametrize(
    "source",
    [
        "from datetime import UTC, datetime, timedelta\nx = datetime(2026, 1, 1, tzinfo=UTC)",
        "import numpy as np\ndef f(rng: np.random.Generator) -> float:\n    return rng.random()",
        "from zoneinfo import ZoneInfo",
        "def f(id: str) -> str:\n    return id",
        "from dataclasses import dataclass\n@dataclass\nclass A:\n    now: int\n    def g(self): return self.now",
        "frame.select(now=1)\nclock.now",
    ],
)
def test_what_is_pure_is_let_through(source: str) -> None:
    assert impurities(source) == []


@pytest.mark.parametrize(
    "module",
    [
        "observations.errors",
        "observations.civil_time",
        "observations.ingest.toolkit.note",
        "observations.ingest.toolkit.reader",
        "observations.ingest.tabular.timestamp_formats",
    ],
)
def test_what_options_are_parsed_with_loads_nothing_heavy(module: str) -> None:
    """The command line parses its options without polars, numpy or pydantic."""
    heavy = "{'polars', 'numpy', 'pydantic', 'lxml', 'icalendar', 'sqlite3', 'sklearn', 'scipy'}"
    code = f"import sys, {module}\nprint(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
