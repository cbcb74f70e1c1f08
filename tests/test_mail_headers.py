"""Headers are unfolded and decoded, and never raise an error."""

from __future__ import annotations

from email.header import Header, decode_header, make_header
from email.parser import BytesHeaderParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from observations.ingest.mail.headers import (
    LONGEST_TEXT,
    decode_text,
    first_message_id,
    parse_header,
    parse_received,
)

DECODED = {
    "=?utf-8?q?J=C3=BCrgen_Gr=C3=B6n?=": "Jürgen Grön",
    "=?utf-8?B?w4lsaXNl?= =?utf-8?B?IE5vw6s=?=": "Élise Noë",
    "=?iso-8859-1?Q?P=E9ter?=": "Péter",
    "=?gb2312?B?zfXQobfn?=": "王小风",
    "=?utf-8?Q?Gr=C3?= =?utf-8?Q?=BCn?=": "Grün",
    "=?UTF8?Q?=C3=BC?=": "ü",
    "=?iso-2022-jp?B?GyRCJDMkcyRLJEEkTxsoQg==?=": "こんにちは",
    "=?windows-1252?Q?=93x=94?=": "“x”",
    "=?koi8-r?B?8NLJ18XU?=": "Привет",
    "Re: =?utf-8?Q?Gr=C3=B6=C3=9Fe?= roof =?UTF-8?Q?f=C3=BCr?= =?UTF-8?Q?_alle?=": "Re: Größe roof für alle",
    "=?utf-8?Q?Hello World?=": "Hello World",
    "=?utf-8?Q?What??=": "What?",
}
BROKEN = {
    "=?unknown-x?Q?abc?=": "=?unknown-x?Q?abc?=",
    "=?utf-8?Q?bro=ken": "=?utf-8?Q?bro=ken",
    "=?rot13?Q?abc?=": "=?rot13?Q?abc?=",
    "=?punycode?Q?abc?=": "=?punycode?Q?abc?=",
    "=?utf-8?B?w7w?=": "ü",  # no padding
    "=?utf-8?B?Um9vZg=?=": "Roof",  # half of it
    "=?utf-8?B?Um9vZ?=": "Roo",  # cut
    "=?us-ascii?Q?=C3=BC?=": "ü",
    "=?us-ascii?Q?=FC?=": "ü",
    "=?utf-8*de?Q?=C3=BC?=": "ü",
    "=?iso-8859-8-i?B?+eztIA==?=": "שלם",
    "=?utf-8?Q?=C3=28?=": "\ufffd(",
    "x=?utf-8?Q?a?=y": "xay",
    "=?utf-7?Q?a+2AA-?=": "a",  # half a surrogate pair
}


@pytest.mark.parametrize(("raw", "text"), DECODED.items())
def test_encoded_words_are_decoded_as_the_standard_library_does(raw: str, text: str) -> None:
    assert decode_text(raw) == text == str(make_header(decode_header(raw)))


@pytest.mark.parametrize(("raw", "text"), BROKEN.items())
def test_broken_words_give_what_is_left_of_them(raw: str, text: str) -> None:
    assert decode_text(raw) == text


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=80), st.sampled_from(["utf-8", "iso-8859-1", "gb18030", "koi8-r"]))
def test_what_the_standard_library_encodes_is_decoded(text: str, charset: str) -> None:
    text = " ".join(
        "".join(c for c in text if c.isprintable()).encode(charset, "ignore").decode(charset).split()
    )
    assert decode_text(Header(text, charset).encode()) == text


@settings(max_examples=300, deadline=None)
@given(
    st.text(max_size=200)
    | st.lists(st.sampled_from(["=?", "utf-8", "?Q?", "?B?", "?=", " ", "=C3", "w7w"])).map("".join)
)
def test_no_text_raises_and_none_has_control_characters(raw: str) -> None:
    text = decode_text(raw)
    text.encode()
    assert not any(character < " " or "\x7f" <= character < "\xa0" for character in text)


def test_long_text_is_cut_and_takes_no_longer_for_being_hostile() -> None:
    assert len(decode_text("x" * 1_000_000)) == LONGEST_TEXT
    decode_text("=?a?Q?" * 200_000)
    first_message_id("<" * 500_000)


def test_bytes_without_a_charset_are_utf_8_else_latin_1_line_by_line() -> None:
    block = "From: Zoë <z@x>\n".encode() + "Subject: Zoë\n".encode("latin-1")
    assert parse_header(block) == {"from": "Zoë <z@x>", "subject": "Zoë"}


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_fields_are_unfolded_and_found_in_any_case(end: bytes) -> None:
    block = b"SUBJECT:Roof\n\ttiles\n \nmessage-id :\n <a@x>\nX-Other: y\n z\nTo: b@x\nto: c@x\n".replace(
        b"\n", end
    )
    assert parse_header(block) == {"subject": "Roof tiles", "message-id": "<a@x>", "to": "b@x, c@x"}


def test_of_other_fields_the_first_counts_and_lines_that_are_none_are_passed_over() -> None:
    assert parse_header(b"Subject: a\n>From x\nnonsense\n: b\nSubject: b\n\n") == {"subject": "a"}
    assert parse_header(b"") == {}


def test_received_fields_come_in_their_order() -> None:
    assert parse_received(b"Received: a;\n  b\nSubject: x\nReceived: c\n") == ["a; b", "c"]


NAMES = st.sampled_from(["From", "To", "Subject", "Message-ID", "X-Other", "List-Id", "Date"])
VALUES = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=20)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(NAMES, st.lists(VALUES, min_size=1, max_size=4), max_size=5))
def test_the_standard_library_finds_the_same_fields(fields: dict[str, list[str]]) -> None:
    block = "".join(f"{name}: " + "\n ".join(lines) + "\n" for name, lines in fields.items()).encode()
    oracle = BytesHeaderParser().parsebytes(block)
    expected = {name.lower(): " ".join(value.split()) for name, value in oracle.items() if name != "X-Other"}
    assert parse_header(block) == expected


@pytest.mark.parametrize(
    ("raw", "id"),
    [
        ("<a@x>", "<a@x>"),
        ("<a@x> <b@x>", "<a@x>"),
        ("<a@\n x>", "<a@x>"),
        ("a@x", "<a@x>"),
        ("your mail of Monday <a@x>", "<a@x>"),
        ("<a b>", "<ab>"),
        ("<>", None),
        ("", None),
        ("<" + "a" * 600 + ">", None),
        ("<a\x00b@x>", None),
    ],
)
def test_a_message_id_is_what_stands_in_the_first_brackets(raw: str, id: str | None) -> None:
    assert first_message_id(raw) == id
