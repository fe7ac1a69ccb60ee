"""The text of a requirements file: where it lies, and its encoding as pip and uv read it."""

from __future__ import annotations

import os
import re
from contextlib import suppress

from torchpick.errors import RequirementError, UsageError
from torchpick.model.redaction import redacted

MOST_BYTES = 16 << 20


def located(path: str) -> str:
    """A file's absolute path, or its URL; `file:` URLs are paths."""
    if path[:5].lower() == "file:":
        from urllib.parse import urlsplit
        from urllib.request import url2pathname

        try:
            return os.path.abspath(url2pathname(urlsplit(path).path))
        except ValueError as error:
            raise RequirementError(f"`{redacted(path)}` is not a valid URL", hint="check its spelling") from error
    return path if "://" in path else os.path.abspath(path)


def beside(path: str, other: str) -> str:
    """The file that a requirements file names: relative to that file, unless it is a URL."""
    if "://" in other or other[:5].lower() == "file:":
        return other
    if "://" not in path:
        return os.path.join(os.path.dirname(path), other)
    from urllib.parse import urljoin

    try:
        return urljoin(path, other)
    except ValueError as error:
        raise RequirementError(f"`{redacted(other)}` is not a valid URL", hint="check its spelling") from error


def text_of(path: str, by: str) -> str:
    """The text of a requirements file in the encodings pip takes."""
    hint = f"check the path behind `{by}`"
    try:
        with open(path, "rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}", hint=hint) from error
    return decoded(data, path, by)


def decoded(data: bytes, path: str, by: str) -> str:
    """The text in these bytes, where pip and uv read the same in them."""
    hint = f"check the path behind `{by}`"
    if len(data) > MOST_BYTES:
        raise UsageError(f"{path}: is larger than {MOST_BYTES >> 20} MiB, so it is not a requirements file", hint=hint)
    encoding = next((encoding for mark, encoding in _MARKS if data.startswith(mark)), None) or _declared(data, path)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{path}: is not a text file ({error.reason} at byte {error.start})", hint="save it as UTF-8"
        ) from error
    if "\0" in text:
        raise UsageError(f"{path}: is not a text file, it contains zero bytes", hint=hint)
    return text


def _declared(data: bytes, path: str) -> str:
    """The encoding that a comment in the first two lines declares (PEP 263), which pip obeys and uv does not.

    Only one in which ASCII is ASCII: in UTF-7 pip would find options where nobody else sees any.
    """
    for line in data.split(b"\n")[:2]:
        match = _CODING.search(line)
        if line[:1] == b"#" and match:
            encoding = match[1].decode("ascii")
            with suppress(LookupError, ValueError):
                if _ASCII.decode(encoding) == _ASCII.decode("ascii"):
                    return encoding
            raise UsageError(f"{path}: declares the encoding {encoding}", hint="save it as UTF-8")
    return "utf-8"


_CODING = re.compile(rb"coding[:=]\s*([-\w.]+)", re.ASCII)
_ASCII = bytes(range(128))
# The longer mark first: UTF-32's little-endian mark begins with UTF-16's.
_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
