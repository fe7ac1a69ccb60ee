"""About torchpick itself: its version, and how to install it."""

from __future__ import annotations

VERSION = "0.1.0"
# It is not yet published, so from a checkout; tests/test_docs.py checks that no other text says it another way.
INSTALL_LINE = "python -m pip install ."
