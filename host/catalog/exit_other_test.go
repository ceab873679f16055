//go:build !linux

package catalog

import "os"

func exit(code int) { os.Exit(code) }
