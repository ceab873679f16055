//go:build !linux

package run

import "os"

func exit(code int) { os.Exit(code) }
