"""Serves a strategy to the host that started this process: ``python -m assay.serve module:Class``.
With the author's folder behind it the process serves one run after another, see `_forks`.

The process listens on a socket in the folder that the host gave it and prints where. Then
frames go back and forth: the length of the payload as four bytes, little endian, one byte
for its kind, and the payload, a message of strategy.proto.
"""

from __future__ import annotations

import faulthandler
import importlib
import os
import select
import signal
import socket
import struct
import sys
import threading
from time import perf_counter
from typing import Any, NoReturn

from . import _forks
from . import strategy_pb2 as pb
from ._advance import Player
from ._drive import (
    PROTOCOL_VERSION,
    Author,
    Failure,
    Overdue,
    Whole,
    build,
    explained,
    ready,
    refused,
    spec,
)
from .params import ParamError
from .signals import SignalStrategy
from .strategy import Strategy

__all__ = ["main"]

DESCRIBE, SPEC, HOST, PLUGIN = range(4)
MAX_FRAME = 8 << 20
_HEAD = struct.Struct("<IB")
_FOLDER = "PLUGIN_UNIX_SOCKET_DIR"


_SMALL = 1 << 12  # most frames are smaller

#: How long it looks for a frame before it sleeps: to be woken takes longer than most steps.
_LOOK_SECONDS = 100e-6


