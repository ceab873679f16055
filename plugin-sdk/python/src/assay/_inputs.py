"""Series beside the candles, of values with the time at which each became known."""

from __future__ import annotations

import math
import re
import struct
from bisect import bisect_left
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

MAX_INPUTS = 16
MAX_HISTORY = 10_000

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Input(NamedTuple):
    """A series that a strategy reads with ``v.input(name)``."""

    name: str  #: of the stored series, ^[a-z][a-z0-9_-]{0,62}$
    max_age: timedelta = timedelta(0)  #: of the newest value; older: no entries. 0: any


class InputRow(NamedTuple):
    """One value of an input."""

    time: datetime  #: what the value is of
    known: datetime  #: when it became known
    value: float


def messages(inputs: tuple[Input, ...], kind: Any) -> list[Any]:
    """The inputs of a strategy for the host. Raises ValueError for one that cannot be."""
    if len(inputs) > MAX_INPUTS:
        raise ValueError(f"inputs: {len(inputs)} are too many, at most {MAX_INPUTS}")
    names = [i.name for i in inputs]
    for i, given in enumerate(inputs):
        if not _NAME.fullmatch(given.name) or names.index(given.name) < i:
            raise ValueError(f"inputs[{i}]: {given.name!r} is no name of its own, such as funding")
        if given.max_age < timedelta(0):
            raise ValueError(f"inputs[{i}]: max_age is below 0")
    return [kind(name=i.name, max_age=i.max_age // timedelta(milliseconds=1)) for i in inputs]


class InputView:
    """What is known of an input at a step. `View.input` gives it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._times: list[int] = []
        self._rows: list[tuple[int, float]] = []  # known and value of each time

    def _see(self, time: int, known: int, value: float) -> None:
        at = bisect_left(self._times, time)
        if at < len(self._times) and self._times[at] == time:
            if self._rows[at][0] <= known:
                self._rows[at] = (known, value)
            return
        self._times.insert(at, time)
        self._rows.insert(at, (known, value))
        if len(self._times) >= 2 * MAX_HISTORY:
            del self._times[:-MAX_HISTORY], self._rows[:-MAX_HISTORY]

    def _load(self, rows: Any) -> None:
        n = len(rows.time) // 8
        times, known = struct.unpack(f"<{n}q", rows.time), struct.unpack(f"<{n}q", rows.known)
        for row in zip(times, known, struct.unpack(f"<{n}d", rows.value), strict=True):
            self._see(*row)

    def _row(self, at: int) -> InputRow:
        known, value = self._rows[at]
        ms = timedelta(milliseconds=1)
        return InputRow(_EPOCH + self._times[at] * ms, _EPOCH + known * ms, value)

    @property
    def value(self) -> float:
        """The newest known value: that of the newest time, as it was revised last. NaN before the
        first."""
        return self._rows[-1][1] if self._rows else math.nan

    @property
    def time(self) -> datetime | None:
        """What the value is of."""
        return self._row(-1).time if self._rows else None

    @property
    def known(self) -> datetime | None:
        """When the value became known."""
        return self._row(-1).known if self._rows else None

    def history(self, n: int) -> list[InputRow]:
        """The newest n known values, one of each time, oldest first, or all there are. More than
        10,000 end the run."""
        if not 0 <= n <= MAX_HISTORY:
            raise ValueError(
                f"history({n}) of the input {self.name}: 0 to {MAX_HISTORY} are possible"
            )
        return [self._row(i) for i in range(max(0, len(self._rows) - n), len(self._rows))]
