"""Plays many runs of one strategy, each in a copy of a process that has no code of its author.

The process has imported what takes long, and forks for each connection of the host. The copy
imports the strategy and plays. A play ends with every process that it has made, and if it has made
any, or has written anything, this process ends with it: no play starts from what another has left.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import importlib
import importlib.util
import os
import signal
import socket
import sys
import threading
import time
from typing import Any

#: What takes long to import, where the strategy's layers have it.
_SLOW = ("numpy", "pandas")

#: Where a play can write: its sandbox has no other place.
_SHARED = "/dev/shm"


def prepare(author: str) -> None:
    """Imports what takes long. The author's folder is not on the path yet."""
    if os.getppid() != 1:
        raise SystemExit("no process plays many runs outside of a PID namespace of its own")
    for name in _SLOW:
        if importlib.util.find_spec(name):
            importlib.import_module(name)
    own = {name.split(".")[0] for name in os.listdir(author)}
    if hidden := own & {name.split(".")[0] for name in sys.modules}:
        raise SystemExit(
            f"the strategy's file {min(hidden)} has the name of a module that is imported before it"
        )


def play(listener: socket.socket, path: str, author: str) -> socket.socket:
    """Forks at each connection, and returns it in the copy. The process itself never returns."""
    plays: _Plays | None = None
    while True:
        sock, _ = listener.accept()
        if plays is None:
            os.unlink(path)  # nobody but the host connects from now on: it has the socket open
            plays = _Plays(os.path.dirname(path))
        if plays.begin():
            listener.close()
            _seem_fresh(author)
            return sock
        sock.close()


def _seem_fresh(author: str) -> None:
    """Makes the copy what a process of its own would be."""
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    sys.path.insert(0, author)
    os.environ["PYTHONPATH"] = os.pathsep.join((author, os.environ["PYTHONPATH"]))
    del sys.argv[2:], sys.orig_argv[-1:]
    if mtrand := sys.modules.get("numpy.random.mtrand"):
        mtrand.seed()  # by the system, as at its import; module random does so itself


class _Plays:
    """The process of the play under way, and all that a play can change beside its own memory."""

    def __init__(self, folder: str) -> None:
        self._child = 0
        self._folders = [f for f in (folder, _SHARED) if os.path.isdir(f)]
        gc.collect()
        gc.freeze()  # what is collected later is the play's own
        time.sleep(0.02)  # a later change of a folder has a later time, whatever the clock's tick
        self._before = self._shared()
        signal.signal(signal.SIGCHLD, self._reap)

    def begin(self) -> bool:
        """Forks; reports whether this is the copy."""
        self._end()
        # A copy that ends before its number is known here is reaped after that.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        self._child = os.fork()
        if self._child == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        return self._child == 0

    def _reap(self, *_: Any) -> None:
        """Takes what has ended. If it is a play that fails, this process ends as it did."""
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == self._child:
                    self._kill()  # what it has started holds its connection open
                    if ended[1]:
                        _end_like(ended[1])
                    self._end()

    def _kill(self) -> None:
        """Kills all but this process and the first of the namespace, until they are gone."""
        with contextlib.suppress(ProcessLookupError):
            while True:
                os.kill(-1, signal.SIGKILL)
                self._reap()
                time.sleep(0.0002)

    def _end(self) -> None:
        """Ends the play, and this process with it if it has left anything."""
        child, self._child = self._child, 0
        if child:
            self._kill()
            # Numbers are given in a row: a process or thread that was made has taken one.
            if _next_number() != child + 1 or self._shared() != self._before:
                os._exit(0)

    def _shared(self) -> Any:
        """What copies share. All that is made in a folder or set for it changes its times."""
        pipes = [
            [fcntl.fcntl(fd, get) for get in (fcntl.F_GETFL, fcntl.F_GETOWN, fcntl.F_GETPIPE_SZ)]
            for fd in (1, 2, 3)
        ]
        folders = [(os.stat(f), os.stat(f).st_ctime_ns, os.listdir(f)) for f in self._folders]
        return pipes, [(s.st_mode, s.st_mtime_ns, changed, names) for s, changed, names in folders]


def _next_number() -> int | None:
    """The number that the namespace gives to the next process or thread."""
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()
    return thread.native_id


def _end_like(status: int) -> None:
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        with contextlib.suppress(OSError):  # of one that no process can handle
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)
