"""What was forgotten stays out: rules that tell it when it comes again, without knowing it.

An export that is read once more would bring back what was forgotten. So the store keeps a rule for each thing that was:

===========  =========================================  =======================================================
kind         what is kept of it                         what it keeps out
===========  =========================================  =======================================================
span         two wall clocks, or none                   what happened between them
observation  a digest of user and id                    that observation
name         a digest of its words, and their number    the name, wherever it stands
address      a digest of the address                    the address among people (``participants``, ``from``, …)
text         a digest of the words of the address       the address in any other text
===========  =========================================  =======================================================

Digests are keyed with a random number of the store, so they say nothing outside of it; who holds the store can test
a guess against them. Forgetting itself applies the same rules (`pipelines.store.forget.observation_filter`) to what is stored already: what stays is what
would have been let in.

**A person** is found by whole words, whatever their case, Unicode form or percent-encoding: ``lena@example.com`` in
"mailto:Lena@example.com", not in "helena@example.com". Among people, "anna.lena@example.com" is somebody else; in any
other text it is in doubt and counts, for not a byte of the address is to stay. Then:

- an observation that they made (``from``), or that is with them alone (nobody else in ``participants`` or ``to``, or
  nobody else named at all), or whose id names them, goes;
- any other loses them: the entry of a list, a single name (``organizer``), and every text they stand in (a title, a
  command), as a whole.
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

from pipelines.store.metadata import fact
from pipelines.store.schema import unwanted

Kind = Literal["observation", "address", "name", "text", "span"]

KEY = "key of what is unwanted"
"""The fact of the store that holds the key of its digests."""

_ADDRESS_WORD = re.compile(r"[\w@+-]+(?:\.[\w@+-]+)*")
_NAME_WORD = re.compile(r"[^\W_]+")

_WORDS = {"address": _ADDRESS_WORD, "name": _NAME_WORD, "text": _NAME_WORD}


@dataclass(frozen=True)
class Rule:
    """One thing that is not let in.

    Attributes:
        kind: of what.
        digest: of what it is; of a span, of its bounds.
        owner: digest of whose records it is about; empty for anybody's.
        words: of a person: how many words the address or name has.
        since: of a span: wall clock from which, µs; null from the beginning.
        until: wall clock before which, µs; null to the end.
        latest: nothing later than this instant, µs since 1970 UTC; null for no bound.

    """

    kind: Kind
    digest: str
    owner: str = ""
    words: int | None = None
    since: int | None = None
    until: int | None = None
    latest: int | None = None


class Seal:
    """Makes digests that only this key makes."""

    def __init__(self, key: bytes) -> None:
        self.key = key

    def digest(self, *parts: str) -> str:
        """128 bits of these texts, as hexadecimal digits."""
        said = "\0".join(parts).encode("utf-8", "surrogatepass")
        return hashlib.blake2b(said, key=self.key, digest_size=16).hexdigest()

    def person(self, name: str, owner: str = "") -> list[Rule]:
        """The rules that keep out a person with this address or name."""
        kinds: tuple[Kind, ...] = ("address", "text") if "@" in name else ("name",)
        found = {kind: _words(name, kind) for kind in kinds}
        return [
            Rule(kind, self.digest(kind, *words), owner, words=len(words)) for kind, words in found.items()
        ]

    def observation(self, user: str, id: str) -> Rule:
        """The rule that keeps out one observation."""
        return Rule("observation", self.digest("observation", user, id), self.digest("user", user))

    def span(self, owner: str, since: int | None, until: int | None, latest: int | None) -> Rule:
        """The rule that keeps out a span of time."""
        bounds = self.digest("span", str(since), str(until), str(latest))
        return Rule("span", bounds, owner, since=since, until=until, latest=latest)


class Mentions:
    """Tells whether one of some people stands in a text.

    Args:
        rules: those about people are heeded.
        seal: the one that made them.
        among_people: whether the texts are names of people.

    """

    def __init__(self, rules: Iterable[Rule], seal: Seal, *, among_people: bool = False) -> None:
        self._seal = seal
        self._digests: dict[str, dict[int, set[str]]] = {}
        for rule in rules:
            if rule.words and rule.kind in ("name", "address" if among_people else "text"):
                self._digests.setdefault(rule.kind, {}).setdefault(rule.words, set()).add(rule.digest)

    def __call__(self, text: str) -> bool:
        """Whether one of them does."""
        return any(
            self._seal.digest(kind, *window) in digests
            for kind, sizes in self._digests.items()
            for words in [_words(text, kind)]
            for size, digests in sizes.items()
            for window in _windows(words, size)
        )


def has_words(name: str) -> bool:
    """Whether there is anything in a name by which it could be found."""
    return bool(_words(name, "name"))


def read_rules(connection: Connection) -> list[Rule]:
    """All rules of the store."""
    return [Rule(**row._mapping) for row in connection.execute(select(unwanted))]


def read_seal(connection: Connection) -> Seal:
    """The seal of the store.

    Raises:
        LookupError: it has none yet.
    """
    key = fact(connection, KEY)
    if key is None:
        raise LookupError(KEY)
    return Seal(bytes.fromhex(key))


def _words(text: str, kind: str) -> list[str]:
    plain = unicodedata.normalize("NFKC", unquote(text) if "%" in text else text).casefold()
    return _WORDS[kind].findall(plain)


def _windows(words: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (words[start : start + size] for start in range(len(words) - size + 1))
