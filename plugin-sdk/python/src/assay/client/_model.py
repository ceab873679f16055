"""Runs, searches and falsifications, from whatever place they are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from typing import Any

from . import _html
from ._backend import Backend, Json
from ._errors import AssayError, need
from ._tables import (
    instants,
    join_equity,
    pandas,
    read_log,
    read_series,
    read_table,
    times,
)

SUMMARY = ("total_return", "sharpe_ratio", "max_drawdown", "total_trades", "win_rate")


class Reader:
    """The runs of one place. Reading changes nothing."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    @property
    def place(self) -> str:
        """The address or the folder."""
        return self._backend.place

    def runs(
        self,
        *,
        kind: str | None = None,
        origin: str | None = None,
        slug: str | None = None,
        family: str | None = None,
        status: str | None = None,
        symbol: str | None = None,
        timeframe: str | None = None,
        tag: str | None = None,
        q: str | None = None,
    ) -> Any:
        """Runs as a DataFrame by their ids, the newest first.

        Args:
            kind: run, trial, falsification, service, imported or legacy.
            origin: lab, service or imported.
            slug: a strategy.
            family: a family of strategies.
            status: running, completed or failed.
            symbol: such as ``"BTC/USDT"``.
            timeframe: such as ``"1h"``.
            tag: a tag that a person gave.
            q: a text in ids, names, tags and notes.
        """
        asked = {
            "kind": kind,
            "origin": origin,
            "slug": slug,
            "family": family,
            "status": status,
            "symbol": symbol,
            "timeframe": timeframe,
            "tag": tag,
            "q": q,
        }
        rows = self._backend.runs({k: v for k, v in asked.items() if v is not None})
        flat = [
            {
                "run_id": r["run_id"],
                "slug": r["slug"],
                "kind": r["kind"],
                "origin": r["origin"],
                "status": r["status"],
                "symbols": ", ".join(r["symbols"]),
                "timeframe": r["timeframe"],
                "exchange": r["exchange"],
                "start": r["window"]["start"],
                "end": r["window"]["end"],
                "completed_at": r["completed_at"],
                **{key: r["summary"][key] for key in SUMMARY},
                "tags": ", ".join(r["tags"]),
                "note": r["note"],
            }
            for r in rows
        ]
        columns = ["slug", "kind", "origin", "status", "symbols", "timeframe", "exchange"]
        columns += ["start", "end", "completed_at", *SUMMARY, "tags", "note"]
        frame = pandas().DataFrame(flat, columns=["run_id", *columns]).set_index("run_id")
        for column in ("start", "end", "completed_at"):
            frame[column] = times(frame[column])
        for column in SUMMARY:
            frame[column] = frame[column].astype("float64")
        return frame

    def run(self, run_id: str) -> Run:
        """One run.

        Raises:
            AssayError: RUN_NOT_FOUND if there is none.
        """
        return Run(self._backend, self._backend.run(run_id))

    def families(self) -> Any:
        """Registered searches as a DataFrame by their plan ids, the newest first."""
        columns = ["slug", "family_id", "author", "registered_at", "done", "failed"]
        rows = [{c: f[c] for c in ["plan_id", *columns]} for f in self._backend.families()]
        frame = pandas().DataFrame(rows, columns=["plan_id", *columns]).set_index("plan_id")
        frame["registered_at"] = times(frame["registered_at"])
        return frame

    def family(self, plan_id: str) -> Family:
        """One search.

        Raises:
            AssayError: FAMILY_NOT_FOUND if there is none.
        """
        return Family(*self._backend.family(plan_id))

    def falsifications(self, base: str | None = None) -> Any:
        """Falsifications as a DataFrame by their run ids, the newest first.

        Args:
            base: the id of the run that was attacked; all where None.
        """
        columns = ["base", "overall", "tests", "failed", "refuted"]
        rows = []
        for r in self._backend.runs({"kind": "falsification", "status": "completed"}):
            f = self.falsification(r["run_id"])
            if base in (None, f.base):
                failed = [t for t in f.raw["tests"] if t.get("verdict") == "fail"]
                found = (f.base, f.overall, len(f.raw["tests"]), len(failed), " ".join(f.refuted))
                rows.append((f.id, *found))
        return pandas().DataFrame(rows, columns=["run_id", *columns]).set_index("run_id")

    def falsification(self, run_id: str) -> Falsification:
        """What a falsification found, by its own run id.

        Raises:
            AssayError: RUN_NOT_FOUND if there is none.
        """
        return Falsification(self._backend.falsification(run_id))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.place}>"

    def _repr_html_(self) -> str:
        return _html.card(type(self).__name__, [("place", self.place)])


