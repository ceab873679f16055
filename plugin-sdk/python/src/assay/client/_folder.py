"""Runs of a state directory, read without a service."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
import stat
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from ._backend import Json
from ._errors import AssayError
from ._model import Reader

RUN_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,127}")
SUMMARY = ("sharpe_ratio", "max_drawdown", "total_return", "total_trades", "win_rate")
# Commands that note which days were shown; every other look reveals the test of a run.
SHOWN = ("days of a run", "days of a family", "days of a backtest")
LAB_KINDS = ("run", "trial", "falsification")


def open_folder(path: str | os.PathLike[str] = ".assay") -> Reader:
    """Opens the runs of a state directory to read them.

    Nothing is written, and no service is needed. A file is read if it has the hash that the
    registry has of it. What the lab keeps locked stays locked until somebody reveals it with
    ``lab run --reveal-test`` or on the page of the run.

    Raises:
        AssayError: STATE_DIR_NOT_FOUND where there is no registry.
    """
    return Reader(Folder(Path(path)))


class Folder:
    """The back end of `open_folder`."""

    def __init__(self, state_dir: Path) -> None:
        self.state_dir = state_dir.resolve()
        self.place = str(state_dir)
        self._runs = self.state_dir / "runs"
        self._database = self._runs / "registry.sqlite3"
        if not self._database.is_file():
            raise AssayError(
                "STATE_DIR_NOT_FOUND",
                f"there is no registry of runs in {self.place}: name the folder that lab and "
                "assay call --state-dir",
            )
        self._select("SELECT 1 FROM run_metadata LIMIT 1")

    def _select(self, query: str, *args: Any) -> list[tuple[Any, ...]]:
        # Without write-ahead files beside it, it is whole, and also read from a read-only place.
        wal = self._database.with_name(self._database.name + "-wal")
        mode = "mode=ro" if wal.exists() else "mode=ro&immutable=1"
        try:
            with closing(sqlite3.connect(f"{self._database.as_uri()}?{mode}", uri=True)) as db:
                db.execute("PRAGMA query_only = 1")
                return db.execute(query, args).fetchall()
        except sqlite3.Error as e:
            raise AssayError("REGISTRY_UNREADABLE", f"{self._database}: {e}") from e

    def _metadata(self, run_id: str) -> tuple[Json, Json]:
        found = self._select(
            "SELECT kind, slug, family_id, status, payload FROM run_metadata WHERE run_id = ?",
            run_id,
        )
        if not found:
            raise AssayError("RUN_NOT_FOUND", f"there is no run {run_id!r} in {self.place}")
        kind, slug, family, status, payload = found[0]
        row = {"kind": kind, "slug": slug, "family_id": family, "status": status}
        return row, _metadata_of(run_id, payload)

    def _read(self, meta: Json, name: str) -> bytes:
        """A listed file with the listed hash; no link leads out of the folder."""
        run_id = str(meta["run_id"])

        def refuse(why: str) -> AssayError:
            return AssayError("ARTIFACT_MISMATCH", f"{name} of run {run_id} {why}")

        listed = next((f for f in meta.get("artifacts") or [] if f.get("name") == name), None)
        parts = name.split("/")
        if listed is None:
            raise AssayError("FILE_NOT_FOUND", f"run {run_id} has no file {name!r}")
        if not RUN_ID.fullmatch(run_id) or any(p in ("", ".", "..") or "\\" in p for p in parts):
            raise refuse("is no place inside the folder of a run")
        path = self._runs / run_id
        try:
            for part in ["", *parts]:
                path = path / part if part else path
                if stat.S_ISLNK(path.lstat().st_mode):
                    raise refuse("is a link")
            with path.open("rb") as f:
                text = f.read(int(listed["size"]) + 1)
        except OSError as e:
            raise refuse("is missing") from e
        if len(text) != listed["size"] or hashlib.sha256(text).hexdigest() != listed["sha256"]:
            raise refuse("has other content")
        return text

    def _json(self, meta: Json, name: str) -> Json:
        """A file of a run as JSON; empty where it is gone or was changed, as the service has it."""
        try:
            value = json.loads(self._read(meta, name))
        except (AssayError, ValueError):
            return {}
        return value if isinstance(value, dict) else {}

    def _lockable(self, row: Json, meta: Json) -> list[str]:
        """The splits that stay locked until somebody looks."""
        if meta.get("volatile", {}).get("origin") != "lab" and row["kind"] not in LAB_KINDS:
            return []
        splits = self._json(meta, "splits.json").get("splits") or []
        ids = {s["split_id"] for s in splits if s.get("role") == "test"}
        for s in self._json(meta, "report.json").get("splits") or []:
            if s.get("status") == "locked" or s.get("role") == "test":
                ids.add(s["split_id"])
        if not splits:  # where the small files are gone, a split of this name stays shut
            ids.add("test")
        return sorted(ids)

    def _looks(self) -> dict[str, int]:
        marks = ",".join("?" * len(SHOWN))
        return dict(
            self._select(
                f"SELECT run_id, COUNT(*) FROM test_peeks WHERE command NOT IN ({marks}) "
                "GROUP BY run_id",
                *SHOWN,
            )
        )

    def _locked(self, row: Json, meta: Json) -> list[str]:
        return [] if self._looks().get(meta["run_id"], 0) else self._lockable(row, meta)

    def runs(self, filters: Mapping[str, str]) -> list[Json]:
        notes = {
            run_id: (json.loads(tags), note)
            for run_id, tags, note in self._select("SELECT run_id, tags, note FROM run_notes")
        }
        out = []
        for run_id, kind, slug, family, status, payload in self._select(
            "SELECT run_id, kind, slug, family_id, status, payload FROM run_metadata "
            "ORDER BY COALESCE(completed_at, '') DESC, run_id"
        ):
            try:
                meta = _metadata_of(run_id, payload)
            except AssayError:
                continue  # a list leaves out what cannot be read, as that of the service does
            columns = {"kind": kind, "slug": slug, "family_id": family, "status": status}
            row = _row(columns, meta)
            row["tags"], row["note"] = notes.get(run_id, ([], ""))
            if _matches(row, filters):
                out.append(row)
        return out

    def run(self, run_id: str) -> Json:
        columns, meta = self._metadata(run_id)
        row = _row(columns, meta)
        report = self._json(meta, "report.json")
        locked = self._locked(columns, meta)
        row["splits"] = []
        for s in report.get("splits") or []:
            shown = {
                "split_id": s["split_id"],
                "role": s.get("role", ""),
                "start": s.get("ts_from"),
                "end": s.get("ts_to"),
                "status": s.get("status"),
                "metrics": s.get("metrics"),
            }
            if s.get("status") == "locked":
                name = f"splits/{s['split_id']}/metrics.json"
                kept = self._json(meta, name) if s["split_id"] not in locked else {}
                shown["status"] = kept.get("status", "locked")
                shown["metrics"] = kept.get("metrics")
            row["splits"].append(shown)
        stitched = report.get("walk_forward")
        row["walk_forward"] = stitched
        row["basis"] = "walk_forward" if stitched else "full"
        strategy = report.get("strategy") or {}
        row["strategy"] |= {k: strategy.get(k, "") for k in ("name", "version")}
        row["warnings"] = report.get("warnings") or []
        lockable = self._lockable(columns, meta)
        state = "none" if not lockable else "locked" if locked else "seen"
        row["test"] = {"state": state, "looks": self._looks().get(run_id, 0)}
        failure = meta.get("failure")
        row["error"] = failure.get("message") if failure else None
        return row

    def names(self, run_id: str) -> list[str]:
        return [f["name"] for f in self._metadata(run_id)[1].get("artifacts") or []]

    def file(self, run_id: str, name: str) -> bytes:
        row, meta = self._metadata(run_id)
        locked = self._locked(row, meta)
        if locked and (
            name == "log.jsonl"
            or name.startswith("capsules/")
            or any(name.startswith(f"splits/{i}/") for i in locked)
        ):
            raise AssayError(
                "SPLIT_LOCKED", f"{name} of run {run_id} is locked until somebody reveals it"
            )
        return self._read(meta, name)

    def sheet(self, run_id: str) -> str:
        self._metadata(run_id)
        if not RUN_ID.fullmatch(run_id):
            raise AssayError("PAGE_NOT_FOUND", f"{run_id!r} is no name of a folder")
        page = self.state_dir / "reports" / run_id / "report.html"
        try:
            return page.read_text(encoding="utf-8")
        except OSError as e:
            raise AssayError(
                "PAGE_NOT_FOUND", f"run {run_id} has no page yet: lab report {run_id} writes it"
            ) from e

    def families(self) -> list[Json]:
        plans = self._select(
            "SELECT plan_id, plan_hash, slug, family_id, author, registered_at, "
            "COALESCE(amends, '') FROM plans ORDER BY registered_at DESC, plan_id DESC"
        )
        names = ("plan_id", "plan_hash", "slug", "family_id", "author", "registered_at", "amends")
        counts = {
            plan: (done, failed)
            for plan, done, failed in self._select(
                "SELECT plan_id, SUM(status <> 'running'), SUM(status = 'failed') "
                "FROM run_metadata WHERE kind = 'trial' AND trial_index IS NOT NULL "
                "GROUP BY plan_id"
            )
        }
        out = []
        for plan in plans:
            row: Json = dict(zip(names, plan, strict=True))
            row["done"], row["failed"] = counts.get(row["plan_id"], (0, 0))
            out.append(row)
        return out

    def family(self, plan_id: str) -> tuple[Json, list[Json]]:
        row = next((f for f in self.families() if f["plan_id"] == plan_id), None)
        if row is None:
            raise AssayError("FAMILY_NOT_FOUND", f"there is no search {plan_id!r} in {self.place}")
        (payload,) = self._select("SELECT payload FROM plans WHERE plan_id = ?", plan_id)[0]
        row["plan"] = json.loads(payload)
        # Slug and id are in a row that this program has written; a path out of the folder is not.
        result = self.state_dir / "families" / row["slug"] / plan_id / "family_result.json"
        row["result"] = None
        if result.is_file() and result.resolve().is_relative_to(self.state_dir):
            row["result"] = json.loads(result.read_text(encoding="utf-8"))
        trials = []
        for run_id, index, status, text in self._select(
            "SELECT run_id, trial_index, status, payload FROM run_metadata WHERE plan_id = ? "
            "AND kind = 'trial' AND trial_index IS NOT NULL ORDER BY trial_index",
            plan_id,
        ):
            meta = _metadata_of(run_id, text)
            trials.append(
                {
                    "index": index,
                    "run_id": run_id,
                    "params": meta.get("params") or {},
                    "status": status,
                    "metrics": _summary(meta),
                }
            )
        return row, trials

    def falsification(self, run_id: str) -> Json:
        row, meta = self._metadata(run_id)
        found = self._json(meta, "report.json").get("falsification")
        if row["kind"] != "falsification" or not found:
            raise AssayError("RUN_NOT_FOUND", f"run {run_id} is no completed falsification")
        summary = json.loads(self._read(meta, "falsify/summary.json"))
        tests = sorted(summary.get("tests") or [], key=lambda t: t.get("verdict") != "fail")
        return {
            "run_id": run_id,
            "base": found.get("base_run_id", ""),
            "overall": found.get("overall", ""),
            "refuted": found.get("refuted") or [],
            "tests": tests,
        }


def _metadata_of(run_id: str, payload: bytes) -> Json:
    try:
        meta = json.loads(payload)
    except ValueError as e:
        raise AssayError("ARTIFACT_MISMATCH", f"the row of run {run_id} is damaged: {e}") from e
    if not isinstance(meta, dict) or meta.get("run_id") != run_id:
        raise AssayError("ARTIFACT_MISMATCH", f"the row of run {run_id} is of another run")
    for name in ("summary", "volatile", "service", "plugin", "params"):
        if not isinstance(meta.get(name) or {}, dict):
            raise AssayError("ARTIFACT_MISMATCH", f"{name} in the row of run {run_id} is no object")
    return meta


def _summary(meta: Json) -> Json:
    return {key: (meta.get("summary") or {}).get(key) for key in SUMMARY}


def _row(columns: Json, meta: Json) -> Json:
    volatile, service = meta.get("volatile") or {}, meta.get("service") or {}
    return {
        "run_id": meta["run_id"],
        **columns,
        "origin": volatile.get("origin", ""),
        "mode": service.get("mode", ""),
        "plan_id": meta.get("plan_id"),
        "trial_index": meta.get("trial_index"),
        "partial": service.get("partial", False),
        "strategy": {"sha256": (meta.get("plugin") or {}).get("sha256", "")},
        "params": meta.get("params") or {},
        "symbols": meta.get("symbols") or [],
        "timeframe": meta.get("timeframe", ""),
        "exchange": meta.get("exchange", ""),
        "window": {"start": meta.get("start_date"), "end": meta.get("end_date")},
        "started_at": volatile.get("started_at"),
        "completed_at": volatile.get("completed_at"),
        "summary": _summary(meta),
    }


def _matches(row: Json, filters: Mapping[str, str]) -> bool:
    for name, want in filters.items():
        if name == "symbol":
            fits = want in row["symbols"]
        elif name == "tag":
            fits = want in row["tags"]
        elif name == "family":
            fits = row["family_id"] == want
        elif name == "q":
            texts = [row["run_id"], row["slug"], row["family_id"], row["plan_id"] or ""]
            texts += [row["exchange"], row["note"], *row["symbols"], *row["tags"]]
            fits = want.lower() in "\n".join(texts).lower()
        else:
            fits = row[name] == want
        if not fits:
            return False
    return True
