"""Plays many steps of a backtest by itself, as far as the host's script tells what happens."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from itertools import repeat
from operator import lt
from time import perf_counter
from typing import Any

from . import strategy_pb2 as pb
from ._drive import CHUNK_STEPS, RAISED, Author
from .indicators import Line
from .view import Bare, Columns, SymbolView

#: A script is left after so many seconds, so that the host sees how far the run is.
PLAY_SECONDS = 0.1


class Player:
    """Drives one strategy through one backtest. It has candles of later steps, which the
    strategy does not see."""

    def __init__(self, author: Author) -> None:
        self._author = author
        if hasattr(author.strategy, "_later"):  # of an adapter, which checks what it makes of them
            author.strategy._later = self.later
        self.warmup = 0  #: steps
        self._next = 0  # the step to decide
        self._first = 0  # of those whose candles are here
        self._times: list[int] = []  # close time of each
        self._one = len(author.views) == 1
        self._columns = Columns()  # in a run of one symbol the candles of each step
        #: else pairs of view and candle
        self._candles: list[list[tuple[SymbolView, Bare]]] = []
        self._held: list[SymbolView] = []  # in request order
        #: lines of indicators that the host computes, with their value of each step, None: no new
        self._lines: list[tuple[Line, list[float | None]]] = []
        self._sent: list[int] | None = None  # which those are
        self._streamed = author.fed  # the others
        #: of each input what is known up to the newest candle here, and what of it was given
        self._rows: list[list[tuple[int, int, float]]] = [[] for _ in author.inputs]
        self._given = [0] * len(self._rows)
        self._due = math.inf  # when the next becomes known

    def take(self, chunk: Any) -> None:
        """Adds a chunk of candles, after the one before."""
        known = self._first + len(self._times)
        times = list(chunk.close_times)
        if chunk.first_step != known:
            raise SystemExit(f"candles come from step {chunk.first_step} on, {known} is the next")
        newest = self._times[-1:] + times
        if not all(map(lt, newest, newest[1:])):
            raise SystemExit("close times must ascend")
        if len(chunk.symbols) != len(self._author.views):
            raise SystemExit(f"{len(chunk.symbols)} columns for {len(self._author.views)} symbols")
        done = self._next - self._first
        del self._times[:done], self._candles[:done]
        self._first += done
        for _, values in self._lines:
            del values[:done]
        try:
            self._take_candles(chunk, len(times), done)
            self._take_lines(chunk, len(times))
            self._take_inputs(chunk.inputs)
        except (ValueError, IndexError, struct.error) as e:
            raise SystemExit(f"the candles of a chunk do not fit: {e}") from None
        self._times += times

    def _take_candles(self, chunk: Any, n: int, done: int) -> None:
        """Adds the candles of a chunk, in place of those that are done."""
        if self._one:
            for name in Columns.__slots__:
                column = getattr(self._columns, name)
                del column[:done]
                m = chunk.symbols[0]
                column.frombytes(m.open_time if name == "time" else getattr(m, name))
                if len(column) != len(self._times) + n:
                    raise ValueError(f"{len(column) - len(self._times)} candles for {n} steps")
            return
        steps: list[Any] = [[] for _ in range(n)]
        for view, m in zip(self._author.views, chunk.symbols, strict=True):
            for i, row in zip(_present(m.present, n), _rows(m), strict=True):
                steps[i].append((view, row))
        self._candles += steps

    def _take_lines(self, chunk: Any, n: int) -> None:
        """Adds the values of indicators. What the host does not send is streamed."""
        fed, sent = self._author.fed, [m.indicator for m in chunk.indicators]
        if self._sent is None:
            self._sent = sent
            self._lines = [(line, []) for i in sent for line in fed[i].lines]
            self._streamed = tuple(f for i, f in enumerate(fed) if i not in sent)
        if sent != self._sent:
            raise ValueError(f"it has the indicators {sent}, those before {self._sent}")
        columns = iter(self._lines)
        for m in chunk.indicators:
            f = fed[m.indicator]
            steps = [_present(chunk.symbols[i].present, n) for i in f.symbols]
            feedings = steps[0]
            if len(steps) > 1:
                feedings = sorted(set(steps[0]).intersection(steps[1]))
            for column, _ in zip(m.lines, f.lines, strict=True):
                numbers = struct.unpack(f"<{len(column.values) // 8}d", column.values)
                if len(numbers) == n and not column.present and len(feedings) == n:
                    next(columns)[1].extend(numbers)
                    continue
                values: list[float | None] = [None] * n
                given = [feedings[k] for k in _present(column.present, len(feedings))]
                for step, x in zip(given, numbers, strict=True):
                    values[step] = x
                next(columns)[1].extend(values)

    def _take_inputs(self, parts: Any) -> None:
        """Adds rows of inputs."""
        for i, rows in enumerate(self._rows):
            del rows[: self._given[i]]
            self._given[i] = 0
        for m in parts:
            n = len(m.time) // 8
            columns = (struct.unpack(f"<{n}q", c) for c in (m.time, m.known))
            values = struct.unpack(f"<{n}d", m.value)
            self._rows[m.input] += zip(*columns, values, strict=True)
        self._wait()

    def _wait(self) -> None:
        waiting = [r[k][1] for r, k in zip(self._rows, self._given, strict=True) if k < len(r)]
        self._due = min(waiting, default=math.inf)

    def _give(self, now: int) -> None:
        """Shows the rows of inputs that are known at a step."""
        for i, rows in enumerate(self._rows):
            k = self._given[i]
            while k < len(rows) and rows[k][1] <= now:
                self._author.inputs[i]._see(*rows[k])
                k += 1
            self._given[i] = k
        self._wait()

    def play(self, script: Any) -> Any:
        """Plays a script to its first step with intents, its end, or until it took long."""
        bounds = self._bounds(script)
        deadline = perf_counter() + PLAY_SECONDS
        notes = self._author.notes
        for step, end in zip(script.steps, bounds[1:], strict=True):
            intents = self._event(step)
            if intents or notes.due or perf_counter() > deadline:
                break
            if self._next < end:
                intents = self._between(end, deadline)
                if self._next < end or intents or notes.due:
                    break
        return pb.Advanced(step=self._next - 1, intents=intents)

    def _bounds(self, script: Any) -> list[int]:
        """The steps that a script tells of, and where it ends."""
        bounds = [m.index for m in script.steps]
        if not bounds or bounds[0] != self._next:
            raise SystemExit(f"a script must begin with step {self._next}, not {bounds[:1]}")
        if len(bounds) > 1 and any(b <= a for a, b in zip(bounds, bounds[1:], strict=False)):
            raise SystemExit("the steps of a script must ascend")
        known = self._first + len(self._times)
        if not bounds[-1] <= script.last < known:
            raise SystemExit(
                f"a script of steps up to {bounds[-1]} ends with {script.last}: there are candles "
                f"up to step {known - 1}"
            )
        bounds.append(script.last + 1)
        return bounds

    def later(self, most: int) -> list[tuple[int, list[tuple[SymbolView, Bare]]]]:
        """The next steps whose candles are here: close time and candles by view."""
        at = self._author.view.index + 1 - self._first
        times, candles = self._times[at : at + most], self._candles[at : at + most]
        if self._one:
            view = self._author.views[0]
            candles = [[(view, self._columns[i])] for i in range(at, at + len(times))]
        return list(zip(times, candles, strict=True))

    def _event(self, step: Any) -> list[Any]:
        """Plays a step that the host tells of."""
        author = self._author
        self._enter(step.index)
        at = step.index - self._first
        if self._one:
            view = author.view
            view._bare, view._columns, view._row = None, self._columns, at
            view.close, view._closed = self._columns.close[at], True
        else:
            self._show(self._candles[at])
        for line, values in self._lines:
            if (x := values[at]) is not None:
                line._set(x)
        if self._streamed:
            author.feed(self._streamed)
        if self._times[at] >= self._due:
            self._give(self._times[at])
        intents = author.answer(step)
        held = author.held
        self._held = [author.views[i] for i in sorted(held)] if held else []
        return intents

    def _show(self, candles: list[tuple[SymbolView, Bare]]) -> None:
        """Puts the candles of a step into the views."""
        for view in self._author.views:
            view._closed = False
        for view, row in candles:
            view._show(row)

    def _enter(self, index: int) -> None:
        view = self._author.view
        if index % CHUNK_STEPS == 0:
            self._author.notes.refill()
        view.index, view._time = index, self._times[index - self._first]
        view.warmup = index < self.warmup
        self._next = index + 1

    def _between(self, end: int, deadline: float) -> list[Any]:
        """Plays steps in which nothing but candles comes. It ends before a step, with intents, or
        when there is something to be sent."""
        author, view = self._author, self._author.view
        notes, on_candle, remembers = author.notes, author.strategy.on_candle, author.remembers
        one, held = self._one, self._held
        if held:
            view._equity = tuple(held)  # it is counted where the strategy asks for it
        while self._next < end:
            begin, first = self._next, self._first
            last = min(end, (begin // CHUNK_STEPS + 1) * CHUNK_STEPS)
            if begin < self.warmup:
                last = min(last, self.warmup)
            self._enter(begin)
            at, stop = begin - first, last - first
            lines, streamed = self._lines, self._streamed
            more = bool(streamed) or remembers or self._times[stop - 1] >= self._due
            closes: Iterable[float] = self._columns.close[at:stop] if one else repeat(0.0)
            try:
                for i, view.index, view._time, close in zip(
                    range(at, stop), range(begin, last), self._times[at:stop], closes, strict=False
                ):
                    if one:
                        view._row, view.close = i, close
                        if held:
                            view._held += 1
                    else:
                        self._show(self._candles[i])
                        for of in held:
                            if of._closed:
                                of._held += 1
                    for line, values in lines:
                        x = values[i]
                        if x is not None:
                            line.previous = line.value
                            line.value = x
                            line.count += 1
                    if more:
                        author.feed(streamed)
                        if view._time >= self._due:
                            self._give(view._time)
                        if remembers:
                            author.remember()
                    answer = on_candle(view)
                    if answer is not None:
                        intents = author.messages("on_candle", answer, 0)
                        if intents:
                            return intents
                    if perf_counter() > deadline or notes.due:
                        return []
            except RAISED as e:
                raise author.explain(e) from None
            finally:
                self._next = view.index + 1
        return []


def _present(bits: bytes, steps: int) -> list[int] | range:
    """The steps of a chunk at which a symbol has a candle."""
    if not bits:
        return range(steps)
    if len(bits) != (steps + 7) // 8:
        raise ValueError(f"{len(bits)} bytes say which of {steps} steps have a candle")
    return [i for i in range(steps) if bits[i // 8] >> (i % 8) & 1]


def _rows(m: Any) -> list[Bare]:
    n = len(m.open_time) // 8
    columns = (struct.unpack(f"<{n}d", c) for c in (m.open, m.high, m.low, m.close, m.volume))
    return list(zip(struct.unpack(f"<{n}q", m.open_time), *columns, strict=True))
