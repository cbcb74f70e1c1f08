"""Which program a command line ran, and which of its sub-commands: ``git pull``, ``docker compose up``.

A habit is rarely the whole line: `git commit -m "…"` is never typed twice. Two features say what was done
without the arguments: the **program**, and the **sub-command** where the program has them.

Of a line with several commands the first counts, but one that only prepares the shell (`cd x && make test`,
`source venv/bin/activate; pytest`) is passed over where another follows. Of a pipeline it is the first program:
what was looked at, not how the output was cut. Assignments before a program, and programs that only run
another one (`sudo`, `env`, `time`, …), are passed over with their options.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

import polars as pl

from observations.shell.lexer import SimpleCommand, simple_commands, unquoted
from observations.shell.programs import FAMILIES, PREPARING, RESERVED, WRAPPERS, Family

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=")
_PLAIN = re.compile(
    r"[\w./:@%+,=~ -]++(?=\||\n|;|&&|\Z)"
)  # a command without quotes: it need not be tokenised
_SUBCOMMAND = re.compile(r":?[A-Za-z][\w:.-]*")
_PROGRAM = re.compile(r"[\w.+@%,\[\]-]+|:", re.ASCII)
_PYTHON = re.compile(r"python[\d.]*|pypy[\d.]*|py")

_FIRST_WORDS = r"^([\w+-]+)(?:[ \t]+([A-Za-z][\w:.-]*))?(?:[ \t]+([A-Za-z][\w:.-]*))?(?:[ \t]|$)"  # for Rust
_PYTHON_FIRST = r"^py(?:thon|py)?\d*$"
_ALWAYS_TWO = [program for program, family in FAMILIES.items() if family.nested is None and family.depth == 2]
_ALWAYS_THREE = [program for program, family in FAMILIES.items() if family.depth > 2]
_THEN_TWO = [f"{program} {word}" for program, family in FAMILIES.items() for word in family.nested or ()]

PROGRAM = "program:text"
SUBCOMMAND = "subcommand:text"
COMMAND = "command:text"


class Command(NamedTuple):
    """What a command line ran; None where it ran nothing (a comment, an assignment)."""

    program: str | None
    subcommand: str | None


_NOTHING = Command(None, None)


@lru_cache(maxsize=65_536)  # a history repeats itself: most lines have been typed before
def parse_command(text: str) -> Command:
    """The program and the sub-command of a command line.

    The sub-command is given with its program, so that it can be told apart on its own.

    >>> parse_command("sudo -u postgres /usr/bin/git -C /srv pull --rebase")
    Command(program='git', subcommand='git pull')
    >>> parse_command("cd api && DEBUG=1 docker compose -f dev.yml up -d")
    Command(program='docker', subcommand='docker compose up')
    >>> parse_command("cat access.log | sort | uniq -c")
    Command(program='cat', subcommand=None)
    """
    plain = _PLAIN.match(text)
    if plain:
        words = plain[0].split()
        whole = plain.end() == len(text)
        if words and words[0] not in RESERVED and (whole or words[0] not in PREPARING):
            return _of_words(words)
    return _of_line(text)


def with_command_features(frame: pl.DataFrame) -> pl.DataFrame:
    """The observation frame with ``program:text`` and ``subcommand:text`` on its command observations.

    What a record itself says of its program stays. Only distinct command lines are parsed. A frame without
    command lines comes back as it is.
    """
    if COMMAND not in frame.columns or not frame.height:
        return frame
    given = [c for c in (PROGRAM, SUBCOMMAND) if c in frame.columns]
    lacking = (pl.col("type") == "command") & pl.col(COMMAND).is_not_null()
    if PROGRAM in given:
        lacking &= pl.col(PROGRAM).is_null()
    parsed = parse_series(frame.select(pl.when(lacking).then(COMMAND).alias(COMMAND)).to_series())
    if given:
        parsed = parsed.with_columns(
            pl.coalesce(frame.get_column(c), parsed.get_column(c)).alias(c) for c in given
        )
    parsed = parsed.select(s for s in parsed if s.null_count() < parsed.height or s.name in given)
    return frame.with_columns(parsed.get_columns())


def parse_series(lines: pl.Series) -> pl.DataFrame:
    """`parse_command` of each line, as the columns ``program:text`` and ``subcommand:text``; null stays null."""
    keys = _telling_words(lines)
    distinct = keys.drop_nulls().unique()
    parsed = [parse_command(line) for line in distinct.to_list()]
    table = pl.DataFrame(
        {
            "key": distinct,
            PROGRAM: pl.Series([p.program for p in parsed], dtype=pl.String),
            SUBCOMMAND: pl.Series([p.subcommand for p in parsed], dtype=pl.String),
        }
    )
    joined = keys.to_frame().join(table, on="key", how="left", maintain_order="left")
    return joined.select(PROGRAM, SUBCOMMAND)


def _telling_words(lines: pl.Series) -> pl.Series:
    """So much of each line as tells the program and sub-command, where that can be seen at once.

    That is the first word where the program has no sub-commands, else two or three plain words; the whole line where
    options, quotes or other programs come between. In a history where half of the lines were typed only once there
    are a few hundred of them.
    """
    words = lines.str.extract_groups(_FIRST_WORDS).struct.unnest()
    words.columns = ["first", "second", "third"]
    first, second, third = pl.col("first"), pl.col("second"), pl.col("third")
    words = words.with_columns(lines.alias("line"), two=pl.concat_str(first, second, separator=" "))
    words = words.with_columns(
        hidden=first.is_null()
        | first.is_in([*WRAPPERS, *RESERVED])
        | first.str.contains(_PYTHON_FIRST)
        | (first.is_in(list(PREPARING)) & pl.col("line").str.contains("[;&|\n]")),
        bare=~first.is_in(list(FAMILIES)),
        goes_on=first.is_in(_ALWAYS_TWO) | pl.col("two").is_in(_THEN_TWO),
    )
    return words.select(
        pl.when("hidden")
        .then("line")
        .when("bare")
        .then(first)
        .when(second.is_not_null() & ~pl.col("goes_on") & ~first.is_in(_ALWAYS_THREE))
        .then("two")
        .when(third.is_not_null() & pl.col("goes_on"))
        .then(pl.concat_str("two", third, separator=" "))
        .otherwise("line")
        .alias("key")
    ).to_series()


def _of_line(text: str) -> Command:
    """The first simple command that does more than prepare the shell; the first of all, if none does."""
    first = _NOTHING
    for command in _runnable(simple_commands(text)):
        parsed = _of_words([unquoted(w.text) for w in command.words])
        if parsed.program is None:
            continue
        if parsed.program not in PREPARING or command.joiner == "|":
            return parsed
        first = first if first.program else parsed
    return first


def _runnable(commands: Iterable[SimpleCommand]) -> Iterator[SimpleCommand]:
    """The commands without the words that only steer the shell: ``if``, ``do``, the head of a ``for``."""
    for command in commands:
        words = command.words
        while words and words[0].text in RESERVED:
            words = [] if words[0].text in ("for", "select", "function") else words[1:]
        if words:
            yield SimpleCommand(words, command.joiner, command.fed)


def _of_words(words: list[str]) -> Command:
    """The program and sub-command of one simple command."""
    at = _past_wrappers(words)
    if at >= len(words):
        return _NOTHING
    program = _basename(words[at])
    if not _PROGRAM.fullmatch(program):
        return _NOTHING
    rest = words[at + 1 :]
    if _PYTHON.fullmatch(program):
        return Command(program, _python_module(program, rest))
    family = FAMILIES.get(program)
    if family is None or not rest:
        return Command(program, None)
    return Command(program, _subcommand(program, family, rest))


def _past_wrappers(words: list[str]) -> int:
    """Where the program stands, after assignments and the programs that only run another one.

    A wrapper that wraps nothing (`env`, `command -v git`) is the program itself.
    """
    at, wrapper = 0, -1
    while at < len(words):
        word = words[at]
        if _ASSIGNMENT.match(word):
            at += 1
            continue
        options = WRAPPERS.get(_basename(word))
        if options is None:
            return at
        wrapper = at if wrapper < 0 else wrapper
        begin, at = at + 1, _past_options(words, at + 1, options.valued)
        if options.asks.intersection(words[begin:at]):
            return begin - 1
        at += options.operands
    return wrapper if wrapper >= 0 else at


def _past_options(words: list[str], at: int, valued: frozenset[str]) -> int:
    """Where the options and assignments that begin at this word end; those in `valued` take the next word along."""
    while at < len(words) and ((words[at][:1] in ("-", "+") and len(words[at]) > 1) or "=" in words[at]):
        if words[at] == "--":
            return at + 1
        at += 2 if words[at] in valued else 1
    return at


def _subcommand(program: str, family: Family, words: list[str]) -> str | None:
    """The program with as many words after it as name what it does."""
    found = [program]
    at = 0
    for level in range(family.depth):
        at = _past_options(words, at, family.valued if level == 0 else family.valued | family.inner)
        if at >= len(words) or not _SUBCOMMAND.fullmatch(words[at]):
            break
        found.append(words[at])
        at += 1
        if level == 0 and family.nested is not None and found[1] not in family.nested:
            break
    return " ".join(found) if len(found) > 1 else None


def _python_module(program: str, words: list[str]) -> str | None:
    """``python -m pytest``, ``python manage.py migrate``; other scripts have no sub-command."""
    at = _past_options(words, 0, frozenset(("-W", "-X", "-m", "-c")))
    flag = next((i for i, w in enumerate(words[:at]) if w in ("-m", "-c")), None)
    if flag is not None:
        named = words[flag] == "-m" and flag + 1 < len(words)
        return f"{program} -m {words[flag + 1]}" if named else None
    if at + 1 < len(words) and _basename(words[at]) == "manage.py" and _SUBCOMMAND.fullmatch(words[at + 1]):
        return f"{program} manage.py {words[at + 1]}"
    return None


def _basename(word: str) -> str:
    """The last part of a path to a program, as people say it: no folder, no ``.exe``."""
    if "/" in word or "\\" in word:
        word = word.replace("\\", "/").rstrip("/").rpartition("/")[2] or word
    return word[:-4] if word.lower().endswith(".exe") else word
