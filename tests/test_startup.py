"""``--help`` imports little; errors are one line, or a traceback with ``--debug``."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from observations.errors import SettingError
from pipelines.cli import main as command_line
from pipelines.cli.main import all_commands, main
from pipelines.cli.output.option_names import in_options

ROOT = Path(__file__).parents[1]
HEAVY = [
    "polars",
    "numpy",
    "scipy",
    "sklearn",
    "sqlalchemy",
    "alembic",
    "rich",
    "pydantic",
    "jinja2",
    "altair",
    "tzlocal",
    "lxml",
]


@pytest.mark.parametrize("arguments", [[], *([command.name] for command in all_commands())], ids=str)
def test_help_imports_nothing_heavy(arguments: list[str], tmp_path: Path) -> None:
    code = (
        "import sys\nfrom pipelines.cli.main import main\n"
        f"try:\n    main({[*arguments, '--help']!r})\nexcept SystemExit:\n    pass\n"
        f"print('heavy:', [m for m in {HEAVY!r} if m in sys.modules])"
    )
    path = {"PYTHONPATH": str(ROOT), "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "heavy: []"


def test_python_m_runs_it() -> None:
    for package in ("pipelines", "pipelines.habitus"):
        done = subprocess.run(
            [sys.executable, "-m", package, "--help"], cwd=ROOT, capture_output=True, text=True, check=True
        )
        assert done.stdout.startswith("Usage: habitus [OPTIONS]")


# --- errors ---------------------------------------------------------------------------------------------------


@click.command()
@click.option("--as-of")
@click.option("--db", "place")
def broken(as_of: str | None, place: str | None) -> None:
    """A command that fails."""
    if as_of:
        raise SettingError("`as_of` is wrong; `nothing` else", argument="as_of", value=as_of)
    raise KeyError("x")


@pytest.fixture
def _broken_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(broken, "params", [*broken.params, command_line.debug_option(hidden=True)])
    monkeypatch.setattr(command_line, "load_command", lambda name: broken)


@pytest.mark.usefixtures("_broken_command")
def test_an_internal_error_is_one_line() -> None:
    result = CliRunner().invoke(main, ["audit"])
    assert result.exit_code == 1
    assert re.fullmatch(
        r"Error: internal error in pipelines/cli/main.py:\d+ \(KeyError: 'x'\); rerun with --debug for the traceback\n",
        result.stderr,
    )


@pytest.mark.usefixtures("_broken_command")
@pytest.mark.parametrize("arguments", [["--debug", "audit"], ["audit", "--debug"]], ids=str)
def test_debug_shows_the_traceback(arguments: list[str]) -> None:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 1
    assert "Traceback (most recent call last):" in result.stderr
    assert "rerun" not in result.stderr


@pytest.mark.usefixtures("_broken_command")
def test_the_environment_shows_the_traceback_too() -> None:
    result = CliRunner().invoke(main, ["audit"], env={"HABITUS_DEBUG": "1"})
    assert "Traceback" in result.stderr


@pytest.mark.usefixtures("_broken_command")
def test_arguments_become_options() -> None:
    result = CliRunner().invoke(main, ["audit", "--as-of", "x"])
    assert result.stderr == "Error: --as-of is wrong; `nothing` else\n"


def test_options_are_found_by_the_name_of_their_argument() -> None:
    (detect,) = (command for command in all_commands() if command.name == "detect")
    said = in_options("`mapping`, `day_first`, `user_field`, `sources`", detect)
    assert said == "--map, --day-first or --month-first, --user-field, SOURCE"


def test_only_the_command_line_speaks_of_options() -> None:
    """Messages elsewhere name arguments in backticks."""
    options = {
        name
        for command in all_commands()
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for name in (*parameter.opts, *parameter.secondary_opts)
        if name.startswith("--") and name not in ("--debug", "--output", "--title", "--user")
    }
    word = re.compile(rf"""["'(; ]({"|".join(map(re.escape, sorted(options)))})\b""")
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sorted(ROOT.glob("pipelines/**/*.py")) + sorted(ROOT.glob("observations/ingest/**/*.py"))
        if "cli" not in path.parts
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if word.search(line) and re.search(r"""f?"[^"]*--""", line)
    ]
    assert found == []
