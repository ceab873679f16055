"""Plays many runs of one strategy, each in a copy of a process that has no code of its author.

The process has imported what takes long, and forks for each connection of the host. The copy imports the
strategy and plays; between two plays every other process is killed and what was written is removed.
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
    plays = _Plays(os.path.dirname(path))
    while True:
        sock, _ = listener.accept()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)  # nobody but the host connects from now on: it has the socket open
        plays.end()
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
    """The process of the play under way, and what a play can change beside its own memory."""

    def __init__(self, folder: str) -> None:
        self._child = 0
        self._folders = [f for f in (folder, _SHARED) if os.path.isdir(f)]
        self._stats = [os.stat(f) for f in self._folders]
        self._flags = [(fd, fcntl.fcntl(fd, fcntl.F_GETFL)) for fd in (1, 2)]
        gc.collect()
        gc.freeze()  # what is collected later is the play's own
        signal.signal(signal.SIGCHLD, self._reap)

    def begin(self) -> bool:
        """Forks; reports whether this is the copy."""
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
                    self.end()  # what it has started holds its connection open
                    if ended[1]:
                        _end_like(ended[1])

    def end(self) -> None:
        """Ends the play and everything that it has left."""
        self._child = 0
        while True:
            try:
                os.kill(-1, signal.SIGKILL)  # all but the first process of the namespace and this one
            except ProcessLookupError:
                break
            self._reap()
            time.sleep(0.0002)
        for fd, flags in self._flags:
            fcntl.fcntl(fd, fcntl.F_SETFL, flags)
            fcntl.fcntl(fd, fcntl.F_SETOWN, 0)
        for folder, before in zip(self._folders, self._stats, strict=True):
            os.chmod(folder, before.st_mode & 0o7777)
            for name in os.listdir(folder):
                os.unlink(os.path.join(folder, name))  # fails for a folder, which ends the process
            with contextlib.suppress(OSError):  # of a file system without them
                for name in os.listxattr(folder):
                    os.removexattr(folder, name)
            os.utime(folder, ns=(before.st_atime_ns, before.st_mtime_ns))


def _end_like(status: int) -> None:
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        with contextlib.suppress(OSError):  # of one that no process can handle
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)
