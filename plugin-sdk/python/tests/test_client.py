"""The client over a state directory with the registry's own tables, and over a small server."""

from __future__ import annotations

import hashlib
import http.server
import json
import sqlite3
import struct
import threading
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.client._tables import read_series

pytest.importorskip("pandas")

SCHEMA = Path(__file__).parents[3] / "host" / "registry" / "schema"
EVIL = "<img src=x onerror=alert(1)>"
TRADES = (
    "trade_id,symbol,direction,quantity,entry_time,entry_price,exit_time,exit_price,gross_pnl,"
    "fees,slippage,pnl,return,exit_reason,candles_held,duration_seconds,mae,mfe,entry_tag,"
    "exit_tag,order_ids,ambiguous\n"
    "t-000001,BTC/USDT,long,0.1,2024-01-01T01:00:00.000Z,100.1,2024-01-01T02:00:00.000Z,101,"
    "0.09,0.02,0,0.07,0.007,signal,1,3600,-1,2,NA,,o-000001;o-000002,true\n"
)
EQUITY = "timestamp,equity,cash,position_value,drawdown,exposure\n"


def series(points: dict[str, list[tuple[int, float]]]) -> bytes:
    def varint(n: int) -> bytes:
        out = bytearray()
        while n >= 0x80:
            out.append(n & 0x7F | 0x80)
            n >>= 7
        return bytes([*out, n])

    body = varint(0) + varint(len(points))
    for name, pairs in points.items():
        body += varint(len(name)) + name.encode() + varint(len(pairs))
        before = 0
        for at, _ in pairs:
            body += varint((at - before) * 2)
            before = at
        body += b"".join(struct.pack("<d", v) for _, v in pairs)
    packed = zlib.compressobj(wbits=-15)
    return b"ASSAYSC1" + packed.compress(body) + packed.flush()


def add(
    state: Path,
    run_id: str,
    files: dict[str, bytes],
    columns: dict[str, Any] | None = None,
    **extra: Any,
) -> None:
    row = {"kind": "run", "slug": EVIL, "family_id": "f", "plan_id": None, "trial_index": None}
    row |= columns or {}
    meta = {
        "run_id": run_id,
        "params": {"fast": 5},
        "symbols": ["BTC/USDT"],
        "timeframe": "1h",
        "exchange": "sample",
        "start_date": "2024-01-01T00:00:00.000Z",
        "end_date": "2024-01-02T00:00:00.000Z",
        "summary": {"sharpe_ratio": 0.1, "total_return": None},
        "artifacts": [
            {"name": n, "sha256": hashlib.sha256(b).hexdigest(), "size": len(b)}
            for n, b in files.items()
        ],
        "volatile": {"origin": "lab", "completed_at": "2024-02-01T00:00:00.000Z"},
    } | extra
    for name, text in files.items():
        path = state / "runs" / run_id / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
    with closing(sqlite3.connect(state / "runs" / "registry.sqlite3")) as db, db:
        db.execute(
            "INSERT INTO run_metadata VALUES (?, 'h', ?, ?, ?, 'completed', NULL, ?, ?, ?, ?)",
            (
                run_id,
                row["slug"],
                row["family_id"],
                row["kind"],
                row["plan_id"],
                row["trial_index"],
                "2024-02-01T00:00:00.000Z",
                json.dumps(meta).encode(),
            ),
        )


def split(name: str, role: str, status: str, sharpe: float | None) -> dict[str, Any]:
    return {
        "split_id": name,
        "role": role,
        "status": status,
        "metrics": {"sharpe_ratio": sharpe} if sharpe is not None else {},
    }


