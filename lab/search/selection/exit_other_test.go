//go:build !linux

package selection

import "os"

func exit(code int) { os.Exit(code) }
