"""Kinds of thing: what is left of a title once everything that changes from one time to the next is gone.

"1:1 Ana (week 12)" and "1:1 Ana (week 13)" are two titles and one kind, ``1:1 ana``. Without a category this is
all there is to tell a person's habits apart by, so the rules err towards leaving words in: a word too many splits
a habit in two, a word too few makes one habit of two.

Left out are case, punctuation, numbers, dates in the spellings of seven languages, clock times and durations,
versions, hashes, ticket ids and addresses of pages, the prefixes of replies and forwards, and list tags at the
head. Kept are words of every script with their accents, and three things that look like numbers and are names:

- ``1:1`` (also written 1-1, 1on1, 1-on-1): one digit on both sides of a colon is never a clock time;
- a letter or two with a digit or two, like ``b2`` or ``s3`` (unless it counts quarters, weeks or versions);
- digits inside or in front of a word: ``k8s``, ``5k``.

A title with nothing else in it keeps its words, then its numbers, then its signs: "Week 12" is ``week``,
"2026-118" is ``2026 118`` and "🎉" is ``🎉``.
"""

from __future__ import annotations

from unicodedata import normalize

import polars as pl

REPLY_PREFIXES = (
    # The abbreviations that mail programs write for "reply" and "forward", as listed in Wikipedia, "List of email
    # subject abbreviations", and the words that Outlook and Gmail write in full.
    "re fw fwd fs aw antw antwort wg doorst sv vs vb vl vá továbbítás tr rif r i inoltra rv res enc ref réf "
    "ynt ilt odp pd atb bls ynd trs nfwd ответ пересл απ σχετ πρθ 回复 答复 回覆 转发 轉寄 返信 転送 תגובה הועבר رد"
)

_MONTHS = (
    "january february march april may june july august september october november december "
    "jan feb mar apr jun jul aug sep sept oct nov dec "
    "januar februar märz maerz mai juni juli oktober dezember jän jänner mär okt dez "
    "janvier février fevrier mars avril juin juillet août aout septembre octobre novembre décembre decembre "
    "janv févr fevr avr juil déc "
    "enero febrero marzo abril mayo junio julio agosto septiembre setiembre octubre noviembre diciembre "
    "ene abr ago dic "
    "gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre gen mag giu lug ott "
    "janeiro fevereiro março marco maio junho julho setembro outubro novembro dezembro "
    "januari februari maart mei augustus mrt"
)

_WEEKDAYS = (
    "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun "
    "montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag "
    "lundi mardi mercredi jeudi vendredi samedi dimanche lun mer jeu ven sam dim "
    "lunes martes miércoles miercoles jueves viernes sábado sabado domingo mié jue vie sáb dom "
    "lunedì martedì mercoledì giovedì venerdì sabato domenica gio "
    "segunda terça quarta quinta sexta seg ter qua qui sex "
    "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag"
)

_SHORT_WEEKDAYS = "mo tu we th fr sa su di mi do so ma wo vr za zo"
"""Only in front of a full date: "do 3" and "so 5" are words."""

_WEEKS = "week weeks wk kw cw woche wochen semaine semana settimana weeknummer uge vecka"


def kinds_of(titles: pl.Series) -> pl.Series:
    """The kind of each title (String; null where the title is null or blank). A kind's kind is itself.

    >>> kinds_of(pl.Series(["Re: Invoice 2026-118", "AW: [Team] INVOICE #7", "1:1 Ana (week 12)"])).to_list()
    ['invoice', 'invoice', '1:1 ana']
    """
    distinct = titles.unique().drop_nulls()
    return titles.replace_strict(distinct, _settled(distinct), default=None, return_dtype=pl.String)


def _settled(titles: pl.Series) -> pl.Series:
    """`titles` reduced until nothing more falls away.

    What a pass takes out can bring words together that the next one reads as a date. Every pass after the first
    only takes words out, so this ends; it looks only at the kinds that are left, which are few.
    """
    reduced = _reduced(titles)
    while True:
        kinds = reduced.unique().drop_nulls()
        again = _reduced(kinds)
        if kinds.equals(again):
            return reduced
        reduced = reduced.replace_strict(kinds, again, default=None, return_dtype=pl.String)


def _reduced(titles: pl.Series) -> pl.Series:
    """One pass over distinct titles without nulls."""
    whole = pl.col("whole")
    headless = whole.str.replace(_HEAD, "")
    marked = headless.str.replace_all(r"[\p{L}\p{M}\p{N}]+", "<${0}>")
    named = marked.str.replace_all(_ONE_ON_ONE, "<1ː1>").str.replace_all(r"<(\d)>:<(\d)s?>", "<${1}ː${2}>")
    lasting = named.str.replace_all(_PASSING, "${stem}${cjk_stem} ${cjk_rest}")
    frame = pl.DataFrame({"whole": _folded(titles)}).with_columns(_words(lasting).alias("kind"))
    if frame.select((pl.col("kind") == "").any()).item():
        stages = (_words(headless), _runs(headless), _runs(whole), whole.str.replace_all(r"\s+", " "))
        kept = [pl.col("kind"), *(stage.str.strip_chars() for stage in stages)]
        frame = frame.with_columns(pl.coalesce(pl.when(text != "").then(text) for text in kept).alias("kind"))
    return frame.get_column("kind").str.replace_all(r"(\d)ː(\d)", "${1}:${2}")


def _folded(titles: pl.Series) -> pl.Series:
    """Case, compatibility variants, invisible characters and apostrophes taken out of each title."""
    # Unicode 3.13, toNFKC_Casefold; a second fold because the first can compose letters that fold again. In
    # Python because polars has no case folding, and "STRASSE" is "straße".
    folded = [normalize("NFKC", normalize("NFKC", title.casefold()).casefold()) for title in titles]
    visible = pl.Series(folded, dtype=pl.String).str.replace_all(_INVISIBLE, "")
    return visible.str.replace_all("[<>]", " ").str.replace_all(r"(^|\s)w/", "${1}with ")