class Run:
    """One run. Its tables are read when they are asked for, and kept.

    Attributes:
        raw: the run as the API has it.
    """

    def __init__(self, backend: Backend, raw: Json) -> None:
        self._backend = backend
        self._tables: dict[tuple[str, str], Any] = {}
        self.raw = raw

    @property
    def id(self) -> str:
        """The id."""
        return str(self.raw["run_id"])

    @property
    def status(self) -> str:
        """Running, completed or failed, as it was when the run was read."""
        return str(self.raw["status"])

    @property
    def origin(self) -> str:
        """Which program made it: lab, service or imported."""
        return str(self.raw["origin"])

    @property
    def basis(self) -> str:
        """The split that it is judged by: walk_forward where there is one, else full."""
        return str(self.raw["basis"])

    @property
    def params(self) -> dict[str, Any]:
        """The parameters of the strategy."""
        return dict(self.raw["params"])

    @property
    def metrics(self) -> dict[str, float | None]:
        """The metrics of the basis by their keys; None where undefined, empty without a result."""
        return self.metrics_of(self.basis) if self.raw["splits"] else {}

    def metrics_of(self, split: str) -> dict[str, float | None]:
        """The metrics of one split.

        Raises:
            AssayError: SPLIT_LOCKED for a locked one, SPLIT_NOT_FOUND if there is none.
        """
        if split == "walk_forward" and self.raw.get("walk_forward"):
            return dict(self.raw["walk_forward"]["metrics"])
        for s in self.raw["splits"]:
            if s["split_id"] == split:
                if s["status"] == "locked":
                    raise AssayError("SPLIT_LOCKED", f"split {split} of {self.id} is locked")
                return dict(s["metrics"] or {})
        raise AssayError("SPLIT_NOT_FOUND", f"run {self.id} has no split {split!r}: {self.splits}")

    @property
    def splits(self) -> list[str]:
        """The ids of its splits."""
        return [s["split_id"] for s in self.raw["splits"]]

    @property
    def trades(self) -> Any:
        """Closed round trips of the basis as a DataFrame, by trade id."""
        return self.table("trades")

    @property
    def orders(self) -> Any:
        """Orders of the basis as they stood at the end, by order id."""
        return self.table("orders")

    @property
    def fills(self) -> Any:
        """Fills of the basis, by fill id."""
        return self.table("fills")

    @property
    def equity(self) -> Any:
        """Equity, cash, position_value, drawdown and exposure of the basis at each close."""
        return self.table("equity")

    def table(self, name: str, split: str | None = None) -> Any:
        """A table of one split: trades, orders, fills or equity.

        Windows of a walk-forward are joined: each account goes on where the one before ended.

        Raises:
            AssayError: SPLIT_LOCKED, SPLIT_NOT_FOUND, RUN_COMPACT for trials without the table.
        """
        files = {
            "trades": "trades.csv",
            "orders": "orders.csv",
            "fills": "fills.csv",
            "equity": "equity_curve.csv",
        }
        if name not in files:
            raise AssayError("TABLE_NOT_FOUND", f"{name!r} is none of {', '.join(files)}")

        def read() -> Any:
            parts = [read_table(text, at) for at, text in self._files(files[name], split)]
            if name == "equity":
                return join_equity(parts)
            frame = pandas().concat(parts) if len(parts) != 1 else parts[0]
            return frame.set_index(frame.columns[0])

        return self._kept(name, split, read)

    @property
    def series(self) -> dict[str, Any]:
        """What the strategy has published in the basis: a pandas Series by name."""

        def read() -> dict[str, Any]:
            joined: dict[str, tuple[list[int], list[float]]] = {}
            for at, text in self._files("series.columns", None, optional=True):
                for title, (clock, values) in read_series(text, at).items():
                    known = joined.setdefault(title, ([], []))
                    known[0].extend(clock)
                    known[1].extend(values)
            pd = pandas()
            return {
                title: pd.Series(values, index=instants(clock), name=title, dtype="float64")
                for title, (clock, values) in joined.items()
            }

        return dict(self._kept("series", None, read))

    @property
    def log(self) -> Any:
        """The lines of its log as a DataFrame; empty where there are none."""

        def read() -> Any:
            known = "log.jsonl" in self._backend.names(self.id)
            text = self._backend.file(self.id, "log.jsonl") if known else b""
            return read_log(text, "log.jsonl")

        return self._kept("log", None, read)

    @property
    def falsifications(self) -> Any:
        """The falsifications that attacked it, as a DataFrame by their run ids."""
        return Reader(self._backend).falsifications(self.id)

    def file(self, name: str) -> bytes:
        """A file of the run as it is stored, such as ``splits/full/trades.csv``.

        Raises:
            AssayError: SPLIT_LOCKED, FILE_NOT_FOUND, ARTIFACT_MISMATCH if it has changed.
        """
        return self._backend.file(self.id, name)

    @property
    def files(self) -> list[str]:
        """The names of its files."""
        return self._backend.names(self.id)

    def tearsheet(self) -> Page:
        """The tear sheet: shown in a notebook, and a text to write to a file.

        A service makes it anew; of a folder it is the page that ``lab report`` has written.
        """
        return Page(self._backend.sheet(self.id))

    def plot(self) -> Any:
        """Draws equity and drawdown with matplotlib, and returns both axes."""
        plt = need("matplotlib.pyplot", "notebook")
        frame = self.equity
        _, axes = plt.subplots(
            2, sharex=True, figsize=(9, 5), gridspec_kw={"height_ratios": [3, 1]}
        )
        axes[0].plot(frame.index, frame["equity"], linewidth=1)
        axes[0].set_ylabel("equity")
        axes[0].set_title(f"{_plain(self.raw['slug'])} {self.id}")
        axes[1].fill_between(frame.index, -frame["drawdown"], 0, alpha=0.5)
        axes[1].set_ylabel("drawdown")
        return axes

    def _files(
        self, name: str, split: str | None, optional: bool = False
    ) -> list[tuple[str, bytes]]:
        """A file of each window of a split."""
        wanted = split or self.basis
        windows = [wanted]
        if wanted == "walk_forward" and self.raw.get("walk_forward"):
            windows = [s["split_id"] for s in self.raw["splits"] if s["role"] == wanted]
        elif wanted not in self.splits:
            raise AssayError(
                "SPLIT_NOT_FOUND",
                f"run {self.id} ({self.status}) has no split {wanted!r}: {self.splits}",
            )
        known, out = self._backend.names(self.id), []
        for window in windows:
            at = f"splits/{window}/{name}"
            if at in known:
                out.append((at, self._backend.file(self.id, at)))
            elif not optional:
                raise AssayError("RUN_COMPACT", f"run {self.id} keeps no {at}")
        return out

    def _kept(self, name: str, split: str | None, read: Callable[[], Any]) -> Any:
        key = name, split or ""
        if key not in self._tables:
            self._tables[key] = read()
        table = self._tables[key]
        return table.copy() if hasattr(table, "copy") else table

    def __repr__(self) -> str:
        return f"<Run {self.id} {self.raw['slug']} {self.status}>"

    def _repr_html_(self) -> str:
        r = self.raw
        window = f"{r['window']['start']} to {r['window']['end']}"
        rows = [
            ("strategy", r["slug"]),
            ("status", r["status"]),
            ("origin", f"{r['origin']}, {r['kind']}"),
            ("market", f"{', '.join(r['symbols'])} {r['timeframe']} {r['exchange']}"),
            ("window", window),
            ("parameters", ", ".join(f"{k}={v}" for k, v in self.params.items())),
            ("judged by", self.basis),
            *((key, r["summary"][key]) for key in SUMMARY),
            ("test", r["test"]["state"]),
        ]
        warnings = " ".join(str(w["message"]) for w in r["warnings"])
        return _html.card(f"Run {self.id}", rows, warnings)


