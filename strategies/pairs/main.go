// Command pairs trades the ratio of two prices back to its mean.
//
// It is a plugin: put the program into the folder of strategies. main.go serves it,
// strategy.go decides. It imports plugin-sdk only.
package main

import "github.com/assay-run/assay/plugin-sdk/serve"

func main() {
	serve.Strategy(spec(), newPairs)
}
