"""The README tells the truth: its examples run, its commands exist, its outputs are what is printed."""

from __future__ import annotations

import doctest
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import patterns.settings
from patterns.inference.significance import CERTAINTY
from patterns.registry import PATTERN_TYPES, kind_of
from pipelines import detect
from pipelines.cli.config import Settings
from pipelines.cli.main import COMMANDS, main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
BY_NAME = {command.name: command for command in COMMANDS}


def blocks(language: str) -> list[str]:
    """The fenced blocks of this language, without their fences."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


def commands() -> Iterator[list[str]]:
    """Every command in a shell block, split into words; ``a && b`` and ``a | b`` are two."""
    for block in blocks("sh"):
        for line in block.splitlines():
            for part in re.split(r"&&|\|", line):
                yield shlex.split(part)


def options(command: click.Command) -> set[str]:
    return {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}


def test_the_python_examples_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """In their order, in one session, from the folder that the README is in."""
    monkeypatch.chdir(ROOT)
    examples = "\n".join(blocks("pycon"))
    test = doctest.DocTestParser().get_doctest(examples, {}, "README.md", "README.md", 0)
    assert len(test.examples) >= 5
    said: list[str] = []
    ran = doctest.DocTestRunner().run(test, out=said.append)
    assert ran.failed == 0, "".join(said)


@pytest.mark.parametrize("words", [words for words in commands() if words[0] == "make"], ids=" ".join)
def test_a_make_target_exists(words: list[str]) -> None:
    assert set(words[1:]) <= TARGETS


def test_every_target_is_in_the_readme() -> None:
    assert {f"make {target}" for target in TARGETS} - {"make clean"} <= {f"make {w}" for w in _said_targets()}


def _said_targets() -> list[str]:
    return re.findall(r"\bmake ([a-z]+)\b", README)


@pytest.mark.parametrize("words", [words for words in commands() if words[0] == "habitus"], ids=" ".join)
def test_a_command_can_be_typed_as_it_stands(words: list[str]) -> None:
    """click takes its options and their values; nothing is read."""
    command = BY_NAME[words[1]]
    context = command.make_context(words[1], words[2:], resilient_parsing=False)
    assert context.params.get("sources", ("none are asked for",))


def test_the_shell_blocks_hold_nothing_else() -> None:
    assert {words[0] for words in commands()} <= {"make", "habitus", "git", "cd"}


def test_every_option_that_is_named_exists() -> None:
    known = {name for command in COMMANDS for name in options(command)}
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", re.sub(r"<!--.*?-->", "", README)))
    assert named - known == set()


def test_the_settings_file_is_one() -> None:
    for block in blocks("toml"):
        settings = Settings.model_validate(tomllib.loads(block))
        assert settings.tz is not None


OUTPUTS = re.findall(
    r"<!-- output at (\d+) columns of: habitus (.+?) -->\n```text\n(.*?)^```$",
    README,
    re.MULTILINE | re.DOTALL,
)


@pytest.mark.parametrize(("columns", "command", "shown"), OUTPUTS, ids=[output[1] for output in OUTPUTS])
def test_an_output_is_what_is_printed(
    monkeypatch: pytest.MonkeyPatch, columns: str, command: str, shown: str
) -> None:
    """Line by line; only where it says … may lines be left out."""
    monkeypatch.chdir(ROOT)
    result = CliRunner(env={"COLUMNS": columns}).invoke(main, shlex.split(command))
    assert result.exit_code == 0
    printed = "\n".join(line.rstrip() for line in (result.stdout + result.stderr).splitlines())
    place = 0
    for part in re.split(r"^…\n", shown, flags=re.MULTILINE):
        found = printed.find(part.rstrip("\n"), place)
        assert found >= 0, f"not printed:\n{part}\nbut:\n{printed}"
        place = found + len(part)


def test_an_example_of_each_type_is_said_about_the_demo() -> None:
    table = README.partition("\n## What it finds\n")[2].partition("\n## ")[0]
    examples = dict(re.findall(r"^\| ([a-z]+) \| ([^|]+) \|", table, flags=re.MULTILINE))
    assert set(examples) - {"type"} == set(PATTERN_TYPES)
    found = detect(ROOT / "fixtures" / "demo", tz="Europe/Berlin", me=["maya@example.com"]).confirmed
    said = {(pattern.type, pattern.statement) for pattern in found}
    assert {(kind, examples[kind]) for kind in PATTERN_TYPES} <= said


def test_the_numbers_are_those_of_the_settings() -> None:
    said = " ".join(README.partition("\n## How it decides\n")[2].partition("\n## ")[0].split())
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
        assert words in said


def test_there_are_outputs_to_check() -> None:
    assert len(OUTPUTS) >= 2


def test_every_file_it_names_is_there() -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", README)
    names = re.findall(r"`((?:observations|patterns|pipelines|tests|fixtures)/[\w./]*)`", README)
    missing = [name for name in {*links, *names} if not (ROOT / name).exists()]
    assert sorted(missing) == sorted(name for name in missing if "yourformat" in name)