class Page(str):
    """A page of HTML that a notebook shows in a frame of its own, without scripts."""

    def _repr_html_(self) -> str:
        # The frame has no rights: what the page has cannot reach the notebook.
        return (
            f'<iframe sandbox srcdoc="{escape(self, quote=True)}" '
            'style="width:100%;height:40em;border:0"></iframe>'
        )


class Family:
    """A registered search.

    Attributes:
        raw: the search as the API has it.
        plan: the plan as it was registered.
        result: what it has come to, None before its end.
    """

    def __init__(self, raw: Json, trials: list[Json]) -> None:
        self.raw = raw
        self._trials = trials
        self.plan: dict[str, Any] = raw["plan"] or {}
        self.result: dict[str, Any] | None = raw["result"]

    @property
    def id(self) -> str:
        """The id of the plan."""
        return str(self.raw["plan_id"])

    @property
    def trials(self) -> Any:
        """The trials as a DataFrame by their index: run_id, status, parameters and metrics.

        A parameter is a column by its name; one that is called like another column has
        ``param_`` in front.
        """
        taken = {"index", "run_id", "status", *SUMMARY}
        rows = [
            {
                "index": t["index"],
                "run_id": t["run_id"],
                "status": t["status"],
                **{(f"param_{k}" if k in taken else k): v for k, v in t["params"].items()},
                **{key: t["metrics"][key] for key in SUMMARY},
            }
            for t in self._trials
        ]
        columns = None if rows else ["index", "run_id", "status", *SUMMARY]
        frame = pandas().DataFrame(rows, columns=columns).set_index("index")
        for column in SUMMARY:
            frame[column] = frame[column].astype("float64")
        return frame.sort_index()

    def heat(self, x: str, y: str, metric: str = "sharpe_ratio") -> Any:
        """The mean of a metric by two parameters: a DataFrame with y as rows, x as columns.

        The mean, not the best: what is best of many is partly luck.
        """
        frame = self.trials
        for name in (x, y, metric):
            if name not in frame.columns:
                known = ", ".join(map(str, frame.columns))
                raise AssayError("COLUMN_NOT_FOUND", f"{name!r} is none of {known}")
        if x == y:
            raise AssayError("COLUMN_NOT_FOUND", f"x and y are both {x!r}: name two parameters")
        return frame.pivot_table(index=y, columns=x, values=metric, aggfunc="mean")

    def heat_map(self, x: str, y: str, metric: str = "sharpe_ratio") -> Any:
        """Draws `heat` with matplotlib and returns the axes."""
        plt = need("matplotlib.pyplot", "notebook")
        table = self.heat(x, y, metric)
        _, axes = plt.subplots()
        shown = axes.imshow(table.to_numpy(), aspect="auto", origin="lower")
        axes.set_xticks(range(len(table.columns)), [_plain(c) for c in table.columns])
        axes.set_yticks(range(len(table.index)), [_plain(c) for c in table.index])
        axes.set_xlabel(_plain(x))
        axes.set_ylabel(_plain(y))
        axes.figure.colorbar(shown, label=_plain(metric))
        return axes

    def __repr__(self) -> str:
        return f"<Family {self.id} {self.raw['slug']}, {self.raw['done']} trials>"

    def _repr_html_(self) -> str:
        rows = [
            ("strategy", self.raw["slug"]),
            ("hypothesis", self.plan.get("hypothesis")),
            ("registered", f"{self.raw['registered_at']} by {self.raw['author']}"),
            ("trials", f"{self.raw['done']}, {self.raw['failed']} of them failed"),
            ("plan hash", self.raw["plan_hash"]),
        ]
        return _html.card(f"Family {self.id}", rows)


