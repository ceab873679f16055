//go:build !linux

package trade

import "os"

func exit(code int) { os.Exit(code) }
