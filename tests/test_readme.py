"""The documentation is correct: examples run, commands exist, and outputs match."""

from __future__ import annotations

import doctest
import re
import sys
import tomllib
from pathlib import Path

import pytest

import patterns.settings
import pipelines.habitus
from patterns.inference.significance import CERTAINTY
from patterns.registry import PATTERN_TYPES, kind_of
from pipelines import detect
from pipelines.cli.config import Settings
from pipelines.cli.main import all_commands
from tests.doc_pages import PAGES, ROOT, blocks, commands, files, first_difference, run_page, text

TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
BY_NAME = {command.name: command for command in all_commands()}
TYPED = [(page, words) for page in PAGES for words in commands(page)]
HABITUS = {" ".join(words): words for _, words in TYPED if words[:1] == ["habitus"]}
TOOLS = {"make", "habitus", "git", "cd", "cut", "grep", "cat", "head"}


def pages_with(language: str) -> list[str]:
    return [page for page in PAGES if blocks(page, language)]


@pytest.mark.parametrize("page", pages_with("pycon"))
def test_the_python_examples_of_a_page_run(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In their order, in one session, from the root of the repository."""
    monkeypatch.chdir(ROOT)
    # In a checkout that was installed before `habitus` became a package, its name is not known.
    monkeypatch.setitem(sys.modules, "habitus", pipelines.habitus)
    test = doctest.DocTestParser().get_doctest("\n".join(blocks(page, "pycon")), {}, page, page, 0)
    assert test.examples
    printed: list[str] = []
    ran = doctest.DocTestRunner().run(test, out=printed.append)
    assert ran.failed == 0, "".join(printed)


@pytest.mark.parametrize("page", [page for page in pages_with("console") if page != "docs/walkthrough.md"])
def test_a_session_prints_what_is_shown(page: str, tmp_path: Path) -> None:
    """All but the walk-through, which `test_walk_through` looks at more closely."""
    for step, printed in run_page(page, tmp_path):
        difference = first_difference(step.shown, printed)
        assert difference is None, f"$ {step.command}\n{difference}"


def test_make_targets_exist_and_are_documented() -> None:
    typed = {word for _, words in TYPED if words[0] == "make" for word in words[1:]}
    named = {word for page in PAGES for word in re.findall(r"\bmake ([a-z]+)`", text(page))}
    assert typed | named <= TARGETS
    assert TARGETS - {"clean"} <= typed | named


@pytest.mark.parametrize("words", HABITUS.values(), ids=HABITUS)
def test_a_command_can_be_typed_as_it_stands(words: list[str]) -> None:
    """click takes its options and their values; nothing is read."""
    command = BY_NAME[words[1]]
    context = command.make_context(words[1], words[2:], resilient_parsing=False)
    assert context.params.get("sources", ("none are asked for",)) is not None


@pytest.mark.parametrize("page", PAGES)
def test_shell_blocks_use_known_programs_only(page: str) -> None:
    assert {words[0] for words in commands(page)} - TOOLS <= {
        ".venv/bin/pytest",
        "python",
        ".venv/bin/pre-commit",
    }


@pytest.mark.parametrize("page", PAGES)
def test_every_option_that_is_named_exists(page: str) -> None:
    known = {
        name for command in all_commands() for p in command.params for name in (*p.opts, *p.secondary_opts)
    }
    known |= {"--help", "--version", "--debug", "--now", "--check", "--strict"}
    prose = re.sub(r"<!--.*?-->|```.*?```", "", text(page), flags=re.DOTALL)
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", prose))
    assert named - known == set()


@pytest.mark.parametrize(
    "page", ["README.md", "docs/tour.md", "docs/settings.md", "docs/store.md", "docs/walkthrough.md"]
)
def test_settings_files_are_valid(page: str) -> None:
    for block in blocks(page, "toml"):
        assert Settings.model_validate(tomllib.loads(block)).tz is not None


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_is_named_exists(page: str) -> None:
    folder = (ROOT / page).parent
    links = [folder / name for name in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text(page))]
    names = re.findall(
        r"`((?:observations|patterns|pipelines|tests|fixtures|notebooks)/[\w./-]*)`", text(page)
    )
    added = {ROOT / name for name in files(page)}
    assert [path for path in {*links, *(ROOT / name for name in names)} - added if not path.exists()] == []


def test_every_module_to_upgrade_to_exists() -> None:
    rows = re.findall(r"^\| `[\w.]+` \| (.+) \|$", text("docs/upgrading.md"), flags=re.MULTILINE)
    modules = {name for row in rows for name in re.findall(r"`([\w.]+)`", row)}
    places = {name: ROOT / name.replace(".", "/") for name in modules}
    assert len(modules) > 100
    assert [
        n for n, place in places.items() if not place.is_dir() and not place.with_suffix(".py").exists()
    ] == []


@pytest.mark.parametrize("page", ["README.md", "docs/how-it-decides.md"])
def test_the_example_of_each_type_is_found_in_the_demo(page: str) -> None:
    rows = re.findall(r"^\| ([a-z]+) \| ([^|]+?) \|", text(page), flags=re.MULTILINE)
    examples = {
        kind: statement for kind, statement in rows if kind in PATTERN_TYPES and statement[0].isupper()
    }
    assert set(examples) == set(PATTERN_TYPES)
    found = detect(ROOT / "fixtures" / "demo", tz="Europe/Berlin", me=["maya@example.com"]).confirmed
    assert set(examples.items()) <= {(pattern.type, pattern.statement) for pattern in found}


def test_the_numbers_are_those_of_the_settings() -> None:
    shown = " ".join(text("docs/how-it-decides.md").split())
    numbers = patterns.settings.Settings()
    for words in (
        f"must not exceed {numbers.false_confirmation_rate:g} · (the type's share) / ",
        f"shares are {kind_of('avoidance').budget:g} for avoidance",
        f"{kind_of('temporal').budget:g} for temporal, and {kind_of('preference').budget:g} for each of the others",
        f"at most {numbers.false_confirmation_rate:.0%}".replace("%", " %"),
        f"confidence of at least {numbers.confirmation_threshold:g}",
        f"more than {numbers.usual_rate:.0%} with {CERTAINTY:.0%} certainty".replace("%", " %"),
        f"at least {100 * numbers.distinct_margin:g} points more than by chance",
        f"Below a confidence of {numbers.expiry_threshold:g}",
        f"multiplied by {numbers.decay_rate:g} for each day past due",
        f"occasions / {numbers.confirmation_count}",
        f"/ {numbers.span_days_target:g}, at most 1",
        f"{numbers.weight_count:g}·count + {numbers.weight_recency:g}·recency",
        f"{numbers.weight_consistency:g}·consistency + {numbers.weight_span:g}·span",
    ):
        assert words in shown


def test_the_readme_stays_short() -> None:
    assert len(text("README.md").splitlines()) <= 220


def test_a_difference_is_found() -> None:
    assert first_difference(("a", "…", "c"), ("a", "b", "c")) is None
    assert first_difference(("a", "…"), ("a", "b", "c")) is None
    assert first_difference(("…", "c"), ("a", "b", "c")) is None
    assert first_difference((), ()) is None
    assert first_difference(("a",), ("a", "b")) is not None
    assert first_difference(("…", "x"), ("a", "b")) is not None
    assert first_difference(("b", "…"), ("a", "b")) is not None
