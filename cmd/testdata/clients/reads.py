"""Reads the runs of a service and of its state directory, which must be the same, and starts one."""

import sys

import assay

url, state, locked = sys.argv[1:]
service, folder = assay.connect(url), assay.open(state)
rows = service.runs()
assert len(rows) == 3 and rows.equals(folder.runs()), rows
for run_id in rows.index:
    a, b = service.run(run_id), folder.run(run_id)
    assert a.metrics == b.metrics and a.metrics["total_trades"] == len(a.trades) > 0, run_id
    for table in ("trades", "orders", "fills", "equity"):
        assert a.table(table).equals(b.table(table)), (run_id, table)
    drawdown = a.equity["drawdown"].max()
    assert abs(drawdown - a.metrics["max_drawdown"]) < 1e-9, (run_id, drawdown)
    assert {k: v.tolist() for k, v in a.series.items()} == {k: v.tolist() for k, v in b.series.items()}
    assert "</html>" in a.tearsheet()
for place in (service, folder):
    run = place.run(locked)
    for ask in (lambda: run.table("trades", "test"), lambda: run.metrics_of("test")):
        try:
            ask()
        except assay.AssayError as e:
            assert e.code == "SPLIT_LOCKED", e
        else:
            raise AssertionError("the test is shown")

request = {"symbols": ["BTC/USDT"], "timeframe": "1h", "exchange": "sample"}
window = {"start": "2020-01-01", "end": "2020-03-01"}
try:
    service.start("sma_cross", **request, **window)
except assay.AssayError as e:
    assert e.code == "RUN_ALREADY_ACTIVE", e
service.watch(progress=False)
try:
    service.start("sma_cross", **request, params={"fast": 0}, replace=True)
except assay.AssayError as e:
    assert e.code == "INVALID_STRATEGY_PARAMS" and "fast" in str(e), e
else:
    raise AssertionError("fast=0 was taken")
first = service.backtest("sma_cross", **request, **window, params={"fast": 5}, replace=True)
assert first.status == "completed" and first.params["fast"] == 5, first
service.reset()
assert service.status()["status"] == "idle"
for ask in (service.stop, service.watch):
    try:
        ask()
    except assay.AssayError as e:
        assert e.code == "RUN_NOT_ACTIVE", e
    else:
        raise AssertionError("there was a run")
long = service.start("sma_cross", **request)
service.stop()
assert service.watch(progress=False).id == long.id
service.reset()
second = service.backtest("sma_cross", **request, **window, progress=False)
comparison = assay.compare(first, folder.run(second.id))
assert comparison.params.loc["fast"].tolist() == [5, 10]
assert len(comparison.equity.dropna()) == len(first.equity)
print("ok")
