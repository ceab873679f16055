//go:build !linux

package backtest

import "os"

func exit(code int) { os.Exit(code) }