@pytest.fixture
def state(tmp_path: Path) -> Path:
    (tmp_path / "runs").mkdir()
    with closing(sqlite3.connect(tmp_path / "runs" / "registry.sqlite3")) as db:
        for script in sorted(SCHEMA.glob("*.sql")):
            db.executescript(script.read_text())
    report = {
        "strategy": {"name": EVIL, "version": "1"},
        "walk_forward": {"metrics": {"sharpe_ratio": 0.1, "psr": None}},
        "splits": [
            split("wf-00", "walk_forward", "ok", 1.0),
            split("wf-01", "walk_forward", "ok", 2.0),
            split("test", "test", "locked", None),
        ],
        "warnings": [{"code": "X", "message": EVIL}],
    }
    splits = {"splits": [{"split_id": "test", "role": "test"}]}
    at = "2024-01-0{}T00:00:00.000Z,{},1,0,{},0\n"
    add(
        tmp_path,
        "run_a",
        {
            "report.json": json.dumps(report).encode(),
            "splits.json": json.dumps(splits).encode(),
            "log.jsonl": b'{"at":"2024-01-01T00:00:00.000Z","level":"info","message":"hi"}\n',
            "splits/wf-00/trades.csv": TRADES.encode(),
            "splits/wf-01/trades.csv": TRADES.encode(),
            "splits/wf-00/equity_curve.csv": (
                EQUITY + at.format(1, 100, 0) + at.format(2, 120, 0)
            ).encode(),
            "splits/wf-01/equity_curve.csv": (
                EQUITY + at.format(3, 100, 0) + at.format(4, 50, 0.5)
            ).encode(),
            "splits/wf-00/series.columns": series({"fast": [(1000, 0.5), (2000, 1.5)]}),
            "splits/test/trades.csv": TRADES.encode(),
            "splits/test/metrics.json": b'{"status":"ok","metrics":{"sharpe_ratio":3}}',
        },
    )
    return tmp_path


def code(caught: pytest.ExceptionInfo[assay.AssayError]) -> str:
    return caught.value.code


def test_tables(state: Path) -> None:
    run = assay.open(state).run("run_a")
    trades = run.trades
    assert len(trades) == 2
    assert trades["entry_price"].iloc[0] == 100.1
    assert str(trades["entry_time"].dtype) == "datetime64[ns, UTC]"
    assert trades["order_ids"].iloc[0] == ["o-000001", "o-000002"]
    assert trades["entry_tag"].iloc[0] == "NA"
    assert trades["exit_tag"].iloc[0] == ""
    assert bool(trades["ambiguous"].iloc[0]) is True
    equity = run.equity
    assert str(equity.index.dtype) == "datetime64[ns, UTC]"
    assert equity["equity"].tolist() == [100, 120, 120, 60]
    assert equity["drawdown"].tolist() == [0, 0, 0, 0.5]
    assert run.table("equity", "wf-01")["equity"].tolist() == [100, 50]
    assert run.series["fast"].tolist() == [0.5, 1.5]
    assert run.series["fast"].index[0].value == 1_000_000_000
    assert run.metrics == {"sharpe_ratio": 0.1, "psr": None}
    assert run.metrics_of("wf-01") == {"sharpe_ratio": 2.0}
    assert run.params == {"fast": 5}
    trades["quantity"] = 0.0  # of a copy
    assert run.trades["quantity"].iloc[0] == 0.1


def test_locked(state: Path) -> None:
    run = assay.open(state).run("run_a")
    assert run.raw["test"] == {"state": "locked", "looks": 0}
    for ask in (
        lambda: run.table("trades", "test"),
        lambda: run.metrics_of("test"),
        lambda: run.file("splits/test/metrics.json"),
        lambda: run.log,
    ):
        with pytest.raises(assay.AssayError) as caught:
            ask()
        assert code(caught) == "SPLIT_LOCKED"
    peek = (
        "INSERT INTO test_peeks (at, run_id, family_id, command, author) VALUES ('', ?, '', ?, '')"
    )
    with closing(sqlite3.connect(state / "runs" / "registry.sqlite3")) as db, db:
        db.execute(peek, ("run_a", "days of a run"))
    with pytest.raises(assay.AssayError):
        _ = run.log  # a note of the days that were shown reveals nothing
    with closing(sqlite3.connect(state / "runs" / "registry.sqlite3")) as db, db:
        db.execute(peek, ("run_a", "reveal"))
    seen = assay.open(state).run("run_a")
    assert seen.raw["test"] == {"state": "seen", "looks": 1}
    assert seen.metrics_of("test") == {"sharpe_ratio": 3}
    assert len(seen.table("trades", "test")) == 1
    assert seen.log["message"].tolist() == ["hi"]


