"""Text files as UTF-8, whichever encoding their first bytes announce."""

from __future__ import annotations

import codecs
import io
import tempfile
from typing import BinaryIO, cast

WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

_IN_MEMORY_BYTES = 32 * 2**20
_BLOCK = 2**20


def as_utf8(stream: BinaryIO) -> BinaryIO:
    """The same text without a mark at its beginning, in UTF-8 if it was in UTF-16 (PowerShell, Excel)."""
    start = stream.read(3)
    if start == codecs.BOM_UTF8:
        return stream
    stream.seek(0)
    if not start.startswith(WIDE):
        return stream
    # A line of UTF-16 cannot be found in its bytes, and the library's recoders also break lines at U+2028.
    recoded = tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES)  # noqa: SIM115  the caller closes the stream
    text = io.TextIOWrapper(stream, "utf-16", "replace", newline="")
    while block := text.read(_BLOCK):
        recoded.write(block.encode("utf-8", "replace"))
    recoded.seek(0)
    return cast("BinaryIO", recoded)


def head_as_utf8(head: bytes) -> bytes:
    """The first bytes of a text as `as_utf8` gives them."""
    if head.startswith(WIDE):
        return head[: len(head) // 2 * 2].decode("utf-16", "replace").encode("utf-8", "replace")
    return head.removeprefix(codecs.BOM_UTF8)
