// Command lab turns a strategy into evidence: see package lab.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // --tz must work where the system has no zone files

	"github.com/assay-run/assay/lab/cmd"
)

// version and commit are set by the linker.
var version, commit = "dev", "unknown"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cmd.Main(ctx, os.Args[1:],
		cmd.IO{Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Terminal: terminal(os.Stderr),
			Build: cmd.Build{Version: version, Commit: commit}})
	stop()
	os.Exit(code)
}

// terminal reports whether f is a character device, which is near enough for redrawing a line.
func terminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
