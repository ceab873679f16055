"""Reads runs into notebooks: of a service with `connect`, of a state directory with `open`.

Both give the same objects, and each number is read from the same files of the run::

    import assay

    work = assay.open(".assay")  # or: work = assay.connect()
    work.runs(status="completed")
    run = work.run("run_6rvs7gxczpvrxcpd")
    run.metrics["sharpe_ratio"], run.trades, run.equity

Tables are pandas DataFrames. Times are nanoseconds in UTC. Amounts of money are decimals in the
files and floats here, each the one nearest to its decimal; `Run.file` has the decimals. What a run
keeps locked raises `AssayError` with the code SPLIT_LOCKED, here as everywhere.
"""

from __future__ import annotations

from ._errors import AssayError
from ._folder import open_folder as open
from ._model import Comparison, Falsification, Family, Reader, Run, compare
from ._service import Service, connect

__all__ = [
    "AssayError",
    "Comparison",
    "Falsification",
    "Family",
    "Reader",
    "Run",
    "Service",
    "compare",
    "connect",
    "open",
]
