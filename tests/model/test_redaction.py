"""No secret that a user wrote into a URL comes out again."""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.growth import in_line
from torchpick.model.address import public, redacted

CASES = json.loads(Path(__file__).with_name("redacted.json").read_text("utf-8"))

# What a password may hold within a URL: everything but white space and quotes, which end a URL in a text.
SECRETS = st.text(st.sampled_from("abcXYZ0189!$&'()*+,;=:@/._~%-"), min_size=8, max_size=30)
# A name that says nothing of the secret.
USERS = st.sampled_from(["user", "__token__", "me", "q"])


def parts(secret: str) -> set[str]:
    """Four characters each, but for those that stand in `user:****@` whatever the secret is."""
    return {part for start in range(len(secret) - 3) if "***" not in (part := secret[start : start + 4])}


@pytest.mark.parametrize(("text", "shown"), CASES["what_is_shown"])
def test_what_is_shown(text: str, shown: str) -> None:
    assert redacted(text) == shown


SCHEMES = ("https://", "http:/", "//", "git+https://", "socks5://")
LOGINS = ("me", "me@corp.example", "a.very.long.name-of-a-service-account", "__token__", "1")
AROUND = ("{}", "see {} and more", "'{}'", "--proxy={}", "a@b.example: {}\nnext")


@pytest.mark.parametrize("secret", [
        "hunter22", "hun/ter22", "hun#ter22", "hun?ter22", "1234/hunter", "hun ter22", 'hun"ter22', "hu'nter:22",
        "é" * 300,
])  # fmt: skip
def test_no_form_of_a_login_shows_its_password(secret: str) -> None:
    for scheme, user, around in product(SCHEMES, LOGINS, AROUND):
        if secret == "1234/hunter" and "." in user:
            continue  # that is a host, its port and a path

        shown = redacted(around.format(f"{scheme}{user}:{secret}@mirror.example/whl"))

        assert not [part for part in ("hunter", "ter22", "nter", "1234", "é") if part in shown], shown
        assert "****@mirror.example/whl" in shown


@given(
    USERS, SECRETS, st.sampled_from(["", "see ", "'"]), st.sampled_from(["", " and more", "'", ",https://x.example/y"])
)
def test_no_part_of_a_password_survives(user: str, secret: str, before: str, after: str) -> None:
    # `user:p@q.example/ss@host.example` is `user:p` at q.example, to everybody who reads it.
    # And no address has a slash before its host that is not written %2F.
    assume("/" not in secret)
    assume(not re.search(r"@[\w-]+(\.[\w-]+)+/", secret))
    url = f"https://{user}:{secret}@host.example/whl"
    left = redacted(before + url + after).replace("host.example/whl", "").replace("https://x.example/y", "")

    assert not {part for part in parts(secret) if part in left}


@given(st.text(st.sampled_from("abcXYZ0189!$&'()*+,;=@._~%-"), min_size=8, max_size=30))
def test_no_part_of_a_token_survives(secret: str) -> None:
    for url in (f"https://{secret}@host.example/whl", f"https://host.example/whl?auth={secret}"):
        left = redacted(url)

        assert not {
            part
            for part in parts(secret)
            if part in left.replace("https://", "").replace("***@", "").replace("host.example/whl", "")
        }


@given(st.text(max_size=200))
def test_redacting_twice_changes_nothing(text: str) -> None:
    assert redacted(redacted(text)) == redacted(text)


@pytest.mark.parametrize("piece", [
        "a://", "a:b@", "a+", "x:", "://@", "#sha256=", "Basic ", "token=", "glpat-", "a.", "-a_", "a:,", "//a:/",
        ":/@", "//a:b @", "//u:", "a:b\n//@",
])  # fmt: skip
def test_a_text_costs_in_proportion_to_its_length(piece: str) -> None:
    in_line(lambda length: redacted(piece * (length // len(piece))), (25_000, 200_000), floor=0.02)


@pytest.mark.parametrize(("url", "shown"), [
        ("https://me:secret@mirror.example/whl", "https://mirror.example/whl"),
        ("flat+https://me:s@c@mirror.example:8443/whl/", "flat+https://mirror.example:8443/whl/"),
        ("https://glpat-0123456789abcdef@mirror.example", "https://mirror.example"),
        ("https://mirror.example/a@b/whl", "https://mirror.example/a@b/whl"),
        ("https://mirror.example?to=a@b", redacted("https://mirror.example?to=a@b")),
        ("https://me:se/cret@mirror.example/whl", redacted("https://me:se/cret@mirror.example/whl")),
        ("file:///srv/whl", "file:///srv/whl"), ("", ""),
])  # fmt: skip
def test_a_url_for_everybody_works_without_its_login(url: str, shown: str) -> None:
    assert public(url) == shown
    assert "cret" not in public(url)
