"""What the two places that runs are read from have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

Json = dict[str, Any]


class Backend(Protocol):
    """A place that runs are read from. Objects are those of the API, under the same names."""

    place: str

    def runs(self, filters: Mapping[str, str]) -> list[Json]:
        """Rows of runs, the newest first."""

    def run(self, run_id: str) -> Json:
        """One run: its row, and the splits of its report."""

    def names(self, run_id: str) -> list[str]:
        """The names of the files of a run."""

    def file(self, run_id: str, name: str) -> bytes:
        """A file of a run that is not locked and has the hash that is listed."""

    def sheet(self, run_id: str) -> str:
        """The tear sheet of a run as HTML."""

    def families(self) -> list[Json]:
        """Registered searches, the newest first."""

    def family(self, plan_id: str) -> tuple[Json, list[Json]]:
        """One search and its trials."""

    def falsification(self, run_id: str) -> Json:
        """What a falsification found."""
