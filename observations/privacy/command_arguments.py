"""Secrets that are arguments of certain programs: ``mysql -px``, ``curl -u user:x``, ``cargo login x``, ``echo x | sudo -S``.

What is known of each program is data, below; a program that is not listed is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from observations.privacy.assignments import PLACEHOLDER, is_reference, names_secret
from observations.shell.lexer import SimpleCommand, Word, simple_commands, unquoted


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _each(programs: str, options: str) -> dict[str, tuple[str, ...]]:
    return dict.fromkeys(programs.split(), tuple(options.split()))


_SECRET_OPTIONS: dict[str, tuple[str, ...]] = {
    # mysql reads `-p x` as "ask me, for the database x", but people who type it so mean the password.
    **_each("mysql mysqldump mysqladmin mysqlimport mysqlcheck mysqlsh mycli", "-p"),
    **_each("mariadb mariadb-dump mariadb-admin mariadb-import mariadb-check", "-p"),
    **_each("mongo mongosh mongodump mongorestore mongoexport mongoimport", "-p"),
    **_each("sshpass twine nxc netexec crackmapexec evil-winrm rdesktop useradd usermod", "-p"),
    **_each("xfreerdp xfreerdp3 cmdkey", "-p /p: /pass:"),
    **_each("docker podman nerdctl helm az cf oc", "-p"),
    **_each("atuin", "-p -k"),
    **_each("ldapsearch ldapadd ldapmodify ldapdelete ldapwhoami ldappasswd ldapcompare", "-w"),
    **_each("sqlcmd bcp isql zip unzip ipmitool mosquitto_pub mosquitto_sub", "-P"),
    **_each("7z 7za 7zz 7zr", "-p"),
    **_each("rar unrar", "-p -hp"),
    **_each("snmpwalk snmpget snmpset snmpbulkwalk", "-A -X -c"),
    **_each("redis-cli http https xh xhs", "-a"),
    **_each("security", "-w -p"),
    **_each("openssl", "-k -K -pass -passin -passout"),
    **_each("influx doctl vercel", "-t"),
    **_each("gh", "-b --body"),
    **_each("aws", "--value"),
}
"""Program → its options that take a secret, in the next word or glued on."""

_GLUED = _set("-p -hp -P -w -a -A -X /p: /pass:")
"""Those of them that may have the value glued on; `-k` is not one, it begins openssl's `-key`."""

_ONLY_WITH: dict[str, frozenset[str]] = {
    **dict.fromkeys(("docker", "podman", "nerdctl", "helm", "az", "cf", "oc"), _set("login set")),
    "atuin": _set("login register"),
    "gh": _set("secret"),
    "aws": _set("put-parameter configure"),
    "security": _set(
        "add-generic-password add-internet-password unlock-keychain create-keychain set-keychain-password import"
    ),
    **dict.fromkeys(("git", "npm", "yarn", "pnpm", "pip", "poetry", "conda", "rclone"), _set("config set")),
    **dict.fromkeys(("gcloud", "snap"), _set("set")),
    "openssl": _set("enc pkcs12 rsa req genrsa pkey pkcs8 ec cms smime x509 ca"),
}
"""Program → words of which one must be present for the program's entry to apply (`docker run -p` is a port)."""

_USER_AND_SECRET: dict[str, tuple[str, ...]] = {
    **_each("curl", "-u --user -U --proxy-user -b --cookie"),
    **_each("smbclient rpcclient smbget smbmap", "-U --user"),
    **_each("lftp", "-u --user"),
    **_each("transmission-remote", "-n --auth"),
}
"""Program → its options whose value is a user, a colon (a comma, a per cent or equals sign) and a secret."""

