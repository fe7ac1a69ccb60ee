"""The one redactor: URLs and free text without the secrets a user may have put into them. Pure."""

from __future__ import annotations

# Shorter than any token that can be recognized by its looks (see `secrets`).
_SHORT = 11
_MARKS = "@?#="


def redacted(text: str) -> str:
    """The text with the passwords and tokens in it hidden; a user's name stays where a password stands beside it."""
    if _is_plain(text):
        return text  # without the patterns, whose making costs a start some milliseconds
    from torchpick.model import secrets

    return secrets.hidden(text)


def holds_secret(text: str) -> bool:
    """Whether the redactor finds something to hide in it."""
    return redacted(text) != text


def public(url: str) -> str:
    """The URL as anybody may read it and still use it: without a login, which pip can take from elsewhere."""
    scheme, mark, rest = url.partition("://")
    end = min((place for place in map(rest.find, "/?#") if place >= 0), default=len(rest))
    return redacted(f"{scheme}{mark}{rest[:end].rpartition('@')[2]}{rest[end:]}" if mark else url)


def redacted_json(value: object) -> object:
    """The same for every text in a JSON value, keys aside."""
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, dict):
        return {name: redacted_json(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [redacted_json(part) for part in value]
    return value


def _is_plain(text: str) -> bool:
    """Whether nothing in it can be a secret: none of the marks before one, and no word that is long enough."""
    if any(mark in text for mark in _MARKS):
        return False
    words = text.replace("/", " ").replace(":", " ").split()
    return all(len(word) < _SHORT or _is_name(word) for word in words) and not _has_header(text)


def _is_name(word: str) -> bool:
    """Letters with dots, as a host has: no token is without a digit, a hyphen or an underscore."""
    return word.replace(".", "").isalpha() and word.islower()


def _has_header(text: str) -> bool:
    lower = text.lower()
    return "basic " in lower or "bearer " in lower or ": " in text
