// Command breakout buys when the price rises above the highest high of the last
// candles, and sells after a fixed number of candles.
//
// It is a plugin: put the program into the folder of strategies. main.go serves it,
// strategy.go decides. It imports plugin-sdk only.
package main

import "github.com/assay-run/assay/plugin-sdk/serve"

func main() {
	serve.Strategy(spec(), newBreakout)
}