class _Link:
    """The connection to the host."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._data = b""  # what was read and not taken
        self._poll = select.poll()
        self._poll.register(sock, select.POLLIN)
        self._missed, self._idle = 0, 0  # looks in a row in vain; how many more are left out
        cores = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))(0)
        self._alone = len(cores) < 2

    def receive(self) -> tuple[int, bytes] | None:
        """The next frame; None when the host is gone."""
        if len(self._data) < _HEAD.size:
            self._look()
        if not self._fill(_HEAD.size):
            return None
        size, kind = _HEAD.unpack_from(self._data)
        if size > MAX_FRAME:
            raise SystemExit(f"a frame of {size} bytes is too long")
        end = _HEAD.size + size
        if not self._fill(end):
            return None
        payload, self._data = self._data[_HEAD.size : end], self._data[end:]
        return kind, payload

    def _fill(self, n: int) -> bool:
        """Reads until so many bytes are there. False when the host is gone before."""
        while (have := len(self._data)) < n:
            if n - have > _SMALL:
                rest = bytearray(n - have)
                at = memoryview(rest)
                while at:
                    if not (got := self._sock.recv_into(at)):
                        return False
                    at = at[got:]
                self._data += rest
            elif part := self._sock.recv(_SMALL):
                self._data += part
            else:
                return False
        return True

    def _look(self) -> None:
        """Looks whether a frame comes very soon. Looks that find nothing become rare."""
        if self._alone or self._idle:
            self._idle = max(0, self._idle - 1)
            return
        deadline = perf_counter() + _LOOK_SECONDS
        while not self._poll.poll(0):
            if perf_counter() > deadline:
                self._missed = min(self._missed + 1, 6)
                self._idle = (1 << self._missed) - 2
                return
        self._missed = 0

    def send(self, kind: int, *messages: Any) -> None:
        parts = []
        for m in messages:
            payload = m.SerializeToString()
            parts.append(_HEAD.pack(len(payload), kind) + payload)
        self._sock.sendall(b"".join(parts))


def _load(entry: str) -> type[Strategy]:
    module, _, name = entry.partition(":")
    try:
        loaded = importlib.import_module(module)
    except SystemExit as e:
        raise SystemExit(f"{explained(e)} while {module} was imported") from None
    if name:
        found = getattr(loaded, name, None)
        if isinstance(found, type) and issubclass(found, Strategy):
            return found
        raise SystemExit(f"{module} has no class {name} that extends assay.Strategy")
    classes = [
        c
        for c in vars(loaded).values()
        if isinstance(c, type) and issubclass(c, Strategy) and c.__module__ == loaded.__name__
    ]
    if len(classes) != 1:
        names = ", ".join(c.__name__ for c in classes) or "none"
        raise SystemExit(f"{module} must have one class that extends assay.Strategy, has {names}")
    return classes[0]


def _run(link: _Link, cls: type[Strategy], first: bytes) -> None:
    start = pb.HostMessage.FromString(first).start
    strategy, looked, failed = build(cls, start.params, start.timeframe)
    if strategy is None:
        link.send(PLUGIN, pb.PluginMessage(failed=failed))
        return
    if start.mode == pb.DRIVE_MODE_SIGNALS and isinstance(strategy, SignalStrategy):
        whole = Whole(strategy, start)
        link.send(PLUGIN, pb.PluginMessage(ready=ready(looked)))
        _run_signals(link, whole)
        return
    try:
        author = Author(strategy, start, looked)
    except ParamError as e:
        link.send(PLUGIN, pb.PluginMessage(failed=refused(e)))
        return
    player = Player(author) if start.mode == pb.DRIVE_MODE_ADVANCE else None
    link.send(PLUGIN, pb.PluginMessage(ready=ready(looked, author.fed if player else ())))
    try:
        while (frame := link.receive()) is not None:
            message = pb.HostMessage.FromString(frame[1])
            kind = message.WhichOneof("message")
            if kind == "step":
                intents = author.decide(message.step)
                decision = pb.Decision(step=message.step.index, intents=intents)
                link.send(PLUGIN, *author.notes.take(), pb.PluginMessage(decision=decision))
            elif kind == "script" and player:
                advanced = player.play(message.script)
                link.send(PLUGIN, *author.notes.take(), pb.PluginMessage(advanced=advanced))
            elif kind in ("finish", "stop"):
                break
            elif kind == "candles" and player:
                player.take(message.candles)
            elif kind == "candles" and isinstance(strategy, SignalStrategy):
                author.skip(message.candles)
            elif kind == "begin" and player:
                player.warmup = message.begin.warmup_steps
            elif kind != "begin":
                raise SystemExit(f"a message {kind} is out of order")
        author.stop()
        if notes := author.notes.take():
            link.send(PLUGIN, *notes)
    except Failure as e:
        fault = pb.Failed(
            code="STRATEGY_ERROR",
            message=str(e),
            step=author.view.index,
            stack=e.stack,
            type=e.kind,
        )
        link.send(PLUGIN, *author.notes.take(), pb.PluginMessage(failed=fault))


def _run_signals(link: _Link, whole: Whole) -> None:
    try:
        while (frame := link.receive()) is not None:
            message = pb.HostMessage.FromString(frame[1])
            kind = message.WhichOneof("message")
            if kind == "begin":
                whole.begin(message.begin)
            elif kind == "candles":
                whole.take(message.candles)
                if message.candles.last:
                    link.send(PLUGIN, *(pb.PluginMessage(signals=m) for m in whole.answer()))
            elif kind in ("finish", "stop"):
                return
            else:
                raise SystemExit(f"a message {kind} is out of order")
    except Failure as e:
        fault = pb.Failed(
            code="STRATEGY_ERROR", message=str(e), step=-1, stack=e.stack, type=e.kind
        )
        link.send(PLUGIN, pb.PluginMessage(failed=fault))


def _serve(link: _Link, cls: type[Strategy]) -> None:
    while (frame := link.receive()) is not None:
        kind, payload = frame
        if kind == DESCRIBE:
            link.send(SPEC, spec(cls))
        elif kind == HOST:
            _run(link, cls, payload)
            return


def _overdue(*_: Any) -> NoReturn:
    signal.signal(signal.SIGQUIT, signal.SIG_IGN)  # a second one would come into the answer
    raise Overdue


def _tell_ends() -> Any:
    """Has ends of the process that nothing would tell of raise an exception where they come from:
    a host that waits no longer sends SIGQUIT, os._exit would leave no word. Returns the real one.
    """
    signal.signal(signal.SIGQUIT, _overdue)
    # Writes the stack first: what never returns to Python raises nothing.
    faulthandler.register(signal.SIGQUIT, all_threads=False, chain=True)
    leave, own = os._exit, os.getpid()

    def exits(status: int) -> NoReturn:
        if os.getpid() == own and threading.current_thread() is threading.main_thread():
            raise SystemExit(status)
        leave(status)

    os._exit = exits
    return leave


def main() -> None:
    """Serves the strategy that the first argument names."""
    folder = os.environ.get(_FOLDER)
    if len(sys.argv) not in (2, 3) or not folder:
        raise SystemExit(
            "this strategy is not started by hand: build it with lab build and start it with "
            "lab or assay"
        )
    author = sys.argv[2] if len(sys.argv) == 3 else ""
    if author:
        _forks.prepare(author)
    else:
        leave = _tell_ends()
        cls = _load(sys.argv[1])
    path = os.path.join(folder, "strategy.sock")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(path)
        listener.listen(1)
        print(f"assay|{PROTOCOL_VERSION}|unix|{path}|frames", flush=True)
        if author:
            sock = _forks.play(listener, path, author)
            leave = _tell_ends()
            cls = _load(sys.argv[1])
        else:
            sock, _ = listener.accept()
            os.unlink(path)
    with sock:
        _serve(_Link(sock), cls)
    if author:  # what is imported need not be taken apart
        sys.stdout.flush()
        sys.stderr.flush()
        leave(0)


if __name__ == "__main__":
    main()
