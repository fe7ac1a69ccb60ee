"""How torchpick itself is installed, said in one place: nobody has published it yet, so from a checkout."""

from __future__ import annotations

# In a checkout of torchpick's repository. tests/test_docs.py holds that no other text says it another way.
INSTALL_LINE = "python -m pip install ."