class Falsification:
    """What a falsification found.

    Attributes:
        raw: the falsification as the API has it.
    """

    def __init__(self, raw: Json) -> None:
        self.raw = raw

    @property
    def id(self) -> str:
        """The id of its run."""
        return str(self.raw["run_id"])

    @property
    def base(self) -> str:
        """The id of the run that was attacked."""
        return str(self.raw["base"])

    @property
    def overall(self) -> str:
        """Pass, fail or inconclusive."""
        return str(self.raw["overall"])

    @property
    def refuted(self) -> list[str]:
        """A sentence about each gate that failed."""
        return [str(s) for s in self.raw["refuted"]]

    @property
    def tests(self) -> Any:
        """The tests as a DataFrame by their ids, failures first."""
        columns = ["class", "verdict", "claim", "detail", "n_replays", "statistic", "value"]
        columns += ["threshold", "direction", "p_value", "p_holm", "reason_code"]
        rows = []
        for t in self.raw["tests"]:
            statistic = t.get("statistic") or {}
            found = {c: t.get(c) for c in columns} | {
                "id": t.get("id"),
                "statistic": statistic.get("name"),
                **{c: statistic.get(c) for c in ("value", "threshold", "direction")},
            }
            rows.append(found)
        frame = pandas().DataFrame(rows, columns=["id", *columns]).set_index("id")
        for column in ("value", "threshold", "p_value", "p_holm"):
            frame[column] = frame[column].astype("float64")
        return frame

    def __repr__(self) -> str:
        return f"<Falsification {self.id} of {self.base}: {self.overall}>"

    def _repr_html_(self) -> str:
        rows = [("of", self.base), ("overall", self.overall)]
        rows += [("refuted", s) for s in self.refuted]
        return _html.card(f"Falsification {self.id}", rows)


