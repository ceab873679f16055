"""Whose ``init`` is running."""

from __future__ import annotations

from typing import Any

strategy: Any = None
