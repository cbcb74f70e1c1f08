"""Everything is documented: every command, option, module, function and format; and every example runs."""

from __future__ import annotations

import ast
import doctest
import importlib
import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import pipelines.habitus
from observations.ingest.registry import READERS
from observations.model import Observation
from patterns.model import Pattern
from patterns.registry import PATTERN_TYPES
from patterns.settings import Settings
from pipelines.cli.main import all_commands, main
from tests.doc_pages import PAGES, text

ROOT = Path(__file__).parents[1]
MODULES = sorted(
    path.relative_to(ROOT)
    for package in ("observations", "patterns", "pipelines")
    for path in (ROOT / package).rglob("*.py")
)

_spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
assert _spec is not None
assert _spec.loader is not None
generator = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(generator)

Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def module_name(path: Path) -> str:
    """The name under which the file is imported."""
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def public(tree: ast.Module) -> Iterator[tuple[str, Documented]]:
    """The module, its public classes and functions, and their public methods."""
    yield "the module", tree
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and _is_public(node.name):
            yield node.name, node
            if isinstance(node, ast.ClassDef):
                yield from _public_methods(node)


def _public_methods(owner: ast.ClassDef) -> Iterator[tuple[str, Documented]]:
    for node in owner.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _is_public(node.name):
            yield f"{owner.name}.{node.name}", node


def _is_public(name: str) -> bool:
    return not name.startswith("_")


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_a_module_and_all_that_is_public_in_it_have_docstrings(path: Path) -> None:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    assert [what for what, node in public(tree) if not (ast.get_docstring(node) or "").strip()] == []


@pytest.mark.parametrize(
    "path", [p for p in MODULES if ">>>" in (ROOT / p).read_text(encoding="utf-8")], ids=str
)
def test_the_examples_of_a_module_run(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # In a checkout that was installed before `habitus` became a package, its name is not known.
    monkeypatch.setitem(sys.modules, "habitus", pipelines.habitus)
    ran = doctest.testmod(importlib.import_module(module_name(path)))
    assert ran.attempted > 0
    assert ran.failed == 0


@pytest.mark.parametrize("command", [main, *all_commands()], ids=lambda command: command.name)
def test_the_help_of_a_command_ends_with_examples_that_can_be_typed(command: click.Command) -> None:
    text = command.help or ""
    assert text.split("\n")[0].endswith(".")
    _, _, examples = text.partition("Example:\n")
    lines = [line.strip() for line in examples.splitlines() if line.strip()]
    assert lines
    for line in lines:
        program, name, *words = line.split()
        assert program == "habitus"
        known = next(known for known in all_commands() if known.name == name)
        options = {
            option for parameter in known.params for option in (*parameter.opts, *parameter.secondary_opts)
        }
        assert {word for word in words if word.startswith("-")} <= options


@pytest.mark.parametrize("command", all_commands(), ids=lambda command: command.name)
def test_every_option_says_what_it_does(command: click.Command) -> None:
    options = [
        parameter
        for parameter in command.params
        if isinstance(parameter, click.Option) and not parameter.hidden
    ]
    assert options
    assert [option.name for option in options if not (option.help or "").strip().endswith((".", "]"))] == []


@pytest.mark.parametrize("command", all_commands(), ids=lambda command: command.name)
def test_help_fits_a_terminal_and_names_every_option(command: click.Command) -> None:
    result = CliRunner().invoke(main, [command.name or "", "--help"])
    assert result.exit_code == 0
    assert max(len(line) for line in result.stdout.splitlines()) <= 100
    assert [
        o
        for p in command.params
        if isinstance(p, click.Option) and not p.hidden
        for o in p.opts
        if o not in result.stdout
    ] == []


@pytest.mark.parametrize("page", PAGES)
def test_generated_tables_are_fresh(page: str) -> None:
    """`python docs/generate.py` writes them anew."""
    assert generator.generated(text(page)) == text(page)


@pytest.mark.parametrize("command", all_commands(), ids=lambda command: command.name)
def test_every_command_and_option_is_documented(command: click.Command) -> None:
    reference = text("docs/cli.md").partition(f"\n### habitus {command.name}\n")[2].partition("\n### ")[0]
    names = [max(p.opts, key=len) for p in command.params if isinstance(p, click.Option) and not p.hidden]
    assert names
    assert [name for name in names if name not in reference] == []
    guides = [page for page in PAGES if page.startswith("docs/") and page != "docs/cli.md"]
    assert [page for page in guides if f"habitus {command.name}" in text(page)] != []


def test_every_format_that_is_read_is_documented() -> None:
    table = re.findall(r"^\| ([^|]+) \|", section("docs/formats.md", "Formats"), flags=re.MULTILINE)
    assert [reader.name for reader in READERS if reader.name not in table] == []


def test_every_type_of_pattern_is_documented() -> None:
    for page, heading in (
        ("docs/how-it-decides.md", "Types of pattern"),
        ("docs/output.md", "Rules"),
        ("README.md", "How it works"),
    ):
        table = re.findall(r"^\| ([^|]+) \|", section(page, heading), flags=re.MULTILINE)
        assert [kind for kind in PATTERN_TYPES if kind not in table] == []


def test_every_field_of_a_pattern_is_documented() -> None:
    page = text("docs/output.md")
    assert [name for name in Pattern.model_fields if f"`{name}`" not in page] == []


def test_every_field_of_an_observation_is_documented() -> None:
    page = section("docs/formats.md", "Observations")
    assert [name for name in Observation.model_fields if f"`{name}`" not in page] == []


def test_every_setting_says_what_it_means() -> None:
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []


def test_the_glossary_has_each_word_once() -> None:
    words = re.findall(r"^\| \*\*([^|]+)\*\* \|", text("docs/glossary.md"), flags=re.MULTILINE)
    assert len(words) > 10
    assert len(words) == len(set(words))


def test_every_page_is_in_the_table_of_contents() -> None:
    listed = set(re.findall(r"^([a-z-]+)$", text("docs/index.md"), flags=re.MULTILINE))
    assert {Path(page).stem for page in PAGES if page.startswith("docs/")} - {"index"} == listed


def section(page: str, heading: str) -> str:
    """The part of a page under a heading of the second level."""
    _, found, rest = text(page).partition(f"\n## {heading}\n")
    assert found, f"no section {heading!r}"
    return rest.partition("\n## ")[0]
