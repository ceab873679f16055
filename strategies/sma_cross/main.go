// Command sma_cross is the strategy of two moving averages: in when the fast one
// crosses above the slow one, out when it crosses below.
//
// It is a plugin: put the program into the folder of strategies. main.go serves it,
// strategy.go decides. It imports plugin-sdk only.
package main

import "github.com/assay-run/assay/plugin-sdk/serve"

func main() {
	serve.Strategy(spec(), newSMACross)
}