_SECRET_WORDS: dict[str, dict[str, int]] = {
    "bw": {"unlock": 0, "login": 1},
    "cargo": {"login": 0},
    "ConvertTo-SecureString": {"": 0},
    "mc": {"alias set": 3},
    "mkpasswd": {"": 0},
    "net": {"user": 1, "use": 2},
    "ngrok": {"authtoken": 0, "config add-authtoken": 0},
    "openssl": {"passwd": 0},
    "poetry": {"config http-basic": 1},
    "rabbitmqctl": {"add_user": 1, "change_password": 1},
    "rclone": {"obscure": 0},
    "vault": {"login": 0},
    "wandb": {"login": 0},
    "wpa_passphrase": {"": 1},
}
"""Program → how it goes on, and how many further words come before those that are secret."""

_ASSIGNERS = _set(
    "set setenv nmcli wpa_cli redis-cli consul etcdctl aws git npm yarn pnpm pip poetry conda rclone gcloud az snap"
)
"""Programs that set something to a value with name and value as two words (`set -gx TOKEN x`)."""

_KEY_VALUES: dict[str, tuple[str, ...]] = {
    "vault": ("kv put", "kv patch", "write"),
    "kubectl": ("create secret",),
    "heroku": ("config:set",),
    "fly": ("secrets set",),
    "flyctl": ("secrets set",),
    "doppler": ("secrets set",),
}
"""Program → how it goes on where all its ``name=value`` arguments are secret."""

_KNOWN = {*_SECRET_OPTIONS, *_USER_AND_SECRET, *_ASSIGNERS, "sqlplus", "htpasswd"}

_DEPTH = 3
_NESTED = re.compile(
    r"""'([^']*+)'?|"((?:[^"\\]|\\.)*+)"?|\$\(((?:[^()]|\((?:[^()]|\([^()]*+\))*+\))*+)\)?|`([^`]*+)`?|\\.""",
    re.DOTALL,
)
_SAYERS = _set("echo printf yes print Write-Output")
_TAKES_INPUT = re.compile(
    r"(?:^|\s)(?:--password-stdin|--passphrase-fd|--with-token|--stdin|--pinentry-mode)(?:$|\s|=)"
    r"|^(?:sudo|doas)\s(?:.*\s)?(?:-\w*S\w*|--stdin)(?:\s|$)"
    r"|^(?:sudo\s(?:-\S+\s)*)?(?:chpasswd|passwd|su|cryptsetup|vncpasswd|smbpasswd|kinit|ssh-add|gpg --import)(?:\s|$)"
    r"|^(?:gh|fly|flyctl|wrangler|docker|podman|vercel)\s(?:\S+\s)*secrets?\s(?:set|put|create|import|bulk)(?:\s|$)"
    r"|^vercel env add|^(?:vault|npm|op|wandb|huggingface-cli) login|^pass insert|^htpasswd\s(?:\S+\s)*-i"
)

ARGUMENT_HINTS = r"""
    \bmysql \bmariadb \bmycli \bmongo \bsshpass \bredis-cli \bldap \bsqlcmd \bbcp\b \bisql\b \bzip\b \bunzip\b
    \b7z \brar\b \bunrar\b \bsnmp \bipmitool \bmosquitto \bsqlplus \bsmb \brpcclient \blftp
    \btransmission-remote \bxfreerdp \bcmdkey \brdesktop \bnxc\b \bnetexec \bcrackmap \bevil-winrm \btwine
    \buser(?:add|mod)\b \binflux\b \bdoctl\b \bvercel\b \brabbitmqctl \bhtpasswd \bmkpasswd \bvnc \bkinit
    \bcryptsetup \bsecurity\b \bopenssl\b \blogin\b \bregister\b \bbw\sunlock \brclone\sobscure \bnet\suse
    \bmc\salias \bconfig:set \bkv\s(?:put|patch) \bvault\swrite \bput-parameter \bchpasswd
    \bcurl\b(?s:.*)\s-\S*[ub] \bhttps?\b(?s:.*)\s-a \bxhs?\b(?s:.*)\s-a <<< --stdin \bsudo\b(?s:.*)-\w*s
    \bdoas\b(?s:.*)-\w*s \bgpg\s--import \bpass\sinsert \bpasswd\b \bauthtoken \bsecrets?\s
    \bset(?:env)?\b(?s:.*)(?:pass|pwd|pw|secret|token|key|auth|cred|cookie|sig|psk|pin|jwt|otp|bearer) \bnmcli\b \bwpa_ --password-stdin
    --with-token \bconfig(?:ure)?\b(?s:.*)(?:pass|pwd|pw|secret|token|key|auth|cred|cookie|sig|psk|pin|jwt|otp|bearer|http-basic)
    --passphrase-fd \bnpm\slogin \bsu\s \bconvertto-sec \betcdctl \bconsul
    """