def test_lock_outlives_its_files(state: Path) -> None:
    for name in ("report.json", "splits.json"):
        (state / "runs" / "run_a" / name).write_text("{}")
    with pytest.raises(assay.AssayError) as caught:
        assay.open(state).run("run_a").file("splits/test/trades.csv")
    assert code(caught) == "SPLIT_LOCKED"


def test_changed_files(state: Path) -> None:
    run = assay.open(state).run("run_a")
    path = state / "runs" / "run_a" / "splits" / "wf-00" / "trades.csv"
    text = path.read_bytes()
    path.write_bytes(text.replace(b"0.07", b"9.07"))
    with pytest.raises(assay.AssayError) as caught:
        _ = run.trades
    assert code(caught) == "ARTIFACT_MISMATCH"
    outside = state / "outside.csv"
    outside.write_bytes(text)
    path.unlink()
    path.symlink_to(outside)
    with pytest.raises(assay.AssayError, match="is a link"):
        _ = run.trades
    path.unlink()
    with pytest.raises(assay.AssayError, match="is missing"):
        _ = run.trades
    with pytest.raises(assay.AssayError) as caught:
        run.file("../../registry.sqlite3")
    assert code(caught) == "FILE_NOT_FOUND"


def test_unknown(state: Path, tmp_path: Path) -> None:
    work = assay.open(state)
    for ask, want in (
        (lambda: work.run("no"), "RUN_NOT_FOUND"),
        (lambda: work.family("no"), "FAMILY_NOT_FOUND"),
        (lambda: work.falsification("run_a"), "RUN_NOT_FOUND"),
        (lambda: work.run("run_a").table("orders"), "RUN_COMPACT"),
        (lambda: work.run("run_a").table("trades", "no"), "SPLIT_NOT_FOUND"),
        (lambda: work.run("run_a").table("no"), "TABLE_NOT_FOUND"),
        (lambda: work.run("run_a").tearsheet(), "PAGE_NOT_FOUND"),
        (lambda: assay.compare(work.run("run_a")), "RUNS_REQUIRED"),
        (lambda: assay.open(tmp_path / "no"), "STATE_DIR_NOT_FOUND"),
    ):
        with pytest.raises(assay.AssayError) as caught:
            ask()
        assert code(caught) == want


def test_names_lead_nowhere_else(state: Path) -> None:
    (state / "report.html").write_text("secret")
    (state / "runs" / "secret").write_bytes(b"secret")
    for run_id in ("..", "../runs", "a/../.."):
        add(state, run_id, {})
        for name in ("../secret", "secret", "/etc/passwd", "a\\b"):
            listed = [{"name": name, "sha256": hashlib.sha256(b"secret").hexdigest(), "size": 6}]
            with closing(sqlite3.connect(state / "runs" / "registry.sqlite3")) as db, db:
                meta = json.dumps({"run_id": run_id, "artifacts": listed}).encode()
                change = "UPDATE run_metadata SET kind = 'service', payload = ? WHERE run_id = ?"
                db.execute(change, (meta, run_id))
            with pytest.raises(assay.AssayError) as caught:
                assay.open(state).run(run_id).file(name)
            assert code(caught) == "ARTIFACT_MISMATCH"
        with pytest.raises(assay.AssayError) as caught:
            assay.open(state).run(run_id).tearsheet()
        assert code(caught) == "PAGE_NOT_FOUND"


def test_nothing_is_written(state: Path) -> None:
    before = sorted(state.rglob("*"))
    work = assay.open(state)
    work.runs()
    _ = work.run("run_a").equity
    assert sorted(state.rglob("*")) == before


def test_filters(state: Path) -> None:
    work = assay.open(state)
    assert work.runs(kind="run", origin="lab", symbol="BTC/USDT", q="RUN_A").index.tolist() == [
        "run_a"
    ]
    empty = work.runs(tag="no")
    assert empty.empty
    assert empty.columns.equals(work.runs().columns)


