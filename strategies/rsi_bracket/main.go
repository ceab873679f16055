// Command rsi_bracket buys what Wilder's relative strength index calls oversold, with
// a stop loss and a take profit around the signal's close.
//
// It is a plugin: put the program into the folder of strategies. main.go serves it,
// strategy.go decides. It imports plugin-sdk only.
package main

import "github.com/assay-run/assay/plugin-sdk/serve"

func main() {
	serve.Strategy(spec(), newRSIBracket)
}
