"""A whole backtest by the Python client of openapi-generator. Prints what it read as JSON."""

import json
import sys
import time

from assay_client import ApiClient, Configuration
from assay_client.api.catalogue_api import CatalogueApi
from assay_client.api.run_api import RunApi
from assay_client.api.service_api import ServiceApi
from assay_client.models.backtest_request import BacktestRequest


def main(url: str) -> None:
    with ApiClient(Configuration(host=url)) as client:
        run, catalogue = RunApi(client), CatalogueApi(client)
        health = ServiceApi(client).get_health()
        strategies = [s.name for s in catalogue.list_strategies()]
        exchanges = [e.id for e in catalogue.list_exchanges()]
        idle = run.get_status()
        started = run.start_backtest(
            BacktestRequest(
                strategy_name="sma_cross", symbols=["BTC/USDT"], timeframe="1h", start_date="2020-01-01", end_date="2020-06-01"
            )
        )
        status = run.get_status()
        while status.status == "running":
            time.sleep(0.05)
            status = run.get_status()
        detailed = run.get_detailed_status()
        results = run.get_results()
        run.reset_run()
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
                    "after": run.get_status().status,
                }
            )
        )


main(sys.argv[1])