"""Patterns, in lower case, of which one is in every text with a program that takes a secret."""


def redact_arguments(text: str) -> str:
    """The text with the arguments that its programs take as secrets replaced by `PLACEHOLDER`."""
    pieces: list[str] = []
    done = 0
    for start, end in sorted(_spans(text, _DEPTH)):
        if start >= done and end > start:
            pieces += (text[done:start], PLACEHOLDER)
            done = end
    return "".join((*pieces, text[done:]))


def _spans(text: str, depth: int) -> set[tuple[int, int]]:
    """Where secret arguments lie, also in commands inside: ``ssh host "mysql -px"``, ``$(…)``, a here-document."""
    commands = list(simple_commands(text, in_comments=True))
    found = {span for command in commands for span in _secrets(command)} | set(_fed(commands))
    if depth == 0:
        return found
    for command in commands:
        for word in (*command.words, *command.fed):
            is_body = word in command.fed and text.endswith("\n", 0, word.start)
            for start, end in [(0, len(word.text))] if is_body else _inside(word.text):
                inner = _spans(word.text[start:end], depth - 1)
                found |= {(word.start + start + a, word.start + start + b) for a, b in inner}
    return found


def _inside(word: str) -> list[tuple[int, int]]:
    """Where a word holds what may be a command: in quotes or ``$(…)``, with a blank in it."""
    if " " not in word:
        return []
    return [m.span(m.lastindex) for m in _NESTED.finditer(word) if m.lastindex and " " in m[m.lastindex]]


def _secrets(command: SimpleCommand) -> Iterator[tuple[int, int]]:
    """Where this command's secret arguments lie. Its program may be any word: `sudo -u ada mysql -px`."""
    words = command.words
    known = set(_KNOWN)
    for at, word in enumerate(words):
        program = unquoted(word.text).rpartition("/")[2]
        if program not in known:
            continue
        known.discard(program)  # the first of a name is the program, the others are its arguments
        rest = words[at + 1 :]
        if program in _ONLY_WITH and not any(w.text in _ONLY_WITH[program] for w in rest):
            continue
        yield from _of_options(rest, _SECRET_OPTIONS.get(program, ()))
        yield from _of_user_options(rest, _USER_AND_SECRET.get(program, ()))
        if program in _ASSIGNERS:
            yield from _of_pairs(rest)
        elif program == "sqlplus":
            yield from _of_login(rest)
        elif program == "htpasswd" and any(re.fullmatch(r"-\w*b\w*", w.text) for w in rest):
            yield rest[-1].start, rest[-1].end
    if command.words:
        yield from _of_beginning(words)


