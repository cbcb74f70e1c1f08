"""The pages of the documentation as tests see them, and the console sessions that they show.

A ``console`` block is a session: each line after ``$`` is typed into bash, in an empty folder that has ``fixtures`` in
it, and what is printed must be what stands below, line by line; a line ``…`` stands for any lines. The blocks of a page are
one session. A ``toml`` or ``python`` block after "Create `NAME`:" is a file that the session has.

``python -m tests.doc_pages`` runs all sessions and writes what is printed into the pages. Where lines were left out, those
that stand there are looked up by likeness, so read the difference before you commit it.
"""

from __future__ import annotations

import difflib
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = tuple(
    path.relative_to(ROOT).as_posix()
    for path in (
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "ARCHITECTURE.md",
        *sorted((ROOT / "docs").glob("*.md")),
    )
)
COLUMNS = 88
ELISION = "…"


def text(page: str) -> str:
    """The text of a page."""
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: str, language: str) -> list[str]:
    """The fenced blocks of a language on a page, without their fences."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text(page), flags=re.MULTILINE | re.DOTALL)


def commands(page: str) -> Iterator[list[str]]:
    """Every command in the shell and console blocks of a page, as words; ``a && b`` and ``a | b`` are two."""
    lines = [line for block in blocks(page, "sh") for line in block.splitlines()]
    lines += [step.command for block in blocks(page, "console") for step in steps(block)]
    for line in lines:
        words = shlex.split(line, comments=True)
        while words:
            ends = [place for place, word in enumerate(words) if word in ("&&", "|")]
            end = ends[0] if ends else len(words)
            yield _without_redirections(words[:end])
            words = words[end + 1 :]


def _without_redirections(words: list[str]) -> list[str]:
    kept: list[str] = []
    skip = False
    for word in words:
        if not skip and re.fullmatch(r"\d?>", word):
            skip = True
        elif skip:
            skip = False
        else:
            kept.append(word)
    return kept


@dataclass(frozen=True)
class Step:
    """One command of a session, and the lines below it."""

    command: str
    shown: tuple[str, ...]


@dataclass
class Session:
    """A shell in a folder of its own."""

    folder: Path
    root: Path = field(init=False)

    def __post_init__(self) -> None:
        self.root = self.folder
        (self.folder / "fixtures").symlink_to(ROOT / "fixtures")

    def run(self, command: str) -> tuple[str, ...]:
        """The lines that a command prints, on standard output and standard error together."""
        program, *arguments = shlex.split(command)
        if program == "cd":
            self.folder = self.folder / arguments[0]
            return ()
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self._environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
        printed = done.stdout.replace(str(self.root), "~").rstrip("\n")
        return tuple(line.rstrip() for line in printed.split("\n")) if printed else ()

    def _environment(self) -> dict[str, str]:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        ours = {"PATH": path, "COLUMNS": str(COLUMNS), "HOME": str(self.root), "PYTHONPATH": str(ROOT)}
        return {name: value for name, value in os.environ.items() if name != "HABITUS_DB"} | ours


def steps(block: str) -> list[Step]:
    """The commands of a console block, each with the lines below it."""
    found: list[Step] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append(Step(line[2:], ()))
        else:
            found[-1] = Step(found[-1].command, (*found[-1].shown, line))
    return found


def files(page: str) -> dict[str, str]:
    """The files that a page asks to create, by name."""
    found = re.findall(
        r"^Create `([\w./-]+)`:\n\n```(?:toml|python)\n(.*?)^```$", text(page), re.MULTILINE | re.DOTALL
    )
    return dict(found)


def run_page(page: str, folder: Path) -> Iterator[tuple[Step, tuple[str, ...]]]:
    """Each step of a page's session, with what is printed."""
    session = Session(folder)
    for name, content in files(page).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    for block in blocks(page, "console"):
        for step in steps(block):
            yield step, session.run(step.command)


def first_difference(shown: tuple[str, ...], printed: tuple[str, ...]) -> str | None:
    """What is shown and not printed, or printed and not shown; None if they agree."""
    place = 0
    for number, part in enumerate(_parts(shown)):
        ahead = range(place, len(printed) - len(part) + 1) if number else range(min(len(printed) + 1, 1))
        found = next((start for start in ahead if printed[start : start + len(part)] == part), None)
        if found is None:
            return "not printed:\n" + "\n".join(part) + "\nbut:\n" + "\n".join(printed)
        place = found + len(part)
    if shown[-1:] != (ELISION,) and place < len(printed):
        return "printed and not shown:\n" + "\n".join(printed[place:])
    return None


def _parts(shown: tuple[str, ...]) -> list[tuple[str, ...]]:
    parts: list[tuple[str, ...]] = [()]
    for line in shown:
        if line == ELISION:
            parts.append(())
        else:
            parts[-1] = (*parts[-1], line)
    return parts


def renewed(shown: tuple[str, ...], printed: tuple[str, ...]) -> tuple[str, ...]:
    """The printed lines, with the same ones omitted where they can be matched."""
    if first_difference(shown, printed) is None or ELISION not in shown:
        return shown if first_difference(shown, printed) is None else printed
    lines: list[str] = []
    place = 0
    for number, part in enumerate(_parts(shown)):
        if number:
            lines.append(ELISION)
        if part:
            ahead = range(place, max(len(printed) - len(part), place) + 1)
            start = max(ahead, key=lambda start: _likeness(part, printed[start : start + len(part)]))
            lines += printed[start : start + len(part)]
            place = start + len(part)
    return tuple(lines)


def _likeness(ours: tuple[str, ...], theirs: tuple[str, ...]) -> float:
    return difflib.SequenceMatcher(None, "\n".join(ours), "\n".join(theirs), autojunk=False).ratio()


def main() -> None:
    """Write what the sessions print into the pages."""
    for page in PAGES:
        before = after = text(page)
        with tempfile.TemporaryDirectory() as folder:
            for step, printed in run_page(page, Path(folder)):
                old = "\n".join((f"$ {step.command}", *step.shown)) + "\n"
                new = "\n".join((f"$ {step.command}", *renewed(step.shown, printed))) + "\n"
                after = after.replace(old, new, 1)
        if after != before:
            (ROOT / page).write_text(after, encoding="utf-8")
            sys.stdout.write(f"{page}\n")


if __name__ == "__main__":
    main()
