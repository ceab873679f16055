"""Files of a run as tables."""

from __future__ import annotations

import io
import json
import struct
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

from ._errors import AssayError, need

TIMES = frozenset(
    ["timestamp", "entry_time", "exit_time", "created_at", "updated_at", "filled_at"]
    + ["started_at", "completed_at", "start", "end", "registered_at", "at"]
)
TEXTS = frozenset(
    ["trade_id", "symbol", "direction", "exit_reason", "order_id", "client_order_id", "fill_id"]
    + ["side", "type", "role", "time_in_force", "status", "fee_currency", "liquidity"]
    + ["entry_tag", "exit_tag", "tag", "parent_order_id", "reject_reason", "exchange_order_id"]
    + ["order_ids"]
)
FLAGS = frozenset(["ambiguous", "reduce_only"])

SERIES_MAGIC = b"ASSAYSC1"
MAX_SERIES_BYTES = 1 << 30
MAX_SERIES = 1024


def pandas() -> Any:
    """The package pandas."""
    return need("pandas", "notebook")


def times(texts: Iterable[Any]) -> Any:
    """Times as nanoseconds in UTC; NaT where there is none."""
    pd = pandas()
    plain = [t if isinstance(t, str) and t else None for t in texts]
    read = pd.to_datetime(pd.Series(plain, dtype="object"), utc=True, format="ISO8601")
    return pd.DatetimeIndex(read).as_unit("ns")


def instants(millis: Iterable[int]) -> Any:
    """Unix milliseconds as nanoseconds in UTC."""
    return (
        pandas()
        .DatetimeIndex(pandas().to_datetime(list(millis), unit="ms", utc=True))
        .as_unit("ns")
    )


def read_table(text: bytes, name: str) -> Any:
    """A CSV file of a run. Empty texts are "", other empty fields NaN or NaT."""
    pd = pandas()
    try:
        frame = pd.read_csv(io.BytesIO(text), dtype=str, keep_default_na=False, na_filter=False)
        for column in frame.columns:
            cells = frame[column]
            if column in TIMES:
                frame[column] = times(cells)
            elif column in FLAGS:
                frame[column] = cells == "true"
            elif column == "order_ids":
                frame[column] = [i.split(";") if i else [] for i in cells]
            elif column == "candles_held":
                frame[column] = [int(i) for i in cells]
            elif column not in TEXTS:
                # float of a decimal is the nearest one, on every version of pandas
                numbers = [float(x) if x else float("nan") for x in cells]
                frame[column] = pd.Series(numbers, index=frame.index, dtype="float64")
    except ValueError as e:
        raise damaged(name, str(e)) from e
    return frame


def damaged(name: str, why: str) -> AssayError:
    """The error of a file that cannot be read."""
    return AssayError("ARTIFACT_MISMATCH", f"{name} cannot be read: {why}")


def join_equity(windows: Sequence[Any]) -> Any:
    """Windows that follow each other as one account: each goes on where the one before ended."""
    pd = pandas()
    parts: list[Any] = []
    scale = 1.0
    for w in windows:
        if parts and len(w) and len(parts[-1]) and w["equity"].iloc[0] != 0:
            scale = parts[-1]["equity"].iloc[-1] / w["equity"].iloc[0]
        part = w.copy()
        for column in ("equity", "cash", "position_value"):
            part[column] = part[column] * scale
        parts.append(part)
    frame = pd.concat(parts) if len(parts) != 1 else parts[0]
    frame = frame.set_index("timestamp")
    if len(parts) > 1:
        peak = frame["equity"].cummax()
        frame["drawdown"] = ((peak - frame["equity"]) / peak).where(peak > 0, 0.0)
    return frame


class _Numbers:
    """Reads the varints of a file of series."""

    def __init__(self, body: bytes, name: str) -> None:
        self.body, self.at, self.name = body, 0, name

    def unsigned(self, most: int) -> int:
        n = shift = 0
        while True:
            if self.at >= len(self.body) or shift > 63:
                raise damaged(self.name, "it ends inside a number")
            b = self.body[self.at]
            self.at += 1
            n |= (b & 0x7F) << shift
            if b < 0x80:
                break
            shift += 7
        if n > most:
            raise damaged(self.name, f"{n} is more than {most}")
        return n

    def signed(self) -> int:
        n = self.unsigned((1 << 64) - 1)
        return (n >> 1) ^ -(n & 1)

    def take(self, n: int) -> bytes:
        part = self.body[self.at : self.at + n]
        if len(part) < n:
            raise damaged(self.name, "it ends too early")
        self.at += n
        return part


def read_series(text: bytes, name: str) -> dict[str, tuple[list[int], list[float]]]:
    """The points that a strategy has published, by name: Unix milliseconds and values."""
    if not text.startswith(SERIES_MAGIC):
        raise damaged(name, "it has another format")
    packed = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        body = packed.decompress(text[len(SERIES_MAGIC) :], MAX_SERIES_BYTES)
    except zlib.error as e:
        raise damaged(name, str(e)) from e
    if packed.unconsumed_tail:
        raise damaged(name, f"it has more than {MAX_SERIES_BYTES} bytes")
    numbers = _Numbers(body, name)
    numbers.unsigned((1 << 63) - 1)  # how many points were left out
    found: dict[str, tuple[list[int], list[float]]] = {}
    for _ in range(numbers.unsigned(MAX_SERIES)):
        try:
            title = numbers.take(numbers.unsigned(4096)).decode()
        except UnicodeDecodeError as e:
            raise damaged(name, "a name is no text") from e
        n, at, clock = numbers.unsigned(len(body)), 0, []
        for _ in range(n):
            at += numbers.signed()
            clock.append(at)
        found[title] = clock, list(struct.unpack(f"<{n}d", numbers.take(8 * n)))
    return found


def read_log(text: bytes, name: str) -> Any:
    """The lines of log.jsonl as a table."""
    try:
        lines = [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError as e:
        raise damaged(name, str(e)) from e
    columns = ["at", "step", "level", "source", "message", "fields"]
    frame = pandas().DataFrame(lines, columns=columns if not lines else None)
    if "at" in frame:
        frame["at"] = times(frame["at"])
    return frame
