"""Addresses as people and programs write them, and the person behind a list."""

from __future__ import annotations

import inspect
from email.utils import formataddr, getaddresses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from observations.ingest.mail.addresses import Address, addresses_in, parse_addresses, person_behind_list
from tests.mail_samples import read_one

WRITTEN = {
    "ada@example.com": ["ada@example.com"],
    "Ada <ADA@Example.COM>": ["ada@example.com"],
    '"Okafor, Ada" <ada@example.com>, bo@example.com (Bo)': ["ada@example.com", "bo@example.com"],
    "team: cy@example.com, dee@example.com;": ["cy@example.com", "dee@example.com"],
    "a: b@x.y; c: d@x.y;": ["b@x.y", "d@x.y"],
    "undisclosed-recipients:;": [],
    "undisclosed recipients: ;": [],
    "Undisclosed-Recipients <>": [],
    "unlisted-recipients:; (no To-header on input)": [],
    "ed@example.com,": ["ed@example.com"],
    ",, ed@example.com,,bo@x.y": ["ed@example.com", "bo@x.y"],
    '"': [],
    "(c):": [],
    "<>": [],
    "@": [],
    "": [],
    "(x): fay@example.com;": ["fay@example.com"],
    "Gus <gus@example.com": ["gus@example.com"],
    "Gus <<gus@example.com>>": ["gus@example.com"],
    "hal@example.com; ian@example.com": ["hal@example.com", "ian@example.com"],
    "Hal Grün <hal@example.com>; Park, Ian <ian@example.com>": ["hal@example.com", "ian@example.com"],
    "list: hal@example.com; ian@example.com": ["hal@example.com", "ian@example.com"],
    "hal@example.com ian@example.com": ["hal@example.com", "ian@example.com"],
    ".jo@example.com": [".jo@example.com"],
    "=?utf-8?Q?Zo=C3=AB=2C_Kim?= <kim@example.com>": ["kim@example.com"],
    "=?utf-8?Q?Ada_<ada=40example.com>?=": ["ada@example.com"],
    "Dr. X, MD <x@example.com>": ["x@example.com"],
    "'ada@example.com' <ada@example.com>": ["ada@example.com"],
    "<mailto:ada@example.com>": ["ada@example.com"],
    "@relay,@other:ada@example.com": ["ada@example.com"],
    "ada@[192.0.2.1]": ["ada@[192.0.2.1]"],
    '"ada okafor"@example.com': ['"ada okafor"@example.com'],
    "ada at example.com (Ada Okafor)": ["ada@example.com"],
    "Ada Okafor <ada at example.com>": ["ada@example.com"],
    "root (Cron Daemon)": ["root"],
    "Ada Okafor": [],
    "ada@x.y, Ada <ada@x.y>": ["ada@x.y"],
    "jürgen@exämple.com": ["jürgen@exämple.com"],
}
NAMED = {
    "Ada Okafor <ada@x.y>": "Ada Okafor",
    '"Okafor, Ada" <ada@x.y>': "Okafor, Ada",
    "ada@x.y (Ada Okafor)": "Ada Okafor",
    '"=?iso-8859-1?Q?P=E9ter?=" <ada@x.y>': "Péter",
    "=?utf-8?Q?Zo=C3=AB=2C_Kim?= <ada@x.y>": "Zoë, Kim",
    "'Ada Okafor' <ada@x.y>": "Ada Okafor",
    "ada@x.y <ada@x.y>": "",
    "<ada@x.y>": "",
    '"Ada \\"Roof\\" Okafor" <ada@x.y>': 'Ada "Roof" Okafor',
}


@pytest.mark.parametrize(("raw", "addresses"), WRITTEN.items())
def test_lists_as_they_are_written(raw: str, addresses: list[str]) -> None:
    assert [one.address for one in parse_addresses(raw)] == addresses
    assert addresses_in({"to": raw}, "to") == tuple(addresses)


@pytest.mark.parametrize(("raw", "name"), NAMED.items())
def test_names_as_a_person_reads_them(raw: str, name: str) -> None:
    assert parse_addresses(raw) == (Address(name, "ada@x.y"),)


