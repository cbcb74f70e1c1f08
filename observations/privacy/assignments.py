"""Secrets that a name announces: ``--password x``, ``API_KEY=x``, ``"token": "x"``, ``?sig=x``, ``X-Api-Key: x``.

Two questions are asked of each name followed by a value: does it name a secret, and where does the value end?
The second depends on the quotes around: in ``-H "X-Api-Key: a b"`` at the closing quote, in
``-d 'user=a&password=b'`` at the ampersand, in ``PASSWORD='a b' cmd`` where the shell word ends.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from typing import NamedTuple

from observations.shell.lexer import WORD, quoted_spans

PLACEHOLDER = "‹secret›"
"""What stands where a secret was."""

NAME_HINTS = (
    r" pass pwd secret token key auth cred cookie sig psk pin jwt otp bearer \bpw _pw identified\sby "
)
"""Patterns, in lower case, of which one is in every text that holds such a name (`observations.privacy.prefilter`)."""

VALUE_FOLLOWS = r"""[\w.-]*(?:\\?["'])?\s*(?:[:=]|\s\S)"""
"""What comes after it where there may be a value."""

_NAMED = re.compile(
    r"""
    (?<![\w.-])
    (?:
      (?P<name>-{0,2}[A-Za-z_$][\w.-]*+)
      (?P<sep>(?:\\?["'])? [^\S\n]*+ (?: :?={1,3}>? | : ) [^\S\n]*+)
    | (?P<words>(?i:identified[ ]+(?:with[ ]+\S+[ ]+)?by|password)[ ]++(?=["']) | login[ ]+\S+[ ]+password[ ]+)
    | (?P<option>-{1,2}[A-Za-z][\w-]*+)[^\S\n]++
    )
    """,
    re.VERBOSE,
)
_SECRET = re.compile(
    r"passw|passphrase|passcode|secret|(?:api|access|private|account|auth|license|master)_?key|auth_?token|credential"
    r"|(?:^|_)(?:pass|pwd|pw|psk|pin|tokens?|auth|authorization|cookie|sig|signature|creds?|jwt|otp|bearer|\w+_key)\d*(?:$|_)"
    r"|(?<!by)(?<!com)(?<!tres)(?<!im)(?<!ask)(?:pass|pwd|token)$"
)
_HARMLESS = re.compile(
    r"^(?:no|ask|show|with|without|list|use|skip|has|get|max|min|num|n|total|count|per)_"
    r"|_(?:file|files|path|dir|stdin|fd|env|name|names|id|ids|url|uri|type|command|cmd|ttl|expiry|expires|length"
    r"|policy|prompt|provider|stores?|format|size|count|limit|bits|algorithm|version|exists|required|enabled|jar"
    r"|helper|ring|servers?|mode|method|usage|chars|parallelism|timeout|attempts|endpoint|host|port|field|column|index)$"
    r"|(?:public|primary|foreign|partition|sort|group|routing|cache|row|hot|short|index|map|dict)_?keys?$"
)
_ENDS_SECRET = re.compile(
    r"(?:passw(?:or)?d|passphrase|passcode|pass|pwd|pw|psk|pin|secrets?(?:_string|_value)?|tokens?|_key|(?:api|auth|access)key|auth"
    r"|cookie|sig|signature|credentials?|creds?|jwt|otp|bearer)\d*$"
)
_SINGLE_DASH = re.compile(  # exact: `-psecret` is mysql's -p with the password "secret"
    r"password|passwd|passphrase|pass|pwd?|psk|token|secret|auth|(?:src|dest|new)?(?:store|key)pass"
    r"|(?:\w+_)?(?:api_?key|access_?key|client_?secret|(?:auth|access|api)_?token)"
)
_HEADER = re.compile(r"-|^(?:authorization|cookie|apikey)$", re.IGNORECASE)
_SCHEME = re.compile(r"(?:bearer|basic|token|digest|apikey|negotiate)(?:[ ]+|\\[ ])", re.IGNORECASE)
_REFERENCE = re.compile(
    r"""["']?\$(?:env:)?(?:\w+|\{[^}]*\})["']?(?=$|[\s;|&,)}'"])|"?\$\(|"?`|<\(|"?%\w+%"""
)
_NO_SECRET = re.compile(
    r"""(?:''|""|(?P<quote>["']?)(?:true|false|yes|no|none|null|on|off)(?P=quote))(?=$|[\s;|&,)}'"])""",
    re.IGNORECASE,
)
_LOOKS_RANDOM = re.compile(r"(?=\S*[0-9])(?=\S*[A-Za-z])[A-Za-z0-9+/=_-]{16,}")
_LOOKS_PATH = re.compile(
    r"(?:~|\.{1,2})?/\S*/|~|\.{1,2}/|\S+\.(?:pem|key|pub|crt|cer|json|p12|pfx|asc|gpg|txt|ya?ml)\b"
)
_FIELD_END = re.compile(r"\s|[&;,](?=[A-Za-z][\w.-]*=)")
_NEXT_FIELD = re.compile(r"&(?=[A-Za-z][\w.-]*=)")
_IN_LIST = re.compile(r"(?:,|\s-[\w-]+[ =])$")  # --set a=1,password=x,b=2, where a comma ends the value
_ITEM = re.compile(r"""(?:[^\s,;|&<>()'"\\]|,(?![A-Za-z][\w.-]{0,100}=))++""")
_LONGEST = 10_000  # characters of one secret; without a limit a hostile text would be read once for each of its names
_PLAIN_VALUE = re.compile(r"""[^\s'",;&|<>(){}\[\]]+""")
_OPTION = re.compile(r"-{1,2}[A-Za-z]")


class _Around(NamedTuple):
    """The contents of the quotes around a place; the whole text outside quotes."""

    start: int
    end: int
    quoted: bool


_NOTHING = (0, 0)


def redact_named(text: str) -> str:
    """The text with the value of each name that names a secret replaced by `PLACEHOLDER`."""
    spans = quoted_spans(text)
    starts = [start for start, _ in spans]
    pieces: list[str] = []
    done = at = 0
    while named := _NAMED.search(text, at):
        at = named.end()
        # The quotes of a name that has its own, as in JSON, are not those around it.
        place = named.start() - (_is_json(named["sep"]) if named["sep"] else 0)
        start, end = _found(text, named, _around(text, spans, starts, place))
        if end > start:
            pieces += (text[done:start], PLACEHOLDER)
            done = at = end
    return "".join((*pieces, text[done:]))


@lru_cache(maxsize=8_192)
def names_secret(name: str) -> bool:
    """True if a variable, option, header or field of this name holds a secret.

    >>> [n for n in ("PGPASSWORD", "apiKey", "PWD", "token_file", "max-tokens", "--no-password") if names_secret(n)]
    ['PGPASSWORD', 'apiKey']
    """
    if name in ("PWD", "OLDPWD"):
        return False
    plain = _plain(name)
    return _SECRET.search(plain) is not None and _HARMLESS.search(plain) is None


def is_reference(value: str) -> bool:
    """True if a value only refers to a secret: a variable, or the output of a command."""
    return _REFERENCE.match(value) is not None


@lru_cache(maxsize=8_192)
def _plain(name: str) -> str:
    # No name is longer; a hostile text must not cost more than its length.
    spread = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.lstrip("-$")[-100:])
    return re.sub(r"[.-]", "_", spread).lower().strip("_")


def _around(text: str, spans: list[tuple[int, int]], starts: list[int], at: int) -> _Around:
    nearest = bisect_right(starts, at) - 1
    if nearest >= 0 and spans[nearest][0] < at < spans[nearest][1]:
        start, end = spans[nearest]
        closed = end - start > 1 and text[end - 1] == text[start]
        return _Around(start + 1, end - 1 if closed else end, quoted=True)
    return _Around(0, len(text), quoted=False)


def _is_json(sep: str) -> bool:
    """True if the separator of name and value begins with the quote that closes the name."""
    return sep.lstrip("\\")[:1] in ('"', "'")


def _found(text: str, named: re.Match[str], around: _Around) -> tuple[int, int]:
    """Where the value lies that is to be redacted; an empty span where there is none."""
    if named["option"]:
        return _option_value(text, named, around)
    if named["words"]:
        return _extent(text, named, around)
    return _value(text, named, around)


def _option_value(text: str, named: re.Match[str], around: _Around) -> tuple[int, int]:
    """The word after an option such as ``--password``; nothing where it is another option or a reference."""
    name, start = named["option"], named.end()
    word = WORD.match(text, start, around.end)
    if word is None or _OPTION.match(word[0]) or is_reference(text[start:]) or _NO_SECRET.match(text, start):
        return _NOTHING
    plain = _plain(name)
    if plain in ("key", "keys"):
        return word.span() if _LOOKS_RANDOM.fullmatch(word[0]) else _NOTHING
    ends = _ENDS_SECRET.search(plain) if name.startswith("--") else _SINGLE_DASH.fullmatch(plain)
    if not (ends and names_secret(name)):
        return _NOTHING
    if plain == "secret" and word[0].startswith("id="):  # docker build --secret id=…,src=…
        return _NOTHING
    return _NOTHING if _is_path(plain, word[0]) else word.span()


def _value(text: str, named: re.Match[str], around: _Around) -> tuple[int, int]:
    """The value after ``name=`` or ``name:``, where the name names a secret."""
    name, sep, start = named["name"], named["sep"], named.end()
    plain = _plain(name)
    bare_key = plain in ("key", "keys")
    if not (bare_key or names_secret(name)) or text.endswith("//", 0, named.start()):  # //user:… is a URL
        return _NOTHING
    if is_reference(text[start : around.end]) or _NO_SECRET.match(text, start, around.end):
        return _NOTHING
    if ":" in sep and "=" not in sep and not _is_json(sep):
        return _NOTHING if bare_key else _header_value(text, named, around)
    start, end = _extent(text, named, around)
    found = text[start:end]
    if bare_key:
        return (start, end) if _LOOKS_RANDOM.fullmatch(found) else _NOTHING
    if _is_path(plain, found) or (plain.endswith("tokens") and found.isdigit()):
        return _NOTHING
    return start, end


def _extent(text: str, named: re.Match[str], around: _Around) -> tuple[int, int]:
    """Where the value lies: in its own quotes, or up to the end of the field, the shell word or the quotes around."""
    start = named.end()
    json = named["sep"] is not None and _is_json(named["sep"])
    if around.quoted or json:
        for quote in ('\\"', "\\'", '"', "'"):  # \"x\" is JSON in double quotes
            if text.startswith(quote, start):
                end = text.find(quote, start + len(quote), around.end)
                return start + len(quote), end if end >= 0 else around.end
    if json or not around.quoted:
        in_list = _IN_LIST.search(text, max(0, named.start() - 50), named.start())
        shape = (
            _PLAIN_VALUE if json else _ITEM if in_list and text[start : start + 1] not in ("'", '"') else WORD
        )
        word = shape.match(text, start, min(around.end, start + _LONGEST))
        return word.span() if word else _NOTHING
    ends = _NEXT_FIELD if named.start() == around.start else _FIELD_END
    stop = ends.search(text, start, around.end)
    return start, stop.start() if stop else around.end


def _header_value(text: str, named: re.Match[str], around: _Around) -> tuple[int, int]:
    """The value after ``Name: ``. Of a header all of it, but for the scheme; else a word that can be a password."""
    name, start = named["name"], named.end()
    scheme = _SCHEME.match(text, start, around.end)
    start = scheme.end() if scheme else start
    if is_reference(text[start : around.end]):
        return _NOTHING
    if _HEADER.search(name) and (scheme or not around.quoted or named.start() == around.start):
        line = text.find("\n", start, around.end)
        end = line if line >= 0 else around.end
        word = WORD.match(text, start)
        return (start, end) if around.quoted else word.span() if word else _NOTHING
    if text[start : start + 1] in ("'", '"'):
        return _extent(text, named, around)
    word = _PLAIN_VALUE.match(text, start, around.end)
    if word is None or text[start] in "/~.":
        return _NOTHING
    alone = text[word.end() : word.end() + 1] in ("", "\n") and "\n" in text
    return word.span() if alone or (len(word[0]) >= 4 and any(c.isdigit() for c in word[0])) else _NOTHING


def _is_path(plain: str, value: str) -> bool:
    """True if the value of a name that ends in "key" is the path of a key file."""
    return plain.endswith("key") and "secret" not in plain and bool(_LOOKS_PATH.match(value.strip("'\"")))
