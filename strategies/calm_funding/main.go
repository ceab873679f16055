// Command calm_funding holds while the funding rate shows no crowd, and stays out while it does.
//
// It is a plugin: put the program into the folder of strategies. main.go serves it,
// strategy.go decides. It imports plugin-sdk only.
//
// On paper it reads the rates that are stored at each step. Import them before the start, and each
// new one within nine hours of the one before, else entries stop:
//
//	lab data import funding.csv --input funding --merge
//	curl -X POST http://127.0.0.1:8000/api/v1/run/live -H 'Content-Type: application/json' -d '{
//	  "strategy_name": "calm_funding", "symbols": ["BTC/USDT"], "timeframe": "1h", "mode": "paper"}'
package main

import "github.com/assay-run/assay/plugin-sdk/serve"

func main() {
	serve.Strategy(spec(), newCalmFunding)
}
