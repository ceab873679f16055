"""HTML for notebooks. Whatever comes from a run is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any


def show(value: Any) -> str:
    """A value as a reader wants it: numbers with six digits, nothing for None."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)


def card(title: str, rows: Iterable[tuple[str, Any]], note: str = "") -> str:
    """A heading and a table of two columns."""
    body = "".join(
        f"<tr><th style='text-align:left'>{escape(k)}</th><td>{escape(show(v))}</td></tr>"
        for k, v in rows
    )
    below = f"<p>{escape(note)}</p>" if note else ""
    return f"<div><b>{escape(title)}</b><table>{body}</table>{below}</div>"
