//go:build unix && !linux

package candlefile

import "syscall"

const mapFlags = syscall.MAP_SHARED
