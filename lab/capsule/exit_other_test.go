//go:build !linux

package stage

import "os"

func exit(code int) { os.Exit(code) }
