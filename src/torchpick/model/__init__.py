"""What are we talking about? The nouns: GPUs, drivers, machines, builds, wishes, verdicts, picks. Pure."""

from __future__ import annotations

VERSION = "0.1.0"
# How to install torchpick. It is not yet published, so from a checkout; tests/test_docs.py checks that no other text
# says it another way.
INSTALL_LINE = "python -m pip install ."