class Comparison:
    """Runs side by side.

    Whether a difference is more than luck is what ``lab compare`` and the page Compare say.

    Attributes:
        runs: the runs.
    """

    def __init__(self, runs: tuple[Run, ...]) -> None:
        self.runs = runs

    def _side(self, values: Callable[[Run], Mapping[str, Any]]) -> Any:
        pd = pandas()
        return pd.DataFrame({r.id: pd.Series(values(r), dtype="object") for r in self.runs})

    @property
    def params(self) -> Any:
        """The parameters: a row each, a column for each run."""
        return self._side(lambda r: r.params)

    @property
    def metrics(self) -> Any:
        """The metrics of each run's basis: a row each, a column for each run."""
        return self._side(lambda r: r.metrics).astype("float64")

    @property
    def equity(self) -> Any:
        """Equity as a multiple of its first value: a column for each run, by time."""
        columns = {}
        for r in self.runs:
            values = r.equity["equity"]
            if len(values) and values.iloc[0] != 0:
                columns[r.id] = values / values.iloc[0]
        return pandas().DataFrame(columns)

    def plot(self) -> Any:
        """Draws the equity of the runs with matplotlib and returns the axes."""
        plt = need("matplotlib.pyplot", "notebook")
        _, axes = plt.subplots(figsize=(9, 4))
        frame = self.equity
        for column in frame.columns:
            values = frame[column].dropna()
            axes.plot(values.index, values, linewidth=1, label=column)
        axes.set_ylabel("equity / first value")
        axes.legend()
        return axes

    def __repr__(self) -> str:
        return f"<Comparison of {', '.join(r.id for r in self.runs)}>"

    def _repr_html_(self) -> str:
        table = self.metrics.loc[lambda f: f.index.isin(SUMMARY)]
        return f"<div>{self.params.to_html(escape=True)}{table.to_html(escape=True)}</div>"


def compare(*runs: Run) -> Comparison:
    """Puts runs side by side, from one place or several.

    Raises:
        AssayError: RUNS_REQUIRED for fewer than two runs, or the same one twice.
    """
    ids = [r.id for r in runs]
    if len(ids) < 2 or len(set(ids)) < len(ids):
        raise AssayError("RUNS_REQUIRED", "compare needs two runs or more, each once")
    return Comparison(runs)


def _plain(text: Any) -> str:
    """A text that matplotlib does not read as a formula."""
    return str(text).replace("$", r"\$")
