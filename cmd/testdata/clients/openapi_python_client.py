"""A whole backtest by the client of openapi-python-client. Prints what it read as JSON."""

import json
import sys
import time
from typing import Any, TypeVar

from python_client import Client
from python_client.api.catalogue import list_exchanges, list_strategies
from python_client.api.run import get_detailed_status, get_results, get_status, reset_run, start_backtest
from python_client.api.service import get_health
from python_client.models import BacktestRequest, DetailedStatus, Health, Results, RunResponse, Status

T = TypeVar("T")


def want(kind: type[T], answer: Any) -> T:
    if not isinstance(answer, kind):
        raise SystemExit(f"{answer!r} is no {kind.__name__}")
    return answer


def main(url: str) -> None:
    with Client(base_url=url) as client:
        health = want(Health, get_health.sync(client=client))
        strategies = want(list, list_strategies.sync(client=client))
        exchanges = want(list, list_exchanges.sync(client=client))
        idle = want(Status, get_status.sync(client=client))
        body = BacktestRequest(
            strategy_name="sma_cross", symbols=["BTC/USDT"], timeframe="1h", start_date="2020-01-01", end_date="2020-06-01"
        )
        started = want(RunResponse, start_backtest.sync(client=client, body=body))
        status = want(Status, get_status.sync(client=client))
        while status.status == "running":
            time.sleep(0.05)
            status = want(Status, get_status.sync(client=client))
        detailed = want(DetailedStatus, get_detailed_status.sync(client=client))
        results = want(Results, get_results.sync(client=client))
        want(RunResponse, reset_run.sync(client=client))
        print(
            json.dumps(
                {
                    "api_version": health.api_version,
                    "strategies": len(strategies),
                    "exchanges": len(exchanges),
                    "idle": idle.status,
                    "run_id": started.run_id,
                    "status": status.status,
                    "no_error": detailed.error_details is None,
                    "final_value": results.final_value,
                    "trades": results.performance_metrics.total_trades,
                    "points": len(results.equity_curve),
                    "after": want(Status, get_status.sync(client=client)).status,
                }
            )
        )


main(sys.argv[1])
