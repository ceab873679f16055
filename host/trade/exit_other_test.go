//go:build !linux

package live

import "os"

func exit(code int) { os.Exit(code) }
