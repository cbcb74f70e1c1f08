"""Command lines as the shell sees them: words, simple commands, and what is fed into them.

This is no shell: it expands nothing and runs nothing. It finds where words begin and end, which is what
`observations.shell.parse` (which program was run?) and `observations.privacy.redact` (which word is a password?) need,
and it does so for any text: an open quote or a cut here-document runs to the end.

::

    echo hunter2 | sudo -S apt update && ls
    └─ words ──┘ |  └──── words ────┘ &&  └┘      three simple commands, each with the operator after it
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

_WORD = r"""(?:
        '[^']*+(?:'|\Z)                             # 'literal'
      | "(?:[^"\\]|\\.)*+(?:"|\\?\Z)                # "with escapes"
      | \$\((?:[^()]|\((?:[^()]|\([^()]*+\))*+\))*+(?:\)|\Z)   # $(command), three deep
      | `[^`]*+(?:`|\Z)                             # `command`
      | \$\{[^}]*+(?:\}|\Z)
      | \\(?:.|\Z)
      | [^\s'"`\\;|&<>()]
    )++"""
WORD = re.compile(_WORD, re.VERBOSE | re.DOTALL)
"""One shell word from where it begins: quoted and unquoted pieces without a break."""

_TOKEN = re.compile(
    rf"""
    (?:[^\S\n]|\\\r?\n)*+
    (?: \#(?P<comment>[^\n]*+)
      | (?P<word>{_WORD})
      | (?P<operator>&&|\|\||;;|\|&|&>>?|<<<|<<-?|>>|[<>]&|[<>]\(|>\||[|&;<>()\n])
    )
    """,
    re.VERBOSE | re.DOTALL,
)
_CLOSED_WORD = re.compile(_WORD.replace(r"|\Z)", ")").replace(r"|\\?\Z)", ")"), re.VERBOSE | re.DOTALL)
_OPENING = frozenset(("if", "for", "while", "until", "case", "select", "{"))
_CLOSING = frozenset(("fi", "done", "esac", "}"))
_UNFINISHED = frozenset(("|", "||", "&&", "|&"))
_STEERING = frozenset(("if", "then", "else", "elif", "while", "until", "do", "{", "!", "time"))
_REDIRECTIONS = frozenset((">", ">>", "<", "<<<", "<<", "<<-", ">&", "<&", ">|", "&>", "&>>"))
_QUOTES = re.compile(r"""'[^']*+'?|"(?:[^"\\]|\\.)*+"?|\\(.)""", re.DOTALL)


class Word(NamedTuple):
    """A word of a command line: as it was typed, and where."""

    text: str
    start: int
    end: int


@dataclass
class SimpleCommand:
    """A program with its arguments, between two operators.

    Attributes:
        words: assignments, program and arguments; redirections and comments are left out.
        joiner: the operator after it (``|``, ``&&``, ``;`` …); empty at the end.
        fed: the here-string or the bodies of the here-documents that it reads.

    """

    words: list[Word] = field(default_factory=list)
    joiner: str = ""
    fed: list[Word] = field(default_factory=list)


def simple_commands(text: str, *, in_comments: bool = False) -> Iterator[SimpleCommand]:
    """The simple commands of a command line, in the order in which they are written.

    With `in_comments`, also those that a ``#`` has put out of action.

    >>> [([w.text for w in c.words], c.joiner) for c in simple_commands("cd x && make 2>log | tee 'a b'")]
    [(['cd', 'x'], '&&'), (['make'], '|'), (['tee', "'a b'"], '')]
    """
    command = SimpleCommand()
    waiting: list[tuple[str, SimpleCommand]] = []  # here-documents whose body begins at the next line
    redirection = ""
    at = 0
    while token := _TOKEN.match(text, at):
        at = token.end()
        kind = token.lastgroup
        if kind == "comment" and in_comments:
            at = token.start("comment")
        elif kind == "word":
            piece = Word(token["word"], token.start("word"), at)
            if redirection in ("<<", "<<-"):
                waiting.append((unquoted(piece.text), command))
            elif redirection == "<<<":
                command.fed.append(piece)
            elif not redirection and not (text[at : at + 1] in ("<", ">") and piece.text.isdigit()):
                command.words.append(piece)  # it is neither the file of a redirection nor the 2 of 2>
            redirection = ""
        elif kind == "operator":
            operator = token["operator"]
            if operator in _REDIRECTIONS:
                redirection = operator
                continue
            if operator == "\n" and waiting:
                at = _read_bodies(text, at, waiting)
            if command.words or command.fed:
                command.joiner = operator
                yield command
                command = SimpleCommand()
            redirection = ""
    if command.words or command.fed:
        yield command


