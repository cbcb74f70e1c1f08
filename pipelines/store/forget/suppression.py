"""How a forgotten person is kept out: the suppression list, which is applied to every observation before it is stored.

Reading the same export again would bring back what was forgotten. So for each thing forgotten the store keeps a rule
that recognizes it without containing it:

===========  =========================================  =======================================================
kind         stored                                     keeps out
===========  =========================================  =======================================================
span         two wall clocks, or none                   observations between them
observation  a digest of user and id                    that observation
name         a digest of its words, and their number    the name, wherever it appears
address      a digest of the address                    the address in fields of people (``participants``, …)
text         a digest of the words of the address       the address in any other text
===========  =========================================  =======================================================

Digests are keyed with a random number of the store, so they are useless elsewhere; anyone who holds the store can still
test a guess against them. `pipelines.store.forget.observation_filter` applies the rules, both to new observations and,
when something is forgotten, to stored ones.

**A person** is found by whole words, ignoring case, Unicode form and percent-encoding: ``lena@example.com`` is found in
"mailto:Lena@example.com" but not in "helena@example.com". In fields of people, "anna.lena@example.com" is another
person; in any other text it counts as a match, since no part of the address may remain. Then:

- an observation is deleted if the person made it (``from``), if nobody else is in ``participants`` or ``to``, if nobody
  else is named at all, or if its id names the person;
- every other observation loses the entry of a list, the single name (``organizer``), or the whole text (a title, a
  command) in which the person appears.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote

from sqlalchemy import Connection, select

from pipelines.store.database.metadata import read_fact
from pipelines.store.database.schema import suppression_list

Kind = Literal["observation", "address", "name", "text", "span"]

KEY = "key of what is unwanted"
"""Name of the fact that holds the key of the digests (`pipelines.store.database.metadata`)."""

_ADDRESS_WORD = re.compile(r"[\w@+-]+(?:\.[\w@+-]+)*")
_NAME_WORD = re.compile(r"[^\W_]+")

_WORDS = {"address": _ADDRESS_WORD, "name": _NAME_WORD, "text": _NAME_WORD}


@dataclass(frozen=True)
class Rule:
    """One entry of the suppression list.

    Attributes:
        kind: see the module.
        digest: of what is kept out; for a span, of its bounds.
        owner: digest of the user to whose records it applies; empty for all users.
        words: number of words of the address or name; `None` for spans and observations.
        since: start of a span, wall clock, µs; `None` for no bound.
        until: end of a span, exclusive, wall clock, µs; `None` for no bound.
        latest: last instant the span applies to, µs since 1970 UTC; `None` for no bound.

    """

    kind: Kind
    digest: str
    owner: str = ""
    words: int | None = None
    since: int | None = None
    until: int | None = None
    latest: int | None = None


class DigestKey:
    """Makes keyed digests."""

    def __init__(self, key: bytes) -> None:
        self.key = key

    def digest(self, *parts: str) -> str:
        """A 128-bit digest of these texts, in hexadecimal."""
        text = "\0".join(parts).encode("utf-8", "surrogatepass")
        return hashlib.blake2b(text, key=self.key, digest_size=16).hexdigest()

    def person(self, name: str, owner: str = "") -> list[Rule]:
        """Rules that keep out a person with this address or name."""
        kinds: tuple[Kind, ...] = ("address", "text") if "@" in name else ("name",)
        found = {kind: _words(name, kind) for kind in kinds}
        return [
            Rule(kind, self.digest(kind, *words), owner, words=len(words)) for kind, words in found.items()
        ]

    def observation(self, user: str, id: str) -> Rule:
        """A rule that keeps out one observation."""
        return Rule("observation", self.digest("observation", user, id), self.digest("user", user))

    def span(self, owner: str, since: int | None, until: int | None, latest: int | None) -> Rule:
        """A rule that keeps out a span of time."""
        bounds = self.digest("span", str(since), str(until), str(latest))
        return Rule("span", bounds, owner, since=since, until=until, latest=latest)


class Mentions:
    """Tests whether a text names one of the forgotten people.

    Args:
        rules: rules not about people are ignored.
        key: the key that made them.
        among_people: true if the texts are names or addresses of people.

    """

    def __init__(self, rules: Iterable[Rule], key: DigestKey, *, among_people: bool = False) -> None:
        self._key = key
        self._digests: dict[str, dict[int, set[str]]] = {}
        for rule in rules:
            if rule.words and rule.kind in ("name", "address" if among_people else "text"):
                self._digests.setdefault(rule.kind, {}).setdefault(rule.words, set()).add(rule.digest)

    def __call__(self, text: str) -> bool:
        """True if the text names one of them."""
        return any(
            self._key.digest(kind, *window) in digests
            for kind, sizes in self._digests.items()
            for words in [_words(text, kind)]
            for size, digests in sizes.items()
            for window in _windows(words, size)
        )


def has_words(name: str) -> bool:
    """True if a name contains any word to search for."""
    return bool(_words(name, "name"))


def read_rules(connection: Connection) -> list[Rule]:
    """The suppression list."""
    return [Rule(**row._mapping) for row in connection.execute(select(suppression_list))]


def read_key(connection: Connection) -> DigestKey:
    """The key of the store.

    Raises:
        LookupError: the store has no key yet.
    """
    key = read_fact(connection, KEY)
    if key is None:
        raise LookupError(KEY)
    return DigestKey(bytes.fromhex(key))


def _words(text: str, kind: str) -> list[str]:
    plain = unicodedata.normalize("NFKC", unquote(text) if "%" in text else text).casefold()
    return _WORDS[kind].findall(plain)


def _windows(words: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (words[start : start + size] for start in range(len(words) - size + 1))