def test_html_is_escaped(state: Path) -> None:
    work = assay.open(state)
    run = work.run("run_a")
    add(state, "run_b", {}, params={EVIL: EVIL}, summary={})
    page = state / "reports" / "run_a" / "report.html"
    page.parent.mkdir(parents=True)
    page.write_text(f'"{EVIL}')
    compared = assay.compare(run, work.run("run_b"))
    for shown in (run, work.runs(), run.tearsheet(), compared, work):
        text = shown._repr_html_()
        assert "<img" not in text
        assert text
    assert "iframe sandbox srcdoc" in run.tearsheet()._repr_html_()


def test_family(state: Path) -> None:
    with closing(sqlite3.connect(state / "runs" / "registry.sqlite3")) as db, db:
        db.execute(
            "INSERT INTO plans VALUES ('h', 'plan_a', ?, 'f', 'me', '2024-01-01T00:00:00.000Z', "
            "NULL, ?)",
            ("sma", json.dumps({"hypothesis": EVIL}).encode()),
        )
    for i, (fast, slow, sharpe) in enumerate([(2, 9, 0.5), (1, 9, 1.5), (1, 9, 2.5)]):
        add(
            state,
            f"run_{i}",
            {},
            {"kind": "trial", "plan_id": "plan_a", "trial_index": 2 - i},
            params={"fast": fast, "slow": slow, "status": "x"},
            summary={"sharpe_ratio": sharpe},
        )
    work = assay.open(state)
    assert work.families()["done"].tolist() == [3]
    family = work.family("plan_a")
    assert family.trials.index.tolist() == [0, 1, 2]
    assert family.trials["param_status"].tolist() == ["x"] * 3
    assert family.heat("fast", "slow").loc[9].tolist() == [2.0, 0.5]
    assert "<img" not in family._repr_html_()
    with pytest.raises(assay.AssayError, match="none of"):
        family.heat("fast", "no")
    with pytest.raises(assay.AssayError, match="name two parameters"):
        family.heat("fast", "fast")
    assert list(work.falsifications().columns) == ["base", "overall", "tests", "failed", "refuted"]
    assert work.run("run_0").falsifications.empty


@pytest.mark.parametrize("cut", range(8, 40, 3))
def test_series_cut_short(cut: int) -> None:
    whole = series({"fast": [(1000, 0.5), (2000, 1.5)], "slow": [(5, 1.0)]})
    with pytest.raises(assay.AssayError):
        read_series(whole[: min(cut, len(whole) - 1)], "x")


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers as a service does: a refusal, a redirect, no JSON."""

    def do_GET(self) -> None:
        answers = {
            "/api/v1/meta": (200, b'{"service_version":"1.2.3"}'),
            "/api/v1/runs/no": (
                404,
                b'{"error":{"code":"RUN_NOT_FOUND","message":"No.","details":{"errors":'
                b'[{"pointer":"/x","message":"is wrong"}]}}}',
            ),
            "/api/v1/runs/away": (302, b""),
            "/api/v1/runs/text": (200, b"text"),
            "/api/v1/runs/ill": (500, b"ill"),
        }
        status, body = answers.get(self.path, (404, b""))
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "http://127.0.0.1:1/")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_refusals_of_a_service(url: str) -> None:
    service = assay.connect(url + "/")
    assert service.version == "1.2.3"
    for run_id, want in (
        ("no", "RUN_NOT_FOUND: No.; /x is wrong"),
        ("away", "ANSWER_UNREADABLE"),
        ("text", "ANSWER_UNREADABLE"),
        ("ill", "ANSWER_UNREADABLE"),
    ):
        with pytest.raises(assay.AssayError, match=want):
            service.run(run_id)


@pytest.mark.parametrize(
    ("address", "want"),
    [
        ("http://example.com", "URL_REFUSED"),
        ("http://127.0.0.1.example.com", "URL_REFUSED"),
        ("file:///etc/passwd", "URL_REFUSED"),
        ("127.0.0.1:8000", "URL_REFUSED"),
        ("http://127.0.0.1:1", "SERVICE_UNREACHABLE"),
    ],
)
def test_addresses(address: str, want: str) -> None:
    with pytest.raises(assay.AssayError) as caught:
        assay.connect(address)
    assert code(caught) == want


def test_the_client_is_imported_on_use() -> None:
    assert "open" not in assay.__all__
    assert assay.connect.__module__ == "assay.client._service"
    with pytest.raises(AttributeError):
        _ = assay.no_such_name
