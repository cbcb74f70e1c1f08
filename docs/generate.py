"""Writes the generated tables of the documentation from the code: ``python docs/generate.py``.

A page says where with a pair of comments; what is between them is replaced::

    <!-- generated: settings -->
    <!-- end generated -->

`tests/test_docs.py` fails when a page is stale.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import click
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from observations.ingest.registry import READERS
from patterns.registry import rule_of
from patterns.settings import Settings
from pipelines.cli import config
from pipelines.cli.main import all_commands
from pipelines.detection import Detection, detect
from pipelines.store.store import Store

DOCS = Path(__file__).parent
ROOT = DOCS.parent
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "ARCHITECTURE.md", *sorted(DOCS.glob("*.md")))

_MARKED = re.compile(r"(<!-- generated: ([^>]+?) -->\n).*?(<!-- end generated -->)", re.DOTALL)


def generated(page: str) -> str:
    """The text of a page with every generated part written anew."""
    return _MARKED.sub(lambda found: found[1] + _part(found[2]) + found[3], page)


def _part(what: str) -> str:
    name, *arguments = what.split()
    return "\n" + PARTS[name](*arguments).strip() + "\n\n"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _sentence(text: str) -> str:
    """The first paragraph of a docstring, on one line, with Markdown code marks."""
    first = inspect.cleandoc(text).partition("\n\n")[0]
    return " ".join(first.split()).replace("``", "`")


def command_table() -> str:
    """All commands, one a row, with links to their sections."""
    rows = (
        (f"[`habitus {command.name}`](cli.md#habitus-{command.name})", _sentence(command.help or ""))
        for command in all_commands()
    )
    return table(("command", "does"), rows)


def command_sections() -> str:
    """A section for each command: its help, its examples and its options."""
    return "\n\n".join(map(_command_section, all_commands()))


def _command_section(command: click.Command) -> str:
    context = click.Context(command, info_name=f"habitus {command.name}")
    text, _, examples = inspect.cleandoc(command.help or "").replace("\b\n", "").partition("Example:\n")
    paragraphs = [" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n")]
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    return "\n\n".join(
        [
            f"### habitus {command.name}",
            *paragraphs,
            f"```text\n{usage}\n```",
            "```sh\n" + inspect.cleandoc(examples) + "\n```",
            table(("option", "meaning"), _options(command, context)),
        ]
    )


def _options(command: click.Command, context: click.Context) -> Iterable[tuple[str, str]]:
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if record is not None:
            names, meaning = record
            yield f"`{names}`", " ".join(meaning.split())


def format_table() -> str:
    """All formats that are read, in the order in which they are tried."""
    rows = ((reader.name, _sentence(_read(reader).__doc__ or "").rstrip(".")) for reader in READERS)
    return table(("format", "one observation for"), rows)


def _read(reader: object) -> Callable[..., object]:
    method: Callable[..., object] = type(reader).read  # type: ignore[attr-defined]
    return method


def settings_table() -> str:
    """The fields of `patterns.settings.Settings`."""
    rows = (
        (f"`{name}`", _default(field), _bounds(field), field.description or "")
        for name, field in _fields(Settings)
    )
    return table(("field", "default", "allowed", "meaning"), rows)


def _fields(model: type[BaseModel]) -> Iterable[tuple[str, FieldInfo]]:
    return model.model_fields.items()


def _default(field: FieldInfo) -> str:
    return f"`{field.default}`"


_SIGNS = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}


def _bounds(field: FieldInfo) -> str:
    given = ((sign, getattr(bound, name, None)) for bound in field.metadata for name, sign in _SIGNS.items())
    return ", ".join(f"{sign} {limit:g}" for sign, limit in given if limit is not None)


def settings_file_table() -> str:
    """The keys of ``habitus.toml``: each is described as the option of the same name is."""
    options = {
        max(parameter.opts, key=len).lstrip("-").replace("-", "_"): parameter
        for command in reversed(all_commands())
        for parameter in command.params
        if isinstance(parameter, click.Option) and not parameter.hidden
    }
    rows = []
    for name, field in _fields(config.Settings):
        option = options.get(name)
        meaning = field.description or (option.help if option is not None else "") or ""
        shown = "" if option is None else f"`{max(option.opts, key=len)}`"
        rows.append((f"`{name.replace('_', '-')}`", shown, " ".join(meaning.split())))
    return table(("key", "option", "meaning"), rows)


def api_table(owner: str) -> str:
    """The public methods and attributes of a class, each with the first sentence of its docstring."""
    found = {"Detection": Detection, "Store": Store}[owner]
    rows = []
    for kind in reversed(found.__mro__[:-1]):
        for name, member in vars(kind).items():
            member = getattr(member, "func", member)  # a cached property
            if (
                not name.startswith("_")
                and (callable(member) or isinstance(member, property))
                and member.__doc__
            ):
                shown = (
                    f"`.{name}`"
                    if not callable(member) or hasattr(kind.__dict__[name], "func")
                    else f"`.{name}()`"
                )
                rows.append((shown, _sentence(member.__doc__)))
    return table(("member", "what it is"), rows)


def detect_arguments() -> str:
    """The arguments of `detect`."""
    lines = inspect.getdoc(detect) or ""
    section = lines.partition("Args:\n")[2].partition("\n\n")[0]
    entries = re.split(r"\n(?=    \w)", section)
    rows = []
    for entry in entries:
        name, _, meaning = entry.strip().partition(":")
        rows.append((f"`{name}`", " ".join(meaning.split()).replace("``", "`")))
    return table(("argument", "meaning"), rows)


RULES = (
    (
        "temporal",
        '{"where": {"type": "calendar", "title": "Gym"}, "rrule": "FREQ=WEEKLY;BYDAY=MO,WE", "time": "07:00", "tolerance_minutes": 10}',
    ),
    ("temporal", '{"where": {"type": "calendar", "title": "Cleaning"}, "rrule": "FREQ=WEEKLY;BYDAY=SA"}'),
    (
        "temporal",
        '{"where": {"type": "calendar", "title": "Walk"}, "rrule": "FREQ=DAILY", "times": ["07:00", "18:00"], "tolerance_minutes": 15}',
    ),
    ("temporal", '{"where": {"type": "calendar", "title": "Run"}, "per": "week", "min": 2, "max": 4}'),
    (
        "preference",
        '{"where": {"type": "calendar", "title": "Interview"}, "feature": "location", "value": "Room 2"}',
    ),
    (
        "preference",
        '{"where": {"type": "calendar", "title": "Gym"}, "feature": "duration_minutes", "max": 45}',
    ),
    (
        "workflow",
        '{"steps": [{"type": "command", "command": "git pull"}, {"type": "command", "command": "make test"}], "within_minutes": 10}',
    ),
    (
        "relationship",
        '{"where": {"type": "email", "action": "sent"}, "feature": "cc", "value": "sarah@example.com"}',
    ),
    (
        "avoidance",
        '{"where": {"type": "calendar"}, "days": ["friday"], "from": "12:00", "to": "18:00", "since": "2026-03-01"}',
    ),
)
"""Rules of several shapes, as the contract writes them."""


def rule_examples() -> str:
    """Some rules, and their sentences."""
    return table(
        ("type", "rule", "statement"),
        ((type, f"`{rule}`", rule_of(type, rule).sentence()) for type, rule in RULES),
    )


PARTS: dict[str, Callable[..., str]] = {
    "commands": command_table,
    "command-sections": command_sections,
    "formats": format_table,
    "settings": settings_table,
    "settings-file": settings_file_table,
    "api": api_table,
    "detect-arguments": detect_arguments,
    "rule-examples": rule_examples,
}


def main() -> None:
    """Write every page whose generated parts are stale."""
    for path in PAGES:
        page = path.read_text(encoding="utf-8")
        if (fresh := generated(page)) != page:
            path.write_text(fresh, encoding="utf-8")
            sys.stdout.write(f"{path.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