def quoted_spans(text: str) -> list[tuple[int, int]]:
    """Where quoted pieces lie, quotes included, in order. An open quote runs to the end.

    >>> quoted_spans("a 'b c' d")
    [(2, 7)]
    """
    return [m.span() for m in _QUOTES.finditer(text) if m[1] is None]


def unquoted(word: str) -> str:
    r"""The word as the program gets it, quotes and escapes taken away; nothing is expanded.

    >>> unquoted("'my prog'"), unquoted(r"\ls"), unquoted('"a"b')
    ('my prog', 'ls', 'ab')
    """
    if not any(c in word for c in "'\"\\"):
        return word
    return _QUOTES.sub(_strip_quotes, word)


def is_open(text: str) -> bool:
    """True if the shell would wait for more input after this: an open quote, here-document, bracket, `if` or `|`.

    >>> [is_open(t) for t in ("echo 'a", "cat <<E", "for x in a b", "make |", "{ ls", "echo it is done", "ls")]
    [True, True, True, True, True, False, False]
    """
    *_, (_, still_open) = _line_states(text)
    return still_open


def end_of_first(text: str) -> int:
    r"""Where the line ends that completes the first command of a text; its length, if none does.

    >>> end_of_first("cat <<E\nnot done\nE\nls\n")
    18
    """
    return next((at for at, still_open in _line_states(text) if not still_open), len(text))


def _line_states(text: str) -> Iterator[tuple[int, bool]]:
    """For each line end that no quote or here-document holds, and the end: where, and whether more must come."""
    depth = brackets = at = 0
    begins = True  # a word here is a command, or a word of the grammar
    last = redirection = ""
    waiting: list[tuple[str, SimpleCommand]] = []
    while token := _TOKEN.match(text, at):
        at = token.end()
        if token.lastgroup == "comment":
            continue
        before, last = last, token[token.lastgroup or 0]
        if token.lastgroup == "word":
            if not _CLOSED_WORD.fullmatch(last):
                break
            if redirection in ("<<", "<<-"):
                waiting.append((unquoted(last), SimpleCommand()))
            if begins:
                depth += (last in _OPENING) - (last in _CLOSING)
            begins = begins and last in _STEERING
            redirection = ""
            continue
        redirection = last if last in _REDIRECTIONS else ""
        begins = begins if redirection else True
        brackets = max(
            0, brackets + last.endswith("(") - (last == ")")
        )  # of `case`, only the closing one is written
        if last == "\n":
            if waiting and _body_end(text, at, waiting[0][0]) is None:
                break
            at = _read_bodies(text, at, waiting) if waiting else at
            ends = at if at == len(text) and not text.endswith("\n") else at - 1
            last = before  # a pipe at the end of a line goes on
            yield ends, depth > 0 or brackets > 0 or before in _UNFINISHED
    else:
        goes_on = bool(waiting) or text[at:].endswith("\\\n") or last in _UNFINISHED
        yield len(text), goes_on or depth > 0 or brackets > 0
        return
    yield len(text), True


def _strip_quotes(piece: re.Match[str]) -> str:
    if piece[1] is not None:
        return "" if piece[1] == "\n" else piece[1]
    quote = piece[0][0]
    inner = piece[0][1:]
    inner = inner[:-1] if inner.endswith(quote) else inner
    return inner if quote == "'" else re.sub(r'\\(["\\$`])', r"\1", inner)


def _read_bodies(text: str, at: int, waiting: list[tuple[str, SimpleCommand]]) -> int:
    """Give the here-documents that begin here to their commands; says where the text goes on."""
    for delimiter, command in waiting:
        end = _body_end(text, at, delimiter)
        stop = end.start() - 1 if end else len(text)
        if stop > at:
            command.fed.append(Word(text[at:stop], at, stop))
        at = min(end.end() + 1, len(text)) if end else len(text)
    waiting.clear()
    return at


def _body_end(text: str, at: int, delimiter: str) -> re.Match[str] | None:
    """The line that ends a here-document."""
    return re.compile(rf"^\t*{re.escape(delimiter)}[ \t\r]*$", re.MULTILINE).search(text, at)
