// Command binance is the connector for Binance spot. The host starts it; see --connectors.
package main

import (
	"github.com/assay-run/assay/host/exchange/binance"
	"github.com/assay-run/assay/host/exchange/wire"
)

func main() { wire.Serve(binance.New()) }
