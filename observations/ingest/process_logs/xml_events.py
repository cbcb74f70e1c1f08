"""Elements of a large XML file one at a time, damaged or not; nothing outside the file is ever fetched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import lxml.etree as etree

from observations.errors import SourceError
from observations.ingest.toolkit.note import Note

NOTES_ON_DAMAGE = 20
"""Places of damage that are named; further ones are counted with the last."""


def elements(
    stream: BinaryIO, names: tuple[str, ...], label: str, notes: list[Note]
) -> Iterator[tuple[str, etree._Element]]:
    """Each element with one of these names (whatever its namespace), when it is complete, with its name.

    Where the XML is broken, reading goes on behind the break, and a note says so. An element is emptied after
    the caller has had it, so memory stays flat.

    Raises:
        SourceError: this is no XML at all.

    """
    context = etree.iterparse(
        stream,
        events=("end",),
        tag=[f"{{*}}{name}" for name in names],
        recover=True,
        huge_tree=True,
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
    )
    try:
        for _, element in context:
            yield local_name(element), element
            element.clear()
    except etree.XMLSyntaxError as error:
        raise SourceError(label, f"is not XML ({error.msg})") from error
    notes += _damage(context.error_log, label)


def local_name(element: etree._Element) -> str:
    """The element's name without its namespace."""
    return str(element.tag).rpartition("}")[2]


def _damage(errors: etree._ListErrorLog, label: str) -> list[Note]:
    """A note for each line on which the XML is broken."""
    lines = dict[int, str]()
    for error in errors:
        lines.setdefault(error.line, error.message)
    shown = list(lines.items())[:NOTES_ON_DAMAGE]
    notes = [
        Note("reject", label, "broken_xml", f"the XML is broken ({message.lower()})", line)
        for line, message in shown
    ]
    if len(lines) > len(shown):
        more = len(lines) - len(shown)
        notes.append(
            Note("reject", label, "broken_xml", f"the XML is broken on {more:,} further lines", count=more)
        )
    return notes
