//go:build linux

package main

import (
	"github.com/assay-run/assay/host/exchange/binance"
	"github.com/assay-run/assay/host/exchange/wire"
)

func serveConnector() { wire.Serve(binance.New()) }