# Newer versions of the oracle refuse a whole list for one odd name unless they are told not to.
LENIENT = {"strict": False} if "strict" in inspect.signature(getaddresses).parameters else {}
ATOMS = st.text("abcdefghijklmnopqrstuvwxyz0123456789.+-_", min_size=1, max_size=12).filter(
    lambda text: text.strip(".") == text and ".." not in text
)
NAMES = st.text(st.sampled_from('abc ABC.,;:@<>()"\\éß王'), max_size=15)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(NAMES, ATOMS, ATOMS), min_size=1, max_size=5))
def test_the_standard_library_agrees_on_what_it_writes_itself(people: list[tuple[str, str, str]]) -> None:
    written = ", ".join(formataddr((name, f"{local}@{host}")) for name, local, host in people)
    oracle = dict.fromkeys(address.lower() for _, address in getaddresses([written], **LENIENT))
    assert [one.address for one in parse_addresses(written)] == list(oracle)


@settings(max_examples=400, deadline=None)
@given(
    st.text(max_size=100)
    | st.lists(st.sampled_from([*'"<>(),;:@\\ ', "a@b.c", "Ada", "=?utf-8?Q?x?="])).map("".join)
)
def test_no_text_raises_and_every_address_is_one(raw: str) -> None:
    for name, address in parse_addresses(raw):
        assert address == address.lower()
        assert address
        assert name == name.strip()


@pytest.mark.parametrize(
    "piece", ['"', "(", "<", ",", "a@b,", '"\\', "a@", "@", " ", "=?a?Q?", "a;", ":", " at ", "a"]
)
@pytest.mark.parametrize("begin", ["", "ada@x.y ", '"', "ada@x.y, <"])
def test_hostile_lists_end(begin: str, piece: str) -> None:
    """A quarter of a megabyte of any of these took minutes in some version of the patterns."""
    found = parse_addresses(begin + piece * (250_000 // len(piece)))
    assert len(found) <= 2


class TestPersonBehindAList:
    @pytest.mark.parametrize(
        "lines",
        [
            ("From: Ada Okafor via Builders <builders@lists.x>", "Reply-To: Ada Okafor <ada@x.y>"),
            ("From: Ada Okafor via Builders <builders@lists.x>", "Reply-To: builders@lists.x, Ada <ada@x.y>"),
            ("From: 'Ada Okafor' via Builders <builders@lists.x>", "X-Original-From: Ada Okafor <ada@x.y>"),
            ("From: 'Ada Okafor' via Builders <builders@lists.x>", "X-Original-Sender: ada@x.y"),
            ("From: Ada Okafor via Builders <builders@lists.x>", "Cc: Bo <bo@x.y>, Ada Okafor <ada@x.y>"),
            ('From: "Ada Okafor (via Builders)" <builders@lists.x>', "Reply-To: Ada Okafor <ada@x.y>"),
        ],
    )
    def test_is_found_where_lists_put_it(self, lines: tuple[str, ...]) -> None:
        seen = read_one(*lines, "To: builders@lists.x")
        assert (seen["from"], seen["from_name"]) == ("ada@x.y", "Ada Okafor")

    def test_has_only_a_name_where_the_list_kept_nothing_else(self) -> None:
        lines = ("From: Ada Okafor via Builders <builders@lists.x>", "Reply-To: builders@lists.x")
        assert read_one(*lines, "List-Id: <builders.lists.x>")["from"] == "Ada Okafor"
        assert read_one(*lines, "To: builders@lists.x")["from"] == "Ada Okafor"

    def test_is_not_looked_for_where_no_list_is(self) -> None:
        assert read_one("From: Ada via Post <letters@post.example>")["from"] == "letters@post.example"
        assert read_one("From: Via Appia <via@x.y>", "Reply-To: cy@x.y")["from"] == "via@x.y"

    def test_tells_the_people_of_an_archive_apart(self) -> None:
        list_address = "builders@lists.x"
        people = [
            person_behind_list(
                {"list-post": f"<mailto:{list_address}>", "reply-to": reply_to},
                Address(f"{name} via Builders", list_address),
            )
            for name, reply_to in [("Ada", "Ada <ada@x.y>"), ("Bo", "Bo <bo@x.y>"), ("Cy", list_address)]
        ]
        assert [person.address for person in people] == ["ada@x.y", "bo@x.y", "Cy"]