def _words(text: pl.Expr) -> pl.Expr:
    """The words of a text: runs of letters and digits with at least one letter."""
    return text.str.extract_all(r"[\p{M}\p{N}]*\p{L}[\p{L}\p{M}\p{N}]*").list.join(" ")


def _runs(text: pl.Expr) -> pl.Expr:
    """All runs of letters and digits."""
    return text.str.extract_all(r"[\p{L}\p{M}\p{N}]+").list.join(" ")


def _any(words: str) -> str:
    """A pattern for any of those words; the longest that fits."""
    return "(?:" + "|".join(sorted(words.split(), key=lambda word: (-len(word), word))) + ")"


_INVISIBLE = r"[\p{Default_Ignorable_Code_Point}'’‘]"
"""Apostrophes too: "Ana's" is one word, and so is "anas"."""

_HEAD = rf"^(?:\s*(?:{_any(REPLY_PREFIXES)}(?:\s?[\[(]\d+[\])]|\^\d+)?\s?:|\[[^\]]*\]))+"

# From here on each run of letters and digits stands between < and >, so that a rule can say where a word begins and
# ends. (Unicode word boundaries would say the same, and are a hundred times slower: they put Rust's regex off its
# automaton for every text that is not ASCII. 200,000 titles in Japanese took 22 s with them.)

_ONE_ON_ONE = (
    r"<1(?:on|to|x)1s?>|<(?:1|one)>[ -]<(?:on|to)>[ -]<(?:1s?|one)>"
    r"|^<1>-<1s?>|\s<1>-<1s?>(?:\s|$)"  # not the 1-1 in 2026-1-1
)
"""Becomes 1ː1, as does 1:1: U+02D0 is a letter, so this is a word for every other rule."""


def _passing() -> str:
    """What changes from one time to the next, as one alternation.

    Plain numbers, and dates and times that are nothing but numbers, are not in it: they are no words, so they
    fall away by themselves.
    """
    month, weekday, week = _any(_MONTHS), _any(_WEEKDAYS), _any(_WEEKS)
    any_weekday = _any(f"{_WEEKDAYS} {_SHORT_WEEKDAYS}")
    day = r"<\d{1,2}(?:st|nd|rd|th|er|o)?>"
    dates = (
        rf"{day}[\s./-]*(?:<(?:of|de|di)>\s*)?<{month}>(?:\.?[\s,./-]*(?:<del?>\s*)?<(?:\d{{4}}|\d{{2}})>)?",
        rf"<{month}>[\s./-]*{day}(?:[\s,]*<\d{{4}}>)?",
        rf"<\d{{1,2}}{month}(?:\d{{4}}|\d{{2}})?>",
    )
    numeric = r"<\d{1,4}>[./-]<\d{1,2}>(?:[./-]<\d{2,4}>|\.)"
    hexadecimal = "|".join(
        rf"[a-f]{{{n}}}\d[0-9a-f]{{{6 - n},}}|\d{{{n}}}[a-f][0-9a-f]{{{6 - n},}}" for n in range(1, 7)
    )
    stage = "(?:a|b|c|rc|alpha|beta|dev|pre|post|snapshot)"
    duration = "(?:min|mins|minutes?|minuten|minuti|minutos|hrs?|hours?|std|stunden?|secs?)"
    cjk = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}]"
    return "|".join(
        (
            r"<https?>://\S*|<www>\.\S*",
            r"<[0-9a-f]{8}>(?:-<[0-9a-f]{4}>){3}-<[0-9a-f]{12}>",
            rf"<(?:{hexadecimal})>",
            r"<\d{4}>-<\d\d>-<\d\dt\d\d>(?::<\d\dz?>)*(?:\.<\d+z?>)?|<\d{8}t\d{4,6}z?>",
            rf"(?:<{any_weekday}>[.,]*\s*)?(?:{'|'.join(dates)})",
            rf"<{any_weekday}>[.,]*\s*{numeric}",
            rf"<{month}>[\s./-]*<\d{{4}}>",
            rf"<{weekday}>[.,]*\s+{day}(?:[^:.]|[:.]?(?:[^<]|$))",  # a day, not the hour of Friday 16:00
            r"(?:\d+[年년][<>\s]*)?\d+[月월](?:[<>\s]*\d+[日일])?|第?\d+[周週주]",
            rf"<{week}>[\s.#-]*<\d{{1,2}}>|<{week}\d{{1,2}}>|<(?:q[1-4]|h[12]|fy\d{{2,4}}|w\d{{1,2}})>",
            rf"<v\d+>|<v?\d+>(?:\.<\d+>)*(?:[.-]<{stage}\d*>|\.<\d+{stage}\d*>)",
            r"<(?:no|nr|num)>\.?\s*<\d+>|<no\d+>",
            r"<\d{1,2}(?:h\d{2}m?|h|am|pm|uhr)>|<\d{1,2}>(?:[:.]<\d{2}>)*\s?<(?:am|pm|uhr|h)>",
            r"<\d{1,2}>[:.]<\d{2}(?:am|pm|h)>",
            rf"<\d+{duration}>|<\d+>[\s-]?<{duration}>",
            r"<\d+(?:st|nd|rd|th)>",
            r"<[a-z]{2,5}>(?:-<\d+>)*-<\d{2,}>|<[a-z]{1,2}\d{3,}>",
            r"<(?P<stem>\p{L}{3,})\d+>",
            rf"(?P<cjk_stem>{cjk})\d+|\d+(?P<cjk_rest>{cjk})",
        )
    )


_PASSING = _passing()