def _of_options(words: list[Word], options: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    for at, word in enumerate(words):
        if word.text in options:
            if at + 1 < len(words) and not words[at + 1].text.startswith("-"):
                yield from _unless_reference(words[at + 1], 0)
        elif glued := next((o for o in options if o in _GLUED and word.text.startswith(o)), None):
            yield from _unless_reference(word, len(glued))


def _of_user_options(words: list[Word], options: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    for at, word in enumerate(words):
        several = re.fullmatch(r"-[a-zA-Z]+", word.text) and f"-{word.text[-1]}" in options  # curl -su
        glued = next((o for o in options if word.text.startswith(o if len(o) == 2 else f"{o}=")), "")
        if word.text in options or several:
            value, skip = (words[at + 1], 0) if at + 1 < len(words) else (word, len(word.text))
        else:
            value, skip = word, len(glued) + (len(glued) > 2)
        if skip or value is not word:
            parted = re.compile(r"""["']?[^:,%=]*[:,%=]""").match(value.text, skip)
            yield from _unless_reference(value, parted.end()) if parted else ()


def _of_pairs(words: list[Word]) -> Iterator[tuple[int, int]]:
    """``NAME value`` as two words, where the name names a secret."""
    for name, value in pairwise(words):
        plain = re.split("[:/]", unquoted(name.text))[-1]
        if re.fullmatch(r"[A-Za-z_][\w.-]*", plain) and names_secret(plain) and value.text[:1] != "-":
            yield from _unless_reference(value, 0)


def _of_login(words: list[Word]) -> Iterator[tuple[int, int]]:
    """``user/secret@database``, as Oracle takes it."""
    for word in words:
        if parted := re.match(r"[\w.$#\"']+/(?=[^@/])", word.text):
            end = word.text.rfind("@")
            yield word.start + parted.end(), word.start + end if end > parted.end() else word.end


def _of_beginning(words: list[Word]) -> Iterator[tuple[int, int]]:
    """The arguments that are secret by how the command begins, perhaps after `sudo` or assignments."""
    plain = [w for w in words if not w.text.startswith("-")]
    at = next((i for i, w in enumerate(plain) if w.text in _SECRET_WORDS or w.text in _KEY_VALUES), None)
    if at is None:
        return
    rest = plain[at + 1 :]
    line = " ".join(w.text for w in rest) + " "
    for more, skip in _SECRET_WORDS.get(plain[at].text, {}).items():
        if not more or line.startswith((f"{more} ", f"{more}.")):
            for word in rest[len(more.split()) + skip :]:
                yield from _unless_reference(word, 0)
    if any(line.startswith(f"{more} ") for more in _KEY_VALUES.get(plain[at].text, ())):
        for word in words:
            if parted := re.match(r"(?:--from-literal=)?(?!-)[A-Za-z_][\w.-]*=", word.text):
                yield from _unless_reference(word, parted.end())


def _fed(commands: list[SimpleCommand]) -> Iterator[tuple[int, int]]:
    """What is piped or read into a command that takes a secret on its standard input."""
    said: list[SimpleCommand] = []
    for command in commands:
        line = " ".join(w.text for w in command.words)
        if _TAKES_INPUT.search(line):
            for word in command.fed:
                yield from _unless_reference(word, 0)
            for sayer in said:
                yield from _sayings(sayer)
        speaker = command.words[0].text if command.words else ""
        if speaker in _SAYERS or (speaker == "cat" and command.fed):
            said.append(command)
        if command.joiner in ("&&", "||"):
            said.clear()


def _sayings(command: SimpleCommand) -> Iterator[tuple[int, int]]:
    """What `echo` and its like say, as one span; a format of `printf` stays."""
    if command.fed:
        yield command.fed[0].start, command.fed[-1].end
        return
    words = [w for w in command.words[1:] if not re.fullmatch(r"-[neEr]+|--", w.text)]
    if command.words[0].text == "printf" and len(words) > 1:
        words = words[1:]
    if words and not all(is_reference(w.text) for w in words):
        yield words[0].start, words[-1].end


def _unless_reference(word: Word, skip: int) -> Iterator[tuple[int, int]]:
    """Where the rest of the word lies, unless it only says where the secret is. An open quote before it is closed."""
    value = word.text[skip:]
    quote = word.text[:1] if word.text[:1] in "'\"" and skip > 0 else ""
    closed = bool(quote) and value.endswith(quote)
    if value and not is_reference(value):
        yield word.start + skip, word.end - closed
