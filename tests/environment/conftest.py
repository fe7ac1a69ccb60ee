"""A made-up environment for each test."""

from __future__ import annotations

from tests.doctor.conftest import home

__all__ = ["home"]
